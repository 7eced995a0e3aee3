"""When two entries count as different."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from wirebench.catalog.units import count_of
from wirebench.stats.ratio import Floats, Interval, median, median_interval
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.spread import Spread, t_quantile
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
    spread: Spread | None = None,
    repeated: bool = False,
    settings: Settings = DEFAULT,
) -> Verdict:
    """The verdict on A against B, from their block log-ratios.

    Interval wholly beyond the band (``log_edges``) and, among several pairs, Holm's p within the
    level: faster or slower. Wholly inside: equivalent, a claim about this pair alone (decision 94).
    Otherwise undecided. ``pairs`` is the number of pairs in the table; only the suggestion of more
    blocks uses it.

    ``interval`` is that of the logarithms; None: that of these blocks alone. ``spread`` and
    ``repeated``: as in ``more_blocks``.
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
        interval=interval,
        spread=spread,
        repeated=repeated,
        settings=settings,
    )
    return Verdict(kind="undecided", blocks_needed=more, reason=reason)


def more_blocks(
    log_ratios: Floats,
    *,
    d: float,
    pairs: int,
    interval: Interval | None = None,
    spread: Spread | None = None,
    repeated: bool = False,
    equal: float | None = 0.0,
    settings: Settings = DEFAULT,
) -> int | None:
    """``blocks_to_decide`` of these blocks. ``interval``: of their median, ``spread``: what their
    mean may be off by; None: as these blocks alone say. With ``repeated``, more blocks come from
    more repeats, so that what differs between repeats gets less too.
    """
    n = len(log_ratios)
    if spread is None:
        error, degrees = float(np.var(log_ratios, ddof=1)) / n, float(n - 1)
        run_variance, run_degrees = 0.0, math.inf
    else:
        error, degrees = spread.variance, spread.degrees
        run_variance, run_degrees = spread.run_variance, spread.run_degrees
    if interval is None:
        interval = median_interval(log_ratios, settings=settings)
    if repeated:
        error, run_variance = error + run_variance, 0.0
    return blocks_to_decide(
        median(log_ratios),
        edge=math.log1p(d),
        half=(interval.high - interval.low) / 2,
        blocks=n,
        error=error,
        degrees=degrees,
        run_variance=run_variance,
        run_degrees=run_degrees,
        pairs=pairs,
        equal=equal,
        settings=settings,
    )


def blocks_to_decide(
    centre: float,
    *,
    edge: float,
    half: float,
    blocks: int,
    error: float,
    degrees: float,
    run_variance: float,
    run_degrees: float,
    pairs: int,
    equal: float | None,
    settings: Settings = DEFAULT,
) -> int | None:
    """The additional blocks with which the whole interval of a log-ratio lies on one side of
    ``edge`` and ``-edge``, or between them, in ``settings.promised_share`` (four of five) of the
    cases. None if that takes more than ``max_more_blocks``.

    ``centre``: the median of ``blocks`` blocks, ``half`` the half-width of its interval. Their mean
    has the squared error ``error`` with so many ``degrees`` of freedom, which counts as larger
    where the interval is wider than that, since intervals decide. ``run_variance`` is what no
    further block makes smaller.

    The cases are all true ratios that the blocks leave open, as likely as they leave them: the
    predictive distribution of the median after more blocks (Spiegelhalter, Freedman & Blackburn,
    Controlled Clinical Trials 1986). The noise counts as large as it is at most in
    ``promised_share`` of the cases: few blocks that happen to be alike would promise too much. But
    entries are often equal. Where the blocks are consistent with ``equal``, the number has to
    decide as often if that is the truth; else none is named, since most of the pairs that chance
    has put apart would not be separated. To be told apart among several ``pairs`` takes
    Bonferroni's level, which is what Holm asks of the first pair.
    """
    level = (1 - settings.confidence) / 2
    levels = level, level / max(1, pairs)
    inner, outer = (-float(special.ndtri(one)) for one in levels)
    run_inner, run_outer = (
        t_quantile(run_degrees, 1 - one) * math.sqrt(run_variance) if run_variance > 0 else 0.0
        for one in levels
    )
    by_interval = (half**2 - run_inner**2) / (math.pi / 2 * inner**2)
    error = max(error, by_interval)
    most = 1.0
    if not math.isinf(degrees):
        most = degrees / float(special.chdtri(degrees, settings.promised_share))
    # The squared standard error of a median is pi/2 times the mean's (normal data).
    of_one, median_over_mean = most * error * blocks, math.sqrt(math.pi / 2)
    more = np.arange(1, settings.max_more_blocks + 1)
    total = blocks + more
    off = np.sqrt(of_one / total)
    room = np.hypot(median_over_mean * inner * off, run_inner)
    beyond = edge + np.maximum(room, np.hypot(outer * off, run_outer))

    def often(at: Floats | float, deviation: Floats) -> NDArray[np.bool_]:
        """With which numbers of blocks a median of this distribution decides often enough."""

        def below(limit: Floats) -> Floats:
            return np.asarray(special.ndtr((limit - at) / np.maximum(deviation, 1e-12)))

        within = np.maximum(0.0, below(edge - room) - below(room - edge))
        shares = 1 - below(beyond) + below(-beyond) + within
        return shares >= settings.promised_share

    now = math.pi / 2 * of_one / blocks
    fits = often(centre, np.sqrt(now * more / total))
    found = t_quantile(degrees, 1 - level) * median_over_mean * math.sqrt(error)
    if equal is not None and abs(centre - equal) <= math.hypot(found, run_inner):
        kept = run_variance / (run_variance + now) if run_variance > 0 else 0.0
        to_come = equal + kept * (centre - equal)
        fits &= often(
            (blocks * centre + more * to_come) / total,
            more / total * np.sqrt(kept * now + math.pi / 2 * of_one / more),
        )
    return int(more[fits][0]) if fits.any() else None
