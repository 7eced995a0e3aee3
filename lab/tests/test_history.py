"""``wirebench history``: the index of the runs, series over them, and where a level changed."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import shutil
import sqlite3
from collections.abc import Container, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synthetic_run import write_run
from synthetic_world import World
from wirebench.catalog import CatalogError
from wirebench.cli.console import EXIT_OK, EXIT_USAGE
from wirebench.cli.main import run_app
from wirebench.cli.report import find_run
from wirebench.duel.plan import STUDY as DUEL
from wirebench.history import index as index_module
from wirebench.history.changes import LEAST_RUNS, changes_of
from wirebench.history.index import INDEX_FILE, Figure, Index, Point, Series
from wirebench.history.text import heading, lines, page
from wirebench.serve.under_way import UnderWay
from wirebench.store.rundir import (
    HOST_FILE,
    PLAN_FILE,
    RUN_FILE,
    TRIALS_FILE,
    StoredRun,
    complete_runs,
)

WORLD = World(studies=("concurrency",), samples=60)
HOUR_NS = 3_600 * 10**9


def series_of(
    ratios: list[float], *, half_width: float = 0.01, disturbed: Container[int] = ()
) -> Series:
    """One figure of a contestant whose library has another version in each run. ``disturbed``: the
    runs beside which other programs ran.
    """
    return Series(
        study="concurrency",
        cell="c50",
        contestant="cpp/wire",
        preset="quick",
        metric="throughput_per_s",
        unit="request",
        points=tuple(
            Point(
                run=f"run-{number}",
                started_unix_ns=1_700_000_000 * 10**9 + number * HOUR_NS,
                value=100_000 * ratio,
                ratio=ratio,
                low=ratio * (1 - half_width),
                high=ratio * (1 + half_width),
                blocks=9,
                version=f"1.{number}",
                build=f"b{number}",
                disturbed=number in disturbed,
                wirebench="0.1.0",
                kernel="6.1",
            )
            for number, ratio in enumerate(ratios)
        ),
    )


# --- changes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("runs", [12, 24, 60])
@pytest.mark.parametrize("effect", [0.0, 0.01, 0.02])
def test_noise_with_a_run_effect_has_no_change(runs: int, effect: float) -> None:
    """None in 95 of 100 series: each run has its own layout, and its own error."""
    random = np.random.default_rng(runs * 1000 + round(effect * 1000))
    marked = 0
    for _ in range(100):
        logs = random.normal(0, effect, runs) + random.normal(0, 0.005, runs)
        marked += bool(changes_of(series_of(list(np.exp(logs)))))
    assert marked <= 5


@pytest.mark.parametrize("at", [4, 10, 15])
def test_a_change_that_was_put_in_is_marked_where_it_is(at: int) -> None:
    random = np.random.default_rng(at)
    for shift in (1.12, 1 / 1.12):
        logs = random.normal(0, 0.01, 20)
        logs[at:] += np.log(shift)
        (change,) = changes_of(series_of(list(np.exp(logs))))
        assert change.after.run == f"run-{at}"
        assert change.ratio == pytest.approx(shift, rel=0.02)
        assert change.versions == (f"library 1.{at - 1} -> 1.{at}", "build")


@pytest.mark.parametrize("cycle", [0.005, 0.01])
def test_two_days_on_a_host_that_is_slower_by_day(cycle: float) -> None:
    """A run each half hour: the cycle of the day is no change, and hides none of 6%."""
    random = np.random.default_rng(round(cycle * 1000))
    runs, series = 96, 40
    false, found = 0, 0
    for _ in range(series):
        days = np.arange(runs) / 48 + random.random()
        logs = random.normal(0, 0.01, runs) + cycle * np.sin(2 * np.pi * days)
        false += bool(changes_of(series_of(list(np.exp(logs)))))
        at = int(random.integers(runs // 4, 3 * runs // 4))
        logs[at:] += np.log(1.06)
        marked = [
            int(one.after.run.removeprefix("run-"))
            for one in changes_of(series_of(list(np.exp(logs))))
        ]
        found += len(marked) == 1 and abs(marked[0] - at) <= 1
    assert false <= 0.05 * series
    assert found >= 0.9 * series


MEASURED = (
    (0.2570, 0.2302, 0.3220),
    (0.3144, 0.2207, 0.3673),
    (0.2569, 0.2123, 0.3851),
    (0.2443, 0.2250, 0.2847),
    (0.2733, 0.2417, 0.3040),
    (0.2401, 0.2340, 0.2532),
    (0.2426, 0.2384, 0.2557),
    (0.2558, 0.2455, 0.2932),
    (0.1873, 0.1676, 0.2720),
    (0.1981, 0.1797, 0.2678),
    (0.2082, 0.1777, 0.2397),
    (0.2223, 0.1821, 0.2536),
    (0.2161, 0.1816, 0.2521),
    (0.2084, 0.1796, 0.2776),
    (0.1856, 0.1765, 0.1904),
    (0.1914, 0.1801, 0.2240),
)
"""Throughput of a server in Go over the floor, with its interval: the quick preset on a shared
machine of two cores. From the ninth run on the server did more work for each request.
"""


def test_a_change_put_in_on_a_noisy_machine_is_marked() -> None:
    series = series_of([ratio for ratio, _, _ in MEASURED])
    points = [
        replace(one, low=low, high=high)
        for one, (_, low, high) in zip(series.points, MEASURED, strict=True)
    ]
    (change,) = changes_of(replace(series, points=tuple(points)))
    assert change.after.run == "run-8"
    assert change.ratio == pytest.approx(0.79, abs=0.02)


@pytest.mark.parametrize(
    ("runs", "correlation"), [(12, 0.6), (24, 0.6), (48, 0.6), (48, 0.8), (96, 0.8)]
)
@pytest.mark.parametrize("shown", [True, False])
def test_noise_that_lasts_from_run_to_run_is_seldom_a_change(
    runs: int, correlation: float, *, shown: bool
) -> None:
    """Shown in the runs' intervals or not: at most one series in ten."""
    random = np.random.default_rng([runs, round(10 * correlation)])
    marked = 0
    for _ in range(100):
        noise = random.normal(0, 0.03, runs)
        for run in range(1, runs):
            noise[run] *= math.sqrt(1 - correlation**2)
            noise[run] += correlation * noise[run - 1]
        half_width = 1.96 * 0.03 if shown else 0.001
        marked += bool(changes_of(series_of(list(np.exp(noise)), half_width=half_width)))
    assert marked <= 10


