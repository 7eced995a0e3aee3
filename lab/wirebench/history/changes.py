"""Where the level of a series of runs changed, and what else changed there.

The points are judged as shares of the floor of their own run where they have one: a slower host
today is then no change. Two steps over the logarithms: PELT as for warm-ups
(``wirebench.stats.warmup.change_points``) proposes, with what is known of the noise of a run, and a
change stands if the runs on both sides of it differ by Student's t, with an allowance for noise
that lasts from one run to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy import special

from wirebench.history.index import Point, Series
from wirebench.stats.ratio import Floats
from wirebench.stats.serial import MOST, correlation_of
from wirebench.stats.settings import DEFAULT
from wirebench.stats.warmup import change_points

LEAST_RUNS = 3
"""Runs on each side of a change: a single run that stands out is none."""
LEAST_NOISE = 0.01
"""What two runs of one truth differ by at least, as a share: layout and page placement are in no
interval of a single run.
"""
PENALTY = 10.0
"""Of a proposed change, as a multiple of ln n."""
FALSE_AT_MOST = 1e-3
"""The two-sided p-value of a change that stands: low, since it was looked for in many places.
Hunter tests what was proposed in this way, too (Fleming et al., ICPE 2023).
"""
MOST_LASTING = MOST
"""Noise with a higher correlation than that is not told from a change at all."""
LONG = 12
"""Runs of one level from which on the correlation of their noise is estimated without bias."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of level between two runs that follow each other."""

    before: Point
    after: Point
    ratio: float
    """The median after over the median before, each up to the next change."""
    versions: tuple[str, ...]
    """What else changed between these two runs: ``library 1.2 -> 1.3``."""


def levels(series: Series) -> list[float]:
    """What is compared: the ratios to the floor where every run has one, else the figures."""
    ratios = [one.ratio for one in series.points if one.ratio is not None]
    return ratios if len(ratios) == len(series.points) else [one.value for one in series.points]


def changes_of(series: Series) -> list[Change]:
    """The changes, oldest first. A series of fewer than twice ``LEAST_RUNS`` runs has none."""
    values = np.asarray(levels(series), dtype=np.float64)
    n = len(values)
    if n < 2 * LEAST_RUNS or np.any(values <= 0):
        return []
    settings = replace(DEFAULT, least_segment=LEAST_RUNS / n, pelt_penalty=PENALTY)
    # About 1, so that shares of the level are differences of logarithms.
    around = 1 + np.log(values / np.median(values))
    found = change_points(around, noise=max(LEAST_NOISE, _noise(series)), settings=settings)
    edges = [0, *_that_stand(around, found), n]
    return [
        Change(
            before=series.points[at - 1],
            after=series.points[at],
            ratio=float(np.median(values[at:end]) / np.median(values[start:at])),
            versions=tuple(_differences(series.points[at - 1], series.points[at])),
        )
        for start, at, end in zip(edges, edges[1:], edges[2:], strict=False)
    ]


def _that_stand(values: Floats, proposed: Sequence[int]) -> list[int]:
    """The changes between whose two segments there is a difference; the least certain one goes
    first, since its segments are one then.
    """
    points = list(proposed)
    while points:
        segments = [values[start:stop] for start, stop in pairwise([0, *points, len(values)])]
        lasting = _lasting(segments)
        chances = [_chance(before, after, lasting) for before, after in pairwise(segments)]
        weakest = int(np.argmax(chances))
        if chances[weakest] < FALSE_AT_MOST:
            break
        del points[weakest]
    return points


def _lasting(segments: Sequence[Floats]) -> float:
    """The correlation of a run's noise with that of the next one, from 0 to ``MOST_LASTING``.

    About the means of few runs it is seen far too small. Segments of at least ``LONG`` runs say by
    how much (``correlation_of``); shorter ones say too little of it to be corrected.
    """
    deviations = [one - np.mean(one) for one in segments]
    seen = _seen(deviations)
    long = [one for one in deviations if len(one) >= LONG]
    if long:
        n = round(float(np.mean([len(one) for one in long])))
        seen = max(seen, correlation_of(_seen(long) * n / (n - 1), n))
    return min(MOST_LASTING, max(0.0, seen))


def _seen(deviations: Sequence[Floats]) -> float:
    squares = sum(float(one @ one) for one in deviations)
    return sum(float(one[1:] @ one[:-1]) for one in deviations) / squares if squares else 0.0


def _chance(before: Floats, after: Floats, lasting: float) -> float:
    """How often two segments of one level would differ as much as these: Student's t, with as many
    runs fewer as noise of that correlation is worth (Bayley & Hammersley, JRSS Supplement 1946).
    """
    worth = (1 - lasting) / (1 + lasting)
    freedom = len(before) + len(after) - 2
    squares = sum(float(np.sum((one - np.mean(one)) ** 2)) for one in (before, after))
    noise = max(LEAST_NOISE, float(np.sqrt(squares / freedom)))
    error = noise * np.sqrt((1 / len(before) + 1 / len(after)) / worth)
    apart = abs(float(np.mean(after) - np.mean(before))) / error
    return 2 * float(special.stdtr(max(1.0, freedom * worth), -apart))


def _noise(series: Series) -> float:
    """The standard error of a run's ratio by its interval, as a share: the median over the runs."""
    errors = [
        float(np.log(one.high / one.low)) / (2 * 1.96)
        for one in series.points
        if one.low is not None and one.high is not None and 0 < one.low <= one.high
    ]
    return float(np.median(errors)) if errors else 0.0


def _differences(before: Point, after: Point) -> Sequence[str]:
    found = []
    if before.version != after.version:
        found.append(f"library {before.version or '?'} -> {after.version or '?'}")
    if before.build != after.build:
        found.append("build")
    if before.disturbed != after.disturbed:
        found.append(
            "other programs ran " + ("beside these runs" if after.disturbed else "until here")
        )
    if before.wirebench != after.wirebench:
        found.append(f"wirebench {before.wirebench} -> {after.wirebench}")
    if before.kernel != after.kernel:
        found.append(f"kernel {before.kernel} -> {after.kernel}")
    return found
