"""One run's directory: created once, appended to during the run, read by all later stages."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from wirebench.plan.model import Plan
from wirebench.store.jsonl import LineFile, StoreError, read_lines, read_whole, write_whole
from wirebench.store.records import LeftRecord, RunInfo, VerifyRecord
from wirebench.trial.record import SCHEMA, TrialRecord

RUN_FILE = "run.json"
HOST_FILE = "host.json"
PLAN_FILE = "plan.json"
TRIALS_FILE = "trials.jsonl"
VERIFY_FILE = "verify.jsonl"
LEFT_FILE = "left.jsonl"
TABLE_FILE = "table.txt"
REPORT_FILE = "report.html"
LATEST = "latest"

Typed = TypeVar("Typed")

_HOST = TypeAdapter(dict[str, Any])
_RUN = TypeAdapter(RunInfo)
_PLAN = TypeAdapter(Plan)
_TRIAL = TypeAdapter(TrialRecord)
_VERIFY = TypeAdapter(VerifyRecord)
_LEFT = TypeAdapter(LeftRecord)


@dataclass(frozen=True, kw_only=True)
class StoredRun:
    """A stored run. ``plan`` is None if the run ended before the plan was drawn."""

    path: Path
    info: RunInfo
    host: Mapping[str, Any]
    plan: Plan | None
    trials: tuple[TrialRecord, ...]
    verified: tuple[VerifyRecord, ...]
    left: tuple[LeftRecord, ...] = ()
    """The entries that left their cell before its end."""


class RunDirectory:
    """The writer of a run directory. A lock keeps two processes from appending to one run; the
    kernel releases it at a kill.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = (path / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise StoreError(
                f"{path}: another wirebench is writing this run; wait for it to end, or stop it"
            ) from None
        self._trials = LineFile(path / TRIALS_FILE)
        self._verify = LineFile(path / VERIFY_FILE)
        self._left = LineFile(path / LEFT_FILE)

    @classmethod
    def create(cls, results: Path, *, label: str, now: datetime | None = None) -> RunDirectory:
        """Create ``<UTC stamp>-<label>``, with a number if the name is taken."""
        stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
        results.mkdir(parents=True, exist_ok=True)
        for number in range(1, 1000):
            path = results / (f"{stamp}-{label}" if number == 1 else f"{stamp}-{label}-{number}")
            try:
                path.mkdir()
            except FileExistsError:
                continue
            return cls(path)
        raise StoreError(f"{results}: expected room for another run of {stamp}, got 999 already")

    def write_info(self, info: RunInfo) -> None:
        write_whole(self.path / RUN_FILE, _RUN.dump_python(info, mode="json"))

    def write_host(self, host: Mapping[str, Any]) -> None:
        write_whole(self.path / HOST_FILE, host)

    def write_plan(self, plan: Plan) -> None:
        write_whole(self.path / PLAN_FILE, _PLAN.dump_python(plan, mode="json"))

    def append_trial(self, record: TrialRecord) -> None:
        self._trials.append(_TRIAL.dump_python(record, mode="json"))

    def append_verify(self, record: VerifyRecord) -> None:
        self._verify.append(_VERIFY.dump_python(record, mode="json"))

    def append_left(self, record: LeftRecord) -> None:
        self._left.append(_LEFT.dump_python(record, mode="json"))

    def close(self) -> None:
        self._trials.close()
        self._verify.close()
        self._left.close()
        self._lock.close()


def point_latest(path: Path) -> None:
    """Point the link ``latest`` beside the run to it, atomically."""
    link = path.parent / LATEST
    scratch = path.parent / f".{LATEST}.{os.getpid()}"
    scratch.unlink(missing_ok=True)
    scratch.symlink_to(path.name)
    scratch.replace(link)


def read_run(path: Path) -> StoredRun:
    """Read the run in this directory, complete or not."""
    info = _typed(_RUN, read_whole(path / RUN_FILE), path / RUN_FILE)
    host = (
        _HOST.validate_python(read_whole(path / HOST_FILE)) if (path / HOST_FILE).exists() else {}
    )
    has_plan = (path / PLAN_FILE).exists()
    plan = _typed(_PLAN, read_whole(path / PLAN_FILE), path / PLAN_FILE) if has_plan else None
    return StoredRun(
        path=path.resolve(),
        info=info,
        host=host,
        plan=plan,
        trials=_lines(_TRIAL, path / TRIALS_FILE),
        verified=_lines(_VERIFY, path / VERIFY_FILE),
        left=_lines(_LEFT, path / LEFT_FILE),
    )


def _lines(adapter: TypeAdapter[Typed], path: Path) -> tuple[Typed, ...]:
    return tuple(_typed(adapter, value, path, line=number) for number, value in read_lines(path))


def _typed(
    adapter: TypeAdapter[Typed], value: object, path: Path, *, line: int | None = None
) -> Typed:
    where = str(path) if line is None else f"{path}: line {line}"
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema != SCHEMA:
        raise StoreError(
            f"{where}: schema: expected {SCHEMA}, got {schema!r}; read it with the wirebench that"
            " wrote it"
        )
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise StoreError(
            f"{where}: {key}: expected {first['msg']}, got {first['input']!r}"
        ) from error