def test_one_run_that_stands_out_is_no_change() -> None:
    assert changes_of(series_of([1.0, 1.001, 0.999, 1.4, 1.0, 0.998, 1.001, 1.0])) == []


def test_few_runs_have_none() -> None:
    assert changes_of(series_of([1.0] * (LEAST_RUNS - 1) + [2.0] * LEAST_RUNS)) == []
    assert len(changes_of(series_of([1.0] * LEAST_RUNS + [2.0] * LEAST_RUNS))) == 1


def test_without_a_floor_the_figures_themselves_are_compared() -> None:
    whole = series_of([1.0, 1.0, 1.01, 1.5, 1.5, 1.51])
    bare = replace(
        whole,
        points=tuple(replace(one, ratio=None, low=None, high=None) for one in whole.points),
    )
    assert [one.after.run for one in changes_of(bare)] == ["run-3"]
    assert "over the floor" not in heading(bare)
    assert "over the floor" in heading(whole)


# --- text -----------------------------------------------------------------------------------------


def test_lines_fit_the_terminal_and_say_what_changed() -> None:
    series = series_of([1.0, 1.0, 1.01, 1.5, 1.49, 1.51])
    for width in (80, 120):
        drawn = lines(series, width=width)
        assert max(len(line) for line in drawn) <= width
        assert sum("●" in line for line in drawn) == 6
        (marked,) = (line for line in drawn if "▲" in line)
        assert "more from here (library 1.2 -> 1.3; build)" in marked
    same = series_of([1.0] * 6, half_width=0.0)
    assert len({line.index("●") for line in lines(same, width=100)}) == 1


def test_a_change_says_that_other_programs_came_or_went() -> None:
    ratios = [1.0, 1.0, 1.01, 1.5, 1.49, 1.51]
    came = series_of(ratios, disturbed=(3, 4, 5))
    (change,) = changes_of(came)
    assert change.versions == (
        "library 1.2 -> 1.3",
        "build",
        "other programs ran beside these runs",
    )
    (change,) = changes_of(series_of(ratios, disturbed=(0, 1, 2)))
    assert change.versions[-1] == "other programs ran until here"
    drawn = [line for line in lines(came, width=80) if "●" in line]
    assert [line.endswith(", other programs ran") for line in drawn] == [False] * 3 + [True] * 3
    assert max(len(line) for line in drawn) <= 80
    assert page([came]).count("other programs ran</td>") == 3


