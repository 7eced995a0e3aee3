"""What somebody needs of a library, and what a library is found to give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wirebench.catalog.model import Role, Scheme, Workload

By = Literal["throughput", "cpu", "p99", "memory"]
RATE_PER_S = 1000.0
"""The offered load, where none is asked for."""
State = Literal["holds", "borderline", "fails", "unknown"]
"""``borderline``: some trials are within the limit and others beyond, or what was measured is
easier than what was asked for. The finding's text says which.
"""


_WORST_FIRST: tuple[State, ...] = ("fails", "unknown", "borderline")


@dataclass(frozen=True, kw_only=True)
class Question:
    """Limits that are None or empty ask for nothing. Either ``serves`` or ``calls`` is given."""

    serves: Workload | None = None
    """The library is a server of this workload."""
    calls: Scheme | None = None
    """It is a client of this scheme."""
    languages: tuple[str, ...] = ()
    connections: int | None = None
    """For a server. None: as many as the smallest cell has."""
    rate_per_s: float = RATE_PER_S
    """The offered load at which latency and cost of a server are looked up."""
    p99_ns: int | None = None
    cpu_ns: int | None = None
    """For each request, message or operation."""
    throughput_per_s: float | None = None
    memory_bytes: int | None = None
    """For each connection."""
    installed_bytes: int | None = None
    """What its dependencies take."""
    dependencies: int | None = None
    """How many packages, those that others bring included."""
    licence: str | None = None
    """``permissive``, or an SPDX expression that the library's licence must allow."""
    standards: tuple[str, ...] = ()
    """RFC numbers, of which a server may break no MUST."""
    total_memory_bytes: int | None = None
    """Of a server at its peak."""
    tls: bool = False
    """A server must speak TLS."""
    by: By | None = None
    """The order of the answer; None: by throughput, for a client by round trip."""

    @property
    def role(self) -> Role:
        return "server" if self.calls is None else "client"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One limit, held against one contestant."""

    limit: str
    """Such as ``p99 <= 20 ms``."""
    state: State
    text: str
    """What was found: a figure, or why there is none."""
    where: str = ""
    """Where it was found: study, cell and run."""
    command: str | None = None
    """What would make it known, for an unknown one. ``{}`` stands for the contestants, with commas
    between.
    """


@dataclass(frozen=True, kw_only=True)
class Candidate:
    contestant: str
    rank: tuple[int, int] | None
    """Its range in the cell that the answer is ordered by, over all that were ranked there."""
    beaten_by: tuple[str, ...]
    """The contestants that are better there beyond doubt."""
    figure: str
    """With a sign where the generator makes it a bound."""
    findings: tuple[Finding, ...]

    @property
    def state(self) -> State:
        """The worst of its findings: one that fails excludes it, whatever is unknown."""
        states = [one.state for one in self.findings]
        return next((one for one in _WORST_FIRST if one in states), "holds")


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The answer. ``shortlist``: who meets every limit, the best first, ties kept as ties."""

    host_id: str
    ordered_by: str
    """The metric, the cell and the run; or that nothing orders them."""
    shortlist: tuple[Candidate, ...]
    first: tuple[str, ...]
    """Those of the shortlist than which nobody else on it is better beyond doubt."""
    excluded: tuple[Candidate, ...]
    unknown: tuple[Candidate, ...]
