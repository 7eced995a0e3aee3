"""The trials of one cell, sorted into valid, void and dropped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from wirebench.catalog.units import count_of
from wirebench.plan.model import PlannedCell
from wirebench.stats.disturbances import dropped_blocks, other_programs, quota_stops
from wirebench.stats.ratio import Floats, block_log_ratios
from wirebench.stats.sample import Sample
from wirebench.stats.settings import Settings
from wirebench.stats.types import DroppedBlock, OtherPrograms, QuotaStops, TrialView
from wirebench.stats.validity import number, void_reason


@dataclass(frozen=True, kw_only=True)
class CellData:
    planned: PlannedCell
    trials: Mapping[str, Sequence[TrialView]]
    """All trials of each entry, in the order of the plan."""
    valid: Mapping[str, Mapping[int, TrialView]]
    """Valid trials by entry and block: measured, correct, not void, not in a dropped block."""
    dropped: tuple[DroppedBlock, ...]
    other_programs: OtherPrograms | None
    quota_stops: QuotaStops | None
    floor: str | None
    _values: dict[tuple[str, str], Mapping[int, float]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @classmethod
    def of(cls, planned: PlannedCell, trials: Sequence[TrialView], settings: Settings) -> CellData:
        by_entry: dict[str, list[TrialView]] = {entry.name: [] for entry in planned.entries}
        for trial in trials:
            by_entry.setdefault(trial.entry, []).append(trial)
        dropped = dropped_blocks(trials, settings=settings)
        gone = {one.block for one in dropped}
        kept = [trial for trial in trials if trial.block not in gone]
        valid = {
            entry: {
                trial.block: trial
                for trial in own
                if trial.status == "ok"
                and trial.block not in gone
                and void_reason(trial, settings=settings) is None
            }
            for entry, own in by_entry.items()
        }
        return cls(
            planned=planned,
            trials=by_entry,
            valid=valid,
            dropped=dropped,
            other_programs=other_programs(kept, settings=settings),
            quota_stops=quota_stops(kept),
            floor=planned.floors[0] if planned.floors else None,
        )

    @property
    def study(self) -> str:
        return self.planned.study

    def values(self, entry: str, metric: str) -> Mapping[int, float]:
        """The metric of each valid block, in the metric's unit."""
        found = self._values.get((entry, metric))
        if found is None:
            found = self._values[entry, metric] = {
                block: value
                for block, trial in self.valid.get(entry, {}).items()
                if (value := number(trial.metrics.get(metric))) is not None
            }
        return found

    def why_no_ratio(self, entry: str, metric: str) -> str | None:
        """Why no number of blocks gives a ratio of the entry's figures: its valid trials do not
        know the metric, or it is 0 in some, which have no logarithm. To compare the others alone
        would be to choose blocks by their outcome. None where there is no such reason.
        """
        values = self.values(entry, metric)
        if not values:
            return f"not known of {entry}" if self.valid.get(entry) else None
        zeros = sum(one <= 0 for one in values.values())
        return f"0 in {zeros} of {count_of(len(values), 'block')} of {entry}" if zeros else None

    def void_reasons(self, entry: str, settings: Settings) -> tuple[str, ...]:
        """Why each void trial of the entry is, without those of dropped blocks."""
        gone = {one.block for one in self.dropped}
        return tuple(
            why
            for one in self.trials.get(entry, ())
            if one.status == "ok"
            and one.block not in gone
            and (why := void_reason(one, settings=settings)) is not None
        )

    def log_ratios(self, a: str, b: str, metric: str) -> Floats:
        """ln(A/B) of every block that has both; of none where ``why_no_ratio`` of either."""
        if any(self.why_no_ratio(name, metric) is not None for name in (a, b)):
            return block_log_ratios({}, {})
        return block_log_ratios(self.values(a, metric), self.values(b, metric))

    def logs(self, entry: str, metric: str) -> Sample:
        """The logarithms of the metric's positive values, in the order of the blocks."""
        values = {block: one for block, one in self.values(entry, metric).items() if one > 0}
        blocks = sorted(values)
        return Sample.of(
            np.log(np.array([values[block] for block in blocks], dtype=np.float64)),
            [self._repeats[block] for block in blocks],
        )

    def samples(self, couples: Sequence[tuple[str, str]], metric: str) -> list[Sample]:
        """ln(A/B) of every block that has both, for each couple, with the blocks' repeats; of none
        where ``why_no_ratio`` of either.
        """
        names = list(dict.fromkeys(name for couple in couples for name in couple))
        blocks = sorted(self._repeats)
        column = {block: place for place, block in enumerate(blocks)}
        logs = np.full((len(names), len(blocks)), np.nan)
        for row, name in enumerate(names):
            if self.why_no_ratio(name, metric) is not None:
                continue
            for block, value in self.values(name, metric).items():
                logs[row, column[block]] = math.log(value)
        repeats = np.array([self._repeats[block] for block in blocks])
        rows = {name: row for row, name in enumerate(names)}
        every = Sample.of(np.zeros(len(blocks)), repeats).repeats
        found = []
        for a, b in couples:
            ratios = logs[rows[a]] - logs[rows[b]]
            there = ~np.isnan(ratios)
            if there.all():
                found.append(Sample(ratios, every))
            else:
                found.append(Sample.of(ratios[there], repeats[there]))
        return found

    def contestant(self, entry: str) -> str:
        """What is measured under the entry's name."""
        return next((one.contestant for one in self.planned.entries if one.name == entry), entry)

    @cached_property
    def _repeats(self) -> dict[int, int]:
        """The repeat of each block with a valid trial. A host of a fleet is a repeat: what differs
        between repeats differs between hosts, too, and more.
        """
        found = {
            block: (trial.host, trial.repeat)
            for trials in self.valid.values()
            for block, trial in trials.items()
        }
        hosts = sorted({host for host, _ in found.values()})
        if hosts in ([], [""]):
            return {block: repeat for block, (_, repeat) in found.items()}
        return {block: hosts.index(host) for block, (host, _) in found.items()}

    @property
    def twin_pair(self) -> tuple[str, str] | None:
        """The twin's second entry and the entry it repeats."""
        for entry in self.planned.entries:
            if entry.twin_of is not None:
                return entry.name, entry.twin_of
        return None

    @property
    def measured_blocks(self) -> int:
        """The number of blocks with at least one trial, without the dropped ones. Block 0 does not
        count: see ``TrialRecord.block``.
        """
        ran = {
            trial.block
            for own in self.trials.values()
            for trial in own
            if trial.status != "not_run" and trial.block > 0
        }
        return len(ran - {one.block for one in self.dropped})
