"""The article behind a study beside one run, or beside the run of a host that has each part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from wirebench.catalog.errors import CatalogError
from wirebench.catalog.published import Artefact, Published, PublishedTable
from wirebench.catalog.studies import Study
from wirebench.report import analyse_run
from wirebench.report.artefacts import artefact_table, every_artefact, on_and_off_tables
from wirebench.report.claims import ClaimView, claim_views
from wirebench.report.facts import facts_of
from wirebench.report.frameworks import judged_table
from wirebench.report.json_share import json_tables
from wirebench.report.model import ArticleView, TableView
from wirebench.report.published import BesideTable, beside, why_absent
from wirebench.report.runs import (
    best,
    command_for,
    of_artefact,
    of_claim,
    of_table,
    runs_of,
    score,
)
from wirebench.report.view import article_of, article_view
from wirebench.stats.types import CellAnalysis
from wirebench.store.rundir import StoredRun, read_run


@dataclass(frozen=True, kw_only=True)
class Shown:
    """All that ``wirebench published`` prints."""

    ours: str
    """Which run, or how runs were chosen."""
    article: ArticleView
    further: tuple[TableView, ...]


@dataclass(frozen=True, kw_only=True)
class _Part:
    """The study in one run."""

    run: StoredRun
    cells: tuple[CellAnalysis, ...]

    def tables(self, study: str) -> list[TableView]:
        """Of what explains figures and is no artefact of a published one."""
        planned = self.run.plan.cells if self.run.plan is not None else ()
        of_cell = {one.cell.id: one.cell for one in planned if one.study == study}
        pairs = [(cell, of_cell[cell.cell]) for cell in self.cells]
        return [*on_and_off_tables(pairs), *json_tables(pairs, facts_of(self.run))]


def _part(path: Path, study: str) -> _Part:
    run = read_run(path)
    cells = analyse_run(run).of_study(study)
    if not cells:
        raise CatalogError(
            f"RUN: expected a run with cells of {study}, got {run.info.name} without any"
        )
    return _Part(run=run, cells=cells)


def of_run(path: Path, source: Published, study: Study) -> Shown:
    """Beside the run in this directory.

    Raises StoreError where it cannot be read, CatalogError where it has nothing of the study.
    """
    part = _part(path, study.name)
    views = (artefact_table(source.artefacts, part.cells), judged_table(source.judged))
    return Shown(
        ours=part.run.info.name,
        article=article_view(part.run, part.cells, source, study),
        further=(*(one for one in views if one is not None), *part.tables(study.name)),
    )


def of_runs(
    results: Path, source: Published, study: Study, *, reading: Callable[[str], None]
) -> Shown:
    """Each table, artefact and explanation beside the run that has it. ``reading`` is told each run
    that is analysed, which takes a second or so.

    Raises StoreError where a run cannot be read, CatalogError where there is none.
    """
    return _Runs(results, source, study, reading).shown


class _Runs:
    def __init__(
        self, results: Path, source: Published, study: Study, reading: Callable[[str], None]
    ) -> None:
        self._source, self._study, self._reading = source, study, reading
        self._runs = runs_of(results, study.name)
        self._has = dict(self._runs)
        self._parts: dict[Path, _Part] = {}
        if not self._runs:
            raise CatalogError(
                f"RUN: expected a complete run of {study.name}; there is none yet,"
                f" 'wirebench run {study.name} --preset published' makes one"
            )

    @cached_property
    def shown(self) -> Shown:
        tables = tuple(self._table(table) for table in self._source.tables)
        artefacts = self._artefacts()
        own = [table for part in self._parts.values() for table in part.tables(self._name)]
        judged = judged_table(self._source.judged)
        return Shown(
            ours="the newest complete run of one host with most of each table's figures",
            article=article_of(self._source, tables, self._claims()),
            further=(*artefacts, *own, *([judged] if judged is not None else [])),
        )

    @property
    def _name(self) -> str:
        return self._study.name

    def _part(self, path: Path) -> _Part:
        if path not in self._parts:
            self._reading(path.name)
            self._parts[path] = _part(path, self._name)
        return self._parts[path]

    def _table(self, table: PublishedTable) -> BesideTable:
        wanted = of_table(self._source, table)
        path = best(self._runs, wanted)
        part = self._part(path) if path is not None else None
        cells = part.cells if part is not None else ()
        (shown,) = beside(
            self._source.model_copy(update={"tables": (table,)}),
            cells,
            why_absent(part.run, self._name) if part is not None else None,
        )
        here = {cell.cell for cell in cells}
        lacking = [one for one in wanted if here.isdisjoint(one.cells)]
        return replace(
            shown,
            run=path.name if path is not None else "",
            missing=command_for(lacking, self._study) if lacking else "",
        )

    def _artefacts(self) -> list[TableView]:
        """A table for each run that has one off and on, and one for those that none has."""
        of: dict[Path | None, list[Artefact]] = {}
        for artefact in self._source.artefacts:
            wanted = of_artefact(artefact)
            path = best(self._runs, wanted)
            whole = path is not None and score(self._has[path], wanted)[1] == len(wanted)
            of.setdefault(path if whole else None, []).append(artefact)
        found = []
        for path, artefacts in of.items():
            if path is not None:
                where = f"Ours: {path.name}."
            else:
                needed = [one for artefact in artefacts for one in of_artefact(artefact)]
                command = command_for(needed, self._study)
                where = f"No complete run has both cells; {command!r} measures them."
            view = every_artefact(artefacts, self._part(path).cells if path is not None else ())
            found.append(replace(view, how=f"{view.how} {where}"))
        return found

    def _claims(self) -> tuple[ClaimView, ...]:
        claims = []
        for claim in self._source.claims:
            path = best(self._runs, of_claim(self._source, claim))
            (said,) = claim_views(
                self._source.model_copy(update={"claims": (claim,)}),
                self._part(path).cells if path is not None else (),
                self._study,
            )
            claims.append(replace(said, run=path.name if path is not None else ""))
        return tuple(claims)
