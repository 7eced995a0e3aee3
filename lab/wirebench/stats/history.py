"""The twins of earlier runs on this host. They give the noise band and the lifetime false-positive
rate.

``results/twins.jsonl`` keeps the twins of each complete run, so that they outlive the runs and need
not be recomputed from all trials. A run that is missing there is read once.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from wirebench.stats.analyse import analyse
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import RunAnalysis, TwinRecord
from wirebench.store.jsonl import StoreError
from wirebench.store.rundir import RUN_FILE, StoredRun, read_run

TWINS_FILE = "twins.jsonl"
_RECORD = TypeAdapter(TwinRecord)
_log = logging.getLogger(__name__)


def load_history(
    results: Path, *, host_id: str, before_unix_ns: int, settings: Settings = DEFAULT
) -> tuple[TwinRecord, ...]:
    """The twins of this host's runs that started before the given moment, oldest first.

    Only earlier runs, so that a report rebuilt later is the same. Runs that cannot be read are left
    out with a log line.
    """
    records = _known(results / TWINS_FILE)
    known = {record.run for record in records}
    added: list[TwinRecord] = []
    for run in sorted(_runs(results), key=lambda run: run.info.started_unix_ns):
        if run.info.name in known or run.info.status != "complete":
            continue
        host = str(run.host.get("host_id", ""))
        earlier = [
            record
            for record in (*records, *added)
            if record.host_id == host and record.started_unix_ns < run.info.started_unix_ns
        ]
        added.extend(twin_records(run, analyse(run.trials, run.plan, earlier, settings=settings)))
    if added:
        _append(results / TWINS_FILE, added)
    chosen = [
        record
        for record in (*records, *added)
        if record.host_id == host_id and record.started_unix_ns < before_unix_ns
    ]
    return tuple(sorted(chosen, key=lambda record: record.started_unix_ns))


def twin_records(run: StoredRun, analysis: RunAnalysis) -> list[TwinRecord]:
    return [
        TwinRecord(
            run=run.info.name,
            started_unix_ns=run.info.started_unix_ns,
            host_id=str(run.host.get("host_id", "")),
            study=twin.study,
            cell=twin.cell,
            contestant=twin.contestant,
            ratio=twin.ratio.estimate,
            blocks=twin.ratio.blocks,
            false_alarm=twin.false_alarm,
        )
        for twin in analysis.twins
        if twin.ratio is not None and twin.ratio.low is not None
    ]


def _runs(results: Path) -> Iterable[StoredRun]:
    for path in sorted(results.iterdir()) if results.is_dir() else ():
        if path.is_symlink() or not (path / RUN_FILE).is_file():
            continue
        try:
            yield read_run(path)
        except StoreError as error:
            _log.warning("left out of the noise band: %s", error)


def _known(path: Path) -> list[TwinRecord]:
    """Read the cache. Lines that cannot be read (torn by a kill) are recomputed from their run."""
    records = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            records.append(_RECORD.validate_python(json.loads(line)))
        except (ValueError, ValidationError):
            _log.warning("%s: a line that is no twin record was left out", path)
    return records


def _append(path: Path, records: Iterable[TwinRecord]) -> None:
    """Append in one write, so that two reports at once cannot mix their lines."""
    text = "".join(json.dumps(asdict(record)) + "\n" for record in records)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)
