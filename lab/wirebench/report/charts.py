"""The charts, drawn by Altair: for the page (as wide as its column) or for a file (fixed size, with
a legend).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import altair as alt

from wirebench.catalog.units import count_of
from wirebench.report.figures import bound_sign, noun, ratio_text, times
from wirebench.report.histograms import MEDIAN, Point
from wirebench.report.palette import MARKS, Look
from wirebench.stats.types import Bound, CellAnalysis, Ratio

Rows = list[dict[str, Any]]
Target = Literal["page", "file"]
CurveKind = Literal["time", "share", "rate", "bytes"]
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
MIB = 2.0**20
MIB_LABELS = f"format(datum.value / {MIB:.0f}, '~g') + ' MiB'"
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
        "text": f"{bound_sign(bound)}{ratio_text(ratio)}, {count_of(ratio.blocks, 'block')}",
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
    chosen, opacity = _chosen()
    height = _height(230, names)
    x_span = Span(least=round(MEDIAN, 4), most=max(1.0, *(row["x"] for row in rows)))
    room, y_span = _with_names(x_span, names, style), _log_span([row["y"] for row in rows])
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
    y = _time_axis("y:Q", y_span)
    lines = (
        _chart(rows)
        .mark_line(strokeWidth=1.8, interpolate="monotone")
        .encode(x=x, y=y, **style.line(names), opacity=opacity)
    )
    ends = {entry: (points[-1].nines, points[-1].value_ns) for entry, points in curves.items()}
    named = _names_at_ends(ends, style, (x_span.most, room, y_span), height, (x, y), opacity)
    chart = alt.layer(lines, *named).add_params(chosen)
    return style.finish(chart, height=height, title=title)


# --- what is paid for what ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Trade:
    contestant: str
    size: float
    """Bytes."""
    time_ns: float
    text: str


SIZE_LABELS = (
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
    chosen, opacity = _chosen()
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
    y = _time_axis("ns:Q", _log_span([row["ns"] for row in rows]))
    names = [row["entry"] for row in rows]
    colour = style.line(names)["color"]
    colours = [style.looks[name].colour for name in names]
    points = (
        _chart(rows)
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
        _chart(rows)
        .mark_text(align="left", dx=8, dy=-6, fontSize=NAME_SIZE)
        .encode(x=x, y=y, text="label:N", color=colour, opacity=opacity)
    )
    return style.finish(alt.layer(points, labels).add_params(chosen), height=260, title=title)


# --- curves over a load ---------------------------------------------------------------------------


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
NAME_SIZE = 10
"""Of the names at the ends of lines, in pixels; a line of text takes two more."""
_BESIDE = 0.04
"""The share of a plot between the last step and the names."""
NAME_PIXELS = 6.0
"""The width of a character at this size: no less than that of the letters of names."""
PAGE_PLOT = 265
BAR_PLOT = 185
FILE_PLOT = 600
"""The narrowest width in pixels between the axis and the right end: of lines and of bars on the
page, where the labels of bars are long, and in a file.
"""


def curve_chart(curve: Curve, style: Style) -> AnyChart | None:
    if not curve.rows:
        return None
    chosen, opacity = _chosen()
    steps = sorted({row["x"] for row in curve.rows})
    height = _height(curve.height, curve.names)
    x_span, y_span = _x_span(steps, logarithmic=curve.log_x), _y_span(curve)
    room = _with_names(x_span, curve.names, style)
    x, y = _curve_x(curve, steps, room), _curve_y(curve, y_span)
    point = alt.OverlayMarkDef(size=45) if len(steps) <= MAX_POINTS else False
    lines = (
        _chart(curve.rows)
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
    ends = {row["entry"]: (row["x"], row["y"]) for row in curve.rows}
    layers = [
        lines,
        *_names_at_ends(ends, style, (steps[-1], room, y_span), height, (x, y), opacity),
    ]
    if knees := [row for row in curve.rows if row.get("knee")]:
        layers.append(
            _chart(knees)
            .mark_point(shape="circle", filled=False, size=260, strokeWidth=2)
            .encode(x=x, y=y, color=style.line(curve.names)["color"], opacity=opacity)
        )
    chart = alt.layer(*layers).add_params(chosen)
    return style.finish(chart, height=height, title=curve.title)


def _height(least: int, names: Sequence[str]) -> int:
    """With a line of text for each name."""
    return max(least, (NAME_SIZE + 2) * len(names))


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names without their language, but where two would then be alike."""
    short = {name: name.split("/")[-1] for name in names}
    alike = Counter(short.values())
    return {name: one if alike[one] == 1 else name for name, one in short.items()}


def _text_share(text: str, style: Style, *, page: int) -> float:
    """The share of a plot's width that a text takes at most."""
    width = page if style.target == "page" else FILE_PLOT
    return min(0.6, (len(text) * NAME_PIXELS + 8) / width)


