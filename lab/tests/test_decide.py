"""``wirebench decide``: limits held against stored runs, ties, what is not known, licences."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from decided import HTTP, STUDIES, WORLD, answer, known_of, of, states
from synthetic_footprint import footprint, package
from synthetic_run import write_run
from synthetic_world import World
from wirebench.catalog import find_root, load_catalog
from wirebench.decide.judge import decide
from wirebench.decide.known import Known
from wirebench.decide.places import is_wanted
from wirebench.decide.question import Decision, Question
from wirebench.decide.ranks import Span, among
from wirebench.footprint import records
from wirebench.stats.ratio import block_median
from wirebench.stats.types import Bottleneck, Breaking, EntryAnalysis, EntrySummary
from wirebench.store.rundir import PLAN_FILE, TRIALS_FILE


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    write_run(folder, WORLD)
    return folder


def test_everybody_is_in_one_list_and_the_floor_in_none(results: Path) -> None:
    decision = answer(results, HTTP)
    listed = [
        one.contestant
        for found in (decision.shortlist, decision.excluded, decision.unknown)
        for one in found
    ]
    assert len(listed) == len(set(listed))
    assert "cpp/floor" not in listed
    assert "rust/axum" in listed
    assert "cpp/wire" in listed, "in the catalog, though no run has it"
    assert "concurrency c50, run " in decision.ordered_by


def test_those_that_cannot_be_told_apart_are_first_together(results: Path) -> None:
    decision = answer(results, replace(HTTP, throughput_per_s=30_000))
    assert set(decision.first) == {"rust/axum", "rust/hyper"}
    ranks = [one.rank for one in decision.shortlist]
    assert ranks == sorted(ranks, key=lambda rank: rank or (99, 99))
    slow = of(decision.excluded, "python/flask")
    assert slow.state == "fails"
    (reason,) = (one for one in slow.findings if one.state == "fails")
    assert reason.limit == "requests/s >= 30,000"
    assert float(reason.text.replace(",", "")) < 30_000
    assert reason.where.startswith("concurrency c50, run ")


def test_a_bound_of_the_generator_excludes_nobody(results: Path) -> None:
    decision = answer(results, replace(HTTP, throughput_per_s=10_000_000))
    fast = of(decision.unknown, "rust/axum")
    (reason,) = (one for one in fast.findings if one.state == "unknown")
    assert reason.text.startswith("at least ")
    assert of(decision.excluded, "python/flask").state == "fails"
    assert fast.figure.startswith("≥ ")
    assert of(decision.excluded, "python/flask").figure[0].isdigit()


def test_a_time_that_the_generator_made_longer_excludes_nobody(tmp_path: Path) -> None:
    write_run(tmp_path, World(studies=("rest",), samples=60))
    question = Question(serves="rest", p99_ns=1, cpu_ns=1)
    limited = Bottleneck(kind="generator-bound", server_share=0.2, generator_share=0.99)
    known = changed(
        known_of(tmp_path, question),
        lambda entry: replace(entry, bottleneck=limited) if entry.entry == "rust/axum" else entry,
    )
    decision = decide(question, known, load_catalog(find_root()), STUDIES)
    everybody = (*decision.excluded, *decision.unknown)
    findings = of(everybody, "rust/axum").findings
    (p99,) = (one for one in findings if one.limit.startswith("p99 "))
    assert p99.state == "unknown"
    assert p99.text.startswith("at most ")
    (cpu,) = (one for one in findings if one.limit.startswith("CPU "))
    assert cpu.state == "fails", "the generator does not use the server's CPU"
    assert states(decision, "go/net-http")[p99.limit] == "fails"


def test_trials_on_both_sides_of_a_limit_are_borderline(results: Path) -> None:
    decision = answer(results, HTTP)
    median = float(of(decision.shortlist, "node/http").figure.replace(",", ""))
    near = answer(results, replace(HTTP, throughput_per_s=median))
    assert states(near, "node/http")[f"requests/s >= {median:,.0f}"] == "borderline"
    assert "node/http" in {one.contestant for one in near.shortlist}


def test_the_next_larger_rung_counts(results: Path) -> None:
    assert "c1000" in answer(results, replace(HTTP, connections=51)).ordered_by
    beyond = answer(results, replace(HTTP, connections=1001))
    assert beyond.shortlist == ()
    assert beyond.ordered_by == ""
    (reason,) = of(beyond.unknown, "rust/axum").findings
    assert (reason.text, reason.command) == (
        "not measured",
        "wirebench run concurrency --preset hour --only {}",
    )


def test_a_server_that_fails_under_the_load_is_excluded_with_its_failure(results: Path) -> None:
    decision = answer(results, replace(HTTP, connections=1000))
    (reason,) = (
        one for one in of(decision.excluded, "python/flask").findings if one.state == "fails"
    )
    assert reason.text.startswith("closed_early: ")
    assert states(decision, "java/broken")["http.hello on 1,000 connections"] in (
        "borderline",
        "fails",
    )


def test_one_failure_among_void_trials_excludes_nobody(tmp_path: Path) -> None:
    """They show neither that the server is right under the load nor that it is not."""
    path = write_run(tmp_path, WORLD)
    lines = [json.loads(one) for one in (path / TRIALS_FILE).read_text().splitlines()]
    failure = {"kind": "crashed", "phase": "load", "message": "signal 11"}
    for one in lines:
        if (one["cell"], one["entry"]) != ("c50", "go/net-http"):
            continue
        one["validity"]["void"] = "sent late: by 4 ms"
        if one["block"] == 2:
            one |= {"status": "failed", "failure": failure, "metrics": {}}
    (path / TRIALS_FILE).write_text("".join(json.dumps(one) + "\n" for one in lines))
    decision = answer(tmp_path, HTTP)
    (reason,) = of(decision.unknown, "go/net-http").findings
    assert reason.text == (
        f"1 of {WORLD.blocks} trials failed, and none of the others is valid: crashed: signal 11;"
        " void: not the load asked for (sent late)"
    )
    assert reason.command is not None


def changed(known: Known, change: Callable[[EntryAnalysis], EntryAnalysis]) -> Known:
    cells = [
        replace(
            one,
            analysis=replace(
                one.analysis, entries=tuple(change(entry) for entry in one.analysis.entries)
            ),
        )
        for one in known.cells
    ]
    return replace(known, cells=tuple(cells))


def test_first_is_whom_nobody_on_the_shortlist_beats(results: Path) -> None:
    """A = B, B = C and A better than C: the ranges of A and C overlap that of B."""
    spans = {
        "rust/axum": (1, 2, frozenset[str]()),
        "rust/hyper": (1, 3, frozenset[str]()),
        "c/libevent": (2, 3, frozenset({"rust/axum"})),
    }

    def ranked(entry: EntryAnalysis) -> EntryAnalysis:
        low, high, beaten_by = spans.get(entry.entry, (4, 9, frozenset(spans)))
        standings = {
            name: replace(one, rank_low=low, rank_high=high, beaten_by=beaten_by)
            for name, one in entry.standings.items()
        }
        return replace(entry, standings=standings)

    known = changed(known_of(results, HTTP), ranked)
    catalog = load_catalog(find_root())
    assert decide(HTTP, known, catalog, STUDIES).first == ("rust/axum", "rust/hyper")
    without = decide(replace(HTTP, languages=("c",)), known, catalog, STUDIES)
    assert without.first == ("c/libevent",), "who beats it does not meet the limits"


def test_a_ramp_that_broke_below_the_wanted_connections_excludes(tmp_path: Path) -> None:
    write_run(tmp_path, World(studies=("websocket",), samples=60))
    question = Question(serves="ws.count", connections=150)
    known = known_of(tmp_path, question)

    def broken(trials: int, clients: int, *, most: int | None = None) -> Decision:
        found = Breaking(
            trials=trials,
            of=6,
            rounds=(3, 3),
            clients=(clients, most or clients),
            unanswered=0.2,
            kinds=("timeout",),
            ended=None,
        )
        of_node = changed(
            known,
            lambda entry: replace(entry, breaking=found) if entry.entry == "node/ws" else entry,
        )
        return decide(question, of_node, load_catalog(find_root()), STUDIES)

    limit = "ws.count on 150 connections"
    assert states(broken(6, 200), "node/ws")[limit] == "holds", "its 150 were answered"
    always = broken(6, 150)
    assert states(always, "node/ws")[limit] == "fails"
    (reason,) = (one for one in of(always.excluded, "node/ws").findings if one.state == "fails")
    assert reason.text == "left messages unanswered at 150 connections in 6 of 6 trials"
    assert reason.where.startswith("websocket ")
    assert states(broken(2, 150), "node/ws")[limit] == "borderline"
    assert states(broken(6, 150, most=200), "node/ws")[limit] == "borderline", "one answered 150"

    question = replace(question, connections=None)
    assert states(broken(6, 150), "node/ws")["ws.count"] == "holds", "its first round was right"
    assert states(broken(6, 50), "node/ws")["ws.count"] == "fails", "no round was right"


def test_no_command_is_given_for_whom_the_host_does_not_let_take_part(results: Path) -> None:
    """Another run would leave it out again."""
    why = "open files: 20,000 a process, and it is one process: too few for 20,000 connections"

    def refused(entry: EntryAnalysis) -> EntryAnalysis:
        none = EntrySummary(metrics={}, trials=0, failed=0, not_run=1, voided=0)
        return replace(entry, summary=none, unranked=why, failures=())

    known = changed(
        known_of(results, HTTP),
        lambda entry: refused(entry) if entry.entry == "go/net-http" else entry,
    )
    question = replace(HTTP, throughput_per_s=1)
    decision = decide(question, known, load_catalog(find_root()), STUDIES)
    found = of(decision.unknown, "go/net-http").findings
    assert {one.state for one in found} == {"unknown"}
    assert found[0].text == why
    assert [one.command for one in found] == [None, None]


def test_memory_orders_by_intervals(results: Path) -> None:
    decision = answer(results, replace(HTTP, by="memory", memory_bytes=30 * 1024))
    assert "memory per connection" in decision.ordered_by
    assert decision.first
    for one in decision.shortlist:
        assert one.rank is not None
        assert one.figure.endswith("KiB")
    assert "python/aiohttp" in {one.contestant for one in decision.excluded}


def test_too_few_blocks_for_an_interval_order_and_decide_no_memory(tmp_path: Path) -> None:
    """A figure alone, however clear, is no claim."""
    write_run(tmp_path, replace(WORLD, blocks=4))
    decision = answer(tmp_path, replace(HTTP, by="memory", memory_bytes=30 * 1024))
    everybody = (*decision.shortlist, *decision.excluded, *decision.unknown)
    assert {one.rank for one in everybody} == {None}
    assert {one.beaten_by for one in everybody} == {()}
    found = of(decision.unknown, "go/net-http").findings
    (memory,) = (one for one in found if one.limit.startswith("memory per connection"))
    assert memory.state == "unknown"
    assert memory.text.endswith("by 4 blocks; an interval needs 6")
    assert memory.command is not None


def test_equal_memory_is_seldom_put_in_order() -> None:
    """Twenty contestants of the same memory: 190 pairs, of which some disjoint 95% intervals would
    be expected in most cells.
    """
    random = np.random.default_rng(8)
    wrong = 0
    for _ in range(100):
        spans = [
            Span(estimate=found.estimate, low=found.low, high=found.high, blocks=found.blocks)
            for one in random.normal(10_000, 100, (20, 7))
            if (found := block_median(one)) is not None
            and found.low is not None
            and found.high is not None
        ]
        reach = [among(one, len(spans)) for one in spans]
        wrong += max(low for low, _ in reach) > min(high for _, high in reach)
    assert wrong <= 5 + 2 * math.sqrt(100 * 0.05 * 0.95)


def test_languages_licences_and_standards(results: Path) -> None:
    question = replace(
        HTTP, languages=("rust", "go"), licence="permissive", standards=("9112", "7692")
    )
    decision = answer(results, question)
    assert decision.shortlist == ()
    assert states(decision, "c/libevent")["language rust or go"] == "fails"
    assert states(decision, "rust/axum")["licence permissive"] == "holds"
    held = {
        finding.limit: finding
        for finding in next(
            one for one in (*decision.excluded, *decision.unknown) if one.contestant == "rust/axum"
        ).findings
    }
    assert held["every MUST of RFC 9112"].state == "fails"
    assert "broken: " in held["every MUST of RFC 9112"].text
    assert held["every MUST of RFC 7692"].command == "wirebench verify --conformance {}"
    assert "a run after this command" in held["every MUST of RFC 7692"].text


def test_clients_are_judged_where_nothing_but_the_library_differs() -> None:
    (roundtrip,) = (one for one in STUDIES if one.name == "roundtrip")
    wanted = {
        cell.id
        for cell in roundtrip.presets["full"].cells
        if is_wanted(Question(calls="https"), "client", cell)
    }
    assert "https-reuse-1024" in wanted
    assert not {one for one in wanted if "post" in one or "resumption" in one}
    assert not {
        cell.id
        for cell in roundtrip.presets["artefacts"].cells
        if is_wanted(Question(calls="http"), "client", cell)
    } & {"http-reuse-1024-closes-at-100", "http-new-1024-localhost"}


def test_clients_are_ordered_by_their_round_trip(tmp_path: Path) -> None:
    write_run(tmp_path, World(studies=("roundtrip",), samples=60))
    decision = answer(tmp_path, Question(calls="http"))
    assert "round trip in roundtrip http-reuse-16" in decision.ordered_by
    assert "cpp/libcurl" in {one.contestant for one in decision.shortlist}
    strict = answer(tmp_path, Question(calls="http", p99_ns=1000, cpu_ns=1000))
    assert strict.shortlist == ()
    assert set(states(strict, "cpp/libcurl").values()) == {"holds", "fails"}


def test_what_it_brings_may_be_limited(results: Path) -> None:
    question = replace(HTTP, installed_bytes=5000, dependencies=2)
    known = replace(
        known_of(results, question),
        footprints={
            "rust/axum": footprint("rust/axum"),
            "rust/hyper": footprint("rust/hyper", packages=(package("a", installed_bytes=5001),)),
            "go/net-http": footprint("go/net-http", packages=(), unknown={"packages": "no go"}),
        },
    )
    decision = decide(question, known, load_catalog(find_root()), STUDIES)
    assert [one.contestant for one in decision.shortlist] == ["rust/axum"]
    held = {one.limit: one for one in decision.shortlist[0].findings}
    assert held["installed <= 4.88 KiB"].text == "3.91 KiB"
    above = of(decision.excluded, "rust/hyper").findings[0]
    assert above.text == "4.88 KiB, just beyond", "rounded, it is the limit itself"
    assert held["packages <= 2"].where == "footprint of 1.0"
    assert states(decision, "rust/hyper")["installed <= 4.88 KiB"] == "fails"
    reasons = {
        name: {(one.text, one.command) for one in of(decision.unknown, name).findings[:2]}
        for name in ("go/net-http", "c/libevent")
    }
    assert reasons["go/net-http"] == {("no go", "wirebench footprint {}")}
    assert reasons["c/libevent"] == {("not measured", "wirebench footprint {}")}


def test_footprints_are_read_from_beside_the_runs(tmp_path: Path) -> None:
    records.write(tmp_path, footprint("rust/axum"))
    assert set(known_of(tmp_path, HTTP).footprints) == {"rust/axum"}


def test_of_each_cell_the_newest_complete_run_of_the_host_counts(tmp_path: Path) -> None:
    old = write_run(tmp_path, WORLD)
    later = replace(WORLD, started_unix_ns=WORLD.started_unix_ns + 10**12, seed=8)
    new = write_run(tmp_path, later)
    write_run(tmp_path, replace(later, started_unix_ns=10**19 // 6), status="interrupted")
    other = replace(later, host_id="another", started_unix_ns=WORLD.started_unix_ns - 10**12)
    write_run(tmp_path, other)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{}")
    read: list[str] = []
    known = known_of(tmp_path, HTTP, reading=read.append)
    assert known.host_id == WORLD.host_id
    assert {one.run for one in known.cells} == {new.name}
    assert read == [new.name], "the older run has no other cell"
    assert {one.run for one in known_of(tmp_path, HTTP, host_id="another").cells} != {old.name}
    assert known_of(tmp_path, HTTP, host_id="none").cells == ()


def test_a_newer_run_of_one_takes_nothing_away_from_the_others(tmp_path: Path) -> None:
    old = write_run(tmp_path, WORLD)
    new = write_run(
        tmp_path, replace(WORLD, started_unix_ns=WORLD.started_unix_ns + 10**12, seed=8)
    )
    for name in (PLAN_FILE, TRIALS_FILE):
        keep_only(new / name, ("cpp/floor", "node/http"))
    question = replace(HTTP, throughput_per_s=1000)
    decision = answer(tmp_path, question)
    where = {
        name: next(
            one.where
            for one in of(decision.shortlist, name).findings
            if one.limit.startswith("requests/s")
        )
        for name in ("node/http", "rust/axum")
    }
    assert where["node/http"].endswith(new.name)
    assert where["rust/axum"].endswith(old.name)
    assert decision.ordered_by.endswith(old.name), "the run that ranks most"
    assert set(decision.first) == {"rust/axum", "rust/hyper"}


def keep_only(file: Path, contestants: tuple[str, ...]) -> None:
    """Of a plan or of trials."""
    if file.name == TRIALS_FILE:
        lines = file.read_text().splitlines()
        kept = [one for one in lines if json.loads(one)["contestant"] in contestants]
        file.write_text("\n".join(kept) + "\n")
        return
    plan = json.loads(file.read_text())
    for cell in plan["cells"]:
        cell["entries"] = [one for one in cell["entries"] if one["contestant"] in contestants]
        cell["twin"] = None
    file.write_text(json.dumps(plan))


def test_without_a_number_of_connections_the_smallest_cell_counts(tmp_path: Path) -> None:
    """The cells of ``rest`` have ten producers and no pinned rates."""
    write_run(tmp_path, World(studies=("rest",), samples=60))
    decision = answer(tmp_path, Question(serves="rest", p99_ns=10**10, by="cpu"))
    assert {one.contestant for one in decision.shortlist} >= {"rust/axum", "go/net-http"}
    assert "in rest " in decision.ordered_by


def test_a_cell_that_puts_nobody_in_order_leaves_it_to_another(tmp_path: Path) -> None:
    path = write_run(tmp_path, World(studies=("rest",), samples=60))
    question = Question(serves="rest")
    place = answer(tmp_path, question).ordered_by.split(" in rest ")[1].split(",")[0]
    trials = path / TRIALS_FILE
    lines = trials.read_text().splitlines()
    read = [(json.loads(line), line) for line in lines]
    kept = [line for one, line in read if one["cell"] != place or one["block"] <= 2]
    assert len(kept) < len(lines)
    trials.write_text("\n".join(kept) + "\n")
    decision = answer(tmp_path, question)
    assert " in rest " in decision.ordered_by
    assert f" in rest {place}," not in decision.ordered_by
    assert decision.first


@pytest.mark.parametrize(
    ("question", "command"),
    [
        (HTTP, "run concurrency --preset hour"),
        (replace(HTTP, connections=15_000), "run concurrency --preset evening"),
        (replace(HTTP, tls=True, connections=1000), "run concurrency --preset evening"),
        (replace(HTTP, connections=20_000), "run concurrency --preset full --cells c20000"),
        (replace(HTTP, connections=10**6), None),
        (Question(serves="rest"), "run rest --preset hour"),
        (Question(serves="rest", tls=True), "run rest --preset hour"),
        (Question(serves="ws.count"), "run websocket --preset hour"),
        (Question(serves="ws.broadcast"), "run websocket --preset broadcast"),
        (Question(calls="wss"), "run roundtrip --preset hour"),
    ],
)
def test_the_command_names_a_preset_that_measures_it_or_nothing(
    tmp_path: Path, question: Question, command: str | None
) -> None:
    decision = answer(tmp_path, question)
    measured = [one.findings[-1] for one in decision.unknown]
    found = {one.command for one in measured}
    expected = None if command is None else f"wirebench {command} --only {{}}"
    assert found <= {expected}
    texts = {one.text for one in measured}
    assert texts <= {"not measured" + ("; no study has a cell for it" if command is None else "")}


def test_a_limit_that_no_cell_can_judge_says_so(tmp_path: Path) -> None:
    """No cell offers so many requests a second."""
    decision = answer(tmp_path, replace(HTTP, rate_per_s=10**9, p99_ns=10**7))
    reasons = {one.limit: one.text for one in decision.unknown[0].findings}
    assert reasons["p99 <= 10.0 ms"] == "not measured; no study has a cell for it"
    assert reasons["http.hello"] == "not measured"
