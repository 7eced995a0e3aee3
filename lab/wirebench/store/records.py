"""What ``run.json`` and one line of ``verify.jsonl`` hold.

Times are integer nanoseconds, sizes are bytes. An unknown value is null, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from wirebench.trial.record import SCHEMA, FailureRecord


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
