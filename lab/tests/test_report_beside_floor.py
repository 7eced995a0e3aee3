"""Clients beside the floor: what they add to it, what they cost, and one that is below it."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from synthetic_run import make_plan, write_run
from synthetic_trials import make_trials
from synthetic_world import FLOOR, World
from wirebench.catalog.units import BYTES, TIMES, scaled, scaled_with_interval
from wirebench.cli.table import run_tables
from wirebench.report import analyse_run
from wirebench.report.figures import faster_than_floor
from wirebench.report.model import CellView
from wirebench.report.view import page_view
from wirebench.stats import CellAnalysis, analyse
from wirebench.store.rundir import read_run

WORLD = World(studies=("roundtrip",), samples=5, blocks=8)
CURL = "cpp/libcurl"


def first_cell(world: World, metrics: Mapping[str, float] | None = None) -> CellAnalysis:
    """``metrics``: libcurl's and its twin's, times this."""
    plan = make_plan(world)
    trials = make_trials(world, plan)
    for trial in trials:
        if trial.contestant == CURL:
            for name, factor in (metrics or {}).items():
                trial.metrics[name] = (trial.metrics[name] or 0) * factor  # type: ignore[index]
    return analyse(trials, plan).cells[0]


def remark(cell: CellAnalysis, name: str = CURL) -> str | None:
    entry, floor = cell.entry(name), cell.entry(FLOOR)
    assert entry is not None
    return faster_than_floor(entry, floor)


def test_what_a_client_adds_is_taken_from_blocks_and_has_an_interval() -> None:
    plan = make_plan(WORLD)
    trials = make_trials(WORLD, plan)
    cell = analyse(trials, plan).cells[0]
    taken = {
        name: {
            one.block: one.metrics["round_trip_ns"] or 0
            for one in trials
            if (one.cell, one.entry) == (cell.cell, name)
        }
        for name in (CURL, FLOOR)
    }
    differences = [taken[CURL][block] - taken[FLOOR][block] for block in taken[CURL]]
    curl, floor = cell.entry(CURL), cell.entry(FLOOR)
    assert curl is not None
    assert floor is not None
    found = curl.over_floor
    assert found is not None
    assert found.blocks == 8
    assert found.estimate == pytest.approx(float(np.median(differences)))
    assert found.low is not None
    assert found.high is not None
    assert min(differences) <= found.low < found.estimate < found.high <= max(differences)
    assert floor.over_floor is None


def test_servers_have_no_difference() -> None:
    world = World(studies=("concurrency",), samples=5)
    plan = make_plan(world)
    cell = analyse(make_trials(world, plan), plan).cells[0]
    assert [one.over_floor for one in cell.entries] == [None] * len(cell.entries)


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> CellView:
    run = read_run(write_run(tmp_path_factory.mktemp("results"), WORLD))
    return page_view(run, analyse_run(run)).studies[0].cells[0]


def test_the_page_has_differences_spread_and_cpu_beside_the_floor(view: CellView) -> None:
    assert view.columns == (
        "median round trip",
        "minus the floor",
        "mean",
        "standard deviation",
        "p99",
        "CPU per operation",
        "CPU over the floor",
        "connections opened",
    )
    rows = {row.entry: dict(zip(view.columns, row.figures, strict=True)) for row in view.rows}
    added = rows[CURL]["minus the floor"].text
    assert added.count("[") == 1
    assert added.endswith("] µs")
    assert rows[CURL]["CPU over the floor"].text.startswith("1.1")
    assert rows[FLOOR]["minus the floor"].blank == "the floor"
    assert all(row[title].text for row in rows.values() for title in ("mean", "standard deviation"))
    assert not any("floor" in line for row in view.rows for line in row.remarks)


def test_the_terminal_has_the_same_columns() -> None:
    plan = make_plan(WORLD)
    file = io.StringIO()
    console = Console(file=file, width=200, color_system=None)
    for part in run_tables(analyse(make_trials(WORLD, plan), plan), plan.studies, width=200):
        console.print(part)
    lines = file.getvalue().splitlines()
    heading = next(line for line in lines if "contestant" in line)
    words = ("round trip", "- floor", "mean", "stddev", "p99", "CPU/op.", "CPU/floor's")
    places = [heading.index(word) for word in words]
    assert places == sorted(places)
    curl = next(line for line in lines if CURL in line)
    assert "] us " in curl


def test_a_client_that_is_slower_than_the_floor_has_no_remark() -> None:
    assert remark(first_cell(WORLD)) is None


FASTER = World(studies=("roundtrip",), samples=5, blocks=8, scale={CURL: 0.3})
AS_MUCH_CPU = {"cpu_per_operation_ns": 1 / (0.3 * 1.15)}
"""As the floor."""


def test_a_faster_client_that_spends_more_cpu_says_so() -> None:
    found = remark(first_cell(FASTER, {"cpu_per_operation_ns": 10}))
    assert found is not None
    assert found.startswith("faster than the floor: it spends 3.")
    assert found.endswith("× the CPU time")


def test_a_faster_client_with_other_connections_says_so() -> None:
    assert remark(first_cell(FASTER, {"connections_opened": 8} | AS_MUCH_CPU)) == (
        "faster than the floor: it opened 8 connections, the floor 1"
    )


def test_a_faster_client_that_spends_less_cpu_says_so() -> None:
    found = remark(first_cell(FASTER))
    assert found is not None
    assert found.startswith("faster than the floor: it spends 0.3")
    assert found.endswith("cheaper than OpenSSL")


def test_a_faster_client_without_a_visible_reason_says_so() -> None:
    assert remark(first_cell(FASTER, AS_MUCH_CPU)) == (
        "faster than the floor: neither its CPU time nor its connections say why"
    )


def test_cpu_time_within_the_noise_is_no_reason() -> None:
    """Its interval is beyond 1, and not beyond the noise band."""
    quiet = World(studies=("roundtrip",), samples=5, blocks=8, noise=0.0005, scale={CURL: 0.3})
    cell = first_cell(quiet, {"cpu_per_operation_ns": 0.99 / (0.3 * 1.15)})
    curl = cell.entry(CURL)
    assert curl is not None
    cpu = curl.standings["cpu_per_operation_ns"]
    assert cpu.ratio is not None
    assert cpu.ratio.high is not None
    assert cpu.ratio.high < 1
    assert cpu.verdict is not None
    assert cpu.verdict.kind == "equivalent"
    assert remark(cell) == (
        "faster than the floor: neither its CPU time nor its connections say why"
    )


def test_a_client_within_the_noise_is_not_called_faster() -> None:
    close = World(studies=("roundtrip",), samples=5, noise=0.0005, scale={CURL: 0.996 / 1.15})
    assert remark(first_cell(close)) == "below the floor, by no more than may be noise"


def test_remarks_are_on_the_page(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, FASTER))
    cell = page_view(run, analyse_run(run)).studies[0].cells[0]
    (row,) = (row for row in cell.rows if row.entry == CURL)
    assert any(one.startswith("faster than the floor: ") for one in row.remarks)


@pytest.mark.parametrize(
    ("values", "units", "text"),
    [
        ((12_345, 11_900, 12_840), TIMES, "12.3 [11.9, 12.8] µs"),
        ((-150, -1_200, 900), TIMES, "-0.15 [-1.20, 0.90] µs"),
        ((5 * 1024, 4 * 1024, 6 * 1024), BYTES, "5.00 [4.00, 6.00] KiB"),
        ((0, 0, 0), TIMES, "0.00 [0.00, 0.00] ns"),
        ((-0.1, -2_000, 1_000), TIMES, "0.00 [-2.00, 1.00] µs"),
    ],
)
def test_an_interval_is_in_one_unit(
    values: tuple[float, float, float], units: object, text: str
) -> None:
    assert scaled_with_interval(*values, units) == text  # type: ignore[arg-type]


def test_a_negative_figure_has_three_digits() -> None:
    assert scaled(-123_400, TIMES) == "-123 µs"
