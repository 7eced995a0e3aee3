"""The entries of one cell in two runs, and what such runs differ by without any change."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from wirebench.stats.cell import CellData
from wirebench.stats.comparisons import Comparisons
from wirebench.stats.entry import sound_entries
from wirebench.stats.noise import noise_kind
from wirebench.stats.ratio import median
from wirebench.stats.run_effect import host_effect
from wirebench.stats.sample import Sample
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.spread import Spread, satterthwaite, t_quantile, table_spread
from wirebench.stats.types import HistoryRecord, RepeatRecord, RunEffect, WarmUp

Basis = Literal["over the floor", "absolute"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Shift:
    """One entry in run A and in run B, as logarithms of its metric or of its ratio to the floor."""

    basis: Basis
    before: Sample
    after: Sample
    spreads: tuple[Spread, Spread] | None
    """Of ``before`` and ``after``; None where either has too few blocks."""
    one_effect: bool = False
    """Whether what differs from run to run is one estimate for both runs, so that its degrees of
    freedom count once.
    """

    @property
    def centre(self) -> float:
        """The logarithm of B over A, by medians. Both need a block."""
        return median(self.after.values) - median(self.before.values)

    def run_quantile(self, level: float) -> float:
        """The quantile of the part of the error that differs from run to run, by Student's t."""
        if self.spreads is None:
            return 0.0
        parts = [(one.run_variance_of_median, one.run_degrees) for one in self.spreads]
        total = sum(variance for variance, _ in parts)
        return t_quantile(self._run_degrees(parts), level) * math.sqrt(total) if total > 0 else 0.0

    def _run_degrees(self, parts: Sequence[tuple[float, float]]) -> float:
        """Of the sum of both runs' variances."""
        if self.one_effect:
            return min((degrees for variance, degrees in parts if variance > 0), default=math.inf)
        return satterthwaite(*parts)

    @property
    def difference(self) -> Spread | None:
        """Of B over A, with what it may be off by; None where either has too few blocks."""
        if self.spreads is None:
            return None
        before, after = self.spreads
        return Spread(
            mean=after.mean - before.mean,
            variance=before.variance + after.variance,
            degrees=satterthwaite(
                (before.variance, before.degrees), (after.variance, after.degrees)
            ),
            run_variance=before.run_variance + after.run_variance,
            run_variance_of_median=before.run_variance_of_median + after.run_variance_of_median,
            run_degrees=self._run_degrees(
                [(one.run_variance, one.run_degrees) for one in self.spreads]
            ),
            within=after.within,
        )

    def p_beyond(self, edges: tuple[float, float]) -> float:
        """Two-sided p that B over A lies within the edges (logarithms)."""
        difference = self.difference
        return 1.0 if difference is None else difference.p_beyond(self.centre, edges)


class _Run:
    """The entries of one run: over the floor, or as they are where ``floor`` is None."""

    def __init__(
        self,
        data: CellData,
        names: Sequence[str],
        floor: str | None,
        sound: frozenset[str],
        host: RunEffect | None,
        settings: Settings,
    ) -> None:
        metric = data.planned.cell.primary
        self._floor = floor
        self._over = Comparisons(data, metric, sound=sound, host=host, settings=settings)
        self._alone = {
            name: data.logs(name, metric) for name in names if floor is None or name == floor
        }
        # All entries share the speed of the machine, so that they say no more than one of it.
        table = table_spread(list(self._alone.values()), entries=2, host=host, settings=settings)
        self._spreads = dict(zip(self._alone, table.spreads, strict=True))

    @property
    def run_effect(self) -> RunEffect:
        return self._over.run_effect

    def of(self, name: str) -> tuple[Sample, Spread | None]:
        if name in self._alone:
            return self._alone[name], self._spreads[name]
        assert self._floor is not None
        return self._over.sample(name, self._floor), self._over.spread(name, self._floor)


