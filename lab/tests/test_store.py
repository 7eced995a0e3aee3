"""Run directories: what is written comes back, whatever the moment the writer was killed."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from wirebench.catalog.loads import ClosedLoad
from wirebench.catalog.studies import Cell
from wirebench.plan.blocks import entries_of
from wirebench.plan.model import Plan, PlannedCell, StudyText
from wirebench.store.jsonl import LineFile, StoreError, read_lines, read_whole, write_whole
from wirebench.store.kept import append_records, read_records
from wirebench.store.records import AbsentRecord, RunInfo, Selection, VerifyRecord
from wirebench.store.rundir import RunDirectory, point_latest, read_run
from wirebench.trial.record import FailureRecord, TrialRecord

NOW = datetime(2026, 1, 31, 12, 30, 5, tzinfo=UTC)


def info(status: str = "running") -> RunInfo:
    return RunInfo(
        name="20260131T123005Z-quick",
        wirebench="0.1.0",
        status=status,  # type: ignore[arg-type]
        command=("wirebench", "quick", "--seed", "7"),
        selection=Selection(studies=("concurrency",), preset="quick", only=("floor",), seed=7),
        started_unix_ns=1,
        absent=(
            AbsentRecord(
                contestant="go/x",
                studies=("concurrency",),
                kind="not_installed",
                reason="go is not installed",
                install="apt-get install golang-go",
            ),
        ),
    )


def plan() -> Plan:
    cell = Cell(
        id="c50",
        title="50 connections",
        kind="closed",
        primary="throughput_per_s",
        workload="http.hello",
        load=ClosedLoad(connections=50, warmup_ns=1, window_ns=2),
    )
    planned = PlannedCell(
        study="concurrency",
        role="server",
        cell=cell,
        entries=entries_of(("cpp/floor", "go/x"), twin="go/x"),
        floors=("cpp/floor",),
        twin="go/x",
        server=None,
        min_blocks=6,
        max_blocks=6,
        precision=0.02,
    )
    text = StudyText(
        name="concurrency",
        title="Many",
        question="?",
        role="server",
        preset="quick",
        preset_title="small",
    )
    return Plan(
        seed=7,
        studies=(text,),
        cells=(planned,),
        budget_ns=None,
        estimate_ns=5,
        builds={"go/x": "abc"},
        order=("concurrency.c50.b01.go.x",),
    )


def trial(number: int, **changes: object) -> TrialRecord:
    values: dict[str, object] = {
        "trial": f"concurrency.c50.b{number:02d}.go.x",
        "study": "concurrency",
        "cell": "c50",
        "block": number,
        "position": 1,
        "entry": "go/x",
        "contestant": "go/x",
        "twin_of": None,
        "status": "ok",
        "failure": None,
        "started_unix_ns": 10,
        "elapsed_ns": 20,
        "metrics": {"throughput_per_s": 12.5, "p99_ns": 7, "p999_ns": None},
        "rounds": ({"round": 1},),
        "series": {"interval_ns": 5, "ok": [1, 2]},
        "load": {"version": "1"},
        "validity": {"completed": True, "little_ratio": None},
    }
    return TrialRecord(**{**values, **changes})  # type: ignore[arg-type]


def stored(tmp_path: Path) -> RunDirectory:
    run = RunDirectory.create(tmp_path / "results", label="quick", now=NOW)
    run.write_info(info())
    return run


@pytest.mark.parametrize(
    ("method", "code", "told"),
    [
        ("mkdir", errno.ENOSPC, OSError),
        ("mkdir", errno.EDQUOT, OSError),
        ("open", errno.ENOSPC, OSError),
        ("mkdir", errno.EROFS, StoreError),
    ],
)
def test_a_full_disk_is_no_wrong_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, code: int, told: type[Exception]
) -> None:
    """The exit code tells one from the other."""

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, method, refuse)
        with pytest.raises(told, match=os.strerror(code)):
            RunDirectory.create(tmp_path, label="quick")


def test_what_is_written_comes_back_typed(tmp_path: Path) -> None:
    run = stored(tmp_path)
    failure = FailureRecord(
        kind="wrong_reply", phase="window", message="m", sent="s", expected="e", received="r"
    )
    check = VerifyRecord(
        contestant="go/x",
        workload="http.hello",
        status="failed",
        failure=failure,
        elapsed_ns=3,
        checks=({"n": 1},),
    )
    records = (
        trial(1),
        trial(2, status="failed", failure=failure, warnings=("ignored_sigterm",), metrics={}),
    )
    run.write_host({"cpu": "x"})
    run.write_plan(plan())
    run.append_verify(check)
    for record in records:
        run.append_trial(record)
    run.write_info(info("complete"))
    run.close()
    back = read_run(run.path)
    assert back.trials == records
    assert back.verified == (check,)
    assert back.plan == plan()
    assert back.info == info("complete")
    assert back.host == {"cpu": "x"}


def test_a_torn_last_line_is_ignored_and_cut_before_the_next_append(tmp_path: Path) -> None:
    run = stored(tmp_path)
    run.append_trial(trial(1))
    run.append_trial(trial(2))
    run.close()
    path = run.path / "trials.jsonl"
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for cut in range(second + 1, len(whole)):  # torn at every byte of the second line
        path.write_bytes(whole[:cut])
        assert read_run(run.path).trials == (trial(1),)
    again = RunDirectory(run.path)
    again.append_trial(trial(3))
    again.close()
    assert read_run(run.path).trials == (trial(1), trial(3))


def test_a_broken_line_before_the_last_is_an_error_with_its_number(tmp_path: Path) -> None:
    run = stored(tmp_path)
    run.append_trial(trial(1))
    run.close()
    path = run.path / "trials.jsonl"
    path.write_bytes(b'{"schema":1\n' + path.read_bytes())
    with pytest.raises(StoreError, match=r"trials.jsonl: line 1: expected JSON"):
        read_run(run.path)


def test_another_schema_and_wrong_types_are_refused_with_the_key(tmp_path: Path) -> None:
    run = stored(tmp_path)
    run.append_trial(trial(1))
    run.close()
    path = run.path / "trials.jsonl"
    line = json.loads(path.read_text())
    path.write_text(json.dumps({**line, "schema": 99}) + "\n")
    with pytest.raises(
        StoreError,
        match=r"line 1: schema: expected 1, got 99; read it with the wirebench that wrote it",
    ):
        read_run(run.path)
    path.write_text(json.dumps({**line, "elapsed_ns": "soon"}) + "\n")
    with pytest.raises(StoreError, match=r"line 1: elapsed_ns: expected a valid integer.*'soon'"):
        read_run(run.path)


def test_a_figure_that_is_no_number_is_never_stored(tmp_path: Path) -> None:
    run = stored(tmp_path)
    with pytest.raises(ValueError, match="JSON"):
        write_whole(run.path / "x.json", {"p50_ns": float("nan")})
    assert not (run.path / "x.json").exists()
    run.close()


def test_what_is_no_text_is_stored_as_an_escape(tmp_path: Path) -> None:
    half = "\udcff"  # what Python makes of a byte that is no UTF-8
    write_whole(tmp_path / "x.json", {"command": f"./a{half} é"})
    assert read_whole(tmp_path / "x.json") == {"command": f"./a{half} é"}
    file = LineFile(tmp_path / "x.jsonl")
    file.append({"received": half})
    file.close()
    assert list(read_lines(tmp_path / "x.jsonl")) == [(1, {"received": half})]


def test_a_run_needs_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for results in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match="expected a folder for runs"):
            RunDirectory.create(results, label="quick", now=NOW)


def test_two_writers_are_refused_and_a_closed_run_is_free(tmp_path: Path) -> None:
    run = stored(tmp_path)
    with pytest.raises(StoreError, match="another wirebench is writing this run"):
        RunDirectory(run.path)
    run.close()
    RunDirectory(run.path).close()


def test_runs_of_one_second_get_names_of_their_own_and_latest_is_the_last(tmp_path: Path) -> None:
    first, second = stored(tmp_path), stored(tmp_path)
    assert (first.path.name, second.path.name) == (
        "20260131T123005Z-quick",
        "20260131T123005Z-quick-2",
    )
    point_latest(first.path)
    point_latest(second.path)
    assert (tmp_path / "results" / "latest").resolve() == second.path.resolve()
    first.close()
    second.close()


def test_a_folder_where_the_link_to_the_newest_run_is_due_is_said(tmp_path: Path) -> None:
    run = stored(tmp_path)
    run.close()
    results = run.path.parent
    (results / "latest").mkdir()
    before = set(results.iterdir())
    said = "latest: expected a link to the newest run, got a folder"
    with pytest.raises(StoreError, match=said):
        RunDirectory.create(results, label="quick", now=NOW)
    with pytest.raises(StoreError, match=said):
        point_latest(run.path)
    assert set(results.iterdir()) == before


def test_a_folder_that_is_no_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"is .* a run directory"):
        read_run(tmp_path)


def test_a_torn_record_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    record = VerifyRecord(
        contestant="go/x", workload="http.hello", status="ok", failure=None, elapsed_ns=1
    )
    append_records(path, [record])
    path.write_bytes(path.read_bytes() + b'{"contestant":"go/')
    append_records(path, [record, record])
    assert read_records(path, TypeAdapter(VerifyRecord)) == [record] * 3


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    run = stored(tmp_path)
    run.close()
    (run.path / "host.json").write_text("[]")
    with pytest.raises(StoreError, match=r"host\.json: expected an object of JSON"):
        read_run(run.path)
    (run.path / "host.json").unlink()
    # A folder stands for a file of another user: for the superuser there is none.
    for name in ("trials.jsonl", "run.json"):
        (run.path / name).unlink(missing_ok=True)
        (run.path / name).mkdir()
        with pytest.raises(StoreError, match=f"{name}: not read: Is a directory"):
            read_run(run.path)


def test_a_run_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    run = stored(tmp_path)
    run.close()
    (run.path / ".lock").unlink()
    (run.path / ".lock").mkdir()
    with pytest.raises(StoreError, match="expected a run that can be written: Is a directory"):
        RunDirectory(run.path)


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_store import trial
from wirebench.store.rundir import RunDirectory
run = RunDirectory(Path({path!r}))
for number in range(1, 100000):
    run.append_trial(trial(number))
    print(number, flush=True)
"""


def test_a_killed_writer_loses_no_trial_it_said_was_stored(tmp_path: Path) -> None:
    run = stored(tmp_path)
    run.close()
    program = WRITER.format(tests=str(Path(__file__).parent), path=str(run.path))
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        for _ in range(20):
            writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        said = 20 + len(writer.stdout.readlines())
    trials = read_run(run.path).trials
    assert len(trials) >= said
    assert [record.block for record in trials] == list(range(1, len(trials) + 1))
