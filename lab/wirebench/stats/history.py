"""What earlier runs on this host recorded of twins and repeats. The twins give the noise band and
the lifetime false-positive rate, the repeats what differs between runs.

``results/twins.jsonl`` and ``results/repeats.jsonl`` keep the records of each complete run, so that
they outlive the runs and need not be recomputed from all trials. A run that is missing there is
read once. So is a run whose twins were recorded by an older version, without their errors. Where
the folder may only be read, such runs are read each time.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from wirebench.stats.analyse import analyse
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import CellAnalysis, HistoryRecord, RepeatRecord, RunAnalysis, TwinRecord
from wirebench.store.jsonl import StoreError
from wirebench.store.kept import append_records, read_records
from wirebench.store.rundir import StoredRun, has_run, read_info, read_run

TWINS_FILE = "twins.jsonl"
REPEATS_FILE = "repeats.jsonl"
_log = logging.getLogger(__name__)


def load_history(
    results: Path, *, host_id: str, before_unix_ns: int, settings: Settings = DEFAULT
) -> tuple[HistoryRecord, ...]:
    """The records of this host's runs that started before the given moment, oldest first.

    Only earlier runs, so that a report rebuilt later is the same. Runs that cannot be read are left
    out with a log line.
    """
    twins = _latest(read_records(results / TWINS_FILE, TypeAdapter(TwinRecord)))
    repeats = _latest(read_records(results / REPEATS_FILE, TypeAdapter(RepeatRecord)))
    known = {record.run for record in twins if record.noise}
    for path in _complete_runs(results, without=known):
        try:
            run = read_run(path)
        except StoreError as error:
            _log.warning("left out of the noise band: %s", error)
            continue
        host = str(run.host.get("host_id", ""))
        earlier = _chosen([*twins, *repeats], host, run.info.started_unix_ns)
        analysis = analyse(run.trials, run.plan, earlier, settings=settings)
        new = twin_records(run, analysis)
        twins = _latest([*twins, *new])
        _keep(results / TWINS_FILE, new)
        if run.info.name not in {record.run for record in repeats}:
            shown = repeat_records(run, analysis)
            repeats += shown
            _keep(results / REPEATS_FILE, shown)
    chosen = _chosen([*twins, *repeats], host_id, before_unix_ns)
    return tuple(sorted(chosen, key=lambda record: record.started_unix_ns))


def _keep(path: Path, records: Sequence[HistoryRecord]) -> None:
    """As far as the folder allows: who may only read it has the same history without."""
    with contextlib.suppress(OSError):
        append_records(path, records)


def _chosen(
    records: Sequence[HistoryRecord], host_id: str, before_unix_ns: int
) -> list[HistoryRecord]:
    return [
        record
        for record in records
        if record.host_id == host_id and record.started_unix_ns < before_unix_ns
    ]


def twin_records(run: StoredRun, analysis: RunAnalysis) -> list[TwinRecord]:
    presets = {study.name: study.preset for study in run.plan.studies} if run.plan else {}
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
            kind=cell.noise_kind,
            preset=presets.get(twin.study, ""),
            noise=twin.noise,
        )
        for cell in analysis.cells
        if (twin := cell.twin) is not None and twin.ratio is not None and twin.ratio.low is not None
    ]


def repeat_records(run: StoredRun, analysis: RunAnalysis) -> list[RepeatRecord]:
    return [
        RepeatRecord(
            run=run.info.name,
            started_unix_ns=run.info.started_unix_ns,
            host_id=str(run.host.get("host_id", "")),
            study=cell.study,
            cell=cell.cell,
            kind=cell.noise_kind,
            metric=metric,
            variance=effect.variance,
            degrees=effect.degrees,
            repeats=effect.repeats,
        )
        for cell in analysis.cells
        if _compares(cell)
        for metric, effect in cell.run_effects.items()
        if effect.source == "repeats"
    ]


def _compares(cell: CellAnalysis) -> bool:
    """Whether two entries have figures that show what repeats differ by: ranked ones, or the
    floor.
    """
    shown = [
        entry
        for entry in cell.entries
        if entry.unranked is None
        or (entry.is_floor and entry.kept_up and entry.warm_up != "never steady")
    ]
    return len(shown) > 1


def _complete_runs(results: Path, *, without: Collection[str]) -> list[Path]:
    """Those with other names, the oldest first. Their trials, which take seconds and much memory,
    are not read for that.
    """
    found = []
    for path in sorted(results.iterdir()) if results.is_dir() else ():
        if path.is_symlink() or not has_run(path):
            continue
        try:
            info = read_info(path)
        except StoreError as error:
            _log.warning("left out of the noise band: %s", error)
            continue
        if info.status == "complete" and info.name not in without:
            found.append((info.started_unix_ns, path))
    return [path for _, path in sorted(found)]


Record = TypeVar("Record", TwinRecord, RepeatRecord)


def _latest(records: Iterable[Record]) -> list[Record]:
    """The last record of each cell and metric of a run: a newer version records a twin again."""
    found: dict[tuple[str, ...], Record] = {}
    for record in records:
        metric = record.metric if isinstance(record, RepeatRecord) else ""
        found[record.run, record.study, record.cell, metric] = record
    return list(found.values())
