"""What one line of ``trials.jsonl`` and of ``verify.jsonl`` holds.

Times are integer nanoseconds, sizes bytes; what is not known is null, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SCHEMA = 1

Status = Literal["ok", "failed", "not_run"]


@dataclass(frozen=True, kw_only=True)
class FailureRecord:
    kind: str
    phase: str
    message: str
    sent: str | None = None
    expected: str | None = None
    received: str | None = None


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """One trial. ``load`` is what the generator or the client printed, without histogram, series
    and rounds.
    """

    schema: int = SCHEMA
    trial: str
    study: str
    cell: str
    block: int
    """From 1; 0 for a contestant that never came to a trial of this cell (it could not be built, or
    its replies are wrong).
    """
    position: int
    entry: str
    contestant: str
    twin_of: str | None
    status: Status
    failure: FailureRecord | None
    warnings: tuple[str, ...] = ()
    started_unix_ns: int
    elapsed_ns: int
    port: int | None = None
    environment_bytes: int | None = None
    ready_ns: int | None = None
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    series: Mapping[str, Any] | None = None
    rounds: tuple[Mapping[str, Any], ...] | None = None
    histogram: str | None = None
    validity: Mapping[str, Any] = field(default_factory=dict)
    covariates: Mapping[str, float | int | None] = field(default_factory=dict)
    load: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class VerifyRecord:
    """What the conformance check of one workload (or client scheme) said about one contestant."""

    schema: int = SCHEMA
    contestant: str
    workload: str
    status: Literal["ok", "failed"]
    failure: FailureRecord | None
    elapsed_ns: int
    checks: tuple[Mapping[str, Any], ...] = ()
    probes: tuple[Mapping[str, Any], ...] = ()
    """What the probes of the RFCs said about this build, if they were ever put to it."""


@dataclass(frozen=True, kw_only=True)
class AbsentRecord:
    """A contestant the run could have had, why it has not, and the line that changes it (None when
    there is none).
    """

    contestant: str
    studies: tuple[str, ...]
    kind: Literal["not_installed", "disabled"]
    reason: str
    install: str | None = None


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What was asked for: enough to plan the same run again."""

    studies: tuple[str, ...]
    preset: str
    only: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    blocks: int | None = None
    budget_ns: int | None = None
    seed: int


RunStatus = Literal["running", "interrupted", "complete", "failed"]


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """``run.json``. The status is ``running`` while the run goes on, and stays so when it was
    killed.
    """

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
    """What a reader of the figures must know, such as one core for both server and generator."""
