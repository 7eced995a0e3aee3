"""From the trials of a run to its verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wirebench.plan.model import Plan
from wirebench.stats.analyse_cell import analyse_cell
from wirebench.stats.cell import CellData
from wirebench.stats.memory import memory_tables, with_memory
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.twin import twin_counts, twin_ratio
from wirebench.stats.types import (
    RunAnalysis,
    TrialView,
    TwinRecord,
)
from wirebench.stats.verdict import Twin, noise_band


def analyse(
    trials: Iterable[TrialView],
    plan: Plan | None,
    history: Sequence[TwinRecord] = (),
    *,
    settings: Settings = DEFAULT,
) -> RunAnalysis:
    """Everything that a report says about a run, finished or not.

    ``history``: the twins of earlier runs on the same host. Trials of cells outside the plan are
    ignored. Without a plan nothing was measured and the result is empty.
    """
    if plan is None:
        return RunAnalysis(cells=(), twins=(), memory=(), **twin_counts((), history))
    by_cell: dict[tuple[str, str], list[TrialView]] = {}
    for trial in trials:
        by_cell.setdefault((trial.study, trial.cell), []).append(trial)
    data = [
        CellData.of(cell, by_cell.get((cell.study, cell.cell.id), []), settings)
        for cell in plan.cells
    ]
    earlier = [Twin(study=record.study, ratio=record.ratio) for record in history]
    own = [twin_ratio(cell) for cell in data]
    cells = []
    for index, cell in enumerate(data):
        # The twin itself is judged by a band it did not make; else no twin could ever leave the
        # band.
        others = [twin for place, twin in enumerate(own) if place != index and twin is not None]
        mine = own[index]
        band_for_twin = noise_band(cell.study, [*earlier, *others], settings=settings)
        band = noise_band(
            cell.study, [*earlier, *others, *([] if mine is None else [mine])], settings=settings
        )
        cells.append(analyse_cell(cell, band=band, band_for_twin=band_for_twin, settings=settings))
    twins = tuple(cell.twin for cell in cells if cell.twin is not None)
    memory = memory_tables(data, settings=settings)
    return RunAnalysis(
        cells=with_memory(cells, memory),
        twins=twins,
        memory=memory,
        **twin_counts(twins, history),
    )
