"""A real run, ended at any moment: no finished trial is lost, what is missing can be completed,
nothing is left running.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from run_project import Project, lines, wait_for
from wirebench.store.rundir import read_run

pytestmark = pytest.mark.long  # each starts whole runs

RUN = ("run", "concurrency", "--quick", "--seed", "5", "--blocks", "3")
TRIALS = 3 * 3  # two contestants and a twin


def trials_so_far(project: Project) -> int:
    results = project.root / "results"
    return (
        sum(1 for path in results.glob("2*/trials.jsonl") for _ in lines(path))
        if results.exists()
        else 0
    )


def interrupt_after(project: Project, trials: int, number: signal.Signals) -> tuple[int, str, int]:
    """Exit code, output, and how many trials were stored when the signal was sent."""
    with project.start(*RUN) as process:
        wait_for(lambda: trials_so_far(project) >= trials and len(project.started()) > 0, process)
        stored = trials_so_far(project)
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
        return process.returncode, output, stored


def complete(project: Project) -> None:
    run = project.only_run()
    code, output = project.run("run", "--resume", "latest")
    assert code == 0, output
    whole = read_run(run)
    assert whole.plan is not None
    assert tuple(record.trial for record in whole.trials) == whole.plan.order
    assert len(whole.trials) == TRIALS
    assert {record.status for record in whole.trials} == {"ok"}
    assert whole.info.status == "complete"
    assert project.survivors() == []
    assert project.leftovers() == []


@pytest.mark.parametrize(
    ("number", "code", "trials"), [(signal.SIGINT, 130, 0), (signal.SIGTERM, 143, 4)]
)
def test_an_interrupted_run_leaves_nothing_running_and_is_completed(
    tmp_path: Path, number: signal.Signals, code: int, trials: int
) -> None:
    project = Project(tmp_path / "project")
    returned, output, stored = interrupt_after(project, trials, number)
    assert returned == code, output
    assert project.survivors() == []
    assert project.leftovers() == []
    run = read_run(project.only_run())
    assert len(run.trials) >= stored
    assert run.info.status == "interrupted"
    assert run.info.exit_code == code
    assert f"--resume {run.path.name}" in output
    if trials:
        assert "python/plain" in output, "what is done is tabulated"
        assert "python/plain" in (run.path / "table.txt").read_text()
        assert (run.path / "report.html").stat().st_size > 0
    complete(project)


@pytest.mark.parametrize("trials", [0, 3, 8])
def test_a_killed_run_loses_no_finished_trial_and_is_completed(tmp_path: Path, trials: int) -> None:
    project = Project(tmp_path / "project")
    returned, _, stored = interrupt_after(project, trials, signal.SIGKILL)
    assert returned == -signal.SIGKILL
    run = read_run(project.only_run())
    assert len(run.trials) >= stored
    assert run.info.status == "running"
    complete(project)


def test_killed_again_and_again_it_still_comes_to_its_end(tmp_path: Path) -> None:
    project = Project(tmp_path / "project")
    interrupt_after(project, 1, signal.SIGKILL)
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        before = trials_so_far(project)
        with project.start("run", "--resume", project.only_run().name) as process:
            wait_for(lambda at=before: trials_so_far(project) > at, process)
            process.send_signal(number)
            process.communicate(timeout=60)
    complete(project)


def test_two_runs_do_not_write_into_one_directory(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", seconds=0.3)
    with project.start(*RUN) as process:
        wait_for(lambda: trials_so_far(project) >= 1, process)
        # It stands still until the second has been refused, so that it cannot end before.
        process.send_signal(signal.SIGSTOP)
        code, output = project.run("run", "--resume", project.only_run().name)
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert code == 64
    assert "another wirebench is writing this run" in output
