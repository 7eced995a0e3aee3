"""The ratio of A over B, from the blocks in which both were measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import BlockMedian, Ratio

Floats = NDArray[np.float64]
Ranks = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Interval:
    low: float
    high: float
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class Medians:
    """The bootstrap distribution of a median: its distinct values, ascending, and the share of
    resamples with each.
    """

    values: Floats
    shares: Floats

    @property
    def middle(self) -> Floats:
        """The mid-distribution function at each value: P(less) + P(equal) / 2."""
        return np.cumsum(self.shares) - self.shares / 2

    def level(self, value: float) -> float:
        """P(less than value) + P(equal) / 2."""
        return float(
            self.shares[self.values < value].sum() + self.shares[self.values == value].sum() / 2
        )

    def quantile(self, level: float) -> float:
        """By the mid-distribution function, linear between its points (Ma, Genton & Parzen, Ann.
        Inst. Stat. Math. 2011).

        The median of few blocks takes few values; a plain quantile then jumps from one to the next,
        and the coverage of a 95% interval jumps with it, between 0.87 and 0.96 for 6 to 13 blocks.
        This one stays between 0.92 and 0.98.
        """
        return float(np.interp(level, self.middle, self.values))


@lru_cache(maxsize=64)
def _middle_ranks(n: int, resamples: int, seed: int) -> tuple[Ranks, Ranks, Floats]:
    """Which two order statistics of a sample of ``n`` are the middle ones, in what share of the
    resamples.

    A resample's median depends on the drawn ranks alone, so the resampling is done once for each
    ``n``; a bootstrap is then a look-up. For odd ``n`` both ranks are the same.
    """
    drawn = np.sort(np.random.default_rng([seed, n]).integers(0, n, size=(resamples, n)), axis=1)
    pairs, counts = np.unique(drawn[:, [(n - 1) // 2, n // 2]], axis=0, return_counts=True)
    return pairs[:, 0], pairs[:, 1], counts / resamples


def bootstrap_median(values: Floats, *, settings: Settings = DEFAULT) -> Medians:
    """The distribution of the median over ``settings.resamples`` resamples of ``values`` (shape
    (n,), n >= 1).
    """
    ordered = np.sort(values)
    low, high, shares = _middle_ranks(len(values), settings.resamples, settings.seed)
    medians = (ordered[low] + ordered[high]) / 2
    order = np.argsort(medians)
    medians, shares = medians[order], shares[order]
    first = np.flatnonzero(np.diff(medians, prepend=-np.inf))
    if len(first) < len(medians):
        medians, shares = medians[first], np.add.reduceat(shares, first)
    return Medians(values=medians, shares=shares)


def median(values: Floats) -> float:
    """The median of values of shape (n,), n >= 1, computed as the bootstrap's medians are, so that
    equal values compare equal.
    """
    ordered = np.sort(values)
    return float((ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]) / 2)


def bca_interval(values: Floats, *, settings: Settings = DEFAULT) -> Interval:
    """Bias-corrected and accelerated bootstrap interval of the median (Efron, JASA 1987; Efron &
    Tibshirani 1993, ch. 14).

    ``values`` has shape (n,), n >= 2, any unit; the interval has the same. The median's jackknife
    has two or three different values: for even ``n`` it is symmetric and the acceleration is 0;
    where all its values are the same (degenerate) the acceleration is taken as 0 and the note says
    so. When all values are equal the interval is that point. When the bias correction is not finite
    the interval is the plain percentile one, and the note says so.
    """
    medians = bootstrap_median(values, settings=settings)
    estimate = median(values)
    if len(medians.values) == 1:
        return Interval(low=estimate, high=estimate, note="every block gave the same ratio")
    tail = (1 - settings.confidence) / 2
    bias = float(special.ndtri(medians.level(estimate)))
    if not np.isfinite(bias):
        return Interval(
            low=medians.quantile(tail),
            high=medians.quantile(1 - tail),
            note="percentile interval: the bias correction is not finite",
        )
    acceleration = jackknife_acceleration(values)
    levels = []
    for quantile in (special.ndtri(tail), special.ndtri(1 - tail)):
        shifted = bias + quantile
        levels.append(float(special.ndtr(bias + shifted / (1 - (acceleration or 0.0) * shifted))))
    return Interval(
        low=medians.quantile(levels[0]),
        high=medians.quantile(levels[1]),
        note="no acceleration: the jackknife is degenerate" if acceleration is None else None,
    )


def jackknife_acceleration(values: Floats) -> float | None:
    """Efron's acceleration of the median; None when leaving out any one value leaves the same
    median.
    """
    x, n = np.sort(values), len(values)
    half = n // 2
    # The median without one value depends only on whether that one is below, at or above it.
    left_out: tuple[float, ...]
    counts: tuple[int, ...]
    if n % 2:
        left_out = (
            float(x[half] + x[half + 1]) / 2,
            float(x[half - 1] + x[half + 1]) / 2,
            float(x[half - 1] + x[half]) / 2,
        )
        counts = (half, 1, half)
    else:
        left_out, counts = (float(x[half]), float(x[half - 1])), (half, half)
    mean = sum(count * one for count, one in zip(counts, left_out, strict=True)) / n
    influence = [mean - one for one in left_out]
    # Relative to the data's own scale, because differences of rounding only are no influence.
    size = max(float(x[-1] - x[0]), abs(float(x[0])), abs(float(x[-1])))
    if max(map(abs, influence)) <= 1e-12 * size:
        return None
    cubes = sum(count * one**3 for count, one in zip(counts, influence, strict=True))
    squares = sum(count * one**2 for count, one in zip(counts, influence, strict=True))
    return cubes / (6 * squares * math.sqrt(squares))


def block_log_ratios(a: Mapping[int, float], b: Mapping[int, float]) -> Floats:
    """ln(A/B) of every block that has both, in the order of the blocks; dimensionless, shape
    (common blocks,).

    A block in which either failed is missing for this pair only. So is a block with a value that is
    not positive, which has no logarithm.
    """
    common = [block for block in sorted(a.keys() & b.keys()) if a[block] > 0 and b[block] > 0]
    return np.array([np.log(a[block] / b[block]) for block in common], dtype=np.float64)


def ratio_of(log_ratios: Floats, *, settings: Settings = DEFAULT) -> Ratio | None:
    """exp(median) with its BCa interval (Hoefler & Belli, SC 2015). None without blocks; no
    interval below ``min_blocks``.
    """
    blocks = len(log_ratios)
    if blocks == 0:
        return None
    bare = Ratio(estimate=float(np.exp(median(log_ratios))), low=None, high=None, blocks=blocks)
    if blocks < settings.min_blocks:
        return bare
    interval = bca_interval(log_ratios, settings=settings)
    return replace(
        bare, low=float(np.exp(interval.low)), high=float(np.exp(interval.high)), note=interval.note
    )


def block_median(values: Floats, *, settings: Settings = DEFAULT) -> BlockMedian | None:
    """The median of one value for each block, with its BCa interval. None without blocks; no
    interval below ``min_blocks``.
    """
    blocks = len(values)
    if blocks == 0:
        return None
    bare = BlockMedian(estimate=median(values), low=None, high=None, blocks=blocks)
    if blocks < settings.min_blocks:
        return bare
    interval = bca_interval(values, settings=settings)
    return replace(bare, low=interval.low, high=interval.high)
