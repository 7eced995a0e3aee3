"""What an entry's requests over an emulated link cost more than the floor's, and what the packets
of its own trials show them to wait for. Pure functions of trials.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from wirebench.catalog.link import Link
from wirebench.catalog.loads import EachLoad
from wirebench.catalog.studies import Cell
from wirebench.catalog.units import count_of, duration, share_text
from wirebench.stats.types import EntryAnalysis, TrialView
from wirebench.stats.validity import number

LEAST_SHARE = 0.1
"""A pattern is named if it costs a request this share of a round trip more than the floor's."""
UNEXPLAINED = 0.5
"""In round trips: a greater rest is said to have no known cause."""


@dataclass(kw_only=True)
class _Waited:
    """One pattern, over the trials of an entry."""

    connections: int = 0
    requests: int = 0
    times: int = 0
    delayed: int = 0
    wait_ns: float = 0.0
    delayed_ns: float = 0.0
    median_ns: float = 0.0
    """The greatest median of a trial."""


@dataclass(kw_only=True)
class _Packets:
    """What the packets of an entry's trials show."""

    trials: int = 0
    connections: int = 0
    requests: int = 0
    complete: bool = True
    patterns: dict[str, _Waited] = field(default_factory=dict)

    def of(self, pattern: str) -> _Waited:
        return self.patterns.get(pattern) or _Waited()


@dataclass(frozen=True, kw_only=True)
class _Cause:
    extra_ns: float
    """Of each request, more than the floor's."""
    text: str


def link_costs(
    cell: Cell, entries: Sequence[EntryAnalysis], trials: Mapping[str, Sequence[TrialView]]
) -> tuple[str, ...]:
    """A line for each entry whose requests take half a round trip more than the floor's, and, where
    the link loses packets, one of what each entry's tail waited for. Nothing without a link, or
    without records of packets.

    The excess is the difference of the median makespans, divided by the messages of a producer.
    """
    load = cell.load
    if not isinstance(load, EachLoad) or load.link is None:
        return ()
    seen = {one.entry: _packets(trials.get(one.entry, ())) for one in entries}
    floor = next((one for one in entries if one.is_floor), None)
    lines = []
    for one in entries:
        own = seen[one.entry]
        if own is None or one.twin_of is not None:
            continue
        if floor is not None and one is not floor and (base := seen[floor.entry]) is not None:
            excess = _excess_ns(one, floor, load.messages)
            text = _more(excess, own, base, load.link, load.messages)
            lines += [f"{one.entry}: {text}{_extent(own)}"] if text else []
        if load.link.loss_percent and (text := _tail(own)):
            lines.append(f"{one.entry}: {text}{_extent(own)}")
    return tuple(lines)


def _packets(trials: Iterable[TrialView]) -> _Packets | None:
    total = _Packets()
    for trial in trials:
        if trial.packets is None:
            continue
        total.trials += 1
        total.connections += int(number(trial.packets.get("connections")) or 0)
        total.requests += int(number(trial.packets.get("requests")) or 0)
        total.complete &= trial.packets.get("complete") is True
        patterns = trial.packets.get("patterns")
        for name, counts in patterns.items() if isinstance(patterns, Mapping) else ():
            _add(total.patterns.setdefault(name, _Waited()), counts)
    return total if total.requests else None


def _add(sum_of: _Waited, counts: Mapping[str, object]) -> None:
    sum_of.connections += int(number(counts.get("connections")) or 0)
    sum_of.requests += int(number(counts.get("requests")) or 0)
    sum_of.times += int(number(counts.get("times")) or 0)
    sum_of.delayed += int(number(counts.get("delayed")) or 0)
    sum_of.wait_ns += number(counts.get("wait_ns")) or 0.0
    sum_of.delayed_ns += number(counts.get("delayed_ns")) or 0.0
    sum_of.median_ns = max(sum_of.median_ns, number(counts.get("median_wait_ns")) or 0.0)


def _excess_ns(one: EntryAnalysis, floor: EntryAnalysis, messages: int) -> float:
    own, base = (entry.summary.metrics.get("makespan_ns") for entry in (one, floor))
    return (own.median - base.median) / messages if own and base else 0.0


