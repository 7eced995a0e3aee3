"""Programs that run beside the lab: counted in each trial, told in tables, named by doctor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from synthetic_run import write_run
from synthetic_world import World
from test_run_table import drawn, trials
from wirebench.process import procfs
from wirebench.process.bystanders import busy_now
from wirebench.report import analyse_run
from wirebench.report.view import page_view
from wirebench.store.rundir import read_run
from wirebench.trial.covariates import watch_host

BUSY = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[int]:
    """A busy program that is no child of ours: the shell that starts it ends, and leaves it."""
    noted = tmp_path / "pid"
    line = 'setsid "$0" -c "$1" & echo $! > "$2"'
    subprocess.run(["sh", "-c", line, sys.executable, BUSY, noted], check=True)
    pid = int(noted.read_text())
    yield pid
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def own() -> Iterator[int]:
    """A busy child."""
    with subprocess.Popen([sys.executable, "-c", BUSY]) as process:
        yield process.pid
        process.kill()


def until_it_ran(pid: int, *, more_ns: int = 50_000_000) -> None:
    """Wait until the program has taken so much more of the CPU."""
    start = procfs.other_programs_ns().get(pid, 0)
    deadline = time.monotonic() + 30
    while procfs.other_programs_ns().get(pid, 0) < start + more_ns:
        assert time.monotonic() < deadline, "the program does not run"
        time.sleep(0.01)


def test_other_programs_are_those_that_do_not_descend_from_the_lab(stranger: int, own: int) -> None:
    until_it_ran(stranger)
    found = procfs.other_programs_ns()
    assert found[stranger] > 0
    assert own not in found
    assert os.getpid() not in found
    named = {one.pid: one for one in busy_now(seconds=0.3)}
    assert named[stranger].name == Path(sys.executable).resolve().name
    assert named[stranger].share > 0
    assert own not in named


def test_threads_of_the_kernel_are_no_programs() -> None:
    found = [procfs.stat(pid) for pid in procfs.other_programs_ns()]
    assert not [one.pid for one in found if one is not None and 2 in (one.pid, one.parent)]


def test_a_trial_counts_what_they_took(stranger: int) -> None:
    with watch_host(None) as ours, watch_host(None, server_is_ours=False) as theirs:
        until_it_ran(stranger)
    taken = ours.covariates()["other_programs_ns"]
    assert taken is not None
    assert taken >= 50_000_000
    assert theirs.covariates()["other_programs_ns"] is None, "the server is one of them"


DISTURBED = {"watched_ns": 1_000_000_000, "other_programs_ns": 610_000_000}
QUIET = {"watched_ns": 1_000_000_000, "other_programs_ns": 20_000_000}


def test_tables_say_what_they_took() -> None:
    records = [
        replace(one, covariates=DISTURBED if place < 4 else QUIET)
        for place, one in enumerate(trials())
    ]
    text = drawn(records, 200)
    assert "other programs took more than 5% of a core during 4 of" in text
    assert "(at most 61%)" in text
    assert "other programs" not in drawn([replace(one, covariates=QUIET) for one in records], 200)


def test_reports_say_what_they_took(tmp_path: Path) -> None:
    stored = read_run(write_run(tmp_path, World(studies=("rest",), samples=5)))
    assert stored.plan is not None
    first = stored.plan.cells[0]
    stored = replace(
        stored,
        trials=tuple(
            replace(one, covariates=DISTURBED if one.cell == first.cell.id else QUIET)
            for one in stored.trials
        ),
    )
    (study,) = page_view(stored, analyse_run(stored)).studies
    said = [cell.id for cell in study.cells if "other programs took more" in cell.basis]
    assert said == [first.cell.id]
