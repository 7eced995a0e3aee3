"""The rounds of a ramp: the article's figures and what they leave out, as charts and as CSV."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest

from synthetic_run import write_run
from synthetic_world import World
from wirebench.catalog.loads import RampLoad
from wirebench.cli.console import EXIT_OK
from wirebench.cli.main import run_app
from wirebench.report import analyse_run, export_rounds
from wirebench.report.drawing import Style
from wirebench.report.line_names import short_names, spread
from wirebench.report.lines import curve_chart, round_steps
from wirebench.report.palette import looks
from wirebench.report.rounds import (
    ALL_COLUMNS,
    COLUMNS,
    WITHOUT,
    ramp_curves,
    ramp_totals,
    write_rounds,
)
from wirebench.stats.types import CellAnalysis
from wirebench.store.rundir import StoredRun, read_run

WORLD = World(studies=("websocket",), samples=60)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> StoredRun:
    return read_run(write_run(tmp_path_factory.mktemp("results"), WORLD))


@pytest.fixture(scope="module")
def cell(run: StoredRun) -> CellAnalysis:
    return next(one for one in analyse_run(run).cells if one.cell == "burst-small")


def test_the_lines_of_the_article_are_there_and_the_servers_cost(
    run: StoredRun, cell: CellAnalysis
) -> None:
    trials = [trial for trial in run.trials if trial.cell == cell.cell]
    curves = {one.title: one for one in ramp_curves(cell, trials)}
    assert list(curves) == [
        "time of the round",
        "longest round trip",
        "p99 round trip",
        "average round trip",
        "median round trip",
        "shortest round trip",
        "messages answered",
        "server CPU per message",
        "server memory",
        "time to open the round's connections",
        "time to open the round's connections" + WITHOUT,
    ]
    first = curves["time of the round"]
    assert [row["x"] for row in first.rows if row["entry"] == "node/ws"] == [50, 100, 150, 200]
    broken = "python/websockets"
    assert broken in first.names
    assert broken not in curves["time to open the round's connections" + WITHOUT].names
    assert not any("~twin" in name for name in first.names)
    memory, cpu = curves["server memory"], curves["server CPU per message"]
    assert memory.kind == "bytes"
    assert all(row["text"].endswith(" MiB") for row in memory.rows)
    own = [trial for trial in trials if trial.entry == "node/ws" and trial.status == "ok"]
    used = [
        (one["server"]["cpu_user_ns"] + one["server"]["cpu_system_ns"]) / one["answered"]
        for trial in own
        for one in (trial.rounds or ())[3:]
    ]
    (drawn,) = [row["y"] for row in cpu.rows if (row["entry"], row["x"]) == ("node/ws", 200)]
    assert drawn == pytest.approx(median(used), rel=0.01)


def test_memory_has_an_axis_in_binary_units(cell: CellAnalysis, run: StoredRun) -> None:
    curves = ramp_curves(cell, [trial for trial in run.trials if trial.cell == cell.cell])
    curve = next(one for one in curves if one.title == "server memory")
    chart = curve_chart(curve, Style(looks=looks([curve.names], floors=["cpp/floor"])))
    assert chart is not None
    axis = chart.to_dict()["layer"][0]["encoding"]["y"]["axis"]
    assert axis["values"]
    assert all(value % 2**16 == 0 for value in axis["values"])
    assert "MiB" in axis["labelExpr"]


def test_rounds_without_the_servers_cost_have_no_such_lines(
    run: StoredRun, cell: CellAnalysis
) -> None:
    bare = [
        replace(trial, rounds=tuple({**one, "server": None} for one in trial.rounds or ()))
        for trial in run.trials
        if trial.cell == cell.cell
    ]
    titles = [one.title for one in ramp_curves(cell, bare)]
    assert "time of the round" in titles
    assert not any("server" in title for title in titles)


def test_without_a_failure_nothing_is_drawn_without_it(run: StoredRun) -> None:
    cell = next(one for one in analyse_run(run).cells if one.cell == "serial-small")
    trials = [trial for trial in run.trials if trial.cell == cell.cell]
    assert not any(WITHOUT in one.title for one in ramp_curves(cell, trials))


def test_totals_are_sums_and_those_that_broke_stand_last(
    run: StoredRun, cell: CellAnalysis
) -> None:
    trials = [trial for trial in run.trials if trial.cell == cell.cell]
    connecting, exchanging, whole = ramp_totals(cell, trials)
    for one in (connecting, exchanging, whole):
        assert one.bars[-1].name == "python/websockets"
        assert one.bars[-1].fault == "broke in round 4"
        held = [bar.value for bar in one.bars[:-1]]
        assert held == sorted(held)
    bars = [{bar.name: bar.value for bar in one.bars} for one in (connecting, exchanging, whole)]
    for name in bars[0]:
        assert bars[0][name] + bars[1][name] == pytest.approx(bars[2][name], rel=0.05)


def test_the_rounds_are_in_the_articles_columns(run: StoredRun, tmp_path: Path) -> None:
    assert run_app(["report", str(run.path), "--csv", str(tmp_path / "csv")]) == EXIT_OK
    assert [path.name for path in sorted((tmp_path / "csv").iterdir())] == [
        "websocket.burst-small.all.csv",
        "websocket.burst-small.csv",
        "websocket.serial-small.all.csv",
        "websocket.serial-small.csv",
    ]
    with (tmp_path / "csv" / "websocket.burst-small.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert tuple(lines[0]) == COLUMNS
    trials = [one for one in run.trials if one.cell == "burst-small" and one.rounds]
    assert len(lines) == sum(len(one.rounds or ()) for one in trials)
    last = next(
        one for one in lines if one["contestant"] == "python/websockets" and one["round"] == "4"
    )
    assert (last["clients"], last["total"], last["percentage"]) == ("200", "4000", "62%")
    stored = next(one for one in trials if one.entry == "python/websockets")
    assert stored.rounds is not None
    assert float(last["time"]) == pytest.approx(stored.rounds[3]["elapsed_ns"] / 1e6)
    assert float(last["longest"]) > float(last["average"]) > float(last["shortest"])


def test_one_missing_message_of_fifty_million_is_not_all(run: StoredRun, tmp_path: Path) -> None:
    short = next(one for one in run.trials if one.cell == "burst-small" and one.rounds)
    (first, *_) = short.rounds or ()
    load = next(
        one.cell.load for one in (run.plan.cells if run.plan else ()) if one.cell.id == short.cell
    )
    assert isinstance(load, RampLoad)
    asked = first["clients"] * load.messages
    shares = []
    for answered in (asked, asked - 1e-6 * asked / 50, 0):
        rounds = ({**first, "answered": answered},)
        write_rounds(replace(run, trials=(replace(short, rounds=rounds),)), tmp_path)
        with (tmp_path / "websocket.burst-small.csv").open(newline="") as file:
            shares += [line["percentage"] for line in csv.DictReader(file)]
    assert shares == ["100%", "99.9999%", "0%"]


def test_all_of_a_round_is_in_a_table(run: StoredRun, tmp_path: Path) -> None:
    export_rounds(run.path, tmp_path)
    with (tmp_path / "websocket.burst-small.all.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert tuple(lines[0]) == ALL_COLUMNS
    trials = [one for one in run.trials if one.cell == "burst-small"]
    stored = [(trial, one) for trial in trials for one in trial.rounds or ()]
    assert len(lines) == len(stored)
    for line, (trial, one) in zip(lines, stored, strict=True):
        latency, server = one["latency"], one["server"]
        assert (line["contestant"], line["block"]) == (trial.entry, str(trial.block))
        assert line["clients"] == str(one["clients"])
        assert line["total"] == str(one["clients"] * 20)
        assert line["min_ns"] == str(latency["min_ns"])
        for column, name in (("p50_ns", "50"), ("p90_ns", "90"), ("p99_ns", "99")):
            assert line[column] == str(latency["percentiles_ns"][name])
        assert line["p999_ns"] == ""  # too few messages
        assert line["server_cpu_ns"] == str(server["cpu_user_ns"] + server["cpu_system_ns"])
        assert line["server_rss_bytes"] == str(server["rss_bytes"])
        assert line["server_rss_peak_bytes"] == str(server["rss_peak_bytes"])


def test_a_run_without_a_ramp_has_no_rounds(tmp_path: Path) -> None:
    run = write_run(tmp_path, World(studies=("concurrency",), samples=60))
    assert export_rounds(run, tmp_path / "csv") == []


@pytest.mark.parametrize(
    "places", [[0.5] * 4, [0.0, 1.0], [0.1, 0.11, 0.9], [0.98, 0.99, 1.0], [0.3] * 30, []]
)
def test_names_are_moved_apart_within_the_plot(places: list[float]) -> None:
    moved = spread(places, gap=0.05)
    gap = min(0.05, 1 / max(1, len(places)))
    assert all(gap / 2 - 1e-9 <= one <= 1 - gap / 2 + 1e-9 for one in moved)
    assert all(b - a >= gap - 1e-9 for a, b in pairwise(sorted(moved)))
    assert [moved[i] for i in sorted(range(len(places)), key=lambda i: places[i])] == sorted(moved)


def test_names_lose_their_language_unless_two_would_be_alike() -> None:
    assert short_names(["go/ws", "node/ws", "c/x"]) == {
        "go/ws": "go/ws",
        "node/ws": "node/ws",
        "c/x": "x",
    }


def test_an_axis_has_few_round_steps() -> None:
    assert round_steps(100, 10_000) == [2000, 4000, 6000, 8000, 10_000]
    assert round_steps(50, 200) == [50, 100, 150, 200]
