"""What is drawn while a run goes on, and when."""

from __future__ import annotations

import io
import threading

from rich.console import Console

from test_store import plan, trial
from wirebench.catalog.units import rough_duration
from wirebench.run.progress import Bar, Lines, Steps, watcher_for
from wirebench.trial.record import FailureRecord

SECOND = 1_000_000_000


def terminal() -> tuple[io.StringIO, Console]:
    file = io.StringIO()
    return file, Console(file=file, force_terminal=True, width=120, color_system=None)


def pipe() -> tuple[io.StringIO, Console]:
    file = io.StringIO()
    return file, Console(file=file, width=200)


def test_a_terminal_is_drawn_to_between_trials_only() -> None:
    file, console = terminal()
    (first, second, *_) = plan().cells[0].block(1, seed=1)
    with watcher_for(plan(), console) as bar:
        assert isinstance(bar, Bar)
        threads = threading.active_count()
        bar.before(first, left_ns=90 * SECOND)
        drawn = file.getvalue()
        assert "1 min 30 s left" in drawn
        assert first.entry.name in drawn
        assert threading.active_count() == threads, (
            "no thread that would draw while a trial is timed"
        )
        bar.after(trial(1), left_ns=60 * SECOND)
        bar.before(second, left_ns=60 * SECOND)
        assert "1 min 00 s left" in file.getvalue()[len(drawn) :]


def test_a_pipe_gets_one_line_for_each_block_of_a_cell() -> None:
    file, console = pipe()
    with watcher_for(plan(), console) as lines:
        assert isinstance(lines, Lines)
        for block in (1, 2):
            for planned in plan().cells[0].block(block, seed=1):
                lines.before(planned, left_ns=20 * SECOND)
    assert file.getvalue().splitlines() == [
        "concurrency c50: block 1 of 6, 3 trials, about 20 s left",
        "concurrency c50: block 2 of 6, 3 trials, about 20 s left",
    ]


def test_the_failure_of_a_server_is_said_with_its_name() -> None:
    failure = FailureRecord(kind="crashed", phase="load", message="signal 11", whose="c/nginx")
    file, console = pipe()
    record = trial(1, status="not_run", failure=failure)
    with watcher_for(plan(), console) as lines:
        lines.after(record, left_ns=0)
    assert file.getvalue().startswith(f"failed c/nginx, called by {record.entry}, in concurrency")


def test_a_failure_is_said_at_once_with_hostile_text_as_it_is() -> None:
    failure = FailureRecord(kind="crashed", phase="load", message="[bold]signal 11[/bold]")
    for file, console in (terminal(), pipe()):
        with watcher_for(plan(), console) as watcher:
            watcher.after(trial(2, status="failed", failure=failure), left_ns=0)
        assert (
            "failed go/x in concurrency c50, block 2: crashed: [bold]signal 11[/bold]"
            in file.getvalue()
        )


def test_steps_say_what_is_built_and_checked() -> None:
    for file, console in (terminal(), pipe()):
        with Steps(console) as steps:
            steps.building(("go/x", "rust/z"), 1, 3)
            steps.built(
                "go/x",
                FailureRecord(kind="build_failed", phase="build", message="no [b] such header"),
            )
            steps.verifying("go/y", "ws.count", 1, 1)
        assert "failed go/x: build_failed: no [b] such header" in file.getvalue()
    assert "building go/x, rust/z (1 of 3 done)" in file.getvalue()
    assert "checking go/y: ws.count (1 of 1)" in file.getvalue()


def test_durations_are_for_people() -> None:
    assert [rough_duration(s * SECOND) for s in (0, 59, 60, 125, 3600, 7800)] == [
        "0 s", "59 s", "1 min 00 s", "2 min 05 s", "1 h 00 min", "2 h 10 min",
    ]  # fmt: skip
