"""Whole runs: from stored trials to verdicts, made-up truth against what is said."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from synthetic_run import make_plan, write_run
from synthetic_trials import make_trials
from synthetic_world import FLOOR, World
from wirebench.plan.model import Plan, PlannedCell
from wirebench.stats import (
    RunAnalysis,
    TrialView,
    TwinNoise,
    TwinRecord,
    analyse,
    load_history,
    standstill,
)
from wirebench.stats.history import TWINS_FILE
from wirebench.stats.settings import DEFAULT
from wirebench.store.rundir import read_run

WORLD = World(samples=5)
LOOK = replace(DEFAULT, confidence=DEFAULT.look_confidence)


@pytest.fixture(scope="module")
def analysis() -> RunAnalysis:
    plan = make_plan(WORLD)
    return analyse(make_trials(WORLD, plan), plan)


def test_the_truth_is_found_in_spite_of_blocks_that_differ_by_tens_of_percents(
    analysis: RunAnalysis,
) -> None:
    cell = analysis.of_study("rest")[0]
    names = [entry.entry for entry in cell.entries if entry.unranked is None]
    assert names == [
        "rust/axum",
        "go/net-http",
        "cpp/cpp-httplib",
        "node/http",
        "python/aiohttp",
        "python/flask",
    ]
    aiohttp = cell.entry("python/aiohttp")
    assert aiohttp is not None
    assert aiohttp.standing.ratio is not None
    assert aiohttp.standing.ratio.estimate == pytest.approx(9.0, rel=0.05)
    assert [entry.mark for entry in cell.entries][:6] == [
        "best",
        "middle",
        "middle",
        "middle",
        "middle",
        "worst",
    ]


def test_the_floor_and_the_twin_have_ratios_and_no_rank(analysis: RunAnalysis) -> None:
    for cell in analysis.cells:
        floor = cell.entry(FLOOR)
        assert floor is not None
        assert (floor.standing.rank_low, floor.standing.ratio, floor.mark) == (None, None, None)
        (twin,) = [entry for entry in cell.entries if entry.twin_of is not None]
        assert twin.standing.ratio is not None
        assert twin.standing.rank_low is None


def test_twins_are_not_called_different(analysis: RunAnalysis) -> None:
    assert len(analysis.twins) == len(analysis.cells)
    assert analysis.twin_trials == len(analysis.twins)
    assert not any(twin.false_alarm for twin in analysis.twins)


def test_equals_are_not_told_apart_by_a_generator_at_its_limit(analysis: RunAnalysis) -> None:
    cell = analysis.of_study("concurrency")[0]
    for name in ("rust/axum", "rust/hyper"):
        entry = cell.entry(name)
        assert entry is not None
        assert entry.generator_bound
        assert (entry.standing.rank_low, entry.standing.rank_high) == (1, 2)
    pair = cell.pair("rust/axum", "rust/hyper")
    assert pair is not None
    assert pair.verdict.reason is not None
    assert "generator-bound" in pair.verdict.reason


def limited_by_the_generator(*names: str) -> RunAnalysis:
    """``rest``, where the generator was at its limit with these entries."""
    world = World(studies=("rest",), samples=5)
    plan = make_plan(world)
    shares = {"server_cpu_share": 0.7, "generator_cpu_share": 0.99}
    return analyse(
        [
            replace(one, validity={**one.validity, **shares}) if one.entry in names else one
            for one in make_trials(world, plan)
        ],
        plan,
    )


def test_a_generator_bound_entry_beats_those_behind_it_and_loses_to_nobody() -> None:
    cell = limited_by_the_generator("go/net-http").cells[0]
    go, axum = cell.entry("go/net-http"), cell.entry("rust/axum")
    assert go is not None
    assert axum is not None
    assert (go.standing.rank_low, go.standing.rank_high) == (1, 2), "its own limit was not seen"
    assert (axum.standing.rank_low, axum.standing.rank_high) == (1, 2)
    ahead, behind = (cell.pair("go/net-http", other) for other in ("node/http", "rust/axum"))
    assert ahead is not None
    assert behind is not None
    assert (ahead.verdict.kind, ahead.bound) == ("faster", "at most"), "a time: at most this"
    assert (behind.verdict.kind, behind.verdict.blocks_needed) == ("undecided", None)
    assert behind.verdict.reason is not None
    assert "at least this fast" in behind.verdict.reason
    assert go.standing.verdict is not None
    assert go.standing.verdict.kind == "undecided", "nor is it slower than the floor"
    cpu = go.standings["cpu_per_request_ns"]
    assert (cpu.rank_low, cpu.rank_high, cpu.bound) == (2, 2, None), "its CPU time is its own"


def test_where_the_floor_is_generator_bound_the_distance_to_it_is_at_least_what_is_shown() -> None:
    cell = limited_by_the_generator(FLOOR).cells[0]
    assert cell.metric == "makespan_ns"
    for entry in cell.entries:
        if entry.standing.ratio is not None:
            assert entry.standing.bound == "at least", "over a time of the floor that is at most so"
            assert entry.standing.verdict is not None
            assert entry.standing.verdict.kind == "slower"
    floor = cell.entry(FLOOR)
    assert floor is not None
    assert floor.generator_bound
    axum = cell.entry("rust/axum")
    assert axum is not None
    assert (axum.standing.rank_low, axum.standing.rank_high) == (1, 1), "ranks need no floor"


def test_cells_that_wait_and_client_studies_are_ranked_as_ever(analysis: RunAnalysis) -> None:
    delayed = analysis.of_study("rest")[1]
    assert {one.bottleneck.kind for one in delayed.entries if one.bottleneck is not None} == {
        "neither",
        "unknown",  # never measured
    }
    assert all(one.bottleneck is None for one in analysis.of_study("roundtrip")[0].entries)
    assert delayed.entries[0].standing.rank_low is not None


def test_a_failed_block_is_missing_for_that_entry_only(analysis: RunAnalysis) -> None:
    cell = analysis.of_study("concurrency")[1]
    broken, other = cell.entry("java/broken"), cell.entry("go/net-http")
    assert broken is not None
    assert other is not None
    assert (broken.summary.trials, broken.summary.failed) == (4, 2)
    assert broken.unranked is not None
    assert "4 valid blocks" in broken.unranked
    assert (broken.failures[0].count, broken.failures[0].blocks) == (2, (2, 5))
    assert other.standing.ratio is not None
    assert other.standing.ratio.blocks == 6


def test_one_that_always_fails_is_blank_with_the_reason(analysis: RunAnalysis) -> None:
    flask = analysis.of_study("concurrency")[1].entry("python/flask")
    assert flask is not None
    assert flask.summary.metrics == {}
    assert flask.unranked is not None
    assert flask.unranked.startswith("closed early: ")
    absent = analysis.of_study("rest")[0].entry("java/broken")
    assert absent is not None
    assert absent.failures[0].kind == "nonconformant"


def test_a_trial_that_breaks_littles_law_is_void(analysis: RunAnalysis) -> None:
    node = analysis.of_study("concurrency")[0].entry("node/http")
    assert node is not None
    assert (node.summary.voided, node.summary.trials, node.little.worst) == (1, 5, 0.91)


def test_every_number_is_the_same_again(analysis: RunAnalysis) -> None:
    plan = make_plan(WORLD)
    assert analyse(make_trials(WORLD, plan), plan) == analysis


def test_steal_drops_the_block_for_all() -> None:
    plan = make_plan(World(studies=("rest",), blocks=7, samples=5))
    trials = make_trials(World(studies=("rest",), blocks=7, samples=5), plan)
    index = next(
        i for i, one in enumerate(trials) if one.block == 3 and one.cell == plan.cells[0].cell.id
    )
    trials[index] = replace(trials[index], covariates={"steal_ns": trials[index].elapsed_ns})
    cell = analyse(trials, plan).cells[0]
    assert [one.block for one in cell.dropped] == [3]
    assert cell.blocks == 6
    assert {entry.summary.trials for entry in cell.entries if entry.entry != "java/broken"} == {6}


def test_what_happens_in_a_dropped_block_is_held_against_nobody() -> None:
    """It is run again, and nothing in it counts."""
    world = World(studies=("rest", "websocket"), blocks=7, samples=5)
    plan = make_plan(world)
    stolen = [
        replace(one, covariates={"steal_ns": one.elapsed_ns}) if one.block == 3 else one
        for one in make_trials(world, plan)
    ]
    void = {"void": "the generator sent late: p99 is 2 ms", "little_ratio": 0.5}
    left = {"starved": 3, "oldest_ns": 10**12, "silent_connections": 2}
    worse = [
        replace(
            one,
            validity={**one.validity, **void},
            load={**(one.load or {}), "window": {"unanswered": left}},
            warnings=("partial_errors: round 2 of 4", "slow_start: 3 s"),
        )
        if one.block == 3
        else one
        for one in stolen
    ]
    found = analyse(worse, plan)
    assert {tuple(one.block for one in cell.dropped) for cell in found.cells} == {(3,)}
    assert found.cells == analyse(stolen, plan).cells


def test_two_blocks_give_figures_and_no_verdicts() -> None:
    world = World(blocks=2, samples=5)
    plan = make_plan(world)
    cell = analyse(make_trials(world, plan), plan).of_study("rest")[0]
    first = cell.entries[0]
    assert first.is_floor
    ranked = [entry for entry in cell.entries if entry.standing.rank_low is not None]
    assert ranked == []
    named = next(entry for entry in cell.entries if entry.entry == "rust/axum")
    assert named.unranked == "2 valid blocks; a rank needs 6"
    assert named.standing.ratio is not None
    assert named.standing.ratio.low is None


def test_without_the_floor_entries_are_still_compared() -> None:
    plan = make_plan(World(studies=("rest",), samples=5))
    trials = [
        one for one in make_trials(World(studies=("rest",), samples=5), plan) if one.entry != FLOOR
    ]
    bare = replace(plan, cells=tuple(replace(cell, floors=()) for cell in plan.cells))
    cell = analyse(trials, bare).cells[0]
    assert [entry.entry for entry in cell.entries][:2] == ["rust/axum", "go/net-http"]
    assert cell.entries[0].mark == "best"
    assert cell.entries[0].standing.ratio is None


def test_nothing_measured_gives_an_empty_analysis() -> None:
    assert analyse([], None).cells == ()
    plan = make_plan(WORLD)
    empty = analyse([], plan)
    assert all(entry.summary.trials == 0 for cell in empty.cells for entry in cell.entries)


def settled(trials: Sequence[TrialView], plan: Plan, cell: PlannedCell) -> bool:
    """Whether more blocks would help nobody in the cell."""
    names = {entry.name for entry in cell.entries}
    found = standstill(trials, plan, cell.key, block=99, present=names)
    judged = {entry.name for entry in cell.entries if entry.twin_of is None} - set(cell.floors)
    return judged <= set(found.settled) | found.hopeless


def test_settled_when_intervals_are_narrow() -> None:
    quiet, loud = World(noise=0.002, samples=5), World(noise=0.2, samples=5)
    plan = make_plan(quiet)
    cell = plan.cells[1]
    assert settled(make_trials(quiet, plan), plan, cell)
    assert not settled(make_trials(loud, plan), plan, cell)


def test_an_entry_with_a_voided_trial_needs_another_block() -> None:
    """node/http's figures contradict Little's law in one of the six blocks of the first cell."""
    quiet = World(noise=0.002, samples=5)
    plan = make_plan(quiet)
    assert not settled(make_trials(quiet, plan), plan, plan.cells[0])


def test_one_failure_does_not_settle_an_entry_and_a_dead_floor_keeps_nobody() -> None:
    quiet = World(noise=0.002, samples=5)
    plan = make_plan(quiet)
    cell = plan.cells[1]
    trials = make_trials(quiet, plan)

    def failing(entry: str, blocks: range) -> bool:
        return settled(
            [
                replace(one, status="failed", metrics={})
                if (one.entry, one.cell) == (entry, cell.cell.id) and one.block in blocks
                else one
                for one in trials
            ],
            plan,
            cell,
        )

    assert not failing("rust/axum", range(1, 2)), "another block gives it its interval"
    assert failing("rust/axum", range(1, 3)), "it is given up"
    assert failing("cpp/floor", range(1, 7)), "no block gives a ratio to it"


@pytest.mark.parametrize("floors", [(FLOOR,), ()])
def test_without_figures_of_the_floor_pairs_alone_decide(floors: tuple[str, ...]) -> None:
    world = World(noise=0.1, samples=5)
    plan = make_plan(world)
    cell = next(one for one in plan.cells if one.key == "websocket.burst-small")
    trials = [
        replace(one, status="failed", metrics={}) if one.entry == FLOOR else one
        for one in make_trials(world, plan)
    ]
    plan = replace(plan, cells=(replace(cell, floors=floors),))
    analysis = analyse(trials, plan, settings=LOOK).cells[0]
    open_ = {pair.a for pair in analysis.pairs if pair.verdict.kind == "undecided"}
    ranked = {entry.entry for entry in analysis.entries if entry.unranked is None}
    assert open_, "the world has a pair too close for six blocks"
    names = {entry.name for entry in cell.entries}
    found = standstill(trials, plan, cell.key, block=99, present=names)
    assert set(found.settled) == ranked - open_
    assert not open_ & found.hopeless
    alone = standstill(trials, plan, cell.key, block=99, present={FLOOR, min(open_)})
    assert alone.hopeless >= {min(open_)}, "it has no pair"
    early = standstill(trials, plan, cell.key, block=3, present=names)
    assert not open_ & (early.hopeless | set(early.settled)), "the next blocks give it pairs"


def test_the_cell_goes_on_for_its_twin_until_that_has_an_interval_or_fails() -> None:
    quiet = World(noise=0.002, samples=5)
    plan = make_plan(quiet)
    cell = plan.cells[1]
    names = {entry.name for entry in cell.entries}
    trials = make_trials(quiet, plan)
    (second,) = [entry for entry in cell.entries if entry.twin_of is not None]

    def twin_open(entry: str, blocks: range) -> bool:
        failing = [
            replace(one, status="failed", metrics={})
            if (one.entry, one.cell) == (entry, cell.cell.id) and one.block in blocks
            else one
            for one in trials
        ]
        return standstill(failing, plan, cell.key, block=99, present=names).twin_open

    assert not twin_open(second.name, range(0)), "six blocks"
    assert twin_open(second.name, range(1, 2)), "five blocks"
    assert not twin_open(second.name, range(1, 3)), "given up"
    assert not twin_open(second.contestant, range(1, 3)), "given up"
    alone = replace(plan, cells=(replace(cell, entries=cell.entries[:2], twin=None),))
    assert not standstill(trials, alone, cell.key, block=3, present=names).twin_open


def test_an_entry_is_settled_by_its_pairs_or_by_a_narrow_interval() -> None:
    world = World(noise=0.1, samples=5)
    plan = make_plan(world)
    cell = next(one for one in plan.cells if one.key == "websocket.burst-small")
    wide = replace(plan, cells=tuple(replace(one, precision=1e-9) for one in plan.cells))
    names = {entry.name for entry in cell.entries}
    trials = make_trials(world, plan)
    analysis = analyse(trials, replace(plan, cells=(cell,)), settings=LOOK).cells[0]
    open_ = {pair.a for pair in analysis.pairs if pair.verdict.kind == "undecided"} | {
        entry.entry
        for entry in analysis.entries
        if entry.standing.verdict is not None and entry.standing.verdict.kind == "undecided"
    }
    ranked = {entry.entry for entry in analysis.entries if entry.unranked is None}
    assert open_ & ranked, "the world has a pair too close for six blocks"
    found = standstill(trials, wide, cell.key, block=99, present=names)
    assert set(found.settled) & ranked == ranked - open_
    assert set(found.settled.values()) == {"all its pairs were decided"}
    coarse = replace(plan, cells=tuple(replace(one, precision=0.9) for one in plan.cells))
    found = standstill(trials, coarse, cell.key, block=99, present=names)
    assert set(found.settled) >= ranked
    assert {found.settled[name] for name in open_ & ranked} == {"its interval is within 90%"}


def test_a_pair_with_an_entry_that_left_keeps_nobody() -> None:
    world = World(noise=0.1, samples=5)
    plan = make_plan(world)
    plan = replace(plan, cells=tuple(replace(one, precision=1e-9) for one in plan.cells))
    cell = next(one for one in plan.cells if one.key == "websocket.burst-small")
    names = {entry.name for entry in cell.entries}
    trials = make_trials(world, plan)
    analysis = analyse(trials, replace(plan, cells=(cell,)), settings=LOOK).cells[0]
    a, b = next((one.a, one.b) for one in analysis.pairs if one.verdict.kind == "undecided")
    others = {
        one.b
        for one in analysis.pairs
        if one.a == a and one.verdict.kind == "undecided" and one.b != b
    }
    assert a not in standstill(trials, plan, cell.key, block=99, present=names).settled
    present = names - {b} - others
    assert a in standstill(trials, plan, cell.key, block=99, present=present).settled


def test_a_pair_with_an_entry_that_was_given_up_keeps_nobody() -> None:
    world = World(noise=0.1, samples=5, blocks=9)
    plan = make_plan(world)
    plan = replace(plan, cells=tuple(replace(one, precision=1e-9) for one in plan.cells))
    cell = next(one for one in plan.cells if one.key == "websocket.burst-small")
    trials = make_trials(world, plan)

    def undecided(trials: Sequence[TrialView]) -> list[tuple[str, str]]:
        found = analyse(trials, replace(plan, cells=(cell,))).cells[0].pairs
        return [(one.a, one.b) for one in found if one.verdict.kind == "undecided"]

    def failing(entry: str) -> list[TrialView]:
        return [
            replace(one, status="failed", metrics={})
            if (one.entry, one.cell) == (entry, cell.cell.id) and one.block <= 2
            else one
            for one in trials
        ]

    # The other seven blocks give it a rank and keep the pair open.
    a, b = next(pair for pair in undecided(trials) if pair in undecided(failing(pair[1])))
    others = {other for one, other in undecided(failing(b)) if one == a} - {b}
    present = {entry.name for entry in cell.entries} - others
    assert a not in standstill(trials, plan, cell.key, block=99, present=present).settled
    found = standstill(failing(b), plan, cell.key, block=99, present=present)
    assert b in found.hopeless
    assert a in found.settled


def test_what_the_generator_leaves_open_keeps_nobody() -> None:
    """rust/axum and rust/hyper are generator-bound: no number of blocks separates them."""
    quiet = World(noise=0.002, samples=5)
    plan = make_plan(quiet)
    cell = plan.cells[1]
    names = {entry.name for entry in cell.entries}
    found = standstill(make_trials(quiet, plan), plan, cell.key, block=99, present=names)
    assert found.settled["rust/axum"] == found.settled["rust/hyper"]
    assert "the generator leaves open" in found.settled["rust/axum"]


def test_later_blocks_of_an_interrupted_run_do_not_decide_an_earlier_look() -> None:
    quiet = World(noise=0.002, samples=5)
    plan = make_plan(quiet)
    cell = plan.cells[1]
    names = {entry.name for entry in cell.entries}
    trials = make_trials(quiet, plan)
    assert standstill(trials, plan, cell.key, block=6, present=names).settled
    assert not standstill(trials, plan, cell.key, block=5, present=names).settled
    early = [trial for trial in trials if trial.block <= 5]
    assert standstill(early, plan, cell.key, block=6, present=names) == standstill(
        trials, plan, cell.key, block=5, present=names
    )


def test_nothing_is_settled_without_an_interval() -> None:
    quiet = World(noise=0.002, samples=5)
    plan = make_plan(quiet)
    cell = plan.cells[1]
    trials = [
        replace(one, covariates={"steal_ns": one.elapsed_ns}) if one.block == 2 else one
        for one in make_trials(quiet, plan)
    ]
    assert not settled(trials, plan, cell), "five blocks are left, and five give no interval"


def record(ratio: float, *, alarm: bool = False, preset: str = "quick") -> TwinRecord:
    return TwinRecord(
        run="earlier",
        started_unix_ns=1,
        host_id=WORLD.host_id,
        study="rest",
        cell="x",
        contestant="go/x",
        ratio=ratio,
        blocks=6,
        false_alarm=alarm,
        kind="each",
        preset=preset,
        noise={"makespan_ns": TwinNoise(log_ratio=math.log(ratio), standard_error=0.01, degrees=3)},
    )


def bands(found: RunAnalysis, metric: str | None = None) -> dict[str, set[float]]:
    """The bands of each study's cells, by the primary metric or another."""
    return {
        study: {cell.bands[metric or cell.metric].d for cell in found.of_study(study)}
        for study in ("concurrency", "rest", "websocket")
    }


