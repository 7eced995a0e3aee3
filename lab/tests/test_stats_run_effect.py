"""What differs between repeats: estimated, in every interval and p-value, and said."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from synthetic_run import make_plan, write_run
from synthetic_trials import make_trials
from synthetic_world import World as Run
from table_worlds import (
    D,
    World,
    calm,
    claims,
    drifting,
    judged,
    phases,
    run_effect,
    tails,
)
from wirebench.stats import RepeatRecord, analyse, load_history
from wirebench.stats.cell import CellData
from wirebench.stats.comparisons import Comparisons
from wirebench.stats.entry import warm_ups_of
from wirebench.stats.history import REPEATS_FILE
from wirebench.stats.ratio import median_interval
from wirebench.stats.run_effect import host_effect, nested
from wirebench.stats.sample import Group, Sample
from wirebench.stats.settings import DEFAULT
from wirebench.stats.spread import satterthwaite, table_spread
from wirebench.stats.two_runs import shifts
from wirebench.stats.types import RunEffect
from wirebench.store.rundir import read_run
from wirebench.trial.record import TrialRecord

THREE = np.repeat([0, 1, 2], 9)


def test_nested_analysis_of_variance_known_answer() -> None:
    """Two repeats of two blocks and one of one; squares by hand. Repeats this small are not
    clipped.
    """
    sample = Sample.of(np.array([1.0, 3.0, 5.0, 9.0, 6.0]), [7, 7, 8, 8, 9])
    found = nested(Group.of([0], [sample]))
    assert found is not None
    # Means 2, 7, 6; overall 4.8.
    assert found.between[0] == pytest.approx((2 * 2.8**2 + 2 * 2.2**2 + 1.2**2) / 2)
    assert found.inside[0] == pytest.approx((1 + 1 + 4 + 4) / 2)
    assert found.repeats == 3
    assert found.per_repeat == pytest.approx((5 - 9 / 5) / 2)
    assert found.share == pytest.approx(9 / 25)


def test_blocks_that_share_no_repeat_are_independent_blocks() -> None:
    logs = calm(np.random.default_rng(1), 1, 8)[0]
    sample = Sample.of(logs, [1, 2, 3, 4, 5, 6, 7, 7])
    assert nested(Group.of([0], [sample])) is None
    assert sample.repeated
    assert not Sample.of(logs).repeated
    host = RunEffect(source="host", variance=0.01, degrees=20, repeats=3)
    table = table_spread([sample], entries=2, host=host)
    assert table.run_effect.source == "blocks"
    (own,) = table.spreads
    assert own is not None
    assert own.run_variance == 0, "what differs between repeats is in the spread of the blocks"


def test_one_repeat_and_no_history_leaves_the_interval_as_it_was() -> None:
    random = np.random.default_rng(2)
    speeds = calm(random, 4, 13)
    _, intervals, table = judged(speeds)
    assert table.run_effect.source == "unknown"
    for (a, b), interval in intervals.items():
        before = median_interval(speeds[a] - speeds[b])
        assert (interval.low, interval.high) == pytest.approx((before.low, before.high))


def test_the_component_is_recovered_and_is_nothing_where_nothing_differs() -> None:
    random = np.random.default_rng(3)
    shown, still = [], []
    for _ in range(30):
        noise = tails(random, 12, 27)
        still.append(judged(noise, THREE)[2].run_effect.variance)
        shown.append(judged(noise + run_effect(random, 12, THREE), THREE)[2].run_effect.variance)
    # Two entries differ by the root of two times what one does.
    assert math.sqrt(np.mean(shown)) == pytest.approx(0.02 * math.sqrt(2), rel=0.1)
    assert abs(np.mean(still)) < 0.005**2


def test_a_build_beside_itself_says_nothing_of_what_repeats_do_to_others() -> None:
    """A twin's two entries differ by no effect. Their squares made that of the others smaller."""
    random = np.random.default_rng(8)
    speeds = calm(random, 3, 27) + run_effect(random, 3, THREE)
    twin = speeds[0] + random.normal(0, 0.02, 27)
    pairs = [Sample.of(speeds[a] - speeds[b], THREE) for a, b in combinations(range(3), 2)]
    itself = Sample.of(speeds[0] - twin, THREE)
    alone = table_spread(pairs, entries=3).spreads
    beside = table_spread([*pairs, itself], entries=3, series=4, same={3}).spreads
    for one, other in zip(alone, beside[:3], strict=True):
        assert one is not None
        assert other is not None
        assert other.run_variance == pytest.approx(one.run_variance, rel=0.05)
    assert beside[3] is not None
    assert beside[3].run_variance == 0


