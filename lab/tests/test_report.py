"""The report: one file that holds everything, lets nothing of a server through as markup, and says
what is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from synthetic_footprint import footprint
from synthetic_run import write_run
from synthetic_world import HOSTILE, World
from wirebench.catalog.selection import RampSize
from wirebench.footprint import records
from wirebench.report import analyse_run, export_charts, write_report
from wirebench.report.facts import FACTS_FILE, Facts, conformance, facts_of
from wirebench.report.figures import noun, visible
from wirebench.report.model import FootprintField, PageView
from wirebench.report.page import spec_of
from wirebench.report.provenance import command_again
from wirebench.report.rows import version_note
from wirebench.report.sentences import Sentence, cell_sentence, twin_sentence
from wirebench.report.view import page_view
from wirebench.stats.standings import standing_of
from wirebench.stats.types import EntryAnalysis, Ratio, RunAnalysis, TwinVerdict, Verdict
from wirebench.store.records import Selection, VerifyRecord
from wirebench.store.rundir import TRIALS_FILE, read_run

WORLD = World(samples=500)
CHART_KINDS = {"ratios", "percentiles", "ladder-0", "ladder-1"} | {
    *(f"ramp-{number}" for number in range(11)),
    *(f"total-{number}" for number in range(3)),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("results"), WORLD)


@pytest.fixture(scope="module")
def text(run: Path) -> str:
    return write_report(run).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def view(run: Path) -> PageView:
    stored = read_run(run)
    return page_view(stored, analyse_run(stored))


@pytest.mark.parametrize(
    ("alarms", "quiet", "said"),
    [
        (0, 1, "The contestant entered twice was not called different from itself."),
        (1, 0, "The contestant entered twice was called different from itself: go/x in s c."),
        (0, 3, "None of the 3 contestants entered twice was called different from itself."),
        (1, 2, "1 of the 3 contestants entered twice was called different from itself: go/x in"),
        (2, 1, "2 of the 3 contestants entered twice were called different from themselves: go/x"),
    ],
)
def test_twins_are_counted_in_words_that_fit(alarms: int, quiet: int, said: str) -> None:
    loud, calm = Verdict(kind="faster"), Verdict(kind="equivalent")
    twins = [
        TwinVerdict(
            study="s",
            cell="c",
            contestant="go/x",
            ratio=Ratio(estimate=1.1, low=1.0, high=1.2, blocks=9),
            verdict=one,
            band=0.01,
        )
        for one in (*[loud] * alarms, *[calm] * quiet)
    ]
    text = twin_sentence(
        RunAnalysis(cells=(), twins=tuple(twins), false_alarms=alarms, twin_trials=alarms + quiet)
    )
    assert text.startswith(said)
    assert f"{alarms} false alarm{'' if alarms == 1 else 's'} in {alarms + quiet} twin" in text


class _Reader(HTMLParser):
    """Elements, and the text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.words.append(data)


def test_one_file_under_three_megabytes_that_loads_nothing(text: str) -> None:
    assert len(text.encode()) < 3_000_000
    for tag, attributes in _Reader(text).elements:
        assert tag not in ("link", "iframe", "object", "img")
        assert "src" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        href = attributes.get("href")
        assert href is None or href.startswith(("#", "https://"))
    assert "@import" not in text


def test_closed_cells_count_refused_connections_and_errors(view: PageView) -> None:
    study = next(one for one in view.studies if one.name == "concurrency")
    cell = next(one for one in study.cells if one.id == "c1000")
    places = [cell.columns.index(name) for name in ("refused", "errors")]
    found = {row.entry: [row.figures[place].text for place in places] for row in cell.rows}
    assert found["cpp/floor"] == ["0", "0"]
    assert found["java/broken"] == ["7", "1"]
    # In no trial right, and counted all the same.
    failed = next(row for row in cell.rows if row.entry == "python/flask")
    assert failed.blank.startswith("closed early: ")
    assert (found["python/flask"], failed.unknown) == (["7", "1"], places[0])
    assert "failed ones too" in cell.basis


