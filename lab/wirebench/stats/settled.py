"""When the intervals of a cell are narrow enough for the stop rule."""

from __future__ import annotations

from collections.abc import Iterable

from wirebench.plan.model import PlannedCell
from wirebench.run.measure import GIVE_UP_AFTER
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
    without an interval, except an entry that more blocks would not help (``_hopeless``).
    """
    data = CellData.of(
        cell,
        [trial for trial in trials if (trial.study, trial.cell) == (cell.study, cell.cell.id)],
        settings,
    )
    if data.floor is None or _hopeless(data, data.floor):
        return True
    for name in data.valid:
        if name == data.floor:
            continue
        ratio = ratio_of(data.log_ratios(name, data.floor, cell.cell.primary), settings=settings)
        if ratio is None or ratio.low is None or ratio.high is None:
            if _hopeless(data, name):
                continue
            return False
        if (
            ratio.high / ratio.estimate > 1 + cell.precision
            or ratio.low / ratio.estimate < 1 - cell.precision
        ):
            return False
    return True


def _hopeless(data: CellData, name: str) -> bool:
    """Whether the entry failed as often as it takes to be given up, or never had a figure."""
    failures = sum(trial.status != "ok" for trial in data.trials[name])
    return failures >= GIVE_UP_AFTER or not data.values(name, data.planned.cell.primary)
