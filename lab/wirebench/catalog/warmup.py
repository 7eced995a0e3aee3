"""What a contestant's runtime needs before it runs at its pace, beyond what a load has of its own.

A just-in-time compiler interprets what it has not seen often. Measured too early, a server of the
JVM answers a tenth of what it answers ten seconds later.
"""

from __future__ import annotations

from wirebench.catalog.loads import (
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
from wirebench.catalog.model import Contestant


def lacking_ns(contestant: Contestant, load: Load) -> int:
    """How long a server is to be under load before this load; 0: it need not.

    Loads that measure how a server idles or starts are put on it as it is.
    """
    match load:
        case ClosedLoad() | OpenLoad() | BroadcastLoad():
            return max(0, contestant.warmup_ns - load.warmup_ns)
        case EachLoad() | RampLoad():
            return contestant.warmup_ns
        case IdleLoad() | StormLoad() | ClientLoad():
            return 0


def warmup_operations(contestant: Contestant, load: ClientLoad) -> int:
    """How many operations a client does before the measured ones. One that is to make a client for
    each operation, and so pays for what is cold, does no more than the load says.
    """
    if load.policy == "cold":
        return load.warmup
    return max(load.warmup, contestant.client_warmup_ns // load.typical_ns)