@pytest.mark.long
@pytest.mark.parametrize("world", [calm, tails, phases, drifting])
@pytest.mark.parametrize("per_repeat", [9, 3])
def test_with_a_run_effect_claims_stay_rare_and_intervals_cover(
    world: World, per_repeat: int
) -> None:
    """Twelve entries that are equal or just the band apart, three repeats, an effect of 2%."""
    random = np.random.default_rng([per_repeat, 5])
    repeats = np.repeat([0, 1, 2], per_repeat)
    truth = np.where(np.arange(12) % 2 == 0, 0.0, math.log1p(D))[:, None]
    tables = 50
    claimed, covered = 0, []
    for _ in range(tables):
        speeds = world(random, 12, len(repeats)) + run_effect(random, 12, repeats)
        verdicts, intervals, _ = judged(truth + speeds, repeats)
        claimed += any(kind in ("faster", "slower") for kind in verdicts.values())
        covered += [
            one.low <= truth[a, 0] - truth[b, 0] <= one.high for (a, b), one in intervals.items()
        ]
    assert claimed <= tables * 0.05 + 2 * math.sqrt(tables * 0.05 * 0.95)
    assert 0.90 < np.mean(covered) < 0.985


def test_without_repeats_the_same_effect_makes_false_claims() -> None:
    """What the component is for: 28 blocks of one repeat, each entry 2% off for the whole run."""
    random = np.random.default_rng(6)
    truth = np.where(np.arange(12) % 2 == 0, 0.0, math.log1p(D))[:, None]
    claimed = sum(
        any(
            kind in ("faster", "slower")
            for kind in claims(
                truth + calm(random, 12, 28) + random.normal(0, 0.02, (12, 1))
            ).values()
        )
        for _ in range(10)
    )
    assert claimed >= 5


def test_repeats_cost_little_power_where_nothing_differs_between_them() -> None:
    random = np.random.default_rng(8)
    truth = np.where(np.arange(12) % 2 == 0, 0.0, math.log(1.10))[:, None]
    found: list[bool] = []
    for _ in range(10):
        verdicts = claims(truth + tails(random, 12, 27), THREE)
        found += [kind != "undecided" for pair, kind in verdicts.items() if sum(pair) % 2]
    assert np.mean(found) >= 0.95


def test_the_run_effect_is_that_of_the_entries_with_a_say() -> None:
    """Two of six entries jump by a half from repeat to repeat: their pairs are left out."""
    random = np.random.default_rng(12)
    speeds = calm(random, 6, 27) + run_effect(random, 6, THREE)
    speeds[4:] += np.array([[0.0, 0.5, -0.5], [0.5, -0.5, 0.0]])[:, THREE]
    pairs = list(combinations(range(6), 2))
    samples = [Sample.of(speeds[a] - speeds[b], THREE) for a, b in pairs]
    some = [(str(a), str(b)) if b < 4 else None for a, b in pairs]
    every = table_spread(samples, entries=6).run_effect
    shown = table_spread(samples, entries=6, shown_by=some).run_effect
    four = [one for one, pair in zip(samples, some, strict=True) if pair is not None]
    of_four = table_spread(four, entries=4).run_effect
    assert every.deviation > 0.2
    assert shown.deviation < 0.06
    assert (shown.degrees, shown.repeats) == (of_four.degrees, 3)


def test_entries_that_cannot_keep_up_and_twins_have_no_say_in_the_run_effect() -> None:
    world = Run(studies=("concurrency",), preset="load", samples=5, blocks=9, repeats=3)
    plan = make_plan(world)
    cell = next(one for one in plan.cells if one.cell.id == "rate-10000")
    plan = replace(plan, cells=(cell,))
    slow, twin = "go/net-http", next(one.name for one in cell.entries if one.twin_of)
    trials = [one for one in make_trials(world, plan) if one.cell == "rate-10000"]

    def with_jumps(name: str) -> list[TrialRecord]:
        jumps = {1: 1.0, 2: 4.0, 3: 0.25}
        return [
            replace(
                one,
                metrics={**one.metrics, "cpu_per_request_ns": 10_000 * jumps[one.repeat]},
                validity={**one.validity, "kept_up": name == twin},
            )
            if one.entry == name
            else one
            for one in trials
        ]

    for name in (slow, twin):
        analysed = analyse(with_jumps(name), plan).cells[0]
        assert analysed.run_effects["cpu_per_request_ns"].source == "repeats"
        assert analysed.run_effects["cpu_per_request_ns"].deviation < 0.02


