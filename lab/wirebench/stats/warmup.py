"""Whether a trial had settled: change points and trends in its interval series.

The changes are those of the level, in units of the series' own noise. Two choices differ from the
usual cost of a segment with its own mean and variance: with the few intervals of a short window
that cost saturates (of 13 intervals no step below 8.5 standard deviations reaches the penalty),
and a ramp is one long change that no split of the series describes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from wirebench.catalog.loads import BroadcastLoad, ClosedLoad, Load, OpenLoad
from wirebench.stats.ratio import Floats
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import WarmUp

_NORMAL_MAD = 1.4826
"""A normal distribution's standard deviation over its median absolute deviation."""
_LEAST_NOISE = 1e-3
"""Equal neighbours (rounded counts) are no evidence that a series has no noise."""
_NEIGHBOURS = 5
"""Intervals whose median is the level that a spike is measured from."""


def has_steady_state(load: Load) -> bool:
    """Whether the load holds still for long enough to speak of a steady state.

    A fixed number of messages for each producer or client library ends with the last straggler, and
    a ramp changes its load from round to round, a storm has one request each, and idle connections
    none: they have none.
    """
    return isinstance(load, ClosedLoad | OpenLoad | BroadcastLoad)


def noise_of(series: Floats) -> float:
    """The standard deviation of one interval as a share of the series' level, from the differences
    of neighbours, which a change of level moves in one place only (von Neumann et al., Annals of
    Mathematical Statistics 1941; the median absolute difference instead of the mean square).

    0 for fewer than two intervals or a level of 0.
    """
    level = float(np.mean(np.abs(series))) if len(series) > 1 else 0.0
    if level == 0:
        return 0.0
    return _NORMAL_MAD / math.sqrt(2) * float(np.median(np.abs(np.diff(series)))) / level


