"""The time limits of a trial. They are generous: a slow server is a result, a stuck one must not
stop the run.
"""

from __future__ import annotations

import math

from wirebench.catalog.loads import (
    PER_CONNECTION_NS,
    BroadcastLoad,
    ClientLoad,
    ClosedLoad,
    EachLoad,
    IdleLoad,
    Load,
    OpenLoad,
    RampLoad,
    StormLoad,
)
from wirebench.trial.wireload import Turn

SECOND = 1_000_000_000
MARGIN_NS = 10 * SECOND
PER_REQUEST_NS = 2_000_000
"""About ten times the need of the slowest framework on one core with a new connection for each
request.
"""
PER_MESSAGE_NS = 300_000
PER_OPERATION = 120
"""A multiple of the study's typical operation. cpprestsdk loads the system's authorities for each
connection over TLS, and OkHttp waits for a delayed acknowledgement: 20 and 30 times as long. httpx
loads them for each client, also for plain http: more than 40 times on a host with slow cores.
"""


LINK_ROUND_TRIPS = 6
"""How many round trips of a link a request may take beyond the fewest. The article's slowest
framework took two more, and a delayed acknowledgement.
"""
LOST_PACKET_NS = 1 * SECOND
"""What most lost packets cost at most: the first retransmission timer of a handshake (RFC 6298,
section 2.1).
"""
PACKETS_PER_REQUEST = 10

PER_REPLY_AHEAD_NS = 500_000
"""A reply may wait for the replies to all requests in flight with it. A server that answers fewer
than two thousand a second counts as hung.
"""


def reply_timeout_ns(load: Load, *, patience_ns: int, threads: int) -> int:
    """How long a reply may take: ``patience_ns`` beyond the wait that the load itself causes."""
    match load:
        case StormLoad():
            return patience_ns + load.connections * PER_CONNECTION_NS
        case IdleLoad():
            return patience_ns
        case ClosedLoad() | OpenLoad():
            return patience_ns + load.connections * load.in_flight * PER_REPLY_AHEAD_NS
        case BroadcastLoad():
            return patience_ns + load.connections * PER_REPLY_AHEAD_NS
        case EachLoad():
            return patience_ns + _turns(load, threads) * _request_ns(load)
        case RampLoad():
            in_flight = load.rounds * load.add * (load.messages if load.pacing == "burst" else 1)
            return patience_ns + in_flight * PER_REPLY_AHEAD_NS
        case ClientLoad():
            return patience_ns


def _request_ns(load: EachLoad) -> int:
    """The delay of a request, and what its link may add."""
    link_ns = 0
    if load.link is not None:
        lost = PACKETS_PER_REQUEST * load.link.loss_percent / 100
        jitter_ns = 2 * LINK_ROUND_TRIPS * load.link.jitter_ms * 1e6
        link_ns = LINK_ROUND_TRIPS * load.link.rtt_ns + round(lost * LOST_PACKET_NS + jitter_ns)
    return load.delay_ms * 1_000_000 + load.request_rtt_ns + link_ns


def _turns(load: EachLoad, threads: int) -> int:
    """How many delays follow one another when there are fewer handlers than producers."""
    return math.ceil(load.producers / max(1, threads))


def waiting_ns(load: Load, turn: Turn) -> int:
    """What a load takes longer in turns with others: their turns, and what is not measured of its
    own.
    """
    if not isinstance(load, ClosedLoad):
        raise TypeError(f"turns: expected a closed loop, got {type(load).__name__}")
    cycles = math.ceil((load.warmup_ns + load.window_ns) / (turn.length_ns * Turn.MEASURED)) + 2
    return cycles * turn.of * turn.length_ns


def limit_ns(load: Load, *, timeout_ns: int, threads: int) -> int:
    """The time from the start of the generator or client until the lab stops it."""
    match load:
        case ClosedLoad() | OpenLoad() | BroadcastLoad():  # whose last replies may take the timeout
            connecting = load.connections * PER_CONNECTION_NS
            return connecting + load.warmup_ns + load.window_ns + timeout_ns + MARGIN_NS
        case IdleLoad():
            return load.connections * PER_CONNECTION_NS + load.window_ns + timeout_ns + MARGIN_NS
        case StormLoad():
            return timeout_ns + MARGIN_NS
        case EachLoad():
            waiting = load.messages * _request_ns(load) * _turns(load, threads)
            return (
                2 * waiting
                + load.producers * load.messages * PER_REQUEST_NS
                + timeout_ns
                + MARGIN_NS
            )
        case RampLoad():
            connecting = load.rounds * load.add * PER_CONNECTION_NS
            return connecting + load.total_messages * PER_MESSAGE_NS + timeout_ns + MARGIN_NS
        case ClientLoad():
            return (load.warmup + load.operations) * load.typical_ns * PER_OPERATION + MARGIN_NS
