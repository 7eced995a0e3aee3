"""A disk that is full in the middle of a measurement, or when results are written: what was
measured is told all the same.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from duel_world import server
from run_project import LAB, Project
from synthetic_run import write_run
from synthetic_world import World
from wirebench.cli.main import run_app
from wirebench.store.jsonl import LineFile, read_lines
from wirebench.store.rundir import RunDirectory, read_run
from wirebench.trial.record import TrialRecord

FULL = "No space left on device; what was stored before is kept"


def refuse(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    found = Project(tmp_path / "project")
    monkeypatch.setenv("WIREBENCH_ROOT", str(found.root))
    monkeypatch.setenv("PYTHONPATH", str(LAB))
    monkeypatch.setenv("PATH", f"{found.root / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return found


@pytest.fixture
def full_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """The disk holds so many trials, and nothing after them."""

    def fill(trials: int) -> None:
        append = RunDirectory.append_trial
        stored: list[TrialRecord] = []

        def append_trial(self: RunDirectory, *records: TrialRecord) -> None:
            if len(stored) + len(records) > trials:
                monkeypatch.setattr("wirebench.store.jsonl.write_whole_text", refuse)
                monkeypatch.setattr("wirebench.cli.table.write_tables", refuse)
                refuse()
            append(self, *records)
            stored.extend(records)

        monkeypatch.setattr(RunDirectory, "append_trial", append_trial)

    return fill


@pytest.mark.long
def test_a_duel_says_what_it_knows(
    project: Project, full_after: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    one = server(project, "one.py") + " {port}"
    full_after(4)
    words = ("duel", one, one, "--path", "/route_01", "--window", "100ms", "--no-turns")
    assert run_app([*words, "--no-floor", "--blocks", "2"]) == 69
    said = capsys.readouterr()
    assert FULL in said.err
    assert "requests/s" in said.out
    assert "Not decided: requests a second and CPU per request." in said.out
    assert len(read_run(project.only_run()).trials) == 4
    assert project.survivors() == []


@pytest.mark.long
def test_a_duel_whose_result_cannot_be_written_is_told_and_no_success(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = server(project, "one.py") + " {port}"
    words = ("duel", one, one, "--path", "/route_01", "--window", "100ms", "--no-turns")
    more = ("--no-floor", "--blocks", "1", "--json", "/dev/full")
    assert run_app([*words, *more]) == 69
    said = capsys.readouterr()
    assert "/dev/full: not written: No space left on device" in said.err
    assert "requests/s" in said.out
    assert (project.only_run() / "duel.json").is_file()


@pytest.mark.long
def test_a_gate_says_what_it_knows(
    project: Project, full_after: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    one = server(project, "one.py") + " {port}"
    limits = project.root / "gate.toml"
    limits.write_text('throughput = "-90%"\n')
    full_after(4)
    words = ("gate", one, one, "-t", str(limits), "--path", "/route_01", "--window", "100ms")
    assert run_app([*words, "--no-turns", "--blocks", "2"]) == 69
    said = capsys.readouterr()
    assert FULL in said.err
    assert "Not decided: throughput ≥ -90%" in said.out


@pytest.mark.long
def test_a_run_prints_its_tables_and_can_be_completed(
    project: Project, full_after: Callable[[int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    full_after(4)
    assert run_app(["run", "concurrency", "--quick", "--blocks", "2"]) == 69
    said = capsys.readouterr()
    assert FULL in said.err
    assert "differences within" in said.out, "the table's footnote"
    assert "interrupted with 4 trials done, all kept; 'wirebench run --resume" in said.out
    run = read_run(project.only_run())
    assert len(run.trials) == 4
    assert project.survivors() == []


def test_a_complete_run_that_can_only_be_read_is_shown_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path, World(studies=("concurrency",), samples=20))

    def forbid(path: Path, *_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr("wirebench.cli.table.write_tables", forbid)
    assert run_app(["run", "--resume", str(run)]) == read_run(run).info.exit_code
    said = capsys.readouterr()
    assert "differences within" in said.out, "the table's footnote"
    assert "table.txt: not written: Read-only file system" in " ".join(said.err.split())


def test_lines_that_do_not_fit_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.jsonl"
    file = LineFile(path)
    file.append({"n": 1})
    with monkeypatch.context() as patch:
        patch.setattr("wirebench.store.jsonl.os.fsync", refuse)
        with pytest.raises(OSError, match="No space left"):
            file.append({"n": 2}, {"n": 3})
    assert path.read_bytes() == b'{"n":1}\n'
    file.append({"n": 4})
    file.close()
    assert list(read_lines(path)) == [(1, {"n": 1}), (2, {"n": 4})]
