"""What the page shows, worked out: the template only places it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wirebench.catalog.studies import Cell, EachLoad
from wirebench.plan.model import Plan, PlannedCell, StudyText
from wirebench.report.charts import AnyChart, Style, Target, curve_chart, forest, percentiles
from wirebench.report.curves import ladder_curves, percentile_curves, ramp_curves
from wirebench.report.facts import Conformance, Facts, conformance, facts_of
from wirebench.report.figures import (
    COLUMNS,
    SIGNS,
    duration,
    figure,
    long_duration,
    moment,
    noun,
    rank_text,
    ratio_text,
    scaled,
    title,
)
from wirebench.report.palette import Look, looks
from wirebench.report.sentences import Sentence, cell_sentence, twin_sentence
from wirebench.report.standards import Standards, standards
from wirebench.run.bench import check_name
from wirebench.stats.types import (
    CellAnalysis,
    EntryAnalysis,
    FailureCount,
    RunAnalysis,
    Standing,
    TrialView,
)
from wirebench.store.rundir import StoredRun


@dataclass(frozen=True, kw_only=True)
class ChartView:
    id: str
    title: str
    how: str
    """How to read it."""
    chart: AnyChart


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One field of a table. Without text, ``blank`` says why."""

    text: str
    sign: str = ""
    mark: str = ""
    blank: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    entry: str
    note: str
    """Version, or what kind of row it is."""
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
    """Why the whole row has no figures."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One entry's line of the validity table."""

    entry: str
    trials: str
    little: str
    generator: str
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
    """Blocks, band, twin, server: what the figures rest on."""
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    remarked: bool
    """Whether any row has a remark."""
    charts: tuple[ChartView, ...]
    checks: tuple[Check, ...]
    dropped: tuple[str, ...]


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


@dataclass(frozen=True, kw_only=True)
class StudyView:
    name: str
    title: str
    question: str
    preset: str
    legend: tuple[tuple[str, Look], ...]
    matrix: Matrix | None
    charts: tuple[ChartView, ...]
    cells: tuple[CellView, ...]


@dataclass(frozen=True, kw_only=True)
class FailureView:
    entry: str
    where: str
    failure: FailureCount


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
    notes: tuple[str, ...]
    absent: tuple[tuple[str, str, str], ...]
    """Contestant, why, and the line that changes it."""
    failures: tuple[FailureView, ...]
    host: tuple[tuple[str, str], ...]
    contestants: tuple[tuple[str, Facts], ...]
    standards: Standards | None
    charts: Mapping[str, AnyChart] = field(default_factory=dict)


HOW_FOREST = (
    "Each row is a contestant over the floor (the bare minimum in raw sockets), with its 95% interval. "
    "The grey band is noise on this host: differences of its width mean nothing. The last row is a contestant over itself."
)
HOW_PERCENTILES = (
    "How slow the slowest part of the replies was: at 99% one reply in a hundred took longer. Lower and flatter is better. "
    "All trials of an entry merged, for the picture only."
)
HOW_CURVES = "Each line is a contestant; the points are medians over the blocks. Press a name above to single it out."


def page_view(run: StoredRun, analysis: RunAnalysis, *, target: Target = "page") -> PageView:
    facts = facts_of(run)
    plan = run.plan
    studies: tuple[StudyView, ...] = ()
    if plan is not None:
        style = style_of(plan, target)
        studies = tuple(_study(study, run, plan, analysis, facts, style) for study in plan.studies)
    shown = [
        one
        for study in studies
        for one in (*study.charts, *(chart for cell in study.cells for chart in cell.charts))
    ]
    ended = run.info.ended_unix_ns
    return PageView(
        run=run.info.name,
        started=moment(run.info.started_unix_ns),
        lasted=long_duration(ended - run.info.started_unix_ns) if ended is not None else "",
        status=_status(run.info.status),
        command=shlex.join(run.info.command),
        seed=str(run.info.selection.seed),
        wirebench=run.info.wirebench,
        studies=studies,
        twin=twin_sentence(analysis),
        notes=run.info.notes,
        absent=tuple((one.contestant, one.reason, one.install or "") for one in run.info.absent),
        failures=tuple(_failures(analysis)),
        host=tuple(_host(run.host)),
        contestants=tuple(sorted(facts.items())),
        standards=standards(run.verified),
        charts={one.id: one.chart for one in shown},
    )


