"""What a trial is asked to do.

``wirebench.catalog.loads`` has the loads, ``wirebench.catalog.workloads`` the request of each
workload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from wirebench.catalog.loads import REPLY_TIMEOUT_NS, ClosedLoad, Load
from wirebench.catalog.model import Contestant, Role, Scheme, Workload
from wirebench.catalog.workloads import GivenRequest, Request, WebSocketMessage, request_of
from wirebench.process.start import START_TIMEOUT_NS


@dataclass(frozen=True, kw_only=True)
class OwnServer:
    """A server that a user brings, which serves no workload of the lab's."""

    request: GivenRequest
    scheme: Scheme = "http"
    url: str | None = None
    """``scheme://host:port`` of a server that runs already. None: the lab starts it."""
    ready_path: str | None = None
    """Ready when a GET of this path is answered with 2xx or 3xx. None: when it accepts."""
    start_timeout_ns: int = START_TIMEOUT_NS
    environment: Mapping[str, str] = field(default_factory=dict)
    """More variables for a server that the lab starts; ``{port}`` in a value is its port."""
    runtimes: Mapping[str, int] = field(default_factory=dict)
    """The load (ns) that runtimes need before they run at their pace, by the name of their program.
    """


@dataclass(frozen=True, kw_only=True)
class TrialSpec:
    """One trial. The first eight fields are its name."""

    trial: str
    study: str
    cell: str
    block: int
    position: int
    entry: str
    twin_of: str | None = None
    repeat: int = 1

    contestant: Contestant
    role: Role
    """What the contestant is here. In role ``client``, ``server`` serves it."""
    workload: Workload
    """What the contestant serves; in role ``client``, what the server it calls serves."""
    load: Load
    """``ClientLoad`` in role ``client``, one of the others in role ``server``."""
    server: Contestant | None = None

    threads: int = 1
    """Handler threads the server may use. With more than one, and more than two cores, it is not
    pinned to a single core.
    """
    processes: int = 1
    """How many processes a server must be for the open files of its connections. They share the
    cores that ``threads`` gives it.
    """
    environment_bytes: int = 0
    """Size of a filler in the environment. It must not matter, so it differs from trial to trial.
    """
    port_seed: int = 0
    """Where the search for a free port starts."""
    load_seed: int = 0
    """The generator's seed."""
    seed: int = 0
    """The run's seed."""
    timeout_ns: int = REPLY_TIMEOUT_NS
    """How long the generator waits for one reply, beyond the wait that the load itself causes."""
    own: OwnServer | None = None
    """Instead of the workload's server and request."""

    @property
    def request(self) -> Request:
        """What a server is asked under load."""
        if self.own is not None:
            return self.own.request
        request = request_of(self.workload)
        if isinstance(self.load, ClosedLoad) and isinstance(request, WebSocketMessage):
            return replace(request, payload_bytes=self.load.payload_bytes)
        return request
