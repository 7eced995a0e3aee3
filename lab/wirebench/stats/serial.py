"""Noise that lasts from one block to the next, which makes a mean or median less certain than as
many independent blocks would.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from wirebench.stats.ratio import Floats
from wirebench.stats.sample import Numbers as Places
from wirebench.stats.sample import Sample, groups
from wirebench.stats.settings import DEFAULT, Settings

MOST = 0.9
"""A higher correlation is not told from a change of level by the blocks of a run."""
_STEPS = 19
_NODES, _WEIGHTS = special.roots_legendre(60)
_LONG = 30
"""From so many blocks on, the expectation's expansion in 1 / n is as good as the expectation."""
_LEAST_SQUARES = 1e-24
"""Deviations of logarithms whose squares sum up to this are rounding errors of equal figures."""


@dataclass(frozen=True, eq=False)
class _Known:
    """Of first-order autoregressive series, by their correlation from 0 to ``MOST``."""

    seen: Floats
    """The expectation of what ``_seen`` computes. It is far below the correlation itself, because
    the mean is that of the same few values.
    """
    inflation: Floats
    """The variance of the mean over what the sample variance says that it is."""


@lru_cache(maxsize=1024)
def _known(n: int, neighbours: tuple[int, ...] | None = None) -> _Known:
    correlations = np.linspace(0, MOST, _STEPS)
    apart = np.arange(1, n)
    of_mean = (1 + 2 * ((1 - apart / n) * correlations[:, None] ** apart).sum(axis=1)) / n
    places = apart if neighbours is None else np.array(neighbours)
    return _Known(
        seen=np.array([_expected_seen(n, places, float(one)) for one in correlations])
        if n < _LONG
        else correlations - (1 + 4 * correlations) / n,
        # The sample variance lacks what the mean varies by.
        inflation=of_mean * (n - 1) / (1 - of_mean),
    )


def _expected_seen(n: int, places: Places, correlation: float) -> float:
    """What ``_seen`` computes is a ratio of quadratic forms in normal variables, whose expectation
    is an integral over the line (Magnus, Annales d'Economie et de Statistique 1986).
    """
    covariance = np.power(correlation, np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
    centring = np.eye(n) - 1 / n
    sizes, vectors = np.linalg.eigh(centring @ covariance @ centring)
    sizes = np.maximum(sizes, 0)
    products = np.mean(vectors[places] * vectors[places - 1], axis=0) * sizes
    at = (1 + _NODES) / (1 - _NODES) / n  # 0 to infinity
    weights = 2 * _WEIGHTS / (1 - _NODES) ** 2 / n
    growth = 1 + 2 * np.outer(at, sizes)
    inside = (products / growth).sum(axis=1) * np.exp(-np.log(growth).sum(axis=1) / 2)
    return float(weights @ inside) * n


def _seen(values: Floats, places: Places) -> Floats:
    """The lag-1 autocorrelation of each row about its own mean, of the rows that vary. ``places``:
    of the values that count with the one before.
    """
    off = values - values.mean(axis=1, keepdims=True)
    squares = np.sum(off**2, axis=1)
    off, squares = off[squares > _LEAST_SQUARES], squares[squares > _LEAST_SQUARES]
    products = np.mean(off[:, places] * off[:, places - 1], axis=1)
    correlations: Floats = products / squares * values.shape[1]
    return correlations


def correlation_of(seen: float, n: int) -> float:
    """The correlation, from 0 to ``MOST``, of successive values of series of ``n`` values whose
    lag-1 autocorrelation about their own means (``_seen``) is this on average.
    """
    known = _known(n)
    return float(np.interp(seen, known.seen, np.linspace(0, MOST, _STEPS)))


def serial_inflation(
    samples: Sequence[Sample], *, series: int, settings: Settings = DEFAULT
) -> float:
    """By what the variance of a mean is larger than that of independent blocks, at least 1.

    The correlation of successive blocks is pooled over the table, because one comparison of six
    blocks says nothing of it. Each comparison counts alike, whatever its noise. ``series``: how
    many series of measurements the comparisons are among, of which they hold one fewer independent
    ones. A correlation within ``serial_doubt`` standard errors of none counts as none. Beyond, the
    estimate counts with ``serial_margin`` standard errors more: what was found by looking for it is
    as likely larger as smaller, and only too small a one makes false claims. Repeats of fewer than
    ``min_blocks`` blocks say nothing.
    """
    found = _Pooled(series=series, samples=len(samples))
    for group in groups(samples):
        for part in group.parts:
            if len(part) >= settings.min_blocks:
                found.add(group.values[:, part])
    return found.inflation(settings)


def inflation_across(
    samples: Sequence[Sample], *, series: int, settings: Settings = DEFAULT
) -> float:
    """``serial_inflation`` of samples of several repeats about their overall means. The blocks of a
    repeat are alike by what the repeat has of its own, too, so only the first block of each and the
    last one of the repeat before tell of noise that lasts.
    """
    every, across = (_Pooled(series=series, samples=len(samples)) for _ in range(2))
    for group in groups(samples):
        first = np.flatnonzero(np.diff(group.repeats)) + 1
        if len(first):
            every.add(group.values)
            across.add(group.values, first)
    return min(every.inflation(settings), across.inflation(settings))


class _Pooled:
    """The correlation that the comparisons of a table show together."""

    def __init__(self, *, series: int, samples: int) -> None:
        self._independent = min(1.0, (series - 1) / samples)
        """Of the comparisons, the share that does not follow from the others."""
        self._pairs = 0
        """Of neighbours, by which each correlation counts."""
        self._seen = 0.0
        self._expected, self._inflation = np.zeros(_STEPS), np.zeros(_STEPS)

    def add(self, values: Floats, places: Places | None = None) -> None:
        """``places``: as of ``_seen``; None: all."""
        n = values.shape[1]
        used = np.arange(1, n) if places is None else places
        found = _seen(values, used)
        pairs = len(found) * len(used)
        known = _known(n, None if places is None else tuple(map(int, places)))
        self._pairs += pairs
        self._seen += float(found.sum()) * len(used)
        self._expected += pairs * known.seen
        self._inflation += pairs * known.inflation

    def inflation(self, settings: Settings) -> float:
        if not self._pairs:
            return 1.0
        error = 1 / math.sqrt(max(1.0, self._pairs * self._independent))
        seen, expected = self._seen / self._pairs, self._expected / self._pairs
        if seen - expected[0] < settings.serial_doubt * error:
            return 1.0
        counts = seen + settings.serial_margin * error
        return float(np.interp(counts, expected, self._inflation / self._pairs))
