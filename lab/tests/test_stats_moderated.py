"""The p-values of a table: trimmed means with moderated variances, and what they claim in simulated
worlds.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as reference

from table_worlds import D, World, calm, claims, phases, table_p_values, tails
from wirebench.stats.moderated import Trimmed, shared_variance, trimmed
from wirebench.stats.verdict import log_edges


def test_the_trimmed_mean_is_yuens() -> None:
    values = np.array([3.0, 1.0, 2.0, 4.0, 100.0, 5.0, 6.0, 7.0, 8.0, -50.0])
    found = trimmed(values)
    assert found is not None
    assert found.mean == pytest.approx(reference.trim_mean(values, 0.2))
    # Winsorised by two of each side: 2 2 2 3 4 5 6 7 7 7.
    squares = float(np.sum((np.array([2, 2, 2, 3, 4, 5, 6, 7, 7, 7]) - 4.5) ** 2))
    assert found.variance == pytest.approx(squares / (6 * 5))
    assert found.degrees == 5


def test_too_few_values_have_no_trimmed_mean() -> None:
    assert trimmed(np.array([1.0, 2.0, 3.0])) is None
    assert trimmed(np.array([1.0, 2.0, 3.0, 4.0])) is not None


def test_variances_that_differ_by_chance_only_are_one_variance() -> None:
    random = np.random.default_rng(5)
    drawn = 4.0 * random.chisquare(6, 400) / 6
    found = shared_variance([Trimmed(mean=0.0, variance=one, degrees=6) for one in drawn])
    assert found.variance == pytest.approx(4.0, rel=0.1)
    assert found.degrees > 50


def test_a_prior_is_recovered_from_variances_drawn_from_it() -> None:
    """Variances drawn from a scaled inverse chi-squared with 8 degrees about 2, each estimated with
    5 degrees.
    """
    random = np.random.default_rng(6)
    true = 2.0 * 8 / random.chisquare(8, 4000)
    drawn = true * random.chisquare(5, 4000) / 5
    found = shared_variance([Trimmed(mean=0.0, variance=one, degrees=5) for one in drawn])
    assert found.degrees == pytest.approx(8, rel=0.2)
    assert found.variance == pytest.approx(2.0, rel=0.1)


def test_figures_that_are_all_the_same_say_nothing_of_the_others() -> None:
    noisy = [Trimmed(mean=0.0, variance=one, degrees=3) for one in (0.9e-4, 1e-4, 1.1e-4)]
    same = trimmed(np.full(6, 0.7))
    assert same is not None
    rounded = Trimmed(mean=0.7, variance=1e-33, degrees=3)
    assert shared_variance([*noisy, same, rounded]) == shared_variance(noisy)


def test_one_comparison_of_independent_blocks_is_yuens_t_test() -> None:
    logs = math.log(1.5) + 0.1 * np.array([0.0, 1, -1, 0.75, -0.75, 0.5, -0.5, 0.25, -0.25])
    one = trimmed(logs)
    assert one is not None
    expected = 2 * reference.t.sf((one.mean - math.log1p(D)) / math.sqrt(one.variance), 6)
    assert one.degrees == 6
    assert table_p_values([logs], [log_edges(D)], entries=2)[0] == pytest.approx(expected)


def test_p_is_one_inside_the_band_and_without_enough_blocks() -> None:
    inside = math.log(1.02) + 0.001 * np.linspace(-1, 1, 9)
    few = math.log(2) + 0.001 * np.linspace(-1, 1, 5)
    assert table_p_values([inside, few], [log_edges(D)] * 2, entries=3) == [1.0, 1.0]
    assert table_p_values([], [], entries=0) == []


def test_ratios_without_any_spread_decide() -> None:
    """Rounded figures may all be the same."""
    same = np.full(6, math.log(1.2))
    assert table_p_values([same], [log_edges(D)], entries=2) == [0.0]


# --- whole tables in simulated worlds -------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("world", [calm, tails, phases])
@pytest.mark.parametrize(("entries", "blocks"), [(12, 6), (12, 13), (30, 9)])
def test_a_claim_inside_the_band_is_rare(world: World, entries: int, blocks: int) -> None:
    """All pairs are 0 or just the band apart: whatever is claimed is false."""
    random = np.random.default_rng([entries, blocks])
    truth = np.where(np.arange(entries) % 2 == 0, 0.0, math.log1p(D))[:, None]
    tables = 40 if entries == 12 else 8
    wrong = sum(
        any(
            kind in ("faster", "slower")
            for kind in claims(truth + world(random, entries, blocks)).values()
        )
        for _ in range(tables)
    )
    assert wrong <= tables * 0.05 + 2 * math.sqrt(tables * 0.05 * 0.95)


def test_thirty_entries_are_told_apart() -> None:
    """With a bootstrap's p, which has a floor, no pair of 23 entries or more ever was."""
    random = np.random.default_rng(3)
    truth = np.log(1.25) * np.arange(30)[:, None]
    found = claims(truth + calm(random, 30, 6))
    assert all(kind == "slower" for kind in found.values())


@pytest.mark.long
@pytest.mark.parametrize(("gap", "blocks", "share"), [(1.10, 13, 0.95), (1.05, 28, 0.60)])
def test_true_differences_are_found_in_spite_of_spikes(
    gap: float, blocks: int, share: float
) -> None:
    """66 pairs with heavy tails: a true 10% at 13 blocks, a true 5% at 28."""
    random = np.random.default_rng(12)
    truth = np.where(np.arange(12) % 2 == 0, 0.0, math.log(gap))[:, None]
    found: list[bool] = []
    for _ in range(12):
        verdicts = claims(truth + tails(random, 12, blocks))
        apart = {pair: kind for pair, kind in verdicts.items() if (pair[0] + pair[1]) % 2}
        found += [kind in ("faster", "slower") for kind in apart.values()]
        right = {0: "slower", 1: "faster"}
        assert all(kind in ("undecided", right[pair[0] % 2]) for pair, kind in apart.items()), (
            "no sign is ever wrong"
        )
    assert sum(found) / len(found) >= share
