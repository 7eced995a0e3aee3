"""The packets of a trial over an emulated link: what its requests waited for.

``read_record`` reads what ``wirelink --record`` wrote, ``find_waits`` looks for patterns in it. A
pattern is only what the packets show: a segment that leaves as the acknowledgement of the one
before arrives has waited for it; one that is sent a second time after 200 ms has waited for the
retransmission timer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Literal

Pattern = Literal["held_back", "windows", "timer", "resent", "syn_retry", "closed"]
"""``held_back``: a short segment of a response waited for the acknowledgement of the short one
before it (Nagle's algorithm, RFC 896; RFC 9293, section 3.7.4). ``windows``: a response went on
when an acknowledgement opened the window (slow start, RFC 5681). ``timer``: a segment was sent
again after the retransmission timer (RFC 6298). ``resent``: again, but sooner. ``syn_retry``: a
connection's first segment, either way, was sent again. ``closed``: the server closed first.
"""

PATTERNS: tuple[Pattern, ...] = ("held_back", "windows", "timer", "resent", "syn_retry", "closed")

FULL_SEGMENT_BYTES = 1400
"""The link's MTU of 1,500 leaves 1,448 bytes, fewer with SACK blocks. A shorter segment is one that
Nagle's algorithm may hold back; slow start never pauses behind it.
"""
LEAST_TIMER_NS = 200_000_000
"""Linux's least retransmission timeout, ``TCP_RTO_MIN``; a probe of the tail comes sooner."""
DELAYED_ACK_NS = 20_000_000
"""An acknowledgement that leaves later than this was delayed: Linux waits 40 ms, and sends others
at once.
"""
PROMPT_NS = 5_000_000
"""A segment that leaves within this of an acknowledgement's arrival was sent because of it."""


class RecordError(Exception):
    """The file is no record of packets."""


@dataclass(frozen=True, kw_only=True)
class Packet:
    sent_ns: int
    due_ns: int | None
    """When it leaves the link; None: lost."""
    up: bool
    """To the server."""
    port: int
    """The client's."""
    flags: str
    sequence: int
    acknowledgement: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Record:
    packets: tuple[Packet, ...]
    complete: bool
    """Not only the first packets of the trial."""


@dataclass(kw_only=True)
class _Request:
    """A request and its response, by segments that carry something for the first time."""

    asked: list[Packet] = field(default_factory=list)
    answered: list[Packet] = field(default_factory=list)


@dataclass(kw_only=True)
class _Wait:
    pattern: Pattern
    request: int | None
    """Which of the connection's; None: before the first or after the last."""
    wait_ns: int
    delayed_ns: int = 0
    """For how long an acknowledgement was delayed, which is part of the wait."""


def read_record(file: Path) -> Record:
    """``RecordError`` for anything but a record."""
    try:
        head, *lines = file.read_text("ascii").splitlines()
        schema, extent = head.split(" ")
        if schema != "wirelink-packets/1" or extent not in ("all", "first"):
            raise RecordError(f"{file.name}: expected a record of packets, got {head!r}")
        return Record(packets=tuple(map(_packet, lines)), complete=extent == "all")
    except (OSError, ValueError) as error:
        raise RecordError(f"{file.name}: expected a record of packets: {error}") from error


def _packet(line: str) -> Packet:
    sent, due, way, port, flags, sequence, acknowledgement, size = line.split(" ")
    return Packet(
        sent_ns=int(sent),
        due_ns=None if due == "-" else int(due),
        up=way == "up",
        port=int(port),
        flags=flags,
        sequence=int(sequence),
        acknowledgement=int(acknowledgement),
        bytes=int(size),
    )


def find_waits(record: Record, *, rtt_ns: int) -> dict[str, Any]:
    """What a trial's record stores of its packets: connections, answered requests, and for each
    pattern found in how many of them, how often, and the waits in nanoseconds (``wait_ns`` and
    ``delayed_ns`` are sums).
    """
    connections = list(_connections(record.packets))
    requests = 0
    waits: dict[Pattern, list[tuple[int, _Wait]]] = {}
    for index, packets in enumerate(connections):
        answered, found = _waits_of(packets, rtt_ns=rtt_ns)
        requests += answered
        for one in found:
            waits.setdefault(one.pattern, []).append((index, one))
    return {
        "packets": len(record.packets),
        "complete": record.complete,
        "connections": len(connections),
        "requests": requests,
        "patterns": {name: _summary(waits[name]) for name in PATTERNS if name in waits},
    }


def _summary(waits: Sequence[tuple[int, _Wait]]) -> dict[str, int]:
    return {
        "connections": len({index for index, _ in waits}),
        "requests": len({(index, one.request) for index, one in waits if one.request is not None}),
        "times": len(waits),
        "wait_ns": sum(one.wait_ns for _, one in waits),
        "median_wait_ns": round(median(one.wait_ns for _, one in waits)),
        "delayed": sum(one.delayed_ns > 0 for _, one in waits),
        "delayed_ns": sum(one.delayed_ns for _, one in waits),
    }


def _connections(packets: Iterable[Packet]) -> Iterable[list[Packet]]:
    """The packets of each connection that begins in the record. A port may be used again."""
    by_port: dict[int, list[Packet]] = {}
    found = []
    for one in packets:
        own = by_port.get(one.port)
        if one.up and _opens(one) and (own is None or own[0].sequence != one.sequence):
            own = by_port[one.port] = []
            found.append(own)
        if own is not None:
            own.append(one)
    return found


def _opens(packet: Packet) -> bool:
    return "S" in packet.flags and "A" not in packet.flags


def _after(a: int, b: int) -> bool:
    """Whether a sequence number comes after another; they wrap at 2^32 (RFC 9293, section 3.4)."""
    return 0 < (a - b) & 0xFFFFFFFF < 1 << 31


def _end(packet: Packet) -> int:
    return (packet.sequence + packet.bytes) & 0xFFFFFFFF


def _waits_of(packets: Sequence[Packet], *, rtt_ns: int) -> tuple[int, list[_Wait]]:
    """How many requests of a connection were answered, and what they waited for."""
    requests, waits = _split(packets)
    waits += _syn_retries(packets)
    acknowledgements = _acknowledgements(packets)
    for index, request in enumerate(requests):
        for before, then in zip(request.answered, request.answered[1:], strict=False):
            if then.sent_ns - before.sent_ns >= rtt_ns / 2:
                waits += _held(before, then, acknowledgements, index)
    if _server_closes(packets):
        # The next request pays for a handshake.
        waits.append(_Wait(pattern="closed", request=None, wait_ns=_handshake_ns(packets)))
    return sum(bool(one.answered) for one in requests), waits


def _split(packets: Sequence[Packet]) -> tuple[list[_Request], list[_Wait]]:
    """The requests of a connection, and the segments that were sent again."""
    requests: list[_Request] = []
    waits: list[_Wait] = []
    highest: dict[bool, int] = {}
    last_sent: dict[tuple[bool, int], int] = {}
    for one in packets:
        if not one.bytes:
            continue
        end = _end(one)
        if one.up not in highest or _after(end, highest[one.up]):
            highest[one.up] = end
            if one.up and (not requests or requests[-1].answered):
                requests.append(_Request())
            if requests:
                (requests[-1].asked if one.up else requests[-1].answered).append(one)
        else:
            before = last_sent.get((one.up, one.sequence))
            if before is not None:
                wait = one.sent_ns - before
                again: Pattern = "timer" if wait >= LEAST_TIMER_NS else "resent"
                index = len(requests) - 1 if requests else None
                waits.append(_Wait(pattern=again, request=index, wait_ns=wait))
        last_sent[one.up, one.sequence] = one.sent_ns
    return requests, waits


def _syn_retries(packets: Sequence[Packet]) -> list[_Wait]:
    """The first segment of either end, sent more than once."""
    for up in (True, False):
        sent = [one.sent_ns for one in packets if one.up == up and "S" in one.flags]
        if len(sent) > 1:
            return [_Wait(pattern="syn_retry", request=None, wait_ns=sent[-1] - sent[0])]
    return []


def _acknowledgements(packets: Sequence[Packet]) -> list[Packet]:
    """The client's that arrive and acknowledge something for the first time."""
    found = []
    highest: int | None = None
    for one in packets:
        if not one.up or "A" not in one.flags or one.due_ns is None:
            continue
        if highest is None or _after(one.acknowledgement, highest):
            highest = one.acknowledgement
            found.append(one)
    return found


def _held(
    before: Packet, then: Packet, acknowledgements: Sequence[Packet], request: int
) -> list[_Wait]:
    """The wait of a segment for an acknowledgement that arrived just before it left; nothing where
    none did: then it waited for the program.
    """
    arrived = [
        one
        for one in acknowledgements
        if one.due_ns is not None
        and before.sent_ns < one.due_ns <= then.sent_ns <= one.due_ns + PROMPT_NS
    ]
    if not arrived:
        return []
    last = arrived[-1]
    wait = then.sent_ns - before.sent_ns
    if before.bytes >= FULL_SEGMENT_BYTES:
        return [_Wait(pattern="windows", request=request, wait_ns=wait)]
    if last.acknowledgement != _end(before) or then.bytes >= FULL_SEGMENT_BYTES:
        return []
    delayed = last.sent_ns - before.due_ns if before.due_ns is not None else 0
    return [
        _Wait(
            pattern="held_back",
            request=request,
            wait_ns=wait,
            delayed_ns=delayed if delayed >= DELAYED_ACK_NS else 0,
        )
    ]


def _server_closes(packets: Sequence[Packet]) -> bool:
    """Whether the server's end of the connection came before the client's."""
    for one in packets:
        if "F" in one.flags or "R" in one.flags:
            return not one.up
    return False


def _handshake_ns(packets: Sequence[Packet]) -> int:
    """From the client's first segment to the server's as it reaches the client; 0: not seen."""
    for one in packets:
        if not one.up and "S" in one.flags and one.due_ns is not None:
            return one.due_ns - packets[0].sent_ns
    return 0
