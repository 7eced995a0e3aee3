"""The capacity of a contestant: what an open loop's share is a share of."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from wirebench.plan.model import PlannedCell
from wirebench.stats.cell import CellData
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import TrialView
from wirebench.stats.validity import number


def capacity(
    trials: Iterable[TrialView],
    cell: PlannedCell,
    contestant: str,
    *,
    settings: Settings = DEFAULT,
) -> float | None:
    """The median throughput (a second) of the contestant's valid trials in this closed cell, the
    twin's second entry among them. Where it is bound by the generator, it is a lower bound.

    With no valid trial yet, those of dropped blocks count too: the capacity only chooses the rate
    of a load, and without one the cells that need it would lose a block as well. None if the
    contestant was never measured.
    """
    own = [
        trial
        for trial in trials
        if (trial.study, trial.cell, trial.contestant) == (cell.study, cell.cell.id, contestant)
        and trial.status == "ok"
    ]
    data = CellData.of(cell, own, settings)
    valid = [trial for by_block in data.valid.values() for trial in by_block.values()]
    rates = [
        rate
        for trial in valid or own
        if (rate := number(trial.metrics.get("throughput_per_s"))) is not None and rate > 0
    ]
    return float(np.median(rates)) if rates else None
