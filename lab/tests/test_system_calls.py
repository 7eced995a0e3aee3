"""``wirebench syscalls``: counts by ``strace -c``, and what of them one operation makes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from misbehaving.support import CALLS, program
from wirebench.catalog.loads import ClientPolicy
from wirebench.cli.console import EXIT_USAGE
from wirebench.cli.main import run_app
from wirebench.process.supervise import Supervisor
from wirebench.trial.calling import CallError
from wirebench.trial.system_calls import Calls, count_calls, parse_counts, per_operation

STRACE = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000600           3       200           recvfrom
 39.00    0.000390           1       200         7 futex
  1.00    0.000010                     3         3 access
------ ----------- ----------- --------- --------- ----------------
100.00    0.001000           2       403        10 total
"""


def test_counts_are_read_with_errors_and_without() -> None:
    assert parse_counts(STRACE) == {"recvfrom": 200, "futex": 200, "access": 3}
    assert parse_counts("strace: attach: Operation not permitted\n") == {}


def test_what_start_and_end_call_cancels_out() -> None:
    few = {"execve": 1, "openat": 90, "sendto": 100, "poll": 202, "brk": 10}
    many = {"execve": 1, "openat": 90, "sendto": 200, "poll": 402, "brk": 13}
    calls = per_operation(few, many, 100)
    assert calls == Calls(by_name={"poll": 2.0, "sendto": 1.0})
    assert calls.total == 3


@pytest.mark.parametrize(("policy", "connects"), [("reuse", 0), ("new", 1)])
def test_a_client_s_calls_are_counted(
    policy: ClientPolicy, connects: int, supervisor: Supervisor
) -> None:
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    try:
        calls = count_calls(
            program("client.py", "none"),
            program("server.py", "payload"),
            replace(CALLS, policy=policy),
            "http.payload",
            supervisor,
            operations=30,
        )
    except CallError as error:
        if "may not trace" in str(error):
            pytest.skip(str(error))
        raise
    assert calls.by_name["sendto"] == 1
    assert calls.by_name.get("connect", 0) == connects


def test_a_client_that_fails_has_no_count(supervisor: Supervisor) -> None:
    if shutil.which("strace") is None:
        pytest.skip("needs strace")
    with pytest.raises(CallError, match="last output"):
        count_calls(
            program("client.py", "none"),
            program("server.py", "none"),  # it serves no payload
            CALLS,
            "http.payload",
            supervisor,
            operations=10,
        )


def test_without_strace_it_says_what_to_install(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    one = program("client.py", "none")
    with pytest.raises(CallError, match="apt-get install strace"):
        count_calls(one, one, CALLS, "http.payload", supervisor, operations=10)


def test_wrong_usage_says_what_is_expected(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["syscalls", "--cell", "c50"]) == EXIT_USAGE
    assert "--cell: expected one of http-reuse-16" in " ".join(capsys.readouterr().err.split())
    assert run_app(["syscalls", "c/nginx"]) == EXIT_USAGE
    assert "expected a client of http that sends GET" in " ".join(capsys.readouterr().err.split())
