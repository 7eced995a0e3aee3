"""Memory per connection: slopes over rungs, from made-up servers of which the truth is known."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from rich.console import Console
from scipy import stats

from synthetic_run import make_plan, write_run
from synthetic_trials import make_trials
from synthetic_world import FLOOR, World
from wirebench.catalog.loads import ClosedLoad
from wirebench.cli.table import run_tables
from wirebench.plan.model import Plan
from wirebench.report import analyse_run
from wirebench.report.memory import heading
from wirebench.report.view import page_view
from wirebench.stats import RunAnalysis, analyse
from wirebench.stats.memory import slope_of
from wirebench.stats.types import BlockMedian, MemoryTable
from wirebench.store.rundir import read_run
from wirebench.trial.record import TrialRecord

WORLD = World(studies=("concurrency",), samples=5, block_noise=0.01)
HEAP = 30_000_000


def found_slope(blocks: Mapping[int, Mapping[int, float]]) -> BlockMedian:
    found = slope_of(blocks)
    assert found is not None
    return found


def test_what_a_server_allocates_once_is_not_in_the_slope() -> None:
    found = found_slope({1: {50: HEAP + 50 * 4096, 1000: HEAP + 1000 * 4096}})
    assert (found.low, found.high, found.blocks) == (None, None, 1)
    assert found.estimate == pytest.approx(4096)


def test_six_blocks_give_an_interval_around_the_median() -> None:
    slopes = [4000, 4100, 4050, 3990, 4200, 4020, 4060]
    found = found_slope(
        {block: {50: 50.0 * one, 1000: 1000.0 * one} for block, one in enumerate(slopes, start=1)}
    )
    assert found.estimate == pytest.approx(4050)
    assert found.low is not None
    assert found.high is not None
    assert 3990 <= found.low < 4050 < found.high <= 4200


def test_one_rung_with_a_grown_heap_does_not_move_the_slope() -> None:
    rungs = {n: HEAP + n * 2000.0 for n in (50, 1000, 2000, 3000, 4000, 5000)}
    assert found_slope({1: {**rungs, 3000: rungs[3000] * 2}}).estimate == pytest.approx(2000)


def test_the_slope_is_that_of_theil_and_sen() -> None:
    random = Random(7)
    for rungs in range(2, 8):
        values = {n: HEAP + random.gauss(n * 2000, 1e6) for n in random.sample(range(9999), rungs)}
        values |= {1: float(HEAP), 10_000: HEAP + 2e7}
        expected = stats.theilslopes(list(values.values()), list(values)).slope
        assert found_slope({1: values}).estimate == pytest.approx(expected, rel=1e-12)


def test_the_larger_part_of_scipy_is_not_imported() -> None:
    """It would be most of the time in which each process of a fleet starts."""
    code = "import wirebench.fleet.child, sys; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_server_that_gives_memory_back_has_a_negative_slope() -> None:
    assert found_slope({1: {100: 5000.0, 200: 4000.0}}).estimate == pytest.approx(-10)


def test_rungs_too_close_together_and_blocks_with_one_rung_give_no_slope() -> None:
    assert slope_of({1: {1000: 1.0, 1900: 2.0}, 2: {50: 3.0}}) is None
    assert found_slope({1: {1000: 1.0, 1900: 2.0}, 2: {50: 0.0, 100: 50.0}}).blocks == 1
    assert slope_of({}) is None


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(WORLD)


@pytest.fixture(scope="module")
def trials(plan: Plan) -> list[TrialRecord]:
    return make_trials(WORLD, plan)


def only_table(analysis: RunAnalysis) -> MemoryTable:
    (table,) = analysis.memory
    return table


def estimate(table: MemoryTable, name: str) -> float:
    own = table.entries[name].own
    assert own is not None
    return own.estimate


def test_a_study_has_one_table_over_its_rungs(plan: Plan, trials: list[TrialRecord]) -> None:
    analysis = analyse(trials, plan)
    table = only_table(analysis)
    assert (table.cells, table.connections) == (("c50", "c1000"), (50, 1000))
    assert (table.measure, table.kernel_of) == ("PSS", "host")
    assert estimate(table, FLOOR) == pytest.approx(4_000, rel=0.03)
    assert estimate(table, "go/net-http") == pytest.approx(8_400, rel=0.03)
    kernel = table.entries["go/net-http"].kernel
    assert kernel is not None
    assert kernel.estimate == pytest.approx(5_600)
    for cell in analysis.cells:
        entry = cell.entry("go/net-http")
        assert entry is not None
        assert entry.memory == table.entries["go/net-http"]
    assert table.entries["python/flask"].own is None, "it never worked at 1,000 connections"


def test_without_pss_it_is_rss_and_says_so(plan: Plan, trials: list[TrialRecord]) -> None:
    bare = [
        replace(one, metrics={**one.metrics, "server_pss_bytes": None, "server_kernel_bytes": 9})
        for one in trials
    ]
    table = only_table(analyse(bare, plan))
    assert (table.measure, table.kernel_of) == ("RSS", "server")
    assert estimate(table, FLOOR) == pytest.approx(4_200, rel=0.03)


def test_plain_and_tls_rungs_are_not_mixed(plan: Plan, trials: list[TrialRecord]) -> None:
    load = plan.cells[1].cell.load
    assert isinstance(load, ClosedLoad)
    tls = replace(plan.cells[1].cell, load=replace(load, tls=True))
    mixed = replace(plan, cells=(plan.cells[0], replace(plan.cells[1], cell=tls)))
    analysis = analyse(trials, mixed)
    assert [table.connections for table in analysis.memory] == [(50,), (1000,)]
    assert {one.reason for table in analysis.memory for one in table.entries.values()} == {
        "needs two rungs"
    }


def test_rungs_of_servers_of_more_processes_have_a_slope_of_their_own(
    plan: Plan, trials: list[TrialRecord]
) -> None:
    """Each process has code and heap of its own: that is no memory of connections."""
    few, many = plan.cells
    many = replace(many, processes=2)
    load = many.cell.load
    assert isinstance(load, ClosedLoad)
    id_, most = "c9000", 9000
    cell = replace(many.cell, id=id_, load=replace(load, connections=most))
    metric, code = "server_pss_bytes", 20 * HEAP
    # Both rungs of two processes have the code of the second; their slope is 9,000 bytes.
    of_two = [
        replace(one, cell=name, metrics={**one.metrics, metric: code + 9_000.0 * connections})
        for name, connections in (("c1000", 1000), (id_, most))
        for one in trials
        if one.cell == "c1000"
    ]
    mixed = replace(plan, cells=(few, many, replace(many, cell=cell)))
    analysis = analyse([*(one for one in trials if one.cell == "c50"), *of_two], mixed)
    assert [(table.connections, table.processes) for table in analysis.memory] == [
        ((50,), 1),
        ((1000, most), 2),
    ]
    one, two = analysis.memory
    assert one.entries["go/net-http"].reason == "needs two rungs"
    assert estimate(two, "go/net-http") == pytest.approx(9_000)
    assert heading(two).endswith("1,000 and 9,000 connections, 2 processes for each server")


def test_who_needs_more_processes_than_others_is_measured_where_it_has_as_many(
    plan: Plan, trials: list[TrialRecord]
) -> None:
    """One that waits by select holds so few connections that it is several processes at 1,000."""
    few, many = plan.cells
    pss, name = "server_pss_bytes", "go/net-http"
    grown = [
        replace(one, metrics={**one.metrics, pss: 20 * HEAP + (one.metrics[pss] or 0)})
        if (one.cell, one.contestant) == ("c1000", name)
        else one
        for one in trials
    ]
    mixed = replace(plan, cells=(few, replace(many, more_processes={name: 2})))
    table = only_table(analyse(grown, mixed))
    found = table.entries[name]
    assert found.own is None, "the code of the second process is no memory of connections"
    assert found.reason == "needs two rungs on which it has as many processes"
    assert estimate(table, "rust/axum") == pytest.approx(4_000 * 1.22, rel=0.03)

    load = many.cell.load
    assert isinstance(load, ClosedLoad)
    cell = replace(many.cell, id="c500", load=replace(load, connections=500))
    between = [
        replace(one, cell="c500", metrics={**one.metrics, pss: HEAP + 9_000.0 * 500})
        if one.cell == "c1000"
        else replace(one, metrics={**one.metrics, pss: HEAP + 9_000.0 * 50})
        for one in trials
    ]
    wider = replace(mixed, cells=(few, replace(many, cell=cell), mixed.cells[1]))
    table = only_table(analyse([*between, *(one for one in grown if one.cell == "c1000")], wider))
    assert table.connections == (50, 500, 1000)
    assert estimate(table, name) == pytest.approx(9_000), "from 50 to 500"


def test_old_trials_and_other_loads_have_no_figure(plan: Plan, trials: list[TrialRecord]) -> None:
    old = [
        replace(one, metrics={"throughput_per_s": 1.0, "memory_per_connection_bytes": 77.0})
        for one in trials
    ]
    table = only_table(analyse(old, plan))
    assert all(one.own is None and one.reason for one in table.entries.values())
    rest = World(studies=("rest",), samples=5)
    found = analyse(make_trials(rest, make_plan(rest)), make_plan(rest))
    assert found.memory == ()
    assert all(entry.memory is None for cell in found.cells for entry in cell.entries)


def drawn(analysis: RunAnalysis, plan: Plan) -> str:
    file = io.StringIO()
    for part in run_tables(analysis, plan.studies):
        Console(file=file, width=160, color_system=None).print(part)
    return file.getvalue()


def test_the_terminal_prints_the_table_once_with_its_rungs(
    plan: Plan, trials: list[TrialRecord]
) -> None:
    text = drawn(analyse(trials, plan), plan)
    assert text.count("the slope over 50 and 1,000 connections") == 1
    after = text.split("the slope over")[1].splitlines()
    lines = [line.split() for line in after if "KiB" in line]
    assert lines[0][0] == FLOOR, "least memory first"
    assert lines[0][2] == "KiB"
    assert "both ends of each connection" in text
    assert "needs two rungs" not in text
    single = replace(plan, cells=plan.cells[1:])
    alone = drawn(analyse(trials, single), single)
    assert "the slope over" not in alone
    assert alone.count("memory per connection: needs two rungs") == 1


def test_the_report_has_the_table_and_the_column(tmp_path: Path) -> None:
    stored = read_run(write_run(tmp_path, WORLD))
    (study,) = page_view(stored, analyse_run(stored)).studies
    (table,) = study.memory
    assert table.heading == "Memory per connection, the slope over 50 and 1,000 connections"
    assert table.rows[0][0] == FLOOR
    assert table.rows[0][1].startswith("3.9")
    assert "[" in table.rows[0][1]
    for cell in study.cells:
        column = cell.columns.index("memory per connection")
        by_name = {row.entry: row.figures[column] for row in cell.rows}
        assert by_name[FLOOR].text.startswith("3.9")
        assert by_name["python/flask"].blank == "no block has its memory at two rungs"
