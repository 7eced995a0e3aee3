"""Whole runs on several hosts: processes on loopback, ended at any moment."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from fleet_project import Fleet, check_trials, fleet_of
from run_project import SERVER, wait_for

pytestmark = [pytest.mark.long, pytest.mark.fleet]  # each starts whole runs

RUN = ("concurrency", "--preset", "quick", "--seed", "5", "--blocks", "6")
FEWER = (*RUN[:-1], "4")
"""Enough for a loss, and for what comes after it."""
ENTRIES = 3


def test_blocks_go_to_all_hosts_and_the_run_reads_as_any_other(tmp_path: Path) -> None:
    with fleet_of(tmp_path / "project", ("alpha", "beta")) as fleet:
        code, output = fleet.run(*RUN)
        assert code == 0, output
        run = fleet.stored()
        check_trials(run, blocks=6)
        assert len(run.trials) == 6 * ENTRIES
        assert Counter(one.host for one in run.trials) == {"alpha": 9, "beta": 9}
        assert set(run.host["hosts"]) == {"alpha", "beta"}
        assert run.info.command[:3] == ("wirebench", "fleet", "run")
        assert "2 repeats: what differs between them" in output
        assert any("each host is a repeat" in note for note in run.info.notes)
        code, output = fleet.project.run("report", run.path.name)
        assert code == 0, output
        assert (run.path / "report.html").stat().st_size > 0
        code, output = fleet.run("--resume", run.path.name)
        assert "is complete" in output, output
        for name in ("alpha", "beta"):
            assert "Traceback" not in fleet.stop(name)
        assert fleet.project.survivors() == []
        assert fleet.project.leftovers() == []


def test_contestants_inherit_nothing_from_the_worker(tmp_path: Path) -> None:
    with fleet_of(tmp_path / "project", ("alpha",)) as fleet:
        seen = fleet.project.root / "seen"
        fleet.project.add(
            "curious",
            server="import os, pathlib\n"
            f"pathlib.Path({str(seen)!r}).write_text('\\n'.join(os.environ))\n" + SERVER,
        )
        code, output = fleet.run(*RUN[:-1], "1")
        assert code == 0, output
        names = set(seen.read_text().split())
        contract = {name for name in names if name.startswith("WIREBENCH_")}
        assert {"WIREBENCH_HOST", "WIREBENCH_PORT", "WIREBENCH_THREADS"} <= contract
        allowed = {"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "USER", "PYTHONDONTWRITEBYTECODE"}
        # PWD is of the shell that starts a contestant in its place.
        assert names - contract <= allowed | {"PWD", "TMPDIR", "LC_CTYPE"}
        assert not any("OMP" in name or "MALLOC" in name or "DASK" in name for name in names)


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_a_host_lost_in_a_block_loses_no_trial_and_the_run_ends(tmp_path: Path, how: str) -> None:
    with fleet_of(tmp_path / "project", ("alpha", "beta"), seconds=0.3, lost_after_s=12) as fleet:
        with fleet.start_run(*FEWER) as process:
            wait_for(lambda: fleet.measured_on("alpha") >= 1, process)
            victim = fleet.workers["alpha"]
            victim.send_signal(signal.SIGKILL if how == "killed" else signal.SIGSTOP)
            output, _ = process.communicate(timeout=240)
            assert process.returncode == 0, output
        assert "host alpha is lost" in output
        check_trials(fleet.stored(), blocks=4)
        assert fleet.project.survivors() == []


def test_a_host_that_comes_back_brings_what_it_had_measured(tmp_path: Path) -> None:
    with fleet_of(tmp_path / "project", ("alpha", "beta"), seconds=0.5, lost_after_s=12) as fleet:
        with fleet.start_run(*RUN) as process:
            wait_for(lambda: fleet.measured_on("alpha") >= 1, process)
            fleet.stop("alpha", signal.SIGKILL)
            fleet.start_worker("alpha")
            output, _ = process.communicate(timeout=240)
            assert process.returncode == 0, output
        run = fleet.stored()
        check_trials(run, blocks=6)
        kept = sum(1 for one in run.trials if one.host == "alpha")
        assert kept == fleet.measured_on("alpha"), "all that it ever finished"


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.outage)]
)
def test_a_command_that_ends_in_a_block_is_resumed_with_every_trial(
    tmp_path: Path, number: signal.Signals
) -> None:
    with fleet_of(tmp_path / "project", ("alpha", "beta"), seconds=0.3) as fleet:
        with fleet.start_run(*FEWER) as process:
            wait_for(
                lambda: fleet.measured_on("alpha") >= 4 and fleet.measured_on("beta") >= 2, process
            )
            process.send_signal(number)
            process.communicate(timeout=60)
        code, output = fleet.run("--resume", fleet.project.only_run().name)
        assert code == 0, output
        run = fleet.stored()
        assert run.info.status == "complete"
        check_trials(run, blocks=4)
        for name in ("alpha", "beta"):
            kept = sum(1 for one in run.trials if one.host == name)
            assert kept == fleet.measured_on(name)


def test_without_a_host_a_run_stops_and_can_be_completed(tmp_path: Path) -> None:
    with fleet_of(tmp_path / "project", ("alpha",), seconds=0.3) as fleet:
        with fleet.project.start(
            *("fleet", "run", *RUN[:-1], "2", "--fleet", str(fleet.file), "--wait", "5")
        ) as process:
            wait_for(lambda: fleet.measured_on("alpha") >= 1, process)
            fleet.stop("alpha", signal.SIGKILL)
            output, _ = process.communicate(timeout=120)
        assert process.returncode == 69, output
        assert "no host of the fleet is left" in output
        words = f"fleet run --fleet {fleet.file} --resume {fleet.project.only_run().name}"
        assert words in output
        fleet.start_worker("alpha")
        code, output = fleet.run("--resume", "latest")
        assert code == 0, output
        check_trials(fleet.stored(), blocks=2)


def test_a_stranger_without_a_certificate_of_the_fleet_gets_nothing(tmp_path: Path) -> None:
    stranger = Fleet(tmp_path / "other", ("beta",))
    with fleet_of(tmp_path / "project", ("alpha",)) as fleet:
        fleet.names = ("alpha", "beta")
        fleet.file.write_text(fleet.file.read_text() + "[hosts.beta]\n")
        fleet.start_worker("beta", certificates=stranger.certificates("beta"))
        code, output = fleet.project.run(
            "fleet", "check", "--fleet", str(fleet.file), "--wait", "20"
        )
        assert code == 69, output
        assert "alpha: " in output
        assert "host beta: expected its worker in 20 s, got none" in output
        said = fleet.stop("beta")
        assert "certificate verify failed" in said
        assert "serves" not in said


def test_a_build_tampered_with_on_a_host_is_refused_and_the_others_go_on(tmp_path: Path) -> None:
    with fleet_of(tmp_path / "project", ("alpha", "beta"), seconds=0.3) as fleet:
        with fleet.start_run(*RUN) as process:
            wait_for(lambda: fleet.measured_on("alpha") >= 1, process)
            (server,) = fleet.folder("alpha").glob("runs/*/x*/contestants/python/plain/server.py")
            server.write_text(server.read_text() + "\n# faster\n")
            output, _ = process.communicate(timeout=240)
        assert process.returncode == 0, output
        assert "host alpha gets no more blocks" in output
        assert "server.py: expected it as it was packed, got other content" in output
        run = fleet.stored()
        check_trials(run, blocks=6)
        assert {one.host for one in run.trials if one.block > 4} == {"beta"}


def test_wrong_usage_is_one_line_and_64(tmp_path: Path) -> None:
    fleet = Fleet(tmp_path / "project", ("alpha",))
    for arguments, message in (
        (("fleet", "run", "--fleet", str(fleet.file)), "STUDY: expected a study or --resume RUN"),
        (("fleet", "run", "concurrency"), "fleet.toml: expected the hosts of the fleet"),
        (
            ("fleet", "run", "--resume", "latest", "--blocks", "9"),
            "--resume: expected no --blocks with it: a run is completed as it was begun",
        ),
        (
            ("fleet", "run", "speed", "--fleet", str(fleet.file)),
            "STUDY: expected one of concurrency, got 'speed'",
        ),
        (
            ("fleet", "worker", "--host", "a", "--certificates", "x", "10.0.0.1:1"),
            "SCHEDULER: expected tls://HOST:PORT",
        ),
        (
            ("fleet", "worker", "--host", "a", "--certificates", "x", "tls://10.0.0.1"),
            "SCHEDULER: expected tls://HOST:PORT, got 'tls://10.0.0.1'",
        ),
        (
            ("fleet", "worker", "--host", "a", "--certificates", "x", "tls://10.0.0.1:1"),
            "expected a certificate of the fleet",
        ),
    ):
        code, output = fleet.project.run(*arguments)
        assert code == 64, output
        assert message in output
        assert "Traceback" not in output


def test_dask_is_still_while_something_is_measured(tmp_path: Path) -> None:
    with (
        fleet_of(tmp_path / "project", ("alpha",), seconds=8) as fleet,
        fleet.start_run(*RUN[:-1], "1") as process,
    ):
        wait_for(lambda: fleet.measured_on("alpha") >= 1, process)
        worker = fleet.workers["alpha"].pid
        before = {pid: cpu_s(pid) for pid in (worker, process.pid)}
        began = time.monotonic()
        wait_for(lambda: fleet.measured_on("alpha") >= 3, process)
        took = time.monotonic() - began
        used = sum(cpu_s(pid) - spent for pid, spent in before.items())
        process.communicate(timeout=120)
    # Two trials of eight seconds, and what is between them: more than their windows.
    assert used / took < 0.005 + 0.02 / took, f"{used:.3f} s in {took:.1f} s"


def cpu_s(pid: int) -> float:
    words = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
