"""The published figures of a study beside those of a run, and whether their orders agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from wirebench.catalog.published import (
    Fallback,
    Instead,
    Published,
    PublishedFigure,
    PublishedTable,
)
from wirebench.catalog.units import count_of
from wirebench.report.figures import (
    FAILED,
    SIGNS,
    amount,
    bound_sign,
    figure_sign,
    times,
    value_of,
    visible,
)
from wirebench.stats.bottleneck import LIMITED_METRICS, bound_of
from wirebench.stats.ranks import places
from wirebench.stats.summary import higher_is_better
from wirebench.stats.types import CellAnalysis, EntryAnalysis, Mark
from wirebench.store.rundir import StoredRun

HOW = (
    "The ratio is ours over theirs: two hosts and two load generators, so no verdict follows from"
    " it. Whether the order agrees follows from the verdicts of the run. ▲ and ▼ stand before the"
    " best and the worst of a table, where those verdicts separate them; x stands where no trial"
    " gave a figure."
)
"""How to read the tables."""
HEADS = ("published as", "published", "ours", "cell", "", "over theirs", "what differs")
CONTESTANT, OURS = 2, 4
FIGURES = (1, OURS, 5)
"""The columns that are set to the right."""
SCALED = (
    ". What a run pays once is multiplied, too: the first connections, and the last requests, which"
    " leave handler threads idle"
)
_LONGEST = 120
"""Characters of a failure."""


@dataclass(frozen=True, kw_only=True)
class BesideRow:
    """One published figure and ours. ``ours`` and ``ratio`` are empty where ``note`` says why."""

    published: str
    theirs: str
    contestant: str
    """Ours; empty where there is none."""
    cell: str
    ours: str
    """``x`` where no trial gave a figure, such as where the server stood still."""
    sign: str
    """Before ours: the best and the worst of the table, as far as the run separates them."""
    mark: str
    """The same as a word, for its colour."""
    ratio: str
    """Ours over theirs. Two hosts and two load generators: no verdict follows from it."""
    note: str


@dataclass(frozen=True, kw_only=True)
class Order:
    """The pairs of a table that stand in one cell of ours, by the run's verdicts on the table's
    metric.

    Pairs with equal published figures, without a figure of ours, or with one entry of ours that
    stands for both, do not count.
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
            f"order: {self.agree} of {count_of(self.pairs, 'pair')}"
            f" agree{'s' if self.agree == 1 else ''},"
            f" {self.disagree} disagree{'s' if self.disagree == 1 else ''},"
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
    run: str = ""
    """Where several runs are read: this table's."""
    missing: str = ""
    """The command that measures cells of the table that no run has."""

    @property
    def remarks(self) -> tuple[str, ...]:
        lines = (
            f"ours: {self.run}" if self.run else "",
            self.instead,
            str(self.order),
            f"no complete run has all these cells, {self.missing!r} measures them"
            if self.missing
            else "",
        )
        return tuple(line for line in lines if line)


def why_absent(run: StoredRun, study: str) -> dict[str, str]:
    """By contestant or the cell's id, why the run lacks it: it was not there, or was left out."""
    planned = run.plan.studies if run.plan is not None else ()
    left_out = next((one.left_out for one in planned if one.name == study), {})
    return left_out | {
        one.contestant: one.reason for one in run.info.absent if study in one.studies
    }


def beside(
    published: Published, cells: Sequence[CellAnalysis], absent: Mapping[str, str] | None = None
) -> tuple[BesideTable, ...]:
    """The published tables with the figures of a run's cells, which are of the same study.
    ``absent``: why the run lacks a contestant or a cell (``why_absent``).
    """
    by_id = {cell.cell: cell for cell in cells}
    return tuple(
        _table(table, [_mapped(published, table, row, by_id) for row in table.rows], absent or {})
        for table in published.tables
    )


@dataclass(frozen=True, kw_only=True)
class _Mapped:
    """A published figure, and what of ours stands beside it."""

    row: PublishedFigure
    cell: CellAnalysis | None
    instead: Instead | None
    """Why this cell, if it is not the row's own."""
    entry: EntryAnalysis | None
    near: str
    """How the entry's contestant differs from the published one."""

    def value(self, metric: str) -> float | None:
        """Ours, as long as the original's."""
        found = value_of(self.entry, metric) if self.entry is not None else None
        return None if found is None else found * self.times

    @property
    def times(self) -> int:
        return 1 if self.instead is None else self.instead.times


def _mapped(
    published: Published,
    table: PublishedTable,
    row: PublishedFigure,
    cells: Mapping[str, CellAnalysis],
) -> _Mapped:
    """With the row's cell, or the nearest of those that the run has in its place, and the row's
    contestant there, or who stands for it.
    """
    found = ((cells[name], one) for name, one in _cells_for(table, row) if name in cells)
    cell, instead = next(found, (None, None))
    entry, fallback = None, None
    if cell is not None and row.contestant is not None:
        entry, fallback = entry_or_fallback(published, cell, row.contestant)
    return _Mapped(
        row=row,
        cell=cell,
        instead=instead,
        entry=entry,
        near=row.near if fallback is None else fallback.near,
    )


def entry_or_fallback(
    published: Published, cell: CellAnalysis, contestant: str
) -> tuple[EntryAnalysis | None, Fallback | None]:
    """The contestant's entry, or that of who stands for it, and then why."""
    entry, fallback = cell.entry(contestant), published.fallbacks.get(contestant)
    if entry is not None or fallback is None:
        return entry, None
    other = cell.entry(fallback.contestant)
    return other, fallback if other is not None else None


