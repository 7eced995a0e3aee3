"""When a threshold holds, when it is broken, and when neither can be said.

Broken needs the whole 95% interval beyond the limit, and Holm's p over all thresholds within what
the look may spend: a gate with ten thresholds that is looked at five times is false no more often
than one with one. A gate passes only when every threshold holds, so that a false pass needs a false
claim of the very threshold that is broken: these p-values need no correction among each other
(intersection-union test, Berger 1982), only the look's own level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from wirebench.catalog.units import count_of
from wirebench.gate.thresholds import Threshold
from wirebench.gate.types import Row
from wirebench.stats.cell import CellData
from wirebench.stats.comparisons import widened_interval
from wirebench.stats.ratio import median
from wirebench.stats.sample import Sample
from wirebench.stats.settings import DEFAULT
from wirebench.stats.spread import Spread, table_spread
from wirebench.stats.types import UNKNOWN_RUN_EFFECT, RunEffect
from wirebench.stats.verdict import holm, more_blocks

LIMITED = (
    "the load generator was at its limit, so the figure is only a bound: put a lower load on it,"
    " such as a --rate"
)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A threshold with the evidence, before it is judged."""

    row: Row
    centre: float = math.nan
    """Logarithm of the estimate."""
    low: float | None = None
    high: float | None = None
    """Of its 95% interval, logarithms; None: too few blocks."""
    p_at: Callable[[float], float] = lambda _edge: 1.0
    """Two-sided p that the logarithm lies at the edge, or on its other side."""
    noise: float = 0.0
    """Differences up to this (of 1) are what one and the same server differs by."""
    noise_source: str = "the same server measured twice"
    head_limited: bool = False
    base_limited: bool = False
    more_from: Callable[[float, int], int | None] = lambda _edge, _pairs: None
    """About how many more blocks would tell it from the edge, among so many thresholds."""

    @property
    def is_open(self) -> bool:
        """Whether an interval has to decide it."""
        return self.row.state == "undecided" and self.low is not None


def p_at(spread: Spread, centre: float, edge: float) -> float:
    """Two-sided p that the comparison lies at the edge or beyond it, seen from its median."""
    return replace(spread, mean=spread.mean - edge).p_beyond(centre - edge, (0.0, 0.0))


def of_sample(row: Row, sample: Sample, spread: Spread | None) -> Candidate:
    """``sample``: logarithms of what the limit is compared with."""
    if not len(sample):
        return Candidate(row=replace(row, state="invalid", reason="no figures of it"))
    centre = median(sample.values)
    row = replace(row, estimate=math.exp(centre))
    if spread is None:
        least = DEFAULT.min_blocks
        more = least - len(sample)
        reason = f"{count_of(len(sample), 'block')}; an interval needs {least}"
        return Candidate(row=replace(row, reason=reason, more_blocks=more), centre=centre)
    interval = widened_interval(sample, spread)
    return Candidate(
        row=replace(row, low=math.exp(interval.low), high=math.exp(interval.high)),
        centre=centre,
        low=interval.low,
        high=interval.high,
        p_at=lambda edge: p_at(spread, centre, edge),
        more_from=lambda edge, pairs: more_blocks(
            sample.values - edge,
            d=0.0,
            pairs=pairs,
            interval=replace(interval, low=interval.low - edge, high=interval.high - edge),
            spread=spread,
            repeated=sample.repeated,
            equal=-edge if row.threshold.kind == "change" else None,
        ),
    )


def figure(
    row: Row, data: CellData, entry: str, *, host: RunEffect = UNKNOWN_RUN_EFFECT
) -> Candidate:
    """A limit on an entry's own figure. ``host``: what differs from run to run without a change."""
    sample = data.logs(entry, row.threshold.metric)
    # All entries share the speed of the machine, so that they say no more than one of it.
    (spread,) = table_spread([sample], entries=2, host=host).spreads
    return of_sample(row, sample, spread)


def errors(threshold: Threshold, where: str, base: int, head: int) -> Row:
    """Errors are counted: there is nothing to estimate."""
    return Row(
        threshold=threshold,
        where=where,
        base=base,
        head=head,
        estimate=head,
        low=None,
        high=None,
        state="holds" if head <= threshold.limit else "regressed",
    )


def judge(candidates: Sequence[Candidate], *, level: float) -> tuple[Row, ...]:
    """Every row with its verdict. ``level``: the chance of a false claim that may be spent now."""
    opens = [one for one in candidates if one.is_open]
    adjusted = holm([one.p_at(_edge(one)) if _is_beyond(one) else 1.0 for one in opens])
    rows = iter(
        _judged(one, p, level=level, pairs=len(opens))
        for one, p in zip(opens, adjusted, strict=True)
    )
    return tuple(next(rows) if one.is_open else one.row for one in candidates)


def _edge(one: Candidate) -> float:
    return math.log(one.row.threshold.limit)


def _is_beyond(one: Candidate) -> bool:
    """Whether the whole interval is on the wrong side of the limit, and of the noise."""
    assert one.low is not None
    assert one.high is not None
    if one.row.threshold.upper:
        return one.low > max(_edge(one), math.log1p(one.noise))
    return one.high < min(_edge(one), -math.log1p(one.noise) if one.noise else math.inf)


def _is_within(one: Candidate) -> bool:
    """Whether the whole interval is on the right side. An interval that ends at the limit is."""
    assert one.low is not None
    assert one.high is not None
    return one.high <= _edge(one) if one.row.threshold.upper else one.low >= _edge(one)


def _rests_on_a_bound(one: Candidate) -> bool:
    """Whether the generator's limit forbids what more blocks would show: that the head is worse,
    where it may be better than it was seen to be; that it is not, where the base may be.
    """
    upper = one.row.threshold.upper
    worse = one.centre > _edge(one) if upper else one.centre < _edge(one)
    if worse:
        return one.head_limited
    return one.base_limited and one.row.threshold.kind == "change"


def _judged(one: Candidate, adjusted_p: float, *, level: float, pairs: int) -> Row:
    row, edge = one.row, _edge(one)
    if _rests_on_a_bound(one):
        return replace(row, reason=LIMITED)
    if _is_beyond(one) and adjusted_p <= level:
        return replace(row, state="regressed")
    blurred = one.noise > abs(math.expm1(edge)) and row.threshold.kind == "change"
    if _is_within(one) and one.p_at(edge) <= level and not blurred:
        return replace(row, state="holds")
    if blurred:
        return replace(
            row,
            reason=(
                f"equal servers differ by {one.noise:.1%} here ({one.noise_source}), more than the"
                " threshold: use a quieter host or a wider threshold"
            ),
        )
    reason = (
        "the interval is on one side of the limit, but by too little for so many thresholds and"
        " looks"
        if _is_beyond(one) or _is_within(one)
        else "the interval contains the limit"
    )
    return replace(row, reason=reason, more_blocks=one.more_from(edge, pairs))
