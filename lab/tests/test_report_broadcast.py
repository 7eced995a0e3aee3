"""Broadcasts in the report's page and in the terminal's tables."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from synthetic_run import write_run
from synthetic_world import World
from wirebench.cli.table import run_tables
from wirebench.report import analyse_run, write_report
from wirebench.report.view import page_view
from wirebench.store.rundir import read_run

WORLD = World(studies=("websocket",), preset="broadcast", blocks=9, samples=60)
CELLS = ["broadcast-1000", "broadcast-10000"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("results"), WORLD)


def test_the_page_has_the_times_to_the_last_subscriber(run: Path) -> None:
    stored = read_run(run)
    (study,) = page_view(stored, analyse_run(stored)).studies
    assert [cell.id for cell in study.cells] == CELLS
    for cell in study.cells:
        assert {"to the last, median", "to the last, p99", "messages/s"} <= set(cell.columns)
        ranked = [row.entry for row in cell.rows if row.rank and "~twin" not in row.entry]
        assert ranked[0] == "c/libwebsockets", cell.id
    assert write_report(run).stat().st_size > 100_000


def test_the_terminal_has_a_table_for_each(run: Path) -> None:
    stored = read_run(run)
    assert stored.plan is not None
    out = Console(width=220, record=True, file=StringIO())
    for part in run_tables(analyse_run(stored), stored.plan.studies, width=220):
        out.print(part)
    text = out.export_text()
    assert all(f"websocket {name}" in text for name in CELLS)
    assert "last p50" in text


def test_the_report_asks_for_limits_of_the_most_subscribers(run: Path) -> None:
    stored = read_run(run)
    (study,) = page_view(stored, analyse_run(stored)).studies
    assert study.choice is not None
    titles = [one.title for one in study.choice.criteria]
    assert titles[:3] == [
        "throughput, broadcast-10000",
        "p99, broadcast-10000",
        "CPU per message, broadcast-10000",
    ]
    shown = {row.contestant: row.fields[0].value for row in study.choice.rows}
    assert shown["c/libwebsockets"] == max(value for value in shown.values() if value is not None)
