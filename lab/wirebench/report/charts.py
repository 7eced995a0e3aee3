"""Ratios to the floor: of the entries of a cell, and of all cells of a study as a heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from wirebench.catalog.units import count_of
from wirebench.report.drawing import (
    TIMES_LABELS,
    AnyChart,
    Rows,
    Style,
    chart_of,
    padded,
    ratio_ticks,
)
from wirebench.report.figures import bound_sign, noun, ratio_text, times
from wirebench.report.palette import MARKS
from wirebench.stats.types import Bound, CellAnalysis, Ratio


def forest_rows(cell: CellAnalysis) -> Rows:
    """Every entry with a ratio to the floor, best first, and the twin's ratio to itself."""
    rows: Rows = []
    for entry in cell.entries:
        ratio = entry.standing.ratio
        if ratio is None or entry.twin_of is not None:
            continue
        rows.append(
            _forest_row(entry.entry, ratio, entry.mark or "reference", entry.standing.bound)
        )
    if cell.twin is not None and cell.twin.ratio is not None:
        rows.append(_forest_row(f"twin: {cell.twin.contestant}", cell.twin.ratio, "reference"))
    return rows


def _forest_row(name: str, ratio: Ratio, mark: str, bound: Bound | None = None) -> dict[str, Any]:
    return {
        "entry": bound_sign(bound) + name,
        "ratio": ratio.estimate,
        "low": ratio.low if ratio.low is not None else ratio.estimate,
        "high": ratio.high if ratio.high is not None else ratio.estimate,
        "mark": mark,
        "bound": bound,
        "text": f"{bound_sign(bound)}{ratio_text(ratio)}, {count_of(ratio.blocks, 'block')}",
    }


def forest(cell: CellAnalysis, style: Style) -> AnyChart | None:
    """Ratios to the floor on a log axis with the noise band. None without any ratio."""
    rows = forest_rows(cell)
    if not rows:
        return None
    d = cell.band.d
    lower = 1 / (1 + d)
    least, most = padded(
        min(lower, *(row["low"] for row in rows)), max(1 + d, *(row["high"] for row in rows))
    )
    scale = alt.Scale(type="log", domain=[least, most], nice=False)
    axis = alt.Axis(values=ratio_ticks(least, most), labelExpr=TIMES_LABELS, title=None, grid=True)
    x = alt.X("ratio:Q", scale=scale, axis=axis)
    y = alt.Y(
        "entry:N",
        sort=[row["entry"] for row in rows],
        axis=alt.Axis(title=None, ticks=False, domain=False),
    )
    base = chart_of(rows)
    band = (
        chart_of([{"from": lower, "to": 1 + d}])
        .mark_rect(color=MARKS["tie"], opacity=0.25)
        .encode(x=alt.X("from:Q", scale=scale), x2="to:Q")
    )
    colour = alt.Color(
        "mark:N", scale=alt.Scale(domain=list(MARKS), range=list(MARKS.values())), legend=None
    )
    shape = alt.Shape(
        "mark:N",
        scale=alt.Scale(
            domain=list(MARKS),
            range=["triangle-up", "triangle-down", "circle", "square", "diamond"],
        ),
        legend=None,
    )
    tooltip = [
        alt.Tooltip("entry:N", title="contestant"),
        alt.Tooltip("text:N", title="over the floor"),
    ]
    lines = base.mark_rule(strokeWidth=2.5).encode(
        x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q", y=y, color=colour
    )
    points = base.mark_point(filled=True, size=75, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    one = (
        chart_of([{"one": 1}])
        .mark_rule(color=MARKS["tie"], strokeDash=[3, 3])
        .encode(x=alt.X("one:Q", scale=scale))
    )
    chart = alt.layer(band, one, lines, points)
    return style.finish(
        chart,
        height=24 * len(rows),
        title=f"{cell.title}: {noun(cell.metric, cell.unit)} over the floor's",
    )


def heat_map(cells: Sequence[CellAnalysis], style: Style, *, study_title: str) -> AnyChart | None:
    """Ratios to the floor of all entries in all cells of a study: colour is the ratio, darker is
    costlier.
    """
    rows: Rows = []
    for cell in cells:
        for entry in cell.entries:
            ratio = entry.standing.ratio
            if ratio is None or entry.twin_of is not None:
                continue
            cost = 1 / ratio.estimate if cell.higher_is_better else ratio.estimate
            rows.append(
                {
                    "entry": entry.entry,
                    "cell": cell.cell,
                    "cost": cost,
                    "text": times(ratio.estimate),
                }
            )
    if not rows:
        return None
    order = list(dict.fromkeys(row["entry"] for row in rows))
    base = chart_of(rows).encode(
        x=alt.X("cell:N", sort=None, axis=alt.Axis(title=None, labelAngle=-30)),
        y=alt.Y("entry:N", sort=order, axis=alt.Axis(title=None)),
    )
    scale = alt.Scale(type="log", scheme="yellowgreenblue")
    tiles = base.mark_rect().encode(color=alt.Color("cost:Q", scale=scale, legend=None))
    middle = math.sqrt(max(row["cost"] for row in rows) * min(row["cost"] for row in rows))
    words = base.mark_text().encode(
        text="text:N",
        color=alt.condition(f"datum.cost > {middle}", alt.value("#ffffff"), alt.value("#111111")),
    )
    return style.finish(
        alt.layer(tiles, words), height=26 * len(order), title=f"{study_title}: ratio to the floor"
    )
