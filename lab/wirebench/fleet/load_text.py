"""What came of a load of several generators: lines for the terminal, and an offline page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wirebench.catalog.units import count_of, duration
from wirebench.fleet.together import Interval, Told, Whole, floor_text, intervals
from wirebench.report.plain import drawn, element, plain_page, plain_table

# Imported where it is used: charts take most of a second.
if TYPE_CHECKING:
    from wirebench.report.drawing import AnyChart
    from wirebench.report.lines import Curve, CurveKind

ALL = "all together"
MOST_DRAWN = 8
"""With more generators than there are colours, only the sum is drawn."""
_HOW_PERCENTILES = (
    "How long requests took, by percentile; each further nine has the same width. A percentile is"
    " drawn with at least ten samples beyond it."
)
_HOW_RATE = "Right replies a second, by interval."
_HOW_TIME = "How long requests took, by interval, of all generators together."
_HOW_GENERATORS = (
    "Starts by one clock, and how well each is known; how late it was with its requests (of an open"
    " loop); the share of its CPUs that it used. A generator that was the limit voids the load."
)
_HOW_LINK = "Measured before the load, between two programs in Python: no server can beat it."


# --- lines ----------------------------------------------------------------------------------------


def lines(whole: Whole) -> Iterator[str]:
    """The summary."""
    yield f"Requests    {requests_text(whole)}"
    if whole.errors:
        yield f"Errors      {errors_text(whole)}"
    told = latency_text(whole)
    if told:
        yield f"Latency     {told}"
    yield "Validity    " + ("; ".join(f"void: {why}" for why in whole.void) or "one load")
    yield f"            starts differ by {duration(whole.skew_ns)} at most"
    for one in whole.parts:
        yield f"  {one.host}: " + ", ".join(_of_one(one, whole))


def requests_text(whole: Whole) -> str:
    rate = f": {whole.rate_per_s:,.0f}/s" if whole.rate_per_s is not None else ""
    return f"{whole.ok:,} right in {duration(whole.window_ns)}{rate}"


def errors_text(whole: Whole) -> str:
    return ", ".join(f"{kind} {count:,}" for kind, count in whole.errors.items())


def latency_text(whole: Whole) -> str:
    latency = whole.latency
    told = [
        f"p{name} {duration(value)}"
        for name, value in latency.percentiles_ns.items()
        if value is not None
    ]
    if latency.max_ns is not None:
        told.append(f"max {duration(latency.max_ns)}")
    return ", ".join(told)


def _of_one(one: Told, whole: Whole) -> Iterator[str]:
    begun, known, _, lag, share, _ = _row(one, whole)[1:]
    yield f"began {begun} after the first (known to {known})"
    if lag:
        yield f"p99 of its lag {lag}"
    if share:
        yield f"{share} of its CPUs"
    if one.link is not None:
        yield floor_text(one.link)


_HEAD = ("generator", "began after", "known to", "right/s", "p99 of its lag", "CPU", "the limit")


def _row(one: Told, whole: Whole) -> tuple[str, ...]:
    """Of ``_HEAD``. Empty: not known, or nothing."""
    begun = one.begun_ns - min(each.begun_ns for each in whole.parts)
    lag = one.lag.percentiles_ns.get("99") if one.lag is not None else None
    rate, share = one.document.requests.rate_per_s, one.document.generator.cpu_share
    return (
        one.host,
        duration(begun),
        duration(one.uncertainty_ns),
        f"{rate:,.0f}" if rate is not None else "",
        duration(lag) if lag is not None else "",
        f"{share:.0%}" if share is not None else "",
        one.was_the_limit or "",
    )


# --- the page -------------------------------------------------------------------------------------


def page(whole: Whole, words: Sequence[str]) -> str:
    """One offline page without scripts. ``words``: wireload's options and URLs."""
    verdict = [f"Void: {why}." for why in whole.void] or ["One load: all began as one."]
    said = [
        f"Requests: {requests_text(whole)}.",
        f"Errors: {errors_text(whole)}." if whole.errors else "No errors.",
        f"Latency: {latency_text(whole)}." if latency_text(whole) else "",
        f"{count_of(len(whole.parts), 'generator')}; starts differ by"
        f" {duration(whole.skew_ns)} at most.",
    ]
    body = [element("h1", "A load of several hosts"), element("p", shlex.join(words))]
    body += [element("p", text) for text in (*verdict, *said) if text]
    for title, how, chart in _charts(whole):
        body += [element("h2", title), f"<div>{drawn(chart)}</div>", element("p", how)]
    body += [element("h2", "Generators"), plain_table(_HEAD, (_row(p, whole) for p in whole.parts))]
    body.append(element("p", _HOW_GENERATORS))
    if any(one.link is not None for one in whole.parts):
        body += [element("h2", "The link to the server"), plain_table(_LINK_HEAD, _links(whole))]
        body.append(element("p", _HOW_LINK))
    return plain_page("wirebench: a load of several hosts", "".join(body))


