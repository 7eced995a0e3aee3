"""The published figures: each maps to what can be measured, or says why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import synthetic_world
from articles import FOLDER, ROOT, read, row_of, study_of
from synthetic_run import write_run
from synthetic_world import World
from test_published_claims import claims_of
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import RampLoad
from wirebench.catalog.published import cells_of, published_studies
from wirebench.catalog.study_files import load_studies
from wirebench.report import analyse_run
from wirebench.report.published import Order, beside
from wirebench.stats.entry import NEVER_STEADY
from wirebench.store.rundir import read_run

CONCURRENCY = FOLDER / "concurrency.toml"
WORLD = World(studies=("concurrency",), samples=60)
WEBSOCKET = World(studies=("websocket",), samples=60)


@pytest.mark.parametrize("study", published_studies(ROOT))
def test_each_published_figure_maps_or_says_why_not(study: str) -> None:
    found = read(FOLDER / f"{study}.toml")
    assert all(table.place for table in found.tables)
    assert any(row.contestant for table in found.tables for row in table.rows)
    assert found.claims


def test_every_study_has_its_article() -> None:
    assert set(published_studies(ROOT)) == set(load_studies(ROOT / "studies"))


def test_the_messages_of_the_websocket_article_are_those_of_its_parameters() -> None:
    """Its text says 5.5 million."""
    load = cells_of(study_of("websocket"))["burst"].load
    assert isinstance(load, RampLoad)
    rows = read(FOLDER / "websocket.toml").tables[0].rows
    minutes = {row.published: row.said.removeprefix("under ") for row in rows if row.value}
    assert len(minutes) == 7
    for row in rows:
        if row.value is not None:
            took_s = 60 * int(minutes[row.published].removesuffix(" min"))
            assert row.value == round(load.total_messages / took_s)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('cell = "c50"', 'cell = "c51"', "tables.0.rows.0.cell: expected one of"),
        ('"node/http"', '"node/htp"', "tables.0.rows.1.contestant: expected one of"),
        ('"throughput_per_s"', '"speed"', "tables.0.metric: expected 'throughput"),
        ("value = 697", "value = -1", "tables.0.rows.3.value: expected"),
        ('cell = "c20000", ', "", "tables.1.rows.7: expected cell and contestant, or absent"),
        ('cell = "c50", contestant = "node/http", ', "", "tables.0.rows.1: expected cell and con"),
        ("value = 697, ", "", "tables.0.rows.3: expected a value, or what the original said"),
        ('cells = ["c50"]', 'cells = ["c51"]', "measures.few.cells: expected one of"),
        ('cells = ["c50"]', 'cells = ["load-10"]', "measures.few.metric: expected 'p99_ns'"),
        ('at = "few"', 'at = "fe"', "claims.0.predictions.0.at: expected one of"),
        ('than = "python/flask"', 'than = "flask"', "claims.0.predictions.0.than: expected one"),
        ('untested = "The lab builds', 'place = "The lab builds', "claims.3: expected either"),
    ],
)
def test_a_wrong_file_says_where(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "concurrency.toml"
    path.write_text(CONCURRENCY.read_text().replace(old, new, 1))
    with pytest.raises(CatalogError) as error:
        read(path)
    assert said in str(error.value)


def test_a_small_ratio_is_not_rounded_to_nothing(tmp_path: Path) -> None:
    path = tmp_path / "concurrency.toml"
    path.write_text(CONCURRENCY.read_text().replace("value = 12000", "value = 120000000", 1))
    cells = analyse_run(read_run(write_run(tmp_path, WORLD))).of_study("concurrency")
    node = row_of(beside(read(path), cells)[0], "nodejs")
    assert node.ours
    assert 0 < float(node.ratio.removesuffix("x")) < 0.005


def order_of(run: Path) -> Order:
    stored = read_run(run)
    return beside(read(CONCURRENCY), analyse_run(stored).of_study("concurrency"))[0].order


def test_the_order_agrees_where_the_verdicts_say_so(tmp_path: Path) -> None:
    order = order_of(write_run(tmp_path, WORLD))
    # node/http has too few valid blocks there for a rank, so its two pairs are open. Flask's own
    # server is not in that run.
    assert order == Order(agree=1, disagree=0, open=2)


def test_a_reversed_pair_disagrees(tmp_path: Path) -> None:
    order = order_of(write_run(tmp_path, replace(WORLD, scale={"python/aiohttp": 0.05})))
    assert order.disagree > 0


def test_an_order_of_one_pair_is_said_as_one() -> None:
    assert str(Order(agree=1, disagree=0, open=0)).startswith(
        "order: 1 of 1 pair agrees, 0 disagree, 0 not separable here; Kendall's tau 1.00 to 1.00"
    )
    assert str(Order(agree=2, disagree=1, open=1)).startswith(
        "order: 2 of 4 pairs agree, 1 disagrees, 1 not separable here;"
    )


def connecting_of(run: Path) -> Order:
    cells = analyse_run(read_run(run)).of_study("websocket")
    return beside(read(FOLDER / "websocket.toml"), cells)[1].order


def test_one_entry_that_stands_for_two_published_ones_is_no_pair(tmp_path: Path) -> None:
    path = tmp_path / "concurrency.toml"
    path.write_text(CONCURRENCY.read_text().replace('"node/http"', '"python/aiohttp"', 1))
    cells = analyse_run(read_run(write_run(tmp_path, WORLD))).of_study("concurrency")
    assert beside(read(path), cells)[0].order == Order(agree=2, disagree=0, open=0)


def test_an_order_is_that_of_the_tables_own_metric(tmp_path: Path) -> None:
    """Of those that connect, Go and Java have figures there."""
    world = replace(WEBSOCKET, preset="published")
    assert connecting_of(write_run(tmp_path / "one", world)) == Order(agree=1, disagree=0, open=0)
    slow = replace(world, scale={"go/gorilla-websocket": 9.0})
    assert connecting_of(write_run(tmp_path / "two", slow)) == Order(agree=0, disagree=1, open=0)


def test_the_floor_has_no_rank_and_yet_an_order(tmp_path: Path) -> None:
    """Every other's verdict is against it."""
    stored = read_run(write_run(tmp_path, replace(WORLD, studies=("roundtrip",))))
    cells = analyse_run(stored).of_study("roundtrip")
    requests = beside(read(FOLDER / "roundtrip.toml"), cells)[0]
    assert requests.instead.startswith("http-reuse-16 stands for http-reuse-1024")
    assert requests.order == Order(agree=1, disagree=0, open=0)


