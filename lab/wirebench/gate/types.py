"""What a gate finds: one row for each threshold, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from wirebench.catalog.units import count_of
from wirebench.gate.thresholds import Threshold

State = Literal["holds", "regressed", "undecided", "invalid"]
EXIT_CODES: Mapping[State, int] = {"holds": 0, "regressed": 1, "undecided": 2, "invalid": 3}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One threshold, for one entry of one cell."""

    threshold: Threshold
    where: str
    """The study, cell and contestant; empty for a duel, which has one of each."""
    base: float | None
    """Median over the trials, in the metric's unit."""
    head: float | None
    estimate: float | None
    """What the limit is compared with: head over base, head's own figure, or its errors."""
    low: float | None
    high: float | None
    """The 95% interval of ``estimate``. None with too few blocks, and of errors, which are
    counted.
    """
    state: State
    reason: str = ""
    """Why it is not decided, or what else to know."""
    more_blocks: int | None = None
    """About how many more blocks would decide it in four of five cases, or how many it lacks for an
    interval; None: not known, or no affordable number would.
    """

    @property
    def title(self) -> str:
        return f"{self.where}: {self.threshold}" if self.where else str(self.threshold)


@dataclass(frozen=True, kw_only=True)
class Found:
    """The result of a gate."""

    rows: tuple[Row, ...]
    blocks: int
    invalid: tuple[str, ...] = ()
    """Why nothing may be claimed: a server that died, with its last words."""
    notes: tuple[str, ...] = ()
    block_seconds: float | None = None
    """How long a block takes, where the gate measured itself."""
    exactly: bool = False
    """Whether the number of blocks was given, so that no time counts."""

    @property
    def state(self) -> State:
        """Invalid before all; then regressed as soon as one row is; holds only when all do."""
        if self.invalid:
            return "invalid"
        states = {row.state for row in self.rows}
        for one in ("invalid", "regressed", "undecided"):
            if one in states:
                return one
        return "holds" if self.rows else "invalid"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.state]

    def keeping(self, earlier: Found | None) -> Found:
        """With what an earlier look at the same thresholds decided and this one does not: it has
        paid for its claims with a level of its own. Errors are counted, so the last count holds.
        """
        if earlier is None:
            return self
        decided = f"decided after {count_of(earlier.blocks, 'block')}"
        rows = tuple(
            replace(before, reason=before.reason or decided)
            if row.state == "undecided" and before.state in ("holds", "regressed")
            else row
            for row, before in zip(self.rows, earlier.rows, strict=True)
        )
        return replace(self, rows=rows)

    @property
    def more_blocks(self) -> int | None:
        """What would probably decide every row that is open. None where that is not known of one of
        them, or no affordable number would.
        """
        needs = [row.more_blocks for row in self.rows if row.state == "undecided"]
        known = [one for one in needs if one is not None]
        return max(known) if known and len(known) == len(needs) else None
