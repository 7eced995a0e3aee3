"""Compare two runs on the same host, entry by entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import special, stats

from wirebench.catalog.model import Unit, unit_of
from wirebench.plan.model import Plan
from wirebench.stats.cell import CellData
from wirebench.stats.ratio import Floats, Interval, Medians, bootstrap_median, median
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.summary import higher_is_better
from wirebench.stats.types import NoiseBand, Ratio, TrialView, TwinRecord, Verdict
from wirebench.stats.verdict import Twin, holm, log_edge, noise_band

Basis = Literal["over the floor", "absolute"]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One entry of one cell: the ratio of its metric in run B over run A."""

    study: str
    cell: str
    entry: str
    unit: Unit
    metric: str
    higher_is_better: bool
    a: float | None
    """Median over the trials of run A, in the metric's unit."""
    b: float | None
    ratio: Ratio | None
    """``blocks`` is the smaller count of the two runs."""
    basis: Basis
    """``over the floor``: each run's figures are divided by its own floor first, so that a change
    of the host cancels.
    """
    band: NoiseBand
    verdict: Verdict
    """``faster`` means that B is better."""
    missing: str | None
    """Why there is no ratio."""


def compare(
    a: tuple[Plan, Sequence[TrialView]],
    b: tuple[Plan, Sequence[TrialView]],
    history: Sequence[TwinRecord] = (),
    *,
    settings: Settings = DEFAULT,
) -> tuple[Change, ...]:
    """Compare every entry of every cell that both runs have, by the cell's primary metric, with
    Holm's correction over all.

    The runs share no blocks, so the interval is that of a difference of two independent medians of
    logarithms. A twin's second entry is left out: the twin differs from run to run.
    """
    cells = {(cell.study, cell.cell.id): cell for cell in b[0].cells}
    found: list[Change] = []
    samples: list[tuple[Floats, Floats]] = []
    for planned in a[0].cells:
        other = cells.get((planned.study, planned.cell.id))
        if other is None or other.cell.primary != planned.cell.primary:
            continue
        before = CellData.of(planned, _of_cell(a[1], planned.study, planned.cell.id), settings)
        after = CellData.of(other, _of_cell(b[1], planned.study, planned.cell.id), settings)
        band = noise_band(
            planned.study,
            [Twin(study=one.study, ratio=one.ratio) for one in history],
            settings=settings,
        )
        twins = {
            entry.name
            for cell in (planned, other)
            for entry in cell.entries
            if entry.twin_of is not None
        }
        for name in dict.fromkeys([*before.trials, *after.trials]):
            if name not in twins:
                change, logs = _change(before, after, name, band, settings)
                found.append(change)
                samples.append(logs)
    return _with_verdicts(found, samples, settings)


def _of_cell(trials: Sequence[TrialView], study: str, cell: str) -> list[TrialView]:
    return [trial for trial in trials if (trial.study, trial.cell) == (study, cell)]


def _change(
    before: CellData, after: CellData, name: str, band: NoiseBand, settings: Settings
) -> tuple[Change, tuple[Floats, Floats]]:
    metric = before.planned.cell.primary
    floor = before.floor
    has_floor = floor is not None and floor == after.floor and name != floor
    basis: Basis = (
        "over the floor"
        if has_floor and _valid(before, floor) and _valid(after, floor)
        else "absolute"
    )
    logs = (_logs(before, name, metric, basis), _logs(after, name, metric, basis))
    ratio = None
    if len(logs[0]) and len(logs[1]):
        ratio = unpaired_ratio(logs[1], logs[0], settings=settings)
    missing = None
    if ratio is None:
        absent = [run for run, values in (("A", logs[0]), ("B", logs[1])) if not len(values)]
        missing = f"no valid trial in run {' and '.join(absent)}"
    change = Change(
        study=before.study,
        cell=before.planned.cell.id,
        entry=name,
        unit=unit_of(before.planned.cell.workload),
        metric=metric,
        higher_is_better=higher_is_better(metric),
        a=_median(before.values(name, metric)),
        b=_median(after.values(name, metric)),
        ratio=ratio,
        basis=basis,
        band=band,
        verdict=Verdict(kind="undecided", reason=missing),
        missing=missing,
    )
    return change, logs


def _valid(data: CellData, floor: str | None) -> bool:
    return floor is not None and bool(data.values(floor, data.planned.cell.primary))


def _logs(data: CellData, name: str, metric: str, basis: Basis) -> Floats:
    if basis == "over the floor" and data.floor is not None:
        return data.log_ratios(name, data.floor, metric)
    values = [value for _, value in sorted(data.values(name, metric).items()) if value > 0]
    return np.log(np.asarray(values, dtype=np.float64))


