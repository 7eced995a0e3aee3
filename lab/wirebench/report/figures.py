"""Figures and names as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from wirebench.catalog.loads import Kind
from wirebench.catalog.model import Unit
from wirebench.catalog.units import (
    BYTES,
    TIMES,
    Units,
    count_of,
    duration,
    scaled,
    scaled_with_interval,
    share_text,
)
from wirebench.stats.bottleneck import LIMITED_METRICS, bound_of
from wirebench.stats.settings import DEFAULT
from wirebench.stats.summary import higher_is_better
from wirebench.stats.types import (
    Bound,
    Breaking,
    CellAnalysis,
    EntryAnalysis,
    OtherPrograms,
    QuotaStops,
    Ratio,
    Standing,
)

COLUMNS: Mapping[Kind, tuple[str, ...]] = {
    "closed": (
        "throughput_per_s",
        "p50_ns",
        "p99_ns",
        "cpu_per_request_ns",
        "memory_per_connection_bytes",
        "connect_ns",
        "connect_cpu_ns",
        "connect_failed",
        "errors",
    ),
    "open": (
        "throughput_per_s",
        "p50_ns",
        "p99_ns",
        "p999_ns",
        "cpu_per_request_ns",
        "server_rss_peak_bytes",
        "success_ratio",
        "lag_p99_ns",
    ),
    "each": (
        "makespan_ns",
        "service_makespan_ns",
        "throughput_per_s",
        "p99_ns",
        "cpu_per_request_ns",
        "server_rss_peak_bytes",
    ),
    "ramp": (
        "throughput_per_s",
        "p50_ns",
        "p99_ns",
        "success_ratio",
        "connect_ns",
        "cpu_per_request_ns",
        "server_rss_peak_bytes",
    ),
    "idle": (
        "memory_per_connection_bytes",
        "server_pss_bytes",
        "server_rss_bytes",
        "cpu_per_s_ns",
        "wake_ups_per_s",
        "connect_ns",
        "connect_cpu_ns",
    ),
    "storm": ("makespan_ns", "connect_ns", "ready_ns", "p50_ns", "p99_ns", "server_rss_peak_bytes"),
    "broadcast": (
        "throughput_per_s",
        "p50_ns",
        "p99_ns",
        "last_p50_ns",
        "last_p99_ns",
        "cpu_per_request_ns",
        "server_rss_peak_bytes",
        "connect_ns",
    ),
    "client": (
        "round_trip_ns",
        "over_floor_ns",
        "mean_ns",
        "stddev_ns",
        "round_trip_p99_ns",
        "cpu_per_operation_ns",
        "cpu_over_floor",
        "connections_opened",
    ),
}
"""The absolute figures of the decision table, by the cell's kind."""

_TITLES = {
    "throughput_per_s": "{unit}s/s",
    "p50_ns": "median",
    "p99_ns": "p99",
    "p999_ns": "p99.9",
    "offered_per_s": "offered/s",
    "last_p50_ns": "to the last, median",
    "last_p99_ns": "to the last, p99",
    "lag_p99_ns": "generator's lag, p99",
    "cpu_per_request_ns": "CPU per {unit}",
    "memory_per_connection_bytes": "memory per connection",
    "makespan_ns": "time for all",
    "service_makespan_ns": "first in to last out",
    "server_rss_peak_bytes": "peak memory",
    "server_rss_bytes": "memory (RSS)",
    "server_pss_bytes": "memory (PSS)",
    "cpu_per_s_ns": "CPU a second",
    "wake_ups_per_s": "wake-ups a second",
    "ready_ns": "time to start",
    "round_trip_ns": "median round trip",
    "over_floor_ns": "minus the floor",
    "mean_ns": "mean",
    "stddev_ns": "standard deviation",
    "round_trip_p99_ns": "p99",
    "success_ratio": "answered",
    "connect_ns": "time to connect",
    "connect_cpu_ns": "server CPU to connect",
    "connect_failed": "refused",
    "errors": "errors",
    "cpu_per_operation_ns": "CPU per operation",
    "cpu_over_floor": "CPU over the floor",
    "connections_opened": "connections opened",
}
_NOUNS = {
    "throughput_per_s": "throughput",
    "makespan_ns": "time for all {unit}s",
    "round_trip_ns": "round trip",
}
BOUNDS: Mapping[Bound, str] = {"at least": "≥ ", "at most": "≤ ", "no bound": "? "}
"""Signs before a ratio or figure that the generator's limit made a bound."""
BOUNDS_LEGEND = (
    "≥ and ≤ stand before a bound: the load generator, not the server, was at its limit, so the"
    " true figure or ratio is at least or at most this. Where that holds of the floor, the distance"
    " to it is at least what is printed; ? says that it holds of both."
)
MEMORY_PER_CONNECTION = "memory_per_connection_bytes"
"""A column, and no metric of a trial: the slope over the study's rungs."""
OVER_FLOOR = "over_floor_ns"
"""A column, and no metric of a trial: a client's round trip less the floor's of the same block."""
CPU_OVER_FLOOR = "cpu_over_floor"
"""A column, and no metric of a trial: the ratio of ``cpu_per_operation_ns``."""
SET_BY_LOAD = (
    "set by the load, not latency: N connections that always wait take N / rate; open-loop cells"
    " measure latency"
)
FAILED = "x"
"""In place of a sign: it stood still, crashed or answered wrongly."""
SIGNS = {"best": "▲", "worst": "▼", "tie": "≈", "middle": ""}