def test_earlier_twins_widen_the_band_of_their_own_kind_and_count_for_the_lifetime_rate() -> None:
    plan = make_plan(WORLD)
    history = [record(1.25, alarm=True)] + [record(1.01)] * 5
    found = analyse(make_trials(WORLD, plan), plan, history)
    wide = bands(found)
    assert len(wide["rest"]) == 1
    assert 0.1 < min(wide["rest"]) <= 0.25
    assert wide["concurrency"] == wide["websocket"] == {0.03}
    assert bands(found, "p99_ns")["rest"] == {0.03}, "each metric has its own"
    assert (found.false_alarms, found.twin_trials) == (1, len(plan.cells) + 6)


def test_twins_of_a_short_preset_do_not_widen_the_band_of_a_longer_one() -> None:
    plan = make_plan(WORLD)
    longer = replace(plan, studies=tuple(replace(one, preset="hour") for one in plan.studies))
    trials = make_trials(WORLD, plan)
    noisy = [record(ratio) for ratio in (1.25, 0.8, 1.2)]
    assert min(bands(analyse(trials, plan, noisy))["rest"]) > 0.1
    assert bands(analyse(trials, longer, noisy))["rest"] == {0.03}
    evening = [replace(one, preset="evening") for one in noisy]
    assert min(bands(analyse(trials, plan, evening))["rest"]) > 0.1
    assert min(bands(analyse(trials, longer, evening))["rest"]) > 0.1


