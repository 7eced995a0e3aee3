"""The published figures of a study beside those of a run, and whether their orders agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from wirebench.catalog.published import Published, PublishedFigure, PublishedTable
from wirebench.report.figures import amount, figure_sign, value_of
from wirebench.stats.summary import higher_is_better
from wirebench.stats.types import CellAnalysis, EntryAnalysis


@dataclass(frozen=True, kw_only=True)
class BesideRow:
    """One published figure and ours. ``ours`` and ``ratio`` are empty where ``note`` says why."""

    published: str
    theirs: str
    stands: str
    """Our contestant and cell."""
    ours: str
    ratio: str
    """Ours over theirs. Two hosts and two load generators: no verdict follows from it."""
    note: str


@dataclass(frozen=True, kw_only=True)
class Order:
    """The pairs of a table that stand in one cell of ours, by the verdicts of the run.

    Pairs with equal published figures, or without a figure of ours, do not count.
    """

    agree: int
    disagree: int
    open: int
    """Not separable here: undecided, equivalent, or bounds that support no claim."""

    @property
    def pairs(self) -> int:
        return self.agree + self.disagree + self.open

    @property
    def tau(self) -> tuple[float, float] | None:
        """The least and the greatest rank correlation (Kendall 1938, tau-a over these pairs) that
        the open pairs allow; None without a pair.
        """
        if not self.pairs:
            return None
        settled = self.agree - self.disagree
        return (settled - self.open) / self.pairs, (settled + self.open) / self.pairs

    def __str__(self) -> str:
        if self.tau is None:
            return "order: no two figures of this table can be compared in one cell of the run"
        low, high = self.tau
        return (
            f"order: {self.agree} of {self.pairs} pairs agree, {self.disagree} disagree,"
            f" {self.open} not separable here; Kendall's tau {low:.2f} to {high:.2f}"
        )


@dataclass(frozen=True, kw_only=True)
class BesideTable:
    title: str
    command: str
    unit: str
    rows: tuple[BesideRow, ...]
    order: Order


def beside(published: Published, cells: Sequence[CellAnalysis]) -> tuple[BesideTable, ...]:
    """The published tables with the figures of a run's cells, which are of the same study."""
    by_id = {cell.cell: cell for cell in cells}
    return tuple(
        BesideTable(
            title=table.title,
            command=table.command,
            unit=table.unit,
            rows=tuple(_row(table, row, by_id) for row in table.rows),
            order=_order(table, by_id),
        )
        for table in published.tables
    )


def _row(
    table: PublishedTable, row: PublishedFigure, cells: Mapping[str, CellAnalysis]
) -> BesideRow:
    stands, ours, ratio, note = "", "", "", row.absent
    if row.cell is not None:
        stands = f"{row.contestant} {row.cell}"
        entry, note = _entry(row, cells)
        value = value_of(entry, table.metric) if entry is not None else None
        if entry is not None and value is not None:
            sign = figure_sign(entry, table.metric)
            ours = sign + amount(table.metric, value)
            ratio = f"{sign}{value / row.value:.2f}x"
            near = f"stands for it: {row.near}" if row.near else ""
            note = "; ".join(said for said in (near, entry.unranked) if said)
        elif entry is not None:
            note = entry.unranked or "no valid trial"
    return BesideRow(
        published=row.published,
        theirs=amount(table.metric, row.value),
        stands=stands,
        ours=ours,
        ratio=ratio,
        note=note,
    )


def _entry(
    row: PublishedFigure, cells: Mapping[str, CellAnalysis]
) -> tuple[EntryAnalysis | None, str]:
    """Our entry for a published figure, or why there is none."""
    cell = cells.get(row.cell or "")
    if cell is None:
        return None, "the run has no such cell"
    entry = cell.entry(row.contestant or "")
    return entry, "" if entry is not None else "not in the run"


def _order(table: PublishedTable, cells: Mapping[str, CellAnalysis]) -> Order:
    counts = {"agree": 0, "disagree": 0, "open": 0}
    up = higher_is_better(table.metric)
    for a, b in combinations(table.rows, 2):
        cell = cells.get(a.cell or "")
        if cell is None or a.cell != b.cell or a.value == b.value:
            continue
        if any(_value(cell, row, table.metric) is None for row in (a, b)):
            continue
        better, worse = (a, b) if (a.value > b.value) == up else (b, a)
        counts[_judge(cell, table.metric, better, worse)] += 1
    return Order(**counts)


def _value(cell: CellAnalysis, row: PublishedFigure, metric: str) -> float | None:
    entry = cell.entry(row.contestant or "")
    return value_of(entry, metric) if entry is not None else None


def _judge(cell: CellAnalysis, metric: str, better: PublishedFigure, worse: PublishedFigure) -> str:
    """Whether the run's verdict on a pair, Holm-corrected over the cell's table, says the same."""
    if metric != cell.metric:
        return "open"
    names = better.contestant or "", worse.contestant or ""
    for (a, b), same in ((names, "faster"), (names[::-1], "slower")):
        pair = cell.pair(a, b)
        if pair is not None and pair.verdict.kind in ("faster", "slower"):
            return "agree" if pair.verdict.kind == same else "disagree"
    return "open"
