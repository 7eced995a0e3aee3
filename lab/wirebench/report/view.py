"""The report page of a run, from its analysis; the template only places what is here."""

from __future__ import annotations

import datetime
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from wirebench.catalog.published import Published
from wirebench.catalog.studies import Cell, Study
from wirebench.catalog.units import rough_duration
from wirebench.footprint.model import Footprint
from wirebench.plan.model import Plan, StudyText
from wirebench.report import memory
from wirebench.report.artefacts import artefact_table, on_and_off_tables
from wirebench.report.cells import cell_view
from wirebench.report.checked import verdicts_sentence
from wirebench.report.choosing import choice_view
from wirebench.report.claims import ClaimView, claim_views
from wirebench.report.curves import ladder_curves
from wirebench.report.drawing import Style, Target
from wirebench.report.facts import Facts, conformance, facts_of
from wirebench.report.figures import moment
from wirebench.report.footprints import footprints_of, footprints_view
from wirebench.report.frameworks import framework_tables
from wirebench.report.json_share import json_tables
from wirebench.report.lines import curve_chart
from wirebench.report.loads import cost_tables, load_charts, load_tables
from wirebench.report.matrix import comparable, matrix_of
from wirebench.report.model import (
    HOW_CURVES,
    ArticleView,
    ChartView,
    MemoryView,
    PageView,
    StudyView,
)
from wirebench.report.observed import observed_of, observed_tables
from wirebench.report.palette import looks
from wirebench.report.precision import precision_text
from wirebench.report.provenance import command_again, failures_of, host_rows, status_note
from wirebench.report.published import BesideTable, beside, why_absent
from wirebench.report.sentences import twin_sentence
from wirebench.report.standards import standards
from wirebench.run.bench import check_name
from wirebench.stats.load_curve import load_curves
from wirebench.stats.types import (
    CellAnalysis,
    RunAnalysis,
)
from wirebench.store.observed import Observed
from wirebench.store.rundir import StoredRun

Articles = Mapping[str, tuple[Published, Study]]
"""What the article behind a study published, and the study, by the study's name."""


def page_view(
    run: StoredRun,
    analysis: RunAnalysis,
    *,
    articles: Articles | None = None,
    target: Target = "page",
) -> PageView:
    articles = articles or {}
    facts = facts_of(run)
    footprints = footprints_of(run, facts)
    observed = observed_of(run, facts)
    plan = run.plan
    studies: tuple[StudyView, ...] = ()
    if plan is not None:
        style = style_of(plan, target)
        studies = tuple(
            replace(
                _study(study, run, plan, analysis, facts, footprints, observed, articles, style),
                article=article_view(run, analysis.of_study(study.name), *articles[study.name])
                if study.name in articles
                else None,
            )
            for study in plan.studies
        )
    shown = [
        one
        for study in studies
        for one in (
            *study.charts,
            *((study.choice.chart,) if study.choice and study.choice.chart else ()),
            *(chart for cell in study.cells for chart in cell.charts),
        )
    ]
    ended = run.info.ended_unix_ns
    return PageView(
        run=run.info.name,
        started=moment(run.info.started_unix_ns),
        lasted=rough_duration(ended - run.info.started_unix_ns) if ended is not None else "",
        status=status_note(run.info.status),
        command=shlex.join(run.info.command),
        seed=str(run.info.selection.seed),
        wirebench=run.info.wirebench,
        studies=studies,
        twin=twin_sentence(analysis),
        verdicts=verdicts_sentence(run),
        notes=run.info.notes,
        absent=tuple((one.contestant, one.reason, one.install or "") for one in run.info.absent),
        failures=tuple(failures_of(analysis)),
        host=tuple(host_rows(run.host)),
        contestants=tuple(sorted(facts.items())),
        standards=standards(run.verified),
        footprints=footprints_view(facts, footprints, _day(run)),
        charts={one.id: one.chart for one in shown},
    )


def _day(run: StoredRun) -> datetime.date:
    return datetime.datetime.fromtimestamp(run.info.started_unix_ns / 1e9, datetime.UTC).date()


def _lists(study: StudyText) -> bool:
    """Whether the study compares frameworks by more than their figures."""
    return study.name == "rest"


