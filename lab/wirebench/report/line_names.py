"""The names of lines where they end, none over another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from wirebench.report.drawing import NAME_SIZE, Rows, Span, Style, chart_of, text_share

_BESIDE = 0.04
"""The share of a plot between the last step and the names."""
PAGE_PLOT = 265
"""The narrowest width in pixels between the axis and the right end of the page's lines."""


def height_for(least: int, names: Sequence[str]) -> int:
    """With a line of text for each name."""
    return max(least, (NAME_SIZE + 2) * len(names))


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names without their language, but where two would then be alike."""
    short = {name: name.split("/")[-1] for name in names}
    alike = Counter(short.values())
    return {name: one if alike[one] == 1 else name for name, one in short.items()}


def with_names(x: Span, names: Sequence[str], style: Style) -> Span:
    """With room for the names at the right end."""
    longest = max(short_names(names).values(), key=len)
    share = _BESIDE + text_share(longest, style, page=PAGE_PLOT)
    return replace(x, most=x.at(1 / (1 - share)))


def names_at_ends(
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
        chart_of(lines)
        .mark_rule(strokeWidth=0.7)
        .encode(x=x_axis, y=y_axis, x2="x2:Q", y2="y2:Q", color=colour, opacity=opacity),
        chart_of(texts)
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