def title(metric: str, unit: Unit) -> str:
    """A column's heading."""
    return _TITLES.get(metric, metric.rsplit("_", 1)[0].replace("_", " ")).format(unit=unit)


def is_set_by_load(kind: Kind, metric: str) -> bool:
    """Whether the metric follows from the throughput: N connections that always wait for a reply
    wait N / rate on average (Little's law), so the times of a closed loop say nothing of their own.
    """
    return kind == "closed" and metric in ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "mean_ns")


def noun(metric: str, unit: Unit) -> str:
    """The metric in a sentence."""
    return _NOUNS.get(metric, _TITLES.get(metric, metric.replace("_", " "))).format(unit=unit)


def amount(metric: str, value: float) -> str:
    """A figure in a sentence."""
    return figure(metric, value) + ("/s" if metric.endswith("_per_s") else "")


def figure(metric: str, value: float) -> str:
    """With three digits and a unit."""
    if metric.endswith("_ns"):
        return duration(value)
    if metric.endswith("_bytes"):
        return scaled(value, BYTES)
    if metric.endswith("_ratio"):
        # Not rounded to all while any is missing, nor to none while there is any.
        if 0 < value < 0.0001:
            return "<0.01%"
        return f"{min(value * 100, 99.99):.4g}%" if value < 1 else "100%"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def percent(value: float) -> str:
    """With one decimal, and not rounded to 100% while anything is missing."""
    return share_text(min(value, 1.0))


def times(value: float) -> str:
    """A ratio with enough digits to tell it from 1 and from 0."""
    if value >= 100:
        return f"{value:,.0f}×"
    if value >= 9.995:
        return f"{value:.1f}×"
    return f"{value:.2f}×" if value >= 0.0995 else f"{value:#.2g}×"


def ratio_text(ratio: Ratio) -> str:
    """``1.07× [1.04, 1.11]``."""
    if ratio.low is None or ratio.high is None:
        return times(ratio.estimate)
    low, high = times(ratio.low)[:-1], times(ratio.high)[:-1]
    return f"{times(ratio.estimate)} [{low}, {high}]"


def why_no_ratio(standing: Standing) -> str | None:
    """Why no number of blocks gives a ratio to the floor; None where there is no such reason."""
    verdict = standing.verdict
    if standing.ratio is not None or verdict is None or not verdict.beyond_blocks:
        return None
    return verdict.reason


def bound_sign(bound: Bound | None) -> str:
    return BOUNDS[bound] if bound is not None else ""


def figure_bound(entry: EntryAnalysis, metric: str) -> Bound | None:
    """What an entry's own figure says about the true one."""
    return bound_of(
        limited=entry.generator_bound and metric in LIMITED_METRICS,
        other_limited=False,
        higher_is_better=higher_is_better(metric),
    )


def figure_sign(entry: EntryAnalysis, metric: str) -> str:
    """The sign before an entry's own figure."""
    return bound_sign(figure_bound(entry, metric))


