"""The explanations of published figures, and what a run says of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import synthetic_world
from articles import FOLDER, ROOT, STOOD_STILL, read, row_of, study_of
from synthetic_run import write_run
from synthetic_world import World
from wirebench.catalog.errors import CatalogError
from wirebench.cli.console import EXIT_OK, EXIT_USAGE
from wirebench.cli.main import run_app
from wirebench.report import analyse_run
from wirebench.report.article import Shown, of_runs
from wirebench.report.claims import ClaimView, claim_views, status_of
from wirebench.report.published import Order, beside
from wirebench.report.runs import command_for, of_table
from wirebench.stats.types import EntryAnalysis, FailureCount
from wirebench.store.rundir import read_run

CONCURRENCY = FOLDER / "concurrency.toml"
WORLD = World(studies=("concurrency",), samples=60)
WEBSOCKET = World(studies=("websocket",), samples=60)


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


@pytest.mark.parametrize("study", sorted(path.stem for path in FOLDER.glob("*.toml")))
def test_the_preset_published_tests_every_claim(study: str) -> None:
    preset = study_of(study).preset("published")
    measured = {cell.id for cell in preset.cells}
    for name, measure in read(FOLDER / f"{study}.toml").measures.items():
        assert measured & set(measure.cells), f"no cell of {name}"


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
        ((replace(STOOD_STILL, count=1),), "confirmed", "in 1 trial; 4 threads in futex"),
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
    assert shown.ours.startswith("the newest complete run"), "the heading ends with it, too"
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
    monkeypatch.setitem(synthetic_world.COSTS, "roundtrip", few)
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