def test_the_page_is_offline_and_escapes_what_it_shows() -> None:
    series = series_of([1.0, 1.0, 1.01, 1.5, 1.49, 1.51])
    hostile = replace(series, contestant="<script>alert(1)</script>")
    text = page([hostile])
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "<svg" in text
    assert "default-src 'none'" in text
    assert "http://www.w3.org/2000/svg" in text
    assert text.count("://") == text.count("http://www.w3.org/")


# --- the index ------------------------------------------------------------------------------------


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two runs, an hour apart."""
    write_run(tmp_path, WORLD)
    return tmp_path


def test_the_index_follows_the_directories(results: Path) -> None:
    read: list[str] = []
    with Index(results, reading=read.append) as index:
        (row,) = index.runs()
        assert (row.studies, row.status, row.problem) == (("concurrency",), "complete", "")
        (host,) = {row.host_id}
        found = index.series("throughput_per_s", host_id=host, cell="c50")
        assert {one.contestant for one in found} >= {"node/http", "cpp/floor"}
        assert not any("~" in one.contestant for one in found)
        (one,) = index.series(
            "throughput_per_s", host_id=host, cell="concurrency.c50", contestant="node/http"
        )
        (point,) = one.points
        assert point.value > 0
        assert point.ratio is not None
        assert index.series("throughput_per_s", host_id="another") == []
    assert read == [row.name]
    with Index(results, reading=read.append):
        pass
    assert read == [row.name], "what has not changed is not read again"
    trials = results / row.name / TRIALS_FILE
    trials.write_text(trials.read_text())
    with Index(results, reading=read.append):
        pass
    assert read == [row.name, row.name], "what has is"
    shutil.rmtree(results / row.name)
    with Index(results, reading=read.append) as index:
        assert index.runs() == []
        assert index.metrics() == []


def test_another_version_of_wirebench_analyses_again(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    with Index(results, reading=read.append):
        pass
    monkeypatch.setattr(index_module, "__version__", "99.0.0")
    for _ in range(2):
        with Index(results, reading=read.append) as index:
            assert len(read) == 2
            assert index.metrics()


def test_two_that_read_a_run_at_the_same_time_store_it_once(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ``history`` does beside ``serve``: the other one is there first."""
    analyse = index_module._figures

    def meanwhile(run: StoredRun) -> Iterator[Figure]:
        monkeypatch.setattr(index_module, "_figures", analyse)
        with Index(results):
            pass
        yield from analyse(run)

    with Index(results) as index:
        (run,) = index.runs()
        whole = index.series("throughput_per_s", host_id=run.host_id)
    assert whole
    (results / INDEX_FILE).unlink()
    monkeypatch.setattr(index_module, "_figures", meanwhile)
    with Index(results) as index:
        assert index.runs() == [run]
        assert index.series("throughput_per_s", host_id=run.host_id) == whole


def test_each_preset_has_series_of_its_own(results: Path) -> None:
    """They warm up and watch for other times."""
    (quick,) = (path for path in results.iterdir() if path.is_dir())
    hour = results / "another-run"
    shutil.copytree(quick, hour)
    text = (hour / RUN_FILE).read_text()
    assert text.count('"preset": "quick"') == 1
    (hour / RUN_FILE).write_text(text.replace('"preset": "quick"', '"preset": "hour"'))
    with Index(results) as index:
        host = index.runs()[0].host_id
        found = index.series("throughput_per_s", host_id=host, cell="c50", contestant="node/http")
    assert [(one.preset, len(one.points)) for one in found] == [("hour", 1), ("quick", 1)]
    assert "preset hour" in heading(found[0])


def test_what_is_counted_has_its_name(tmp_path: Path) -> None:
    run = write_run(tmp_path, World(studies=("websocket",), samples=5))
    with Index(tmp_path) as index:
        host = index.runs()[0].host_id
        (found,) = index.series(
            "throughput_per_s", host_id=host, cell="burst-small", contestant="node/ws"
        )
    assert heading(found).startswith("node/ws: messages/s in websocket burst-small")
    assert "messages/s in websocket" in page([found])
    followed = UnderWay(run)
    followed.refresh()
    assert {one.unit for one in followed.cells()} == {"message"}


def test_a_cell_beside_other_programs_is_marked(results: Path) -> None:
    (run,) = (path for path in results.iterdir() if path.is_dir())
    records = [json.loads(line) for line in (run / TRIALS_FILE).read_text().splitlines()]
    for one in records:
        taken = one["elapsed_ns"] // 2 if one["cell"] == "c50" else 0
        one["covariates"] = {"other_programs_ns": taken}
    (run / TRIALS_FILE).write_text("".join(f"{json.dumps(one)}\n" for one in records))
    with Index(results) as index:
        host = index.runs()[0].host_id
        found = index.series("throughput_per_s", host_id=host, contestant="node/http")
    assert len(found) > 1
    assert [one.cell for one in found if one.points[0].disturbed] == ["c50"]


