"""Compare two runs on the same host, entry by entry."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wirebench.catalog.loads import OpenLoad
from wirebench.catalog.model import Unit, unit_of
from wirebench.catalog.studies import Cell
from wirebench.catalog.units import count_of
from wirebench.plan.model import Plan, PlannedCell
from wirebench.stats.bottleneck import (
    LIMITED_METRICS,
    bottleneck,
    generator_bound,
    is_ahead,
    within_bounds,
)
from wirebench.stats.cell import CellData
from wirebench.stats.entry import warm_ups_of, why_unsound
from wirebench.stats.noise import earlier_twins, noise_band, noise_kind, usable_presets
from wirebench.stats.ratio import Floats, median, median_interval
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.summary import higher_is_better
from wirebench.stats.two_runs import Basis, Shift, shifts
from wirebench.stats.types import (
    UNKNOWN_RUN_EFFECT,
    HistoryRecord,
    NoiseBand,
    Ratio,
    RunEffect,
    TrialView,
    TwinRecord,
    Verdict,
)
from wirebench.stats.verdict import holm, log_edges


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
    run_effect: RunEffect = UNKNOWN_RUN_EFFECT
    """What differs from run to run without a change, as it is in the interval."""
    unsound: str | None = None
    """Why nothing is claimed: in which run its figures are not those of a server that kept up and
    got steady, or what the cell asks for in one run only.
    """
    bounds: tuple[bool, bool] = (False, False)
    """Whether the generator limited its figure in run A and in run B, which is then a bound."""
    without_floor: str | None = None
    """Why the floor, though there is one, is not divided by."""
    offered: tuple[float | None, float | None] | None = None
    """Requests/s offered in both runs where each server has a rate of its own, else None."""


class _Side:
    """The cell in one run: whose figures are bounds, and whose say nothing."""

    def __init__(self, data: CellData, run: str, settings: Settings) -> None:
        self.data, self.run = data, run
        planned = data.planned
        self.warm_ups = warm_ups_of(data, settings)
        self.bound: frozenset[str] = frozenset()
        if planned.cell.primary in LIMITED_METRICS:
            self.bound = generator_bound(
                {
                    name: bottleneck(trials.values(), role=planned.role, settings=settings)
                    for name, trials in data.valid.items()
                }
            )
        self.unsound = {
            name: f"run {run}: {why}"
            for name, warm_up in self.warm_ups.items()
            if (why := why_unsound(data, name, warm_up)) is not None
        }
        self.bad_floor: str | None = None
        if data.floor in self.bound:
            self.bad_floor = f"run {run}: generator-bound"
        elif data.floor is not None:
            self.bad_floor = self.unsound.get(data.floor) or self.zeros(data.floor)

    def zeros(self, name: str) -> str | None:
        """That a figure of the entry's is 0, which no ratio of all its blocks holds."""
        metric = self.data.planned.cell.primary
        why = self.data.why_no_ratio(name, metric) if self.data.values(name, metric) else None
        return None if why is None else f"run {self.run}: {why}"

    def absence(self, name: str) -> str:
        """Why there is no figure of the entry to compare."""
        if self.data.values(name, self.data.planned.cell.primary):
            return "no block has both it and the floor"
        return "no figure of it" if self.data.valid.get(name) else "no valid trial"


def compare(
    a: tuple[Plan, Sequence[TrialView]],
    b: tuple[Plan, Sequence[TrialView]],
    history: Sequence[HistoryRecord] = (),
    *,
    settings: Settings = DEFAULT,
) -> tuple[Change, ...]:
    """Compare every entry of every cell that both runs have, by the cell's primary metric, with
    Holm's correction over all.

    The runs share no blocks, so the interval is that of a difference of two independent medians of
    logarithms, with the run effect of both runs in it (``two_runs.shifts``). A twin's second entry
    is left out: the twin differs from run to run.

    Figures are divided by the floor's unless these are bounds, or unsound, in one of the runs. A
    figure that the generator limited supports the claim that its run is faster, and no other.
    """
    return _with_verdicts(changed(a, b, history, settings=settings), settings)


