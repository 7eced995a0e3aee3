"""The tables of a self-test, and its results as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from wirebench.catalog.units import count_of
from wirebench.selftest.beside import PeerRow
from wirebench.selftest.judge import (
    ABSOLUTE_NS,
    MAX,
    PERCENTILES,
    RELATIVE,
    RIGHT,
    ErrorRow,
    Result,
    Row,
)
from wirebench.selftest.laws import MS, US, Mode, Span
from wirebench.selftest.repeats import Group, Run
from wirebench.stats.types import MetricSummary

_FOR_USERS = "who come at that rate and do not wait for each other"
_STYLES = {"yes": "green", "server": "green", "NO": "bold red", "undecided": "yellow", "-": "dim"}


def show_ns(ns: float | None, *, signed: bool = False) -> str:
    if ns is None:
        return "-"
    sign = "+" if signed and ns > 0 else ""
    return f"{sign}{ns / US:.1f} us" if abs(ns) < MS else f"{sign}{ns / MS:.2f} ms"


def show_span(span: Span | None) -> str:
    if span is None:
        return "-"
    low, high = show_ns(span.low), show_ns(span.high)
    return low if low == high else f"{low} .. {high}"


def show_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "none"


def show_off(off: MetricSummary | None) -> str:
    """The median, and the least and the greatest beside it."""
    if off is None:
        return "-"
    median = show_ns(off.median, signed=True)
    if off.trials == 1:
        return median
    return (
        f"{median} [dim]\\[{show_ns(off.least, signed=True)},"
        f" {show_ns(off.greatest, signed=True)}][/]"
    )


def percentile_table(results: Sequence[Result]) -> Table:
    table = Table(title="latency", title_justify="left", box=None, pad_edge=False)
    for name in ("case", "mode", "rate/s", "percentile"):
        table.add_column(name)
    for name in ("runs", "truth", "server did", "wireload", "off by"):
        table.add_column(name, justify="right")
    table.add_column("right")
    for row in results:
        if isinstance(row, Row):
            table.add_row(
                row.case,
                row.mode,
                f"{row.rate:,}",
                row.percentile,
                f"{row.runs}/{row.wanted}",
                show_span(row.truth),
                show_ns(row.server),
                show_ns(row.measured),
                show_off(row.off),
                f"[{_STYLES[row.verdict]}]{row.verdict}[/]"
                + (f" [dim]({_plain(row.note)})[/]" if row.note else ""),
                end_section=row.percentile == MAX,
            )
    return table


def error_table(results: Sequence[Result]) -> Table:
    table = Table(title="errors", title_justify="left", box=None, pad_edge=False)
    for name in ("case", "mode", "rate/s", "exact in", "truth", "server did", "wireload", "exact"):
        table.add_column(name)
    for row in results:
        if isinstance(row, ErrorRow):
            counts = [show_counts(one) for one in (row.truth, row.server, row.measured)]
            runs = f"{row.exact} of {count_of(row.runs, 'run')}"
            note = f" [dim]({row.note})[/]" if row.note else ""
            verdict = f"[{_STYLES[row.verdict]}]{row.verdict}[/]{note}"
            table.add_row(row.case, row.mode, f"{row.rate:,}", runs, *counts, verdict)
    return table


def peer_table(rows: Sequence[PeerRow], results: Sequence[Result]) -> Table:
    """Beside each other, without a verdict: a closed loop answers another question than an open
    one.
    """
    table = Table(title="peers", title_justify="left", box=None, pad_edge=False)
    names = [*(name for name, _ in PERCENTILES), MAX]
    for name in ("case", "mode", "rate/s", "who"):
        table.add_column(name)
    for name in names:
        table.add_column(name, justify="right")
    table.add_column("")
    own = {
        (row.case, row.mode, row.rate, row.percentile): row.measured
        for row in results
        if isinstance(row, Row)
    }
    last = said = None
    for row in rows:
        key = (row.case, row.mode, row.rate)
        run = (row.case, row.mode, f"{row.rate:,}")
        truth = [*run, "[bold]truth[/]", *(show_span(row.truth.get(name)) for name in names), ""]
        if key == last and truth != said:
            table.add_row(*truth)  # for the part of the run that it reports
        said = truth
        if key != last:
            table.add_row(*truth)
            if row.mode == "closed":
                table.add_row(
                    *run,
                    "[bold]truth for users[/]",
                    *(show_span(row.for_users.get(name)) for name in names),
                    _FOR_USERS,
                )
            table.add_row(
                *run, "wireload", *(show_ns(own.get((*key, name))) for name in names), row.mode
            )
        table.add_row(
            *run,
            row.peer,
            *(show_ns(row.measured.get(name)) for name in names),
            f"[dim]{_plain(row.note)}[/]",
        )
        last = key
    return table


def missing_lines(groups: Sequence[Group], missing: Sequence[str]) -> list[str]:
    """Every void run, with the reason.

    The JSON has wireload's advice too. ``missing``: runs that belong to no group.
    """
    return [
        f"missing: {line.partition('; give it')[0]}"
        for line in [*missing, *(one for group in groups for one in group.missing())]
    ]


def footer(bases: Mapping[tuple[Mode, int], MetricSummary]) -> str:
    measured = "; ".join(
        f"{mode} {rate:,}/s {show_ns(base.median)}"
        + (f" [{show_ns(base.least)}, {show_ns(base.greatest)}]" if base.trials > 1 else "")
        for (mode, rate), base in bases.items()
    )
    return (
        "truth = the law of the server + the base, the median of the same mode and rate without"
        f" delay: {measured or 'none'}.\noff by: of what was measured from the truth of the same"
        " run, the median over the runs [least, greatest].\nyes: that median is within"
        f" {RELATIVE:.0%} or {ABSOLUTE_NS // US} us. 'a .. b': the truth is only known to lie"
        " between, because the percentile falls\non a step, or random arrivals make the shares"
        " random; then wireload must also agree with what the server recorded.\nserver: not that,"
        " but within as much of what the server recorded that it did. NO: neither. undecided: too"
        " few runs\nare valid. -: nothing to judge."
    )


def summary(results: Sequence[Result], groups: Sequence[Group]) -> str:
    verdicts = [row.verdict for row in results]
    recorded = verdicts.count("server")
    which = f" ({recorded} by the server's own record)" if recorded else ""
    right = sum(verdict in RIGHT for verdict in verdicts)
    runs = [run for group in groups for run in group.runs]
    void = sum(run.void is not None for run in runs)
    return (
        f"{right} right{which}, {verdicts.count('NO')} wrong, "
        f"{verdicts.count('undecided')} not decided; {void} of {count_of(len(runs), 'run')} void"
    )


def engine_line(groups: Sequence[Group], asked: str | None) -> str:
    """What carried the loads. It is wireload's affair, run by run, where nobody asked for one."""
    counts = Counter(run.engine for group in groups for run in group.runs if run.engine)
    said = ", ".join(f"{name} in {count_of(had, 'run')}" for name, had in sorted(counts.items()))
    return f"engine: {said or 'none'} ({'as wireload chose' if asked is None else 'asked for'})"


