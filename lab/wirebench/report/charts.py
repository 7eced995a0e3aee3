"""The charts, drawn by Altair: for the page (as wide as its column) or for a file (fixed size, with
a legend).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from wirebench.report.figures import bound_sign, noun, ratio_text, times
from wirebench.report.histograms import MEDIAN, Point
from wirebench.report.palette import MARKS, Look
from wirebench.stats.types import Bound, CellAnalysis, Ratio

Rows = list[dict[str, Any]]
Target = Literal["page", "file"]
CurveKind = Literal["time", "share", "rate"]
AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart

NINES_LABELS = (
    "datum.value < 1 ? 'median' : datum.value == 1 ? '90%' : "
    "format(1 - pow(10, -datum.value), '.' + (datum.value - 2) + '%')"
)
TIME_LABELS = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' s' : datum.value >= 1e6 ?"
    " format(datum.value / 1e6, '~g') + ' ms' : datum.value >= 1e3 ? format(datum.value / 1e3,"
    " '~g') + ' µs' : format(datum.value, '~g') + ' ns'"
)
TIMES_LABELS = "format(datum.value, '~g') + '×'"
FILE_WIDTH = 760
MAX_STEPS = 6
"""With more steps of a load, the axis has round values instead of the steps."""
WILD = 0.9
"""A noise band wider than this would reach to nothing on a log axis; its mirror image is drawn
there.
"""


@dataclass(frozen=True, kw_only=True)
class Style:
    """The target of a chart, and the look of every contestant's line."""

    looks: Mapping[str, Look]
    target: Target = "page"

    @property
    def width(self) -> Any:
        return "container" if self.target == "page" else FILE_WIDTH

    def finish(self, chart: AnyChart, *, height: int, title: str) -> AnyChart:
        chart = chart.properties(width=self.width, height=height)
        if self.target == "page":
            return chart.properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
        return chart.properties(title=title)

    def line(self, names: Sequence[str], *, points: bool = False) -> dict[str, Any]:
        """Colour, dash and shape of the lines. The page has one HTML legend for each study, which
        wraps like text.
        """
        looks = [self.looks[name] for name in names]

        # The symbols of a legend are the points where there are any; a dashed outline would only
        # fray them.
        size, width = (140, 0) if points else (800, 2)
        legend = (
            alt.Legend(title=None, labelLimit=300, symbolSize=size, symbolStrokeWidth=width)
            if self.target == "file"
            else None
        )

        def scale(values: Sequence[Any]) -> alt.Scale:
            return alt.Scale(domain=list(names), range=list(values))

        colour = alt.Color("entry:N", scale=scale([look.colour for look in looks]), legend=legend)
        dash = alt.StrokeDash(
            "entry:N", scale=scale([list(look.dash) for look in looks]), legend=legend
        )
        shape = alt.Shape("entry:N", scale=scale([look.shape for look in looks]), legend=legend)
        return {"color": colour, "strokeDash": dash} | ({"shape": shape} if points else {})


def _chart(rows: Rows) -> alt.Chart:
    return alt.Chart(alt.Data(values=rows))  # type: ignore[no-untyped-call]  # Altair's own gap


def _chosen() -> tuple[alt.Parameter, Any]:
    """The page sets ``chosen`` when a name of the legend is pressed. The other lines then fade."""
    chosen = alt.param(name="chosen", value="")
    return chosen, alt.condition(
        "chosen == '' || chosen == datum.entry", alt.value(1.0), alt.value(0.12)
    )


# --- ratios ---------------------------------------------------------------------------------------


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
        "text": f"{bound_sign(bound)}{ratio_text(ratio)}, {ratio.blocks} blocks",
    }


def forest(cell: CellAnalysis, style: Style) -> AnyChart | None:
    """Ratios to the floor on a log axis with the noise band. None without any ratio."""
    rows = forest_rows(cell)
    if not rows:
        return None
    d = cell.band.d
    lower = 1 - d if d < WILD else 1 / (1 + d)
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
    base = _chart(rows)
    band = (
        _chart([{"from": lower, "to": 1 + d}])
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
        _chart([{"one": 1}])
        .mark_rule(color=MARKS["tie"], strokeDash=[3, 3])
        .encode(x=alt.X("one:Q", scale=scale))
    )
    chart = alt.layer(band, one, lines, points)
    return style.finish(
        chart,
        height=24 * len(rows),
        title=f"{cell.title}: {noun(cell.metric, cell.unit)} over the floor's",
    )


