"""The ratio of A over B, from the blocks in which both were measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import BlockMedian

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Interval:
    low: float
    high: float
    note: str | None = None


def median(values: Floats) -> float:
    """The median of values of shape (n,), n >= 1."""
    ordered = np.sort(values)
    return float((ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]) / 2)


@dataclass(frozen=True, kw_only=True)
class _Ends:
    """Where an interval ends: counted from either side, between which two of the ordered values."""

    outer: int
    """From 0."""
    towards_inner: float
    """The weight of the next value."""
    stretch: float
    """By what the interval is farther from the median than its outermost values allow."""


@lru_cache(maxsize=256)
def _ends(n: int, confidence: float) -> _Ends:
    """Hettmansperger & Sheather's weights (Statistics & Probability Letters 1986).

    From the d-th smallest to the d-th largest of n values, the median is covered with a confidence
    that follows from the binomial distribution alone, whatever that of the values. Between two such
    confidences, their weights hold that of an interpolated interval for nearly any distribution.
    Beyond that of the least and greatest value (96.9% for six values), no two of the values give an
    interval; it is then stretched as Student's t with n - 1 degrees of freedom grows.
    """

    def covered(depth: int) -> float:
        return 1 - 2 * float(special.bdtr(depth - 1, n, 0.5))

    if covered(1) < confidence:
        wanted, reached = (
            float(special.stdtrit(n - 1, (1 + one) / 2)) for one in (confidence, covered(1))
        )
        return _Ends(outer=0, towards_inner=0.0, stretch=wanted / reached)
    depth = 1
    while 2 * (depth + 1) <= n and covered(depth + 1) >= confidence:
        depth += 1
    here, inside = covered(depth), covered(depth + 1)
    share = (here - confidence) / (here - inside)
    weight = (n - depth) * share / (depth + (n - 2 * depth) * share)
    return _Ends(outer=depth - 1, towards_inner=weight, stretch=1.0)


def median_interval(values: Floats, *, settings: Settings = DEFAULT) -> Interval:
    """The interval of the median at ``settings.confidence``, from the order statistics.

    ``values`` has shape (n,), n >= 2, any unit; the interval has the same. It needs no resampling:
    the same values in any order give the same interval, and their negatives its mirror image. When
    all values are equal the interval is that point, and the note says so.
    """
    ordered, centre = np.sort(values), median(values)
    if ordered[0] == ordered[-1]:
        return Interval(low=centre, high=centre, note="every block gave the same")
    ends = _ends(len(values), settings.confidence)
    low, high = (
        (1 - ends.towards_inner) * float(side[ends.outer])
        + ends.towards_inner * float(side[ends.outer + 1])
        for side in (ordered, ordered[::-1])
    )
    return Interval(
        low=centre - ends.stretch * (centre - low), high=centre + ends.stretch * (high - centre)
    )


def block_log_ratios(a: Mapping[int, float], b: Mapping[int, float]) -> Floats:
    """ln(A/B) of every block that has both, in the order of the blocks; dimensionless, shape
    (common blocks,).

    A block in which either failed is missing for this pair only. So is a block with a value that is
    not positive, which has no logarithm.
    """
    common = [block for block in sorted(a.keys() & b.keys()) if a[block] > 0 and b[block] > 0]
    return np.array([np.log(a[block] / b[block]) for block in common], dtype=np.float64)


def block_median(values: Floats, *, settings: Settings = DEFAULT) -> BlockMedian | None:
    """The median of one value for each block, with its interval. None without blocks; no interval
    below ``min_blocks``.
    """
    blocks = len(values)
    if blocks == 0:
        return None
    bare = BlockMedian(estimate=median(values), low=None, high=None, blocks=blocks)
    if blocks < settings.min_blocks:
        return bare
    interval = median_interval(values, settings=settings)
    return replace(bare, low=interval.low, high=interval.high)
