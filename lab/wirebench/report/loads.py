"""Latency against load as the page shows it: the curves, their knees, the goodput beyond capacity,
and the order by cost at a pinned rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wirebench.catalog.loads import ClosedLoad, OpenLoad, over_tls
from wirebench.catalog.studies import Cell
from wirebench.report.drawing import Style
from wirebench.report.figures import bound_sign, figure, figure_sign, rank_text, title
from wirebench.report.lines import Curve, curve_chart
from wirebench.report.model import ChartView, TableView
from wirebench.stats.bottleneck import bound_of
from wirebench.stats.load_curve import LoadCurve, LoadPoint
from wirebench.stats.types import CellAnalysis, EntryAnalysis

Curves = Mapping[str, Sequence[LoadCurve]]
"""By the closed cell that their rates are shares of."""

_HOW_CHART = (
    "Each line is a contestant at growing shares of its own capacity: to the right is more load,"
    " upwards is slower. Time counts from when a request was due, so waiting is in it. The ring"
    " marks the knee, beyond which time grows faster than load. A line ends at the last load that"
    " the contestant kept up with."
)
_HOW_KNEE = (
    "Capacity is the throughput in {base}; ≥: the load generator was its limit. The knee is the"
    " load with the most requests/s for its p99 (Kleinrock's power); loads in brackets cannot be"
    " told from it. Goodput: right replies within the window, as a share of the capacity, when more"
    " is asked than that; a server that breaks down under load falls far below 100%. ≥ or ≤ before"
    " it: the load generator was the limit of the goodput or of the capacity; ?: of both. ≤ before"
    " a time: it was the limit there."
)
_HOW_COST = (
    "Both orders side by side. CPU per {unit} is measured at a rate that no server is saturated by,"
    " so the load generator's own limit does not enter it; where a contestant could not keep up, it"
    " is blank. The order by throughput is that of {base}, where every server gets all it can take."
)


def load_charts(study: str, curves: Curves, style: Style) -> Iterator[ChartView]:
    for base, lines in curves.items():
        for percentile, heading in (("p99", "99th percentile"), ("p50", "median")):
            rows = [
                {
                    "entry": line.entry,
                    "x": point.answered_per_s,
                    "y": value,
                    "text": f"{_signed(point, value)} at {point.share:.0%} of its capacity",
                    "knee": line.knee is not None and point is line.knee.point,
                }
                for line in lines
                for point in line.points
                if (value := _time(point, percentile)) is not None
            ]
            curve = Curve(
                rows=rows,
                names=tuple(dict.fromkeys(str(row["entry"]) for row in rows)),
                title=f"{heading} against load",
                kind="time",
                x_title="answered a second",
                log_x=True,
                height=320,
            )
            chart = curve_chart(curve, style)
            if chart is not None:
                yield ChartView(
                    id=f"{study}.load-{base}-{percentile}",
                    title=f"{heading} against load, shares of the capacity in {base}",
                    how=_HOW_CHART,
                    chart=chart,
                )


def _time(point: LoadPoint, percentile: str) -> float | None:
    return point.p99_ns if percentile == "p99" else point.p50_ns


def _signed(point: LoadPoint, time_ns: float) -> str:
    bound = bound_of(limited=point.limited, other_limited=False, higher_is_better=False)
    return bound_sign(bound) + figure("p99_ns", time_ns)


def load_tables(curves: Curves) -> Iterator[TableView]:
    """The knee and the goodput beyond capacity, the greatest capacity first."""
    for base, lines in curves.items():
        beyond = sorted({share for line in lines for share in line.goodput_per_s})
        most = max((point.share for line in lines for point in line.points), default=None)
        columns = ["capacity", "knee", "rate at the knee", "p99 at the knee"]
        columns += [f"p99 at {most:.0%}"] if most is not None else []
        columns += [f"goodput at {share:.0%}" for share in beyond]
        ordered = sorted(lines, key=lambda line: -(line.capacity_per_s or 0.0))
        yield TableView(
            title=f"The knee, and goodput beyond capacity ({base})",
            how=_HOW_KNEE.format(base=base),
            columns=tuple(columns),
            rows=tuple(_row(line, most, beyond) for line in ordered),
        )


def _row(line: LoadCurve, most: float | None, beyond: Sequence[float]) -> tuple[str, ...]:
    capacity = line.capacity_per_s
    bound = "≥ " if line.at_least else ""
    texts = [f"{bound}{figure('throughput_per_s', capacity)}/s" if capacity else "not known"]
    knee = line.knee
    if knee is None:
        texts += ["too few points", "", ""]
    else:
        alike = (
            f" [{knee.low_share:.0%}, {knee.high_share:.0%}]"
            if knee.low_share < knee.high_share
            else ""
        )
        texts += [
            f"{knee.point.share:.0%}{alike}",
            f"{figure('throughput_per_s', knee.point.answered_per_s)}/s",
            _signed(knee.point, knee.point.p99_ns),
        ]
    if most is not None:
        last = next((point for point in line.points if point.share == most), None)
        missing = "could not keep up" if most in line.overwhelmed else "not known"
        texts.append(_signed(last, last.p99_ns) if last is not None else missing)
    texts += [_goodput(line, share) for share in beyond]
    return (line.entry, *texts)


def _goodput(line: LoadCurve, share: float) -> str:
    """As a share of the capacity and as a rate, with what is known of either."""
    answered, capacity = line.goodput_per_s.get(share), line.capacity_per_s
    if answered is None or not capacity:
        return "not known"
    limited = share in line.goodput_at_least
    rate = f"{'≥ ' if limited else ''}{figure('throughput_per_s', answered)}/s"
    bound = bound_of(limited=limited, other_limited=line.at_least, higher_is_better=True)
    return f"{bound_sign(bound)}{answered / capacity:.0%}, {rate}"


def cost_tables(cells: Sequence[tuple[CellAnalysis, Cell]]) -> Iterator[TableView]:
    """The order by CPU per request at the highest pinned rate beside the order by saturated
    throughput, for each closed cell with the same connections.
    """
    for closed, load in cells:
        if not isinstance(load.load, ClosedLoad) or closed.metric != "throughput_per_s":
            continue
        pinned = [
            (cell.load.rate_per_s, analysis)
            for analysis, cell in cells
            if isinstance(cell.load, OpenLoad)
            and cell.load.rate_per_s is not None
            and analysis.metric == "cpu_per_request_ns"
            and _same_but_loop(cell, load)
        ]
        if pinned:
            _, cost = max(pinned, key=lambda one: one[0])
            yield _cost_table(cost, closed)


def _same_but_loop(one: Cell, other: Cell) -> bool:
    return (
        isinstance(one.load, OpenLoad)
        and isinstance(other.load, ClosedLoad)
        and other.load.payload_bytes is None
        and one.workload == other.workload
        and over_tls(one.load) == over_tls(other.load)
        and (one.load.connections, one.load.in_flight, one.load.cores)
        == (other.load.connections, other.load.in_flight, other.load.cores)
    )


def _cost_table(cost: CellAnalysis, closed: CellAnalysis) -> TableView:
    rows = []
    known = {entry.entry for entry in cost.entries}
    others = [one for one in closed.entries if one.entry not in known]
    for entry in [*cost.entries, *others]:
        if entry.twin_of is None:
            at_rate, saturated = cost.entry(entry.entry), closed.entry(entry.entry)
            rows.append(
                (entry.entry, *_place(at_rate, cost.metric), *_place(saturated, closed.metric))
            )
    return TableView(
        title=f"Cost at a pinned rate ({cost.cell}) beside saturated throughput ({closed.cell})",
        how=_HOW_COST.format(unit=cost.unit, base=closed.cell),
        columns=(
            "rank by CPU",
            title(cost.metric, cost.unit),
            "rank by throughput",
            title(closed.metric, closed.unit),
        ),
        rows=tuple(rows),
    )


def _place(entry: EntryAnalysis | None, metric: str) -> tuple[str, str]:
    """Rank range and figure."""
    if entry is None:
        return "", "not in this cell"
    summary = entry.summary.metrics.get(metric)
    if summary is None:
        missing = "not known" if entry.is_floor else (entry.unranked or "not run").split(":")[0]
        return "", missing
    rank = "the floor" if entry.is_floor else rank_text(entry.standing)
    return rank, figure_sign(entry, metric) + figure(metric, summary.median)
