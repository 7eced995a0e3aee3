"""The content of the report page. The template places it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from wirebench.report.claims import ClaimView
from wirebench.report.drawing import AnyChart
from wirebench.report.facts import Facts
from wirebench.report.palette import Look
from wirebench.report.published import BesideTable
from wirebench.report.sentences import Sentence
from wirebench.report.standards import Standards
from wirebench.stats.types import (
    FailureCount,
)

LINE = 22
"""Characters that a figure has at most, without its interval; what is longer are words."""
MOST_CELLS = 9
"""Cells side by side in one table."""
HOW_CURVES = (
    "Each line is a contestant; the points are medians over the blocks. Press a name above to"
    " highlight it."
)


@dataclass(frozen=True, kw_only=True)
class ChartView:
    id: str
    title: str
    how: str
    """How to read it."""
    chart: AnyChart


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One field of a table. Without text, ``blank`` gives the reason."""

    text: str
    sign: str = ""
    mark: str = ""
    blank: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    entry: str
    note: str
    """The version, or the kind of row."""
    sign: str
    mark: str
    rank: str
    ratio: Figure
    figures: tuple[Figure, ...]
    license: str
    conformance: str
    advice: str
    remarks: tuple[str, ...]
    blank: str
    """The reason if it was never measured rightly."""

    @property
    def unknown(self) -> int:
        """How many of its first figures are not known: the reason stands in their place."""
        return next((i for i, one in enumerate(self.figures) if one.text), len(self.figures))


@dataclass(frozen=True, kw_only=True)
class Check:
    """One entry's line of the validity table."""

    entry: str
    trials: str
    little: str
    server: str
    """Its share of the CPU time of its cores."""
    generator: str
    bottleneck: str
    """Who limited the figures."""
    warm_up: str
    remarks: str
    doubt: bool


@dataclass(frozen=True, kw_only=True)
class CellView:
    id: str
    title: str
    anchor: str
    sentence: Sentence
    basis: str
    """The basis of the figures: blocks, band, twin, server."""
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    link_costs: tuple[str, ...]
    """What requests over a link wait for, an entry a line."""
    charts: tuple[ChartView, ...]
    checks: tuple[Check, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TableView:
    """A small table of a study, of names and texts."""

    title: str
    how: str
    """How to read it."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The first of each is a contestant."""

    @property
    def wraps(self) -> tuple[bool, ...]:
        """Of each column, whether it has texts that are too long for one line."""
        texts = zip(*(row[1:] for row in self.rows), strict=True)
        wide = [any(len(text.split(" [")[0]) > LINE for text in column) for column in texts]
        return tuple(wide) or (False,) * len(self.columns)


@dataclass(frozen=True, kw_only=True)
class MatrixField:
    text: str
    under: str
    sign: str
    mark: str
    heat: float
    """0 for the cheapest of the study to 1 for the costliest, by the logarithm of the ratio to the
    floor.
    """


@dataclass(frozen=True, kw_only=True)
class Matrix:
    cells: tuple[tuple[str, str], ...]
    """Anchor and id."""
    rows: tuple[tuple[str, tuple[MatrixField, ...]], ...]
    shows: str

    @property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """The first cell and the end of each of the tables that the page has room for."""
        count = math.ceil(len(self.cells) / MOST_CELLS)
        ends = [len(self.cells) * part // count for part in range(count + 1)]
        return tuple(pairwise(ends))


@dataclass(frozen=True, kw_only=True)
class MemoryView:
    heading: str
    basis: str
    rows: tuple[tuple[str, str, str], ...]
    """Entry, the server's part, the kernel's."""


@dataclass(frozen=True, kw_only=True)
class ArticleView:
    """The article behind a study, beside the run."""

    title: str
    by: str
    """Author, date, project and host, as far as they are known."""
    pictures: str
    tables: tuple[BesideTable, ...]
    claims: tuple[ClaimView, ...]


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """A limit that one may set."""

    title: str
    metric: str
    at_least: bool
    """Whether the limit is the least that is wanted; else it is the most."""


@dataclass(frozen=True, kw_only=True)
class ChoiceField:
    text: str
    value: float | None
    """In the metric's unit; None: not known."""
    low: float | None
    high: float | None
    """The range that it may lie in; None on one side: no bound is known there, on both: too few
    trials.
    """


@dataclass(frozen=True, kw_only=True)
class ChoiceRow:
    contestant: str
    language: str
    licence: str
    permissive: bool
    fields: tuple[ChoiceField, ...]


@dataclass(frozen=True, kw_only=True)
class ChoiceView:
    study: str
    criteria: tuple[Criterion, ...]
    rows: tuple[ChoiceRow, ...]
    how: str
    chart: ChartView | None


@dataclass(frozen=True, kw_only=True)
class StudyView:
    name: str
    title: str
    question: str
    preset: str
    legend: tuple[tuple[str, Look], ...]
    matrices: tuple[Matrix, ...]
    charts: tuple[ChartView, ...]
    tables: tuple[TableView, ...]
    cells: tuple[CellView, ...]
    memory: tuple[MemoryView, ...]
    article: ArticleView | None = None
    choice: ChoiceView | None = None


@dataclass(frozen=True, kw_only=True)
class FailureView:
    entry: str
    where: str
    failure: FailureCount


@dataclass(frozen=True, kw_only=True)
class FootprintField:
    text: str
    value: float | None
    """What is sorted by, the least first; None: not known."""


@dataclass(frozen=True, kw_only=True)
class FootprintRow:
    contestant: str
    version: str
    fields: tuple[FootprintField, ...]


@dataclass(frozen=True, kw_only=True)
class FootprintsView:
    columns: tuple[str, ...]
    rows: tuple[FootprintRow, ...]
    how: str
    warnings: tuple[tuple[str, str], ...]
    """Contestant and text."""
    reasons: tuple[str, ...]
    audited: tuple[str, ...]
    """The dates of the OSV snapshots."""
    missing: tuple[str, ...]
    command: str
    """Measures those that are missing."""


@dataclass(frozen=True, kw_only=True)
class PageView:
    run: str
    started: str
    lasted: str
    status: str
    command: str
    seed: str
    wirebench: str
    studies: tuple[StudyView, ...]
    twin: str
    verdicts: str
    """What simulated tables vouch for; empty where none were simulated."""
    notes: tuple[str, ...]
    absent: tuple[tuple[str, str, str], ...]
    """Contestant, reason, and the command that changes it."""
    failures: tuple[FailureView, ...]
    host: tuple[tuple[str, str], ...]
    contestants: tuple[tuple[str, Facts], ...]
    standards: Standards | None
    footprints: FootprintsView
    charts: Mapping[str, AnyChart] = field(default_factory=dict)
