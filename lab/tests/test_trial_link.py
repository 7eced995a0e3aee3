"""Trials over an emulated link: what a request costs there, and what is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from fake_bench import EVERYBODY, STUDIES, FakeBench
from misbehaving.support import HERE, generator, processes_of, program, spec
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.link import Link
from wirebench.catalog.loads import EachLoad, Policy, link_of
from wirebench.process import procfs
from wirebench.process.link import LinkError, link_command, open_link, refusal
from wirebench.process.supervise import Supervisor
from wirebench.run.local import find_generator, find_link
from wirebench.run.scope import scope_of
from wirebench.store.records import Selection
from wirebench.trial.trial import run_trial

SHORT = Link(rtt_ms=10)
MS = 1_000_000


@pytest.fixture(params=["tun", "netem"])
def wirelink(request: pytest.FixtureRequest, supervisor: Supervisor, tmp_path: Path) -> Path:
    """The installed program with each of its emulators, where the host lets it open a link."""
    found = find_link()
    if found is not None:
        found = with_emulator(found, request.param, tmp_path)
    if (why := refusal(supervisor, found)) is not None:
        pytest.skip(why)
    assert found is not None
    return found


@pytest.fixture
def wireload() -> Path:
    try:
        return find_generator()
    except CatalogError:
        pytest.skip("wireload is neither beside this Python nor in PATH: ./test installs it")


def each(policy: Policy = "reuse", link: Link | None = SHORT, messages: int = 25) -> EachLoad:
    return EachLoad(producers=2, messages=messages, delay_ms=0, policy=policy, threads=4, link=link)


LEAVE_OUT_RECORD = """for word; do
    shift
    case "$word" in --record=*) ;; *) set -- "$@" "$word" ;; esac
