"""A contestant as the lab sees it: its manifest with its language's defaults, checked."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

Tier = Literal["idiomatic", "tuned", "floor"]
Workload = Literal["http.hello", "http.payload", "rest", "ws.echo", "ws.count", "ws.broadcast"]
Unit = Literal["request", "message"]
Scheme = Literal["http", "https", "ws", "wss"]
Role = Literal["server", "client"]
Feature = Literal[
    "keep-alive",
    "pipelining",
    "chunked in",
    "chunked out",
    "streaming",
    "TLS",
    "WebSocket",
    "compression",
    "HTTP/2",
]
"""What an HTTP framework may have. Chunked in and out: request and response bodies by chunks."""

TIERS: tuple[Tier, ...] = ("idiomatic", "tuned", "floor")
WORKLOADS: tuple[Workload, ...] = get_args(Workload)
ONE_PROCESS: tuple[Workload, ...] = ("rest", "ws.broadcast")
"""Those that several processes cannot share: a limit on requests in their delay, and connections
that all get each message.
"""
JSON_WORKLOADS: tuple[Workload, ...] = ("rest", "ws.count")
"""Those whose messages are JSON."""
FEATURES: tuple[Feature, ...] = get_args(Feature)
SCHEMES: tuple[Scheme, ...] = ("http", "https", "ws", "wss")
TLS_SCHEMES: tuple[Scheme, ...] = ("https", "wss")
CALLED: dict[Scheme, Workload] = {
    "http": "http.payload",
    "https": "http.payload",
    "ws": "ws.echo",
    "wss": "ws.echo",
}
"""What a client's scheme is checked against."""


def unit_of(workload: Workload) -> Unit:
    """What is counted of it, for headings. Figures keep their names whatever they count."""
    return "message" if workload.startswith("ws.") else "request"


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What must be on the host before a contestant can be built."""

    commands: tuple[str, ...] = ()
    """Programs of the toolchain, such as ``go``."""
    minimum: tuple[tuple[str, str], ...] = ()
    """The lowest version of those commands that have one."""
    debian: tuple[str, ...] = ()
    """Debian packages by name."""
    debian_minimum: tuple[tuple[str, str], ...] = ()
    """The lowest version of those packages that have one."""
    files: tuple[str, ...] = ()
    """Files of a system install that no package manager makes: absolute, or relative to an include
    folder.
    """


@dataclass(frozen=True, kw_only=True)
class Disabled:
    reason: str
    since: datetime.date


@dataclass(frozen=True, kw_only=True)
class Contestant:
    identity: str
    """``<language>/<name>``, which is also its path below ``contestants/``."""
    language: str
    language_title: str
    name: str
    folder: Path
    """Where its manifest and source are. Never written to."""
    library: str
    version: str
    license: str
    homepage: str
    tier: Tier
    serves: tuple[Workload, ...] = ()
    calls: tuple[Scheme, ...] = ()
    tls: bool = False
    needs: Needs = Needs()
    published: str | None = None
    """Where its authors publish a library that no package registry carries."""
    released: datetime.date | None = None
    """The day on which the version came out, where no package manager leaves it on the machine."""
    note: str | None = None
    json: str | None = None
    """The JSON library of its ``rest`` and ``ws.count``, by name."""
    build_steps: tuple[tuple[str, ...], ...] = ()
    build_inputs: tuple[str, ...] = ()
    """Folders its build reads besides its own, relative to the project's root."""
    server_command: tuple[str, ...] | None = None
    client_command: tuple[str, ...] | None = None
    disabled: Disabled | None = None
    documented: Mapping[Feature, bool] = field(default_factory=dict)
    """Features that the library has or lacks by its documentation, used here or not."""
    checked_with_threads: int | None = None
    """How many threads its check gives it, because it stands still with fewer. That it does is
    measured, and what WIREBENCH_THREADS limits is not checked.
    """
    processes: bool = False
    """Its threads above one are processes, each with open files of its own, but in ``rest``."""
    open_files: int | None = None
    """How many files a process of it may open where the host allows more, as with select; None: as
    many as the host allows.
    """
    warmup_ns: int = 0
    """The load that its runtime needs as a server, on one core, before it runs at its pace."""
    client_warmup_ns: int = 0
    """What it needs as a client: the operations that a native client does in this time."""
    closes: bool = False
    """It ends each connection after its reply, so that every request pays for a new one."""
    posts: bool = False
    """As a client it also sends POST where it is asked to; as a server of ``http.payload`` it takes
    it.
    """
    kept_connections: int = 1
    """How many connections it opens at most as a client under ``reuse``."""

    @property
    def roles(self) -> frozenset[Role]:
        offered: tuple[tuple[Role, bool], ...] = (
            ("server", bool(self.serves)),
            ("client", bool(self.calls)),
        )
        return frozenset(role for role, offers in offered if offers)

    def command(self, role: Role) -> tuple[str, ...] | None:
        """The command with its placeholders; ``wirebench.build.resolve_command`` fills them."""
        return self.server_command if role == "server" else self.client_command
