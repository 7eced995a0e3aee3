"""How long a trial may take before it counts as hung. Generous: being slow is a result; being stuck
must not stop the run.
"""

from __future__ import annotations

import math

from wirebench.catalog.studies import ClientLoad, ClosedLoad, EachLoad, Load, RampLoad

SECOND = 1_000_000_000
MARGIN_NS = 10 * SECOND
PER_CONNECTION_NS = 5_000_000
"""Opening one. The slowest server of the published WebSocket comparison needed 20 ms each, over
thousands.
"""
PER_REQUEST_NS = 2_000_000
"""Some ten times what the slowest framework needs, one core, a new connection each."""
PER_MESSAGE_NS = 300_000
PER_OPERATION = 20
"""Times the study's typical operation."""


PER_REPLY_AHEAD_NS = 100_000
"""A reply may wait for those to all requests in flight with it. Ten thousand a second is the least
that counts as answering.
"""


def reply_timeout_ns(load: Load, *, patience_ns: int, threads: int) -> int:
    """How long a reply may take: ``patience_ns`` beyond what the load itself makes it wait."""
    match load:
        case ClosedLoad():
            return patience_ns + load.connections * load.in_flight * PER_REPLY_AHEAD_NS
        case EachLoad():
            return patience_ns + _turns(load, threads) * load.delay_ms * 1_000_000
        case RampLoad():
            in_flight = load.rounds * load.add * (load.messages if load.pacing == "burst" else 1)
            return patience_ns + in_flight * PER_REPLY_AHEAD_NS
        case ClientLoad():
            return patience_ns


def _turns(load: EachLoad, threads: int) -> int:
    """The handlers work in turns when there are fewer of them than producers."""
    return math.ceil(load.producers / max(1, threads))


def limit_ns(load: Load, *, timeout_ns: int, threads: int) -> int:
    """From the start of the generator or client to the moment it is told to stop."""
    match load:
        case ClosedLoad():
            connecting = load.connections * PER_CONNECTION_NS
            return connecting + load.warmup_ns + load.window_ns + timeout_ns + MARGIN_NS
        case EachLoad():
            waiting = load.messages * load.delay_ms * 1_000_000 * _turns(load, threads)
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
