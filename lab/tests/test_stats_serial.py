"""Noise that lasts from block to block: estimated, and in every interval and p-value."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from table_worlds import Array
from wirebench.stats.sample import Numbers, Sample
from wirebench.stats.serial import MOST, _known, _seen, inflation_across, serial_inflation


def lasting(random: np.random.Generator, series: int, blocks: int, correlation: float) -> Array:
    found = random.normal(0, 0.02, (series, blocks))
    for block in range(1, blocks):
        found[:, block] *= math.sqrt(1 - correlation**2)
        found[:, block] += correlation * found[:, block - 1]
    return found


def inflation_of(speeds: Array) -> float:
    samples = [Sample.of(speeds[a] - speeds[b]) for a, b in combinations(range(len(speeds)), 2)]
    return serial_inflation(samples, series=len(speeds))


@pytest.mark.parametrize("blocks", [6, 13, 40])
@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.8])
def test_what_is_known_of_short_series_is_what_they_show(blocks: int, correlation: float) -> None:
    drawn = lasting(np.random.default_rng([blocks, 3]), 8000, blocks, correlation)
    known = _known(blocks)
    at = np.linspace(0, MOST, len(known.seen))
    assert np.interp(correlation, at, known.seen) == pytest.approx(
        _seen(drawn, np.arange(1, blocks)).mean(), abs=0.015
    )
    said = float(np.var(drawn, axis=1, ddof=1).mean()) / blocks
    assert np.interp(correlation, at, known.inflation) == pytest.approx(
        float(np.var(drawn.mean(axis=1))) / said, rel=0.08
    )


def test_a_table_shows_what_a_pair_of_it_cannot() -> None:
    """100 tables of six blocks; at a correlation of 0.5 a mean varies by 3.2 times as much as the
    blocks say.
    """
    random = np.random.default_rng(9)
    calm, slow = (
        [inflation_of(lasting(random, 12, 6, one)) for _ in range(100)] for one in (0.0, 0.5)
    )
    assert np.mean(np.array(calm) == 1.0) > 0.65
    assert np.mean(calm) < 1.35
    assert 3.0 < np.median(slow) < 6.0
    assert np.mean(np.array(slow) == 1.0) < 0.1


def test_a_noisy_entry_has_no_more_say_than_the_others() -> None:
    random = np.random.default_rng(4)
    speeds = lasting(random, 12, 13, 0.0)
    speeds[0] = 30 * np.sin(np.arange(13) / 2)  # of one entry alone
    assert inflation_of(speeds) < 2


def test_few_blocks_and_equal_figures_say_nothing() -> None:
    assert inflation_of(lasting(np.random.default_rng(1), 4, 5, 0.9)) == 1.0
    assert inflation_of(np.zeros((4, 9))) == 1.0
    long = lasting(np.random.default_rng(1), 6, 60, 0.0)
    assert inflation_of(long) < 1.1


@pytest.mark.parametrize("blocks", [9, 27])
def test_what_is_known_of_neighbours_of_two_repeats_is_what_they_show(blocks: int) -> None:
    """They are in the middle of the series, where the mean takes more of what they share."""
    first = np.arange(3, blocks, 3)
    known = _known(blocks, tuple(map(int, first)))
    assert np.all(np.diff(known.seen) > 0)
    for correlation in (0.0, 0.5, 0.8):
        drawn = lasting(np.random.default_rng([blocks, 5]), 12_000, blocks, correlation)
        at = np.interp(correlation, np.linspace(0, MOST, len(known.seen)), known.seen)
        assert at == pytest.approx(_seen(drawn, first).mean(), abs=0.02)


def test_what_a_repeat_has_of_its_own_is_no_noise_that_lasts() -> None:
    """The medians of 40 tables of three repeats of three blocks."""
    random = np.random.default_rng(6)
    repeats = np.repeat([0, 1, 2], 3)
    own, slow = [], []
    for _ in range(40):
        kept = random.normal(0, 0.03, (8, 3))[:, repeats]
        own.append(across(lasting(random, 8, 9, 0.0) + kept, repeats))
        slow.append(across(lasting(random, 8, 9, 0.8), repeats))
    assert np.median(own) == 1.0
    assert np.median(slow) > 3


def across(speeds: Array, repeats: Numbers) -> float:
    samples = [
        Sample.of(speeds[a] - speeds[b], repeats) for a, b in combinations(range(len(speeds)), 2)
    ]
    assert serial_inflation(samples, series=len(speeds)) == 1.0, "three blocks say nothing"
    return inflation_across(samples, series=len(speeds))


def test_units_and_the_order_of_the_entries_change_nothing() -> None:
    speeds = lasting(np.random.default_rng(7), 6, 9, 0.6)
    found = inflation_of(speeds)
    assert found > 1.5
    assert inflation_of(speeds[::-1] + 5.0) == pytest.approx(found)
    assert inflation_of(-1000 * speeds) == pytest.approx(found)
