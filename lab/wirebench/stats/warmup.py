"""Whether a trial had settled: change points in its interval series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from wirebench.stats.ratio import Floats
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import WarmUp

MIN_SEGMENT = 2


def change_points(series: Floats, *, settings: Settings = DEFAULT) -> list[int]:
    """Where level or spread of the series changes: indices of the first interval of every segment
    but the first.

    PELT (Killick, Fearnhead & Eckley, JASA 2012) with the cost of a normal segment with its own
    mean and variance, and the penalty 15 ln n of Barrett et al. (OOPSLA 2017). Shape (n,), any
    unit. A series shorter than two segments has no change points. The variance has a floor of (0.1%
    of the series' own level)^2, because equal neighbours (rounded counts) would otherwise cost
    minus infinity.
    """
    n = len(series)
    if n < 2 * MIN_SEGMENT:
        return []
    level = float(np.mean(np.abs(series))) or 1.0
    scaled = series / level
    sums = np.concatenate([[0.0], np.cumsum(scaled)])
    squares = np.concatenate([[0.0], np.cumsum(scaled**2)])
    penalty = settings.pelt_penalty * float(np.log(n))

    def cost(starts: np.ndarray[tuple[int], np.dtype[np.intp]], end: int) -> Floats:
        length = end - starts
        mean = (sums[end] - sums[starts]) / length
        variance = np.maximum((squares[end] - squares[starts]) / length - mean**2, 1e-6)
        return np.asarray(length * (np.log(2 * np.pi * variance) + 1), dtype=np.float64)

    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    last = np.zeros(n + 1, dtype=np.intp)
    candidates = np.array([0], dtype=np.intp)
    for end in range(MIN_SEGMENT, n + 1):
        usable = candidates[candidates <= end - MIN_SEGMENT]
        totals = best[usable] + cost(usable, end)
        chosen = int(np.argmin(totals))
        best[end] = totals[chosen] + penalty
        last[end] = usable[chosen]
        # Pruning keeps a start that may still win; those too close to the end have not been weighed
        # yet.
        kept = usable[totals <= best[end]]
        candidates = np.unique(
            np.concatenate([kept, candidates[candidates > end - MIN_SEGMENT], [end]])
        ).astype(np.intp)
    points = []
    at = int(last[n])
    while at > 0:
        points.append(at)
        at = int(last[at])
    return sorted(points)


@dataclass(frozen=True, kw_only=True)
class Segment:
    start: int
    stop: int
    level: float


def segments(series: Floats, *, settings: Settings = DEFAULT) -> list[Segment]:
    edges = [0, *change_points(series, settings=settings), len(series)]
    return [
        Segment(start=start, stop=stop, level=float(np.mean(series[start:stop])))
        for start, stop in pairwise(edges)
    ]


def warm_up_class(
    series: Sequence[float], *, higher_is_better: bool, settings: Settings = DEFAULT
) -> WarmUp:
    """The class of one series (Barrett et al., OOPSLA 2017, adapted): flat, warms up, slows down,
    never steady.

    Never steady: a change of level in the last quarter. Else the last segment is the steady one;
    flat when every segment has its level (within 3%), warms up when none is better, slows down when
    one is. Fewer intervals than
    ``min_intervals``: too short.
    """
    values = np.asarray(series, dtype=np.float64)
    if len(values) < settings.min_intervals or not np.all(np.isfinite(values)):
        return "too short"
    found = segments(values, settings=settings)
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


_GRAVITY: tuple[WarmUp, ...] = ("too short", "flat", "warms up", "slows down", "never steady")


def combine(classes: Sequence[WarmUp]) -> WarmUp:
    """The class of most of an entry's trials; the worse one in a draw. ``too short`` where nothing
    is known.
    """
    known = [one for one in classes if one != "too short"]
    if not known:
        return "too short"
    counts: Counter[WarmUp] = Counter(known)
    return max(counts, key=lambda one: (counts[one], _GRAVITY.index(one)))


def graver(one: WarmUp, other: WarmUp) -> WarmUp:
    return max(one, other, key=_GRAVITY.index)
