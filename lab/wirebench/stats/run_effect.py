"""What differs between repeats of a study: a variance component that blocks of one repeat cannot
show.

Address layout, page placement, a build's path and the order of cells are drawn once per repeat.
Their effect on a pair's log-ratio is the same in all blocks of a repeat, so more blocks do not
average it out, and twins of one run do not see it. It is estimated by nested random effects: the
mean square between repeats less the mean square within them (Kalibera & Jones, ISMM 2013; Searle,
Casella & McCulloch 1992, section 3.6).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from wirebench.stats.ratio import Floats
from wirebench.stats.sample import Group
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import RepeatRecord, RunEffect


@dataclass(frozen=True, eq=False)
class Nested:
    """One-way analysis of variance of each comparison of a group."""

    between: Floats
    """Mean square between repeats, shape (comparisons,)."""
    inside: Floats
    """Mean square within repeats, shape (comparisons,)."""
    means: Floats
    """Of each comparison in each repeat, shape (comparisons, repeats)."""
    repeats: int
    per_repeat: float
    """Blocks of a repeat, averaged for the expectation of ``between``:
    inside + per_repeat x component.
    """
    share: float
    """By this share of the component varies the mean over all blocks: 1 / repeats when each has as
    many blocks.
    """


def nested(group: Group, *, settings: Settings = DEFAULT) -> Nested | None:
    """The analysis of variance of a group; None with one repeat.

    In repeats of at least three blocks a deviation from the repeat's median counts at most
    ``settings.outlier`` robust standard deviations, so that a spike is not taken for an effect.
    """
    counts = group.counts
    n, repeats = group.blocks, len(counts)
    if repeats < 2:
        return None
    off = group.centred
    # A repeat with an odd number of blocks has one whose deviation from the median is 0.
    middle = 0.5 + int(np.sum(counts % 2)) / (2 * n)
    scale = 1.4826 * np.quantile(np.abs(off), middle, axis=1, keepdims=True)
    limit = settings.outlier * scale
    clipped = group.values.copy()
    for number, part in enumerate(group.parts):
        if len(part) >= 3:
            clipped[:, part] = group.medians[:, [number]] + np.clip(off[:, part], -limit, limit)
    means = np.stack([clipped[:, part].mean(axis=1) for part in group.parts], axis=1)
    grand = clipped.mean(axis=1, keepdims=True)
    between = np.sum(counts * (means - grand) ** 2, axis=1) / (repeats - 1)
    own = means[:, group.repeats]
    inside = np.sum((clipped - own) ** 2, axis=1) / (n - repeats)
    squares = float(np.sum(counts.astype(np.float64) ** 2))
    return Nested(
        between=between,
        inside=inside,
        means=means,
        repeats=repeats,
        per_repeat=(n - squares / n) / (repeats - 1),
        share=squares / n**2,
    )


def host_effect(
    records: Iterable[RepeatRecord], *, study: str, kind: str, metric: str
) -> RunEffect | None:
    """What a host has shown of the component in this study, kind of noise (``noise_kind``) and
    metric: the mean of the runs' estimates, each weighted by its degrees of freedom. None if it has
    shown nothing.
    """
    own = [one for one in records if (one.study, one.kind, one.metric) == (study, kind, metric)]
    degrees = sum(one.degrees for one in own)
    if degrees <= 0:
        return None
    return RunEffect(
        source="host",
        variance=sum(one.degrees * one.variance for one in own) / degrees,
        degrees=degrees,
        repeats=len({one.run for one in own}),
    )
