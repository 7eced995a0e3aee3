"""The published figures of frameworks: the twelve tests, fewer messages, who stood still."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import synthetic_world
from articles import FOLDER, STOOD_STILL, read, row_of, study_of
from synthetic_run import write_run
from synthetic_world import FLOOR, World
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.units import duration
from wirebench.report import analyse_run
from wirebench.report.published import Order, beside, why_absent
from wirebench.report.view import article_view
from wirebench.stats.types import CellAnalysis
from wirebench.store.rundir import read_run

CONCURRENCY = FOLDER / "concurrency.toml"
WORLD = World(studies=("concurrency",), samples=60)


REST = replace(WORLD, studies=("rest",), preset="published")


@pytest.fixture
def frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the article as contestants of made-up runs: one cheap, two alike, one dear."""
    costs = {
        FLOOR: 1.0,
        "cpp/restinio": 2.0,
        "cpp/crow": 3.0,
        "cpp/pistache": 3.0,
        "cpp/cpp-httplib": 9.0,
        "go/net-http": 1.2,
        "python/flask": 30.0,
    }
    monkeypatch.setitem(synthetic_world.COSTS, "rest", costs)


def rest_cells(tmp_path: Path) -> tuple[CellAnalysis, ...]:
    return analyse_run(read_run(write_run(tmp_path, REST))).of_study("rest")


def test_the_twelve_tests_are_those_of_the_article() -> None:
    """The differences that its text states between tests come out of the figures."""
    tables = read(FOLDER / "rest.toml").tables[:12]
    times = [{row.published.split()[0]: row.value for row in one.rows} for one in tables]
    assert [len(one.rows) for one in tables] == [6] * 12
    assert sum(row.value is None for one in tables for row in one.rows) == 6
    assert {row.said for one in tables for row in one.rows if row.value is None} == {"x"}
    for row in (row for one in tables for row in one.rows if row.value is not None):
        minutes, _, seconds = row.said.rpartition(":")
        assert row.value == round(60_000 * int(minutes or 0) + 1000 * float(seconds)) * 1_000_000

    def more_s(name: str, test: int, than: int) -> float:
        return ((times[test - 1][name] or 0) - (times[than - 1][name] or 0)) / 1e9

    # "about 105 sec. per 1000 requests ... tests 1 with 3, 5 with 7 and 9 with 11"
    assert more_s("Crow", 3, 1) == pytest.approx(105, rel=0.1)
    assert more_s("Crow", 7, 5) == pytest.approx(105 / 5, rel=0.1)
    assert more_s("Restinio", 11, 9) == pytest.approx(105, rel=0.1)
    # "about 367 sec. ... between testcases 2 and 4 ... also between testcases 10 and 12"
    assert more_s("HttpLib", 4, 2) == pytest.approx(367, rel=0.01)
    assert more_s("HttpLib", 12, 10) == pytest.approx(367, rel=0.01)
    # "testcases 6 and 8 ... 73.5 sec."
    assert more_s("HttpLib", 8, 6) == pytest.approx(73.5, rel=0.01)


@pytest.mark.usefixtures("frameworks")
def test_a_time_of_fewer_messages_is_multiplied_and_says_so(tmp_path: Path) -> None:
    cells = rest_cells(tmp_path)
    tables = beside(read(FOLDER / "rest.toml"), cells)
    fifth = tables[4]
    crow = row_of(fifth, "Crow")
    (cell,) = (one for one in cells if one.cell == "new-c28-n5-t200")
    entry = cell.entry("cpp/crow")
    assert entry is not None
    took_ns = entry.summary.metrics["service_makespan_ns"].median
    assert crow.cell == cell.cell
    assert crow.ratio == f"{40 * took_ns / 40_267_000_000:.2f}x"
    assert crow.ours.endswith(f" (40 x {duration(took_ns)})")
    assert "N = 5 in place of 200, our times x 40" in fifth.instead
    assert "What a run pays once is multiplied" in fifth.instead
    # The first test runs in full.
    assert tables[0].instead == ""
    assert " x " not in row_of(tables[0], "Crow").ours