def value_of(entry: EntryAnalysis, metric: str) -> float | None:
    """An entry's figure in a table: a median over its trials or blocks, a slope over the study's
    rungs, or the most faults in any trial.
    """
    if metric in entry.faults:
        return entry.faults[metric]
    if metric == MEMORY_PER_CONNECTION:
        return entry.memory.own.estimate if entry.memory and entry.memory.own else None
    if metric == OVER_FLOOR:
        return entry.over_floor.estimate if entry.over_floor is not None else None
    if metric == CPU_OVER_FLOOR:
        ratio = _cpu_over_floor(entry)
        return ratio.estimate if ratio is not None else None
    summary = entry.summary.metrics.get(metric)
    return summary.median if summary is not None else None


def beside_floor(entry: EntryAnalysis, metric: str, *, units: Units = TIMES) -> str | None:
    """A client's figure that only the floor gives, with its 95% interval; empty where it is not
    known, None if the column is not such a one. ``units``: of times.
    """
    if metric == CPU_OVER_FLOOR:
        ratio = _cpu_over_floor(entry)
        return ratio_text(ratio) if ratio is not None else ""
    if metric != OVER_FLOOR:
        return None
    found = entry.over_floor
    if found is None:
        return ""
    if found.low is None or found.high is None:
        return scaled(found.estimate, units)
    return scaled_with_interval(found.estimate, found.low, found.high, units)


def _cpu_over_floor(entry: EntryAnalysis) -> Ratio | None:
    standing = entry.standings.get("cpu_per_operation_ns")
    return standing.ratio if standing is not None else None


def faster_than_floor(entry: EntryAnalysis, floor: EntryAnalysis | None) -> str | None:
    """What can be known of why a client's round trip is below that of the floor, the hand-written
    minimum; None for one that is not below it, and for a twin.
    """
    ratio, verdict = entry.standing.ratio, entry.standing.verdict
    if entry.over_floor is None or floor is None or entry.twin_of is not None:
        return None
    if ratio is None or ratio.estimate >= 1:
        return None
    if verdict is None or verdict.kind != "faster":
        return "below the floor, by no more than may be noise"
    why = [
        *_other_cpu_than_floor(entry),
        *_other_connections_than_floor(entry, floor),
    ]
    unknown = "neither its CPU time nor its connections say why"
    return f"faster than the floor: {' and '.join(why) or unknown}"


def _other_cpu_than_floor(entry: EntryAnalysis) -> Iterator[str]:
    """One that polls, or has a second thread awake, is not woken for each reply. The floor does the
    least that the protocols ask for, but its TLS is OpenSSL's.
    """
    standing = entry.standings.get("cpu_per_operation_ns")
    cpu, verdict = (standing.ratio, standing.verdict) if standing is not None else (None, None)
    if cpu is None or verdict is None or verdict.kind not in ("faster", "slower"):
        return
    text = f"it spends {times(cpu.estimate)} the CPU time"
    if verdict.kind == "faster":
        text += ", so it does less, or over TLS has a library that is cheaper than OpenSSL"
    yield text


def _other_connections_than_floor(entry: EntryAnalysis, floor: EntryAnalysis) -> Iterator[str]:
    for metric, words in (("connections_opened", "opened"), ("connections_resumed", "resumed")):
        own, its = value_of(entry, metric), value_of(floor, metric)
        if own is not None and its is not None and own != its:
            yield f"it {words} {count_of(round(own), 'connection')}, the floor {its:,.0f}"


def cpu_share(share: float | None) -> str:
    """Not rounded to what counts as the limit while it is below."""
    if share is None:
        return ""
    text, limit = f"{share:.0%}", f"{DEFAULT.busy_share:.0%}"
    return f"<{limit}" if text == limit and share < DEFAULT.busy_share else text


def rank_text(standing: Standing) -> str:
    if standing.rank_low is None:
        return ""
    if standing.rank_low == standing.rank_high:
        return str(standing.rank_low)
    return f"{standing.rank_low}–{standing.rank_high}"


