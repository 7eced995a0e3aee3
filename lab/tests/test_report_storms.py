"""Storms and idle connections in the report's page and in the terminal's tables."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from synthetic_run import write_run
from synthetic_world import World
from wirebench.cli.table import run_tables
from wirebench.report import analyse_run, write_report
from wirebench.report.model import PageView
from wirebench.report.view import page_view
from wirebench.store.rundir import read_run

WORLD = World(studies=("websocket",), preset="storms", blocks=9, samples=60)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("results"), WORLD)


@pytest.fixture(scope="module")
def view(run: Path) -> PageView:
    stored = read_run(run)
    return page_view(stored, analyse_run(stored))


def test_each_kind_has_a_cell_with_its_own_figures(run: Path, view: PageView) -> None:
    (study,) = view.studies
    cells = {cell.id: cell for cell in study.cells}
    assert list(cells) == ["storm-10000", "restart-10000", "idle-1000", "idle-10000"]
    assert "time for all" in cells["storm-10000"].columns
    assert "memory (PSS)" in cells["idle-1000"].columns
    assert "wake-ups a second" in cells["idle-10000"].columns
    assert write_report(run).stat().st_size > 100_000


def test_the_fastest_and_the_smallest_are_first(view: PageView) -> None:
    (study,) = view.studies
    for cell in study.cells:
        ranked = [row.entry for row in cell.rows if row.rank and "~twin" not in row.entry]
        assert ranked, cell.id
        assert ranked[0] == "c/libwebsockets", cell.id


def test_the_terminal_has_a_table_for_each(run: Path) -> None:
    stored = read_run(run)
    assert stored.plan is not None
    out = Console(width=200, record=True, file=StringIO())
    for part in run_tables(analyse_run(stored), stored.plan.studies, width=200):
        out.print(part)
    text = out.export_text()
    for name in ("storm-10000", "restart-10000", "idle-1000", "idle-10000"):
        assert f"websocket {name}" in text


def test_the_report_asks_for_limits_of_each_storm_and_of_memory(view: PageView) -> None:
    (study,) = view.studies
    assert study.choice is not None
    assert [one.title for one in study.choice.criteria][:3] == [
        "time for all messages, storm-10000",
        "time for all messages, restart-10000",
        "memory per connection",
    ]
