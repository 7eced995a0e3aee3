"""The measuring loop: run blocks of trials until every cell has enough, and store each trial at
once.

Processes and the clock are arguments, so that the tests can use fakes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from wirebench.plan.blocks import PlannedTrial
from wirebench.plan.estimate import MOVE_NS, Pace
from wirebench.plan.fit import cells_that_fit
from wirebench.plan.model import Plan, PlannedCell
from wirebench.plan.stop import Look, is_look
from wirebench.process.interrupt import hold
from wirebench.run.sound import RunTrial, UntilSound, Void
from wirebench.run.tally import GIVE_UP_AFTER, CellTally, Failures
from wirebench.store.records import LeftRecord
from wirebench.trial.record import FailureRecord, Status, TrialRecord


class Watcher(Protocol):
    """Called before and after each trial, never during a timed window."""

    def before(self, trial: PlannedTrial, *, left_ns: int) -> None: ...

    def after(self, record: TrialRecord, *, left_ns: int) -> None: ...


RunBlock = Callable[[Sequence[PlannedTrial], PlannedCell], Sequence[TrialRecord]]
"""The trials of a block at the same time. The results are in their order."""
Dropped = Callable[[Sequence[TrialRecord]], bool]
"""Whether limits declared beforehand drop a block with these trials. The outcome plays no part."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The result of the loop: why it ended, and the blocks of each cell."""

    blocks: dict[str, int]
    """The blocks that count, of each cell that has entries. A dropped block that was run again does
    not.
    """
    out_of_budget: bool
    given_up: tuple[str, ...] = ()
    """Cells (``study.cell``) that ended before their mandatory blocks, for lack of time."""


def measure(
    plan: Plan,
    *,
    done: Iterable[TrialRecord],
    run_trial: RunTrial,
    keep: Callable[[TrialRecord], object],
    leave: Callable[[LeftRecord], None],
    look: Look,
    dropped: Dropped,
    clock_ns: Callable[[], int],
    pace: Pace,
    watcher: Watcher,
    void: Void = lambda _: None,
    run_block: RunBlock | None = None,
) -> Measured:
    """Run every trial of the plan that is not in ``done``. ``keep`` stores each trial before the
    next one starts, ``leave`` each entry that leaves its cell. A block that ``dropped`` refuses is
    run again. So is, at once, a trial that is ``void`` (``UntilSound``).

    Cells take turns block by block. Each gets its mandatory blocks first. Then it goes on, with the
    entries that are not decided, to its most blocks or the end of the time budget.

    ``run_block``: runs the trials of a block at the same time; without, they run one by one.
    """
    return _Measuring(
        plan=plan,
        run_trial=run_trial,
        keep=keep,
        leave=leave,
        look=look,
        dropped=dropped,
        clock_ns=clock_ns,
        pace=pace,
        watcher=watcher,
        void=void,
        run_block=run_block,
    ).measure(done)


