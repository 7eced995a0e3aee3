"""One cell of a study as the page shows it: sentence, tables and charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from wirebench.catalog.link import Link
from wirebench.catalog.loads import EachLoad, link_of
from wirebench.catalog.model import JSON_WORKLOADS
from wirebench.catalog.studies import Cell
from wirebench.catalog.units import count_of, duration
from wirebench.plan.model import PlannedCell
from wirebench.report.bars import bar_chart
from wirebench.report.charts import forest
from wirebench.report.curves import percentile_curves
from wirebench.report.drawing import Style
from wirebench.report.facts import Conformance, Facts
from wirebench.report.figures import (
    COLUMNS,
    MEMORY_PER_CONNECTION,
    SET_BY_LOAD,
    answered_text,
    faults_text,
    is_set_by_load,
    noun,
    other_programs_text,
    processes_text,
    quota_text,
    ratio_text,
    title,
    value_of,
)
from wirebench.report.lines import curve_chart, percentiles
from wirebench.report.model import HOW_CURVES, CellView, ChartView
from wirebench.report.rounds import ramp_curves, ramp_totals
from wirebench.report.rows import table_row, validity_row
from wirebench.report.sentences import cell_sentence
from wirebench.stats.types import (
    CellAnalysis,
    TrialView,
)

HOW_FOREST = (
    "Each row is a contestant's ratio to the floor (a minimal program on raw sockets), with its 95%"
    " interval. The grey band is this host's noise: ignore differences of its width. The last row"
    " compares a contestant with itself."
)

HOW_PERCENTILES = (
    "The slowest replies: at 99%, one reply in a hundred took longer. Lower and flatter is better. "
    "The curve merges all valid trials of an entry; no figure or verdict uses it."
)

HOW_TOTALS = (
    "Sums over the rounds, medians over the blocks; shorter is better. One that broke is an"
    " outline, has the sum of the rounds that it reached, and stands last."
)


def cell_view(
    cell: CellAnalysis,
    planned: PlannedCell,
    trials: Sequence[TrialView],
    again: str,
    facts: Mapping[str, Facts],
    checked: Mapping[str, Conformance],
    style: Style,
) -> CellView:
    """``again``: the command that measures it as it was, without the number of blocks."""
    wanted = [
        metric
        for metric in COLUMNS[cell.kind]
        if any(value_of(entry, metric) is not None for entry in cell.entries)
        or (metric == MEMORY_PER_CONNECTION and any(entry.memory for entry in cell.entries))
    ]
    ideal = ideal_ns(planned.cell) or _floors_time(cell)
    columns = [_heading(cell, metric) for metric in wanted]
    columns += ["server CPU", "generator CPU"] if cell.role == "server" else []
    columns += ["of the ideal"] if ideal else []
    has_json = planned.cell.workload in JSON_WORKLOADS
    floor = next((entry for entry in cell.entries if entry.is_floor), None)
    rows = [
        table_row(entry, wanted, ideal, facts, checked, floor=floor, has_json=has_json)
        for entry in cell.entries
    ]
    return CellView(
        id=cell.cell,
        title=cell.title,
        anchor=cell.key.replace(".", "-"),
        sentence=cell_sentence(cell, again=again),
        basis=_basis(cell, planned.cell, ideal),
        columns=tuple(columns),
        rows=tuple(rows),
        link_costs=cell.link_costs,
        charts=tuple(_cell_charts(cell, trials, style)),
        checks=tuple(
            validity_row(entry, floor)
            for entry in cell.entries
            if entry.summary.trials or entry.summary.voided
        ),
        dropped=tuple(f"block {one.block}: {one.reason}" for one in cell.dropped),
    )


def _cell_charts(
    cell: CellAnalysis, trials: Sequence[TrialView], style: Style
) -> Iterable[ChartView]:
    ratios = forest(cell, style)
    if ratios is not None:
        heading = (
            f"{noun(cell.metric, cell.unit)} over the floor's,"
            f" {'more' if cell.higher_is_better else 'less'} is better"
        )
        yield ChartView(id=f"{cell.key}.ratios", title=heading, how=HOW_FOREST, chart=ratios)
    curves = percentiles(
        percentile_curves(cell, trials), style, f"{cell.title}: latency by percentile"
    )
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
    for index, total in enumerate(ramp_totals(cell, trials)):
        yield ChartView(
            id=f"{cell.key}.total-{index}",
            title=total.title,
            how=HOW_TOTALS,
            chart=bar_chart(total.bars, style, title=f"{cell.title}: {total.title}"),
        )


def ideal_ns(cell: Cell) -> float | None:
    """The least time that the delay and the link of a cell allow. None where they take none, or
    where C is not a number.

    N t max(1, P/C) as published, where a handler is busy for t alone. What P/C leaves over still
    takes a whole t: 50 requests and 4 handlers make 13 rounds, not 12.5. Over a link a producer's
    request takes its round trips besides, in which the handlers can serve others, but for those
    before the first request arrives and after the last reply has left.
    """
    load = cell.load
    if not isinstance(load, EachLoad) or (load.delay_ms and load.threads is None):
        return None
    delay_ns, rtt_ns = load.delay_ms * 1e6, load.request_rtt_ns
    least_ns = load.messages * (rtt_ns + delay_ns)
    if load.delay_ms and load.threads:
        rounds = math.ceil(load.producers * load.messages / load.threads)
        least_ns = max(least_ns, rtt_ns + rounds * delay_ns)
    return least_ns or None


def _floors_time(cell: CellAnalysis) -> float | None:
    """What stands for the ideal time where neither a delay nor a link sets one."""
    if cell.metric != "makespan_ns":
        return None
    made = [one.summary.metrics.get("makespan_ns") for one in cell.entries if one.is_floor]
    return made[0].median if made and made[0] is not None else None


def _heading(cell: CellAnalysis, metric: str) -> str:
    mark = " (N / rate)" if is_set_by_load(cell.kind, metric) else ""
    return title(metric, cell.unit) + mark


def _link_text(cell: CellAnalysis, link: Link) -> str:
    measured = [
        found.median
        for one in cell.entries
        if (found := one.summary.metrics.get("link_rtt_ns")) is not None
    ]
    told = f"measured {duration(measured[0])} through the floor" if measured else "not measured"
    return f"link of {link}, {told}"


def _basis(cell: CellAnalysis, planned: Cell, ideal: float | None) -> str:
    parts = [
        count_of(cell.blocks, "block"),
        f"noise band of {cell.band.d:.1%} ({cell.band.source})",
    ]
    if cell.twin is not None and cell.twin.ratio is not None:
        called = (
            "called different: a false alarm" if cell.twin.false_alarm else cell.twin.verdict.kind
        )
        parts.append(f"twin {cell.twin.contestant} {ratio_text(cell.twin.ratio)}, {called}")
    parts.append(str(cell.run_effect))
    if cell.server is not None:
        parts.append(f"served by {cell.server}")
    if (files := processes_text(cell)) is not None:
        parts.append(files)
    if (answered := answered_text(cell)) is not None:
        parts.append(answered)
    if (others := other_programs_text(cell.other_programs)) is not None:
        parts.append(others)
    if (stopped := quota_text(cell.quota_stops)) is not None:
        parts.append(stopped)
    if (faults := faults_text(cell)) is not None:
        parts.append(faults)
    if (link := link_of(planned.load)) is not None:
        parts.append(_link_text(cell, link))
    if ideal:
        whose = "" if ideal_ns(planned) else ", the floor's"
        parts.append(f"ideal time {duration(ideal)}{whose}")
    if any(is_set_by_load(cell.kind, metric) for metric in COLUMNS[cell.kind]):
        parts.append(f"N / rate: {SET_BY_LOAD}")
    return "; ".join(parts) + "."
