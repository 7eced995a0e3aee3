"""The published figures: each maps to what can be measured, or says why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import synthetic_run
from synthetic_run import FLOOR, World, write_run
from wirebench.catalog.contestants import load_catalog
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import RampLoad
from wirebench.catalog.published import Published, cells_of, published_studies, read_published
from wirebench.catalog.studies import Study
from wirebench.catalog.study_files import load_studies
from wirebench.catalog.units import duration
from wirebench.cli.console import EXIT_OK, EXIT_USAGE
from wirebench.cli.main import run_app
from wirebench.report import analyse_run
from wirebench.report.article import Shown, of_runs
from wirebench.report.claims import ClaimView, claim_views, status_of
from wirebench.report.published import BesideRow, BesideTable, Order, beside, why_absent
from wirebench.report.runs import command_for, of_table
from wirebench.report.view import article_view
from wirebench.stats.types import CellAnalysis, EntryAnalysis, FailureCount
from wirebench.store.rundir import read_run

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "studies" / "published"
CONCURRENCY = FOLDER / "concurrency.toml"
WORLD = World(studies=("concurrency",), samples=60)
WEBSOCKET = World(studies=("websocket",), samples=60)


def study_of(name: str) -> Study:
    return load_studies(ROOT / "studies")[name]


def read(path: Path) -> Published:
    return read_published(
        path,
        cells=cells_of(study_of(path.stem)),
        contestants=set(load_catalog(ROOT).contestants),
    )


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


def connecting_of(run: Path) -> Order:
    cells = analyse_run(read_run(run)).of_study("websocket")
    return beside(read(FOLDER / "websocket.toml"), cells)[1].order


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
        costs = {**synthetic_run.COSTS["websocket"], "node/uwebsockets": 2.6}
        monkeypatch.setitem(synthetic_run.COSTS, "websocket", costs)
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
    monkeypatch.setitem(synthetic_run.COSTS, "rest", costs)


def rest_cells(tmp_path: Path) -> tuple[CellAnalysis, ...]:
    return analyse_run(read_run(write_run(tmp_path, REST))).of_study("rest")


def row_of(table: BesideTable, published: str) -> BesideRow:
    return next(row for row in table.rows if row.published.startswith(published))


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
    costs = {name: one for name, one in synthetic_run.COSTS["rest"].items() if name != "cpp/crow"}
    monkeypatch.setitem(synthetic_run.COSTS, "rest", costs)
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


def claims_of(run: Path, study: str) -> tuple[ClaimView, ...]:
    cells = analyse_run(read_run(run)).of_study(study)
    return claim_views(read(FOLDER / f"{study}.toml"), cells, study_of(study))


def test_a_claim_stands_and_falls_with_the_verdicts_of_the_run(tmp_path: Path) -> None:
    """With the costs of one contestant changed, and nothing else, it turns over."""
    alone = "libwebsockets"
    claims = claims_of(write_run(tmp_path / "one", WEBSOCKET), "websocket")
    (first,) = (one for one in claims if one.says.startswith(alone))
    assert first.status == "refuted"
    assert any(one.startswith("fails: ") and one.endswith("worse") for one in first.findings)
    slow = replace(WEBSOCKET, scale={"c/libwebsockets": 9.0})
    claims = claims_of(write_run(tmp_path / "two", slow), "websocket")
    (first,) = (one for one in claims if one.says.startswith(alone))
    # The cost at a pinned rate is not in this run, so that it is not all there.
    assert first.status == "undecided"
    assert any(one.startswith("holds: ") for one in first.findings)
    assert any("no cell of the run tests it" in one for one in first.findings)
    (command,) = first.commands
    assert command.startswith(
        "wirebench run websocket --preset hour --cells echo-rate-10000 --only"
    )


def test_a_claim_about_the_floor_has_the_verdict_against_it(tmp_path: Path) -> None:
    """It has no rank, and so is in none of a cell's pairs."""
    world = replace(WORLD, studies=("roundtrip",))
    first = claims_of(write_run(tmp_path / "one", world), "roundtrip")[0]
    assert first.status == "confirmed"
    assert [one.split(":")[0] for one in first.findings] == ["holds", "holds"]
    assert all(one.endswith(", worse") for one in first.findings)
    quick = replace(world, scale={"cpp/libcurl": 0.2})
    first = claims_of(write_run(tmp_path / "two", quick), "roundtrip")[0]
    assert first.status == "refuted"
    assert first.findings[0].endswith(", better")