def shifts(
    before: CellData,
    after: CellData,
    names: Sequence[str],
    history: Sequence[HistoryRecord] = (),
    *,
    warm_ups: tuple[Mapping[str, WarmUp], Mapping[str, WarmUp]],
    absolute: bool = False,
    settings: Settings = DEFAULT,
) -> tuple[dict[str, Shift], RunEffect]:
    """The named entries of a cell in both runs by its primary metric, and the run effect that is in
    their errors. ``warm_ups``: ``warm_ups_of`` each run. ``absolute``: as they are, though both
    runs have a floor.

    A run with several repeats shows its run effect itself. One with a single repeat has that of the
    other run, or else what the host has shown before; where neither is known, see
    ``_from_changes``.
    """
    cell = before.planned
    metric, floor = cell.cell.primary, before.floor
    if (
        absolute
        or floor != after.floor
        or not all(floor is not None and data.values(floor, metric) for data in (before, after))
    ):
        floor = None
    runs = [
        (data, sound_entries(data, known))
        for data, known in zip((before, after), warm_ups, strict=True)
    ]
    both = [_Run(data, names, floor, sound, None, settings) for data, sound in runs]
    own = [run.run_effect for run in both]
    if all(one.source == "blocks" for one in own):
        return _joined(both, names, floor), own[0]
    repeated = [one for one in own if one.source == "repeats"]
    if len(repeated) == 2:
        effect = RunEffect(
            source="repeats",
            variance=(own[0].variance + own[1].variance) / 2,
            degrees=own[0].degrees + own[1].degrees,
            repeats=min(own[0].repeats, own[1].repeats),
        )
    else:
        effect = (
            repeated[0]
            if repeated
            else host_effect(
                [record for record in history if isinstance(record, RepeatRecord)],
                study=cell.study,
                kind=noise_kind(cell.cell),
                metric=metric,
            )
            or _from_changes(_joined(both, names, floor), settings)
        )
        both = [
            _Run(data, names, floor, sound, None if one.source == "repeats" else effect, settings)
            for (data, sound), one in zip(runs, own, strict=True)
        ]
    return _joined(both, names, floor, one_effect=len(repeated) < 2), effect


def _joined(
    both: Sequence[_Run], names: Sequence[str], floor: str | None, *, one_effect: bool = False
) -> dict[str, Shift]:
    found = {}
    for name in names:
        (before, one), (after, other) = (run.of(name) for run in both)
        found[name] = Shift(
            basis="absolute" if floor in (None, name) else "over the floor",
            before=before,
            after=after,
            spreads=None if one is None or other is None else (one, other),
            one_effect=one_effect,
        )
    return found


def _from_changes(found: dict[str, Shift], settings: Settings) -> RunEffect:
    """The run effect of a ratio to the floor, from how far the entries of a cell changed.

    If most entries did not change, their changes differ by run effect and sampling error alone. The
    floor's part is common to all, and the median takes it out; the spread about the median is
    estimated by the median absolute deviation, corrected for few values (``_of_few``). A real
    change of most entries makes it larger, never smaller. With fewer than ``least_changes`` entries
    an effect is assumed.

    Its degrees of freedom are those by whose Student's t a normal value over it is distributed far
    out. The deviation of n values is small only where n // 2 of them are close to a further one,
    so the chance of that falls with its power of n // 2, as that of a chi with so many degrees.
    """
    changes, errors = [], []
    for one in found.values():
        if one.basis == "over the floor" and one.spreads is not None:
            before, after = one.spreads
            changes.append(after.mean - before.mean)
            errors.append(before.variance + after.variance)
    if len(changes) < settings.least_changes:
        # Both the entry and the floor differ from run to run.
        return RunEffect(
            source="assumed",
            variance=2 * settings.assumed_run_effect**2,
            degrees=math.inf,
            repeats=1,
        )
    off = np.abs(np.array(changes) - np.median(changes))
    entry = (1.4826 * _of_few(len(changes)) * float(np.median(off))) ** 2
    # An entry's part holds both runs; a ratio's holds the floor's part too, which is as large.
    return RunEffect(
        source="changes",
        variance=entry - float(np.mean(errors)) / 2,
        degrees=len(changes) // 2,
        repeats=1,
    )


def _of_few(n: int) -> float:
    """By what the median absolute deviation of n normal values about their own median is too small
    on average (Croux & Rousseeuw, COMPSTAT 1992).
    """
    return {5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}.get(n, n / (n - 0.8))
