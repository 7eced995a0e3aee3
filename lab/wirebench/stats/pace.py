"""How long each contestant took for a message of a ramp, for the estimate of the next run.

``results/paces.jsonl`` keeps it for each ramp of each complete run. Contestants differ by a factor
of ten and more here, which no guess by language knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from wirebench.catalog.loads import Pacing, RampLoad
from wirebench.catalog.model import Workload
from wirebench.plan.estimate import RampPaces
from wirebench.stats.types import TrialView
from wirebench.stats.validity import number
from wirebench.store.kept import append_records, read_records
from wirebench.store.rundir import StoredRun

PACES_FILE = "paces.jsonl"


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
    workload: Workload = "ws.count"
    """The only one of ramps, when runs did not say."""


_RECORD = TypeAdapter(PaceRecord)


def pace_records(run: StoredRun) -> list[PaceRecord]:
    """One record for each contestant in each ramp of the run that answered a message."""
    found = []
    for planned in run.plan.cells if run.plan is not None else ():
        load = planned.cell.load
        if not isinstance(load, RampLoad):
            continue
        seen: dict[str, list[float]] = {}
        for trial in run.trials:
            if (trial.study, trial.cell) == (planned.study, planned.cell.id):
                pace = _message_ns(trial)
                if pace is not None:
                    seen.setdefault(trial.contestant, []).append(pace)
        found += [
            PaceRecord(
                run=run.info.name,
                started_unix_ns=run.info.started_unix_ns,
                host_id=str(run.host.get("host_id", "")),
                study=planned.study,
                cell=planned.cell.id,
                contestant=contestant,
                pacing=load.pacing,
                message_ns=float(np.median(paces)),
                workload=planned.cell.workload,
            )
            for contestant, paces in seen.items()
        ]
    return found


def _message_ns(trial: TrialView) -> float | None:
    elapsed = answered = 0.0
    for one in trial.rounds or ():
        elapsed += number(one.get("elapsed_ns")) or 0
        answered += number(one.get("answered")) or 0
    return elapsed / answered if elapsed > 0 and answered > 0 else None


def remember_paces(results: Path, run: StoredRun) -> None:
    """Append the run's records, unless they are there."""
    path = results / PACES_FILE
    if run.info.name not in {one.run for one in read_records(path, _RECORD)}:
        append_records(path, pace_records(run))


def remembered_paces(results: Path, *, host_id: str) -> RampPaces:
    """This host's latest figure for each contestant, workload and pacing."""
    return latest(
        one for one in read_records(results / PACES_FILE, _RECORD) if one.host_id == host_id
    )


def latest(records: Iterable[PaceRecord]) -> RampPaces:
    newest = sorted(records, key=lambda one: one.started_unix_ns)
    return {(one.contestant, one.workload, one.pacing): one.message_ns for one in newest}
