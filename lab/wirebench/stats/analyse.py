"""From the trials of a run to its verdicts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache, partial

from wirebench.plan.model import Plan
from wirebench.stats.analyse_cell import analyse_cell, judged_metrics
from wirebench.stats.cell import CellData
from wirebench.stats.comparisons import Comparisons
from wirebench.stats.entry import sound_entries, warm_ups_of
from wirebench.stats.memory import memory_tables, with_memory
from wirebench.stats.noise import earlier_twins, noise_band, noise_kind, usable_presets
from wirebench.stats.run_effect import host_effect
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.twin import Measured, twin_counts, twin_noise
from wirebench.stats.types import (
    HistoryRecord,
    NoiseBand,
    RepeatRecord,
    RunAnalysis,
    TrialView,
    TwinNoise,
    TwinRecord,
)


def analyse(
    trials: Iterable[TrialView],
    plan: Plan | None,
    history: Sequence[HistoryRecord] = (),
    *,
    settings: Settings = DEFAULT,
) -> RunAnalysis:
    """Everything that a report says about a run, finished or not.

    ``history``: what earlier runs on the same host recorded of twins and repeats. Trials of cells
    outside the plan are ignored. Without a plan nothing was measured and the result is empty.
    """
    twins = [record for record in history if isinstance(record, TwinRecord)]
    repeats = [record for record in history if isinstance(record, RepeatRecord)]
    if plan is None:
        return RunAnalysis(cells=(), twins=(), memory=(), **twin_counts((), twins))
    by_cell: dict[tuple[str, str], list[TrialView]] = {}
    for trial in trials:
        by_cell.setdefault((trial.study, trial.cell), []).append(trial)
    data = [
        CellData.of(cell, by_cell.get((cell.study, cell.cell.id), []), settings)
        for cell in plan.cells
    ]
    warm_ups = [warm_ups_of(cell, settings) for cell in data]
    compared = [
        _measured(cell, sound_entries(cell, known), repeats, settings)
        for cell, known in zip(data, warm_ups, strict=True)
    ]
    bands = _Bands(plan, data, compared, twins, settings)
    cells = tuple(
        analyse_cell(
            cell,
            warm_ups=warm_ups[place],
            comparisons=compared[place],
            band=partial(bands.of, place),
            # The twin is judged by a band it did not make; else no twin could ever leave the band.
            band_for_twin=bands.of(place, cell.planned.cell.primary, own=False),
            twin_noise=bands.own[place],
            settings=settings,
        )
        for place, cell in enumerate(data)
    )
    found = tuple(cell.twin for cell in cells if cell.twin is not None)
    memory = memory_tables(data, settings=settings)
    return RunAnalysis(
        cells=with_memory(cells, memory),
        twins=found,
        memory=memory,
        **twin_counts(found, twins),
    )


def _measured(
    data: CellData, sound: Collection[str], repeats: Sequence[RepeatRecord], settings: Settings
) -> Measured:
    """The comparisons of the cell by metric, each made once."""

    kind = noise_kind(data.planned.cell)

    @cache
    def comparisons(metric: str) -> Comparisons:
        host = host_effect(repeats, study=data.study, kind=kind, metric=metric)
        return Comparisons(data, metric, sound=sound, host=host, settings=settings)

    return comparisons


class _Bands:
    """The noise band of each cell and metric: from the twins of this run and of earlier ones."""

    def __init__(
        self,
        plan: Plan,
        data: Sequence[CellData],
        compared: Sequence[Measured],
        earlier: Sequence[TwinRecord],
        settings: Settings,
    ) -> None:
        self._data, self._earlier, self._settings = data, earlier, settings
        self._presets = {study.name: study.preset for study in plan.studies}
        self.own: list[dict[str, TwinNoise]] = [
            {
                metric: noise
                for metric in judged_metrics(cell)
                if (noise := twin_noise(cell, metric, by(metric))) is not None
            }
            for cell, by in zip(data, compared, strict=True)
        ]

    def of(self, place: int, metric: str, *, own: bool = True) -> NoiseBand:
        """The band of the cell at ``place``; with ``own`` its own twin is among those it rests
        on.
        """
        study, kind = self._data[place].study, noise_kind(self._data[place].planned.cell)
        here = [
            noise[metric]
            for other, (cell, noise) in enumerate(zip(self._data, self.own, strict=True))
            if (cell.study, noise_kind(cell.planned.cell)) == (study, kind)
            and metric in noise
            and (own or other != place)
        ]
        before = earlier_twins(
            self._earlier,
            study=study,
            kind=kind,
            metric=metric,
            presets=usable_presets(self._presets.get(study, ""), settings=self._settings),
        )
        return noise_band([*before, *here], of=f"{study} ({kind})", settings=self._settings)
