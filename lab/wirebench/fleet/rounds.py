"""Which host measures which block next, and what becomes of a block whose host is lost.

A block belongs to one host for good, because what is compared within it must have been measured on
one machine. A lost host keeps its blocks: it finishes them when it comes back. Meanwhile the cell
gets a block under the next number elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from wirebench.fleet.orders import BlockRecord
from wirebench.plan.blocks import PlannedTrial
from wirebench.plan.estimate import Pace
from wirebench.plan.model import Plan, PlannedCell
from wirebench.plan.stop import Look, is_look
from wirebench.run.measure import Dropped, Measured, given_up, not_run
from wirebench.run.tally import CellTally, Failures
from wirebench.store.records import LeftRecord
from wirebench.trial.record import TrialRecord


@dataclass(frozen=True, kw_only=True)
class Handed:
    """A block that a host is to measure now."""

    host: str
    cell: PlannedCell
    block: int
    trials: tuple[PlannedTrial, ...]
    """Those that are missing."""


_State = Literal["measured", "whole", "dropped", "lost"]
"""Measured now; or whole, but perhaps in vain; or lost with its host, as long as it is."""


@dataclass(kw_only=True)
class _Block:
    """One block that was given to a host."""

    host: str
    expected: frozenset[str]
    """The ids of its trials."""
    done: dict[str, TrialRecord] = field(default_factory=dict)
    state: _State = "measured"

    @property
    def missing(self) -> bool:
        return not self.expected <= set(self.done)


@dataclass(kw_only=True)
class Rounds:
    """The progress of a run on several hosts.

    Each host goes through the cells in turns, and takes the one that it has had least often: so
    each cell has about as many blocks of every host.
    """

    plan: Plan
    look: Look
    dropped: Dropped
    keep: Callable[..., object]
    """Stores these trials."""
    leave: Callable[[LeftRecord], None]
    note: Callable[[BlockRecord], None]
    """Stores who has a block, before its host hears of it."""
    pace: Pace
    clock_ns: Callable[[], int]
    spent_before_ns: int = 0

    def __post_init__(self) -> None:
        self._cells = {cell.key: cell for cell in self.plan.cells if cell.entries}
        self._tallies = {key: CellTally(cell=cell) for key, cell in self._cells.items()}
        self._blocks: dict[tuple[str, int], _Block] = {}
        self._states = {key: Counter[_State]() for key in self._cells}
        """How many blocks of each cell are what: a fleet of many hosts has too many to count anew.
        """
        self._lost: dict[str, dict[tuple[str, int], None]] = {}
        """By host, in the order in which they were lost."""
        self._looked: dict[str, int] = {}
        self._had: Counter[tuple[str, str]] = Counter()
        self._failures = Failures()
        self._begun = self.clock_ns()
        self._ended: set[str] = set()
        """The cells whose next block would exceed the time budget."""

    def resume(
        self,
        blocks: Iterable[BlockRecord],
        done: Sequence[TrialRecord],
        left: Iterable[LeftRecord] = (),
    ) -> None:
        """What the interrupted run has: its blocks that are not whole wait for their hosts."""
        for gone in left:
            if f"{gone.study}.{gone.cell}" in self._tallies:
                self._tallies[f"{gone.study}.{gone.cell}"].left.add(gone.entry)
        for one in blocks:
            if one.cell in self._cells and (one.cell, one.block) not in self._blocks:
                self._begin(one)
        for record in done:
            self._add(record)
        for at in self._blocks:
            self._end(at)

    def next(self, host: str) -> Handed | None:
        """What this host measures now; None if there is nothing for it at present."""
        while (at := self._unfinished(host) or self._new(host)) is not None:
            key, number = at
            trials = self._missing(at)
            if trials:
                self._put(at, "measured")
                return Handed(host=host, cell=self._cells[key], block=number, trials=trials)
            self._end(at)
        return None

    def take(self, records: Iterable[TrialRecord]) -> None:
        """Trials from a host, old and new: each is kept once, and only of the block's own host."""
        new: dict[str, TrialRecord] = {}
        touched: dict[tuple[str, int], _Block] = {}
        for record in records:
            at = f"{record.study}.{record.cell}", record.block
            block = self._blocks.get(at)
            if block is None or block.host != record.host or record.trial not in block.expected:
                continue
            if record.trial not in block.done:
                new.setdefault(record.trial, record)
                touched[at] = block
        if not new:
            return
        self.keep(*new.values())
        for record in new.values():
            self._add(record)
        for at, block in touched.items():
            if block.state == "lost" and not block.missing:
                self._end(at)

    def ended(self, handed: Handed) -> None:
        """The host has done what it can of the block, and ``take()`` has what it sent."""
        self._end((handed.cell.key, handed.block))

    def lacks(self, handed: Handed) -> bool:
        """Whether trials of the block are missing."""
        return self._blocks[handed.cell.key, handed.block].missing

    @property
    def under_way(self) -> bool:
        """Whether a host has a block now."""
        return any(states["measured"] for states in self._states.values())

    @property
    def wanting(self) -> bool:
        """Whether a cell has not all its blocks."""
        return any(map(self._wants_more, self._cells))

    @property
    def measured(self) -> Measured:
        return Measured(
            blocks={key: one.blocks for key, one in self._tallies.items()},
            out_of_budget=bool(self._ended),
        )

    def _unfinished(self, host: str) -> tuple[str, int] | None:
        return next(iter(self._lost.get(host, ())), None)

    def _missing(self, at: tuple[str, int]) -> tuple[PlannedTrial, ...]:
        """The trials that the block lacks, without those of entries that are given up, which are
        kept as that.
        """
        key, number = at
        block, trials = self._blocks[at], []
        for trial in self._cells[key].block(number, seed=self.plan.seed):
            if trial.id not in block.expected or trial.id in block.done:
                continue
            kind = self._failures.gives_up(key, trial.entry.name)
            if kind is None:
                trials.append(trial)
            else:
                record = replace(not_run(trial, given_up(trial, kind)), host=block.host)
                self.keep(record)
                self._add(record)
        return tuple(trials)

    def _new(self, host: str) -> tuple[str, int] | None:
        wanting = [key for key in self._cells if self._wants_more(key)]
        late = {key for key in wanting if self._too_late(key)}
        self._ended |= late
        wanting = [key for key in wanting if key not in late]
        if not wanting:
            return None
        places = {key: place for place, key in enumerate(self._cells)}
        key = min(
            wanting,
            key=lambda one: (
                self._tallies[one].owed == 0,
                self._had[host, one],
                self._handed(one),
                places[one],
            ),
        )
        number = self._handed(key) + 1
        record = BlockRecord(
            cell=key,
            block=number,
            host=host,
            trials=tuple(
                trial.id
                for trial in self._cells[key].block(number, seed=self.plan.seed)
                if trial.entry.name not in self._tallies[key].left
            ),
        )
        self.note(record)
        self._begin(record)
        return key, number

    def _too_late(self, key: str) -> bool:
        """Whether the budget ends before a block would. The first block of a cell always runs."""
        budget, tally = self.plan.budget_ns, self._tallies[key]
        if budget is None or self._handed(key) == 0:
            return False
        needs = sum(self.pace.trial(key, entry.name) for entry in tally.entries)
        return self.spent_before_ns + self.clock_ns() - self._begun + needs > budget

    def _wants_more(self, key: str) -> bool:
        """Whether the cell is to have another block now. A look waits for the blocks before it."""
        if key in self._ended:
            return False
        cell, tally = self._cells[key], self._tallies[key]
        under_way = self._states[key]["measured"]
        have = tally.blocks + under_way
        if have < cell.min_blocks:
            return True
        if not tally.entries or have >= cell.max_blocks:
            return False
        if is_look(have) and self._looked.get(key) != have:
            if under_way:
                return False
            self._looked[key] = have
            for record in tally.look(self.look):
                self.leave(record)
        return bool(tally.entries)

    def _begin(self, record: BlockRecord) -> None:
        self._blocks[record.cell, record.block] = _Block(
            host=record.host, expected=frozenset(record.trials)
        )
        self._states[record.cell]["measured"] += 1
        self._had[record.host, record.cell] += 1

    def _add(self, record: TrialRecord) -> None:
        key = f"{record.study}.{record.cell}"
        block = self._blocks.get((key, record.block))
        if block is None:
            return
        block.done[record.trial] = record
        self._failures.add(record)
        if record.status != "not_run":
            self.pace.add(key, record.entry, record.elapsed_ns)

    def _end(self, at: tuple[str, int]) -> None:
        """A block is not measured any more: whole, dropped or lost."""
        key, block = at[0], self._blocks[at]
        if block.missing:
            self._put(at, "lost")
        elif self.dropped(list(block.done.values())):
            self._failures.forget(block.done.values())
            self._put(at, "dropped")
        else:
            self._put(at, "whole")
        tally, states = self._tallies[key], self._states[key]
        tally.run = self._handed(key) - states["measured"]
        tally.dropped = states["dropped"] + states["lost"]

    def _put(self, at: tuple[str, int], state: _State) -> None:
        block = self._blocks[at]
        self._states[at[0]][block.state] -= 1
        self._states[at[0]][state] += 1
        block.state = state
        lost = self._lost.setdefault(block.host, {})
        if state == "lost":
            lost[at] = None
        else:
            lost.pop(at, None)

    def _handed(self, key: str) -> int:
        """The number of its last block."""
        return self._states[key].total()
