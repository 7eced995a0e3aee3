"""What was seen of clients outside timed trials: kept beside runs, and shown in their reports."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from synthetic_run import write_run
from synthetic_world import World
from wirebench.cli import calling
from wirebench.cli.arguments import open_catalog
from wirebench.cli.calling import find_cell, keep
from wirebench.report import analyse_run, write_report
from wirebench.report.facts import facts_of
from wirebench.report.model import TableView
from wirebench.report.view import page_view
from wirebench.store.observed import FOLDER, Observed, read_all, write
from wirebench.store.rundir import read_run

WORLD = World(studies=("roundtrip",), samples=60)


def tables(path: Path) -> dict[str, TableView]:
    run = read_run(path)
    (study,) = page_view(run, analyse_run(run)).studies
    return {one.title: one for one in study.tables}


def test_reports_show_what_was_seen_of_what_they_measured(tmp_path: Path) -> None:
    path = write_run(tmp_path, WORLD)
    run = read_run(path)
    assert run.plan is not None
    cell = run.plan.cells[0]
    names = [entry.contestant for entry in cell.entries]
    assert len(names) > 2
    facts = facts_of(run)
    base = Observed(
        kind="syscalls",
        cell=cell.cell.id,
        contestant=names[0],
        version=facts[names[0]].version,
        host_id=str(run.host["host_id"]),
        operations=200,
        figures={"epoll_wait": 1.0, "</script>": 1.5},
    )
    write(tmp_path, base)
    write(tmp_path, replace(base, kind="phases", figures={"wait": 30_000.0, "start": 2000.0}))
    # Another version, another host, another cell, and a file of another lab.
    write(tmp_path, replace(base, contestant=names[1], version="of yesterday"))
    write(
        tmp_path,
        replace(base, contestant=names[2], version=facts[names[2]].version, host_id="another"),
    )
    write(tmp_path, replace(base, cell="http-cold-1024"))
    (tmp_path / FOLDER / "phases" / cell.cell.id / "cpp").mkdir(parents=True, exist_ok=True)
    (tmp_path / FOLDER / "phases" / cell.cell.id / "cpp" / "odd.json").write_text("[]")
    for _ in range(2):
        shown = tables(path)
        calls = shown[f"System calls for one operation: {cell.cell.title}"]
        assert calls.columns == ("calls", "of which")
        assert calls.rows == ((names[0], "2.5", "</script> 1.5, epoll_wait 1.0"),)
        assert f"wirebench syscalls --cell {cell.cell.id} " in calls.how
        assert names[1] in calls.how
        phases = shown[f"Phases of one operation: {cell.cell.title}"]
        assert phases.columns == ("start", "wait")
        assert phases.rows == ((names[0], "2.00 µs", "30.0 µs"),)
        assert len([title for title in shown if "one operation" in title]) == 2
        # What is kept with the run stays.
        shutil.rmtree(tmp_path / FOLDER, ignore_errors=True)
    assert "&lt;/<wbr>script&gt; 1.5" in write_report(path).read_text()


def test_the_commands_keep_what_they_saw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = replace(open_catalog(), root=tmp_path)
    monkeypatch.setattr(calling, "open_catalog", lambda: catalog)
    cell = find_cell(open_catalog(), "http-new-1024")
    for connect_ns in (1.0, 2.0):
        keep("phases", cell, 500, {"go/net-http": {"connect": connect_ns}})
    (one,) = read_all(tmp_path / "results")
    assert (one.kind, one.cell, one.contestant) == ("phases", "http-new-1024", "go/net-http")
    assert one.version == catalog.contestants["go/net-http"].version
    assert one.figures == {"connect": 2.0}
