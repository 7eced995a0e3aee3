"""What a report lets one choose by: bounds, memory, what is dominated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from synthetic_run import write_run
from synthetic_world import World
from wirebench.report import analyse_run
from wirebench.report.model import PageView
from wirebench.report.trades import Trade, undominated
from wirebench.report.view import page_view
from wirebench.store.rundir import read_run

WORLD = World(samples=500)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("results"), WORLD)


@pytest.fixture(scope="module")
def view(run: Path) -> PageView:
    stored = read_run(run)
    return page_view(stored, analyse_run(stored))


def test_a_bound_to_choose_by_says_so_and_is_open(view: PageView) -> None:
    """More than the load generator could ask for is not missed."""
    choice = view.studies[0].choice
    assert choice is not None
    place = next(index for index, one in enumerate(choice.criteria) if one.at_least)
    found = {row.contestant: row.fields[place] for row in choice.rows}
    axum, node = found["rust/axum"], found["node/http"]
    assert axum.text.startswith("≥ ")
    assert axum.low is not None
    assert axum.high is None
    assert not node.text.startswith("≥ ")
    assert node.low is not None
    assert node.high is not None
    assert "so that the server may do better" in choice.how


def test_memory_to_choose_by_is_of_one_set_of_rungs(tmp_path: Path) -> None:
    """A connection over TLS takes more, and not everybody speaks it."""
    world = replace(WORLD, studies=("concurrency",), preset="tls", samples=5)
    stored = read_run(write_run(tmp_path, world))
    analysis = analyse_run(stored)
    choice = page_view(stored, analysis).studies[0].choice
    assert choice is not None
    place = [one.title for one in choice.criteria].index("memory per connection")
    shown = {row.contestant: row.fields[place].value for row in choice.rows}
    plain, over_tls = (
        {
            one.contestant: one.memory.own.estimate
            for cell in analysis.cells
            if cell.cell == name
            for one in cell.entries
            if one.twin_of is None and one.memory is not None and one.memory.own is not None
        }
        for name in ("c50", "tls-c50")
    )
    assert plain["go/net-http"] != over_tls["go/net-http"]
    assert shown["go/net-http"] == plain["go/net-http"]
    assert shown["rust/axum"] == plain["rust/axum"]


def test_what_another_one_beats_in_both_is_dominated() -> None:
    def trade(name: str, size: float, time_ns: float) -> Trade:
        return Trade(contestant=name, size=size, time_ns=time_ns, text="")

    trades = [
        trade("small", 1, 9),
        trade("quick", 9, 1),
        trade("between", 5, 5),
        trade("as large, slower", 5, 6),
        trade("as quick, larger", 6, 5),
        trade("worse", 9, 9),
        trade("between's like", 5, 5),
    ]
    best = {one.contestant for one in undominated(trades)}
    assert best == {"small", "quick", "between", "between's like"}
