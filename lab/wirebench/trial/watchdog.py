"""How long a trial may take before it counts as hung. Generous: being slow is a result; being stuck must not stop the run."""

from __future__ import annotations

import math

from wirebench.catalog.studies import ClientLoad, ClosedLoad, EachLoad, Load, RampLoad

SECOND = 1_000_000_000
MARGIN_NS = 10 * SECOND
PER_CONNECTION_NS = 5_000_000
"""Opening one. The slowest server of the published WebSocket comparison needed 20 ms each, over thousands."""
PER_REQUEST_NS = 2_000_000
"""Some ten times what the slowest framework needs, one core, a new connection each."""
PER_MESSAGE_NS = 300_000
PER_OPERATION = 20
"""Times the study's typical operation."""


def limit_ns(load: Load, *, timeout_ns: int, threads: int) -> int:
    """From the start of the generator or client to the moment it is told to stop."""
    match load:
        case ClosedLoad():
            connecting = load.connections * PER_CONNECTION_NS
            return connecting + load.warmup_ns + load.window_ns + timeout_ns + MARGIN_NS
        case EachLoad():
            # The handlers work in turns when there are fewer of them than producers.
            waiting = load.messages * load.delay_ms * 1_000_000 * math.ceil(load.producers / max(1, threads))
            return 2 * waiting + load.producers * load.messages * PER_REQUEST_NS + timeout_ns + MARGIN_NS
        case RampLoad():
            connecting = load.rounds * load.add * PER_CONNECTION_NS
            return connecting + load.total_messages * PER_MESSAGE_NS + timeout_ns + MARGIN_NS
        case ClientLoad():
            return (load.warmup + load.operations) * load.typical_ns * PER_OPERATION + MARGIN_NS