_LINK_HEAD = ("generator", "there and back, least", "median", "to the server", "back")


def _links(whole: Whole) -> Iterator[tuple[str, ...]]:
    for one in whole.parts:
        if (link := one.link) is not None:
            yield (
                one.host,
                duration(link.round_trip_min_ns),
                duration(link.round_trip_p50_ns),
                f"{link.out_bytes_per_s * 8 / 1e9:.2f} Gbit/s",
                f"{link.in_bytes_per_s * 8 / 1e9:.2f} Gbit/s",
            )


def _charts(whole: Whole) -> Iterator[tuple[str, str, AnyChart]]:
    """Title, how to read it, chart. What was not measured has none."""
    from wirebench.report.drawing import Style
    from wirebench.report.histograms import curve, merge
    from wirebench.report.lines import curve_chart, percentiles
    from wirebench.report.palette import looks

    names = [ALL, *_drawn(whole)]
    style = Style(looks=looks([names], floors=()), target="file")
    histograms = {ALL: whole.latency.histogram} | {
        one.host: one.document.latency.histogram for one in whole.parts if one.host in names
    }
    merged = {name: merge([text]) for name, text in histograms.items() if text is not None}
    curves = {
        name: points for name, one in merged.items() if one is not None and (points := curve(one))
    }
    title = "Latency by percentile"
    if (chart := percentiles(curves, style, title)) is not None:
        yield title, _HOW_PERCENTILES, chart
    logs = {ALL: intervals(whole.series)} | {
        one.host: intervals(one.log) for one in whole.parts if one.host in names
    }
    rates = _curve("Right replies a second", "rate", _rates(logs))
    if (chart := curve_chart(rates, style)) is not None:
        yield rates.title, _HOW_RATE, chart
    times = _curve("Latency over time", "time", _times(logs[ALL]))
    quantiles = Style(looks=looks([[*QUANTILES]], floors=()), target="file")
    if (chart := curve_chart(times, quantiles)) is not None:
        yield times.title, _HOW_TIME, chart


def _curve(title: str, kind: CurveKind, rows: list[dict[str, Any]]) -> Curve:
    from wirebench.report.lines import Curve

    names = tuple(dict.fromkeys(str(row["entry"]) for row in rows))
    return Curve(rows=rows, names=names, title=title, kind=kind, x_title="seconds")


def _drawn(whole: Whole) -> list[str]:
    """The generators that have a line of their own."""
    return [one.host for one in whole.parts] if 1 < len(whole.parts) < MOST_DRAWN else []


def _rates(logs: Mapping[str, Sequence[Interval]]) -> list[dict[str, Any]]:
    return [
        {"entry": name, "x": one.begin_s, "y": one.rate_per_s, "text": f"{one.rate_per_s:,.0f}/s"}
        for name, each in logs.items()
        for one in each
    ]


QUANTILES = {"p50": 0.5, "p99": 0.99, "max": 1.0}


def _times(each: Sequence[Interval]) -> list[dict[str, Any]]:
    return [
        {"entry": name, "x": one.begin_s, "y": value, "text": duration(value)}
        for name, share in QUANTILES.items()
        for one in each
        if (value := one.quantile_ns(share)) is not None
    ]
