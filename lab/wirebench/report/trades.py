"""What is paid for what: two costs of each contestant, and those that no other one dominates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from wirebench.report.drawing import (
    NAME_SIZE,
    AnyChart,
    Rows,
    Style,
    chart_of,
    chosen_entry,
    log_span,
    padded,
    time_axis,
)


@dataclass(frozen=True, kw_only=True)
class Trade:
    contestant: str
    size: float
    """Bytes."""
    time_ns: float
    text: str


SIZE_LABELS = (
    "datum.value == 0 ? '0' : "
    "datum.value >= pow(2, 30) ? format(datum.value / pow(2, 30), '~g') + ' GiB' : datum.value >="
    " pow(2, 20) ? format(datum.value / pow(2, 20), '~g') + ' MiB' : datum.value >= 1024 ?"
    " format(datum.value / 1024, '~g') + ' KiB' : format(datum.value, '~g') + ' B'"
)


def undominated(trades: Sequence[Trade]) -> list[Trade]:
    """Those than which no other one is better in one and no worse in the other."""
    return [
        one
        for one in trades
        if not any(
            (other.size <= one.size and other.time_ns < one.time_ns)
            or (other.size < one.size and other.time_ns <= one.time_ns)
            for other in trades
        )
    ]


def trade_chart(trades: Sequence[Trade], style: Style, *, title: str, x_title: str) -> AnyChart:
    """Both axes are logarithmic."""
    best = {one.contestant for one in undominated(trades)}
    rows: Rows = [
        {
            "entry": one.contestant,
            "size": max(one.size, 1.0),
            "ns": one.time_ns,
            "best": one.contestant in best,
            "label": one.contestant if one.contestant in best else "",
            "text": one.text,
        }
        for one in trades
    ]
    least, most = (pick(row["size"] for row in rows) for pick in (min, max))
    powers = range(math.floor(math.log2(least) / 2), math.ceil(math.log2(most) / 2) + 1)
    chosen, opacity = chosen_entry()
    x = alt.X(
        "size:Q",
        scale=alt.Scale(type="log", domain=padded(least, most, share=0.12), nice=False),
        axis=alt.Axis(
            values=[float(4**power) for power in powers],
            labelExpr=SIZE_LABELS,
            title=x_title,
            labelOverlap=True,
        ),
    )
    y = time_axis("ns:Q", log_span([row["ns"] for row in rows]))
    names = [row["entry"] for row in rows]
    colour = style.line(names)["color"]
    colours = [style.looks[name].colour for name in names]
    points = (
        chart_of(rows)
        .mark_point(size=70, strokeWidth=2)
        .encode(
            x=x,
            y=y,
            color=colour,
            shape=style.line(names, points=True)["shape"],
            fillOpacity=alt.condition("datum.best", alt.value(1.0), alt.value(0.0)),
            fill=alt.Fill("entry:N", scale=alt.Scale(domain=names, range=colours), legend=None),
            opacity=opacity,
            tooltip=[
                alt.Tooltip("entry:N", title="contestant"),
                alt.Tooltip("text:N", title=title),
            ],
        )
    )
    labels = (
        chart_of(rows)
        .mark_text(align="left", dx=8, dy=-6, fontSize=NAME_SIZE)
        .encode(x=x, y=y, text="label:N", color=colour, opacity=opacity)
    )
    return style.finish(alt.layer(points, labels).add_params(chosen), height=260, title=title)