def test_twins_of_an_older_version_count_for_the_lifetime_rate_only() -> None:
    plan = make_plan(WORLD)
    old = [replace(record(1.5, alarm=True), kind="", preset="", noise={})] * 30
    found = analyse(make_trials(WORLD, plan), plan, old)
    assert bands(found)["rest"] == {0.03}
    assert found.false_alarms == 30


def test_the_twin_is_judged_by_a_band_it_did_not_make() -> None:
    plan = make_plan(WORLD)
    trials = [
        replace(
            one,
            metrics={**one.metrics, "makespan_ns": float(one.metrics["makespan_ns"] or 0) * 1.5},
        )
        if one.twin_of is not None and one.study == "rest" and one.cell == "new-c4-n100-t0"
        else one
        for one in make_trials(WORLD, plan)
    ]
    found = analyse(trials, plan)
    assert [twin.false_alarm for twin in found.twins].count(True) == 1
    assert min(bands(found)["rest"]) > 0.4
    assert bands(found)["concurrency"] == {0.03}


def test_history_is_of_this_hosts_earlier_complete_runs_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = 86_400_000_000_000
    first = World(samples=5, studies=("rest",))
    old = write_run(tmp_path, first)
    write_run(tmp_path, replace(first, host_id="ffffffffffff"))
    write_run(tmp_path, replace(first, seed=8), status="interrupted")
    later = write_run(tmp_path, replace(first, seed=9, started_unix_ns=first.started_unix_ns + day))
    run = read_run(later)
    found = load_history(tmp_path, host_id=first.host_id, before_unix_ns=run.info.started_unix_ns)
    assert {one.run for one in found} == {old.name}
    assert {one.cell for one in found} == {cell.cell.id for cell in make_plan(first).cells}
    lines = (tmp_path / TWINS_FILE).read_text().splitlines()
    assert {json.loads(line)["run"] for line in lines} >= {old.name, later.name}

    # Trials take seconds to read, and most of a run's memory.
    monkeypatch.setattr("wirebench.stats.history.read_run", lambda path: pytest.fail(str(path)))
    again = load_history(tmp_path, host_id=first.host_id, before_unix_ns=run.info.started_unix_ns)
    assert again == found

    for name in ("trials.jsonl", "plan.json"):
        (old / name).unlink()
    (old / "run.json").write_text("spoilt")
    again = load_history(tmp_path, host_id=first.host_id, before_unix_ns=run.info.started_unix_ns)
    assert again == found
    assert len((tmp_path / TWINS_FILE).read_text().splitlines()) == len(lines)
