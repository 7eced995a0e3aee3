"""What a trial is asked to do and what it says.

The loads are those of the studies (``wirebench.catalog.studies``); the request each workload is
asked is in
``wirebench.catalog.workloads``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from wirebench.catalog.model import Contestant, Role, Workload
from wirebench.catalog.studies import Load
from wirebench.process.types import Failure


@dataclass(frozen=True, kw_only=True)
class TrialSpec:
    """One trial. The first seven fields only name it."""

    trial: str
    study: str
    cell: str
    block: int
    position: int
    entry: str
    twin_of: str | None = None

    contestant: Contestant
    role: Role
    """What the contestant is here. In role ``client``, ``server`` serves it."""
    workload: Workload
    """What the contestant serves; in role ``client``, what the server it calls serves."""
    load: Load
    """``ClientLoad`` in role ``client``, one of the others in role ``server``."""
    server: Contestant | None = None

    threads: int = 1
    """Handler threads the server may use. More than one: it is not held to one core where there are
    more than two.
    """
    environment_bytes: int = 0
    """Size of a filler in the environment: it must not matter, so it differs from trial to trial.
    """
    port_seed: int = 0
    """Where the search for a free port starts."""
    seed: int = 0
    """For the generator."""
    timeout_ns: int = 5_000_000_000
    """How long the generator waits for one reply, beyond what the load itself makes it wait."""


TrialStatus = Literal["ok", "failed"]


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """What one trial gave. The fields are those of a line of ``trials.jsonl``."""

    trial: str
    study: str
    cell: str
    block: int
    position: int
    entry: str
    contestant: str
    twin_of: str | None
    status: TrialStatus
    failure: Failure | None
    warnings: tuple[str, ...] = ()
    started_unix_ns: int
    elapsed_ns: int
    """From before the first process starts to after the last has ended."""
    port: int | None = None
    environment_bytes: int | None = None
    ready_ns: int | None = None
    """From the start of the server's process to the first connection it takes."""
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    series: Mapping[str, Any] | None = None
    rounds: tuple[Mapping[str, Any], ...] | None = None
    histogram: str | None = None
    validity: Mapping[str, Any] = field(default_factory=dict)
    covariates: Mapping[str, float | int | None] = field(default_factory=dict)
    load: Mapping[str, Any] | None = None

    def record(self) -> dict[str, Any]:
        """As plain values, in the order and under the names of the trial record."""
        return asdict(self)
