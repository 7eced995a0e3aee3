"""The summary of one entry over its trials. Each trial is summarised first; requests of different
trials are never pooled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from wirebench.catalog.studies import HIGHER_IS_BETTER
from wirebench.stats.types import MetricSummary
from wirebench.stats.validity import number


def mean(values: Sequence[float], *, rate: bool) -> float:
    """The harmonic mean for rates, the arithmetic mean for costs (Hoefler & Belli, SC 2015, rules 3
    and 4); at least one value.

    A rate of 0 makes the harmonic mean 0: the work was never done.
    """
    if not rate:
        return float(np.mean(values))
    if any(value <= 0 for value in values):
        return 0.0
    return len(values) / float(np.sum(1 / np.asarray(values, dtype=np.float64)))


def is_rate(metric: str) -> bool:
    return metric.endswith("_per_s")


def summarise(trials: Sequence[Mapping[str, float | int | None]]) -> dict[str, MetricSummary]:
    """For every metric that any trial knows: the median over trials, the mean of its kind, least
    and greatest.

    A metric that is null, or no finite number, in a trial is missing there, not 0; one that is
    missing in all of them is not in the result.
    """
    found = {}
    for metric in dict.fromkeys(name for metrics in trials for name in metrics):
        values = [value for one in trials if (value := number(one.get(metric))) is not None]
        if values:
            found[metric] = MetricSummary(
                median=float(np.median(values)),
                mean=mean(values, rate=is_rate(metric)),
                least=min(values),
                greatest=max(values),
                trials=len(values),
            )
    return found


def higher_is_better(metric: str) -> bool:
    return metric in HIGHER_IS_BETTER