done
"""


def with_emulator(program: Path, emulator: str, folder: Path) -> Path:
    """The program with that emulator. netem gives no record, and is not asked for one."""
    file = folder / "wirelink"
    fewer = LEAVE_OUT_RECORD if emulator == "netem" else ""
    file.write_text(f'#!/bin/sh\n{fewer}exec "{program}" --emulator={emulator} "$@"\n')
    file.chmod(0o755)
    return file


def refusing(
    folder: Path, text: str = "opening /dev/net/tun: Permission denied; run as root"
) -> Path:
    file = folder / "wirelink"
    file.write_text(f'#!/bin/sh\necho "wirelink: {text}" >&2\nexit 2\n')
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(("policy", "round_trips"), [("reuse", 1), ("new", 2)])
def test_a_request_costs_its_round_trips(
    policy: Policy,
    round_trips: int,
    supervisor: Supervisor,
    wirelink: Path,
    wireload: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    load = each(policy)
    record = run_trial(
        spec("none", tmp_path, load=load),
        program=program("server.py"),
        supervisor=supervisor,
        wireload=wireload,
        wirelink=wirelink,
    )
    assert record.failure is None
    assert record.load is not None
    assert record.load["target"]["host"] == "198.18.0.1"
    assert load.request_rtt_ns == round_trips * 10 * MS
    # Never sooner than the link allows. How much later is the host's.
    fastest = record.load["latency"]["min_ns"]
    whole = record.metrics["makespan_ns"] or 0
    assert whole >= load.messages * round_trips * 10 * MS
    if policy == "reuse":
        assert fastest >= 10 * MS
    with capsys.disabled():
        print(f"\n{policy}: {whole / (load.messages * load.request_rtt_ns):.3f} of the link's time")
    assert record.covariates["retransmits"] is not None
    assert record.port is None, "the port is none of this host's"


def test_each_end_is_in_a_network_of_its_own(supervisor: Supervisor, wirelink: Path) -> None:
    with supervisor.scope() as scope:
        link = open_link(scope, wirelink, SHORT)
        ours = Path("/proc/self/ns/net").readlink()
        ends = {Path(f"/proc/{pid}/ns/net").readlink() for pid in link.holders}
        assert len(ends | {ours}) == 3
        inside = scope.start(
            ["cat", "/proc/net/dev"],
            name="cat",
            cwd=scope.folder,
            env={},
            enter=link.client.enter,
        )
        assert inside.wait(10.0) == 0
        inside.stop()
        assert "wan0" in inside.output.text()


def test_nothing_is_left_of_a_killed_link(supervisor: Supervisor, wirelink: Path) -> None:
    with supervisor.scope() as scope:
        link = open_link(scope, wirelink, SHORT)
        os.kill(link.process.pid, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while processes_of(supervisor) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert processes_of(supervisor) == []


def test_a_signal_to_the_whole_group_ends_a_link_in_order(
    supervisor: Supervisor, wirelink: Path
) -> None:
    """As timeout(1) ends it."""
    with supervisor.scope() as scope:
        link = open_link(scope, wirelink, SHORT)
        os.killpg(link.process.pid, signal.SIGTERM)
        assert link.process.wait(10.0) == 0
        link.process.stop()
        assert '"upstream":' in link.process.output.text()


LAB = """
import sys, time
from pathlib import Path
from wirebench.catalog.link import Link
from wirebench.process.interrupt import interruptible
from wirebench.process.link import open_link
from wirebench.process.supervise import Supervisor
with interruptible(), Supervisor(scratch_parent=Path(sys.argv[2])) as supervisor:
    with supervisor.scope() as scope:
        link = open_link(scope, Path(sys.argv[1]), Link(rtt_ms=1.0))
        print(link.process.pid, *link.holders, flush=True)
        from wirebench.process.interrupt import waiting
        with waiting():
            time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_link_ends_with_the_lab(number: signal.Signals, wirelink: Path, tmp_path: Path) -> None:
    lab = subprocess.Popen(
        [sys.executable, "-B", "-c", LAB, str(wirelink), str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert lab.stdout is not None
    pids = [int(word) for word in lab.stdout.readline().split()]
    assert len(pids) == 3
    lab.send_signal(number)
    lab.wait(30)
    lab.stdout.close()
    deadline = time.monotonic() + 10
    while _alive(pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _alive(pids) == []


def _alive(pids: list[int]) -> list[int]:
    for pid in pids:  # orphans become children of the supervisor's process
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return [pid for pid in pids if (found := procfs.stat(pid)) and found.state not in "ZX"]


IN_NAMESPACE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from misbehaving.support import program, spec
from test_trial_link import each
from wirebench.process.supervise import Supervisor
from wirebench.trial.trial import run_trial
folder = Path(sys.argv[4])
with Supervisor(scratch_parent=folder) as supervisor:
    record = run_trial(spec("none", folder, load=each(messages=5)), program=program("server.py"),
        supervisor=supervisor, wireload=Path(sys.argv[2]), wirelink=Path(sys.argv[3]))
print(record.status, record.failure)
"""


def test_a_user_namespace_is_enough(wireload: Path, tmp_path: Path) -> None:
    """``unshare -rn``: root in it only, and not on the host."""
    link, unshare = find_link(), shutil.which("unshare")
    if link is None or unshare is None:
        pytest.skip("needs wirelink and unshare")
    if subprocess.run([unshare, "-rn", str(link), "--help"], capture_output=True).returncode:
        pytest.skip("no user namespaces here: sysctl kernel.unprivileged_userns_clone=1")
    done = subprocess.run(
        [
            *(unshare, "-rn", sys.executable, "-B", "-c", IN_NAMESPACE),
            *(str(HERE.parent), str(wireload), str(link), str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines()[-1:] == ["ok None"], done.stderr


def test_a_host_without_links_runs_no_trial_over_one(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    record = run_trial(
        spec("none", tmp_path, load=each()),
        program=program("server.py"),
        supervisor=supervisor,
        wireload=generator(tmp_path),
        wirelink=refusing(tmp_path),
    )
    assert record.status == "not_run"
    assert record.failure is not None
    assert record.failure.kind == "no_link"
    assert record.failure.message.endswith("Permission denied; run as root")


def test_a_link_that_ends_under_load_is_not_held_against_the_server(
    supervisor: Supervisor, wirelink: Path, tmp_path: Path
) -> None:
    sign, link, load = (tmp_path / name for name in ("sign", "mortal", "load"))
    link.write_text(
        f'#!/bin/sh\n"{wirelink}" "$@" &\nuntil [ -e "{sign}" ]; do sleep 0.05; done\n'
        "kill -9 $!\nwait\nexit 9\n"
    )
    load.write_text(f'#!/bin/sh\n: >"{sign}"\nsleep 1\nexit 2\n')
    for script in (link, load):
        script.chmod(0o755)
    record = run_trial(
        spec("none", tmp_path, load=each()),
        program=program("server.py"),
        supervisor=supervisor,
        wireload=load,
        wirelink=link,
    )
    assert record.status == "not_run"
    assert record.failure is not None
    assert record.failure.kind == "no_link"
    assert record.failure.message == "the emulated link exited with 9 under load"


def test_a_refusal_says_what_would_allow_it(supervisor: Supervisor, tmp_path: Path) -> None:
    assert refusal(supervisor, refusing(tmp_path, "no; run as root")) == "no; run as root"
    assert "doctor" in (refusal(supervisor, None) or "")
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\necho '{}'\nsleep 60\n")
    silent.chmod(0o755)
    with supervisor.scope() as scope, pytest.raises(LinkError, match="schema"):
        open_link(scope, silent, SHORT)


def test_cells_over_a_link_are_left_out_with_the_reason() -> None:
    study = STUDIES["rest"]
    linked = [f"rest {cell.id}" for cell in study.preset("published").cells if link_of(cell.load)]
    assert linked
    everybody = {
        name: replace(one, serves=(*one.serves, "rest")) for name, one in EVERYBODY.items()
    }
    found = {
        refused: scope_of(
            Selection(studies=("rest",), preset="published", seed=1),
            studies=STUDIES,
            wanted=list(everybody.values()),
            everybody=everybody,
            bench=FakeBench(no_link=refused),
        )
        for refused in (None, "run as root")
    }
    assert found[None].notes == ()
    assert found["run as root"].notes == (
        f"not run: {', '.join(linked)}: no emulated link here: run as root",
    )
    assert not any(link_of(cell.cell.load) for cell in found["run as root"].cells)


def test_a_link_is_started_as_the_study_asks() -> None:
    link = Link(rtt_ms=54, jitter_ms=2, loss_percent=1, rate_mbit=10)
    assert link_command(Path("wirelink"), link, seed=7) == [
        "wirelink",
        "--rtt-ms=54",
        "--jitter-ms=2",
        "--loss-percent=1",
        "--rate-mbit=10",
        "--seed=7",
    ]
    assert str(link) == "54 ms round trip, 2 ms jitter, 1% loss, 10 Mbit/s"