@pytest.mark.parametrize("damage", ["text", "page", "version", "table"])
def test_a_damaged_index_is_made_anew(results: Path, damage: str) -> None:
    with Index(results) as index:
        whole = index.runs()
        found = index.series("throughput_per_s", host_id=whole[0].host_id)
    assert found
    path = results / INDEX_FILE
    if damage == "text":
        path.write_text("this is no database, and long enough for a header" * 100)
    elif damage == "page":
        with sqlite3.connect(path) as connection:
            (number,) = connection.execute(
                "SELECT rootpage FROM sqlite_master WHERE name = 'figures'"
            ).fetchone()
            (size,) = connection.execute("PRAGMA page_size").fetchone()
        connection.close()
        with path.open("r+b") as file:
            file.seek((number - 1) * size)
            file.write(b"\xff" * size)
    else:
        with sqlite3.connect(path) as connection:
            connection.execute(
                "PRAGMA user_version = 99" if damage == "version" else "DROP TABLE runs"
            )
        connection.close()
    with Index(results) as index:
        assert index.runs() == whole
        assert index.series("throughput_per_s", host_id=whole[0].host_id) == found


def test_without_room_for_its_file_the_index_is_in_memory(results: Path) -> None:
    with Index(results) as index:
        whole = index.runs()
    (results / INDEX_FILE).unlink()
    (results / INDEX_FILE).mkdir()
    with Index(results) as index:
        assert index.runs() == whole


