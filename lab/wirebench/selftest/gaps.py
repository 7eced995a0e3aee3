"""The smallest difference that is found often enough, and shares with their Monte Carlo error."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wirebench.selftest.tables import BAND

POWERS = (0.80, 0.95)
WIDEST_GAP = 3.0
"""The search ends there: 4 times as fast. Our own choice."""
_CLOSE = 1.08
"""The search ends when its bracket is this narrow (upper over lower gap)."""


@dataclass(frozen=True, kw_only=True)
class Share:
    """A share with its Monte Carlo standard error, from the spread between tables: the pairs of one
    are not independent.
    """

    value: float
    error: float

    @classmethod
    def of(cls, counts: Sequence[tuple[int, int]]) -> Share | None:
        """Of (hits, trials) by table; None without trials."""
        pairs = [one for one in counts if one[1]]
        if not pairs:
            return None
        hits, trials = (np.array(column, dtype=np.float64) for column in zip(*pairs, strict=True))
        value = float(hits.sum() / trials.sum())
        off = hits - value * trials
        n = len(pairs)
        error = math.sqrt(float(off @ off) * n / max(1, n - 1)) / float(trials.sum())
        return cls(value=value, error=error)


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The smallest gap found in ``power`` of the pairs, as a share (0.05: 5%), with its 95% Monte
    Carlo interval. None: wider than the search goes.
    """

    power: float
    gap: float | None
    low: float
    high: float | None


def smallest_gaps(at: Callable[[float], Share]) -> tuple[Gap, ...]:
    """By bisection of the gap's logarithm. ``at`` gives the share found at a gap."""
    seen: dict[float, Share] = {}

    def found(gap: float) -> float:
        if gap not in seen:
            seen[gap] = at(gap)
        return seen[gap].value

    gaps = []
    for wanted in POWERS:
        low, high = BAND, 2 * BAND
        while high < WIDEST_GAP and found(high) < wanted:
            low, high = high, 2 * high
        if found(min(high, WIDEST_GAP)) < wanted:
            gaps.append(Gap(power=wanted, gap=None, low=min(high, WIDEST_GAP), high=None))
            continue
        high = min(high, WIDEST_GAP)
        while high / low > _CLOSE:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if found(middle) >= wanted else (middle, high)
        gaps.append(_gap(seen, wanted))
    return tuple(gaps)


def _gap(seen: Mapping[float, Share], wanted: float) -> Gap:
    """Where the share, and the share more or less its 95% Monte Carlo interval, reaches what is
    wanted: linear in the gap's logarithm between those that were tried.
    """
    gaps = [BAND, *sorted(seen)]
    values = [0.0, *(seen[gap].value for gap in sorted(seen))]
    errors = [0.0, *(seen[gap].error for gap in sorted(seen))]

    def reached(shift: float) -> float | None:
        shares = np.maximum.accumulate(
            [value + shift * 1.96 * error for value, error in zip(values, errors, strict=True)]
        )
        above = np.flatnonzero(shares >= wanted)
        if not len(above):
            return None
        place = int(above[0])
        if place == 0:
            return gaps[0]
        part = (wanted - shares[place - 1]) / (shares[place] - shares[place - 1])
        return float(gaps[place - 1] * (gaps[place] / gaps[place - 1]) ** part)

    gap, low = reached(0), reached(1)
    assert gap is not None
    assert low is not None
    return Gap(power=wanted, gap=gap, low=low, high=reached(-1))
