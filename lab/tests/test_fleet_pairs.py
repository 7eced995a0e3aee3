"""Whole runs by pairs of hosts: workers on loopback, at addresses of their own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fleet_project import Fleet, check_trials, fleet_of
from run_project import wait_for
from test_fleet_run import ENTRIES, RUN

pytestmark = pytest.mark.long  # each starts whole runs

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
            assert known > 0
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


@pytest.mark.parametrize("victim", ["alpha", "beta"])
def test_a_pair_whose_host_is_lost_in_a_block_and_comes_back_loses_no_trial(
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
