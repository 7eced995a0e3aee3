"""How long each contestant took to start, to accept its connections, and for a message of a ramp,
for the estimate of the next run.

``results/starts.jsonl`` keeps the first two for each cell of each complete run, and
``results/paces.jsonl`` the last for each ramp. Contestants differ by a factor of ten and more here,
which no guess by language knows: most open a thousand connections in some hundredths of a second,
and some take half a minute for a few thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import TypeAdapter

from wirebench.catalog.loads import (
    ClientLoad,
    EachLoad,
    Pacing,
    RampLoad,
    most_connections,
    over_tls,
)
from wirebench.catalog.model import Workload
from wirebench.plan.estimate import Paces
from wirebench.plan.model import PlannedCell
from wirebench.stats.types import TrialView
from wirebench.stats.validity import number
from wirebench.store.kept import append_records, read_records
from wirebench.store.rundir import StoredRun

PACES_FILE = "paces.jsonl"
STARTS_FILE = "starts.jsonl"


@dataclass(frozen=True, kw_only=True)
class PaceRecord:
    """The median over a cell's trials of the time that the rounds took for each message."""

    run: str
    started_unix_ns: int
    host_id: str
    study: str
    cell: str
    contestant: str
    pacing: Pacing
    message_ns: float
    back_to_back: int | None = None
    """How many messages a connection sent before it waited for a reply. None: an earlier version
    did not say, so that the time tells nothing of another ramp.
    """
    workload: Workload = "ws.count"
    """The only one of ramps, when runs did not say."""


@dataclass(frozen=True, kw_only=True)
class StartRecord:
    """Medians over a cell's trials. None: no trial knows it."""

    run: str
    started_unix_ns: int
    host_id: str
    study: str
    cell: str
    contestant: str
    workload: Workload
    tls: bool
    connections: int
    start_ns: float | None
    """From the start of the process to its first connection."""
    connect_ns: float | None
    """Until all connections were open."""


_PACE = TypeAdapter(PaceRecord)
_START = TypeAdapter(StartRecord)


def pace_records(run: StoredRun) -> list[PaceRecord]:
    """One record for each contestant in each ramp of the run that answered a message."""
    return [
        PaceRecord(
            **_whence(run, planned, contestant),
            pacing=planned.cell.load.pacing,
            message_ns=message_ns,
            back_to_back=planned.cell.load.back_to_back,
            workload=planned.cell.workload,
        )
        for planned in _cells(run)
        if isinstance(planned.cell.load, RampLoad)
        for contestant, trials in _by_contestant(run, planned).items()
        if (message_ns := _median(map(_message_ns, trials))) is not None
    ]


def start_records(run: StoredRun) -> list[StartRecord]:
    """One record for each contestant in each cell of the run that holds connections of a server,
    also of trials that failed: their time passed all the same.
    """
    found = [
        StartRecord(
            **_whence(run, planned, contestant),
            workload=planned.cell.workload,
            tls=over_tls(planned.cell.load),
            connections=most_connections(planned.cell.load),
            start_ns=_median(number(one.metrics.get("ready_ns")) for one in trials),
            connect_ns=_median(number(one.metrics.get("connect_ns")) for one in trials),
        )
        for planned in _cells(run)
        if not isinstance(planned.cell.load, ClientLoad | EachLoad)
        for contestant, trials in _by_contestant(run, planned).items()
    ]
    return [one for one in found if (one.start_ns, one.connect_ns) != (None, None)]


def _cells(run: StoredRun) -> Sequence[PlannedCell]:
    return run.plan.cells if run.plan is not None else ()


def _whence(run: StoredRun, planned: PlannedCell, contestant: str) -> dict[str, Any]:
    return {
        "run": run.info.name,
        "started_unix_ns": run.info.started_unix_ns,
        "host_id": str(run.host.get("host_id", "")),
        "study": planned.study,
        "cell": planned.cell.id,
        "contestant": contestant,
    }


def _by_contestant(run: StoredRun, planned: PlannedCell) -> dict[str, list[TrialView]]:
    found: dict[str, list[TrialView]] = {}
    for trial in run.trials:
        if (trial.study, trial.cell) == (planned.study, planned.cell.id):
            found.setdefault(trial.contestant, []).append(trial)
    return found


def _median(values: Iterable[float | None]) -> float | None:
    found = [one for one in values if one is not None]
    return float(np.median(found)) if found else None


def _message_ns(trial: TrialView) -> float | None:
    elapsed = answered = 0.0
    for one in trial.rounds or ():
        elapsed += number(one.get("elapsed_ns")) or 0
        answered += number(one.get("answered")) or 0
    return elapsed / answered if elapsed > 0 and answered > 0 else None


def remember_paces(results: Path, run: StoredRun) -> None:
    """Append the run's records, unless they are there."""
    if run.info.name not in {one.run for one in read_records(results / PACES_FILE, _PACE)}:
        append_records(results / PACES_FILE, pace_records(run))
    if run.info.name not in {one.run for one in read_records(results / STARTS_FILE, _START)}:
        append_records(results / STARTS_FILE, start_records(run))


def remembered_paces(results: Path, *, host_id: str) -> Paces:
    """This host's latest figure for each contestant, workload and what else the time depends on."""
    starts = _of_host(read_records(results / STARTS_FILE, _START), host_id)
    connects: dict[tuple[str, str, bool], dict[int, float]] = {}
    for one in starts:
        if one.connect_ns is not None and one.connections > 0:
            key = (one.contestant, one.workload, one.tls)
            connects.setdefault(key, {})[one.connections] = one.connect_ns
    messages: dict[tuple[str, str, str], dict[int, float]] = {}
    for pace in _of_host(read_records(results / PACES_FILE, _PACE), host_id):
        if pace.back_to_back is not None:
            ramp = (pace.contestant, pace.workload, pace.pacing)
            messages.setdefault(ramp, {})[pace.back_to_back] = pace.message_ns
    return Paces(
        messages=messages,
        starts={
            (one.contestant, one.workload): one.start_ns
            for one in starts
            if one.start_ns is not None
        },
        connects=connects,
    )


Remembered = TypeVar("Remembered", PaceRecord, StartRecord)


def _of_host(records: Iterable[Remembered], host_id: str) -> list[Remembered]:
    """The oldest first."""
    return sorted(
        (one for one in records if one.host_id == host_id), key=lambda one: one.started_unix_ns
    )
