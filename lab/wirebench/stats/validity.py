"""Whether a trial is valid: Little's law, and connections that a server starves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from wirebench.catalog.units import count_of
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import LittleCheck, Starvation, TrialView

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


def void_reason(trial: TrialView, *, settings: Settings = DEFAULT) -> str | None:
    """Why the figures of a measured trial do not count; None if they do."""
    if breaks_little(trial, settings=settings):
        return "its figures contradict Little's law"
    void = trial.validity.get("void")
    if not isinstance(void, str):
        return None
    # The trial's record has it with its figures and the advice.
    first = re.split(r"[:,;]", void, maxsplit=1)[0]
    return f"not the load asked for ({first})"


def void_notes(reasons: Mapping[str, Sequence[str]]) -> Iterable[str]:
    """A sentence for each reason why trials do not count. ``reasons``: of each void trial, by whose
    it is.
    """
    for name, own in reasons.items():
        for reason, count in Counter(own).items():
            are = "is" if count == 1 else "are"
            yield f"{count_of(count, 'trial')} of {name} {are} void: {reason}"


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


def _left_unanswered(trial: TrialView) -> Mapping[str, Any]:
    """The generator's account of the requests in flight at the end of the window; empty without."""
    window = (trial.load or {}).get("window")
    left = window.get("unanswered") if isinstance(window, Mapping) else None
    return left if isinstance(left, Mapping) else {}


def silent_connections(trials: Sequence[TrialView]) -> int | None:
    """The most connections in any trial that had no answer in the whole window; None where no trial
    counted them.
    """
    found = [
        count
        for trial in trials
        if (count := number(_left_unanswered(trial).get("silent_connections"))) is not None
    ]
    return int(max(found)) if found else None


def faults(trials: Sequence[TrialView]) -> dict[str, int]:
    """The most connections that were never open, and the most errors besides, in any trial. Empty
    where no trial counted them.
    """
    found = [one for trial in trials if (one := _faults_of(trial)) is not None]
    if not found:
        return {}
    return {
        "connect_failed": max(refused for refused, _ in found),
        "errors": max(errors for _, errors in found),
    }


def _faults_of(trial: TrialView) -> tuple[int, int] | None:
    """The generator's counts of errors are of the connect phase, too."""
    load = trial.load or {}
    connect, errors = load.get("connect"), load.get("errors")
    if not isinstance(connect, Mapping) or not isinstance(errors, Mapping):
        return None
    refused = number(connect.get("failed"))
    if refused is None:
        return None
    total = sum(number(count) or 0.0 for count in errors.values())
    return int(refused), int(max(0.0, total - refused))


def _starvation_of(trial: TrialView) -> Starvation | None:
    left, plan = _left_unanswered(trial), (trial.load or {}).get("plan")
    if not isinstance(plan, Mapping):
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
