"""When the intervals of a cell are narrow enough for the stop rule."""

from __future__ import annotations

from collections.abc import Iterable

from wirebench.plan.model import PlannedCell
from wirebench.stats.cell import CellData
from wirebench.stats.ratio import ratio_of
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import (
    TrialView,
)


def settled(
    trials: Iterable[TrialView], cell: PlannedCell, *, settings: Settings = DEFAULT
) -> bool:
    """Whether every entry's ratio to the floor is known within 1 +/- ``cell.precision``, which the
    stop rule asks.

    Only widths count, not which entry leads (Kalibera & Jones, ISMM 2013). Nothing is settled
    without an interval, except an entry that keeps failing: more blocks would not help it.
    """
    data = CellData.of(
        cell,
        [trial for trial in trials if (trial.study, trial.cell) == (cell.study, cell.cell.id)],
        settings,
    )
    if data.floor is None:
        return True
    for name in data.valid:
        if name == data.floor:
            continue
        ratio = ratio_of(data.log_ratios(name, data.floor, cell.cell.primary), settings=settings)
        if ratio is None or ratio.low is None or ratio.high is None:
            if any(trial.status != "ok" for trial in data.trials[name]):
                continue
            return False
        if (
            ratio.high / ratio.estimate > 1 + cell.precision
            or ratio.low / ratio.estimate < 1 - cell.precision
        ):
            return False
    return True