def test_satterthwaite_known_answer() -> None:
    assert satterthwaite((2.0, 4.0), (2.0, 4.0)) == pytest.approx(8.0)
    assert satterthwaite((2.0, 4.0), (0.0, 0.0)) == pytest.approx(4.0)
    assert satterthwaite((0.0, 0.0)) == math.inf


def of_host(variance: float, degrees: float, *, metric: str = "throughput_per_s") -> RepeatRecord:
    return RepeatRecord(
        run=f"earlier {variance}",
        started_unix_ns=1,
        host_id="h",
        study="concurrency",
        cell="c50",
        kind="closed",
        metric=metric,
        variance=variance,
        degrees=degrees,
        repeats=3,
    )


def test_a_hosts_runs_count_by_their_degrees_of_freedom() -> None:
    records = [of_host(0.0004, 30), of_host(-0.0001, 10), of_host(0.9, 50, metric="p99_ns")]
    found = host_effect(records, study="concurrency", kind="closed", metric="throughput_per_s")
    assert found is not None
    assert found.variance == pytest.approx((30 * 0.0004 - 10 * 0.0001) / 40)
    assert (found.degrees, found.repeats) == (40, 2)
    assert host_effect(records, study="rest", kind="closed", metric="p99_ns") is None


def test_one_repeat_has_what_the_host_has_shown_and_says_so() -> None:
    world = Run(studies=("concurrency",), samples=5, blocks=9)
    plan = make_plan(world)
    trials = make_trials(world, plan)
    alone = analyse(trials, plan).cells[0]
    assert str(alone.run_effect).startswith("one repeat: what differs between runs")
    informed = analyse(trials, plan, [of_host(0.02**2, 30)]).cells[0]
    assert "1 earlier run on this host (2.0% of a ratio)" in str(informed.run_effect)
    assert informed.run_effects["p99_ns"].source == "unknown", "each metric has its own"
    for cell, width in ((alone, 0.02), (informed, 0.05)):
        entry = cell.entry("c/libevent")
        assert entry is not None
        ratio = entry.standing.ratio
        assert ratio is not None
        assert ratio.low is not None
        assert ratio.high is not None
        assert (math.log(ratio.high / ratio.low) > 2 * 0.02 * 1.9) == (width > 0.04)


def test_blocks_that_are_repeats_of_their_own_hold_what_differs_and_say_so() -> None:
    world = Run(studies=("concurrency",), samples=5, blocks=6, repeats=6, run_noise=0.03)
    plan = make_plan(world)
    trials = make_trials(world, plan)
    cell = analyse(trials, plan, [of_host(0.02**2, 30)]).cells[0]
    assert str(cell.run_effect).startswith("about one repeat for each block: ")
    assert "--repeats" not in str(cell.run_effect)
    data = CellData.of(plan.cells[0], [one for one in trials if one.cell == cell.cell], DEFAULT)
    warm_ups = warm_ups_of(data, DEFAULT)
    changes, effect = shifts(data, data, ["rust/axum"], warm_ups=(warm_ups, warm_ups))
    assert effect.source == "blocks"
    assert changes["rust/axum"].spreads is not None


def test_three_repeats_are_in_the_intervals_of_a_run() -> None:
    still = Run(studies=("concurrency",), samples=5, blocks=27, repeats=3)
    moved = replace(still, run_noise=0.03)
    plan = make_plan(still)
    narrow, wide = (analyse(make_trials(world, plan), plan).cells[0] for world in (still, moved))
    assert wide.run_effect.repeats == 3
    assert wide.run_effect.deviation == pytest.approx(0.03 * math.sqrt(2), rel=0.5)
    assert str(wide.run_effect).startswith("3 repeats: ")
    for one, other in zip(narrow.pairs, wide.pairs, strict=True):
        assert one.ratio is not None
        assert other.ratio is not None
        if "~" not in one.a + one.b and one.ratio.low and other.ratio.low:
            assert other.ratio.estimate / other.ratio.low > one.ratio.estimate / one.ratio.low


