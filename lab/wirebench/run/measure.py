"""The measuring loop: run blocks of trials until every cell has enough, and store each trial at
once.

Processes and the clock are arguments, so that the tests can use fakes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from wirebench.plan.blocks import PlannedTrial
from wirebench.plan.estimate import Pace
from wirebench.plan.model import Plan, PlannedCell
from wirebench.plan.stop import Settled, wants_more
from wirebench.process.interrupt import hold
from wirebench.trial.record import FailureRecord, Status, TrialRecord

GIVE_UP_AFTER = 2
"""After this many blocks in which an entry failed in the same way, the cell's other blocks leave it
out. Our own choice.
"""


class Watcher(Protocol):
    """Called before and after each trial, never during a timed window."""

    def before(self, trial: PlannedTrial, *, left_ns: int) -> None: ...

    def after(self, record: TrialRecord, *, left_ns: int) -> None: ...


RunTrial = Callable[[PlannedTrial, PlannedCell], TrialRecord]
Dropped = Callable[[Sequence[TrialRecord]], bool]
"""Whether limits declared beforehand drop a block with these trials. The outcome plays no part."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The result of the loop: why it ended, and the blocks of each cell."""

    blocks: dict[str, int]
    """The blocks that count. A dropped block that was run again does not."""
    out_of_budget: bool


@dataclass(kw_only=True)
class _Progress:
    """How far a cell has come.

    A dropped block is run again under the next number, at most ``min_blocks`` times in a cell, so
    that the run also ends on a host that is always disturbed.
    """

    cell: PlannedCell
    run: int = 0
    dropped: int = 0

    @property
    def blocks(self) -> int:
        return self.run - min(self.dropped, self.cell.min_blocks)

    def ended(self, *, dropped: bool) -> None:
        self.run += 1
        self.dropped += dropped


@dataclass(kw_only=True)
class _Failures:
    """Failures by cell, entry and kind, over the blocks of this run and of the interrupted run
    before it.
    """

    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def add(self, record: TrialRecord) -> None:
        if record.status == "failed" and record.failure is not None and record.block > 0:
            self.counts[f"{record.study}.{record.cell}", record.entry, record.failure.kind] += 1

    def gives_up(self, cell: str, entry: str) -> str | None:
        """The kind of failure for which the cell leaves the entry out; None if it still runs."""
        for (at_cell, at_entry, kind), count in self.counts.items():
            if (at_cell, at_entry) == (cell, entry) and count >= GIVE_UP_AFTER:
                return kind
        return None


def measure(
    plan: Plan,
    *,
    done: Iterable[TrialRecord],
    run_trial: RunTrial,
    keep: Callable[[TrialRecord], None],
    settled: Settled,
    dropped: Dropped,
    clock_ns: Callable[[], int],
    pace: Pace,
    watcher: Watcher,
) -> Measured:
    """Run every trial of the plan that is not in ``done``. ``keep`` stores each trial before the
    next one starts. A block that ``dropped`` refuses is run again.
    """
    failures = _Failures()
    finished: set[str] = set()
    before: dict[tuple[str, int], list[TrialRecord]] = {}
    spent_before = 0
    for record in done:
        before.setdefault((f"{record.study}.{record.cell}", record.block), []).append(record)
        failures.add(record)
        finished.add(record.trial)
        spent_before += record.elapsed_ns
        if record.status != "not_run":
            pace.add(f"{record.study}.{record.cell}", record.entry, record.elapsed_ns)
    begun = clock_ns()
    progress = {cell.key: _Progress(cell=cell) for cell in plan.cells}
    active = [cell for cell in plan.cells if cell.entries]
    out_of_budget = False
    while active:
        active = [
            cell
            for cell in active
            if wants_more(
                cell.key,
                done=progress[cell.key].blocks,
                min_blocks=cell.min_blocks,
                max_blocks=cell.max_blocks,
                settled=settled,
            )
        ]
        for cell in active:
            own = progress[cell.key]
            number = own.run + 1
            trials = [
                trial for trial in cell.block(number, seed=plan.seed) if trial.id not in finished
            ]
            if plan.budget_ns is not None and trials and number > 1:
                needs = sum(pace.trial(cell.key, trial.entry.name) for trial in trials)
                if spent_before + clock_ns() - begun + needs > plan.budget_ns:
                    out_of_budget = True
                    continue
            block = before.get((cell.key, number), [])
            for index, trial in enumerate(trials):
                left = _left(active, progress, cell, trials[index:], pace)
                kind = failures.gives_up(cell.key, trial.entry.name)
                if kind is None:
                    watcher.before(trial, left_ns=left)
                with hold():  # a finished trial is always stored
                    record = (
                        not_run(trial, given_up(trial, kind))
                        if kind is not None
                        else run_trial(trial, cell)
                    )
                    keep(record)
                block.append(record)
                if kind is None:
                    pace.add(cell.key, trial.entry.name, record.elapsed_ns)
                failures.add(record)
                watcher.after(record, left_ns=left - pace.trial(cell.key, trial.entry.name))
            own.ended(dropped=dropped(block))
        if out_of_budget:
            break
    return Measured(
        blocks={key: one.blocks for key, one in progress.items()}, out_of_budget=out_of_budget
    )


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


def _left(
    active: list[PlannedCell],
    progress: dict[str, _Progress],
    at: PlannedCell,
    here: list[PlannedTrial],
    pace: Pace,
) -> int:
    """The estimated time of the remaining mandatory blocks. Blocks that the stop rule or a dropped
    block may add are not counted.
    """
    total = sum(pace.trial(at.key, trial.entry.name) for trial in here)
    for cell in active:
        blocks = cell.min_blocks - progress[cell.key].blocks - (1 if cell.key == at.key else 0)
        total += max(0, blocks) * sum(pace.trial(cell.key, entry.name) for entry in cell.entries)
    return total
