"""Lines over a load and by percentile, with the names of the contestants where they end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt

from wirebench.report.drawing import (
    MIB,
    MIB_LABELS,
    AnyChart,
    Rows,
    Span,
    Style,
    chart_of,
    chosen_entry,
    log_axis,
    log_span,
    ratio_ticks,
    time_axis,
)
from wirebench.report.histograms import MEDIAN, Point
from wirebench.report.line_names import height_for, names_at_ends, with_names

CurveKind = Literal["time", "share", "rate", "bytes"]

NINES_LABELS = (
    "datum.value < 1 ? 'median' : datum.value == 1 ? '90%' : "
    "format(1 - pow(10, -datum.value), '.' + (datum.value - 2) + '%')"
)
MAX_STEPS = 6
"""With more steps of a load, the axis has round values instead of the steps."""


def percentiles(curves: Mapping[str, Sequence[Point]], style: Style, title: str) -> AnyChart | None:
    """Latency by percentile; every further nine has the same width. None without histograms."""
    rows: Rows = [
        {"entry": entry, "x": round(point.nines, 4), "y": point.value_ns}
        for entry, points in curves.items()
        for point in points
    ]
    if not rows:
        return None
    names = list(curves)
    chosen, opacity = chosen_entry()
    height = height_for(230, names)
    x_span = Span(least=round(MEDIAN, 4), most=max(1.0, *(row["x"] for row in rows)))
    room, y_span = with_names(x_span, names, style), log_span([row["y"] for row in rows])
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[room.least, room.most], nice=False),
        axis=alt.Axis(
            values=[room.least, *range(1, math.floor(x_span.most) + 1)],
            labelExpr=NINES_LABELS,
            title=None,
            labelFlush=True,
        ),
    )
    y = time_axis("y:Q", y_span)
    lines = (
        chart_of(rows)
        .mark_line(strokeWidth=1.8, interpolate="monotone")
        .encode(x=x, y=y, **style.line(names), opacity=opacity)
    )
    ends = {entry: (points[-1].nines, points[-1].value_ns) for entry, points in curves.items()}
    named = names_at_ends(ends, style, (x_span.most, room, y_span), height, (x, y), opacity)
    chart = alt.layer(lines, *named).add_params(chosen)
    return style.finish(chart, height=height, title=title)


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One figure of every entry at each step of a load. Each line has its contestant's name where
    it ends.
    """

    rows: Rows
    """``entry``, ``x``, ``y``, ``text``; where ``knee`` is true, the point gets a ring."""
    names: tuple[str, ...]
    title: str
    kind: CurveKind
    x_title: str
    log_x: bool = False
    height: int = 220


MAX_POINTS = 25
"""A line of more steps has no point at each."""


def curve_chart(curve: Curve, style: Style) -> AnyChart | None:
    if not curve.rows:
        return None
    chosen, opacity = chosen_entry()
    steps = sorted({row["x"] for row in curve.rows})
    height = height_for(curve.height, curve.names)
    x_span, y_span = _x_span(steps, logarithmic=curve.log_x), _y_span(curve)
    room = with_names(x_span, curve.names, style)
    x, y = _curve_x(curve, steps, room), _curve_y(curve, y_span)
    point = alt.OverlayMarkDef(size=45) if len(steps) <= MAX_POINTS else False
    lines = (
        chart_of(curve.rows)
        .mark_line(strokeWidth=1.8, point=point)
        .encode(
            x=x,
            y=y,
            **style.line(curve.names, points=point is not False),
            opacity=opacity,
            tooltip=[
                alt.Tooltip("entry:N", title="contestant"),
                alt.Tooltip("x:Q", title=curve.x_title, format=","),
                alt.Tooltip("text:N", title=curve.title),
            ],
        )
    )
    # Rows of an entry come in the order of x.
    found = {row["entry"]: (row["x"], row["y"]) for row in curve.rows}
    ends = {name: found[name] for name in curve.names}
    layers = [
        lines,
        *names_at_ends(ends, style, (steps[-1], room, y_span), height, (x, y), opacity),
    ]
    if knees := [row for row in curve.rows if row.get("knee")]:
        layers.append(
            chart_of(knees)
            .mark_point(shape="circle", filled=False, size=260, strokeWidth=2)
            .encode(x=x, y=y, color=style.line(curve.names)["color"], opacity=opacity)
        )
    chart = alt.layer(*layers).add_params(chosen)
    return style.finish(chart, height=height, title=curve.title)


def round_steps(least: float, most: float, *, wanted: int = 5) -> list[float]:
    """At most ``wanted`` round values in the range, as many as there can be."""
    for step in (factor * 10.0**decade for decade in range(7) for factor in (1, 2, 5)):
        first, last = math.ceil(least / step), math.floor(most / step)
        if last - first < wanted:
            return [index * step for index in range(first, last + 1)]
    return [least, most]


def _x_span(steps: Sequence[float], *, logarithmic: bool) -> Span:
    least, most = steps[0], steps[-1]
    if least == most:
        most = 2 * least if logarithmic else least + max(1.0, least)
    return Span(least=least, most=most, logarithmic=logarithmic)


def _y_span(curve: Curve) -> Span:
    values = [row["y"] for row in curve.rows]
    if curve.kind == "share":
        return Span(least=0.0, most=1.0)
    if curve.kind == "rate":
        return Span(least=0.0, most=1.05 * max(values) or 1.0)
    return log_span(values)


def _curve_x(curve: Curve, steps: Sequence[float], room: Span) -> alt.X:
    if len(steps) <= MAX_STEPS:
        values = list(steps)
    elif curve.log_x:
        values = ratio_ticks(steps[0], steps[-1], wanted=5)
    else:
        values = round_steps(steps[0], steps[-1])
    ends = [room.least, room.most]
    scale = (
        alt.Scale(type="log", domain=ends, nice=False)
        if curve.log_x
        else alt.Scale(domain=ends, nice=False, zero=False)
    )
    return alt.X(
        "x:Q",
        scale=scale,
        axis=alt.Axis(
            title=curve.x_title,
            titleAnchor="start",
            format="~s",
            grid=False,
            labelFlush=True,
            labelOverlap=True,
            values=values,
        ),
    )


def _curve_y(curve: Curve, span: Span) -> alt.Y:
    if curve.kind in ("share", "rate"):
        return alt.Y(
            "y:Q",
            scale=alt.Scale(domain=[span.least, span.most], nice=False),
            axis=alt.Axis(format="%" if curve.kind == "share" else "~s", title=None, tickCount=5),
        )
    if curve.kind == "bytes":
        return log_axis("y:Q", span, labels=MIB_LABELS, unit=MIB)
    return time_axis("y:Q", span)
