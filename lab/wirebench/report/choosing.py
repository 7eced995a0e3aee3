"""Which contestants of a study meet what one asks for: its figures beside what they cost to depend
on, as a table that filters in the browser, and a picture of those that no other one dominates.
``wirebench decide`` asks all runs of a host, and judges by the range of all
trials, memory by its interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wirebench.catalog.licences import is_permissive
from wirebench.catalog.loads import (
    ClientLoad,
    ClosedLoad,
    EachLoad,
    OpenLoad,
    most_connections,
    on_all_cores,
    over_tls,
)
from wirebench.catalog.model import unit_of
from wirebench.catalog.studies import Cell
from wirebench.catalog.units import BYTES, scaled
from wirebench.footprint.model import Footprint
from wirebench.report.drawing import Style
from wirebench.report.facts import Facts
from wirebench.report.figures import MEMORY_PER_CONNECTION, figure, figure_sign, noun
from wirebench.report.model import ChartView, ChoiceField, ChoiceRow, ChoiceView, Criterion
from wirebench.report.trades import Trade, trade_chart
from wirebench.stats.bottleneck import LIMITED_METRICS
from wirebench.stats.summary import higher_is_better
from wirebench.stats.types import BlockMedian, CellAnalysis, EntryAnalysis

Cells = Sequence[tuple[CellAnalysis, Cell]]

_HOW = (
    "A figure is the median over the run's trials. A contestant meets a limit when its median does;"
    " ? says that the limit lies within the range of its trials, or beyond a bound: ≥ and ≤ stand"
    " where the load generator was the limit, so that the server may do better. Not known is not"
    " met. wirebench decide asks all runs of this host, by the range of all trials, and memory by"
    " its interval."
)
_HOW_CHART = (
    "Left and low is better. Filled and named: no other contestant is better in both. Medians,"
    " without their intervals: see the tables for what can be told apart."
)


@dataclass(frozen=True, kw_only=True)
class _Column:
    criterion: Criterion
    fields: Mapping[str, ChoiceField]
    """By contestant."""


def choice_view(
    study: str,
    cells: Cells,
    facts: Mapping[str, Facts],
    footprints: Mapping[str, Footprint],
    style: Style,
) -> ChoiceView | None:
    """None: there are no two contestants to choose from."""
    measured = [column for cell, metric in _asked(cells) if (column := _measured(cell, metric))]
    if (memory := _memory(cells)) is not None:
        measured.append(memory)
    names = sorted({name for column in measured for name in column.fields})
    if len(names) < 2:
        return None
    costs = [one for one in _costs(names, footprints) if one.fields]
    columns = [*measured, *costs]
    return ChoiceView(
        study=study,
        criteria=tuple(one.criterion for one in columns),
        rows=tuple(_row(name, columns, facts) for name in names),
        how=_HOW,
        chart=_chart(study, measured, costs, style),
    )


def _row(name: str, columns: Sequence[_Column], facts: Mapping[str, Facts]) -> ChoiceRow:
    known = facts.get(name)
    licence = known.license if known is not None else ""
    unknown = ChoiceField(text="not known", value=None, low=None, high=None)
    return ChoiceRow(
        contestant=name,
        language=name.partition("/")[0],
        licence=licence,
        permissive=is_permissive(licence) is True,
        fields=tuple(column.fields.get(name, unknown) for column in columns),
    )


def _asked(cells: Cells) -> Iterable[tuple[tuple[CellAnalysis, Cell], str]]:
    """What a study is asked first, by the kind of its cells, and in which cell."""
    closed = [
        one for one in cells if isinstance(load := one[1].load, ClosedLoad) and load.cores == "one"
    ]
    if closed:
        yield max(closed, key=lambda one: most_connections(one[1].load)), "throughput_per_s"
    paced = [one for one in cells if isinstance(one[1].load, OpenLoad) and _rate(one[1])]
    if paced:
        fastest = max(paced, key=lambda one: _rate(one[1]))
        yield fastest, "p99_ns"
        yield fastest, "cpu_per_request_ns"
    tasks = [one for one in cells if isinstance(load := one[1].load, EachLoad) and not load.link]
    for one in tasks[:1]:
        yield one, "makespan_ns"
        yield one, "cpu_per_request_ns"
    ramps = [one for one in cells if one[1].kind == "ramp"]
    for one in ramps[:1]:
        yield one, "throughput_per_s"
        if not paced:
            yield one, "cpu_per_request_ns"
    broadcasts = [one for one in cells if one[1].kind == "broadcast"]
    if broadcasts:
        largest = max(broadcasts, key=lambda one: most_connections(one[1].load))
        yield largest, "throughput_per_s"
        yield largest, "p99_ns"
        yield largest, "cpu_per_request_ns"
    for one in cells:
        if one[1].kind == "storm":
            yield one, "makespan_ns"
    for policy in ("reuse", "new"):
        calls = [
            one
            for one in cells
            if isinstance(load := one[1].load, ClientLoad) and load.policy == policy
        ]
        for one in calls[:1]:
            yield one, "round_trip_ns"
            if policy == "reuse":
                yield one, "cpu_per_operation_ns"


def _rate(cell: Cell) -> float:
    return (cell.load.rate_per_s or 0.0) if isinstance(cell.load, OpenLoad) else 0.0


def _chosen(cell: CellAnalysis) -> Iterable[EntryAnalysis]:
    return (one for one in cell.entries if not one.is_floor and one.twin_of is None)


def _measured(found: tuple[CellAnalysis, Cell], metric: str) -> _Column | None:
    analysis, cell = found
    fields = {}
    for one in _chosen(analysis):
        summary = one.summary.metrics.get(metric)
        if summary is not None and one.standing.rank_low is not None:
            limited = one.generator_bound and metric in LIMITED_METRICS
            more = higher_is_better(metric)
            fields[one.contestant] = ChoiceField(
                text=figure_sign(one, metric) + figure(metric, summary.median),
                value=summary.median,
                low=None if limited and not more else summary.least,
                high=None if limited and more else summary.greatest,
            )
    if not fields:
        return None
    return _Column(
        criterion=Criterion(
            title=f"{noun(metric, unit_of(cell.workload))}, {cell.id}",
            metric=metric,
            at_least=higher_is_better(metric),
        ),
        fields=fields,
    )


def _memory(cells: Cells) -> _Column | None:
    """Of one set of rungs, plain ones if there are such: a connection over TLS, or of a server on
    all cores, takes another amount.
    """
    plain_first = sorted(cells, key=lambda one: (over_tls(one[1].load), on_all_cores(one[1].load)))
    found = next(((one, cell) for one, cell in plain_first if _slopes(one)), None)
    if found is None:
        return None
    slopes, load = _slopes(found[0]), found[1].load
    title = "memory per connection" + (", over TLS" if over_tls(load) else "")
    return _Column(
        criterion=Criterion(
            title=title + (", all cores" if on_all_cores(load) else ""),
            metric=MEMORY_PER_CONNECTION,
            at_least=False,
        ),
        fields={
            name: ChoiceField(
                text=scaled(one.estimate, BYTES), value=one.estimate, low=one.low, high=one.high
            )
            for name, one in slopes.items()
        },
    )


def _slopes(cell: CellAnalysis) -> dict[str, BlockMedian]:
    return {
        one.contestant: one.memory.own
        for one in _chosen(cell)
        if one.memory is not None and one.memory.own is not None
    }


def _costs(names: Sequence[str], footprints: Mapping[str, Footprint]) -> Iterable[_Column]:
    known = {name: footprints[name] for name in names if name in footprints}
    yield _Column(
        criterion=Criterion(title="installed", metric="installed_bytes", at_least=False),
        fields={
            name: _exactly(float(size), scaled(size, BYTES))
            for name, one in known.items()
            if (size := one.installed_bytes) is not None
        },
    )
    yield _Column(
        criterion=Criterion(title="packages", metric="packages", at_least=False),
        fields={
            name: _exactly(float(number), str(number))
            for name, one in known.items()
            if (number := one.dependencies) is not None
        },
    )


def _exactly(value: float, text: str) -> ChoiceField:
    return ChoiceField(text=text, value=value, low=value, high=value)


def _chart(
    study: str, measured: Sequence[_Column], costs: Sequence[_Column], style: Style
) -> ChartView | None:
    """Time against size: the first time that is no rate, and the first size that is known of two
    contestants.
    """
    times = [one for one in measured if one.criterion.metric.endswith("_ns")]
    times.sort(key=lambda one: not one.criterion.metric.startswith("cpu_"))
    sizes = [one for one in (*costs, *measured) if one.criterion.metric.endswith("_bytes")]
    for size in sizes:
        for time in times:
            trades = [
                Trade(contestant=name, size=float(x.value), time_ns=float(y.value), text=y.text)
                for name, y in sorted(time.fields.items())
                if (x := size.fields.get(name)) is not None
                and x.value is not None
                and y.value is not None
            ]
            if len(trades) < 2:
                continue
            title = f"{time.criterion.title}, against {size.criterion.title}"
            return ChartView(
                id=f"{study}.choice",
                title=title,
                how=_HOW_CHART,
                chart=trade_chart(trades, style, title=title, x_title=size.criterion.title),
            )
    return None
