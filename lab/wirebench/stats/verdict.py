"""When two entries count as different."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from wirebench.catalog.units import count_of
from wirebench.stats.ratio import Floats, Interval, median, median_interval
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import Verdict


def log_edges(d: float) -> tuple[float, float]:
    """The logarithms of the band's edges, 1 / (1 + d) and 1 + d: one is beyond the other by more
    than d, whichever of them the ratio is over.
    """
    return -math.log1p(d), math.log1p(d)


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
    interval: Interval | None = None,
    run_variance: float = 0.0,
    repeated: bool = False,
    settings: Settings = DEFAULT,
) -> Verdict:
    """The verdict on A against B, from their block log-ratios.

    Interval wholly beyond the band (``log_edges``) and, among several pairs, Holm's p within the
    level: faster or slower. Wholly inside: equivalent, a claim about this pair alone (decision 94).
    Otherwise undecided. ``pairs`` is the number of pairs in the table; only the suggestion of more
    blocks uses it.

    ``interval`` is that of the logarithms; None: that of these blocks alone.
    ``run_variance`` is what repeats add to the squared error of the median; with ``repeated`` it
    gets less as more blocks come from more repeats.
    """
    blocks = len(log_ratios)
    more: int | None = settings.min_blocks - blocks
    if blocks < settings.min_blocks:
        reason = f"{count_of(blocks, 'common block')}; an interval needs {settings.min_blocks}"
        return Verdict(kind="undecided", blocks_needed=more, reason=reason)
    if interval is None:
        interval = median_interval(log_ratios, settings=settings)
    lower, upper = log_edges(d)
    if interval.low > upper or interval.high < lower:
        if adjusted_p is None or adjusted_p <= 1 - settings.confidence:
            return Verdict(kind="faster" if (interval.low > 0) == higher_is_better else "slower")
        reason = (
            f"the interval leaves the noise band of {d:.1%}, but not by enough for {pairs}"
            " comparisons at once"
        )
    elif lower <= interval.low and interval.high <= upper:
        return Verdict(kind="equivalent")
    else:
        reason = f"the interval crosses the edge of the noise band of {d:.1%}"
    more = more_blocks(
        log_ratios,
        d=d,
        pairs=pairs,
        run_variance=run_variance,
        repeated=repeated,
        settings=settings,
    )
    return Verdict(kind="undecided", blocks_needed=more, reason=reason)


def more_blocks(
    log_ratios: Floats,
    *,
    d: float,
    pairs: int,
    run_variance: float = 0.0,
    repeated: bool = False,
    settings: Settings = DEFAULT,
) -> int | None:
    """The additional blocks that would probably decide: the half width shrinks as 1/sqrt(n) around
    the same estimate, but for what differs between repeats where all blocks are of one.

    For an estimate outside the band the level is Bonferroni's, which is what Holm asks of the first
    pair. None if more than ``max_more_blocks`` are needed: the difference is then about as large as
    the band, or as what differs between runs.
    """
    n = len(log_ratios)
    centre = median(log_ratios)
    edge = math.log1p(d)
    distance = abs(abs(centre) - edge)
    level = (1 - settings.confidence) / 2
    if abs(centre) > edge:
        level /= max(1, pairs)
    quantile = float(special.ndtri(level)) ** 2
    # The squared standard error of a median is pi/2 times the mean's (normal data).
    of_one = math.pi / 2 * float(np.var(log_ratios, ddof=1))
    room = distance**2 / quantile
    if repeated:
        of_one += n * run_variance
    else:
        room -= run_variance
    if of_one >= room * (n + settings.max_more_blocks):
        return None
    return max(1, math.ceil(of_one / room) - n)
