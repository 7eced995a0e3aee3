"""Totals as bars, with their figures at the ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from wirebench.report.drawing import (
    NAME_SIZE,
    TIME_LABELS,
    AnyChart,
    Rows,
    Style,
    chart_of,
    chosen_entry,
    text_share,
)
from wirebench.report.palette import MARKS

BAR_PLOT = 185
"""The narrowest width in pixels between the axis and the right end on the page: the labels are
long.
"""


@dataclass(frozen=True, kw_only=True)
class Bar:
    name: str
    value: float
    """In nanoseconds."""
    text: str
    fault: str
    """What went wrong; empty if nothing did."""


def bar_chart(bars: Sequence[Bar], style: Style, *, title: str) -> AnyChart:
    """A bar for each contestant, with its figure at the end. One with a fault is an outline."""
    rows: Rows = [
        {
            "entry": bar.name,
            "value": bar.value,
            "fault": bar.fault,
            "text": f"{bar.text} (broke)" if bar.fault else bar.text,
            "said": f"{bar.text}, {bar.fault}" if bar.fault else bar.text,
        }
        for bar in bars
    ]
    most = max(bar.value for bar in bars)
    room = max(
        bar.value / (1 - text_share(str(row["text"]), style, page=BAR_PLOT))
        for bar, row in zip(bars, rows, strict=True)
    )
    x = alt.X(
        "value:Q",
        scale=alt.Scale(domain=[0, room], nice=False),
        axis=alt.Axis(
            values=[step * 10 ** math.floor(math.log10(most)) for step in _bar_steps(most)],
            labelExpr=TIME_LABELS,
            labelOverlap=True,
            title=None,
        ),
    )
    y = alt.Y(
        "entry:N",
        sort=[bar.name for bar in bars],
        axis=alt.Axis(title=None, ticks=False, domain=False),
    )
    chosen, opacity = chosen_entry()
    base = chart_of(rows).encode(x=x, y=y, opacity=opacity)
    whole = alt.condition("datum.fault == ''", alt.value(MARKS["middle"]), alt.value("transparent"))
    drawn = base.mark_bar(stroke=MARKS["middle"], strokeWidth=1.2, height=13).encode(
        color=whole,
        tooltip=[
            alt.Tooltip("entry:N", title="contestant"),
            alt.Tooltip("said:N", title=title),
        ],
    )
    words = base.mark_text(align="left", baseline="middle", dx=4, fontSize=NAME_SIZE).encode(
        text="text:N", color=alt.value(MARKS["tie"])
    )
    chart = alt.layer(drawn, words).add_params(chosen)
    return style.finish(chart, height=22 * len(bars), title=title)


def _bar_steps(most: float) -> list[float]:
    """A few round parts of the decade that ``most`` is in."""
    lead = most / 10 ** math.floor(math.log10(most))
    step = 1.0 if lead < 3 else 2.0 if lead < 6 else 4.0
    return [index * step for index in range(math.floor(lead / step) + 1)]
