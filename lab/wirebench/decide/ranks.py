"""The order of the contestants of a cell."""

from __future__ import annotations

from dataclasses import dataclass

from wirebench.decide.known import Measured
from wirebench.decide.places import METRICS
from wirebench.stats.settings import DEFAULT
from wirebench.stats.spread import t_quantile
from wirebench.stats.types import EntryAnalysis

Rank = tuple[tuple[int, int] | None, tuple[str, ...]]
"""A range of ranks, and who is better beyond doubt."""


def ordering(place: Measured, metric: str) -> Measured:
    """The run that puts most contestants in order by the metric, the newest of several: a run of a
    few does not take the order of all others away, nor one of a single rung that by memory.
    """
    return max(
        place.runs,
        key=lambda run: sum(
            rank_of(run, one, metric)[0] is not None
            for one in run.analysis.entries
            if one.twin_of is None
        ),
    )


def rank_of(place: Measured, entry: EntryAnalysis, metric: str) -> Rank:
    """Among all of the cell."""
    if metric == METRICS["memory"]:
        return _rank_by_memory(place, entry)
    standing = entry.standings.get(metric)
    if standing is None or standing.rank_low is None or standing.rank_high is None:
        return None, ()
    better = {one.contestant for one in place.analysis.entries if one.entry in standing.beaten_by}
    return (standing.rank_low, standing.rank_high), tuple(sorted(better))


def _rank_by_memory(place: Measured, entry: EntryAnalysis) -> Rank:
    """By the intervals of the slopes, each as wide as it takes for all of the cell to hold at once
    (Bonferroni): those that overlap cannot be told apart. Too few blocks for an interval, no rank.
    """
    known = {
        one.contestant: span
        for one in place.analysis.entries
        if one.twin_of is None and not one.is_floor and (span := memory_span(one)) is not None
    }
    spans = {name: among(span, len(known)) for name, span in known.items()}
    own = spans.get(entry.contestant)
    if own is None:
        return None, ()
    better = tuple(sorted(name for name, (_, high) in spans.items() if high < own[0]))
    worse = sum(low > own[1] for low, _ in spans.values())
    return (1 + len(better), len(spans) - worse), better


@dataclass(frozen=True, kw_only=True)
class Span:
    """The interval of an entry's memory for each connection, in bytes."""

    estimate: float
    low: float
    high: float
    blocks: int


def memory_span(entry: EntryAnalysis) -> Span | None:
    """None without an interval: a figure alone supports no claim."""
    own = entry.memory.own if entry.memory is not None else None
    if own is None or own.low is None or own.high is None:
        return None
    return Span(estimate=own.estimate, low=own.low, high=own.high, blocks=own.blocks)


def among(span: Span, count: int) -> tuple[float, float]:
    """The interval where ``count`` of them are to hold at once, as Student's t grows."""
    tail = (1 - DEFAULT.confidence) / 2
    one, all_of_them = (t_quantile(span.blocks - 1, 1 - at) for at in (tail, tail / count))
    wider = all_of_them / one
    return (
        span.estimate - wider * (span.estimate - span.low),
        span.estimate + wider * (span.high - span.estimate),
    )


def median_of(entry: EntryAnalysis, metric: str) -> float | None:
    if metric == METRICS["memory"]:
        own = entry.memory.own if entry.memory is not None else None
        return own.estimate if own is not None else None
    summary = entry.summary.metrics.get(metric)
    return summary.median if summary is not None else None