@pytest.mark.usefixtures("frameworks")
def test_marks_are_those_of_the_tables_own_contestants(tmp_path: Path) -> None:
    """Cheaper and dearer ones that the article does not have get none."""
    first = beside(read(FOLDER / "rest.toml"), rest_cells(tmp_path))[0]
    marks = {row.contestant: (row.sign, row.mark) for row in first.rows}
    assert marks["cpp/restinio"] == ("▲", "best")
    assert marks["cpp/cpp-httplib"] == ("▼", "worst")
    assert marks["cpp/crow"] == marks["cpp/pistache"] == ("", "")
    # Of the pairs of those four only Crow and Pistache are alike.
    assert first.order == Order(agree=5, disagree=0, open=1)


@pytest.mark.usefixtures("frameworks")
def test_who_stood_still_is_an_x_with_its_state(tmp_path: Path) -> None:
    cells = [
        replace(
            cell,
            entries=tuple(
                replace(
                    one,
                    failures=(STOOD_STILL,),
                    unranked="no valid trial",
                    standings={},
                    summary=replace(one.summary, trials=0, metrics={}),
                )
                if one.contestant == "cpp/crow"
                else one
                for one in cell.entries
            ),
        )
        for cell in rest_cells(tmp_path)
    ]
    crow = row_of(beside(read(FOLDER / "rest.toml"), cells)[0], "Crow")
    assert (crow.ours, crow.ratio, crow.sign) == ("x", "", "")
    assert crow.note == "a later release; it stood still: 4 threads in futex"


@pytest.mark.parametrize(("old", "new"), [("times = 40", "times = 39"), (", times = 40", "")])
def test_a_factor_is_that_of_the_messages(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "rest.toml"
    path.write_text((FOLDER / "rest.toml").read_text().replace(old, new, 1))
    with pytest.raises(CatalogError, match=r"instead\.0\.times: expected 40, got"):
        read(path)


@pytest.mark.usefixtures("frameworks")
def test_a_row_says_why_the_run_lacks_its_contestant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = {name: one for name, one in synthetic_world.COSTS["rest"].items() if name != "cpp/crow"}
    monkeypatch.setitem(synthetic_world.COSTS, "rest", costs)
    run = read_run(write_run(tmp_path, REST))
    cells = analyse_run(run).of_study("rest")
    first = article_view(run, cells, read(FOLDER / "rest.toml"), study_of("rest")).tables[0]
    assert row_of(first, "Crow").note == "not in the run: crow.h was not found"
    assert row_of(first, "Restbed").note == "not in the run"


def test_what_was_left_out_is_what_the_run_s_own_plan_says(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, WORLD))
    assert why_absent(run, "concurrency")["python/flask-run"] == "the preset quick leaves it out"
    assert run.plan is not None
    late = {"c20000": "the run's time does not hold this cell"}
    texts = tuple(replace(one, left_out=late) for one in run.plan.studies)
    timed = replace(run, plan=replace(run.plan, studies=texts), info=replace(run.info, absent=()))
    assert why_absent(timed, "concurrency") == late
    cells = analyse_run(timed).of_study("concurrency")
    last = beside(read(CONCURRENCY), cells, late)[1].rows[-1]
    assert last.note == "not in the run: the run's time does not hold this cell"


def test_a_cell_that_few_hosts_have_stands_where_the_run_has_it(tmp_path: Path) -> None:
    published = read(CONCURRENCY)
    cells = analyse_run(read_run(write_run(tmp_path, WORLD))).of_study("concurrency")
    said = published.tables[1].rows[-1].absent
    assert beside(published, cells)[1].rows[-1].note == said
    large = replace(cells[0], cell="c20000")
    row = beside(published, [*cells, large])[1].rows[-1]
    assert (row.cell, row.ours != "", said in row.note) == ("c20000", True, False)
