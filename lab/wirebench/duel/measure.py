"""Measures a duel: blocks of trials until it is decided or its time is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from wirebench.catalog.loads import ClosedLoad
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
from wirebench.stats import dropped_blocks, repeat_reason
from wirebench.store.rundir import RunDirectory
from wirebench.trial.record import TrialRecord
from wirebench.trial.types import OwnServer, TrialSpec

TURNS_NS = tuple(length * 1_000_000 for length in (25, 50, 100, 200, 400, 800))
"""Lengths of turns that are tried. A host's speed changes as much from one hundredth of a second to
the next as from one second to the next, so short ones are the fairest; a long one holds more of a
slow server's replies.
"""
TRIED_TURNS = 8
MOST_LATE = 0.15
"""The share of turns that may end late."""
LEAST_LEVEL = 1e-9
"""A look that may spend less has no interval to judge by."""

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
    turn_ns: int | None = None
    """The length of turns that the servers of a block take; None: a block measures one server
    after another.
    """
    clock_ns: Callable[[], int] = time.monotonic_ns

    def __post_init__(self) -> None:
        self.trials: list[TrialRecord] = []
        self._began = self.clock_ns()
        self._spent = 0.0
        self._ended = False
        self._decided: Judged | None = None
        """The last look, with what those before it decided."""

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
            void=repeat_reason,
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
            run_block=self._run_block if self.turn_ns is not None else None,
        )

    def known(self) -> Judged:
        """What the trials so far say, by the level of this moment; it spends nothing."""
        return judged(self.cell, self.trials, level=self._allowed(), band=self.band)

    def result(self) -> Judged:
        """The verdict: that of the look that ended the duel, or that left nothing to spend when the
        time was over, or a last one; each keeps what those before it decided.
        """
        if self._decided is not None and (self._ended or self.level_left < LEAST_LEVEL):
            return self._decided
        return self._judged(self.level_left)

    @property
    def level_left(self) -> float:
        """What the looks that did not end it have left for the last one."""
        return LEVEL - self._spent

    def _allowed(self) -> float:
        budget = self.plan.budget_ns
        share = 1.0 if budget is None else (self.clock_ns() - self._began) / budget
        return max(spent(share) - self._spent, LEAST_LEVEL)

    def _look(self, present: frozenset[str]) -> Standstill:
        level = self._allowed()
        if self._is_over(level):
            return Standstill(settled=dict.fromkeys(present, "the duel was decided"))
        self._spent += level
        # The floor is there for scale only: from here on the time is the sides'.
        return Standstill(
            settled=dict.fromkeys(self.cell.floors, "it is known well enough"), floor_known=True
        )

    def _is_over(self, level: float) -> bool:
        if self.ends is not None:
            return self.ends(self.cell, self.trials, level)
        self._decided = self._judged(level)
        self._ended = self._decided.decided(self.cell.cell.kind)
        return self._ended

    def _judged(self, level: float) -> Judged:
        found = judged(self.cell, self.trials, level=level, band=self.band)
        return found.keeping(self._decided)

    def _keep(self, record: TrialRecord) -> None:
        self.directory.append_trial(record)
        self.trials.append(record)

    def _run_trial(self, trial: PlannedTrial, cell: PlannedCell) -> TrialRecord:
        return self.bench.run_trial(self._spec(trial, cell))

    def _run_block(
        self, trials: Sequence[PlannedTrial], cell: PlannedCell
    ) -> Sequence[TrialRecord]:
        assert self.turn_ns is not None
        specs = [self._spec(trial, cell) for trial in trials]
        return self.bench.run_in_turns(specs, length_ns=self.turn_ns)

    def choose_turns(self) -> None:
        """Find the length of turns, by trials that do not count: the shortest after which hardly a
        reply comes when it is another's turn. With servers too slow for any, one server after
        another is measured. The time that it takes is of the budget.
        """
        began = self.clock_ns()
        self.turn_ns = self._found_turns()
        if self.plan.budget_ns is not None:
            left_ns = self.plan.budget_ns - (self.clock_ns() - began)
            self.plan = replace(self.plan, budget_ns=max(1, left_ns))

    def _found_turns(self) -> int | None:
        cell = self.cell
        trials = cell.block(1, seed=self.plan.seed)
        asked = cell.cell.load
        if not isinstance(asked, ClosedLoad):
            raise TypeError(f"turns: expected a closed loop, got {type(asked).__name__}")
        enough_ns = 0
        for length_ns in TURNS_NS:
            if length_ns < enough_ns:
                continue
            load = replace(asked, warmup_ns=length_ns, window_ns=TRIED_TURNS * length_ns // 2)
            specs = [replace(self._spec(trial, cell), load=load) for trial in trials]
            tried = self.bench.run_in_turns(specs, length_ns=length_ns)
            measured = [one for one in tried if one.status == "ok"]
            in_time = len(measured) == len(tried) and all(_is_in_time(one) for one in measured)
            # For a broken server longer turns are no help. What is wrong is said when it is
            # measured.
            if in_time or any(_is_broken(one) for one in tried):
                return length_ns
            # A fifth of a turn is for the last replies. Where none came at all, only the longest
            # turns can be enough.
            enough_ns = (
                5 * max(_longest_rest_ns(one) for one in measured)
                if len(measured) == len(tried)
                else TURNS_NS[-1]
            )
        return None

    def _spec(self, trial: PlannedTrial, cell: PlannedCell) -> TrialSpec:
        name = trial.entry.contestant
        by_name = {side.name: side for side in self.sides}
        if name in by_name:
            contestant = by_name[name].contestant()
        elif self.floor is not None:
            contestant = self.floor
        else:
            raise ValueError(f"{name}: expected a side of the duel or its floor")
        return TrialSpec(
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
            timeout_ns=self.load.timeout_ns,
            own=self.servers.get(name),
        )


def _is_in_time(trial: TrialRecord) -> bool:
    return (trial.validity.get("late_turns") or 0.0) <= MOST_LATE


def _is_broken(trial: TrialRecord) -> bool:
    """Whether it failed for another reason than that no reply came within a turn."""
    return trial.failure is not None and trial.failure.kind not in ("hung", "generator_failed")


def _longest_rest_ns(trial: TrialRecord) -> int:
    return trial.load["turns"]["longest_rest_ns"] if trial.load is not None else 0
