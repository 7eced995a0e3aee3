"""Latency against load: each contestant's curve, its knee, and what it answers beyond its capacity.

Everything here is made of the medians over the trials of each cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wirebench.catalog.loads import OpenLoad
from wirebench.catalog.studies import Cell
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import CellAnalysis, EntryAnalysis

CurveCells = Sequence[tuple[CellAnalysis, Cell]]
"""The cells of one study."""


@dataclass(frozen=True, kw_only=True)
class LoadPoint:
    """One open-loop cell that the contestant kept up with."""

    share: float
    """Of its capacity."""
    answered_per_s: float
    p50_ns: float | None
    p99_ns: float
    limited: bool = False
    """Whether the generator was the limit, so that the times are upper bounds."""

    @property
    def power(self) -> float:
        """Kleinrock's power: throughput over delay."""
        return self.answered_per_s / self.p99_ns


@dataclass(frozen=True, kw_only=True)
class Knee:
    """The load with the most throughput for its delay. Beyond it, delay grows faster than load."""

    point: LoadPoint
    low_share: float
    high_share: float
    """The loads from ``low_share`` to ``high_share`` cannot be told from it: their power is within
    the noise band of the greatest.
    """


@dataclass(frozen=True, kw_only=True)
class LoadCurve:
    """The open-loop cells of one contestant whose rates are shares of one capacity."""

    entry: str
    is_floor: bool
    capacity_per_s: float | None
    """The median of its closed cell."""
    at_least: bool
    """Whether the generator was the limit there, so that the capacity is a lower bound."""
    points: tuple[LoadPoint, ...]
    """By growing load, without the cells that the contestant could not keep up with."""
    overwhelmed: tuple[float, ...]
    """The shares below 1 that it could not keep up with."""
    knee: Knee | None
    """None with too few points."""
    goodput_per_s: Mapping[float, float]
    """Right replies a second at each share from 1 on."""
    goodput_at_least: frozenset[float] = frozenset()
    """The shares at which the generator was the limit, so that the goodput is a lower bound."""


def load_curves(
    cells: CurveCells, *, settings: Settings = DEFAULT
) -> dict[str, tuple[LoadCurve, ...]]:
    """The curves by the closed cell that their rates are shares of. The twin's second entry is left
    out, and so is an entry without a figure.
    """
    by_base: dict[str, list[tuple[CellAnalysis, OpenLoad]]] = {}
    for analysis, cell in cells:
        if isinstance(cell.load, OpenLoad) and cell.load.of is not None:
            by_base.setdefault(cell.load.of, []).append((analysis, cell.load))
    closed = {analysis.cell: analysis for analysis, _ in cells}
    found = {}
    for base, steps in by_base.items():
        steps.sort(key=lambda step: step[1].share or 0.0)
        names = dict.fromkeys(
            entry.entry
            for analysis in (closed.get(base), *(analysis for analysis, _ in steps))
            if analysis is not None
            for entry in analysis.entries
            if entry.twin_of is None
        )
        curves = [_curve(name, closed.get(base), steps, settings) for name in names]
        found[base] = tuple(one for one in curves if one.points or one.goodput_per_s)
    return found


def _curve(
    name: str,
    base: CellAnalysis | None,
    steps: Sequence[tuple[CellAnalysis, OpenLoad]],
    settings: Settings,
) -> LoadCurve:
    points, overwhelmed, goodput, bounds = [], [], {}, set()
    for analysis, load in steps:
        entry = analysis.entry(name)
        answered = _median(entry, "throughput_per_s")
        if entry is None or answered is None or load.share is None:
            continue
        tail = _median(entry, "p99_ns")
        if load.overload:
            goodput[load.share] = answered
            if entry.generator_bound:
                bounds.add(load.share)
        elif not entry.kept_up:
            overwhelmed.append(load.share)
        elif tail:
            points.append(
                LoadPoint(
                    share=load.share,
                    answered_per_s=answered,
                    p50_ns=_median(entry, "p50_ns"),
                    p99_ns=tail,
                    limited=entry.generator_bound,
                )
            )
    own = base.entry(name) if base is not None else None
    band = max((analysis.band.d for analysis, load in steps if not load.overload), default=0.0)
    return LoadCurve(
        entry=name,
        is_floor=own is not None and own.is_floor,
        capacity_per_s=_median(own, "throughput_per_s"),
        at_least=own is not None and own.generator_bound,
        points=tuple(points),
        overwhelmed=tuple(overwhelmed),
        knee=knee_of(points, band=band, settings=settings),
        goodput_per_s=goodput,
        goodput_at_least=frozenset(bounds),
    )


def _median(entry: EntryAnalysis | None, metric: str) -> float | None:
    summary = entry.summary.metrics.get(metric) if entry is not None else None
    return summary.median if summary is not None else None


def knee_of(
    points: Sequence[LoadPoint], *, band: float, settings: Settings = DEFAULT
) -> Knee | None:
    """The point of the greatest power, throughput over delay (Kleinrock, ICC 1979; Jain, The Art of
    Computer Systems Performance Analysis, 1991, section 3.3), with the 99th percentile as the
    delay. None with fewer than ``min_knee_points`` points.

    Unlike a limit on the delay, or on its growth from the lightest load, it has no parameter, and a
    slow reply to a rare request (a core that had to wake up) does not move it.
    """
    if len(points) < settings.min_knee_points:
        return None
    best = max(points, key=lambda point: point.power)
    near = [point.share for point in points if point.power * (1 + band) >= best.power]
    return Knee(point=best, low_share=min(near), high_share=max(near))