def test_each_row_of_a_table_has_a_field_below_each_heading(text: str) -> None:
    fields: list[int] = []
    for table in re.findall("<table[^>]*>(.*?)</table>", text, re.DOTALL):
        rows = [re.findall("<t[hd][^>]*>", row) for row in table.split("<tr")[1:]]
        widths = [
            sum(int(span[1]) if (span := re.search('colspan="(\\d+)"', one)) else 1 for one in row)
            for row in rows
        ]
        assert len(set(widths)) == 1
        fields += widths
    assert fields


def test_what_a_server_sent_is_shown_and_is_no_markup(text: str) -> None:
    page = _Reader(text)
    assert [tag for tag, _ in page.elements].count("script") == 4
    words = "".join(page.words)
    assert "</script><script>document.title='owned'</script>" in words
    assert "200 OK <b>fine</b>" in words
    assert HOSTILE not in text


def test_only_the_pages_own_scripts_may_run(text: str) -> None:
    policy = next(
        a["content"]
        for tag, a in _Reader(text).elements
        if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert "default-src 'none'" in policy
    scripts = re.search(r"script-src ([^;]*)", policy)
    assert scripts is not None
    assert len(scripts[1].split()) == 2
    assert "unsafe" not in scripts[1]


def test_hidden_characters_are_shown() -> None:
    assert visible("a\x00b‮c\nd") == "a\\x00b\\u202ec\nd"
    assert visible("x" * 600).endswith("x …")


def test_every_study_has_verdict_tables_and_charts(view: PageView, text: str) -> None:
    assert [study.name for study in view.studies] == [
        "concurrency",
        "rest",
        "roundtrip",
        "websocket",
    ]
    kinds = {name.rsplit(".", 1)[1] for name in view.charts}
    assert kinds == CHART_KINDS
    page = _Reader(text)
    drawn = [a["id"] for tag, a in page.elements if a.get("class") == "chart"]
    assert drawn == list(view.charts)
    words = "".join(page.words)
    for study in view.studies:
        for cell in study.cells:
            assert cell.sentence.text in words
            assert all(chart.how in words for chart in cell.charts)


def test_the_command_that_repeats_it_and_the_host_are_there(text: str) -> None:
    words = "".join(_Reader(text).words)
    assert "wirebench quick --seed 7" in words
    assert "Example CPU <1.0 GHz>" in words
    assert "crow.h was not found" in words


def test_the_decision_table_has_signs_reasons_and_conformance(view: PageView) -> None:
    rest = next(study for study in view.studies if study.name == "rest")
    rows = {row.entry: row for row in rest.cells[0].rows}
    assert (rows["rust/axum"].sign, rows["rust/axum"].mark, rows["rust/axum"].rank) == (
        "▲",
        "best",
        "1",
    )
    assert (rows["python/flask"].sign, rows["python/flask"].mark) == ("▼", "worst")
    assert (rows["rust/axum"].conformance, rows["rust/axum"].advice) == ("1/2", "pipelining")
    client = next(study for study in view.studies if study.name == "roundtrip").cells[0].rows[0]
    assert (client.conformance, client.advice) == ("2/2", "")
    assert rows["java/broken"].blank.startswith("nonconformant: ")
    assert rows["java/broken"].figures != ()
    assert all(one.text or one.blank for row in rows.values() for one in row.figures)
    delayed = rest.cells[1]
    assert delayed.columns[-1] == "of the ideal"
    assert {row.figures[-1].text for row in delayed.rows if row.entry == "rust/axum"} == {"99%"}


def test_what_is_counted_is_named_by_the_workload(view: PageView) -> None:
    columns = {
        study.name: {title for cell in study.cells for title in cell.columns}
        for study in view.studies
    }
    assert {"messages/s", "CPU per message"} <= columns["websocket"]
    assert {"requests/s", "CPU per request"} <= columns["concurrency"]
    assert not any("request" in title for title in columns["websocket"])
    assert noun("makespan_ns", "message") == "time for all messages"
    ladders = [
        chart.title
        for study in view.studies
        if study.name == "concurrency"
        for chart in study.charts
    ]
    assert "requests/s by connections" in ladders


def test_generator_bound_figures_say_at_least(view: PageView) -> None:
    cell = view.studies[0].cells[0]
    axum = next(row for row in cell.rows if row.entry == "rust/axum")
    assert axum.figures[0].text.startswith("≥ ")
    assert axum.ratio.text.startswith("? "), "the generator limited the floor as well"
    node = next(row for row in cell.rows if row.entry == "node/http")
    assert node.ratio.text.startswith("≤ "), "at least this far from the floor"
    assert not node.figures[0].text.startswith("≥ ")
    assert "generator-bound" in " ".join(axum.remarks)
    assert "The generator, not the server, was the limit of rust/" in cell.sentence.text
    assert any("floor (cpp/floor)" in change for change in cell.sentence.changes)
    assert not any("was busy" in change for change in cell.sentence.changes)
    delayed = next(study for study in view.studies if study.name == "rest").cells[1]
    assert not any("was busy" in change for change in delayed.sentence.changes), "it waits"
    assert not any(sign in row.ratio.text for row in delayed.rows for sign in "≤≥?")


def test_a_closed_loop_in_which_nothing_was_busy_says_so(tmp_path: Path) -> None:
    path = write_run(tmp_path, replace(WORLD, studies=("concurrency",), samples=5))
    stored = read_run(path)
    shares = {"server_cpu_share": 0.4, "generator_cpu_share": 0.3}
    idle = tuple(replace(one, validity={**one.validity, **shares}) for one in stored.trials)
    stored = replace(stored, trials=idle)
    (study,) = page_view(stored, analyse_run(stored)).studies
    (said,) = (one for one in study.cells[0].sentence.changes if "was busy" in one)
    assert "rust/axum" in said
    assert "other programs" in said


def test_the_validity_table_says_who_was_the_limit_of_each_entry(view: PageView, text: str) -> None:
    checks = {check.entry: check for check in view.studies[0].cells[0].checks}
    assert (checks["rust/axum"].server, checks["rust/axum"].generator) == ("85%", "99%")
    assert checks["cpp/floor"].bottleneck.startswith("the generator")
    assert checks["node/http"].bottleneck == "the server"
    rest, roundtrip = view.studies[1], view.studies[2]
    assert {one.bottleneck for one in rest.cells[1].checks} == {"neither was busy"}
    assert {one.bottleneck for one in roundtrip.cells[0].checks} == {""}, "no generator"
    words = "".join(_Reader(text).words)
    assert words.count("the distance to it is at least what is printed") == 1
    assert "From 95% on" in words


def test_both_cpu_shares_are_columns_of_the_decision_table(view: PageView) -> None:
    cell = view.studies[0].cells[0]
    assert cell.columns[-2:] == ("server CPU", "generator CPU")
    floor = next(row for row in cell.rows if row.entry == "cpp/floor")
    assert [one.text for one in floor.figures[-2:]] == ["85%", "99%"]
    assert "server CPU" not in view.studies[2].cells[0].columns


def test_a_chart_s_data_say_which_ratios_are_bounds(view: PageView) -> None:
    data = json.dumps(spec_of(view.charts["concurrency.c50.ratios"]), ensure_ascii=False)
    assert '"entry": "? rust/axum"' in data
    assert re.search(r'"entry": "≤ node/http".*?"bound": "at most", "text": "≤ ', data)
    delayed = next(name for name in view.charts if "-t20.ratios" in name)
    assert '"bound": "' not in json.dumps(spec_of(view.charts[delayed]))


def test_who_beats_some_is_not_called_best_beside_one_that_is_alike(tmp_path: Path) -> None:
    stored = read_run(write_run(tmp_path, replace(WORLD, studies=("roundtrip",), samples=5)))
    cell = analyse_run(stored).cells[0]
    ranked = [one for one in cell.entries if one.standing.rank_low is not None]
    first, second, last = ranked[0], ranked[1], ranked[-1]

    def sentence(order: Sequence[EntryAnalysis], **beaten_by: set[str]) -> Sentence:
        places = {
            first.entry: replace(first.standing, mark="best", beaten_by=frozenset()),
            second.entry: replace(
                second.standing,
                mark="middle" if "second" in beaten_by else "tie",
                beaten_by=frozenset(beaten_by.get("second", ())),
            ),
            last.entry: replace(last.standing, mark="worst", beaten_by=frozenset({first.entry})),
        }
        entries = tuple(replace(one, standing=places[one.entry]) for one in order)
        return cell_sentence(replace(cell, entries=entries), again="wirebench run")

    said = sentence((first, second, last))
    assert said.text.startswith(f"{first.entry} leads (")
    assert f"but is not distinguishable from {second.entry}. Last: {last.entry}." in said.text
    assert said.tone == "open"
    said = sentence((second, first, last))
    assert said.text.startswith(f"{first.entry} is among the best (")
    said = sentence((first, second, last), second={first.entry})
    assert said.text.startswith(f"{first.entry} is best of 3 by ")
    assert said.tone == "decided"


def test_who_was_measured_and_has_no_rank_is_named_with_the_reason(tmp_path: Path) -> None:
    stored = read_run(write_run(tmp_path, replace(WORLD, studies=("roundtrip",), samples=5)))
    cell = analyse_run(stored).cells[0]
    slow = "could not keep up: answered 900/s of 1,000/s"
    reasons = {"go/net-http": slow, "node/http": slow, "cpp/libcurl": "never steady: it changed"}
    nobody = tuple(
        replace(
            one,
            standing=standing_of(None, one.standing.ratio, one.standing.verdict),
            unranked=reasons.get(one.entry, "the floor"),
        )
        for one in cell.entries
        if one.entry in reasons or one.is_floor
    )
    said = cell_sentence(replace(cell, entries=nobody), again="wirebench run")
    assert said.tone == "nothing"
    for name, reason in reasons.items():
        assert re.search(rf"{name}[^;]*: {re.escape(reason)}", said.text), said.text
    floor = tuple(one for one in nobody if one.is_floor)
    alone = cell_sentence(replace(cell, entries=floor), again="wirebench run")
    assert alone.text == "No contestant but the floor was measured."


@pytest.mark.parametrize(
    ("noise", "blocks", "wanted"),
    [
        (0.02, 9, r"About \d+ more blocks? would settle .* in four of five such cases"),
        (0.05, 6, "may be equal: no affordable number of blocks is expected to separate them"),
    ],
)
def test_undecided_says_what_would_decide(
    tmp_path: Path, noise: float, blocks: int, wanted: str
) -> None:
    world = replace(WORLD, noise=noise, blocks=blocks, studies=("roundtrip",), samples=5)
    stored = read_run(write_run(tmp_path, world))
    shown = page_view(stored, analyse_run(stored))
    changes = [change for cell in shown.studies[0].cells for change in cell.sentence.changes]
    assert any(re.search(wanted, change) for change in changes)
    again = "wirebench run roundtrip --preset quick --cells "
    assert any(again in change for change in changes) == wanted.startswith("About")


@pytest.mark.parametrize(
    ("command", "selection", "again"),
    [
        (
            ("wirebench", "quick", "--only", "websocket"),
            Selection(studies=("websocket",), preset="quick", only=("websocket",), seed=7),
            "wirebench run websocket --preset quick --only websocket --cells burst",
        ),
        (
            ("wirebench", "fleet", "run", "--fleet", "f.toml", "rest", "websocket"),
            Selection(studies=("rest", "websocket"), preset="hour", repeats=1, seed=7),
            "wirebench fleet run --fleet f.toml websocket --preset hour --cells burst",
        ),
        (
            ("wirebench", "run", "rest", "websocket", "--preset", "quick"),
            Selection(
                studies=("rest", "websocket"),
                preset="quick",
                only=("cpp/wire,cpp/wire-own-records", "go/*"),
                ramp=RampSize(rounds=10, add=20, messages=30),
                repeats=3,
                seed=7,
            ),
            "wirebench run websocket --preset quick --only cpp/wire,cpp/wire-own-records"
            " --only 'go/*' --rounds 10 --add 20 --messages 30 --repeats 3 --cells burst",
        ),
        (
            ("wirebench", "gate", "./old {port}", "./new {port}", "--seed", "7"),
            Selection(studies=("duel",), preset="duel", seed=7),
            "wirebench gate './old {port}' './new {port}' --seed 7",
        ),
    ],
)
def test_what_would_decide_is_what_was_measured(
    run: Path, command: tuple[str, ...], selection: Selection, again: str
) -> None:
    """Not all of a preset, which may lack whom was asked for, nor a ramp that it does not have."""
    stored = read_run(run)
    info = replace(stored.info, command=command, selection=selection)
    study = selection.studies[-1]
    assert command_again(replace(stored, info=info), study, "burst") == again


def test_a_cell_without_a_rank_says_how_many_trials_were_void(tmp_path: Path) -> None:
    path = write_run(tmp_path, replace(WORLD, studies=("rest",), samples=5))
    trials = path / TRIALS_FILE
    lines = [json.loads(line) for line in trials.read_text().splitlines()]
    for line in lines:
        if line["block"] in (2, 5) and line["status"] == "ok":
            line["validity"]["void"] = "the generator sent late: p99 is 2 ms"
    trials.write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = "".join(_Reader(write_report(path).read_text()).words)
    assert re.search(
        r"Too few valid trials for a verdict: 4 at most in 6 blocks; \d+ were void", words
    )


def test_a_run_of_two_blocks_and_an_interrupted_one_have_reports(tmp_path: Path) -> None:
    path = write_run(
        tmp_path, replace(WORLD, blocks=2, studies=("rest",), samples=5), status="interrupted"
    )
    words = "".join(_Reader(write_report(path).read_text()).words)
    assert "interrupted. The page shows what was finished" in words
    assert "Too few blocks for a verdict: 2" in words


def test_a_run_without_a_plan_has_a_report(tmp_path: Path) -> None:
    path = write_run(tmp_path, replace(WORLD, blocks=1, studies=("rest",), samples=5))
    for name in ("plan.json", "trials.jsonl", "host.json"):
        (path / name).unlink()
    out = tmp_path / "elsewhere.html"
    assert write_report(path, out=out) == out
    assert "wirebench quick" in out.read_text()


def test_facts_are_kept_with_the_run(run: Path, text: str) -> None:
    assert text
    kept = json.loads((run / FACTS_FILE).read_text())
    changed = {**kept, "go/made-up": {**vars(_facts()), "note": None}}
    (run / FACTS_FILE).write_text(json.dumps(changed))
    stored = read_run(run)
    assert "go/made-up" in dict(page_view(stored, analyse_run(stored)).contestants)


def test_a_row_says_the_age_and_where_it_counts_the_json_library() -> None:
    facts = replace(_facts(), age="2020-08, 6.3 years", json="encoding/json")
    said = "1, 2020-08, 6.3 years"
    assert version_note(facts, "go/made-up", has_json=False) == said
    assert version_note(facts, "go/x", has_json=True) == f"made-up {said}; JSON: encoding/json"
    assert version_note(_facts(), "go/made-up", has_json=True) == "1"
    pool = replace(_facts(), kept_connections=8)
    assert version_note(pool, "go/made-up", has_json=False) == "1; keeps up to 8 connections"
    warmed = replace(_facts(), warmed=True)
    assert version_note(warmed, "java/made-up", has_json=False) == "1; warmed up first"


def test_footprints_of_what_was_measured_are_shown_and_kept_with_the_run(tmp_path: Path) -> None:
    path = write_run(tmp_path, replace(WORLD, studies=("rest",), samples=60))
    versions = {name: facts.version for name, facts in facts_of(read_run(path)).items()}
    made_up: dict[str, Any] = {"version": versions["rust/axum"], "idle_bytes": None}
    made_up |= {"unknown": {"idle_bytes": "no </script> here"}}
    records.write(tmp_path, footprint("rust/axum", **made_up))
    records.write(tmp_path, footprint("go/net-http", version="another"))
    records.write(tmp_path, footprint("go/fiber"))
    text = write_report(path).read_text()
    assert "no &lt;/script&gt; here" in text
    for _ in range(2):
        stored = read_run(path)
        view = page_view(stored, analyse_run(stored))
        (row,) = view.footprints.rows
        assert row.contestant == "rust/axum"
        assert row.version == f"{versions['rust/axum']}, as a server"
        assert FootprintField(text="3.91 KiB", value=4000.0) in row.fields
        assert FootprintField(text="not known", value=None) in row.fields
        assert "go/net-http" in view.footprints.missing
        assert view.footprints.command.startswith("wirebench footprint ")
        # What is kept with the run stays.
        records.path_of(tmp_path, "rust/axum", "server").unlink(missing_ok=True)


def test_rest_has_a_table_of_its_frameworks(tmp_path: Path) -> None:
    path = write_run(tmp_path, replace(WORLD, studies=("rest", "concurrency"), samples=60))
    version = facts_of(read_run(path))["cpp/cpp-httplib"].version
    records.write(tmp_path, footprint("cpp/cpp-httplib", version=version))
    stored = read_run(path)
    rest, concurrency = sorted(
        page_view(stored, analyse_run(stored)).studies, key=lambda one: one.name != "rest"
    )
    assert "The frameworks" not in {one.title for one in concurrency.tables}
    (table,) = (one for one in rest.tables if one.title == "The frameworks")
    rows = {row[0]: dict(zip(table.columns, row[1:], strict=True)) for row in table.rows}
    assert rows["cpp/cpp-httplib"]["header-only"] == "yes"
    assert rows["cpp/cpp-httplib"]["build"] == "2.00 s"
    assert rows["cpp/cpp-httplib"]["licence"] == "MIT"
    assert rows["rust/axum"]["build"] == "not known"


def _facts() -> Facts:
    return Facts(
        library="made-up",
        version="1",
        license="MIT",
        homepage="https://example.org",
        tier="idiomatic",
    )


def test_conformance_counts_the_study_s_workloads_only() -> None:
    def record(workload: str, *passed: bool | None) -> VerifyRecord:
        """None: not checked."""
        checks = tuple(
            {"id": f"c{index}", "passed": bool(one), "checked": one is not None}
            for index, one in enumerate(passed)
        )
        return VerifyRecord(
            contestant="go/x",
            workload=workload,
            status="ok",
            failure=None,
            elapsed_ns=1,
            checks=checks,
        )

    found = conformance(
        [record("rest", True, False, None), record("ws.echo", True)], frozenset({"rest"})
    )
    assert (found["go/x"].text, found["go/x"].advice) == ("1/2", ("c1",))


@pytest.mark.long
def test_every_chart_is_written_as_picture(run: Path, tmp_path: Path, view: PageView) -> None:
    few = tmp_path / "charts"
    files = export_charts(run, few)
    names = {path.name for path in files}
    assert {f"{name}.png" for name in view.charts} | {
        f"{name}.svg" for name in view.charts
    } <= names
    assert "rest.all-cells.png" in names
    for path in files:
        assert path.read_bytes().startswith(b"\x89PNG" if path.suffix == ".png" else b"<svg")


def test_every_chart_is_valid_vega_lite(view: PageView) -> None:
    for chart in view.charts.values():
        chart.to_dict()  # raises what Altair's schema does not allow
        assert "config" not in spec_of(chart)


def test_the_articles_figures_and_explanations_are_on_the_page(tmp_path: Path) -> None:
    path = write_run(tmp_path, replace(WORLD, studies=("concurrency",), samples=60))
    text = write_report(path).read_text(encoding="utf-8")
    assert 'id="article-concurrency"' in text
    assert "av_http 0.0.1" in text
    assert "pairs agree" in text
    assert "Its explanations" in text
    assert "our own doubt" in text


def test_the_best_and_the_worst_of_an_articles_table_are_coloured(text: str) -> None:
    """By the verdicts of the run: the published rows of `websocket` differ in ours."""
    start = text.index('id="article-websocket"')
    article = text[start : text.index("Its explanations", start)]
    assert '<span class="best">▲ ' in article
    assert '<span class="worst">▼ ' in article
    assert "stand before the best and the worst of a table" in article


def test_a_project_that_is_broken_costs_the_page_its_articles_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_run(tmp_path / "results", replace(WORLD, studies=("concurrency",), samples=60))
    for folder in ("contestants", "studies"):
        (tmp_path / folder).mkdir()
    (tmp_path / "studies" / "concurrency.toml").write_text("not = a = study")
    monkeypatch.setenv("WIREBENCH_ROOT", str(tmp_path))
    text = write_report(path).read_text(encoding="utf-8")
    assert 'id="study-concurrency"' in text
    assert "article-concurrency" not in text