def test_who_was_not_to_be_ranked_has_no_order_beside_the_floor(tmp_path: Path) -> None:
    stored = read_run(write_run(tmp_path, replace(WORLD, studies=("roundtrip",))))
    cells = [
        replace(
            cell,
            entries=tuple(
                one if one.is_floor else replace(one, unranked=NEVER_STEADY) for one in cell.entries
            ),
        )
        for cell in analyse_run(stored).of_study("roundtrip")
    ]
    requests = beside(read(FOLDER / "roundtrip.toml"), cells)[0]
    assert requests.order == Order(agree=0, disagree=0, open=1)


def test_a_metric_without_verdicts_has_no_order(tmp_path: Path) -> None:
    path = tmp_path / "concurrency.toml"
    path.write_text(CONCURRENCY.read_text().replace('"throughput_per_s"', '"p50_ns"', 1))
    stored = read_run(write_run(tmp_path, WORLD))
    table = beside(read(path), analyse_run(stored).of_study("concurrency"))[0]
    assert str(table.order).startswith("order: not compared")


def test_a_cell_that_the_run_lacks_has_the_nearest_in_its_place(tmp_path: Path) -> None:
    stored = read_run(write_run(tmp_path, WEBSOCKET))
    rate, connecting, success, longest = beside(
        read(FOLDER / "websocket.toml"), analyse_run(stored).of_study("websocket")
    )
    java = rate.rows[1]
    assert (java.contestant, java.cell) == ("java/java-websocket", "burst-small")
    assert java.ours
    assert java.ratio
    assert rate.instead.startswith("burst-small stands for burst: R = 4, A = 50 and Q = 20 in")
    assert connecting.instead == ""
    assert java.theirs == "52,604/s (16 min)"
    assert rate.rows[0].theirs == "≥ 70,139/s (under 12 min)"
    assert rate.rows[0].ratio.startswith("≤ ")
    assert rate.order.judged
    assert rate.order.pairs > 0
    # Connecting 200 clients is not connecting 10,000.
    assert {row.note for row in connecting.rows if row.contestant} == {"the run has no such cell"}
    # Where all published figures are equal, there is no order.
    assert success.order.pairs == 0
    assert longest.rows[0].theirs == "1st"


@pytest.mark.parametrize("installed", [False, True])
def test_another_stands_for_a_contestant_that_the_run_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    """In the figures and in the explanations alike; not where the run has the contestant itself."""
    if installed:
        costs = {**synthetic_world.COSTS["websocket"], "node/uwebsockets": 2.6}
        monkeypatch.setitem(synthetic_world.COSTS, "websocket", costs)
    expected = "node/uwebsockets" if installed else "node/ws"
    run = write_run(tmp_path, WEBSOCKET)
    cells = analyse_run(read_run(run)).of_study("websocket")
    node = row_of(beside(read(FOLDER / "websocket.toml"), cells)[0], "NodeJS")
    assert node.contestant == expected
    assert node.ours
    assert ("in place of" in node.note) != installed
    (go,) = (one for one in claims_of(run, "websocket") if one.says.startswith("Go was slow"))
    assert f"go/gorilla-websocket not better than {expected}" in go.findings[0]
    # What would test the rest names both: one of them may not be installed.
    assert (
        go.commands[0]
        .split(" --only ")[1]
        .startswith("go/gorilla-websocket,node/uwebsockets,node/ws")
    )