def _more(excess_ns: float, own: _Packets, floor: _Packets, link: Link, messages: int) -> str:
    """Empty where the excess is less than half a round trip."""
    if excess_ns < link.rtt_ns / 2:
        return ""
    causes = [
        cause
        for cause in _causes(own, floor, messages)
        if cause.extra_ns >= LEAST_SHARE * link.rtt_ns
    ]
    causes.sort(key=lambda cause: -cause.extra_ns)
    held = own.of("held_back")
    late_ns = held.delayed_ns / own.requests - floor.of("held_back").delayed_ns / floor.requests
    late_ns = late_ns if held.delayed >= own.requests / 2 else 0.0
    # The excess is of medians and the delays a mean, which may be the greater.
    trips = max(0, round((excess_ns - late_ns) / link.rtt_ns))
    parts = [_trips(trips)] if trips else []
    parts += [f"a delayed acknowledgement of {duration(late_ns)}"] if late_ns else []
    if not parts:
        return ""
    head = f"{' and '.join(parts)} more than the floor"
    if not causes:
        return f"{head}; cause not found"
    rest_ns = excess_ns - sum(cause.extra_ns for cause in causes)
    rest = round(rest_ns / link.rtt_ns) if rest_ns > UNEXPLAINED * link.rtt_ns else 0
    text = f"{head}: {'; '.join(cause.text for cause in causes)}"
    return f"{text}; of {_trips(rest)} the cause was not found" if rest else text


def _trips(count: int) -> str:
    return count_of(count, "round trip")


def _causes(own: _Packets, floor: _Packets, messages: int) -> Iterable[_Cause]:
    """Each pattern, with what it costs a request more than the floor's."""
    held = own.of("held_back")
    if held.times:
        once = held.times == held.requests
        how = (
            "the response in two segments, the second waits for the acknowledgement of the first"
            if once
            else "the response in several segments that wait for the acknowledgements of others"
        )
        yield _Cause(extra_ns=_extra(own, floor, "held_back"), text=how + _seen(held, own))
    opened = own.of("windows")
    if opened.times:
        windows = 1 + round(opened.times / opened.requests)
        text = f"the response in {windows} windows (slow start)" + _seen(opened, own)
        yield _Cause(extra_ns=_extra(own, floor, "windows"), text=text)
    yield from _reopened(own, floor)
    for name, what in (
        ("timer", "the retransmission timer"),
        ("syn_retry", "the first segment of a connection sent again"),
    ):
        found = own.of(name)
        if found.times:
            text = f"{what}, after {duration(found.median_ns)}{_seen(found, own)}"
            yield _Cause(extra_ns=_extra(own, floor, name, messages=messages), text=text)


def _extra(own: _Packets, floor: _Packets, pattern: str, *, messages: int = 0) -> float:
    """``messages``: for a rare pattern, whose waits may all be one producer's; 0 for others."""

    def cost(of: _Packets) -> float:
        return of.of(pattern).wait_ns / (of.trials * messages if messages else of.requests)

    return cost(own) - cost(floor)


def _reopened(own: _Packets, floor: _Packets) -> Iterable[_Cause]:
    closed = own.of("closed")
    more = own.connections / own.requests - floor.connections / floor.requests
    if closed.times and more > 0:
        yield _Cause(
            extra_ns=more * closed.wait_ns / closed.times,
            text=(
                "a new connection where the floor kept one: the server closes it (in"
                f" {closed.connections:,} of {count_of(own.connections, 'connection')}, for"
                f" {count_of(own.requests, 'request')})"
            ),
        )


def _seen(found: _Waited, own: _Packets) -> str:
    """In how many requests and connections; a handshake has no request."""
    connections = f"{found.connections:,} of {count_of(own.connections, 'connection')}"
    if not found.requests:
        return f" (in {connections})"
    return f" (in {found.requests:,} of {count_of(own.requests, 'request')}, {connections})"


def _tail(own: _Packets) -> str:
    """What the requests that met a loss waited for."""
    parts = []
    for name, what in (
        ("timer", "waited for the retransmission timer"),
        ("resent", "had a segment sent again before that timer"),
    ):
        found = own.of(name)
        if found.requests:
            parts.append(
                f"{found.requests:,} of {count_of(own.requests, 'request')}"
                f" ({share_text(found.requests / own.requests)}) {what}, after a median of"
                f" {duration(found.median_ns)}"
            )
    retried = own.of("syn_retry")
    if retried.times:
        parts.append(
            f"{retried.connections:,} of {count_of(own.connections, 'connection')} sent their first"
            f" segment again, after a median of {duration(retried.median_ns)}"
        )
    return f"the tail: {'; '.join(parts)}" if parts else ""


def _extent(own: _Packets) -> str:
    return "" if own.complete else ", among the first packets of each trial"