def changed(
    a: tuple[Plan, Sequence[TrialView]],
    b: tuple[Plan, Sequence[TrialView]],
    history: Sequence[HistoryRecord] = (),
    *,
    settings: Settings = DEFAULT,
) -> list[tuple[Change, Shift]]:
    """``compare`` before its verdicts: each change with the evidence for it."""
    cells = {(cell.study, cell.cell.id): cell for cell in b[0].cells}
    found: list[tuple[Change, Shift]] = []
    for planned in a[0].cells:
        other = cells.get((planned.study, planned.cell.id))
        if other is None or other.cell.primary != planned.cell.primary:
            continue
        before = CellData.of(planned, _of_cell(a[1], planned.study, planned.cell.id), settings)
        after = CellData.of(other, _of_cell(b[1], planned.study, planned.cell.id), settings)
        twins = {
            entry.name
            for cell in (planned, other)
            for entry in cell.entries
            if entry.twin_of is not None
        }
        names = [one for one in dict.fromkeys([*before.trials, *after.trials]) if one not in twins]
        sides = _Side(before, "A", settings), _Side(after, "B", settings)
        unlike = _unlike(planned, other)
        bad_floors = [side.bad_floor for side in sides if side.bad_floor is not None]
        both, effect = shifts(
            before,
            after,
            names,
            history,
            warm_ups=(sides[0].warm_ups, sides[1].warm_ups),
            absolute=bool(bad_floors),
            settings=settings,
        )
        band = _band(planned, (a[0], b[0]), history, settings)
        found += [
            (
                replace(
                    _change(sides, name, shift, band, unlike, settings),
                    run_effect=effect,
                    without_floor="; ".join(bad_floors) or None,
                ),
                shift,
            )
            for name, shift in both.items()
        ]
    return found


def not_compared(a: Plan, b: Plan) -> Iterator[str]:
    """The cells that ``compare`` leaves out, and why."""
    runs = [{cell.key: cell.cell.primary for cell in plan.cells} for plan in (a, b)]
    for name, own, other in (("A", *runs), ("B", *runs[::-1])):
        if gone := [key for key in own if key not in other]:
            yield f"only run {name} has {', '.join(gone)}"
    for key, metric in runs[0].items():
        if runs[1].get(key, metric) != metric:
            yield f"{key} is of {metric} in run A and of {runs[1][key]} in run B"


def _unlike(a: PlannedCell, b: PlannedCell) -> str | None:
    """What the cell asks for in one run and not in the other. How long it warms up and is watched
    may differ: presets do.
    """
    if (a.cell.workload, _load(a.cell)) != (b.cell.workload, _load(b.cell)):
        return "the two runs put another load on it"
    if a.server != b.server:
        return f"called in run A: {a.server}, in run B: {b.server}"
    both = {one.contestant for one in a.entries} & {one.contestant for one in b.entries}
    if a.processes != b.processes or any(a.processes_of(n) != b.processes_of(n) for n in both):
        return "the two runs gave its servers another number of processes"
    return None


def _load(cell: Cell) -> Mapping[str, Any]:
    """Without what only says how long."""
    lengths = {"warmup_ns", "window_ns", "warmup", "operations"}
    return {
        "kind": type(cell.load).__name__,
        **{name: value for name, value in vars(cell.load).items() if name not in lengths},
    }


def _of_cell(trials: Sequence[TrialView], study: str, cell: str) -> list[TrialView]:
    return [trial for trial in trials if (trial.study, trial.cell) == (study, cell)]


def _band(
    planned: PlannedCell,
    plans: tuple[Plan, Plan],
    history: Sequence[HistoryRecord],
    settings: Settings,
) -> NoiseBand:
    """From the twins that may widen the band of either run, so of the shorter of two presets."""
    study, kind = planned.study, noise_kind(planned.cell)
    presets = {one.preset for plan in plans for one in plan.studies if one.name == study}
    twins = earlier_twins(
        [record for record in history if isinstance(record, TwinRecord)],
        study=study,
        kind=kind,
        metric=planned.cell.primary,
        presets={one for preset in presets for one in usable_presets(preset, settings=settings)},
    )
    return noise_band(twins, of=f"{study} ({kind})", settings=settings)


def _change(
    sides: tuple[_Side, _Side],
    name: str,
    shift: Shift,
    band: NoiseBand,
    unlike: str | None,
    settings: Settings,
) -> Change:
    before, after = (side.data for side in sides)
    metric, load = before.planned.cell.primary, before.planned.cell.load
    unsound = [side.unsound[name] for side in sides if name in side.unsound]
    zeros = [why for side in sides if (why := side.zeros(name)) is not None]
    absent: dict[str, list[str]] = {}
    for side, sample in zip(sides, (shift.before, shift.after), strict=True):
        if not len(sample):
            absent.setdefault(side.absence(name), []).append(side.run)
    missing = None
    if absent or zeros:
        # A server that cannot keep up has no CPU per request.
        unsound = unsound or zeros
        gone = (f"{why} in run {' and '.join(runs)}" for why, runs in absent.items())
        missing = "; ".join(unsound or gone)
    if unlike is not None:
        unsound.insert(0, unlike)
    return Change(
        study=before.study,
        cell=before.planned.cell.id,
        entry=name,
        unit=unit_of(before.planned.cell.workload),
        metric=metric,
        higher_is_better=higher_is_better(metric),
        a=_median(before.values(name, metric)),
        b=_median(after.values(name, metric)),
        ratio=None if missing is not None else _ratio(shift, settings),
        basis=shift.basis,
        band=band,
        verdict=Verdict(kind="undecided", reason=missing),
        missing=missing,
        unsound="; ".join(unsound) or None,
        bounds=(name in sides[0].bound, name in sides[1].bound),
        offered=(
            (
                _median(before.values(name, "offered_per_s")),
                _median(after.values(name, "offered_per_s")),
            )
            if isinstance(load, OpenLoad) and load.share is not None
            else None
        ),
    )