def test_what_no_run_can_test_says_why(tmp_path: Path) -> None:
    claims = claims_of(write_run(tmp_path, WORLD), "concurrency")
    assert [one.status for one in claims[1:]] == ["not tested"] * 3
    assert "404" in claims[1].findings[0]
    assert claims[1].commands == ()


def test_all_cores_need_a_host_that_has_them(tmp_path: Path) -> None:
    claims = claims_of(write_run(tmp_path, WEBSOCKET), "websocket")
    (go,) = (one for one in claims if one.says.startswith("Go was slow"))
    assert any(one.endswith("(on a host with three cores or more)") for one in go.commands)


STOOD_STILL = FailureCount(
    kind="timeout",
    phase="load",
    message="no reply for 10 s",
    sent=None,
    expected=None,
    received=None,
    state="4 threads in futex",
    count=3,
    blocks=(1, 2, 3),
)


def stalled(
    tmp_path: Path, change: Callable[[EntryAnalysis], EntryAnalysis]
) -> tuple[ClaimView, ...]:
    """The claims of ``rest``, the first of which says that one of the run's contestants stalls."""
    analysis = analyse_run(read_run(write_run(tmp_path, replace(WORLD, studies=("rest",)))))
    cells = [
        replace(cell, entries=tuple(change(one) for one in cell.entries))
        for cell in analysis.of_study("rest")
    ]
    name = next(one.contestant for one in cells[0].entries if not one.is_floor)
    first = '{ at = "work", contestant = "cpp/cpprestsdk-blocking", expect = "stalls" },'
    text = (FOLDER / "rest.toml").read_text()
    assert first in text
    start, end = text.index(first), text.index("]", text.index(first))
    path = tmp_path / "rest.toml"
    path.write_text(
        text[:start]
        + f'{{ at = "sprint", contestant = "{name}", expect = "stalls" }},'
        + text[end:]
    )
    return claim_views(read(path), cells, study_of("rest"))


@pytest.mark.parametrize(
    ("failures", "status", "said"),
    [
        ((), "refuted", "fails: "),
        ((STOOD_STILL,), "confirmed", "in 3 trials; 4 threads in futex"),
        ((replace(STOOD_STILL, state=None, message="gone"),), "undecided", "another way: gone"),
    ],
)
def test_a_stall_is_told_from_other_failures(
    tmp_path: Path, failures: tuple[FailureCount, ...], status: str, said: str
) -> None:
    claim = stalled(tmp_path, lambda one: replace(one, failures=failures))[0]
    assert (claim.status, len(claim.findings)) == (status, 1)
    assert said in claim.findings[0]


def test_who_has_no_valid_trial_has_not_answered_everything(tmp_path: Path) -> None:
    """Such as one that an interrupted run had not come to."""
    claim = stalled(
        tmp_path,
        lambda one: replace(
            one, failures=(), summary=replace(one.summary, trials=0), unranked="not run"
        ),
    )[0]
    assert claim.status == "undecided"
    assert claim.findings[0].startswith("open: ")
    assert claim.findings[0].endswith(": it has no valid trial: not run")


def test_a_prediction_compares_or_stalls(tmp_path: Path) -> None:
    path = tmp_path / "rest.toml"
    text = (FOLDER / "rest.toml").read_text()
    path.write_text(text.replace('expect = "stalls"', 'expect = "stalls", than = "cpp/crow"', 1))
    with pytest.raises(CatalogError, match="expected than with every prediction but one that"):
        read(path)


