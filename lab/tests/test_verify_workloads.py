"""Servers of ``rest``, ``ws.echo`` and ``ws.count`` that break one rule of their workload: each is
refused, and the check that refuses it says which rule.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from misbehaving.support import HERE, program
from wirebench.catalog.model import Workload
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.verify import Verdict, http, verify, verify_server


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody here answers late: they answer, or never do."""
    monkeypatch.setattr(http, "TIMEOUT_S", 0.7)


def failed(verdict: Verdict) -> list[str]:
    return [check.id for check in verdict.failed]


@pytest.mark.parametrize(
    ("fault", "check", "received"),
    [
        ("posts_anywhere", "rest.not_found POST /nonesuch", "200 OK"),
        ("pairs_brackets", "rest.bad_json no_comma", "200 OK"),
        ("reads_nan", "rest.bad_json nan", "200 OK"),
        ("takes_any_text", "rest.bad_json of_text", "200 OK"),
        ("needs_a_type", "rest.bad_json of_no_type", "200 OK"),
        ("skips_nothing_untyped", "rest.bad_json empty_of_no_type", "200 OK"),
        ("checks_the_first", "rest.bad_json_later", "request 2"),
        ("caches_by_length", "http.in_turn", '"param1":42'),
        ("repeats_itself", "http.in_turn", "request 4"),
        ("counts_short", "rest.not_found /", 'behind its end "g"'),
        ("two_lengths", "rest.post", "Content-Length: "),
        ("never_delays", "rest.delay", "it after "),
        ("delays_the_first", "rest.delay", "it after "),
        ("any_handlers", "rest.handlers", "the last after 1"),
        ("always_four_handlers", "rest.one_handler", "the last after 1"),
    ],
)
def test_a_fault_of_a_rest_server_is_found(
    fault: str, check: str, received: str, supervisor: Supervisor
) -> None:
    verdict = verify_server(f"fake/{fault}", "rest", program("rest_server.py", fault), supervisor)
    assert failed(verdict)[0] == check
    assert verdict.failure is not None
    assert received in (verdict.failure.received or "")


@pytest.mark.parametrize(
    ("script", "workload"),
    [("rest_server.py", "rest"), ("echo_server.py", "ws.echo"), ("echo_server.py", "ws.count")],
)
def test_one_that_does_all_right_passes(
    script: str, workload: Workload, supervisor: Supervisor
) -> None:
    verdict = verify_server("fake/none", workload, program(script), supervisor)
    assert verdict.failure is None
    assert len({check.id for check in verdict.checks}) == len(verdict.checks)
    if workload == "rest":
        assert {"http.in_turn", "rest.bad_json_later", "rest.one_handler"} <= {
            check.id for check in verdict.checks
        }


@pytest.mark.parametrize(
    ("fault", "workload", "check"),
    [
        ("cuts_large", "ws.echo", "echo.text_1048576_or_none"),
        ("forgets", "ws.echo", "echo.text_1048576_or_none"),
        ("decodes_each_frame", "ws.echo", "echo.fragments_utf8"),
        ("keeps_replies", "ws.count", "count.stamp_anew"),
    ],
)
def test_a_fault_of_an_echo_is_found(
    fault: str, workload: Workload, check: str, supervisor: Supervisor
) -> None:
    verdict = verify_server(f"fake/{fault}", workload, program("echo_server.py", fault), supervisor)
    assert failed(verdict)[0] == check


def test_a_large_message_may_be_refused(supervisor: Supervisor) -> None:
    served = program("echo_server.py", "refuses_large")
    verdict = verify_server("fake/refuses_large", "ws.echo", served, supervisor)
    assert verdict.passed
    assert [one.id for one in verdict.advice if "1048576" in one.id] == [
        "echo.text_1048576",
        "echo.binary_1048576",
    ]


def test_one_that_writes_to_its_folder_is_refused(supervisor: Supervisor, tmp_path: Path) -> None:
    folder = tmp_path / "contestant"
    folder.mkdir()
    (folder / "server.py").write_text("")
    argv = ("env", f"SOURCE={folder}", sys.executable, "-B", str(HERE / "rest_server.py"))
    found = {
        fault: verify(
            f"fake/{fault}",
            "server",
            "rest",
            Program(argv=(*argv, fault), folder=HERE),
            supervisor,
            source=folder,
        )
        for fault in ("none", "writes_a_log")
    }
    assert found["none"].passed
    assert failed(found["writes_a_log"]) == ["lifecycle.folder"]
    failure = found["writes_a_log"].failure
    assert failure is not None
    assert failure.received == "changed: server.log"
