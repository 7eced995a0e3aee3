"""A series as lines of text, and as an offline page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from wirebench.history.changes import Change, changes_of, levels
from wirebench.history.index import Point, Series
from wirebench.report.figures import bound_sign, figure, moment, times, title
from wirebench.report.plain import drawn, element, plain_page, plain_table

DOT, BAR, LOW, HIGH = "●", "─", "├", "┤"
BOUNDS = (
    "≥, ≤ and ? stand before a bound: the load generator, not the server, was the limit in that run"
)
LEAST_WIDTH = 12
TIME = "%m-%d %H:%M"


def heading(series: Series) -> str:
    """``cpp/wire: throughput in concurrency c50, preset quick, over the floor``."""
    what = title(series.metric, series.unit)
    whose = f"{series.contestant}: {what} in {series.study} {series.cell}, preset {series.preset}"
    return whose + (", over the floor of the same run" if is_relative(series) else "")


def is_relative(series: Series) -> bool:
    return all(one.ratio is not None for one in series.points)


def has_bounds(series: Series) -> bool:
    """Whether any figure that is shown of it is only a bound."""
    return any(
        (one.ratio_bound if is_relative(series) else one.bound) is not None for one in series.points
    )


def lines(series: Series, *, width: int) -> list[str]:
    """A line for each run, oldest first: its time, its figure, its place between the least and the
    greatest, and what changed since the run before. ``width``: of the terminal, in characters.
    """
    points, values = series.points, levels(series)
    relative = is_relative(series)
    spans = [
        _span(one, value, relative=relative) for one, value in zip(points, values, strict=True)
    ]
    least, most = min(one[0] for one in spans), max(one[1] for one in spans)
    changes = {one.after.run: one for one in changes_of(series)}
    room = max(LEAST_WIDTH, min(60, width - 62))
    drawn = []
    for number, (point, value, span) in enumerate(zip(points, values, spans, strict=True)):
        change = changes.get(point.run)
        if change is not None:
            drawn.append(f"  {'':16}  {change_text(change)}")
        sign = bound_sign(point.ratio_bound if relative else point.bound)
        text = sign + (times(value) if relative else figure(series.metric, value))
        news = ", ".join(_news(points[number - 1] if number else None, point))
        place = _place(value, span, least, most, room)
        drawn.append(
            f"  {moment(point.started_unix_ns)[:16]}  {text:>10}  {place}  {news}".rstrip()
        )
    return [*drawn, f"  {BOUNDS}"] if has_bounds(series) else drawn


def change_text(change: Change) -> str:
    """``▲ 5.2% more from here (library 1.2 -> 1.3)``."""
    sign, word = ("▲", "more") if change.ratio > 1 else ("▼", "less")
    with_it = "; ".join(change.versions) or "nothing else that is recorded changed"
    return f"{sign} {abs(change.ratio - 1):.1%} {word} from here ({with_it})"


def _news(before: Point | None, after: Point) -> Iterator[str]:
    if before is not None and before.version != after.version:
        yield after.version
    elif before is not None and before.build != after.build:
        yield "new build"
    if after.disturbed:
        yield "other programs ran"


def _span(point: Point, value: float, *, relative: bool) -> tuple[float, float]:
    if relative and point.low is not None and point.high is not None:
        return min(point.low, value), max(point.high, value)
    return value, value


def _place(value: float, span: tuple[float, float], least: float, most: float, room: int) -> str:
    """The value and its interval on a line of this many characters, by their logarithms."""

    def at(one: float) -> int:
        if most <= least or least <= 0:
            return room // 2
        return round((room - 1) * math.log(one / least) / math.log(most / least))

    row = [" "] * room
    low, high = at(span[0]), at(span[1])
    for place in range(low, high + 1):
        row[place] = BAR
    if high - low > 1:
        row[low], row[high] = LOW, HIGH
    row[at(value)] = DOT
    return "".join(row)


# --- the page -------------------------------------------------------------------------------------


def page(shown: Sequence[Series]) -> str:
    """One offline page without scripts: a picture and a table for each series."""
    parts = [element("h1", "History")]
    for series in shown:
        changes = changes_of(series)
        parts.append(element("h2", heading(series)))
        parts.append(f"<div>{picture(series, changes)}</div>")
        parts += [element("p", moved(one)) for one in changes]
        parts.append(table(series))
    return plain_page("wirebench: history", "".join(parts))


def moved(change: Change) -> str:
    """``change_text`` with its time."""
    return f"{moment(change.after.started_unix_ns)}: {change_text(change)}"


def table(series: Series) -> str:
    """A row for each run, as HTML."""
    rows = []
    for one in series.points:
        ratio = bound_sign(one.ratio_bound) + times(one.ratio) if one.ratio is not None else ""
        if one.low is not None and one.high is not None:
            ratio += f" [{times(one.low)[:-1]}, {times(one.high)[:-1]}]"
        rows.append(
            (
                *(one.run, bound_sign(one.bound) + figure(series.metric, one.value), ratio),
                *(one.version, one.build[:8]),
                "other programs ran" if one.disturbed else "",
            )
        )
    heads = ("run", "figure", "over the floor", "library", "build", "beside it")
    bounded = any((one.bound, one.ratio_bound) != (None, None) for one in series.points)
    return plain_table(heads, rows) + (element("p", f"{BOUNDS}.") if bounded else "")


def picture(series: Series, changes: Sequence[Change]) -> str:
    """The series as an SVG element: points with intervals, a line at each change."""
    relative = is_relative(series)
    rows: list[dict[str, Any]] = []
    for one, value in zip(series.points, levels(series), strict=True):
        low, high = _span(one, value, relative=relative)
        rows.append({"x": one.started_unix_ns // 1_000_000, "y": value, "low": low, "high": high})
    x = alt.X(
        "x:T", title=None, scale=alt.Scale(type="utc"), axis=alt.Axis(format=TIME, tickCount=6)
    )
    name = "over the floor" if relative else title(series.metric, series.unit)
    y = alt.Y("y:Q", title=name, scale=alt.Scale(zero=False))
    data = alt.Data(values=rows)  # type: ignore[no-untyped-call]  # Altair's own gap
    base = alt.Chart(data)
    layers = [
        base.mark_rule(opacity=0.5).encode(x=x, y=alt.Y("low:Q", title=name), y2="high:Q"),
        base.mark_line(opacity=0.4).encode(x=x, y=y),
        base.mark_point(filled=True, size=40).encode(x=x, y=y),
    ]
    if changes:
        marks = [{"x": one.after.started_unix_ns // 1_000_000} for one in changes]
        layers.append(
            alt.Chart(alt.Data(values=marks))  # type: ignore[no-untyped-call]
            .mark_rule(strokeDash=[4, 3], color="#b5490f", strokeWidth=2)
            .encode(x=x)
        )
    chart = alt.layer(*layers).properties(width=640, height=180)
    return drawn(chart)
