"""What the warm-up class sees in short windows, and what it must not see in noise."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from test_stats_validity import trial
from wirebench.catalog.loads import ClientLoad, ClosedLoad, EachLoad, Load, OpenLoad, RampLoad
from wirebench.catalog.studies import Cell
from wirebench.stats.entry import warm_up_of
from wirebench.stats.settings import DEFAULT
from wirebench.stats.warmup import (
    change_points,
    class_of_trials,
    has_steady_state,
    noise_of,
    warm_up_class,
)

Array = NDArray[np.float64]
CLOSED = Cell(
    id="c50",
    title="50 connections",
    kind="closed",
    primary="throughput_per_s",
    workload="http.hello",
    load=ClosedLoad(connections=50, warmup_ns=1, window_ns=1),
)


def series(random: np.random.Generator, shape: Array, *, noise: float = 0.016) -> list[float]:
    """A rate of this shape with the noise of quiet hosts: 1.6% between neighbours, correlated, and
    one interval in thirty that lost up to a quarter.
    """
    n = len(shape)
    white = random.normal(0, noise, n + 1)
    lost = np.where(random.random(n) < 1 / 30, random.uniform(0.05, 0.25, n), 0.0)
    return list(shape * (1 + 0.9 * white[1:] + 0.4 * white[:-1] - lost))


def classes(shape: Array, *, count: int = 200, noise: float = 0.016) -> Counter[str]:
    random = np.random.default_rng(len(shape))
    return Counter(
        warm_up_class(series(random, shape, noise=noise), higher_is_better=True, noise=noise)
        for _ in range(count)
    )


def ramp(intervals: int, rise: float) -> Array:
    return 1 + rise * np.linspace(-0.5, 0.5, intervals)


def step(intervals: int, share: float, before: float) -> Array:
    return np.where(np.arange(intervals) < share * intervals, before, 1.0)


@pytest.mark.parametrize("intervals", [13, 20, 40, 65])
def test_a_ramp_of_30_percent_is_seen(intervals: int) -> None:
    found = classes(ramp(intervals, 0.30))
    assert found["flat"] <= 4
    assert found["never steady"] >= 180


@pytest.mark.parametrize("intervals", [20, 40, 65])
def test_a_step_of_10_percent_in_the_middle_warms_up(intervals: int) -> None:
    found = classes(step(intervals, 0.5, 0.9))
    assert found["warms up"] >= 150
    assert found["never steady"] <= 4


@pytest.mark.parametrize("intervals", [13, 20, 40, 65])
def test_a_warm_up_of_the_first_fifth_is_seen_and_leaves_the_rank(intervals: int) -> None:
    found = classes(step(intervals, 0.2, 0.7))
    assert found["warms up"] >= 190
    assert found["never steady"] <= 4


@pytest.mark.parametrize("intervals", [13, 20, 40, 65])
@pytest.mark.parametrize("noise", [0.016, 0.04])
def test_noise_is_flat(intervals: int, noise: float) -> None:
    found = classes(np.ones(intervals), count=400, noise=noise)
    assert found["flat"] >= 380
    assert found["never steady"] <= 4


def test_a_slow_ramp_warms_up_but_settles() -> None:
    """10% over the window is 2.5% in its last quarter, less than what counts as another level."""
    assert classes(ramp(65, 0.10), noise=0.01)["warms up"] >= 190


def test_a_falling_ramp_slows_down_or_never_settles() -> None:
    random = np.random.default_rng(2)
    assert warm_up_class(series(random, ramp(65, -0.10), noise=0.005), higher_is_better=True) == (
        "slows down"
    )
    assert warm_up_class(series(random, ramp(65, -0.30)), higher_is_better=True) == "never steady"


def test_noise_does_not_grow_with_a_step() -> None:
    random = np.random.default_rng(5)
    values = np.array(series(random, step(40, 0.5, 0.5), noise=0.02))
    assert noise_of(values / np.mean(values)) == pytest.approx(0.02, abs=0.012)


def test_one_spike_is_no_change() -> None:
    values = np.array(series(np.random.default_rng(6), np.ones(20), noise=0.01))
    values[18] *= 0.3
    assert change_points(values) == []


def test_trials_share_their_noise() -> None:
    """One trial has neighbours that are equal by chance, so its own noise would make a change of a
    small difference.
    """
    random = np.random.default_rng(8)
    lucky = [1.0] * 8 + [1.06] * 5
    others = [list(1 + random.normal(0, 0.05, 13)) for _ in range(5)]
    assert warm_up_class(lucky, higher_is_better=True) != "flat"
    assert class_of_trials([lucky, *others], higher_is_better=True) == "flat"
    noise = float(np.median([noise_of(np.array(one)) for one in [lucky, *others]]))
    assert warm_up_class(lucky, higher_is_better=True, noise=noise) == "flat"


@pytest.mark.parametrize(
    "load",
    [
        EachLoad(producers=10, messages=10, delay_ms=20, policy="reuse", threads=4),
        RampLoad(rounds=3, add=10, messages=5, pacing="serial"),
        ClientLoad(
            scheme="http",
            policy="reuse",
            payload_bytes=16,
            warmup=1,
            operations=9,
            typical_ns=1,
        ),
    ],
)
def test_a_load_without_a_steady_state_is_not_judged(load: Load) -> None:
    """A library whose SYN was lost once sends nothing for a second and then the rest: that says
    nothing of a warm-up.
    """
    assert not has_steady_state(load)
    stalled = trial(series={"ok": [735, *[0] * 12, 365], "p50_ns": [9, *[None] * 12, 9]})
    assert (
        warm_up_of([stalled] * 6, replace(CLOSED, primary="makespan_ns", load=load), DEFAULT)
        == "not judged"
    )
    closed = warm_up_of([stalled] * 6, CLOSED, DEFAULT)
    assert closed != "not judged"


def test_a_throughput_is_judged_by_the_rate_and_a_time_by_the_median() -> None:
    random = np.random.default_rng(9)
    both = trial(
        series={
            "ok": series(random, np.ones(20)),
            "p50_ns": [*series(random, step(20, 0.6, 2.0)), None],
        }
    )
    assert warm_up_of([both] * 6, CLOSED, DEFAULT) == "flat"
    # The median of a saturated closed loop is connections / rate: it has no say of its own.
    assert warm_up_of([both] * 6, replace(CLOSED, primary="p99_ns"), DEFAULT) == "flat"
    pinned = OpenLoad(
        connections=50,
        rate_per_s=1000.0,
        share=None,
        of=None,
        arrivals="constant",
        warmup_ns=1,
        window_ns=1,
    )
    paced = replace(CLOSED, load=pinned, primary="p99_ns")
    assert warm_up_of([both] * 6, paced, DEFAULT) == "warms up"


def test_a_trial_without_a_series_is_too_short() -> None:
    assert warm_up_of([trial(), trial(series={"ok": [1, 2]})], CLOSED, DEFAULT) == "too short"
