"""The twins: A/A ratios, which show the noise of this host, and the verdict on each."""

from __future__ import annotations

from collections.abc import Sequence

from wirebench.stats.cell import CellData
from wirebench.stats.ratio import ratio_of
from wirebench.stats.settings import Settings
from wirebench.stats.summary import higher_is_better
from wirebench.stats.types import (
    NoiseBand,
    TwinRecord,
    TwinVerdict,
)
from wirebench.stats.verdict import Twin, judge


def twin_ratio(cell: CellData) -> Twin | None:
    """The cell's A/A ratio, if it has enough blocks to be one."""
    if cell.twin_pair is None:
        return None
    ratio = ratio_of(cell.log_ratios(*cell.twin_pair, cell.planned.cell.primary))
    if ratio is None or ratio.low is None:
        return None
    return Twin(study=cell.study, ratio=ratio.estimate)


def twin_counts(twins: Sequence[TwinVerdict], history: Sequence[TwinRecord]) -> dict[str, int]:
    judged = [twin for twin in twins if twin.ratio is not None and twin.ratio.low is not None]
    return {
        "false_alarms": sum(twin.false_alarm for twin in judged)
        + sum(record.false_alarm for record in history),
        "twin_trials": len(judged) + len(history),
    }


def twin_verdict(data: CellData, band: NoiseBand, settings: Settings) -> TwinVerdict | None:
    if data.twin_pair is None:
        return None
    metric = data.planned.cell.primary
    logs = data.log_ratios(*data.twin_pair, metric)
    return TwinVerdict(
        study=data.study,
        cell=data.planned.cell.id,
        contestant=data.twin_pair[1],
        ratio=ratio_of(logs, settings=settings),
        verdict=judge(logs, d=band.d, higher_is_better=higher_is_better(metric), settings=settings),
        band=band.d,
    )