def test_an_index_that_cannot_be_written_is_read_and_brought_up_to_date_in_memory(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index(results) as index:
        whole = index.runs()
    connect = sqlite3.connect

    def only_reading(path: Path | str, timeout: float = 5) -> sqlite3.Connection:
        if path == ":memory:":
            return connect(path)
        return connect(f"file:{path}?mode=ro", timeout=timeout, uri=True)

    monkeypatch.setattr(sqlite3, "connect", only_reading)
    read: list[str] = []
    with Index(results, reading=read.append) as index:
        assert index.runs() == whole
    assert read == []
    write_run(results, replace(WORLD, started_unix_ns=WORLD.started_unix_ns + HOUR_NS))
    with Index(results) as index:
        assert len(index.runs()) == 2


def test_a_run_that_cannot_be_read_says_why_and_costs_no_other(results: Path) -> None:
    broken = results / "broken"
    broken.mkdir()
    (broken / RUN_FILE).write_text("{}")
    with Index(results) as index:
        problems = {one.name: one.problem for one in index.runs()}
    assert "schema" in problems["broken"]
    assert [name for name, problem in problems.items() if not problem] == [
        name for name in problems if name != "broken"
    ]


@pytest.mark.parametrize("name", [HOST_FILE, PLAN_FILE])
def test_a_file_that_comes_later_is_read(results: Path, name: str) -> None:
    """As of a directory that is being copied."""
    (run,) = (one for one in results.iterdir() if one.is_dir())
    later = (run / name).read_bytes()
    with Index(results) as index:
        whole, metrics = index.runs(), index.metrics()
    (results / INDEX_FILE).unlink()
    (run / name).write_bytes(later[: len(later) // 2])
    with Index(results) as index:
        assert "expected JSON" in index.runs()[0].problem
    (run / name).write_bytes(later)
    with Index(results) as index:
        assert (index.runs(), index.metrics()) == (whole, metrics)


@pytest.mark.parametrize("damage", ["time", "entries", "nan"])
def test_a_run_that_contradicts_itself_costs_no_other(results: Path, damage: str) -> None:
    broken = write_run(results, replace(WORLD, started_unix_ns=WORLD.started_unix_ns + HOUR_NS))
    if damage == "time":
        info = json.loads((broken / RUN_FILE).read_text())
        (broken / RUN_FILE).write_text(json.dumps({**info, "started_unix_ns": 10**30}))
    elif damage == "entries":
        plan = json.loads((broken / PLAN_FILE).read_text())
        for cell in plan["cells"]:
            cell["twin"], cell["floors"] = "nobody", ["nobody"]
        (broken / PLAN_FILE).write_text(json.dumps(plan))
    else:
        text = (broken / TRIALS_FILE).read_text()
        (broken / TRIALS_FILE).write_text(re.sub(r'("throughput_per_s"):[0-9.]+', r"\1:NaN", text))
    with Index(results) as index:
        rows = {row.name: row for row in index.runs()}
        assert len(rows) == 2
        (whole,) = (row for name, row in rows.items() if name != broken.name)
        assert whole.problem == ""
        found = index.series("throughput_per_s", host_id=whole.host_id, cell="c50")
        assert {point.run for one in found for point in one.points} >= {whole.name}
        if damage == "time":
            assert "contradict" in rows[broken.name].problem


def test_a_folder_whose_name_is_no_text_is_none_of_ours(results: Path) -> None:
    (run,) = (one for one in results.iterdir() if one.is_dir())
    shutil.copytree(run, os.fsdecode(os.fsencode(results) + b"/caf\xe9"))
    with Index(results) as index:
        assert [row.name for row in index.runs()] == [run.name]


def test_a_run_that_its_owner_keeps_to_himself_costs_no_other(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one under sudo, where new folders are for their owner only."""
    (run,) = (one for one in results.iterdir() if one.is_dir())
    closed = results / "closed"
    shutil.copytree(run, closed)
    is_file = Path.is_file

    def refuse(path: Path, **options: Any) -> bool:
        if closed in path.parents:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return is_file(path, **options)

    monkeypatch.setattr(Path, "is_file", refuse)
    with Index(results) as index:
        assert [row.name for row in index.runs()] == [run.name]
    assert [path for path, _ in complete_runs(results)] == [run]
    with pytest.raises(CatalogError, match="RUN: expected"):
        find_run(str(closed))


def test_an_index_that_another_process_writes_is_left_to_it(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Index(results) as index:
        whole = index.runs()
    monkeypatch.setattr(index_module, "_PATIENCE_S", 0.1)
    file = results / INDEX_FILE
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        before = file.stat().st_ino
        with Index(results) as index:
            assert index.runs() == whole
        assert file.stat().st_ino == before
        writer.execute("COMMIT")
    with Index(results) as index:
        assert index.runs() == whole


# --- the command ----------------------------------------------------------------------------------


def test_the_command_lists_and_shows(
    results: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run_app(["history", "--results", str(results)]) == EXIT_OK
    assert "concurrency" in capsys.readouterr().out
    page_file = tmp_path / "history.html"
    command = ["history", "show", "throughput_per_s", "--cell", "c50", "--results", str(results)]
    assert run_app([*command, "--contestant", "node/http", "--html", str(page_file)]) == EXIT_OK
    said = capsys.readouterr().out
    assert "node/http: " in said
    assert "●" in said
    assert "<svg" in page_file.read_text()


def test_the_folder_may_be_named_before_what_is_to_be_shown(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["history", "--results", str(results), "show", "throughput_per_s"]) == EXIT_OK
    assert "node/http: " in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    command = ["history", "--results", str(tmp_path / "empty"), "show", "p99_ns"]
    assert run_app([*command, "--results", str(results)]) == EXIT_OK, "the last one counts"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["show", "nothing"], "METRIC: expected one of"),
        (["show", "p99_ns", "--contestant", "cpp/none"], "--contestant: expected one of"),
        (["show", "p99_ns", "--cell", "none"], "--cell: expected one of"),
        (["show", "p99_ns", "--html", "/no/such/folder/x.html"], "--html: expected a file"),
        (["show", "p99_ns", "--host", "none"], f"--host: expected one of {WORLD.host_id}, got"),
    ],
)
def test_the_command_says_what_is_wrong(
    results: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    assert run_app(["history", *arguments, "--results", str(results)]) == EXIT_USAGE
    assert expected in capsys.readouterr().err


def test_where_only_duels_are_kept_the_command_says_that_they_have_no_series(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in (RUN_FILE, PLAN_FILE, TRIALS_FILE):
        for file in results.glob(f"*/{name}"):
            file.write_text(file.read_text().replace('"concurrency"', f'"{DUEL}"'))
    command = ["history", "show", "throughput_per_s", "--results", str(results)]
    assert run_app(command) == EXIT_USAGE
    assert "there are only duels and gates" in capsys.readouterr().err


def test_where_no_run_is_complete_the_command_says_so(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in results.glob(f"*/{RUN_FILE}"):
        file.write_text(file.read_text().replace('"complete"', '"interrupted"'))
    assert run_app(["history", "show", "p99_ns", "--results", str(results)]) == EXIT_USAGE
    assert "no run is complete" in capsys.readouterr().err


def test_without_runs_the_command_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["history", "show", "p99_ns", "--results", str(tmp_path)]) == EXIT_USAGE
    assert "there are no runs yet" in capsys.readouterr().err
