"""What the measuring loop counts: the blocks and entries of each cell, and failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from wirebench.plan.blocks import Entry
from wirebench.plan.model import PlannedCell
from wirebench.plan.stop import Look
from wirebench.store.records import LeftRecord
from wirebench.trial.record import FailureRecord, TrialRecord

GIVE_UP_AFTER = 2
"""After this many blocks in which an entry failed in the same way, the cell's other blocks leave it
out. Our own choice.
"""


@dataclass(kw_only=True)
class CellTally:
    """How far a cell has come.

    A dropped block is run again under the next number, at most ``min_blocks`` times in a cell, so
    that the run also ends on a host that is always disturbed.
    """

    cell: PlannedCell
    run: int = 0
    dropped: int = 0
    left: set[str] = field(default_factory=set)
    """The entries that need no more blocks."""

    @property
    def blocks(self) -> int:
        return self.run - min(self.dropped, self.cell.min_blocks)

    @property
    def owed(self) -> int:
        """The mandatory blocks that it does not have yet."""
        return max(0, self.cell.min_blocks - self.blocks)

    @property
    def entries(self) -> list[Entry]:
        return [entry for entry in self.cell.entries if entry.name not in self.left]

    def ended(self, *, dropped: bool) -> None:
        self.run += 1
        self.dropped += dropped

    def look(self, look: Look) -> list[LeftRecord]:
        """The entries that leave the cell now. A cell without an open entry, whose twin has
        its interval, is left by all.
        """
        cell = self.cell
        present = frozenset(entry.name for entry in self.entries)
        found = look(cell.key, self.run, present)
        seconds = {entry.name for entry in cell.entries if entry.twin_of is not None}
        staying = {*seconds, *(entry.twin_of for entry in cell.entries)}
        if not found.floor_known:
            staying |= set(cell.floors)
        judged = present - set(cell.floors) - seconds
        if judged <= set(found.settled) | found.hopeless and not found.twin_open:
            self.left.update(present)
            return []
        leaving = [
            entry.name
            for entry in self.entries
            if entry.name in found.settled and entry.name not in staying
        ]
        self.left.update(leaving)
        return [
            LeftRecord(
                study=cell.study,
                cell=cell.cell.id,
                entry=name,
                blocks=self.blocks,
                reason=found.settled[name],
            )
            for name in leaving
        ]


@dataclass(kw_only=True)
class Failures:
    """Failures by cell, entry and kind, over the blocks of this run and of the interrupted run
    before it.
    """

    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def add(self, record: TrialRecord) -> None:
        if record.status == "failed" and record.failure is not None and record.block > 0:
            self.counts[self._key(record, record.failure)] += 1

    def forget(self, block: Iterable[TrialRecord]) -> None:
        """Those of a dropped block: the host disturbed it, and it is run again."""
        for record in block:
            if record.status == "failed" and record.failure is not None and record.block > 0:
                self.counts[self._key(record, record.failure)] -= 1

    @staticmethod
    def _key(record: TrialRecord, failure: FailureRecord) -> tuple[str, str, str]:
        return f"{record.study}.{record.cell}", record.entry, failure.kind

    def gives_up(self, cell: str, entry: str) -> str | None:
        """The kind of failure for which the cell leaves the entry out; None if it still runs."""
        for (at_cell, at_entry, kind), count in self.counts.items():
            if (at_cell, at_entry) == (cell, entry) and count >= GIVE_UP_AFTER:
                return kind
        return None
