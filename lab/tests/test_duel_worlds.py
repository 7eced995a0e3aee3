"""Whole duels and gates in simulated worlds: how often all their looks together are wrong, and what
they find. The loop that measures, its clock and its looks are those of real ones.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from developer.gate_power import (
    CLOSE,
    HEADS,
    Gates,
    NoNoiseError,
    block_ns_of,
    noise_of,
    row_of,
    smallest_found,
)
from developer.simulated_duels import World
from duel_world import LOAD, SIDES
from test_gate_runs import stored_duel
from wirebench.duel.plan import plan_of
from wirebench.duel.verdicts import LEVEL, Judged
from wirebench.gate.thresholds import threshold
from wirebench.selftest.worlds import STANDARD, WORLDS
from wirebench.store.rundir import read_run
from wirebench.trial.types import TrialSpec

pytestmark = pytest.mark.long

TRIAL_NS = 10**9
BLOCKS = 30
METRICS = ("throughput_per_s", "cpu_per_request_ns")


def duel_in(world: str, *, worse: float, seed: int, band: float = 0.01) -> Judged:
    """B is worse than A by this share, in throughput and CPU."""
    random = np.random.default_rng([seed, len(world)])
    plan = plan_of(SIDES, LOAD, floor=None, seed=seed, budget_ns=3 * BLOCKS * TRIAL_NS, blocks=None)
    entries = plan.cells[0].entries
    logs = {}
    for metric, sign in zip(METRICS, (-1, 1), strict=True):
        drawn = WORLDS[world](
            random, STANDARD, ["AB".index(one.contestant) for one in entries], [1] * (BLOCKS + 1)
        )
        for entry, own in zip(entries, drawn, strict=True):
            of_b = sign * math.log1p(worse) if entry.contestant == "B" else 0.0
            logs[metric, entry.name] = list(own + of_b)

    def measured(spec: TrialSpec) -> dict[str, float]:
        return {
            metric: 1e5 * math.exp(logs[metric, spec.entry][spec.block - 1]) for metric in METRICS
        }

    made = World(metrics=measured, trial_ns=lambda _: TRIAL_NS)
    return made.measure(plan, SIDES, LOAD, band=band).result()


def kinds(found: Judged) -> list[str]:
    return [line.verdict.kind for line in found.lines]


@pytest.mark.parametrize("world", ["calm", "tails", "two speeds", "correlated"])
def test_equal_sides_are_called_different_in_one_duel_of_twenty_at_most(world: str) -> None:
    """By any of its looks and metrics; and two Monte Carlo standard errors of that."""
    count = 120
    wrong = sum(
        not {"faster", "slower"}.isdisjoint(kinds(duel_in(world, worse=0.0, seed=seed)))
        for seed in range(count)
    )
    assert wrong <= count * LEVEL + 2 * math.sqrt(count * LEVEL * (1 - LEVEL))


def test_five_percent_are_found_and_never_with_the_wrong_sign() -> None:
    found = [duel_in("calm", worse=0.05, seed=seed) for seed in range(40)]
    assert sum("slower" in kinds(one) for one in found) >= 36
    assert not any("faster" in kinds(one) for one in found)


def test_a_difference_just_beyond_the_band_is_rarely_called_none() -> None:
    """Though an early look's interval reaches no farther than its few blocks."""
    count = 120
    wrong = sum(
        "equivalent" in kinds(duel_in("calm", worse=0.0405, seed=seed, band=0.04))
        for seed in range(count)
    )
    assert wrong <= len(METRICS) * (count * LEVEL + 2 * math.sqrt(count * LEVEL * (1 - LEVEL)))


def gates(limit: str, *, blocks: int = 20, count: int = 60) -> Gates:
    return Gates(
        wanted=threshold("cpu_per_request", limit),
        source=STANDARD,
        block_ns=3 * TRIAL_NS,
        budget_ns=3 * TRIAL_NS * blocks,
        count=count,
        seed=1,
    )


def test_a_change_of_what_is_allowed_is_called_either_in_few_gates() -> None:
    """The hardest case for both claims."""
    wanted = gates("+3%", count=120)
    most = 120 * LEVEL + 2 * math.sqrt(120 * LEVEL * (1 - LEVEL))
    found = wanted.at(0.03)
    assert found["regressed"] <= most
    assert found["holds"] <= most
    assert wanted.at(0.0)["regressed"] == 0
    assert wanted.at(0.10) == Counter({"regressed": 120})


def share_found(one: Gates, worse: float) -> float:
    return one.at(worse)["regressed"] / one.count


def test_the_smallest_regression_is_where_the_share_is_reached() -> None:
    found = smallest_found(lambda worse: float(worse >= 0.08), 0.03)
    assert found is not None
    assert 0.08 <= found <= 0.08 * CLOSE
    assert smallest_found(lambda _worse: 0.5, 0.03) is None
    longer, shorter = (
        smallest_found(partial(share_found, one), 0.03)
        for one in (gates("+3%", blocks=60), gates("+3%", blocks=10))
    )
    assert longer is not None
    assert shorter is not None
    assert 0.03 < longer < shorter


def test_the_noise_and_the_pace_are_those_of_stored_gates(tmp_path: Path) -> None:
    stored = read_run(stored_duel(tmp_path, "./a", "./b", factor=1.2))
    assert noise_of([stored], "throughput_per_s").sd == pytest.approx(0.01, rel=0.4)
    assert noise_of([stored], "p99_ns").sd == pytest.approx(0.1, rel=0.4)
    with pytest.raises(NoNoiseError, match="ready_ns: expected six blocks"):
        noise_of([stored], "ready_ns")
    paced = tuple(replace(one, started_unix_ns=one.block * 5 * 10**9) for one in stored.trials)
    assert block_ns_of([replace(stored, trials=paced)]) == 5 * 10**9
    with pytest.raises(NoNoiseError, match="two blocks"):
        block_ns_of([replace(stored, trials=())])


def test_a_row_has_what_its_table_says() -> None:
    row = row_of(gates("+5%", count=10))
    assert len(row) == len(HEADS)
    assert row[:4] == ("cpu_per_request ≤ +5%", "1 min 00 s", "20", "0.0%")
    assert row[-1].endswith("%")