def _scaled(series: Floats, noise: float, settings: Settings) -> Floats:
    """The series in units of its noise, with spikes cut: an interval is at most
    ``settings.spike`` from the median of its neighbourhood. A squared loss would otherwise call one
    spike a change (Fearnhead & Rigaill, JASA 2019, who bound the loss).
    """
    level = float(np.mean(np.abs(series))) or 1.0
    values = series / level / max(noise, noise_of(series), _LEAST_NOISE)
    padded = np.pad(values, _NEIGHBOURS // 2, mode="reflect")
    around = np.median(np.lib.stride_tricks.sliding_window_view(padded, _NEIGHBOURS), axis=1)
    return np.asarray(around + np.clip(values - around, -settings.spike, settings.spike))


@dataclass(frozen=True, kw_only=True)
class _Fit:
    points: list[int]
    cost: float


def change_points(series: Floats, *, noise: float = 0.0, settings: Settings = DEFAULT) -> list[int]:
    """Where the level of the series changes: indices of the first interval of every segment but the
    first.

    PELT (Killick, Fearnhead & Eckley, JASA 2012) with the cost of a normal segment with its own
    mean and the series' noise, and the penalty 15 ln n of Barrett et al. (OOPSLA 2017). Shape (n,),
    any unit. ``noise``: what is known of it from elsewhere, as a share of the level; the larger of
    that and of ``noise_of`` counts. A segment holds at least ``settings.least_segment`` of the
    series. A series shorter than two segments has no change points.
    """
    return _steps(_scaled(series, noise, settings), settings).points if len(series) else []


def _steps(values: Floats, settings: Settings) -> _Fit:
    n = len(values)
    shortest = max(2, round(settings.least_segment * n))
    whole = float(np.sum((values - np.mean(values)) ** 2))
    penalty = settings.pelt_penalty * math.log(n)
    # Segments cost at least 0, so a change saves at most what all of it costs as one segment. That
    # is less than the penalty of a change in most series of a settled server.
    if n < 2 * shortest or whole <= penalty:
        return _Fit(points=[], cost=whole)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    squares = np.concatenate([[0.0], np.cumsum(values**2)])

    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    last = np.zeros(n + 1, dtype=np.intp)
    candidates = np.array([0], dtype=np.intp)  # ascending
    for end in range(shortest, n + 1):
        split = int(candidates.searchsorted(end - shortest, side="right"))
        usable = candidates[:split]
        inside = squares[end] - squares[usable] - (sums[end] - sums[usable]) ** 2 / (end - usable)
        totals = best[usable] + inside
        chosen = int(totals.argmin())
        best[end] = totals[chosen] + penalty
        last[end] = usable[chosen]
        # Pruning keeps a start that may still win; those too close to the end have not been weighed
        # yet.
        kept = usable[totals <= best[end]]
        candidates = np.concatenate([kept, candidates[split:], [end]])
    points = []
    at = int(last[n])
    while at > 0:
        points.append(at)
        at = int(last[at])
    return _Fit(points=sorted(points), cost=float(best[n]))


def _ramp(values: Floats, settings: Settings) -> tuple[float, float]:
    """The least-squares line: its rise over the whole series as a share of the mean, and its cost
    with the penalty of one change, since it has one parameter more than a level.
    """
    n = len(values)
    mean = float(np.mean(values))
    at = np.arange(n) - (n - 1) / 2
    slope = float(at @ values / (at @ at))
    left = float(np.sum((values - mean - slope * at) ** 2))
    return slope * n / mean if mean else 0.0, left + settings.pelt_penalty * math.log(n)


@dataclass(frozen=True, kw_only=True)
class Segment:
    start: int
    stop: int
    level: float


def _segments(values: Floats, points: Sequence[int]) -> list[Segment]:
    return [
        Segment(start=start, stop=stop, level=float(np.mean(values[start:stop])))
        for start, stop in pairwise([0, *points, len(values)])
    ]


def warm_up_class(
    series: Sequence[float],
    *,
    higher_is_better: bool,
    noise: float = 0.0,
    settings: Settings = DEFAULT,
) -> WarmUp:
    """The class of one series (Barrett et al., OOPSLA 2017, adapted): flat, warms up, slows down,
    never steady.

    Steps and a straight line compete for the series at the same penalty (``change_points``). Never
    steady: a change of level in the last quarter, or a line that moves on by more than
    ``same_level`` within it. Else the last segment is the steady one; flat when every segment has
    its level (within ``same_level``), warms up when none is better, slows down when one is. Fewer
    intervals than ``min_intervals``: too short. ``noise``: see ``change_points``.
    """
    values = np.asarray(series, dtype=np.float64)
    if len(values) < settings.min_intervals or not np.all(np.isfinite(values)):
        return "too short"
    values = _scaled(values, noise, settings)
    steps = _steps(values, settings)
    rise, cost_of_line = _ramp(values, settings)
    if cost_of_line < steps.cost:
        if abs(rise) * settings.steady_share > settings.same_level:
            return "never steady"
        if abs(rise) <= settings.same_level:
            return "flat"
        return "warms up" if (rise > 0) == higher_is_better else "slows down"
    found = _segments(values, steps.points)
    steady = found[-1]

    def differs(one: Segment, other: Segment) -> bool:
        return abs(one.level - other.level) > settings.same_level * max(
            abs(one.level), abs(other.level)
        )

    tail = len(values) * (1 - settings.steady_share)
    if any(
        segment.start > tail and differs(before, segment) for before, segment in pairwise(found)
    ):
        return "never steady"
    others = [segment for segment in found[:-1] if differs(segment, steady)]
    if not others:
        return "flat"
    better = any((segment.level > steady.level) == higher_is_better for segment in others)
    return "slows down" if better else "warms up"


def class_of_trials(
    series: Sequence[Sequence[float]], *, higher_is_better: bool, settings: Settings = DEFAULT
) -> WarmUp:
    """The class of most trials of an entry (``combine``), one series each.

    A dozen intervals say little of their own noise, and half of the trials would underrate it. So
    each trial has at least the median noise of all.
    """
    noises = [noise_of(np.asarray(one, dtype=np.float64)) for one in series if len(one) > 1]
    noise = float(np.median(noises)) if noises else 0.0
    return combine(
        [
            warm_up_class(one, higher_is_better=higher_is_better, noise=noise, settings=settings)
            for one in series
        ]
    )


_GRAVITY: tuple[WarmUp, ...] = (
    "not judged",
    "too short",
    "flat",
    "warms up",
    "slows down",
    "never steady",
)


def combine(classes: Sequence[WarmUp]) -> WarmUp:
    """The class of most of an entry's trials; the worse one in a draw. ``too short`` where nothing
    is known.
    """
    known = [one for one in classes if one != "too short"]
    if not known:
        return "too short"
    counts: Counter[WarmUp] = Counter(known)
    return max(counts, key=lambda one: (counts[one], _GRAVITY.index(one)))
