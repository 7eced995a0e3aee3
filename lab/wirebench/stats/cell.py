"""The trials of one cell, sorted into valid, void and dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wirebench.plan.model import PlannedCell
from wirebench.stats.dropped_blocks import dropped_blocks
from wirebench.stats.ratio import Floats, block_log_ratios
from wirebench.stats.settings import Settings
from wirebench.stats.types import DroppedBlock, TrialView
from wirebench.stats.validity import number, void_reason


@dataclass(frozen=True, kw_only=True)
class CellData:
    planned: PlannedCell
    trials: Mapping[str, Sequence[TrialView]]
    """All trials of each entry, in the order of the plan."""
    valid: Mapping[str, Mapping[int, TrialView]]
    """Valid trials by entry and block: measured, correct, not void, not in a dropped block."""
    dropped: tuple[DroppedBlock, ...]
    floor: str | None

    @classmethod
    def of(cls, planned: PlannedCell, trials: Sequence[TrialView], settings: Settings) -> CellData:
        by_entry: dict[str, list[TrialView]] = {entry.name: [] for entry in planned.entries}
        for trial in trials:
            by_entry.setdefault(trial.entry, []).append(trial)
        dropped = dropped_blocks(trials, settings=settings)
        gone = {one.block for one in dropped}
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
            floor=planned.floors[0] if planned.floors else None,
        )

    @property
    def study(self) -> str:
        return self.planned.study

    def values(self, entry: str, metric: str) -> dict[int, float]:
        trials = self.valid.get(entry, {})
        return {
            block: value
            for block, trial in trials.items()
            if (value := number(trial.metrics.get(metric))) is not None
        }

    def log_ratios(self, a: str, b: str, metric: str) -> Floats:
        return block_log_ratios(self.values(a, metric), self.values(b, metric))

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
