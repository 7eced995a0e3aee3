"""The tables of a self-test, and its results as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from wirebench.selftest.judge import ABSOLUTE_NS, MAX, PERCENTILES, RELATIVE, ErrorRow, Result, Row, VoidRow
from wirebench.selftest.laws import MS, US, Span
from wirebench.selftest.peers import PeerRow

_FOR_USERS = "who come at that rate and do not wait for each other"
_STYLES = {"yes": "green", "gaps": "green", "NO": "bold red", "machine": "yellow", "-": "dim"}


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


def percentile_table(results: Sequence[Result]) -> Table:
    table = Table(title="latency", title_justify="left", box=None, pad_edge=False)
    for name in ("case", "mode", "rate/s", "percentile"):
        table.add_column(name)
    stood = any(isinstance(row, Row) and row.verdict == "gaps" for row in results)
    for name in ("truth", *(("truth with gaps",) if stood else ()), "server did", "wireload", "off by"):
        table.add_column(name, justify="right")
    table.add_column("within")
    for row in results:
        if isinstance(row, VoidRow):
            blank = [""] * (6 if stood else 5)
            table.add_row(row.case, row.mode, f"{row.rate:,}", *blank, f"[yellow]void[/]: {_plain(row.why)}")
        if isinstance(row, Row):
            table.add_row(
                row.case,
                row.mode,
                f"{row.rate:,}",
                row.percentile,
                show_span(row.truth),
                *((show_span(row.with_gaps) if row.verdict in ("gaps", "NO") else "",) if stood else ()),
                show_ns(row.server),
                show_ns(row.measured),
                show_ns(row.difference, signed=True),
                f"[{_STYLES[row.verdict]}]{row.verdict}[/]" + (f" [dim]({row.note})[/]" if row.note else ""),
                end_section=row.percentile == MAX,
            )
    return table


def error_table(results: Sequence[Result]) -> Table:
    table = Table(title="errors", title_justify="left", box=None, pad_edge=False)
    for name in ("case", "mode", "rate/s", "truth", "server did", "wireload", "exact"):
        table.add_column(name)
    for row in results:
        if isinstance(row, ErrorRow):
            counts = [show_counts(one) for one in (row.truth, row.server, row.measured)]
            table.add_row(row.case, row.mode, f"{row.rate:,}", *counts, f"[{_STYLES[row.verdict]}]{row.verdict}[/]")
    return table


def peer_table(rows: Sequence[PeerRow], results: Sequence[Result]) -> Table:
    """Beside each other, without a verdict: a closed loop answers another question than an open one."""
    table = Table(title="peers", title_justify="left", box=None, pad_edge=False)
    names = [*(name for name, _ in PERCENTILES), MAX]
    for name in ("case", "mode", "rate/s", "who"):
        table.add_column(name)
    for name in names:
        table.add_column(name, justify="right")
    table.add_column("")
    own = {(row.case, row.mode, row.rate, row.percentile): row.measured for row in results if isinstance(row, Row)}
    last = said = None
    for row in rows:
        key = (row.case, row.mode, row.rate)
        run = (row.case, row.mode, f"{row.rate:,}")
        truth = [*run, "[bold]truth[/]", *(show_span(row.truth.get(name)) for name in names), ""]
        if key == last and truth != said:
            table.add_row(*truth)  # of the part of the run that this one reports
        said = truth
        if key != last:
            table.add_row(*truth)
            if row.mode == "closed":
                table.add_row(
                    *run, "[bold]truth for users[/]", *(show_span(row.for_users.get(name)) for name in names), _FOR_USERS
                )
            table.add_row(*run, "wireload", *(show_ns(own.get((*key, name))) for name in names), row.mode)
        table.add_row(*run, row.peer, *(show_ns(row.measured.get(name)) for name in names), f"[dim]{_plain(row.note)}[/]")
        last = key
    return table


def _unrecorded(why: str | None) -> str:
    return f"\nStandstills of the cores could not be recorded, so none is taken into account: {why}" if why else ""


def footer(bases: Mapping[tuple[str, int], float], unrecorded: str | None = None) -> str:
    measured = "; ".join(f"{mode} {rate:,}/s {show_ns(base)}" for (mode, rate), base in bases.items())
    return (
        f"truth = the law of the server + the base, the median of the same mode and rate without delay: {measured or 'none'}.\n"
        f"within: {RELATIVE:.0%} or {ABSOLUTE_NS // US} us of it. 'a .. b': the truth is only known to lie between, because\n"
        "the percentile falls on a step, or because random arrivals make the shares random; in the second case wireload\n"
        "must also agree with what the server recorded. machine: the server itself could not keep its law, so the row\n"
        "decides nothing. gaps: right by the truth that holds what both cores were recorded to have stood still; nothing else\n"
        f"is excused. -: nothing to judge.{_unrecorded(unrecorded)}"
    )


def summary(results: Sequence[Result]) -> str:
    verdicts = [row.verdict for row in results if not isinstance(row, VoidRow)]
    void = sum(isinstance(row, VoidRow) for row in results)
    gaps = verdicts.count("gaps")
    return (
        f"{verdicts.count('yes')} right, {f'{gaps} right with recorded standstills of the cores, ' if gaps else ''}"
        f"{verdicts.count('NO')} wrong, "
        f"{verdicts.count('machine')} not decided (the machine was disturbed), {void} runs void"
    )


def to_json(results: Sequence[Result], peers: Sequence[PeerRow], bases: Mapping[tuple[str, int], float]) -> dict[str, Any]:
    def part(kind: type[Result]) -> list[dict[str, Any]]:
        return [asdict(row) for row in results if isinstance(row, kind)]

    return {
        "schema": "selftest/1",
        "bases_ns": [{"mode": mode, "rate": rate, "p50_ns": base} for (mode, rate), base in bases.items()],
        "percentiles": part(Row),
        "errors": part(ErrorRow),
        "void": part(VoidRow),
        "peers": [asdict(row) for row in peers],
    }


def _plain(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace("\n", " ")
