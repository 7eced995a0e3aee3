"""What all comparisons of a table share: a trimmed t test with a moderated variance.

Three properties decide the choice, in simulated tables of 12 and 30 entries in calm, heavy-tailed
and two-speed worlds (``lab/tests/test_stats_moderated.py``):

- A bootstrap's p has a floor, and the exact one claims too much below ten blocks: of tables whose
  entries all sit on the edge of the band, a third made a false claim at six blocks.
- Student's t loses to one spike: a true 5% at 28 blocks was found in 12% of the tables.
- A variance estimated from six blocks alone is so uncertain that nothing survives Holm's
  correction.

So the mean is trimmed (Yuen, Biometrika 1974), which one or two spikes cannot move, and each
comparison's variance is drawn towards what all comparisons of the table share (Smyth, Statistical
Applications in Genetics and Molecular Biology 2004), which gives it their degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from wirebench.stats.ratio import Floats
from wirebench.stats.settings import DEFAULT, Settings

_ROUNDING = 1e-24
"""Squared errors of logarithms up to this are of figures that are all the same: their mean is not
always exactly their value.
"""


@dataclass(frozen=True, kw_only=True)
class Trimmed:
    """A trimmed mean with its squared standard error. ``degrees`` are those of the latter."""

    mean: float
    variance: float
    degrees: float


def trimmed(values: Floats, *, settings: Settings = DEFAULT) -> Trimmed | None:
    """The mean of shape (n,) without the extreme values of each side, and its squared standard
    error from the winsorised sample (Yuen 1974). At least one value of each side goes.

    None with fewer than four values: nothing is left to estimate a spread from.
    """
    n = len(values)
    cut = max(1, int(settings.trim * n))
    kept = n - 2 * cut
    if kept < 2:
        return None
    ordered = np.sort(values)
    winsorised = np.clip(ordered, ordered[cut], ordered[n - cut - 1])
    squares = float(np.sum((winsorised - winsorised.mean()) ** 2))
    return Trimmed(
        mean=float(ordered[cut : n - cut].mean()),
        variance=squares / (kept * (kept - 1)),
        degrees=kept - 1,
    )


def trimmed_within(
    values: Floats, within: Floats, lost: Floats, *, settings: Settings = DEFAULT
) -> list[Trimmed]:
    """``trimmed`` of each comparison, with the error within repeats. ``values`` has shape
    (comparisons, blocks), with at least four blocks.

    ``within``: the values less what is attributed to repeats. Their variance is too small by
    (n - 1 - lost) / (n - 1), and has so many degrees of freedom less: with K repeats' means wholly
    taken out, ``lost`` (shape (comparisons,)) is K - 1.
    """
    n = values.shape[1]
    cut = max(1, int(settings.trim * n))
    kept = n - 2 * cut
    means = np.sort(values, axis=1)[:, cut : n - cut].mean(axis=1)
    ordered = np.sort(within, axis=1)
    winsorised = np.clip(ordered, ordered[:, [cut]], ordered[:, [n - cut - 1]])
    squares = np.sum((winsorised - winsorised.mean(axis=1, keepdims=True)) ** 2, axis=1)
    variances = squares / (kept * (kept - 1)) * (n - 1) / (n - 1 - lost)
    degrees = np.maximum(1.0, kept - 1 - lost)
    return [
        Trimmed(mean=float(mean), variance=float(variance), degrees=float(one))
        for mean, variance, one in zip(means, variances, degrees, strict=True)
    ]


@dataclass(frozen=True, kw_only=True)
class Prior:
    """What the comparisons of a table share: a variance, and how many degrees of freedom it is
    worth. Infinitely many when they differ by no more than chance.
    """

    variance: float
    degrees: float


def shared_variance(found: Sequence[Trimmed]) -> Prior:
    """The scaled inverse chi-squared prior by the method of moments on the log variances (Smyth
    2004, section 6.2). ``found`` holds at least one element.

    Comparisons with a variance of zero (rounded figures that are all the same) are left out; where
    none is left the prior says nothing (no degrees).
    """
    usable = [one for one in found if one.variance > _ROUNDING]
    if not usable:
        return Prior(variance=0.0, degrees=0.0)
    half = np.array([one.degrees / 2 for one in usable])
    e = np.log([one.variance for one in usable]) - special.digamma(half) + np.log(half)
    spread = 0.0
    if len(usable) > 1:
        spread = float(np.var(e, ddof=1) - np.mean(special.polygamma(1, half)))
    if spread <= 0:
        pooled = sum(one.degrees * one.variance for one in usable)
        return Prior(variance=pooled / sum(one.degrees for one in usable), degrees=math.inf)
    degrees = 2 * _trigamma_inverse(spread)
    variance = float(np.exp(np.mean(e) + special.digamma(degrees / 2) - math.log(degrees / 2)))
    return Prior(variance=variance, degrees=degrees)


def _trigamma_inverse(value: float) -> float:
    """x with trigamma(x) = value > 0, by Newton's method on 1 / trigamma (Smyth 2004, appendix)."""
    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(special.polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(special.polygamma(2, x))
        x += step
        if -step / x < 1e-8:
            break
    return x


def moderate(one: Trimmed, prior: Prior, most: float) -> tuple[float, float]:
    """The variance drawn towards the prior, and its degrees of freedom, at most those that all
    comparisons have together (Smyth 2004, section 3).
    """
    if math.isinf(prior.degrees):
        return prior.variance, float(most)
    degrees = prior.degrees + one.degrees
    variance = (prior.degrees * prior.variance + one.degrees * one.variance) / degrees
    return variance, min(degrees, float(most))