def style_of(plan: Plan, target: Target) -> Style:
    """Looks by contestant; the same in every chart of the run."""
    studies: dict[str, set[str]] = {}
    for cell in plan.cells:
        studies.setdefault(cell.study, set()).update(entry.contestant for entry in cell.entries)
    floors = {floor for cell in plan.cells for floor in cell.floors}
    return Style(looks=looks(list(studies.values()), floors=floors), target=target)


def _status(status: str) -> str:
    return {
        "complete": "",
        "interrupted": "This run was interrupted: what was finished is shown.",
        "running": "This run has not ended, or was killed: what was finished is shown.",
        "failed": "This run ended in an error: what was finished is shown.",
    }[status]


def _study(
    study: StudyText,
    run: StoredRun,
    plan: Plan,
    analysis: RunAnalysis,
    facts: Mapping[str, Facts],
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
        views.append(_cell(cell, planned[cell.cell], own, study.preset, facts, checked, style))
    names = sorted({entry.contestant for cell in planned.values() for entry in cell.entries})
    return StudyView(
        name=study.name,
        title=study.title,
        question=study.question,
        preset=f"{study.preset}: {study.preset_title}" if study.preset_title else study.preset,
        legend=tuple((name, style.looks[name]) for name in names),
        matrix=_matrix(cells) if len(cells) > 1 else None,
        charts=tuple(
            _ladder(study.name, [(cell, planned[cell.cell].cell) for cell in cells], style)
        ),
        cells=tuple(views),
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


def _cell(
    cell: CellAnalysis,
    planned: PlannedCell,
    trials: Sequence[TrialView],
    preset: str,
    facts: Mapping[str, Facts],
    checked: Mapping[str, Conformance],
    style: Style,
) -> CellView:
    wanted = [
        metric
        for metric in COLUMNS[cell.kind]
        if any(metric in entry.summary.metrics for entry in cell.entries)
    ]
    ideal = ideal_ns(planned.cell)
    columns = [title(metric, cell.unit) for metric in wanted] + (["of the ideal"] if ideal else [])
    rows = [_row(entry, wanted, ideal, facts, checked) for entry in cell.entries]
    return CellView(
        id=cell.cell,
        title=cell.title,
        anchor=cell.key.replace(".", "-"),
        sentence=cell_sentence(cell, preset=preset),
        basis=_basis(cell, ideal),
        columns=tuple(columns),
        rows=tuple(rows),
        remarked=any(row.remarks for row in rows),
        charts=tuple(_cell_charts(cell, trials, style)),
        checks=tuple(
            _check(entry) for entry in cell.entries if entry.summary.trials or entry.summary.voided
        ),
        dropped=tuple(f"block {one.block}: {one.reason}" for one in cell.dropped),
    )


def _cell_charts(
    cell: CellAnalysis, trials: Sequence[TrialView], style: Style
) -> Iterable[ChartView]:
    ratios = forest(cell, style)
    if ratios is not None:
        heading = f"{noun(cell.metric, cell.unit)} over the floor's, {'more' if cell.higher_is_better else 'less'} is better"
        yield ChartView(id=f"{cell.key}.ratios", title=heading, how=HOW_FOREST, chart=ratios)
    curves = percentiles(cell, percentile_curves(cell, trials), style)
    if curves is not None:
        yield ChartView(
            id=f"{cell.key}.percentiles",
            title="time by percentile",
            how=HOW_PERCENTILES,
            chart=curves,
        )
    for index, one in enumerate(ramp_curves(cell, trials)):
        chart = curve_chart(one, style)
        if chart is not None:
            yield ChartView(
                id=f"{cell.key}.ramp-{index}",
                title=f"{one.title}, by clients",
                how=HOW_CURVES,
                chart=chart,
            )


def ideal_ns(cell: Cell) -> float | None:
    """The least time a delayed cell can take: N t max(1, P/C) (studies' ``rest``). None without a
    delay or a fixed C.
    """
    load = cell.load
    if not isinstance(load, EachLoad) or not load.delay_ms or load.threads is None:
        return None
    return load.messages * load.delay_ms * 1e6 * max(1.0, load.producers / load.threads)


def _basis(cell: CellAnalysis, ideal: float | None) -> str:
    parts = [f"{cell.blocks} blocks", f"noise band ±{cell.band.d:.1%} ({cell.band.source})"]
    if cell.twin is not None and cell.twin.ratio is not None:
        called = (
            "called different: a false alarm" if cell.twin.false_alarm else cell.twin.verdict.kind
        )
        parts.append(f"twin {cell.twin.contestant} {ratio_text(cell.twin.ratio)}, {called}")
    if cell.server is not None:
        parts.append(f"served by {cell.server}")
    if ideal:
        parts.append(f"ideal time {duration(ideal)}")
    return "; ".join(parts) + "."


def _row(
    entry: EntryAnalysis,
    metrics: Sequence[str],
    ideal: float | None,
    facts: Mapping[str, Facts],
    checked: Mapping[str, Conformance],
) -> Row:
    known, check = facts.get(entry.contestant), checked.get(entry.contestant)
    figures = [_figure(entry, metric) for metric in metrics]
    if ideal:
        made = entry.summary.metrics.get("makespan_ns")
        figures.append(
            Figure(text=f"{ideal / made.median:.0%}")
            if made
            else Figure(text="", blank="not measured")
        )
    note = "the floor" if entry.is_floor else "the twin: noise only" if entry.twin_of else ""
    if not note and known is not None:
        note = (
            f"{known.library} {known.version}"
            if known.library != entry.contestant.split("/")[-1]
            else known.version
        )
    return Row(
        entry=entry.entry,
        note=note,
        sign=SIGNS[entry.mark] if entry.mark else "",
        mark=entry.mark or "",
        rank=("≈ " if entry.standing.tied else "") + rank_text(entry.standing),
        ratio=_ratio(entry.standing, entry),
        figures=tuple(figures),
        license=known.license if known is not None else "",
        conformance=check.text if check is not None else "",
        advice=", ".join(check.advice) if check is not None else "",
        remarks=tuple(_remarks(entry)),
        blank="" if entry.summary.trials else (entry.unranked or "not run"),
    )


def _ratio(standing: Standing, entry: EntryAnalysis) -> Figure:
    if standing.ratio is None:
        return Figure(
            text="1 by definition" if entry.is_floor else "",
            blank="no block in common with the floor",
        )
    text = ("≥ " if entry.generator.bound else "") + ratio_text(standing.ratio)
    return Figure(text=text, blank="")


def _figure(entry: EntryAnalysis, metric: str) -> Figure:
    summary = entry.summary.metrics.get(metric)
    if summary is None:
        return Figure(text="", blank="too few samples" if metric.startswith("p") else "not known")
    standing = entry.standings.get(metric)
    mark = standing.mark if standing is not None and standing.mark in ("best", "worst") else None
    return Figure(
        text=figure(metric, summary.median), sign=SIGNS[mark] if mark else "", mark=mark or ""
    )


def _remarks(entry: EntryAnalysis) -> Iterable[str]:
    if entry.generator.bound and entry.generator.reason is not None:
        yield f"generator-bound: {entry.generator.reason}"
    if entry.starvation is not None:
        left = entry.starvation
        yield (
            f"starves connections: up to {left.requests:,} of {left.of:,} unanswered at the end of the window, "
            f"the oldest for {duration(left.oldest_ns)}"
        )
    if entry.unranked and entry.summary.trials and not entry.is_floor and entry.twin_of is None:
        yield f"not ranked: {entry.unranked}"
    for failure in entry.failures:
        if entry.summary.trials:
            yield f"{failure.kind.replace('_', ' ')} in {failure.count} of {_tried(entry)} trials"
    if entry.warm_up in ("warms up", "slows down"):
        yield entry.warm_up
    for warning, count in entry.warnings.items():
        yield f"{warning.replace('_', ' ')} in {count} trials"


def _tried(entry: EntryAnalysis) -> int:
    return entry.summary.trials + entry.summary.failed + entry.summary.voided


def _check(entry: EntryAnalysis) -> Check:
    little = entry.little
    busy = entry.generator.generator_cpu
    summary = entry.summary
    trials = f"{summary.trials} valid"
    trials += f", {summary.failed} failed" if summary.failed else ""
    trials += f", {summary.voided} void" if summary.voided else ""
    return Check(
        entry=entry.entry,
        trials=trials,
        little=""
        if little.median is None or little.worst is None
        else f"{little.median:.3f} (worst {little.worst:.3f})",
        generator=f"{busy:.0%}" if busy is not None else "",
        warm_up=entry.warm_up,
        remarks="; ".join(_remarks(entry)),
        doubt=bool(
            summary.voided or summary.failed or entry.warm_up in ("never steady", "slows down")
        ),
    )


def _matrix(cells: Sequence[CellAnalysis]) -> Matrix:
    """Contestants by cells, in the order of their first ranks. The twins are left out, the floor is
    1 by definition.
    """
    costs: dict[tuple[str, str], float] = {}
    for cell in cells:
        for entry in cell.entries:
            ratio = entry.standing.ratio
            if ratio is not None and entry.twin_of is None:
                costs[cell.cell, entry.entry] = (
                    -math.log(ratio.estimate) if cell.higher_is_better else math.log(ratio.estimate)
                )
    least, most = min(costs.values(), default=0.0), max(costs.values(), default=0.0)
    order = dict.fromkeys(
        entry.entry
        for cell in cells
        for entry in cell.entries
        if entry.twin_of is None and not entry.is_floor
    )
    rows = []
    for name in order:
        fields = []
        for cell in cells:
            cost = costs.get((cell.cell, name))
            heat = (cost - least) / (most - least) if cost is not None and most > least else 0.0
            fields.append(_matrix_field(cell.entry(name), cell.metric, heat))
        rows.append((name, tuple(fields)))
    return Matrix(
        cells=tuple((cell.key.replace(".", "-"), cell.cell) for cell in cells),
        rows=tuple(rows),
        shows=noun(cells[0].metric, cells[0].unit),
    )


def _matrix_field(entry: EntryAnalysis | None, metric: str, heat: float) -> MatrixField:
    if entry is None:
        return MatrixField(text="", under="not in this cell", sign="", mark="", heat=0.0)
    summary = entry.summary.metrics.get(metric)
    if summary is None:
        reason = (entry.unranked or "not run").split(":")[0]
        return MatrixField(text="✕", under=reason, sign="", mark="failed", heat=0.0)
    ratio = entry.standing.ratio
    bound = "≥ " if entry.generator.bound else ""
    return MatrixField(
        text=bound + figure(metric, summary.median),
        under=f"{bound}{ratio_text(ratio).split(' ')[0]} of the floor" if ratio is not None else "",
        sign=SIGNS[entry.mark] if entry.mark else "",
        mark=entry.mark or "",
        heat=round(heat, 3),
    )


def _failures(analysis: RunAnalysis) -> Iterable[FailureView]:
    """Each failure of each contestant once, with the cells it happened in."""
    found: dict[tuple[str, str, str], tuple[list[str], FailureCount]] = {}
    for cell in analysis.cells:
        for entry in cell.entries:
            for failure in entry.failures:
                key = (
                    entry.entry,
                    failure.kind,
                    failure.message if failure.phase != "load" else cell.key,
                )
                found.setdefault(key, ([], failure))[0].append(f"{cell.study} {cell.cell}")
    for (name, _, _), (where, failure) in found.items():
        yield FailureView(entry=name, where=", ".join(where), failure=failure)


_HOST_ROWS = (
    ("cpu_model", "processor"),
    ("cores", "cores in use"),
    ("smt", "hyper-threading"),
    ("governor", "frequency governor"),
    ("turbo", "turbo"),
    ("cores_awake", "cores kept awake"),
    ("memory_bytes", "memory"),
    ("kernel", "kernel"),
    ("distribution", "distribution"),
    ("architecture", "architecture"),
    ("virtualisation", "virtualisation"),
    ("clocksource", "clock source"),
    ("host_id", "host"),
)


def _host(host: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for key, name in _HOST_ROWS:
        value = host.get(key)
        if isinstance(value, bool):
            value = "on" if value else "off"
        elif key == "memory_bytes" and isinstance(value, int):
            value = scaled(value, ((2**30, "GiB"), (2**20, "MiB"), (1, "B")))
        if value is not None:
            yield name, str(value)
    limits, tools = host.get("limits"), host.get("tools")
    if isinstance(limits, Mapping):
        for key, value in limits.items():
            if isinstance(value, int | str | bool | float):
                yield str(key).replace("_", " "), str(value)
    if isinstance(tools, Mapping):
        for name, version in sorted(tools.items()):
            yield str(name), str(version)
