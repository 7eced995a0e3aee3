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

    Only widths count, not which entry leads (Kalibera & Jones, ISMM 2013). An entry that never
    succeeded, or has too few blocks because it keeps failing, does not hold up the cell: more
    blocks would not help it.
    """
    data = CellData.of(
        cell,
        [trial for trial in trials if (trial.study, trial.cell) == (cell.study, cell.cell.id)],
        settings,
    )
    if data.floor is None:
        return True
    for name in data.valid:
        ratio = ratio_of(data.log_ratios(name, data.floor, cell.cell.primary), settings=settings)
        if name == data.floor or ratio is None or ratio.low is None or ratio.high is None:
            continue
        if (
            ratio.high / ratio.estimate > 1 + cell.precision
            or ratio.low / ratio.estimate < 1 - cell.precision
        ):
            return False
    return True
