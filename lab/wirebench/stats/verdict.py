"""When two entries count as different."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from wirebench.stats.ratio import Floats, bca_interval, median
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import NoiseBand, Verdict


@dataclass(frozen=True, kw_only=True)
class Twin:
    """The A/A ratio of one cell, of this run or of an earlier one on the same host."""

    study: str
    ratio: float


def noise_band(study: str, twins: Sequence[Twin], *, settings: Settings = DEFAULT) -> NoiseBand:
    """d = max(3%, 95th percentile of |A/A - 1|). With few twins the percentile is the largest
    observed value.

    A study with enough twins on this host has its own band. The others share the twins of all
    studies, because a percentile of a handful means little.
    """
    own = [twin for twin in twins if twin.study == study]
    used, whose = (
        (own, study) if len(own) >= settings.own_band_twins else (list(twins), "all studies")
    )
    if not used:
        return NoiseBand(d=settings.min_noise, source="the assumed minimum: no twins yet", twins=0)
    seen = float(
        np.percentile(
            [abs(twin.ratio - 1) for twin in used], settings.noise_percentile, method="higher"
        )
    )
    of = f"{len(used)} twins of {whose} on this host"
    if seen <= settings.min_noise:
        return NoiseBand(
            d=settings.min_noise,
            source=f"the assumed minimum; {of} stay within it",
            twins=len(used),
        )
    # Of fewer than twenty values the 95th percentile is the largest.
    return NoiseBand(
        d=seen,
        source=f"{'95th percentile' if len(used) >= 20 else 'the largest'} of {of}",
        twins=len(used),
    )


def log_edge(d: float, *, above: bool) -> float:
    """ln(1 + d) or ln(1 - d). With d of 1 or more (a very noisy host) no ratio is below
    the band.
    """
    if above:
        return math.log1p(d)
    return math.log1p(-d) if d < 1 else -math.inf


def log_edges(d: float) -> tuple[float, float]:
    """The logarithms of the band's edges, 1 - d and 1 + d."""
    return log_edge(d, above=False), log_edge(d, above=True)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values (Scandinavian Journal of Statistics 1979), in the order
    given.
    """
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def judge(
    log_ratios: Floats,
    *,
    d: float,
    higher_is_better: bool,
    adjusted_p: float | None = None,
    pairs: int = 1,
    settings: Settings = DEFAULT,
) -> Verdict:
    """The verdict on A against B, from their block log-ratios.

    Interval wholly beyond 1 +/- d (and, among several pairs, Holm's p within the level): faster or
    slower. Wholly inside: equivalent. That claim needs no correction, because it says only that a
    difference is below what this host can show. Otherwise undecided. ``pairs`` is the number of
    pairs in the table; only the suggestion of more blocks uses it.
    """
    blocks = len(log_ratios)
    more: int | None = settings.min_blocks - blocks
    if blocks < settings.min_blocks:
        reason = f"{blocks} common blocks; an interval needs {settings.min_blocks}"
        return Verdict(kind="undecided", blocks_needed=more, reason=reason)
    interval = bca_interval(log_ratios, settings=settings)
    low, high = math.expm1(interval.low), math.expm1(interval.high)
    if low > d or high < -d:
        if adjusted_p is None or adjusted_p <= 1 - settings.confidence:
            return Verdict(kind="faster" if (low > 0) == higher_is_better else "slower")
        reason = (
            f"the interval leaves the noise band of {d:.1%}, but not by enough for {pairs}"
            " comparisons at once"
        )
    elif low >= -d and high <= d:
        return Verdict(kind="equivalent")
    else:
        reason = f"the interval crosses the edge of the noise band of {d:.1%}"
    more = more_blocks(log_ratios, d=d, pairs=pairs, settings=settings)
    return Verdict(kind="undecided", blocks_needed=more, reason=reason)


def more_blocks(
    log_ratios: Floats, *, d: float, pairs: int, settings: Settings = DEFAULT
) -> int | None:
    """The additional blocks that would probably decide: the half width shrinks as 1/sqrt(n) around
    the same estimate.

    For an estimate outside the band the level is Bonferroni's, which is what Holm asks of the first
    pair. None if more than ``max_more_blocks`` are needed: the difference is then about as large as
    the band.
    """
    n = len(log_ratios)
    centre = median(log_ratios)
    edge = abs(log_edge(d, above=centre > 0))
    distance = abs(abs(centre) - edge)
    level = (1 - settings.confidence) / 2
    if abs(centre) > edge:
        level /= max(1, pairs)
    # The standard error of a median is sqrt(pi/2) times the mean's (normal data).
    half_width_of_one = (
        -float(special.ndtri(level)) * math.sqrt(math.pi / 2) * float(np.std(log_ratios, ddof=1))
    )
    if half_width_of_one >= distance * math.sqrt(n + settings.max_more_blocks):
        return None
    return max(1, math.ceil((half_width_of_one / distance) ** 2) - n)