def article_view(
    run: StoredRun, cells: Sequence[CellAnalysis], published: Published, study: Study
) -> ArticleView:
    """``cells``: the run's, of the study."""
    return article_of(
        published,
        beside(published, cells, why_absent(run, study.name)),
        claim_views(published, cells, study),
    )


def article_of(
    published: Published, tables: tuple[BesideTable, ...], claims: tuple[ClaimView, ...]
) -> ArticleView:
    source = published.source
    return ArticleView(
        title=source.title,
        by="; ".join(
            one for one in (source.author, source.date, source.project, source.host) if one
        ),
        pictures=published.pictures,
        tables=tables,
        claims=claims,
    )


def style_of(plan: Plan, target: Target) -> Style:
    """Looks by contestant, the same in every chart of the run."""
    studies: dict[str, set[str]] = {}
    for cell in plan.cells:
        studies.setdefault(cell.study, set()).update(entry.contestant for entry in cell.entries)
    floors = {floor for cell in plan.cells for floor in cell.floors}
    return Style(looks=looks(list(studies.values()), floors=floors), target=target)


def _study(
    study: StudyText,
    run: StoredRun,
    plan: Plan,
    analysis: RunAnalysis,
    facts: Mapping[str, Facts],
    footprints: Mapping[str, Footprint],
    observed: Sequence[Observed],
    articles: Articles,
    style: Style,
) -> StudyView:
    planned = {cell.cell.id: cell for cell in plan.cells if cell.study == study.name}
    cells = analysis.of_study(study.name)
    trials = [trial for trial in run.trials if trial.study == study.name]
    checked = conformance(
        run.verified,
        frozenset(check_name(cell.role, cell.cell.workload) for cell in planned.values()),
    )
    views = []
    for cell in cells:
        own = [trial for trial in trials if trial.cell == cell.cell]
        again = command_again(run, cell.study, cell.cell)
        view = cell_view(cell, planned[cell.cell], own, again, facts, checked, style)
        precision = precision_text(cell, run.left)
        views.append(replace(view, basis=f"{view.basis} {precision}." if precision else view.basis))
    pairs = [(cell, planned[cell.cell].cell) for cell in cells]
    curves = load_curves(pairs)
    names = sorted({entry.contestant for cell in planned.values() for entry in cell.entries})
    published = articles[study.name][0] if study.name in articles else None
    judged = published.judged if published is not None else ()
    artefacts = artefact_table(published.artefacts, cells) if published is not None else None
    return StudyView(
        name=study.name,
        title=study.title,
        question=study.question,
        preset=f"{study.preset}: {study.preset_title}" if study.preset_title else study.preset,
        legend=tuple((name, style.looks[name]) for name in names),
        matrices=tuple(matrix_of(group) for group in comparable(pairs)),
        charts=(*_ladder(study.name, pairs, style), *load_charts(study.name, curves, style)),
        tables=(
            *load_tables(curves),
            *cost_tables(pairs),
            *json_tables(pairs, facts),
            *((artefacts,) if artefacts is not None else ()),
            *observed_tables(
                (
                    (cell.cell, [entry.contestant for entry in cell.entries])
                    for cell in planned.values()
                ),
                observed,
            ),
            *on_and_off_tables(pairs),
            *(
                framework_tables(names, facts, footprints, judged, _day(run))
                if _lists(study)
                else ()
            ),
        ),
        cells=tuple(views),
        choice=choice_view(study.name, pairs, facts, footprints, style),
        memory=tuple(
            MemoryView(heading=memory.heading(table), basis=memory.basis(table), rows=tuple(rows))
            for table in analysis.memory_of(study.name)
            if (rows := memory.rows(table))
        ),
    )


def _ladder(
    study: str, cells: Sequence[tuple[CellAnalysis, Cell]], style: Style
) -> Iterable[ChartView]:
    for index, one in enumerate(ladder_curves(cells)):
        chart = curve_chart(one, style)
        if chart is not None:
            yield ChartView(
                id=f"{study}.ladder-{index}",
                title=f"{one.title} by connections",
                how=HOW_CURVES,
                chart=chart,
            )
