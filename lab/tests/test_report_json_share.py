"""How much of a message is JSON, from a ramp that counts and one that echoes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from synthetic_run import write_run
from synthetic_world import FLOOR, World
from wirebench.catalog.loads import RampLoad
from wirebench.catalog.studies import Cell
from wirebench.cli.console import EXIT_OK
from wirebench.cli.main import run_app
from wirebench.report import analyse_run
from wirebench.report.facts import Facts
from wirebench.report.json_share import json_tables
from wirebench.stats.types import CellAnalysis
from wirebench.store.rundir import read_run

WORLD = World(studies=("websocket",), samples=60, preset="published", blocks=6)
NO_FACTS: dict[str, Facts] = {}

Pair = tuple[CellAnalysis, Cell]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    run = read_run(write_run(tmp_path_factory.mktemp("run"), WORLD))
    assert run.plan is not None
    planned = {one.cell.id: one.cell for one in run.plan.cells}
    found = [(cell, planned[cell.cell]) for cell in analyse_run(run).cells]
    return [one for one in found if isinstance(one[1].load, RampLoad)]


def faster(pair: Pair, by: float, **bottlenecks: str) -> Pair:
    """With all rates times this and all CPU times by it, and these limits of single entries."""
    analysis, cell = pair
    entries = []
    for entry in analysis.entries:
        metrics = dict(entry.summary.metrics)
        for name, factor in (("throughput_per_s", by), ("cpu_per_request_ns", 1 / by)):
            metrics[name] = replace(metrics[name], median=metrics[name].median * factor)
        kind = bottlenecks.get(entry.contestant.rpartition("/")[2], "server-bound")
        assert entry.bottleneck is not None
        entries.append(
            replace(
                entry,
                summary=replace(entry.summary, metrics=metrics),
                bottleneck=replace(entry.bottleneck, kind=kind),  # type: ignore[arg-type]  # of the test
            )
        )
    return replace(analysis, entries=tuple(entries)), cell


def rows_of(cells: list[Pair], facts: dict[str, Facts]) -> dict[str, tuple[str, ...]]:
    (table,) = json_tables(cells, facts)
    return {row[0]: row[1:] for row in table.rows}


def test_the_share_is_what_counting_takes_beyond_echoing(pairs: list[Pair]) -> None:
    count, _ = pairs
    _, echo_cell = pairs[1]
    echo = (faster(count, 4)[0], echo_cell)
    known = Facts(
        library="floor", version="1", license="MIT", homepage="", tier="floor", json="Fast"
    )
    facts = {FLOOR: known}
    rows = rows_of([faster(count, 1), echo], facts)
    assert len(rows) == 7
    for name, (json, counting, echoing, by_rates, by_cpu) in rows.items():
        assert json == ("Fast" if name == FLOOR else "")
        assert float(echoing.replace(",", "")) == pytest.approx(
            4 * float(counting.replace(",", "")), rel=0.01
        )
        assert by_rates == "75%"
        assert by_cpu.startswith("75% (")


def test_a_limit_of_the_generator_makes_it_a_bound(pairs: list[Pair]) -> None:
    count, _ = pairs
    echo_cell = pairs[1][1]
    limited = {"floor": "generator-bound", "ws": "neither"}
    echo = (faster(count, 4, **limited)[0], echo_cell)
    rows = rows_of([faster(count, 1), echo], NO_FACTS)
    assert rows[FLOOR][2].startswith("≥ ")
    assert rows[FLOOR][3] == "≥ 75%"
    assert rows["node/ws"][3] == "not known: the server was not at its limit"
    both = rows_of([faster(count, 1, floor="generator-bound"), echo], NO_FACTS)
    assert both[FLOOR][3] == "not known: the load generator was the limit"
    assert both[FLOOR][4].startswith("75% (")


def test_what_is_no_difference_is_none(pairs: list[Pair]) -> None:
    count = faster(pairs[0], 1)
    rows = rows_of([count, (count[0], pairs[1][1])], NO_FACTS)
    assert {row[3] for row in rows.values()} == {"none"}


def test_without_the_echoing_ramp_there_is_no_table(pairs: list[Pair]) -> None:
    assert list(json_tables(pairs[:1], NO_FACTS)) == []


def test_it_stands_below_the_published_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["published", "websocket", str(write_run(tmp_path, WORLD))]) == EXIT_OK
    said = capsys.readouterr().out
    assert "How much of a message is JSON (burst-r100-q2 beside echo-burst-r100-q2)" in said