def _median(values: Mapping[int, float]) -> float | None:
    return float(np.median(list(values.values()))) if values else None


def _with_verdicts(
    changes: Sequence[Change], samples: Sequence[tuple[Floats, Floats]], settings: Settings
) -> tuple[Change, ...]:
    """``faster`` or ``slower`` if the interval lies wholly beyond the band and Welch's test against
    its edge holds after Holm's correction.
    """
    raw = [
        (
            _p_beyond(b, a, change.band.d)
            if change.ratio is not None and change.ratio.low is not None
            else 1.0
        )
        for change, (a, b) in zip(changes, samples, strict=True)
    ]
    adjusted = holm(raw)
    return tuple(
        (
            replace(change, verdict=_verdict(change, p, settings))
            if change.ratio is not None
            else change
        )
        for change, p in zip(changes, adjusted, strict=True)
    )


def _verdict(change: Change, adjusted_p: float, settings: Settings) -> Verdict:
    ratio, d = change.ratio, change.band.d
    assert ratio is not None
    if ratio.low is None or ratio.high is None:
        reason = (
            f"{ratio.blocks} blocks in one of the runs; an interval needs {settings.min_blocks} in"
            " both"
        )
        return Verdict(
            kind="undecided", blocks_needed=settings.min_blocks - ratio.blocks, reason=reason
        )
    if ratio.low > 1 + d or ratio.high < 1 - d:
        if adjusted_p > 1 - settings.confidence:
            return Verdict(
                kind="undecided",
                reason="beyond the noise band, but not by enough for so many comparisons at once",
            )
        return Verdict(kind="faster" if (ratio.low > 1) == change.higher_is_better else "slower")
    if ratio.low >= 1 - d and ratio.high <= 1 + d:
        return Verdict(kind="equivalent")
    return Verdict(
        kind="undecided", reason=f"the interval crosses the edge of the noise band of {d:.1%}"
    )


def _p_beyond(one: Floats, other: Floats, d: float) -> float:
    """Welch's two-sided p that the logarithms' means differ by no more than the band's nearer edge;
    1 inside the band.
    """
    centre = median(one) - median(other)
    edge = log_edge(d, above=centre > 0)
    if abs(centre) <= abs(edge):
        return 1.0
    spread = float(np.var(one, ddof=1) / len(one) + np.var(other, ddof=1) / len(other))
    if spread == 0:
        return 0.0
    freedom = spread**2 / sum(
        float(np.var(values, ddof=1) / len(values)) ** 2 / (len(values) - 1)
        for values in (one, other)
    )
    return float(2 * stats.t.sf((abs(centre) - abs(edge)) / np.sqrt(spread), freedom))


def unpaired_ratio(one: Floats, other: Floats, *, settings: Settings = DEFAULT) -> Ratio:
    """exp(median(one) - median(other)) of logarithms of two independent samples, with its bootstrap
    interval.

    Shapes (n,) and (m,), each at least 1. Both are resampled on their own; the interval is
    bias-corrected (Efron & Tibshirani 1993, ch. 14; no acceleration, which the median of two
    samples hardly has). No interval if either has fewer than
    ``min_blocks``.
    """
    estimate = median(one) - median(other)
    blocks = min(len(one), len(other))
    if blocks < settings.min_blocks:
        return Ratio(estimate=float(np.exp(estimate)), low=None, high=None, blocks=blocks)
    interval = _difference_interval(one, other, estimate, settings)
    return Ratio(
        estimate=float(np.exp(estimate)),
        low=float(np.exp(interval.low)),
        high=float(np.exp(interval.high)),
        blocks=blocks,
        note=interval.note,
    )


def _difference_interval(
    one: Floats, other: Floats, estimate: float, settings: Settings
) -> Interval:
    """The two bootstrap distributions are independent, so that of the difference is all pairs of
    their values.
    """
    first, second = (
        bootstrap_median(one, settings=settings),
        bootstrap_median(other, settings=settings),
    )
    values, where = np.unique(np.subtract.outer(first.values, second.values), return_inverse=True)
    shares = np.bincount(
        where.ravel(), weights=np.multiply.outer(first.shares, second.shares).ravel()
    )
    medians = Medians(values=values, shares=shares.astype(np.float64))
    if len(values) == 1:
        return Interval(low=estimate, high=estimate, note="every block of each run gave the same")
    tail = (1 - settings.confidence) / 2
    bias = float(special.ndtri(medians.level(estimate)))
    if not np.isfinite(bias):
        bias = 0.0
    levels = [float(special.ndtr(2 * bias + special.ndtri(level))) for level in (tail, 1 - tail)]
    return Interval(low=medians.quantile(levels[0]), high=medians.quantile(levels[1]))