def test_the_status_follows_from_the_outcomes() -> None:
    assert status_of([]) == "not tested"
    assert status_of(["missing", "missing"]) == "not tested"
    assert status_of(["holds", "holds"]) == "confirmed"
    assert status_of(["holds", "missing"]) == "undecided"
    assert status_of(["open", "missing"]) == "undecided"
    assert status_of(["holds", "fails", "missing"]) == "refuted"


def test_open_pairs_leave_a_range() -> None:
    assert Order(agree=4, disagree=1, open=1).tau == pytest.approx((2 / 6, 4 / 6))
    assert Order(agree=0, disagree=0, open=0).tau is None


def test_the_command_prints_both_and_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    assert run_app(["published", "concurrency", str(write_run(tmp_path, WORLD))]) == EXIT_OK
    said = capsys.readouterr().out
    assert "pairs agree" in said
    assert "av_http is no contestant" in said
    assert "5 valid blocks; a rank needs 6" in said
    assert "the run has no such cell" in said
    assert "c20000, which needs more open files than c/libevent" in said
    assert "not in the run: the preset quick leaves it out" in said
    assert "Explanations" in said
    assert "(our own doubt)" in said


def test_the_command_writes_the_same_in_markdown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    run, file = write_run(tmp_path, WORLD), tmp_path / "out.md"
    assert run_app(["published", "concurrency", str(run), "--markdown", str(file)]) == EXIT_OK
    printed, written = capsys.readouterr().out, file.read_text()
    assert written.startswith("# “An http server based on non-blocking socket for efficiency” ")
    assert "| published as | published | ours | cell |  | over theirs | what differs |" in written
    assert "| --- | ---: | --- | --- | ---: | ---: | --- |" in written
    (line,) = (one for one in written.splitlines() if one.startswith("| av_http 0.0.1 | 53,000/s"))
    ours = line.split(" | ")[4]
    assert ours in printed
    assert "- **not tested**: flask's figure is that of its answer 404" in written


@pytest.mark.parametrize(
    ("study", "words"),
    [
        ("rest", ("HttpLib 0.5.8, C = 28", "about 367 s for 1000", "stalls")),
        ("roundtrip", ("http_libcurl_reinit", "http_cpprest", "https_cpprest", "::1")),
    ],
)
def test_the_other_articles_are_printed_too(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    study: str,
    words: tuple[str, ...],
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    run = write_run(tmp_path, replace(WORLD, studies=(study,)))
    assert run_app(["published", study, str(run)]) == EXIT_OK
    said = capsys.readouterr().out
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["published", "nothing", "{run}"], "STUDY: expected one with published figures"),
        (["published", "concurrency", "no-such-run"], "RUN: expected"),
        (["published", "concurrency", "{run}"], "RUN: expected a run with cells of concurrency"),
    ],
)
def test_the_command_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    run = write_run(tmp_path, replace(WORLD, studies=("rest",)))
    assert run_app([word.format(run=run) for word in arguments]) == EXIT_USAGE
    assert expected in capsys.readouterr().err


def test_the_article_has_cpu_times_of_all_its_rows(tmp_path: Path) -> None:
    """They stand in the same cells as its means, and no row has more CPU than time."""
    published = read(FOLDER / "roundtrip.toml")
    means = [table for table in published.tables if table.metric == "mean_ns"]
    cpu = [table for table in published.tables if table.metric == "cpu_per_operation_ns"]
    assert sum(len(table.rows) for table in cpu) == 11
    for mean, table in zip(means, cpu, strict=True):
        for one, other in zip(mean.rows, table.rows, strict=True):
            assert (one.published, one.cell) == (other.published, other.cell)
            assert one.contestant == other.contestant
            assert one.value is not None
            assert other.value is not None
            assert other.value < one.value
    cells = analyse_run(read_run(write_run(tmp_path, ROUNDTRIP))).of_study("roundtrip")
    requests = beside(published, cells)[len(means)]
    libcurl = row_of(requests, "http_libcurl")
    assert libcurl.theirs == "121 µs"
    assert libcurl.ours
    # The floor needs less than libcurl here, and more in the article.
    assert requests.order == Order(agree=0, disagree=1, open=0)