def _cells_for(table: PublishedTable, row: PublishedFigure) -> Iterator[tuple[str, Instead | None]]:
    """The row's cell, and those that may stand for it, the nearest first."""
    if row.cell is not None:
        yield row.cell, None
    yield from ((one.cell, one) for one in table.instead if one.of == row.cell)


def _table(
    table: PublishedTable, found: Sequence[_Mapped], absent: Mapping[str, str]
) -> BesideTable:
    marks = _marks(table.metric, found)
    return BesideTable(
        title=table.title,
        place=table.place,
        command=table.command,
        unit=table.unit,
        rows=tuple(_row(table.metric, one, marks, absent) for one in found),
        instead=_instead(found),
        order=_order(table.metric, found),
    )


def _instead(found: Sequence[_Mapped]) -> str:
    used = {one.instead.cell: one.instead for one in found if one.instead is not None}
    text = "; ".join(
        f"{one.cell} stands for {one.of}: {one.differs}"
        + (f", our times x {one.times}" if one.times > 1 else "")
        for one in used.values()
    )
    return text + (SCALED if any(one.times > 1 for one in used.values()) else "")


def _marks(metric: str, found: Sequence[_Mapped]) -> dict[tuple[str, str], Mark]:
    """The best and the worst of the table's own contestants in a cell, by cell and entry, as far as
    the run's verdicts separate them.
    """
    marks: dict[tuple[str, str], Mark] = {}
    for cell in {one.cell.cell for one in found if one.cell is not None}:
        here = {
            one.entry.entry: one.entry.standings[metric]
            for one in found
            if one.entry is not None
            and one.cell is not None
            and one.cell.cell == cell
            and metric in one.entry.standings
            and one.entry.standings[metric].rank_low is not None
        }
        beats = {
            name: frozenset(other for other, place in here.items() if name in place.beaten_by)
            for name in here
        }
        marks |= {(cell, name): one.mark for name, one in places(list(here), beats).items()}
    return marks


def _row(
    metric: str,
    one: _Mapped,
    marks: Mapping[tuple[str, str], Mark],
    absent: Mapping[str, str],
) -> BesideRow:
    row, cell, entry = one.row, one.cell, one.entry
    ours, ratio, note, sign, mark = "", "", "", "", ""
    value = one.value(metric)
    if entry is not None and cell is not None and value is not None:
        shown = marks.get((cell.cell, entry.entry))
        mark = shown if shown in ("best", "worst") else ""
        sign = SIGNS[mark] if mark else ""
        ours = figure_sign(entry, metric) + amount(metric, value)
        if one.times > 1:
            ours += f" ({one.times} x {amount(metric, value / one.times)})"
        ratio = _ratio(metric, row, entry, value)
        note = "; ".join(said for said in (one.near, entry.unranked) if said)
    elif entry is not None and entry.failures:
        ours, note = FAILED, "; ".join(said for said in (one.near, _failure(entry)) if said)
    elif entry is not None:
        note = entry.unranked or "its trials lack this metric"
    else:
        note = _why_none(one, absent)
    return BesideRow(
        published=row.published,
        theirs=_theirs(metric, row),
        contestant=entry.contestant if entry is not None else row.contestant or "",
        cell=cell.cell if cell is not None else row.cell or "",
        ours=ours,
        sign=sign,
        mark=mark,
        ratio=ratio,
        note=note,
    )


def _why_none(one: _Mapped, absent: Mapping[str, str]) -> str:
    """Why the run has no entry for a published figure."""
    lacking = (one.row.contestant if one.cell is not None else one.row.cell) or ""
    if lacking in absent:
        return f"not in the run: {absent[lacking]}"
    if one.row.absent:
        return one.row.absent
    return "not in the run" if one.cell is not None else "the run has no such cell"


def _failure(entry: EntryAnalysis) -> str:
    """Why no trial gave a figure: the state in which a server stood still, if it did."""
    states = [one.state for one in entry.failures if one.state is not None]
    if states:
        return f"it stood still: {visible(states[0], limit=_LONGEST)}"
    return f"it failed: {visible(entry.failures[0].message, limit=_LONGEST)}"


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
    return f"{sign}{times(value / row.value).removesuffix('×')}x"


def _order(metric: str, found: Sequence[_Mapped]) -> Order:
    counts = {"agree": 0, "disagree": 0, "open": 0}
    up = higher_is_better(metric)
    for one, other in combinations(found, 2):
        first, second = one.row.value, other.row.value
        if first is None or second is None or first == second or one.cell is not other.cell:
            continue
        if one.value(metric) is None or other.value(metric) is None:
            continue
        if one.entry is other.entry:
            continue  # it stands for both
        better, worse = (one, other) if (first > second) == up else (other, one)
        if better.entry is not None and worse.entry is not None:
            counts[_judge(metric, better.entry, worse.entry)] += 1
    judged = all(metric in one.cell.bands for one in found if one.cell is not None)
    return Order(**counts, judged=judged)


def _judge(metric: str, better: EntryAnalysis, worse: EntryAnalysis) -> str:
    """Whether the run's verdict on a pair, Holm-corrected over the cell's table, says the same."""
    if _beats(metric, better, worse):
        return "agree"
    return "disagree" if _beats(metric, worse, better) else "open"


def _beats(metric: str, one: EntryAnalysis, other: EntryAnalysis) -> bool:
    """By the verdicts of their cell. The floor has no rank: every other's verdict is against it,
    and says nothing where that other was not to be ranked.
    """
    if one.is_floor or other.is_floor:
        beside_it = other if one.is_floor else one
        standing = beside_it.standings.get(metric) if beside_it.unranked is None else None
        verdict = standing.verdict if standing is not None else None
        return verdict is not None and verdict.kind == ("slower" if one.is_floor else "faster")
    standing = other.standings.get(metric)
    return standing is not None and one.entry in standing.beaten_by
