"""The twins: A/A ratios, which show the noise of this host, and the verdict on each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from wirebench.stats.cell import CellData
from wirebench.stats.comparisons import Comparisons
from wirebench.stats.summary import higher_is_better
from wirebench.stats.types import NoiseBand, TwinNoise, TwinRecord, TwinVerdict

Measured = Callable[[str], Comparisons]
"""The comparisons of a cell by one metric."""


def twin_noise(data: CellData, metric: str, comparisons: Comparisons) -> TwinNoise | None:
    """The twin's log-ratio with its standard error; None without a twin or with too few blocks."""
    if data.twin_pair is None:
        return None
    spread = comparisons.spread(*data.twin_pair)
    if spread is None:
        return None
    return TwinNoise(
        log_ratio=spread.mean,
        standard_error=math.sqrt(spread.variance),
        degrees=spread.degrees,
    )


def twin_counts(twins: Sequence[TwinVerdict], history: Sequence[TwinRecord]) -> dict[str, int]:
    judged = [twin for twin in twins if twin.ratio is not None and twin.ratio.low is not None]
    return {
        "false_alarms": sum(twin.false_alarm for twin in judged)
        + sum(record.false_alarm for record in history),
        "twin_trials": len(judged) + len(history),
    }


def twin_verdict(
    data: CellData, comparisons: Measured, noise: Mapping[str, TwinNoise], band: NoiseBand
) -> TwinVerdict | None:
    if data.twin_pair is None:
        return None
    metric = data.planned.cell.primary
    by = comparisons(metric)
    return TwinVerdict(
        study=data.study,
        cell=data.planned.cell.id,
        contestant=data.twin_pair[1],
        ratio=by.ratio(*data.twin_pair),
        verdict=by.verdict(*data.twin_pair, d=band.d, higher_is_better=higher_is_better(metric)),
        band=band.d,
        noise=noise,
    )
