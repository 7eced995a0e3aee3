"""The published figures of a study beside those of a run, and whether their orders agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from wirebench.catalog.published import Instead, Published, PublishedFigure, PublishedTable
from wirebench.report.figures import amount, bound_sign, figure_sign, value_of
from wirebench.stats.bottleneck import LIMITED_METRICS, bound_of
from wirebench.stats.summary import higher_is_better
from wirebench.stats.types import CellAnalysis, EntryAnalysis


@dataclass(frozen=True, kw_only=True)
class BesideRow:
    """One published figure and ours. ``ours`` and ``ratio`` are empty where ``note`` says why."""

    published: str
    theirs: str
    contestant: str
    """Ours; empty where there is none."""
    cell: str
    ours: str
    ratio: str
    """Ours over theirs. Two hosts and two load generators: no verdict follows from it."""
    note: str


@dataclass(frozen=True, kw_only=True)
class Order:
    """The pairs of a table that stand in one cell of ours, by the run's verdicts on the table's
    metric.

    Pairs with equal published figures, or without a figure of ours, do not count.
    """

    agree: int
    disagree: int
    open: int
    """Not separable here: undecided, equivalent, or bounds that support no claim."""
    judged: bool = True
    """Whether the run has verdicts by this metric."""

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
        if not self.judged:
            return "order: not compared; the run has no verdicts by this metric"
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
    place: str
    """Where in the original."""
    command: str
    unit: str
    rows: tuple[BesideRow, ...]
    instead: str
    """Which cells of the run stand for others that it lacks, and how they differ."""
    order: Order


def beside(published: Published, cells: Sequence[CellAnalysis]) -> tuple[BesideTable, ...]:
    """The published tables with the figures of a run's cells, which are of the same study."""
    by_id = {cell.cell: cell for cell in cells}
    return tuple(
        BesideTable(
            title=table.title,
            place=table.place,
            command=table.command,
            unit=table.unit,
            rows=tuple(_row(table, row, by_id) for row in table.rows),
            instead=_instead(table, by_id),
            order=_order(table, by_id),
        )
        for table in published.tables
    )


def _cells_for(table: PublishedTable, row: PublishedFigure) -> Iterator[tuple[str, Instead | None]]:
    """The row's cell, and those that may stand for it, the nearest first."""
    if row.cell is not None:
        yield row.cell, None
    yield from ((one.cell, one) for one in table.instead if one.of == row.cell)


def _cell_of(
    table: PublishedTable, row: PublishedFigure, cells: Mapping[str, CellAnalysis]
) -> tuple[CellAnalysis | None, Instead | None]:
    """The row's cell, or the nearest of those that the run has in its place."""
    found = ((cells[name], instead) for name, instead in _cells_for(table, row) if name in cells)
    return next(found, (None, None))


def _instead(table: PublishedTable, cells: Mapping[str, CellAnalysis]) -> str:
    used = (_cell_of(table, row, cells)[1] for row in table.rows)
    found = {
        f"{one.cell} stands for {one.of}: {one.differs}": None for one in used if one is not None
    }
    return "; ".join(found)


def _row(
    table: PublishedTable, row: PublishedFigure, cells: Mapping[str, CellAnalysis]
) -> BesideRow:
    ours, ratio, note = "", "", row.absent
    cell = _cell_of(table, row, cells)[0]
    if row.cell is not None:
        entry, note = _entry(row, cell)
        value = value_of(entry, table.metric) if entry is not None else None
        if entry is not None and value is not None:
            ours = figure_sign(entry, table.metric) + amount(table.metric, value)
            ratio = _ratio(table.metric, row, entry, value)
            note = "; ".join(said for said in (row.near, entry.unranked) if said)
        elif entry is not None:
            note = entry.unranked or "its trials lack this metric"
    return BesideRow(
        published=row.published,
        theirs=_theirs(table.metric, row),
        contestant=row.contestant or "",
        cell=cell.cell if cell is not None else row.cell or "",
        ours=ours,
        ratio=ratio,
        note=note,
    )


def _theirs(metric: str, row: PublishedFigure) -> str:
    if row.value is None:
        return row.said
    text = bound_sign(row.bound) + amount(metric, row.value)
    return f"{text} ({row.said})" if row.said else text


def _ratio(metric: str, row: PublishedFigure, entry: EntryAnalysis, value: float) -> str:
    """Ours over theirs, with the sign of what is only a bound of either."""
    if row.value is None:
        return ""
    limited = entry.generator_bound and metric in LIMITED_METRICS
    signs = {
        bound_of(limited=limited, other_limited=False, higher_is_better=higher_is_better(metric)),
        {"at least": "at most", "at most": "at least"}.get(row.bound or ""),
    } - {None}
    sign = bound_sign("no bound" if len(signs) > 1 else next(iter(signs), None))  # type: ignore[arg-type]  # their own words
    return f"{sign}{value / row.value:.2f}x"


def _entry(row: PublishedFigure, cell: CellAnalysis | None) -> tuple[EntryAnalysis | None, str]:
    """Our entry for a published figure, or why there is none."""
    if cell is None:
        return None, "the run has no such cell"
    entry = cell.entry(row.contestant or "")
    return entry, "" if entry is not None else "not in the run"


def _order(table: PublishedTable, cells: Mapping[str, CellAnalysis]) -> Order:
    counts = {"agree": 0, "disagree": 0, "open": 0}
    up = higher_is_better(table.metric)
    found = [
        (row, row.value, _cell_of(table, row, cells)[0])
        for row in table.rows
        if row.value is not None and row.cell is not None
    ]
    for (a, first, cell), (b, second, other) in combinations(found, 2):
        if cell is None or cell is not other or first == second:
            continue
        better, worse = (a, b) if (first > second) == up else (b, a)
        ahead, behind = (cell.entry(row.contestant or "") for row in (better, worse))
        if ahead is None or behind is None:
            continue
        if any(value_of(one, table.metric) is None for one in (ahead, behind)):
            continue
        counts[_judge(table.metric, ahead, behind)] += 1
    judged = all(table.metric in cell.bands for _, _, cell in found if cell is not None)
    return Order(**counts, judged=judged)


def _judge(metric: str, better: EntryAnalysis, worse: EntryAnalysis) -> str:
    """Whether the run's verdict on a pair, Holm-corrected over the cell's table, says the same."""
    if _beats(metric, better, worse):
        return "agree"
    return "disagree" if _beats(metric, worse, better) else "open"


def _beats(metric: str, one: EntryAnalysis, other: EntryAnalysis) -> bool:
    """By the verdicts of their cell. The floor has no rank: every other's verdict is against it."""
    if one.is_floor or other.is_floor:
        standing = (other if one.is_floor else one).standings.get(metric)
        verdict = standing.verdict if standing is not None else None
        return verdict is not None and verdict.kind == ("slower" if one.is_floor else "faster")
    standing = other.standings.get(metric)
    return standing is not None and one.entry in standing.beaten_by
