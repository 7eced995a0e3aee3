"""Small offline pages without scripts: a duel, figures over time, a load of several hosts."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

# Imported where they are used: a duel draws nothing, and they take most of a second.
if TYPE_CHECKING:
    from wirebench.report.drawing import AnyChart

_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.25rem}h2{font-size:1.05rem}h1,p,li{overflow-wrap:anywhere}div{overflow-x:auto}"
    "table{border-collapse:collapse;margin:1rem 0}"
    "th,td{padding:.3rem .8rem;text-align:right;border-bottom:1px solid #8884;white-space:nowrap}"
    "tr>:first-child{text-align:left}"
)

_PADDING = {"left": 5, "top": 5, "right": 40, "bottom": 5}
"""Pixels around a chart. Names at its right end are wider in some browsers than by the fonts that
it is laid out with.
"""


def plain_page(title: str, body: str, *, style: str = "") -> str:
    """The whole page. ``title`` is text, ``body`` is HTML, ``style`` is CSS for this page alone."""
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width'>"
        "<meta http-equiv=Content-Security-Policy"
        " content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
        f"<title>{html.escape(title)}</title><style>{_STYLE}{style}</style>{body}</html>\n"
    )


def element(tag: str, text: str) -> str:
    """An element with this text, escaped."""
    return f"<{tag}>{html.escape(text)}</{tag}>"


def plain_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts, whose first column names its rows."""
    titles = "".join(element("th", one) for one in head)
    body = "".join(
        "<tr>" + element("th", row[0]) + "".join(element("td", one) for one in row[1:]) + "</tr>"
        for row in rows
    )
    return f"<div><table><tr>{titles}</tr>{body}</table></div>"


def drawn(chart: AnyChart) -> str:
    """A chart as an SVG element, on white in both themes. Its title is the heading above it."""
    import vl_convert

    from wirebench.report.page import spec_of

    spec = {**spec_of(chart), "config": {"background": "white"}, "padding": _PADDING}
    spec.pop("title", None)
    svg: str = vl_convert.vegalite_to_svg(spec)
    return svg
