"""The loads that a cell puts on a contestant, each with what it has besides its amounts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from wirebench.catalog.link import Link
from wirebench.catalog.model import TLS_SCHEMES, Scheme

HostName = Literal["127.0.0.1", "localhost"]
HOST: HostName = "127.0.0.1"
Kind = Literal["closed", "open", "each", "ramp", "idle", "storm", "broadcast", "client"]
Policy = Literal["reuse", "new"]
ClientPolicy = Literal["reuse", "new", "cold"]
"""CONTRIBUTING.md says what each means to a client."""
Method = Literal["GET", "POST"]
Pacing = Literal["serial", "burst"]
Arrivals = Literal["poisson", "constant"]
Cores = Literal["one", "all"]
"""What a server may use: one core, or all but the generator's."""


@dataclass(frozen=True, kw_only=True)
class ClosedLoad:
    """A fixed number of connections, each sending its next request after the reply to the last."""

    connections: int
    in_flight: int = 1
    payload_bytes: int | None = None
    """The size of each message that is echoed; None: the workload's own."""
    tls: bool = False
    warmup_ns: int
    window_ns: int
    cores: Cores = "one"


REPLY_TIMEOUT_NS = 5_000_000_000
"""How long the generator waits for one reply, beyond the wait that the load itself causes."""
PER_CONNECTION_NS = 5_000_000
"""Time to open one. The slowest server of the published WebSocket comparison needed 20 ms for each
of thousands.
"""


@dataclass(frozen=True, kw_only=True)
class OpenLoad:
    """Requests due by a schedule, whatever the server does, over a fixed number of connections. A
    request that is due while all connections are busy waits for one, and its latency counts from
    the time at which it was due.

    The rate is the same for every contestant, or a share of the contestant's own capacity.
    """

    connections: int
    in_flight: int = 1
    tls: bool = False
    arrivals: Arrivals
    rate_per_s: float | None
    """None while it is a share of a capacity that a trial is yet to be given."""
    share: float | None
    of: str | None
    """The closed cell whose throughput is the capacity."""
    warmup_ns: int
    window_ns: int
    cores: Cores = "one"

    @property
    def overload(self) -> bool:
        """Whether it is meant to be more than the server can take."""
        return self.share is not None and self.share >= 1

    def at_capacity(self, per_s: float) -> OpenLoad:
        """With its share of this capacity as its rate."""
        return self if self.share is None else replace(self, rate_per_s=self.share * per_s)


@dataclass(frozen=True, kw_only=True)
class EachLoad:
    """A fixed number of producers, each sending a fixed number of requests one after another."""

    producers: int
    messages: int
    delay_ms: int
    policy: Policy
    threads: int | None
    """Handler threads of the server; None means as many as the host has hardware threads."""
    link: Link | None = None
    """Between the producers and the server; None: this host's loopback."""

    @property
    def round_trips(self) -> int:
        """The fewest that a request costs: a new connection takes one of its own."""
        return 2 if self.policy == "new" else 1

    @property
    def request_rtt_ns(self) -> int:
        """The time that a request takes at least on the link."""
        return self.round_trips * self.link.rtt_ns if self.link is not None else 0


@dataclass(frozen=True, kw_only=True)
class RampLoad:
    """Rounds: each opens ``add`` more connections, then every open one sends ``messages`` and waits
    for the replies.
    """

    rounds: int
    add: int
    messages: int
    pacing: Pacing

    @property
    def total_messages(self) -> int:
        return self.messages * self.add * self.rounds * (self.rounds + 1) // 2

    @property
    def back_to_back(self) -> int:
        """How many messages a connection sends before it waits for a reply."""
        return self.messages if self.pacing == "burst" else 1


@dataclass(frozen=True, kw_only=True)
class IdleLoad:
    """Connections that are opened, held and not used."""

    connections: int
    window_ns: int


@dataclass(frozen=True, kw_only=True)
class StormLoad:
    """All connections at once, each with one request: until all are served."""

    connections: int
    restart: bool
    """Against a server that was killed with as many connections open, and started again."""


@dataclass(frozen=True, kw_only=True)
class BroadcastLoad:
    """A fixed number of connections, of which one sends messages that all are to get: the next one
    when all have it.
    """

    connections: int
    warmup_ns: int
    window_ns: int


@dataclass(frozen=True, kw_only=True)
class ClientLoad:
    """Operations of a client library, one after another."""

    scheme: Scheme
    policy: ClientPolicy
    payload_bytes: int
    warmup: int
    operations: int
    typical_ns: int
    """About how long one operation takes. Only the estimate of a run's length uses it."""
    method: Method = "GET"
    """``POST``: with as many bytes as its body, which the reply brings back."""
    host: HostName = HOST
    """What the URL names. ``localhost`` is ::1 and then 127.0.0.1, and nobody listens on ::1."""
    server: str | None = None
    """Who serves, in place of the study's servers."""
    closes_after: int = 0
    """Requests after which the server closes a connection; 0: never. Only c/nginx does."""
    resumption: bool = False
    """Whether the server issues TLS sessions, which a new connection may resume. Only c/nginx does.
    """

    @property
    def tls(self) -> bool:
        return self.scheme in TLS_SCHEMES


Load = (
    BroadcastLoad | ClosedLoad | OpenLoad | EachLoad | RampLoad | IdleLoad | StormLoad | ClientLoad
)
"""A stored load is read as the class that has most of its fields, and of two as the first here: a
broadcast has those that a closed loop must have, and no others.
"""


def over_tls(load: Load) -> bool:
    return isinstance(load, ClosedLoad | OpenLoad | ClientLoad) and load.tls


def link_of(load: Load) -> Link | None:
    """The emulated link between the generator and the server, if there is one."""
    return load.link if isinstance(load, EachLoad) else None


def most_connections(load: Load) -> int:
    """How many connections a server has at most at a time."""
    match load:
        case ClosedLoad() | OpenLoad() | IdleLoad() | StormLoad() | BroadcastLoad():
            return load.connections
        case EachLoad():
            return load.producers
        case RampLoad():
            return load.rounds * load.add
        case ClientLoad():
            return 1


def on_all_cores(load: Load) -> bool:
    return isinstance(load, ClosedLoad | OpenLoad) and load.cores == "all"
