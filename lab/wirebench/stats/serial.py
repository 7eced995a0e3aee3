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
from wirebench.stats.sample import Sample, groups
from wirebench.stats.settings import DEFAULT, Settings

MOST = 0.9
"""A higher correlation is not told from a change of level by the blocks of a run."""
_STEPS = 46
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


@lru_cache(maxsize=256)
def _known(n: int) -> _Known:
    correlations = np.linspace(0, MOST, _STEPS)
    apart = np.arange(1, n)
    of_mean = (1 + 2 * ((1 - apart / n) * correlations[:, None] ** apart).sum(axis=1)) / n
    return _Known(
        seen=np.array([_expected_seen(n, float(one)) for one in correlations])
        if n < _LONG
        else correlations - (1 + 4 * correlations) / n,
        # The sample variance lacks what the mean varies by.
        inflation=of_mean * (n - 1) / (1 - of_mean),
    )


def _expected_seen(n: int, correlation: float) -> float:
    """What ``_seen`` computes is a ratio of quadratic forms in normal variables, whose expectation
    is an integral over the line (Magnus, Annales d'Economie et de Statistique 1986).
    """
    covariance = np.power(correlation, np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
    centring = np.eye(n) - 1 / n
    sizes, vectors = np.linalg.eigh(centring @ covariance @ centring)
    sizes = np.maximum(sizes, 0)
    products = np.sum(vectors[1:] * vectors[:-1], axis=0) * sizes
    nodes, weights = special.roots_legendre(60)
    at = (1 + nodes) / (1 - nodes) / n  # 0 to infinity
    weights = 2 * weights / (1 - nodes) ** 2 / n
    growth = 1 + 2 * np.outer(at, sizes)
    inside = (products / growth).sum(axis=1) * np.exp(-np.log(growth).sum(axis=1) / 2)
    return float(weights @ inside) * n / (n - 1)


def _seen(values: Floats) -> Floats:
    """The lag-1 autocorrelation of each row about its own mean, of the rows that vary."""
    off = values - values.mean(axis=1, keepdims=True)
    n = values.shape[1]
    squares = np.sum(off**2, axis=1)
    varies = squares > _LEAST_SQUARES
    products = np.sum(off[:, 1:] * off[:, :-1], axis=1)
    correlations: Floats = products[varies] / squares[varies] * n / (n - 1)
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
    total = pairs = lengths = 0.0
    for group in groups(samples):
        for part in group.parts:
            n = len(part)
            if n < settings.min_blocks:
                continue
            found = _seen(group.values[:, part])
            total += float(found.sum()) * (n - 1)
            pairs += len(found) * (n - 1)
            lengths += len(found) * (n - 1) * n
    if not pairs:
        return 1.0
    known = _known(round(lengths / pairs))
    error = 1 / math.sqrt(max(1.0, pairs * min(1.0, (series - 1) / len(samples))))
    seen = total / pairs
    if seen - known.seen[0] < settings.serial_doubt * error:
        return 1.0
    return float(np.interp(seen + settings.serial_margin * error, known.seen, known.inflation))
