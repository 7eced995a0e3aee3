"""The lines of a cell's tables: the decision table and the validity table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wirebench.catalog.units import count_of, duration
from wirebench.report.facts import Conformance, Facts
from wirebench.report.figures import (
    FAILED,
    MEMORY_PER_CONNECTION,
    SIGNS,
    beside_floor,
    bound_sign,
    breaking_text,
    cpu_share,
    faster_than_floor,
    figure,
    figure_sign,
    rank_text,
    ratio_text,
    resumed_text,
    value_of,
    why_no_ratio,
)
from wirebench.report.model import Check, Figure, Row
from wirebench.stats.types import (
    BottleneckKind,
    EntryAnalysis,
    Standing,
)

BOTTLENECKS: Mapping[BottleneckKind, str] = {
    "server-bound": "the server",
    "generator-bound": "the generator: at least this fast",
    "neither": "neither was busy",
    "unknown": "unknown: a CPU share is not known",
}


def table_row(
    entry: EntryAnalysis,
    metrics: Sequence[str],
    ideal: float | None,
    facts: Mapping[str, Facts],
    checked: Mapping[str, Conformance],
    *,
    floor: EntryAnalysis | None = None,
    has_json: bool = False,
) -> Row:
    known, check = facts.get(entry.contestant), checked.get(entry.contestant)
    figures = [_figure(entry, metric) for metric in metrics]
    if entry.bottleneck is not None:
        figures += [
            Figure(text=cpu_share(share), blank="not known")
            for share in (entry.bottleneck.server_share, entry.bottleneck.generator_share)
        ]
    if ideal:
        made = entry.summary.metrics.get("makespan_ns")
        figures.append(
            Figure(text=f"{ideal / made.median:.0%}")
            if made
            else Figure(text="", blank="not measured")
        )
    note = "the floor" if entry.is_floor else "the twin: noise only" if entry.twin_of else ""
    if not note and known is not None:
        note = version_note(known, entry.contestant, has_json=has_json)
    return Row(
        entry=entry.entry,
        note=note,
        sign=SIGNS[entry.mark] if entry.mark else _fault_sign(entry),
        mark=entry.mark or "",
        rank=("≈ " if entry.standing.tied else "") + rank_text(entry.standing),
        ratio=_ratio(entry.standing, entry),
        figures=tuple(figures),
        license=known.license if known is not None else "",
        conformance=check.text if check is not None else "",
        advice=", ".join(check.advice) if check is not None else "",
        remarks=tuple(_remarks(entry, floor)),
        blank="" if entry.summary.trials else (entry.unranked or "not run"),
    )


def version_note(known: Facts, contestant: str, *, has_json: bool) -> str:
    """What was measured: the library unless the contestant's name says it, version, age, and where
    messages are JSON what reads them.
    """
    is_named = known.library == contestant.split("/")[-1]
    note = known.version if is_named else f"{known.library} {known.version}"
    note += f", {known.age}" if known.age is not None else ""
    note += "; ends each connection" if known.closes else ""
    if known.kept_connections > 1:
        note += f"; keeps up to {known.kept_connections} connections"
    note += "; warmed up first" if known.warmed else ""
    return note + (f"; JSON: {known.json}" if has_json and known.json is not None else "")


def _fault_sign(entry: EntryAnalysis) -> str:
    """The x of one that gave no right figure and was tried."""
    return FAILED if entry.failures and not entry.summary.trials else ""


def _ratio(standing: Standing, entry: EntryAnalysis) -> Figure:
    if standing.ratio is None:
        return Figure(
            text="1 by definition" if entry.is_floor else "",
            blank=why_no_ratio(standing) or "no block in common with the floor",
        )
    return Figure(text=bound_sign(standing.bound) + ratio_text(standing.ratio))


def _figure(entry: EntryAnalysis, metric: str) -> Figure:
    text = beside_floor(entry, metric)
    if text is not None:
        return Figure(text=text, blank="no floor" if not entry.is_floor else "the floor")
    value = value_of(entry, metric)
    if value is None:
        blank = "too few samples" if metric.startswith("p") else "not known"
        if metric == MEMORY_PER_CONNECTION and entry.memory is not None and entry.memory.reason:
            blank = entry.memory.reason
        return Figure(text="", blank=blank)
    standing = entry.standings.get(metric)
    mark = standing.mark if standing is not None and standing.mark in ("best", "worst") else None
    return Figure(
        text=figure_sign(entry, metric) + figure(metric, value),
        sign=SIGNS[mark] if mark else "",
        mark=mark or "",
    )


def _remarks(entry: EntryAnalysis, floor: EntryAnalysis | None) -> Iterable[str]:
    if (faster := faster_than_floor(entry, floor)) is not None:
        yield faster
    if entry.generator_bound:
        yield "generator-bound: at least this fast"
    if entry.starvation is not None:
        left = entry.starvation
        yield (
            f"starves connections: up to {left.requests:,} of {left.of:,} unanswered at the end of"
            f" the window, the oldest for {duration(left.oldest_ns)}"
        )
    if (resumed := resumed_text(entry)) is not None:
        yield resumed
    if entry.unranked and entry.summary.trials and not entry.is_floor and entry.twin_of is None:
        yield f"not ranked: {entry.unranked}"
    tried = count_of(_tried(entry), "trial")
    for failure in entry.failures:
        if entry.summary.trials:
            yield f"{failure.kind.replace('_', ' ')} in {failure.count} of {tried}"
    for failure in entry.server_failures:
        yield f"its server failed in {count_of(failure.count, 'trial')}, which are left out"
    if entry.warm_up in ("warms up", "slows down"):
        yield entry.warm_up
    if entry.breaking is not None:
        yield breaking_text(entry.breaking)
    for warning, count in entry.warnings.items():
        yield f"{warning.replace('_', ' ')} in {count_of(count, 'trial')}"


def _tried(entry: EntryAnalysis) -> int:
    return entry.summary.trials + entry.summary.failed + entry.summary.voided


def validity_row(entry: EntryAnalysis, floor: EntryAnalysis | None) -> Check:
    little = entry.little
    shares = entry.bottleneck
    summary = entry.summary
    trials = f"{summary.trials} valid"
    trials += f", {summary.failed} failed" if summary.failed else ""
    trials += f", {summary.voided} void" if summary.voided else ""
    return Check(
        entry=entry.entry,
        trials=trials,
        little=(
            ""
            if little.median is None or little.worst is None
            else f"{little.median:.3f} (worst {little.worst:.3f})"
        ),
        server=cpu_share(shares.server_share) if shares else "",
        generator=cpu_share(shares.generator_share) if shares else "",
        bottleneck=BOTTLENECKS[shares.kind] if shares else "",
        warm_up=entry.warm_up,
        remarks="; ".join(_remarks(entry, floor)),
        doubt=bool(
            summary.voided or summary.failed or entry.warm_up in ("never steady", "slows down")
        ),
    )
