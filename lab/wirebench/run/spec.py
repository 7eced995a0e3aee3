"""From the plan to the specification of one trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wirebench.catalog.loads import OpenLoad
from wirebench.catalog.model import Contestant
from wirebench.plan.blocks import PlannedTrial
from wirebench.plan.model import PlannedCell
from wirebench.run.bench import threads_of
from wirebench.trial.record import FailureRecord
from wirebench.trial.types import TrialSpec

Capacity = Callable[[str, str], float | None]
"""The throughput (a second) of a contestant in a cell (``study.cell``), by the trials so far; None
before it has any.
"""


def spec_of(
    trial: PlannedTrial,
    cell: PlannedCell,
    *,
    everybody: Mapping[str, Contestant],
    hardware_threads: int,
    seed: int,
    capacity: Capacity,
) -> TrialSpec | FailureRecord:
    """What a bench is asked to do for the trial, or why it cannot take place.

    ``everybody``: the contestants that are installed and built, by name. ``seed``: the run's.
    """
    for name in (trial.entry.contestant, *([cell.server] if cell.server is not None else [])):
        if name not in everybody:
            return FailureRecord(
                kind="not_installed",
                phase="plan",
                message=f"{name} is no longer installed or built",
            )
    load = cell.cell.load
    if isinstance(load, OpenLoad) and load.of is not None:
        most = capacity(f"{cell.study}.{load.of}", trial.entry.contestant)
        if most is None:
            return _without_capacity(trial, load.of)
        load = load.at_capacity(most)
    return TrialSpec(
        trial=trial.id,
        study=trial.study,
        cell=trial.cell,
        block=trial.block,
        position=trial.position,
        repeat=cell.repeat(trial.block),
        entry=trial.entry.name,
        twin_of=trial.entry.twin_of,
        contestant=everybody[trial.entry.contestant],
        role=cell.role,
        workload=cell.cell.workload,
        load=load,
        server=everybody[cell.server] if cell.server is not None else None,
        threads=threads_of(cell.cell, hardware_threads=hardware_threads),
        processes=cell.processes_of(trial.entry.contestant),
        environment_bytes=trial.environment_bytes,
        port_seed=trial.port_seed,
        load_seed=trial.load_seed,
        seed=seed,
    )


def _without_capacity(trial: PlannedTrial, cell: str) -> FailureRecord:
    return FailureRecord(
        kind="capacity_unknown",
        phase="plan",
        message=(
            f"not run: the rate is a share of what {trial.entry.contestant} does in {cell}, and"
            " no trial of it there was right"
        ),
    )
