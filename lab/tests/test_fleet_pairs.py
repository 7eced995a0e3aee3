"""Whole runs by pairs of hosts: workers on loopback, at addresses of their own."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fleet_project import Fleet, check_trials, fleet_of
from run_project import wait_for
from test_fleet_run import ENTRIES, RUN
from wirebench.fleet.certificates import make_certificates
from wirebench.process import procfs

pytestmark = [pytest.mark.long, pytest.mark.fleet]  # each starts whole runs

FAR_TOO = (("near", "alpha", "beta", "127.0.0.2"), ("far", "gamma", "delta", "127.0.0.3"))


@contextmanager
def pairs_of(
    root: Path, *pairs: tuple[str, str, str, str], seconds: float = 0.3, lost_after_s: float = 12
) -> Iterator[Fleet]:
    names = [host for _, *hosts, _ in pairs for host in hosts]
    with fleet_of(root, names, seconds=seconds, lost_after_s=lost_after_s) as fleet:
        for pair in pairs:
            fleet.pair(*pair)
        yield fleet


def test_blocks_go_to_pairs_and_the_report_says_so(tmp_path: Path) -> None:
    with pairs_of(tmp_path / "project", *FAR_TOO) as fleet:
        code, output = fleet.run(*RUN)
        assert code == 0, output
        run = fleet.stored()
        check_trials(run, blocks=6)
        assert len(run.trials) == 6 * ENTRIES
        assert {one.host for one in run.trials} == {"near", "far"}
        assert {name: fleet.measured_on(name) > 0 for name in fleet.names} == {
            "alpha": True,
            "beta": False,
            "gamma": True,
            "delta": False,
        }
        for one in run.trials:
            assert one.load is not None
            assert one.load["apart"]["generator"] == ("beta" if one.host == "near" else "delta")
            address = "127.0.0.2" if one.host == "near" else "127.0.0.3"
            assert one.load["command"][-1].startswith(f"http://{address}:{one.port}/")
            # The window is the generator's, the CPU time is the server's own.
            cpu = one.metrics["cpu_per_request_ns"]
            assert cpu is not None
            assert cpu > 0
            assert one.metrics["server_rss_bytes"]
            known = one.load["apart"]["server_cpu_uncertainty_ns"]
            assert known >= 0, "0 where the server did nothing at the edges of the window"
            assert one.covariates["steal_ns"] is not None
        assert "near: servers on alpha (127.0.0.2), generator on beta; link: " in output
        assert "2 repeats: what differs between them" in output
        for name in ("near", "far"):
            (floor,) = run.host["pairs"][name]["floors"]
            assert floor["round_trip_min_ns"] > 0
        code, output = fleet.project.run("report", run.path.name)
        assert code == 0, output
        page = (run.path / "report.html").read_text()
        assert "server and generator were on different hosts" in page
        assert "pair near" in page
        assert "there and back at least" in page
        code, output = fleet.run("--resume", run.path.name)
        assert "is complete" in output, output
        for name in fleet.names:
            assert "Traceback" not in fleet.stop(name)
        assert fleet.project.survivors() == []
        assert fleet.project.leftovers() == []


@pytest.mark.first
@pytest.mark.parametrize("victim", ["alpha", pytest.param("beta", marks=pytest.mark.outage)])
def test_a_pair_whose_worker_is_killed_in_a_block_and_comes_back_loses_no_trial(
    tmp_path: Path, victim: str
) -> None:
    with pairs_of(tmp_path / "project", *FAR_TOO[:1]) as fleet:
        with fleet.start_run(*RUN[:-1], "2") as process:
            wait_for(lambda: fleet.measured_on("alpha") >= 1, process)
            fleet.stop(victim, signal.SIGKILL)
            fleet.start_worker(victim)
            output, _ = process.communicate(timeout=240)
            assert process.returncode == 0, output
        assert f"pair near is lost: host {victim}: " in output
        run = fleet.stored()
        check_trials(run, blocks=2)
        assert len(run.trials) == fleet.measured_on("alpha"), "all that was ever finished, once"
        assert len(run.host["pairs"]["near"]["floors"]) == 2
        assert fleet.project.survivors() == []


@pytest.mark.first
@pytest.mark.parametrize("victim", ["alpha", pytest.param("beta", marks=pytest.mark.outage)])
def test_a_pair_whose_worker_stands_still_in_a_block_loses_no_trial(
    tmp_path: Path, victim: str
) -> None:
    """Its processes that measure go on: what they finish is kept."""
    with pairs_of(tmp_path / "project", *FAR_TOO[:1], seconds=1) as fleet:
        with fleet.start_run(*RUN[:-1], "3") as process:
            wait_for(lambda: fleet.measured_on("alpha") >= 1, process)
            fleet.workers[victim].send_signal(signal.SIGSTOP)
            output = fleet.heard(process, "pair near is lost: ")
            assert f"pair near is lost: host {victim}: its worker is gone" in output
            fleet.workers[victim].send_signal(signal.SIGCONT)
            rest, _ = process.communicate(timeout=240)
            assert process.returncode == 0, output + rest
        run = fleet.stored()
        check_trials(run, blocks=3)
        assert len(run.trials) == fleet.measured_on("alpha") == 3 * ENTRIES
        assert fleet.project.survivors() == []


@pytest.mark.outage
def test_a_block_is_kept_whose_generators_worker_stands_still_for_good(tmp_path: Path) -> None:
    with pairs_of(tmp_path / "project", *FAR_TOO, seconds=1) as fleet:
        with fleet.start_run(*RUN) as process:
            wait_for(lambda: fleet.measured_on("alpha") >= 1, process)
            fleet.workers["beta"].send_signal(signal.SIGSTOP)
            output, _ = process.communicate(timeout=240)
            assert process.returncode == 0, output
        run = fleet.stored()
        check_trials(run, blocks=6)
        kept = sum(1 for one in run.trials if one.host == "near")
        assert kept == fleet.measured_on("alpha") >= ENTRIES


@pytest.mark.first
@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGINT, marks=pytest.mark.outage), signal.SIGKILL]
)
def test_a_command_that_ends_in_a_block_of_a_pair_leaves_nothing_there_and_is_resumed(
    tmp_path: Path, number: signal.Signals
) -> None:
    with pairs_of(tmp_path / "project", *FAR_TOO[:1], seconds=0.5) as fleet:
        with fleet.start_run(*RUN[:-1], "2") as process:
            wait_for(lambda: fleet.measured_on("alpha") >= 1, process)
            process.send_signal(number)
            process.communicate(timeout=60)
        deadline = time.monotonic() + 60
        while (left := children_of(fleet)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert left == [], "after the trial in hand"
        assert fleet.project.survivors() == []
        code, output = fleet.run("--resume", fleet.project.only_run().name)
        assert code == 0, output
        run = fleet.stored()
        check_trials(run, blocks=2)
        assert len(run.trials) == fleet.measured_on("alpha")


def children_of(fleet: Fleet) -> list[str]:
    """What the workers have started and still runs."""
    workers = {worker.pid for worker in fleet.workers.values()}
    return [
        procfs.command_line(pid)
        for pid in procfs.pids()
        if (found := procfs.stat(pid)) is not None and found.parent in workers
    ]


def test_check_says_what_the_link_of_a_pair_allows_or_why_it_has_none(tmp_path: Path) -> None:
    with pairs_of(tmp_path / "project", *FAR_TOO[:1]) as fleet:
        words = ("fleet", "check", "--fleet", str(fleet.file), "--wait", "20")
        code, output = fleet.project.run(*words)
        assert code == 0, output
        assert "pair near: servers on alpha (127.0.0.2), generator on beta; link: " in output
        fleet.file.write_text(fleet.file.read_text().replace("127.0.0.2", "203.0.113.7"))
        # Its folder was made for a fleet.toml that has this name.
        make_certificates(fleet.certificates("alpha").parent, ["alhpa"])
        fleet.start_worker("alhpa")
        heard = fleet.heard(fleet.workers["alhpa"], "no scheduler")
        assert "alhpa: no scheduler at" in heard
        code, output = fleet.project.run(*words[:-2], "--wait", "20")
        assert code == 69, output
        assert "pair near: host alpha: 203.0.113.7: expected an address of this host" in output
        assert children_of(fleet) == []