@pytest.mark.parametrize("repeats", [3, 1])
def test_no_repeat_makes_a_twin_differ_from_itself(repeats: int) -> None:
    world = Run(studies=("rest",), samples=5, blocks=9, repeats=repeats, run_noise=0.03)
    plan = make_plan(world)
    (planned, *_) = plan.cells
    own = [one for one in make_trials(world, plan) if one.cell == planned.cell.id]
    data = CellData.of(planned, own, DEFAULT)
    host = RunEffect(source="host", variance=0.01, degrees=20, repeats=3)
    compared = Comparisons(data, planned.cell.primary, host=host)
    assert data.twin_pair is not None
    second, first = data.twin_pair
    twin, other = compared.spread(second, first), compared.spread(first, "cpp/floor")
    assert twin is not None
    assert other is not None
    assert other.run_variance > 0
    assert twin.run_variance == 0
    values = compared.sample(second, first).values
    assert np.corrcoef(twin.within, values)[0, 1] == pytest.approx(1), "nothing is taken out"


def test_a_host_keeps_what_its_repeats_showed(tmp_path: Path) -> None:
    day = 86_400_000_000_000
    first = Run(studies=("concurrency",), samples=5, blocks=9, repeats=3, run_noise=0.03)
    old = write_run(tmp_path, first)
    write_run(tmp_path, replace(first, repeats=1, started_unix_ns=first.started_unix_ns + day))
    after = first.started_unix_ns + 2 * day
    found = load_history(tmp_path, host_id=first.host_id, before_unix_ns=after)
    repeats = [one for one in found if isinstance(one, RepeatRecord)]
    assert {one.run for one in repeats} == {old.name}
    assert {one.repeats for one in repeats} == {3}
    effect = host_effect(repeats, study="concurrency", kind="closed", metric="throughput_per_s")
    assert effect is not None
    assert effect.deviation == pytest.approx(0.03 * math.sqrt(2), rel=0.6)
    lines = (tmp_path / REPEATS_FILE).read_text().splitlines()
    assert {json.loads(line)["run"] for line in lines} == {old.name}
    assert load_history(tmp_path, host_id=first.host_id, before_unix_ns=after) == found
    assert (tmp_path / REPEATS_FILE).read_text().splitlines() == lines


def test_a_run_recorded_by_an_older_version_is_recorded_again(tmp_path: Path) -> None:
    world = Run(studies=("rest",), samples=5)
    run = read_run(write_run(tmp_path, world))
    old = {
        "run": run.info.name,
        "started_unix_ns": run.info.started_unix_ns,
        "host_id": world.host_id,
        "study": "rest",
        "cell": "new-c4-n100-t0",
        "contestant": "go/net-http",
        "ratio": 1.01,
        "blocks": 6,
        "false_alarm": True,
    }
    gone = old | {"run": "a run that is no longer there"}
    (tmp_path / "twins.jsonl").write_text(json.dumps(old) + "\n" + json.dumps(gone) + "\n")
    found = load_history(
        tmp_path, host_id=world.host_id, before_unix_ns=run.info.started_unix_ns + 1
    )
    cells = [(one.run, one.cell) for one in found]
    assert len(cells) == len(set(cells)) == len(make_plan(world).cells) + 1
    assert DEFAULT.presets[0] == "quick"
    for one in found:
        assert not isinstance(one, RepeatRecord)
        assert bool(one.noise) == (one.run == run.info.name)
        assert one.preset == ("quick" if one.noise else "")


def test_hosts_of_a_fleet_are_repeats() -> None:
    world = Run(studies=("concurrency",), samples=5, blocks=12, repeats=3, run_noise=0.05)
    plan = make_plan(world)
    repeated = make_trials(world, plan)
    hosts = [replace(one, host="abc"[one.repeat - 1], repeat=1) for one in repeated]
    mixed = [replace(one, host="", repeat=1) for one in repeated]
    by_repeat, by_host, neither = (
        analyse(trials, plan).cells[0] for trials in (repeated, hosts, mixed)
    )
    assert by_host.pairs == by_repeat.pairs
    assert by_host.run_effect == by_repeat.run_effect
    assert by_host.run_effect.repeats == 3
    assert neither.run_effect.source == "unknown"
