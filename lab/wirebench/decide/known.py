"""What this host has measured: of each cell and contestant the newest complete run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wirebench.catalog.model import Role
from wirebench.catalog.studies import Cell
from wirebench.duel.plan import STUDY as DUEL
from wirebench.footprint.model import Footprint
from wirebench.footprint.records import read_all as read_footprints
from wirebench.report import analyse_run
from wirebench.report.facts import Facts, facts_of
from wirebench.stats.types import CellAnalysis, EntryAnalysis
from wirebench.store.jsonl import StoreError
from wirebench.store.rundir import StoredRun, complete_runs, read_plan, read_run

Wanted = Callable[[Role, Cell], bool]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One cell in one run."""

    run: str
    study: str
    role: Role
    cell: Cell
    analysis: CellAnalysis
    older: tuple[Measured, ...] = ()
    """The same cell in older runs, as far as these have contestants that newer ones lack."""

    @property
    def runs(self) -> tuple[Measured, ...]:
        """The newest first."""
        return (self, *self.older)

    @property
    def ranked(self) -> int:
        """How many entries this run puts in order."""
        return sum(one.unranked is None for one in self.analysis.entries)

    @property
    def has_order(self) -> bool:
        """Whether any of its runs does."""
        return any(one.ranked > 0 for one in self.runs)

    @property
    def has_slopes(self) -> bool:
        """Whether any of its runs knows the memory of a connection."""
        return any(has_slope(entry) for one in self.runs for entry in one.analysis.entries)

    def entry(self, contestant: str) -> EntryAnalysis | None:
        """The contestant's own entry in this run, not its twin's."""
        return next(
            (
                one
                for one in self.analysis.entries
                if one.contestant == contestant and one.twin_of is None
            ),
            None,
        )

    def newest_of(
        self, contestant: str, *, knows: Callable[[EntryAnalysis], bool] = lambda _entry: True
    ) -> Measured:
        """The newest run that has the contestant, of those that know what is asked if there are
        any; this one if none has it.
        """
        found = [(one, entry) for one in self.runs if (entry := one.entry(contestant)) is not None]
        knowing = [one for one, entry in found if knows(entry)]
        return next(iter(knowing or [one for one, _ in found]), self)

    @property
    def where(self) -> str:
        return f"{self.study} {self.cell.id}, run {self.run}"


def has_slope(entry: EntryAnalysis) -> bool:
    """Whether its memory for each connection is known, which takes several rungs of a run."""
    return entry.memory is not None and entry.memory.own is not None


@dataclass(frozen=True, kw_only=True)
class Known:
    host_id: str
    """Empty: no complete run."""
    cells: tuple[Measured, ...]
    """The newest run of each cell."""
    facts: Mapping[str, Facts]
    probes: Mapping[str, tuple[Mapping[str, Any], ...]]
    """The conformance probes of each contestant that was probed."""
    footprints: Mapping[str, Footprint] = field(default_factory=dict)
    """By contestant."""


def read_known(
    results: Path,
    *,
    wanted: Wanted,
    role: Role = "server",
    host_id: str | None = None,
    reading: Callable[[str], None] = lambda _run: None,
) -> Known:
    """The wanted cells of one host: by default that of the newest complete run.

    ``role``: whose footprints count where a contestant has both. ``reading`` is told each run that
    is analysed, which takes a second or so. Runs that cannot be read are passed over.
    """
    cells: dict[tuple[str, str], list[Measured]] = {}
    facts: dict[str, Facts] = {}
    probes: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for path, host in complete_runs(results):
        if host_id is None:
            host_id = host
        if host != host_id or not _has_news(path, wanted, cells):
            continue
        reading(path.name)
        try:
            run = read_run(path)
        except StoreError:
            continue
        for one in _measured(run, wanted):
            cells.setdefault((one.study, one.cell.id), []).append(one)
        facts = {**facts_of(run), **facts}
        for record in run.verified:
            if record.probes:
                probes.setdefault(record.contestant, record.probes)
    return Known(
        host_id=host_id or "",
        cells=tuple(replace(first, older=tuple(older)) for first, *older in cells.values()),
        facts=facts,
        probes=probes,
        footprints=read_footprints(results, role),
    )


def _has_news(
    path: Path, wanted: Wanted, known: Mapping[tuple[str, str], Sequence[Measured]]
) -> bool:
    """Whether a wanted cell has a contestant there that no newer run has."""
    try:
        plan = read_plan(path)
    except StoreError:
        return False
    return plan is not None and any(
        wanted(cell.role, cell.cell)
        and cell.study != DUEL
        and any(
            all(one.entry(name) is None for one in known.get((cell.study, cell.cell.id), ()))
            for name in {entry.contestant for entry in cell.entries}
        )
        for cell in plan.cells
    )


def _measured(run: StoredRun, wanted: Wanted) -> Iterator[Measured]:
    if run.plan is None:
        return
    analyses = {(one.study, one.cell): one for one in analyse_run(run).cells}
    for cell in run.plan.cells:
        analysis = analyses.get((cell.study, cell.cell.id))
        # The sides of a duel are no contestants.
        if analysis is not None and cell.study != DUEL and wanted(cell.role, cell.cell):
            yield Measured(
                run=run.path.name,
                study=cell.study,
                role=cell.role,
                cell=cell.cell,
                analysis=analysis,
            )