def _ratio(shift: Shift, settings: Settings) -> Ratio:
    if shift.spreads is None:
        return unpaired_ratio(shift.after.values, shift.before.values, settings=settings)
    before, after = shift.spreads
    run = shift.run_quantile((1 + settings.confidence) / 2)
    return unpaired_ratio(after.within, before.within, run=run, settings=settings)


def _median(values: Mapping[int, float]) -> float | None:
    return float(np.median(list(values.values()))) if values else None


def _with_verdicts(found: Sequence[tuple[Change, Shift]], settings: Settings) -> tuple[Change, ...]:
    """``faster`` or ``slower`` if the interval lies wholly beyond the band and the trimmed t test
    against its edge holds after Holm's correction.
    """
    adjusted = holm(
        [1.0 if one.missing else shift.p_beyond(log_edges(one.band.d)) for one, shift in found]
    )
    return tuple(
        one if one.missing else replace(one, verdict=_supported(one, _verdict(one, p, settings)))
        for (one, _), p in zip(found, adjusted, strict=True)
    )


def _supported(change: Change, verdict: Verdict) -> Verdict:
    """The verdict, as far as the figures of both runs support it."""
    if change.unsound is not None:
        return Verdict(kind="undecided", beyond_blocks=True, reason=change.unsound)
    before, after = change.bounds
    return within_bounds(
        verdict,
        limited=after,
        other_limited=before,
        ahead=is_ahead(change.ratio, higher_is_better=change.higher_is_better),
        names=("run B", "run A"),
    )


def _verdict(change: Change, adjusted_p: float, settings: Settings) -> Verdict:
    ratio, d = change.ratio, change.band.d
    assert ratio is not None
    if ratio.low is None or ratio.high is None:
        reason = (
            f"{count_of(ratio.blocks, 'block')} in one of the runs; an interval needs"
            f" {settings.min_blocks} in both"
        )
        return Verdict(
            kind="undecided", blocks_needed=settings.min_blocks - ratio.blocks, reason=reason
        )
    if ratio.low > 1 + d or ratio.high < 1 / (1 + d):
        if adjusted_p > 1 - settings.confidence:
            return Verdict(
                kind="undecided",
                reason="beyond the noise band, but not by enough for so many comparisons at once",
            )
        return Verdict(kind="faster" if (ratio.low > 1) == change.higher_is_better else "slower")
    if ratio.low >= 1 / (1 + d) and ratio.high <= 1 + d:
        return Verdict(kind="equivalent")
    return Verdict(
        kind="undecided", reason=f"the interval crosses the edge of the noise band of {d:.1%}"
    )


def unpaired_ratio(
    one: Floats, other: Floats, *, run: float = 0.0, settings: Settings = DEFAULT
) -> Ratio:
    """exp(median(one) - median(other)) of logarithms of two independent samples, with its interval.

    Shapes (n,) and (m,), each at least 1. The half-widths of the two medians' intervals add as
    independent errors do, each end for itself (Zou & Donner, Statistics in Medicine 2008). ``run``
    is the half-width, in logarithms, of what differs from run to run, which adds likewise. No
    interval if either has fewer than ``min_blocks``.
    """
    centres = median(one), median(other)
    estimate = centres[0] - centres[1]
    blocks = min(len(one), len(other))
    if blocks < settings.min_blocks:
        return Ratio(estimate=math.exp(estimate), low=None, high=None, blocks=blocks)
    first, second = (median_interval(values, settings=settings) for values in (one, other))
    below = math.hypot(centres[0] - first.low, second.high - centres[1], run)
    above = math.hypot(first.high - centres[0], centres[1] - second.low, run)
    return Ratio(
        estimate=math.exp(estimate),
        low=math.exp(estimate - below),
        high=math.exp(estimate + above),
        blocks=blocks,
        note=first.note if first.note == second.note else None,
    )
