"""Latency against load: knees, goodput, and what the page shows of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path

import pytest

from synthetic_run import make_plan, write_run
from synthetic_trials import make_trials
from synthetic_world import World, studies
from wirebench.catalog.loads import ClosedLoad
from wirebench.plan.model import Plan
from wirebench.report import analyse_run
from wirebench.report.curves import ladder_curves
from wirebench.report.loads import cost_tables, load_tables
from wirebench.report.matrix import comparable
from wirebench.report.model import PageView
from wirebench.report.page import spec_of
from wirebench.report.view import page_view
from wirebench.stats import analyse
from wirebench.stats.load_curve import LoadCurve, LoadPoint, knee_of, load_curves
from wirebench.store.rundir import read_run
from wirebench.trial.record import TrialRecord

WORLD = World(studies=("concurrency",), preset="load", samples=200)


@cache
def planned_and_measured() -> tuple[Plan, Sequence[TrialRecord]]:
    plan = make_plan(WORLD)
    return plan, make_trials(WORLD, plan)


@pytest.fixture(scope="module")
def curves() -> dict[str, LoadCurve]:
    plan, trials = planned_and_measured()
    analysis = analyse(trials, plan)
    found = load_curves(
        list(zip(analysis.cells, [planned.cell for planned in plan.cells], strict=True))
    )
    assert list(found) == ["c50"]
    return {curve.entry: curve for curve in found["c50"]}


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> PageView:
    stored = read_run(write_run(tmp_path_factory.mktemp("results"), WORLD))
    return page_view(stored, analyse_run(stored))


def points(*pairs: tuple[float, float]) -> list[LoadPoint]:
    return [
        LoadPoint(share=share, answered_per_s=share * 1000, p50_ns=None, p99_ns=delay)
        for share, delay in pairs
    ]


def test_the_knee_has_the_most_throughput_for_its_delay() -> None:
    # A queue whose delay grows as 1 / (1 - load): power load (1 - load) is greatest at one half.
    queue = points(*((share, 1e6 / (1 - share)) for share in (0.1, 0.3, 0.5, 0.7, 0.9)))
    knee = knee_of(queue, band=0.0)
    assert knee is not None
    assert (knee.point.share, knee.low_share, knee.high_share) == (0.5, 0.5, 0.5)
    # 0.3 and 0.7 have 84% of its power: within a band of 20% they cannot be told from it.
    wide = knee_of(queue, band=0.2)
    assert wide is not None
    assert (wide.low_share, wide.high_share) == (0.3, 0.7)


def test_a_slow_wake_up_at_the_lightest_load_does_not_move_the_knee() -> None:
    knee = knee_of(points((0.1, 9e6), (0.3, 1e6), (0.5, 1.2e6), (0.7, 1.4e6), (0.9, 9e6)), band=0)
    assert knee is not None
    assert knee.point.share == 0.7


def test_two_points_have_no_knee() -> None:
    assert knee_of(points((0.1, 1.0), (0.9, 2.0)), band=0.03) is None


def test_curves_hold_capacity_points_knee_and_goodput(curves: dict[str, LoadCurve]) -> None:
    assert not any("~twin" in name for name in curves)
    curve = curves["rust/axum"]
    assert curve.capacity_per_s is not None
    assert [point.share for point in curve.points] == [0.1, 0.3, 0.5, 0.7, 0.9]
    shares = [point.answered_per_s / curve.capacity_per_s for point in curve.points]
    assert shares == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9], rel=0.1)
    delays = [point.p99_ns for point in curve.points]
    assert delays == sorted(delays)
    assert curve.knee is not None
    assert curve.knee.point in curve.points
    assert list(curve.goodput_per_s) == [1.2, 1.5, 2.0]
    assert list(curve.goodput_per_s.values()) == pytest.approx([curve.capacity_per_s] * 3, rel=0.1)
    assert curve.overwhelmed == ()


def test_a_load_that_was_not_kept_up_with_is_no_point() -> None:
    plan, measured = planned_and_measured()
    trials = [
        replace(trial, validity={"kept_up": False})
        if (trial.entry, trial.cell) == ("go/net-http", "load-90")
        else trial
        for trial in measured
    ]
    analysis = analyse(trials, plan)
    cells = list(zip(analysis.cells, [planned.cell for planned in plan.cells], strict=True))
    curves = load_curves(cells)
    (curve,) = (one for one in curves["c50"] if one.entry == "go/net-http")
    assert [point.share for point in curve.points] == [0.1, 0.3, 0.5, 0.7]
    assert curve.overwhelmed == (0.9,)
    (table,) = load_tables(curves)
    at_90 = 1 + table.columns.index("p99 at 90%")
    assert {row[0] for row in table.rows if row[at_90] == "could not keep up"} == {"go/net-http"}


@pytest.mark.parametrize(
    ("busy_in", "expected"),
    [
        (set(), ("", "")),
        ({"over-150"}, ("", "≥ ")),
        ({"c50"}, ("≤ ", "≤ ")),
        ({"c50", "over-150"}, ("≤ ", "? ")),
    ],
)
def test_goodput_behind_a_busy_generator_is_a_bound(
    busy_in: set[str], expected: tuple[str, str]
) -> None:
    curve = limited(busy_in)
    ((*_, at_120, at_150, _at_200),) = next(load_tables({"c50": [curve]})).rows
    assert (sign(at_120), sign(at_150)) == expected
    assert curve.goodput_at_least == ({1.5} if "over-150" in busy_in else set())
    assert (", ≥ " in at_150) == ("over-150" in busy_in), "and so is its rate"
    assert ", ≥ " not in at_120


def test_times_behind_a_busy_generator_are_upper_bounds() -> None:
    calm = limited(set())
    assert calm.knee is not None
    at_knee = f"load-{calm.knee.point.share * 100:.0f}"
    assert at_knee != "load-90"
    for busy, expected in (("", ("", "")), ("load-90", ("", "≤ ")), (at_knee, ("≤ ", ""))):
        table = next(load_tables({"c50": [limited({busy})]}))
        told = dict(zip(table.columns, table.rows[0][1:], strict=True))
        assert (sign(told["p99 at the knee"]), sign(told["p99 at 90%"])) == expected


def limited(busy_in: set[str]) -> LoadCurve:
    """The curve of go/net-http where the generator was the limit in these cells alone."""
    plan, measured = planned_and_measured()
    trials = [
        replace(
            trial,
            validity={
                **trial.validity,
                "server_cpu_share": 0.7,
                "generator_cpu_share": 0.99 if trial.cell in busy_in else 0.5,
            },
        )
        for trial in measured
    ]
    analysis = analyse(trials, plan)
    cells = list(zip(analysis.cells, [planned.cell for planned in plan.cells], strict=True))
    (curve,) = (one for one in load_curves(cells)["c50"] if one.entry == "go/net-http")
    return curve


def sign(text: str) -> str:
    return text[:2] if text[0] in "≥≤?" else ""


def test_the_page_has_curves_with_rings_at_the_knees(view: PageView) -> None:
    (study,) = view.studies
    charts = {chart.id: chart.chart for chart in study.charts}
    assert {"concurrency.load-c50-p99", "concurrency.load-c50-p50"} <= set(charts)
    spec = spec_of(charts["concurrency.load-c50-p99"])
    lines, _, names, rings = spec["layer"]
    drawn = {row["entry"] for row in lines["data"]["values"]}
    assert {"cpp/floor", "go/net-http", "python/flask"} <= drawn
    ringed = [row["entry"] for row in rings["data"]["values"]]
    assert sorted(ringed) == sorted(drawn)
    assert sorted(row["entry"] for row in names["data"]["values"]) == sorted(drawn)


def test_the_tables_tell_knee_goodput_and_both_orders(view: PageView) -> None:
    (study,) = view.studies
    knees, costs = study.tables
    assert knees.columns == (
        "capacity", "knee", "rate at the knee", "p99 at the knee", "p99 at 90%",
        "goodput at 120%", "goodput at 150%", "goodput at 200%",
    )  # fmt: skip
    assert len({len(row) for row in (*knees.rows, (*knees.columns, ""))}) == 1
    rows = {row[0]: row[1:] for row in costs.rows}
    assert costs.title.startswith("Cost at a pinned rate (rate-10000)")
    # At 10,000/s flask (2,100/s at most) has no cost; at saturation it has a rank all the same.
    assert rows["python/flask"][:2] == ("", "could not keep up")
    assert rows["python/flask"][2] != ""
    assert rows["go/net-http"][0] != ""


def test_cells_of_different_metrics_share_no_table(view: PageView) -> None:
    (study,) = view.studies
    assert [matrix.shows for matrix in study.matrices] == ["throughput", "CPU per request", "p99"]
    ids = [[name for _, name in matrix.cells] for matrix in study.matrices]
    assert ids[1] == ["rate-1000", "rate-10000"]


def test_cells_on_all_cores_share_no_table_with_those_on_one() -> None:
    world = World(studies=("concurrency",), preset="full", blocks=1, samples=50)
    plan = make_plan(world)
    analysis = analyse(make_trials(world, plan), plan)
    cells = list(zip(analysis.cells, [planned.cell for planned in plan.cells], strict=True))
    groups = [[one.cell for one in group] for group in comparable(cells)]
    assert ["all-c50", "all-c1000"] in groups
    assert not any("c50" in group and "all-c50" in group for group in groups)
    titles = [table.title for table in cost_tables(cells)]
    assert titles == ["Cost at a pinned rate (rate-10000) beside saturated throughput (c50)"]


def test_a_curve_goes_up_the_rungs_in_whatever_order_they_were_measured() -> None:
    """Names stand where lines end, which is the last row of each."""
    known = {cell.id: cell for cell in studies()["concurrency"].preset("evening").cells}
    rungs = tuple(known[name] for name in ("c50", "c10000", "c2000"))
    world = World(studies=("concurrency",), blocks=1, samples=50, cells={"concurrency": rungs})
    plan = make_plan(world)
    analysis = analyse(make_trials(world, plan), plan)
    for curve in ladder_curves(list(zip(analysis.cells, rungs, strict=True))):
        steps = [row["x"] for row in curve.rows if row["entry"] == "rust/axum"]
        assert steps == [50, 2000, 10_000]


def test_longer_messages_are_no_rung_and_no_saturated_throughput_of_short_ones() -> None:
    """They have as many connections: a curve over those would be a line upwards."""
    presets = studies()["websocket"].presets
    known = {cell.id: cell for name in ("hour", "sizes") for cell in presets[name].cells}
    sizes = ["echo-100-size-16", "echo-100-size-65536"]
    ids = ("echo-100", "echo-rate-10000", *sizes, "echo-1000")
    chosen = {"websocket": tuple(known[name] for name in ids)}
    world = World(studies=("websocket",), blocks=1, samples=50, cells=chosen)
    plan = make_plan(world)
    analysis = analyse(make_trials(world, plan), plan)
    cells = list(zip(analysis.cells, [planned.cell for planned in plan.cells], strict=True))
    rate, time = ladder_curves(cells)
    assert (rate.title, time.title) == ("messages/s", "99th percentile")
    assert {row["x"] for row in rate.rows} == {100, 1000}
    places = [(row["entry"], row["x"]) for row in rate.rows]
    assert len(places) == len(set(places)), "one figure at each rung"
    titles = [table.title for table in cost_tables(cells)]
    assert titles == [
        "Cost at a pinned rate (echo-rate-10000) beside saturated throughput (echo-100)"
    ]
    load = known[sizes[1]].load
    assert isinstance(load, ClosedLoad)
    wider = replace(known[sizes[1]], load=replace(load, connections=1000))
    with_it = [*cells, (analysis.cells[-1], wider)]
    assert [one.title for one in ladder_curves(with_it)][2:] == [
        "messages/s, 65,536 bytes each",
        "99th percentile, 65,536 bytes each",
    ]


def test_closed_loops_say_that_their_times_are_the_loads(view: PageView) -> None:
    (study,) = view.studies
    closed, pinned = study.cells[0], study.cells[1]
    assert "median (N / rate)" in closed.columns
    assert "p99 (N / rate)" in closed.columns
    assert "set by the load, not latency" in closed.basis
    assert "median" in pinned.columns
    assert "N / rate" not in pinned.basis


def test_terminal_tables_have_open_cells(tmp_path: Path) -> None:
    from rich.console import Console

    from wirebench.cli.table import run_tables

    stored = read_run(write_run(tmp_path, WORLD))
    assert stored.plan is not None
    out = Console(width=200, record=True, file=StringIO())
    for part in run_tables(analyse_run(stored), stored.plan.studies, width=200):
        out.print(part)
    text = out.export_text()
    assert "concurrency load-50" in text
    assert "Ranked by CPU/request" in text
    assert "* set by the load, not latency" in text
    assert "could not keep up: answered" in text
