"""Whether a trial is valid: Little's law, the generator's headroom, and interference
from the host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from wirebench.catalog.model import Role
from wirebench.catalog.studies import Cell, EachLoad
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.summary import is_rate
from wirebench.stats.types import GeneratorBound, LittleCheck, Starvation, TrialView

_STARVED = 4
"""A request counts as starved when it has waited this many times the median answer. Our own choice.
"""


def number(value: object) -> float | None:
    """A finite number of a record, else None. Booleans do not count."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        return None
    return float(value)


def breaks_little(trial: TrialView, *, settings: Settings = DEFAULT) -> bool:
    """Whether X R / N is too far from 1: throughput, latency and connections of the window
    contradict one another, so one is wrong.

    The generator's ratio is exact at the edges of the window: time in flight outside it is left
    out, and requests unanswered at its end count with their age. Neither slow replies in a short
    window nor a server that starves connections can move it. Only wrong bookkeeping does, and, in a
    short window, the few moments at which the number in flight was sampled (see
    ``_sampling_error``).
    """
    ratio = number(trial.validity.get("little_ratio"))
    return ratio is not None and abs(ratio - 1) > max(
        settings.little_tolerance, 2 * _sampling_error(trial)
    )


def _sampling_error(trial: TrialView) -> float:
    """An upper bound on the relative standard error of the mean number in flight, from n samples
    between 0 and m.

    Its variance cannot exceed mean (m - mean) (Bhatia & Davis 2000). 0 where the record lacks the
    samples.
    """
    load = trial.load or {}
    little, plan = load.get("little"), load.get("plan")
    if not isinstance(little, Mapping) or not isinstance(plan, Mapping):
        return 0.0
    mean, samples = number(little.get("in_flight_mean")), number(little.get("samples"))
    connections, in_flight = number(plan.get("connections")), number(plan.get("in_flight"))
    if not mean or not samples or connections is None or in_flight is None:
        return 0.0
    return float(np.sqrt(max(0.0, connections * in_flight - mean) / (mean * samples)))


def _starvation_of(trial: TrialView) -> Starvation | None:
    load = trial.load or {}
    window, plan = load.get("window"), load.get("plan")
    left = window.get("unanswered") if isinstance(window, Mapping) else None
    if not isinstance(left, Mapping) or not isinstance(plan, Mapping):
        return None
    requests, oldest = number(left.get("starved")), number(left.get("oldest_ns"))
    connections, in_flight = number(plan.get("connections")), number(plan.get("in_flight"))
    usual = number(trial.metrics.get("p50_ns"))
    if not requests or oldest is None or connections is None or in_flight is None or usual is None:
        return None
    if oldest <= usual * _STARVED:
        return None  # all are slow, none is starved
    return Starvation(
        requests=int(requests), of=int(connections * in_flight), oldest_ns=int(oldest)
    )


def starvation(trials: Sequence[TrialView]) -> Starvation | None:
    """The trial with the most starved requests. Their latencies are missing, so the percentiles
    flatter such a server.
    """
    found = [one for trial in trials if (one := _starvation_of(trial)) is not None]
    return max(found, key=lambda one: (one.requests, one.oldest_ns), default=None)


def little_check(trials: Sequence[TrialView], *, settings: Settings = DEFAULT) -> LittleCheck:
    """Little's law over the measured trials of one entry. None where no trial has the ratio (only
    closed loops have).
    """
    ratios = [
        ratio
        for trial in trials
        if (ratio := number(trial.validity.get("little_ratio"))) is not None
    ]
    if not ratios:
        return LittleCheck(median=None, worst=None, voided=0)
    return LittleCheck(
        median=float(np.median(ratios)),
        worst=max(ratios, key=lambda ratio: abs(ratio - 1)),
        voided=sum(1 for trial in trials if breaks_little(trial, settings=settings)),
    )


def speed(trial: TrialView, metric: str) -> float | None:
    """Speed by the cell's primary metric: a rate itself, the inverse of a time."""
    value = number(trial.metrics.get(metric))
    if value is None or value <= 0:
        return None
    return value if is_rate(metric) else 1 / value


def generator_bound(
    trials: Mapping[int, TrialView],
    floor: Mapping[int, TrialView],
    *,
    cell: Cell,
    role: Role,
    is_floor: bool,
    settings: Settings = DEFAULT,
) -> GeneratorBound:
    """Whether the generator, not the entry, may have limited the figure. Both mappings are valid
    trials by block.

    The floor shows how much load the generator can drive. Beyond 70% of its throughput in the same
    blocks (median), the entry's own limit is unknown. In a cell that measures time, a generator
    busier than 80% adds its own queue. A client study has no generator. A cell with a processing
    delay is limited by that delay, so its floor says nothing about the generator.
    """
    cpus = [
        cpu
        for trial in trials.values()
        if (cpu := number(trial.validity.get("generator_cpu_share"))) is not None
    ]
    cpu = float(np.median(cpus)) if cpus else None
    shares = []
    for block in trials.keys() & floor.keys():
        own, best = speed(trials[block], cell.primary), speed(floor[block], cell.primary)
        if own is not None and best is not None:
            shares.append(own / best)
    share = float(np.median(shares)) if shares else None
    reason = None
    delayed = isinstance(cell.load, EachLoad) and cell.load.delay_ms > 0
    throughput = is_rate(cell.primary) or cell.primary == "makespan_ns"
    if role == "server":
        if (
            throughput
            and not delayed
            and not is_floor
            and share is not None
            and share > settings.bound_share
        ):
            reason = f"reaches {share:.0%} of the floor's speed (limit {settings.bound_share:.0%})"
        elif not is_rate(cell.primary) and cpu is not None and cpu > settings.bound_cpu:
            reason = f"the generator used {cpu:.0%} of its core (limit {settings.bound_cpu:.0%})"
    return GeneratorBound(
        bound=reason is not None, share_of_floor=share, generator_cpu=cpu, reason=reason
    )