def to_json(
    results: Sequence[Result],
    groups: Sequence[Group],
    peers: Sequence[PeerRow],
    bases: Mapping[tuple[Mode, int], MetricSummary],
    missing: Sequence[str] = (),
    *,
    realtime: bool = False,
    cores_awake: bool = False,
    engine: str | None = None,
) -> dict[str, Any]:
    """Verdicts over the repeats, and every run they come from. Times in nanoseconds."""

    def part(kind: type[Result]) -> list[dict[str, Any]]:
        return [asdict(row) for row in results if isinstance(row, kind)]

    return {
        "schema": "selftest/3",
        "realtime": realtime,
        "cores_awake": cores_awake,
        "engine_asked": engine,
        "bases_ns": [
            {"mode": mode, "rate": rate, "p50_ns": asdict(base)}
            for (mode, rate), base in bases.items()
        ],
        "missing": [*missing, *(line for group in groups for line in group.missing())],
        "percentiles": part(Row),
        "errors": part(ErrorRow),
        "runs": [_run(group, run) for group in groups for run in group.runs],
        "peers": [asdict(row) for row in peers],
    }


def _run(group: Group, run: Run) -> dict[str, Any]:
    return {
        "case": group.case.name,
        "mode": group.load.mode,
        "rate": group.load.rate,
        "round": run.round,
        "void": run.void,
        "percentiles": {name: asdict(seen) for name, seen in group.seen(run).items()},
        "errors": None if run.errors is None else asdict(run.errors),
        "evictions_per_s": run.evictions_per_s,
        "engine": run.engine,
    }


def _plain(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace("\n", " ")
