"""Measures a duel: blocks of trials until it is decided or its time is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from wirebench.catalog.model import Contestant
from wirebench.duel.plan import DuelLoad
from wirebench.duel.sides import Side
from wirebench.duel.verdicts import LEVEL, Judged, judged, spent
from wirebench.plan.blocks import PlannedTrial
from wirebench.plan.estimate import Pace, trial_ns
from wirebench.plan.model import Plan, PlannedCell
from wirebench.plan.stop import Standstill
from wirebench.run.bench import Bench
from wirebench.run.measure import Watcher, measure
from wirebench.stats import dropped_blocks
from wirebench.store.rundir import RunDirectory
from wirebench.trial.record import TrialRecord
from wirebench.trial.types import OwnServer, TrialSpec

Ends = Callable[[PlannedCell, Sequence[TrialRecord], float], bool]
"""Whether a duel has ended, by its trials and what this look may spend."""


@dataclass(kw_only=True)
class Duel:
    """A duel in progress."""

    plan: Plan
    sides: Sequence[Side]
    load: DuelLoad
    servers: Mapping[str, OwnServer]
    """By side."""
    floor: Contestant | None
    band: float
    bench: Bench
    directory: RunDirectory
    ends: Ends | None = None
    """Asked at each look, instead of whether the duel is decided."""
    clock_ns: Callable[[], int] = time.monotonic_ns

    def __post_init__(self) -> None:
        self.trials: list[TrialRecord] = []
        self._began = self.clock_ns()
        self._spent = 0.0
        self._ended: Judged | None = None

    @property
    def cell(self) -> PlannedCell:
        return self.plan.cells[0]

    def measure(self, watcher: Watcher) -> None:
        """Run until it is decided, or the time is over. Every finished trial is stored."""
        self._began = self.clock_ns()
        cell = self.cell
        measure(
            self.plan,
            done=(),
            run_trial=self._run_trial,
            keep=self._keep,
            leave=self.directory.append_left,
            look=lambda _key, _block, present: self._look(present),
            dropped=lambda block: bool(dropped_blocks(block)),
            clock_ns=self.clock_ns,
            pace=Pace(
                estimated={
                    (cell.key, entry.name): trial_ns(
                        cell.cell, language="duel", hardware_threads=self.bench.hardware_threads
                    )
                    for entry in cell.entries
                }
            ),
            watcher=watcher,
        )

    def known(self) -> Judged:
        """What the trials so far say, by the level of this moment; it spends nothing."""
        return judged(self.cell, self.trials, level=self._allowed(), band=self.band)

    def result(self) -> Judged:
        """The verdict: that of the look that ended the duel, or the last one."""
        if self._ended is not None:
            return self._ended
        return judged(self.cell, self.trials, level=self.level_left, band=self.band)

    @property
    def level_left(self) -> float:
        """What the looks that did not end it have left for the last one."""
        return LEVEL - self._spent

    def _allowed(self) -> float:
        budget = self.plan.budget_ns
        share = 1.0 if budget is None else (self.clock_ns() - self._began) / budget
        return max(spent(share) - self._spent, 1e-9)

    def _look(self, present: frozenset[str]) -> Standstill:
        level = self._allowed()
        if self._is_over(level):
            return Standstill(settled=dict.fromkeys(present, "the duel was decided"))
        self._spent += level
        return Standstill()

    def _is_over(self, level: float) -> bool:
        if self.ends is not None:
            return self.ends(self.cell, self.trials, level)
        found = judged(self.cell, self.trials, level=level, band=self.band)
        if found.decided(self.cell.cell.kind):
            self._ended = found
        return self._ended is not None

    def _keep(self, record: TrialRecord) -> None:
        self.directory.append_trial(record)
        self.trials.append(record)

    def _run_trial(self, trial: PlannedTrial, cell: PlannedCell) -> TrialRecord:
        name = trial.entry.contestant
        by_name = {side.name: side for side in self.sides}
        if name in by_name:
            contestant = by_name[name].contestant()
        elif self.floor is not None:
            contestant = self.floor
        else:
            raise ValueError(f"{name}: expected a side of the duel or its floor")
        return self.bench.run_trial(
            TrialSpec(
                trial=trial.id,
                study=trial.study,
                cell=trial.cell,
                block=trial.block,
                position=trial.position,
                entry=trial.entry.name,
                twin_of=trial.entry.twin_of,
                contestant=contestant,
                role="server",
                workload=cell.cell.workload,
                load=cell.cell.load,
                # All cores but the generator's, as its user would run it.
                threads=max(1, self.bench.hardware_threads - 1) if name in by_name else 1,
                environment_bytes=trial.environment_bytes,
                port_seed=trial.port_seed,
                load_seed=trial.load_seed,
                seed=self.plan.seed,
                own=self.servers.get(name),
            )
        )