@dataclass(kw_only=True)
class _Measuring:
    """The state of the loop."""

    plan: Plan
    run_trial: RunTrial
    keep: Callable[[TrialRecord], object]
    leave: Callable[[LeftRecord], None]
    look: Look
    dropped: Dropped
    clock_ns: Callable[[], int]
    pace: Pace
    watcher: Watcher
    void: Void
    run_block: RunBlock | None = None

    def __post_init__(self) -> None:
        self._sound = UntilSound(run_trial=self.run_trial, void=self.void)
        self._failures = Failures()
        self._finished: set[str] = set()
        self._before: dict[tuple[str, int], list[TrialRecord]] = {}
        self._spent_before = 0
        self._timed = 0
        self._begun = self.clock_ns()
        self._progress = {cell.key: CellTally(cell=cell) for cell in self.plan.cells}
        self._given_up: list[str] = []
        self._too_late: set[str] = set()
        """The cells whose next block would exceed the time budget."""

    def measure(self, done: Iterable[TrialRecord]) -> Measured:
        for record in done:
            self._remember(record)
        active = [cell for cell in self.plan.cells if cell.entries]
        number = 0
        while active:
            number += 1
            active = self._affordable([cell for cell in active if self._wants_more(cell)])
            for cell in self.plan.in_turn(active, number):
                self._run_block(cell, active)
        return Measured(
            blocks={key: one.blocks for key, one in self._progress.items() if one.cell.entries},
            out_of_budget=bool(self._too_late),
            given_up=tuple(self._given_up),
        )

    def _remember(self, record: TrialRecord) -> None:
        """A trial of the interrupted run that this one resumes."""
        key = f"{record.study}.{record.cell}"
        self._before.setdefault((key, record.block), []).append(record)
        self._failures.add(record)
        self._finished.add(record.trial)
        self._spent_before += record.elapsed_ns
        if record.status != "not_run":
            self.pace.add(key, record.entry, record.elapsed_ns)

    def _wants_more(self, cell: PlannedCell) -> bool:
        own = self._progress[cell.key]
        if cell.key in self._too_late:
            return False
        if own.blocks < cell.min_blocks:
            return True
        if own.blocks >= cell.max_blocks:
            return False
        if is_look(own.blocks):
            for record in own.look(self.look):
                self.leave(record)
        return bool(own.entries)

    def _affordable(self, active: list[PlannedCell]) -> list[PlannedCell]:
        """The cells whose mandatory blocks fit into what is left of the budget, and those that have
        them.

        The plan fitted by its estimate; this fits by the trials so far.
        """
        budget = self.plan.budget_ns
        owing = [cell for cell in active if self._progress[cell.key].owed]
        if budget is None or not self._timed or not owing:
            return active
        # What passes between trials, such as moving builds, goes on passing.
        factor = max(1.0, (self.clock_ns() - self._begun) / self._timed)
        costs = [
            (cell.study, round(factor * self._progress[cell.key].owed * self._block_ns(cell)))
            for cell in owing
        ]
        kept = cells_that_fit(costs, budget - self._spent())
        cut = {cell.key for place, cell in enumerate(owing) if place not in kept}
        self._given_up += [cell.key for cell in owing if cell.key in cut]
        return [cell for cell in active if cell.key not in cut]

    def _spent(self) -> int:
        return self._spent_before + self.clock_ns() - self._begun

    def _block_ns(self, cell: PlannedCell) -> int:
        return sum(
            self.pace.trial(cell.key, entry.name) for entry in self._progress[cell.key].entries
        )

    def _run_block(self, cell: PlannedCell, active: Sequence[PlannedCell]) -> None:
        own = self._progress[cell.key]
        number = own.run + 1
        trials = [
            trial
            for trial in cell.block(number, seed=self.plan.seed)
            if trial.id not in self._finished and trial.entry.name not in own.left
        ]
        if self.plan.budget_ns is not None and trials and number > 1:
            needs = sum(self.pace.trial(cell.key, trial.entry.name) for trial in trials)
            if cell.repeat(number) != cell.repeat(number - 1):
                names = {cell.server, *(trial.entry.contestant for trial in trials)} - {None}
                needs += len(names) * MOVE_NS
            if self._spent() + needs > self.plan.budget_ns:
                self._too_late.add(cell.key)
                return
        block = self._before.get((cell.key, number), [])
        if self.run_block is not None:
            block += self._run_together(trials, cell, active)
        else:
            block += self._run_one_by_one(trials, cell, active)
        gone = self.dropped(block)
        if gone:
            self._failures.forget(block)
        own.ended(dropped=gone)

    def _run_one_by_one(
        self, trials: Sequence[PlannedTrial], cell: PlannedCell, active: Sequence[PlannedCell]
    ) -> list[TrialRecord]:
        records = []
        for index, trial in enumerate(trials):
            left = self._left(active, cell, trials[index:])
            record, took_ns = self._run_trial(trial, cell, left_ns=left)
            records.append(record)
            self._note(record, cell, trial, took_ns=took_ns)
            self.watcher.after(record, left_ns=left - self.pace.trial(cell.key, trial.entry.name))
        return records

    def _run_together(
        self, trials: Sequence[PlannedTrial], cell: PlannedCell, active: Sequence[PlannedCell]
    ) -> list[TrialRecord]:
        assert self.run_block is not None
        refused = {
            trial.id: kind
            for trial in trials
            if (kind := self._failures.gives_up(cell.key, trial.entry.name)) is not None
        }
        able = [trial for trial in trials if trial.id not in refused]
        left = self._left(active, cell, trials)
        for trial in able[:1]:
            self.watcher.before(trial, left_ns=left)
        with hold():  # finished trials are always stored
            ran = iter(self.run_block(able, cell) if able else ())
            records = [
                replace(
                    not_run(trial, given_up(trial, refused[trial.id]))
                    if trial.id in refused
                    else next(ran),
                    repeat=cell.repeat(trial.block),
                )
                for trial in trials
            ]
            for record in records:
                self.keep(record)
        for trial, record in zip(trials, records, strict=True):
            # They ran at the same time: each took its share of it.
            self._note(record, cell, trial, took_ns=record.elapsed_ns // max(1, len(able)))
            left -= self.pace.trial(cell.key, trial.entry.name)
            self.watcher.after(record, left_ns=max(0, left))
        return records

    def _note(
        self, record: TrialRecord, cell: PlannedCell, trial: PlannedTrial, *, took_ns: int
    ) -> None:
        if record.status != "not_run":
            self.pace.add(cell.key, trial.entry.name, took_ns)
            self._timed += took_ns
        self._failures.add(record)

    def _run_trial(
        self, trial: PlannedTrial, cell: PlannedCell, *, left_ns: int
    ) -> tuple[TrialRecord, int]:
        """The stored record, which may say that the trial did not take place, and the time that it
        took with those that were void before it.
        """
        kind = self._failures.gives_up(cell.key, trial.entry.name)
        if kind is None:
            self.watcher.before(trial, left_ns=left_ns)
        with hold():  # a finished trial is always stored
            if kind is not None:
                record, took_ns = not_run(trial, given_up(trial, kind)), 0
            else:
                record, took_ns = self._sound.run(trial, cell)
            record = replace(record, repeat=cell.repeat(trial.block))
            self.keep(record)
        return record, took_ns

    def _left(
        self, active: Sequence[PlannedCell], at: PlannedCell, here: Sequence[PlannedTrial]
    ) -> int:
        """The estimated time of the remaining mandatory blocks; after them, the rest of the budget.
        Other blocks that the stop rule or a dropped block may add are not counted.
        """
        owing = any(self._progress[cell.key].owed for cell in active)
        if not owing and self.plan.budget_ns is not None:
            return max(0, self.plan.budget_ns - self._spent())
        total = sum(self.pace.trial(at.key, trial.entry.name) for trial in here)
        for cell in active:
            blocks = self._progress[cell.key].owed - (1 if cell.key == at.key else 0)
            total += max(0, blocks) * self._block_ns(cell)
        return total


def given_up(trial: PlannedTrial, kind: str) -> FailureRecord:
    """Why a trial is not run: its entry failed in the same way before."""
    message = (
        f"not run: {trial.entry.name} failed with {kind} in {GIVE_UP_AFTER} earlier blocks of this"
        " cell"
    )
    return FailureRecord(kind=kind, phase="plan", message=message)


def not_run(
    trial: PlannedTrial, why: FailureRecord, *, status: Status = "not_run", at_unix_ns: int = 0
) -> TrialRecord:
    """The record of a trial that did not take place."""
    return TrialRecord(
        trial=trial.id,
        study=trial.study,
        cell=trial.cell,
        block=trial.block,
        position=trial.position,
        entry=trial.entry.name,
        contestant=trial.entry.contestant,
        twin_of=trial.entry.twin_of,
        status=status,
        failure=why,
        started_unix_ns=at_unix_ns,
        elapsed_ns=0,
    )
