"""Figures that have no logarithm, or are no numbers: what tables say of those who have some."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console

from synthetic_run import make_plan
from synthetic_trials import make_trials
from synthetic_world import FLOOR, World
from wirebench.cli.table import cell_table
from wirebench.report.cells import cell_view
from wirebench.report.drawing import Style
from wirebench.report.palette import looks
from wirebench.report.sentences import cell_sentence
from wirebench.stats import CellAnalysis, analyse, standstill
from wirebench.stats.summary import summarise
from wirebench.trial.record import TrialRecord

WORLD = World(studies=("concurrency",), blocks=9, samples=5)
PLAN = make_plan(WORLD)
(CELL,) = [cell for cell in PLAN.cells if cell.cell.id == "c50"]
SLOW = "python/aiohttp"
"""One of the last: its figures are made the best where they count."""


def trials(
    metric: str, of: Callable[[TrialRecord], float], *, who: str = SLOW
) -> list[TrialRecord]:
    """Of the cell, with this metric for one entry."""
    return [
        replace(one, metrics={**one.metrics, metric: of(one)}) if one.entry == who else one
        for one in make_trials(WORLD, PLAN)
        if one.cell == CELL.cell.id
    ]


def cell_of(given: list[TrialRecord]) -> CellAnalysis:
    return analyse(given, replace(PLAN, cells=(CELL,))).cells[0]


def now_and_then(best: float) -> Callable[[TrialRecord], float]:
    return lambda one: 0.0 if one.block in (2, 5, 8) else best


@pytest.mark.parametrize("metric", ["throughput_per_s", "cpu_per_request_ns"])
def test_blocks_with_a_figure_of_zero_are_not_left_out_of_a_table(metric: str) -> None:
    """By the other blocks alone it would be the best of all."""
    cell = cell_of(trials(metric, now_and_then(1e9 if metric.endswith("_s") else 1.0)))
    slow = cell.entry(SLOW)
    assert slow is not None
    standing = slow.standings[metric]
    others = [one for one in cell.entries if one.standings[metric].rank_low is not None]
    assert standing.ratio is None
    assert (standing.mark, standing.rank_low, standing.rank_high) == ("tie", 1, len(others))
    assert standing.verdict is not None
    assert standing.verdict.reason == f"0 in 3 of 9 blocks of {SLOW}"
    assert standing.verdict.beyond_blocks
    axum = cell.entry("rust/axum")
    assert axum is not None
    assert axum.standings[metric].ratio is not None, "the others are compared as ever"


def test_it_is_said_in_tables_and_sentences() -> None:
    cell = cell_of(trials("throughput_per_s", now_and_then(2e4)))
    file = io.StringIO()
    Console(file=file, width=200, color_system=None).print(cell_table(cell, width=200))
    (line,) = [one for one in file.getvalue().splitlines() if f" {SLOW} " in one]
    why = f"0 in 3 of 9 blocks of {SLOW}"
    assert why in line
    view = cell_view(cell, CELL, [], "again", {}, {}, Style(looks=looks([], floors=set())))
    assert [row.ratio.blank for row in view.rows if row.entry == SLOW] == [why]
    said = cell_sentence(cell, again="wirebench run").changes
    assert any(one.startswith("No number of blocks") and one.endswith(f"{why}.") for one in said)
    assert not any("noise band" in one and SLOW in one for one in said)


@pytest.mark.parametrize("who", [SLOW, FLOOR])
def test_a_cell_does_not_go_on_for_a_figure_of_zero(who: str) -> None:
    given = trials("throughput_per_s", now_and_then(1e5), who=who)
    present = frozenset(one.name for one in CELL.entries)
    found = standstill(given, PLAN, CELL.key, block=9, present=present)
    assert (SLOW in found.hopeless) == (who == SLOW)
    judged = {one.name for one in CELL.entries if one.twin_of is None} - {FLOOR}
    assert judged <= found.hopeless | set(found.settled)


def test_what_is_no_number_is_missing() -> None:
    found = summarise([{"p99_ns": math.nan}, {"p99_ns": 5.0}, {"p99_ns": math.inf, "x": math.nan}])
    assert {name: (one.median, one.trials) for name, one in found.items()} == {"p99_ns": (5.0, 1)}