def moment(unix_ns: int) -> str:
    return datetime.fromtimestamp(unix_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M UTC")


def processes_text(cell: CellAnalysis) -> str | None:
    """Why a server was several processes; None if it was not for their number of open files."""
    texts = []
    if cell.processes > 1:
        files = f" ({cell.open_files:,} a process)" if cell.open_files is not None else ""
        texts.append(f"{cell.processes} processes each server, for open files{files}")
    texts += [
        f"{name} {count} processes, since each may open fewer files"
        for name, count in sorted(cell.more_processes.items())
    ]
    return "; ".join(texts) or None


def faults_text(cell: CellAnalysis) -> str | None:
    """What the counts of faults are of; None where they are no column."""
    if cell.kind != "closed" or not any(one.faults for one in cell.entries):
        return None
    return (
        "refused (connections that were, or were not open in time) and errors (requests without a"
        " right reply): the most in any trial, failed ones too"
    )


def answered_text(cell: CellAnalysis) -> str | None:
    """Whether each connection had an answer in each window; None where that was not counted."""
    counted = [one for one in cell.entries if one.silent_connections is not None]
    silent = [
        f"{one.entry} (up to {one.silent_connections:,})"
        for one in counted
        if one.silent_connections
    ]
    if silent:
        return f"connections without an answer in a whole window: {', '.join(silent)}"
    return "each connection had an answer in each window" if counted else None


def other_programs_text(found: OtherPrograms | None) -> str | None:
    """What other programs of the host took; None where they disturbed no trial."""
    if found is None or not found.disturbed:
        return None
    return (
        f"other programs took more than {found.limit:.0%} of a core during {found.disturbed} of"
        f" {count_of(found.trials, 'trial')} (at most {found.most:.0%}), which makes figures worse"
        " and intervals wider; wirebench doctor names those that run now"
    )


def quota_text(found: QuotaStops | None) -> str | None:
    """What CPU quotas did; None where they limited no trial."""
    if found is None:
        return None
    return (
        f"a CPU quota stopped server or generator in {found.stopped} of"
        f" {count_of(found.trials, 'trial')}, and counts as their limit; wirebench doctor tells the"
        " lab's"
    )


def names(items: Sequence[str]) -> str:
    """``a, b and c``."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


_CAUSES = {
    "read_timeout": "no reply in time",
    "connect_timeout": "connections not accepted in time",
    "connect_refused": "connections refused",
    "connect_failed": "connections failed",
    "closed_early": "connections closed by the server",
    "bad_status": "wrong status",
    "bad_body": "wrong replies",
    "protocol": "what is no WebSocket message",
    "deadline": "no reply before the end",
}


def broke_at(breaking: Breaking) -> str:
    """``broke in round 4``."""
    if breaking.rounds is None:
        return "broke after its last round"
    several = "s" if breaking.rounds[0] < breaking.rounds[1] else ""
    return f"broke in round{several} {_span(breaking.rounds)}"


def breaking_text(breaking: Breaking) -> str:
    """Where the ramps of an entry broke and why, as a sentence."""
    text = broke_at(breaking)
    if breaking.clients is not None:
        alone = breaking.clients == (1, 1)
        text += f" ({_span(breaking.clients)} {'client' if alone else 'clients'})"
    text += f" in {breaking.trials} of {count_of(breaking.of, 'trial')}"
    if breaking.unanswered is not None:
        text += f", {figure('unanswered_ratio', breaking.unanswered)} of its messages unanswered"
    why = [_CAUSES.get(kind, kind.replace("_", " ")) for kind in breaking.kinds]
    why += [visible(breaking.ended, limit=120)] if breaking.ended is not None else []
    return f"{text}: {', '.join(why)}" if why else text


def _span(values: tuple[int, int]) -> str:
    least, most = values
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def visible(text: str, *, limit: int = 512) -> str:
    """Text from a server with nothing hidden: control, bidirectional and unassigned characters
    become escapes.
    """
    shown = "".join(
        character
        if character.isprintable() or character == "\n"
        else character.encode("unicode_escape").decode()
        for character in text[:limit]
    )
    return shown + (" …" if len(text) > limit else "")


def resumed_text(entry: EntryAnalysis) -> str | None:
    """How many connections of a trial resumed a TLS session; None where the server issued none."""
    resumed = entry.summary.metrics.get("connections_resumed")
    opened = entry.summary.metrics.get("connections_opened")
    if resumed is None or opened is None:
        return None
    return f"resumed {resumed.median:,.0f} of {count_of(round(opened.median), 'connection')}"