def ratio_ticks(least: float, most: float, *, wanted: int = 6) -> list[float]:
    """At most ``wanted`` round values in the range: steps of a wide range are factors, those of a
    narrow one differences.
    """
    candidates: list[list[float]] = []
    lowest, highest = math.floor(math.log10(least)), math.ceil(math.log10(most))
    if most / least <= 3:
        for step in (
            factor * 10.0**decade for decade in (lowest - 1, lowest) for factor in (1, 2, 5)
        ):
            first, last = math.ceil(least / step), math.floor(most / step)
            if last - first < wanted:
                candidates.append([round(index * step, 9) for index in range(first, last + 1)])
    for factors, every in (((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), 2), ((1,), 3), ((1,), 4)):
        values = (
            factor * 10.0**decade
            for decade in range(lowest, highest + 1)
            if decade % every == 0
            for factor in factors
        )
        candidates.append([round(value, 9) for value in values if least <= value <= most])
    fitting = [ticks for ticks in candidates if len(ticks) <= wanted]
    return max(fitting, key=len) if fitting else [1.0]


def padded(least: float, most: float, *, share: float = 0.05) -> tuple[float, float]:
    """The range of a log axis with room for the marks at its ends."""
    room = max(1.01, (most / least) ** share)
    return least / room, most * room


# --- percentiles ----------------------------------------------------------------------------------


def percentiles(
    cell: CellAnalysis, curves: Mapping[str, Sequence[Point]], style: Style
) -> AnyChart | None:
    """Latency by percentile; every further nine has the same width. None without histograms."""
    rows: Rows = [
        {"entry": entry, "nines": round(point.nines, 4), "ns": point.value_ns}
        for entry, points in curves.items()
        for point in points
    ]
    if not rows:
        return None
    names = list(curves)
    chosen, opacity = _chosen()
    last = max(1.0, *(row["nines"] for row in rows))
    x = alt.X(
        "nines:Q",
        scale=alt.Scale(domain=[round(MEDIAN, 4), last], nice=False),
        axis=alt.Axis(
            values=[round(MEDIAN, 4), *range(1, math.floor(last) + 1)],
            labelExpr=NINES_LABELS,
            title=None,
            labelFlush=True,
        ),
    )
    y = _time_axis("ns:Q", [row["ns"] for row in rows])
    chart = (
        _chart(rows)
        .mark_line(strokeWidth=1.8, interpolate="monotone")
        .encode(x=x, y=y, **style.line(names), opacity=opacity)
        .add_params(chosen)
    )
    return style.finish(chart, height=230, title=f"{cell.title}: latency by percentile")


# --- curves over a load ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One figure of every entry at each step of a load."""

    rows: Rows
    """``entry``, ``x``, ``y``, ``text``; where ``knee`` is true, the point gets a ring."""
    names: tuple[str, ...]
    title: str
    kind: CurveKind
    x_title: str
    log_x: bool = False
    height: int = 220


def curve_chart(curve: Curve, style: Style) -> AnyChart | None:
    if not curve.rows:
        return None
    chosen, opacity = _chosen()
    steps = sorted({row["x"] for row in curve.rows})
    scale = alt.Scale(type="log", nice=False) if curve.log_x else alt.Scale(zero=False, nice=False)
    values = steps if len(steps) <= MAX_STEPS else None
    x_axis = alt.Axis(
        title=curve.x_title, format="~s", grid=False, labelFlush=True, labelOverlap=True
    )
    if values is not None:
        x_axis.values = values
    x, y = alt.X("x:Q", scale=scale, axis=x_axis), _curve_y(curve)
    lines = (
        _chart(curve.rows)
        .mark_line(strokeWidth=1.8, point=alt.OverlayMarkDef(size=45))
        .encode(
            x=x,
            y=y,
            **style.line(curve.names, points=True),
            opacity=opacity,
            tooltip=[
                alt.Tooltip("entry:N", title="contestant"),
                alt.Tooltip("x:Q", title=curve.x_title, format=","),
                alt.Tooltip("text:N", title=curve.title),
            ],
        )
    )
    knees = [row for row in curve.rows if row.get("knee")]
    chart: AnyChart = lines
    if knees:
        rings = (
            _chart(knees)
            .mark_point(shape="circle", filled=False, size=260, strokeWidth=2)
            .encode(x=x, y=y, color=style.line(curve.names)["color"], opacity=opacity)
        )
        chart = alt.layer(lines, rings)
    return style.finish(chart.add_params(chosen), height=curve.height, title=curve.title)


def _curve_y(curve: Curve) -> alt.Y:
    if curve.kind == "share":
        return alt.Y(
            "y:Q",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format="%", title=None, tickCount=5),
        )
    if curve.kind == "rate":
        return alt.Y(
            "y:Q", scale=alt.Scale(zero=True), axis=alt.Axis(format="~s", title=None, tickCount=5)
        )
    return _time_axis("y:Q", [row["y"] for row in curve.rows])


def _time_axis(field: str, values: Sequence[float]) -> alt.Y:
    """Logarithmic, with a few round times."""
    least, most = padded(max(1.0, min(values)), max(values))
    axis = alt.Axis(values=ratio_ticks(least, most, wanted=7), labelExpr=TIME_LABELS, title=None)
    return alt.Y(field, scale=alt.Scale(type="log", domain=[least, most], nice=False), axis=axis)


# --- heat map -------------------------------------------------------------------------------------


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
    base = _chart(rows).encode(
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
