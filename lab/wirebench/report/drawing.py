"""What all charts share: for the page (as wide as its column) or for a file (fixed size, with a
legend); the looks of lines, axes, and where texts have room.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from wirebench.report.palette import Look

Rows = list[dict[str, Any]]
Target = Literal["page", "file"]
AnyChart = alt.Chart | alt.LayerChart | alt.FacetChart
TIME_LABELS = (
    "datum.value == 0 ? '0' : "
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' s' : datum.value >= 1e6 ?"
    " format(datum.value / 1e6, '~g') + ' ms' : datum.value >= 1e3 ? format(datum.value / 1e3,"
    " '~g') + ' µs' : format(datum.value, '~g') + ' ns'"
)
MIB = 2.0**20
MIB_LABELS = f"format(datum.value / {MIB:.0f}, '~g') + ' MiB'"
TIMES_LABELS = "format(datum.value, '~g') + '×'"
FILE_WIDTH = 760


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


def chart_of(rows: Rows) -> alt.Chart:
    return alt.Chart(alt.Data(values=rows))  # type: ignore[no-untyped-call]  # Altair's own gap


def chosen_entry() -> tuple[alt.Parameter, Any]:
    """The page sets ``chosen`` when a name of the legend is pressed. The other lines then fade."""
    chosen = alt.param(name="chosen", value="")
    return chosen, alt.condition(
        "chosen == '' || chosen == datum.entry", alt.value(1.0), alt.value(0.12)
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


NAME_SIZE = 10
"""Of the names at the ends of lines, in pixels; a line of text takes two more."""
NAME_PIXELS = 6.0
"""The width of a character at this size: no less than that of the letters of names."""
FILE_PLOT = 600
"""The narrowest width in pixels between the axis and the right end in a file."""


def text_share(text: str, style: Style, *, page: int) -> float:
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


def log_span(values: Sequence[float]) -> Span:
    least, most = padded(max(1.0, min(values)), max(1.0, *values))
    return Span(least=least, most=most, logarithmic=True)


def time_axis(field: str, span: Span) -> alt.Y:
    return log_axis(field, span, labels=TIME_LABELS)


def log_axis(field: str, span: Span, *, labels: str, unit: float = 1.0) -> alt.Y:
    """Logarithmic, with a few values that are round in ``unit``."""
    ticks = [tick * unit for tick in ratio_ticks(span.least / unit, span.most / unit, wanted=7)]
    axis = alt.Axis(values=ticks, labelExpr=labels, title=None)
    scale = alt.Scale(type="log", domain=[span.least, span.most], nice=False)
    return alt.Y(field, scale=scale, axis=axis)