ROUNDTRIP = replace(WORLD, studies=("roundtrip",))


def roundtrip_of(results: Path) -> Shown:
    return of_runs(
        results,
        read(FOLDER / "roundtrip.toml"),
        study_of("roundtrip"),
        reading=lambda _name: None,
    )


def runs_named(shown: Shown) -> list[str]:
    return [table.run for table in shown.article.tables]


def test_each_table_and_artefact_has_the_run_with_its_cells(tmp_path: Path) -> None:
    """`artefacts` has most cells, and lacks those over TLS; `published` lacks the artefacts."""
    article = write_run(tmp_path, replace(ROUNDTRIP, preset="published"), name="x-published").name
    on = write_run(
        tmp_path,
        replace(ROUNDTRIP, preset="artefacts", started_unix_ns=WORLD.started_unix_ns + 1),
        name="x-artefacts",
    ).name
    shown = roundtrip_of(tmp_path)
    # Requests and messages also over TLS; a new client is in both runs, so the newer has it.
    assert runs_named(shown)[:3] == [article, on, article]
    assert all(not table.missing for table in shown.article.tables)
    (artefacts,) = (one for one in shown.further if one.title.startswith("What may explain"))
    assert artefacts.how.endswith(f" Ours: {on}.")
    assert len(artefacts.rows) == 4


def test_a_run_that_would_have_the_rest_is_named(tmp_path: Path) -> None:
    quick = write_run(tmp_path, ROUNDTRIP).name
    shown = roundtrip_of(tmp_path)
    assert set(runs_named(shown)) == {quick}
    requests = shown.article.tables[0]
    assert requests.missing == "wirebench run roundtrip --preset published"
    assert f"ours: {quick}" in requests.remarks
    (artefacts,) = (one for one in shown.further if one.title.startswith("What may explain"))
    assert "'wirebench run roundtrip --preset artefacts' measures them" in artefacts.how


def test_days_are_not_asked_for_to_have_one_row() -> None:
    published = read(CONCURRENCY)
    last = of_table(published, published.tables[1])[-1:]
    assert command_for(last, study_of("concurrency")) == (
        "wirebench run concurrency --preset full --cells c20000 --only c/libevent"
    )


def test_only_complete_runs_of_the_host_that_measured_last_count(tmp_path: Path) -> None:
    later = replace(ROUNDTRIP, started_unix_ns=WORLD.started_unix_ns + 1)
    old = write_run(tmp_path, ROUNDTRIP).name
    write_run(tmp_path, replace(later, preset="published"), status="interrupted")
    assert set(runs_named(roundtrip_of(tmp_path))) == {old}
    other = replace(later, host_id="fedcba987654", started_unix_ns=WORLD.started_unix_ns + 2)
    newest = write_run(tmp_path, other).name
    assert set(runs_named(roundtrip_of(tmp_path))) == {newest}


def test_a_run_of_a_few_does_not_take_the_place_of_one_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = write_run(tmp_path, ROUNDTRIP).name
    few = {"cpp/floor": 1.0, "go/net-http": 1.4, "python/aiohttp": 4.0}
    monkeypatch.setitem(synthetic_run.COSTS, "roundtrip", few)
    write_run(tmp_path, replace(ROUNDTRIP, started_unix_ns=WORLD.started_unix_ns + 1))
    assert runs_named(roundtrip_of(tmp_path))[0] == full


def test_without_a_run_the_command_says_what_makes_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "results").mkdir()
    for name in ("contestants", "studies", "build"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.setenv("WIREBENCH_ROOT", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "250")
    assert run_app(["published", "rest"]) == EXIT_USAGE
    assert "'wirebench run rest --preset published' makes one" in capsys.readouterr().err
    name = write_run(tmp_path / "results", ROUNDTRIP).name
    assert run_app(["published", "roundtrip"]) == EXIT_OK
    printed = capsys.readouterr()
    assert f"reading {name}" in printed.err
    assert f"ours: {name}" in printed.out
    assert "'wirebench run roundtrip --preset published' measures them" in printed.out
