"""Ratios and their intervals, against known answers and by simulation with fixed seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wirebench.stats.ratio import (
    bca_interval,
    block_log_ratios,
    bootstrap_median,
    jackknife_acceleration,
    median,
    ratio_of,
)


def test_log_ratios_of_blocks_that_have_both() -> None:
    logs = block_log_ratios({1: 2.0, 2: 4.0, 4: 3.0, 5: 0.0}, {1: 1.0, 3: 9.0, 4: 1.5, 5: 1.0})
    assert logs.tolist() == pytest.approx([math.log(2), math.log(2)])


def test_estimate_is_exp_of_the_median_log_ratio() -> None:
    ratio = ratio_of(np.log([1.0, 2.0, 8.0]))
    assert ratio is not None
    assert ratio.estimate == pytest.approx(2.0)


def test_no_blocks_no_ratio_and_few_blocks_no_interval() -> None:
    assert ratio_of(np.array([])) is None
    five = ratio_of(np.log([1.0, 1.1, 1.2, 1.3, 1.4]))
    assert five is not None
    assert (five.low, five.high, five.blocks) == (None, None, 5)
    assert str(five) == "1.20x"


def test_swapping_a_and_b_mirrors_the_interval() -> None:
    logs = np.random.default_rng(3).normal(0.1, 0.05, 8)
    one, other = ratio_of(logs), ratio_of(-logs)
    assert one is not None and other is not None  # noqa: PT018
    assert one.low is not None and other.high is not None  # noqa: PT018
    assert one.estimate * other.estimate == pytest.approx(1.0)
    assert one.low * other.high == pytest.approx(1.0, rel=0.01)


def test_same_trials_give_the_same_interval() -> None:
    logs = np.random.default_rng(5).normal(0, 0.1, 9)
    assert bca_interval(logs) == bca_interval(logs.copy())


def test_equal_blocks_give_a_point_and_say_so() -> None:
    interval = bca_interval(np.full(6, 0.25))
    assert (interval.low, interval.high) == (0.25, 0.25)
    assert interval.note is not None


def test_degenerate_jackknife_is_said() -> None:
    values = np.array([-1.0, 0.5, 0.5, 0.5, 0.5, 3.0])
    assert jackknife_acceleration(values) is None
    interval = bca_interval(values)
    assert interval.note is not None
    assert "jackknife" in interval.note
    assert interval.low <= 0.5 <= interval.high


def test_acceleration_of_an_even_sample_is_zero_and_of_a_skewed_odd_one_is_not() -> None:
    assert jackknife_acceleration(np.array([1.0, 2.0, 4.0, 9.0])) == pytest.approx(0.0, abs=1e-12)
    assert jackknife_acceleration(np.array([1.0, 2.0, 2.1, 9.0, 30.0])) != pytest.approx(
        0.0, abs=1e-3
    )


def test_bootstrap_agrees_with_resampling_by_hand() -> None:
    values = np.random.default_rng(8).normal(0, 1, 7)
    medians = bootstrap_median(values)
    drawn = np.random.default_rng(99).integers(0, 7, size=(40_000, 7))
    by_hand = np.median(values[drawn], axis=1)
    for value, share in zip(medians.values, medians.shares, strict=True):
        assert share == pytest.approx(float(np.mean(by_hand == value)), abs=0.015)
    assert medians.shares.sum() == pytest.approx(1.0)
    assert medians.level(median(values)) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("blocks", [6, 7, 8, 9, 13, 19, 28])
@pytest.mark.parametrize("shape", ["normal", "heavy", "skewed"])
def test_interval_covers_the_truth_about_95_times_in_100(blocks: int, shape: str) -> None:
    """1,200 made-up comparisons each; the standard error of the coverage is 0.6%. Fewest blocks
    cover least.
    """
    random = np.random.default_rng([2024, blocks])
    draws = {
        "normal": random.normal(0, 1, (1200, blocks)),
        "heavy": random.standard_t(3, (1200, blocks)),
        "skewed": random.exponential(1, (1200, blocks)) - math.log(2),
    }[shape]
    hits = 0
    for logs in draws:
        interval = bca_interval(logs * 0.05)
        hits += interval.low <= 0 <= interval.high
    assert 0.90 < hits / 1200 < 0.985