@dataclass(frozen=True, kw_only=True)
class Span:
    """The part of an axis that is drawn."""

    least: float
    most: float
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Where a value is, from 0 to 1."""
        if self.logarithmic:
            return math.log(value / self.least) / math.log(self.most / self.least)
        return (value - self.least) / (self.most - self.least)

    def at(self, share: float) -> float:
        """The value there; beyond 1 it is farther on the same axis."""
        if self.logarithmic:
            return float(self.least * (self.most / self.least) ** share)
        return float(self.least + share * (self.most - self.least))


def _with_names(x: Span, names: Sequence[str], style: Style) -> Span:
    """With room for the names at the right end."""
    longest = max(short_names(names).values(), key=len)
    share = _BESIDE + _text_share(longest, style, page=PAGE_PLOT)
    return replace(x, most=x.at(1 / (1 - share)))


def _names_at_ends(
    ends: Mapping[str, tuple[float, float]],
    style: Style,
    spans: tuple[float, Span, Span],
    height: int,
    axes: tuple[alt.X, alt.Y],
    opacity: Any,
) -> tuple[alt.Chart, alt.Chart]:
    """The names at the right, none over another, each with a thin line from where its line ends.
    ``ends``: x and y by name. ``spans``: the last value of x, and the spans of x and y.
    """
    last, x_span, y_span = spans
    beside = x_span.at(x_span.share(last) + _BESIDE)
    names = list(ends)
    short = short_names(names)
    gap = (NAME_SIZE + 2) / height
    places = spread([y_span.share(y) for _, y in ends.values()], gap=gap)
    texts: Rows = []
    lines: Rows = []
    for (entry, (x, y)), place in zip(ends.items(), places, strict=True):
        at = y_span.at(place)
        texts.append({"entry": entry, "x": beside, "y": at, "name": short[entry]})
        lines.append({"entry": entry, "x": x, "y": y, "x2": beside, "y2": at})
    colour = style.line(names)["color"]
    x_axis, y_axis = axes
    return (
        _chart(lines)
        .mark_rule(strokeWidth=0.7)
        .encode(x=x_axis, y=y_axis, x2="x2:Q", y2="y2:Q", color=colour, opacity=opacity),
        _chart(texts)
        .mark_text(align="left", baseline="middle", dx=2, fontSize=NAME_SIZE)
        .encode(x=x_axis, y=y_axis, text="name:N", color=colour, opacity=opacity),
    )


def spread(places: Sequence[float], *, gap: float) -> list[float]:
    """Places from 0 to 1 moved apart by as little as leaves ``gap`` between them, in their order,
    and half of it to both ends. Where there is no room for that, evenly.
    """
    gap = min(gap, 1 / max(1, len(places)))
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = [0.0] * len(places)
    least = gap / 2
    for index in order:
        moved[index] = least = max(least, places[index])
        least += gap
    most = 1 - gap / 2
    for index in reversed(order):
        moved[index] = most = min(most, moved[index])
        most -= gap
    return moved


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
    return _log_span(values)


def _log_span(values: Sequence[float]) -> Span:
    least, most = padded(max(1.0, min(values)), max(1.0, *values))
    return Span(least=least, most=most, logarithmic=True)


# --- totals ---------------------------------------------------------------------------------------


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
        bar.value / (1 - _text_share(str(row["text"]), style, page=BAR_PLOT))
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
    chosen, opacity = _chosen()
    base = _chart(rows).encode(x=x, y=y, opacity=opacity)
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


def _curve_x(curve: Curve, steps: Sequence[float], room: Span) -> alt.X:
    if len(steps) <= MAX_STEPS:
        values = list(steps)
    elif curve.log_x:
        values = ratio_ticks(steps[0], steps[-1], wanted=5)
    else:
        values = round_steps(steps[0], steps[-1])
    kind: Literal["log", "linear"] = "log" if curve.log_x else "linear"
    return alt.X(
        "x:Q",
        scale=alt.Scale(type=kind, domain=[room.least, room.most], nice=False, zero=False),
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
        return _log_axis("y:Q", span, labels=MIB_LABELS, unit=MIB)
    return _time_axis("y:Q", span)


def _time_axis(field: str, span: Span) -> alt.Y:
    return _log_axis(field, span, labels=TIME_LABELS)


def _log_axis(field: str, span: Span, *, labels: str, unit: float = 1.0) -> alt.Y:
    """Logarithmic, with a few values that are round in ``unit``."""
    ticks = [tick * unit for tick in ratio_ticks(span.least / unit, span.most / unit, wanted=7)]
    axis = alt.Axis(values=ticks, labelExpr=labels, title=None)
    scale = alt.Scale(type="log", domain=[span.least, span.most], nice=False)
    return alt.Y(field, scale=scale, axis=axis)


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
