"""What ``run.json`` and one line of ``verify.jsonl`` hold.

Times are integer nanoseconds, sizes are bytes. An unknown value is null, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from wirebench.catalog.selection import RampSize
from wirebench.trial.record import SCHEMA, FailureRecord


@dataclass(frozen=True, kw_only=True)
class VerifyRecord:
    """The result of checking one contestant for one workload (or client scheme)."""

    schema: int = SCHEMA
    contestant: str
    workload: str
    status: Literal["ok", "failed"]
    failure: FailureRecord | None
    elapsed_ns: int
    builds: Mapping[str, str] = field(default_factory=dict)
    """The build hash of each contestant that the check ran, a client's server among them. Empty in
    runs of earlier versions.
    """
    checks: tuple[Mapping[str, Any], ...] = ()
    probes: tuple[Mapping[str, Any], ...] = ()
    """The results of the conformance probes for this build, if they were ever run."""


@dataclass(frozen=True, kw_only=True)
class AbsentRecord:
    """A contestant that is absent from the run, why, and the command that changes that (None if
    there is none).
    """

    contestant: str
    studies: tuple[str, ...]
    kind: Literal["not_installed", "disabled"]
    reason: str
    install: str | None = None


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What the user asked for: enough to plan the same run again."""

    studies: tuple[str, ...]
    preset: str
    only: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    ramp: RampSize | None = None
    """The size that ramps have instead of the preset's."""
    blocks: int | None = None
    budget_ns: int | None = None
    repeats: int | None = None
    """None: as the preset has it."""
    seed: int


@dataclass(frozen=True, kw_only=True)
class LeftRecord:
    """An entry that left its cell because more blocks would not change its verdicts."""

    schema: int = SCHEMA
    study: str
    cell: str
    entry: str
    blocks: int
    """After this many blocks, without the dropped ones."""
    reason: str
    """Such as ``all its pairs were decided``."""


RunStatus = Literal["running", "interrupted", "complete", "failed"]


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """The content of ``run.json``. The status stays ``running`` if the run is killed."""

    schema: int = SCHEMA
    name: str
    wirebench: str
    status: RunStatus
    command: tuple[str, ...]
    """The arguments that repeat the run."""
    selection: Selection
    started_unix_ns: int
    ended_unix_ns: int | None = None
    exit_code: int | None = None
    absent: tuple[AbsentRecord, ...] = ()
    notes: tuple[str, ...] = ()
    """Notes that a reader of the figures needs, such as one core for both server and generator."""
