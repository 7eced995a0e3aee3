"""One run's directory: created once, appended to during the run, read by all later stages."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from wirebench.catalog.errors import explain_one
from wirebench.plan.model import Plan
from wirebench.store.jsonl import (
    NO_ROOM,
    LineFile,
    StoreError,
    read_lines,
    read_whole,
    write_whole,
)
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
DUEL_FILE = "duel.json"
LOCK_FILE = ".lock"
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
        try:
            self._lock = (path / LOCK_FILE).open("w")
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
            raise StoreError(
                f"{path}: expected a run that can be written: {error.strerror}"
            ) from error
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
        """Create ``<UTC stamp>-<label>``, with a number if the name is taken. ``OSError`` where the
        disk is full.
        """
        stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
        try:
            results.mkdir(parents=True, exist_ok=True)
            _check_latest(results)
            for number in range(1, 1000):
                name = f"{stamp}-{label}" if number == 1 else f"{stamp}-{label}-{number}"
                with suppress(FileExistsError):
                    (results / name).mkdir()
                    return cls(results / name)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
            raise StoreError(f"{results}: expected a folder for runs: {error.strerror}") from error
        raise StoreError(f"{results}: expected room for another run of {stamp}, got 999 already")

    def write_info(self, info: RunInfo) -> None:
        write_whole(self.path / RUN_FILE, _RUN.dump_python(info, mode="json"))

    def write_host(self, host: Mapping[str, Any]) -> None:
        write_whole(self.path / HOST_FILE, host)

    def write_plan(self, plan: Plan) -> None:
        write_whole(self.path / PLAN_FILE, _PLAN.dump_python(plan, mode="json"))

    def append_trial(self, *records: TrialRecord) -> None:
        self._trials.append(*(_TRIAL.dump_python(record, mode="json") for record in records))

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
    _check_latest(path.parent)
    link = path.parent / LATEST
    scratch = path.parent / f".{LATEST}.{os.getpid()}"
    scratch.unlink(missing_ok=True)
    scratch.symlink_to(path.name)
    scratch.replace(link)


def _check_latest(results: Path) -> None:
    """``StoreError`` where no link can be: a copy of the results may have a folder there."""
    link = results / LATEST
    if link.is_dir() and not link.is_symlink():
        raise StoreError(
            f"{link}: expected a link to the newest run, got a folder, such as 'scp -r' makes of"
            " one; move it away"
        )


def is_being_written(path: Path) -> bool:
    """Whether a process holds the lock of this run. Only looks: taking the lock, if only to try,
    could stop a run from being resumed at that moment.
    """
    try:
        inode = str((path / LOCK_FILE).stat().st_ino)
        locks = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return False
    # Such as "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF".
    held = (line.split() for line in locks.splitlines())
    return any(
        len(words) > 5 and words[1] == "FLOCK" and words[5].split(":")[-1] == inode
        for words in held
    )


def has_run(path: Path) -> bool:
    """Whether a run lies in this directory. One that its owner keeps to himself is none, so that it
    costs no other; nor is one with a name that no file can have.
    """
    try:
        return (path / RUN_FILE).is_file()
    except OSError:
        return False


def read_info(path: Path) -> RunInfo:
    return _typed(_RUN, read_whole(path / RUN_FILE), path / RUN_FILE)


def read_host(path: Path) -> Mapping[str, Any]:
    """Empty if the run ended before it was known."""
    file = path / HOST_FILE
    if not file.exists():
        return {}
    try:
        return _HOST.validate_python(read_whole(file))
    except ValidationError as error:
        raise StoreError(f"{file}: expected an object of JSON, got something else") from error


def read_plan(path: Path) -> Plan | None:
    """None if it is not drawn yet."""
    file = path / PLAN_FILE
    return _typed(_PLAN, read_whole(file), file) if file.exists() else None


def complete_runs(results: Path) -> Iterator[tuple[Path, str]]:
    """Complete runs with their host, the newest first."""
    found = []
    for path in results.iterdir() if results.is_dir() else ():
        if path.is_symlink() or not has_run(path):
            continue
        try:
            info = read_info(path)
            host = str(read_host(path).get("host_id", ""))
        except StoreError:
            continue
        if info.status == "complete" and host:
            found.append((info.started_unix_ns, path, host))
    for _, path, host in sorted(found, reverse=True):
        yield path, host


def read_run(path: Path) -> StoredRun:
    """Read the run in this directory, complete or not."""
    return StoredRun(
        path=path.resolve(),
        info=read_info(path),
        host=read_host(path),
        plan=read_plan(path),
        trials=_lines(_TRIAL, path / TRIALS_FILE),
        verified=_latest(_lines(_VERIFY, path / VERIFY_FILE)),
        left=_lines(_LEFT, path / LEFT_FILE),
    )


def _latest(records: Iterable[VerifyRecord]) -> tuple[VerifyRecord, ...]:
    """The last of each check: a run that is resumed with another build checks that anew."""
    return tuple({(one.contestant, one.workload): one for one in records}.values())


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
        raise StoreError(explain_one(error.errors()[0], path=where)) from error
