"""What one line of ``trials.jsonl`` holds.

Times are integer nanoseconds, sizes are bytes. An unknown value is null, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from wirebench.process.types import Failure

SCHEMA = 1

Status = Literal["ok", "failed", "not_run"]


@dataclass(frozen=True, kw_only=True)
class FailureRecord:
    """A failure as stored. The kinds and phases are those of this and of other versions."""

    kind: str
    phase: str
    message: str
    sent: str | None = None
    expected: str | None = None
    received: str | None = None
    state: str | None = None
    """What a server that stood still was waiting for."""
    whose: str | None = None
    """Who failed, if it was not the contestant of the trial: the server that a client called. The
    trial then counts as not run.
    """

    @classmethod
    def of(cls, failure: Failure | None) -> FailureRecord | None:
        return None if failure is None else cls(**asdict(failure))


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """One trial. ``load`` is the output of the generator or client, without histogram, series and
    rounds.
    """

    schema: int = SCHEMA
    trial: str
    study: str
    cell: str
    block: int
    """Counted from 1. Block 0 stands for a contestant without a trial in this cell: it could not be
    built, or its replies are wrong.
    """
    position: int
    repeat: int = 1
    """The repeat of the study that the block belongs to, counted from 1. In a run on several hosts
    each host, or each pair of them, is a repeat.
    """
    host: str = ""
    """The host of a fleet that measured it, or the pair of hosts. Empty: the host of the run."""
    entry: str
    contestant: str
    twin_of: str | None
    status: Status
    failure: FailureRecord | None
    warnings: tuple[str, ...] = ()
    started_unix_ns: int
    elapsed_ns: int
    """From before the first process starts to after the last has ended."""
    port: int | None = None
    environment_bytes: int | None = None
    ready_ns: int | None = None
    """From the start of the server's process to the first connection it accepts."""
    metrics: Mapping[str, float | int | None] = field(default_factory=dict)
    series: Mapping[str, Any] | None = None
    rounds: tuple[Mapping[str, Any], ...] | None = None
    histogram: str | None = None
    validity: Mapping[str, Any] = field(default_factory=dict)
    covariates: Mapping[str, float | int | None] = field(default_factory=dict)
    load: Mapping[str, Any] | None = None
    packets: Mapping[str, Any] | None = None
    """What its requests waited for on an emulated link (``find_waits``); None without a link."""


def who_failed(record: TrialRecord) -> str | None:
    """The contestant that failed in the trial, which may be the server of a client's."""
    if record.failure is not None and record.failure.whose is not None:
        return record.failure.whose
    return record.contestant if record.status == "failed" else None
