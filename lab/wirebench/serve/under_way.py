"""What is known of a run that is still being measured, from its growing file of trials."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from wirebench.catalog.model import Unit, unit_of
from wirebench.plan.model import Plan, PlannedCell
from wirebench.stats.summary import higher_is_better
from wirebench.store.rundir import TRIALS_FILE, read_plan

POLL_S = 0.25


@dataclass(frozen=True, kw_only=True)
class Row:
    """One entry of a cell."""

    entry: str
    trials: int
    """Those that took place."""
    failed: int
    median: float | None
    """Of the cell's main figure over the trials that were right; None before there is one."""
    ratio: float | None
    """To the median of the floor."""


@dataclass(frozen=True, kw_only=True)
class CellSoFar:
    study: str
    cell: str
    metric: str
    unit: Unit
    blocks: int
    """In which every entry has a trial, or none is left out yet."""
    least_blocks: int
    rows: tuple[Row, ...]
    """The best first; those without a figure at the end."""


class UnderWay:
    """Follows the trials of one run. Reads each stored line once."""

    def __init__(self, path: Path) -> None:
        self._file = path / TRIALS_FILE
        self._path = path
        self._read_to = 0
        self._plan: Plan | None = None
        self._figures: dict[tuple[str, str], list[float]] = {}
        self._blocks: dict[str, set[int]] = {}
        self._tried: Counter[tuple[str, str]] = Counter()
        self._failed: Counter[tuple[str, str]] = Counter()
        self._not_run: Counter[tuple[str, str]] = Counter()
        self._spent_ns = 0

    @property
    def trials(self) -> int:
        return self._tried.total()

    @property
    def read_to(self) -> int:
        """How many bytes of the file of trials are in this."""
        return self._read_to

    def refresh(self) -> None:
        """Read the trials that were stored since. Errors: ``StoreError`` from the plan."""
        if self._plan is None:
            self._plan = read_plan(self._path)
        if self._plan is None:
            return
        metrics = {cell.key: cell.cell.primary for cell in self._plan.cells}
        for line in self._new_lines():
            self._add(line, metrics)

    def wait_for_more(self, read_to: int, *, longest_s: float) -> None:
        """Until the file of trials is longer than this, which is the moment after a timed window,
        or until the time is up.
        """
        until = time.monotonic() + longest_s
        while self._size() <= read_to and time.monotonic() < until:
            time.sleep(POLL_S)

    def _size(self) -> int:
        try:
            return self._file.stat().st_size
        except FileNotFoundError:
            return 0

    def _new_lines(self) -> Sequence[bytes]:
        if self._size() <= self._read_to:
            return ()
        with self._file.open("rb") as file:
            file.seek(self._read_to)
            more = file.read()
        whole = more[: more.rfind(b"\n") + 1]
        self._read_to += len(whole)
        return whole.splitlines()

    def _add(self, line: bytes, metrics: dict[str, str]) -> None:
        try:
            record = json.loads(line)
            cell = f"{record['study']}.{record['cell']}"
            who = cell, str(record["entry"])
            block, status = int(record["block"]), record["status"]
            value = record["metrics"].get(metrics.get(cell, ""))
            elapsed = int(record["elapsed_ns"])
        except (ValueError, KeyError, TypeError, AttributeError):
            return  # the report says what is wrong with it
        if block == 0:
            return
        self._tried[who] += 1
        self._failed[who] += status == "failed"
        self._not_run[who] += status == "not_run"
        self._blocks.setdefault(cell, set()).add(block)
        self._spent_ns += elapsed
        if status == "ok" and isinstance(value, int | float):
            self._figures.setdefault(who, []).append(float(value))

    @property
    def least_trials(self) -> int:
        """Those that the run makes at least; it may make more where verdicts are open."""
        cells = self._plan.cells if self._plan is not None else ()
        return sum(cell.min_blocks * len(cell.entries) for cell in cells)

    @property
    def left_ns(self) -> int | None:
        """The time that the trials that are left of ``least_trials`` take at the pace so far. None
        before there is one.
        """
        if not self.trials:
            return None
        return max(0, self.least_trials - self.trials) * (self._spent_ns // self.trials)

    def cells(self) -> list[CellSoFar]:
        return [self._cell(cell) for cell in (self._plan.cells if self._plan is not None else ())]

    def _cell(self, cell: PlannedCell) -> CellSoFar:
        metric = cell.cell.primary
        medians = {
            entry.name: median(found)
            if (found := self._figures.get((cell.key, entry.name)))
            else None
            for entry in cell.entries
        }
        floor = next((medians[one] for one in cell.floors if medians.get(one)), None)
        rows = [
            Row(
                entry=entry.name,
                trials=self._tried[cell.key, entry.name] - self._not_run[cell.key, entry.name],
                failed=self._failed[cell.key, entry.name],
                median=(own := medians[entry.name]),
                ratio=own / floor if own is not None and floor else None,
            )
            for entry in cell.entries
            if entry.twin_of is None
        ]
        sign = -1 if higher_is_better(metric) else 1
        rows.sort(key=lambda row: (row.median is None, sign * (row.median or 0), row.entry))
        return CellSoFar(
            study=cell.study,
            cell=cell.cell.id,
            metric=metric,
            unit=unit_of(cell.cell.workload),
            blocks=len(self._blocks.get(cell.key, ())),
            least_blocks=cell.min_blocks,
            rows=tuple(rows),
        )
