"""Whether a trial may be believed: Little's law, the generator's headroom, what the host did meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from wirebench.catalog.model import Role
from wirebench.catalog.studies import Cell, EachLoad
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.summary import is_rate
from wirebench.stats.types import DroppedBlock, GeneratorBound, LittleCheck, TrialView


def number(value: object) -> float | None:
    """A finite number of a record, else None. Booleans are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        return None
    return float(value)


def little_tolerance(trial: TrialView, *, settings: Settings = DEFAULT) -> float:
    """How far from 1 the ratio X R / N of a right measurement may be: 5%, or R / T where that is more.

    The law is exact only for a window that begins and ends empty (Little & Graves 2008). In a window of length T each
    connection completes T / R requests rounded down or up, so the ratio of a perfect measurement is off by up to R / T: a
    server that takes 100 ms for a reply cannot be held to 5% by a window of half a second.
    """
    load = trial.load or {}
    window = load.get("window")
    elapsed = number(window.get("elapsed_ns")) if isinstance(window, Mapping) else None
    mean = number(trial.metrics.get("mean_ns"))
    if elapsed is None or mean is None or elapsed <= 0:
        return settings.little_tolerance
    return max(settings.little_tolerance, mean / elapsed)


def breaks_little(trial: TrialView, *, settings: Settings = DEFAULT) -> bool:
    """X R / N too far from 1: throughput, latency and connections of the window contradict one another, so one is wrong."""
    ratio = number(trial.validity.get("little_ratio"))
    return ratio is not None and abs(ratio - 1) > little_tolerance(trial, settings=settings)


def little_check(trials: Sequence[TrialView], *, settings: Settings = DEFAULT) -> LittleCheck:
    """Over the measured trials of one entry. None where no trial has the ratio (only a closed loop has)."""
    ratios = [ratio for trial in trials if (ratio := number(trial.validity.get("little_ratio"))) is not None]
    if not ratios:
        return LittleCheck(median=None, worst=None, voided=0)
    return LittleCheck(
        median=float(np.median(ratios)),
        worst=max(ratios, key=lambda ratio: abs(ratio - 1)),
        voided=sum(1 for trial in trials if breaks_little(trial, settings=settings)),
    )


def dropped_blocks(trials: Sequence[TrialView], *, settings: Settings = DEFAULT) -> tuple[DroppedBlock, ...]:
    """Blocks of one cell in which the hypervisor took too much from any trial, whatever that trial's figures say.

    The limit is set beforehand (``Settings.steal_share``); the block goes as a whole, so that no entry loses only its bad ones.
    """
    worst: dict[int, tuple[float, str]] = {}
    for trial in trials:
        steal = number(trial.covariates.get("steal_ns"))
        if steal is None or trial.elapsed_ns <= 0:
            continue
        share = steal / trial.elapsed_ns
        if share > settings.steal_share and share > worst.get(trial.block, (0.0, ""))[0]:
            worst[trial.block] = (share, trial.entry)
    return tuple(
        DroppedBlock(
            block=block,
            reason=f"the hypervisor took {share:.0%} of a core during {entry} (limit {settings.steal_share:.0%})",
        )
        for block, (share, entry) in sorted(worst.items())
    )


def speed(trial: TrialView, metric: str) -> float | None:
    """Work per time by the cell's primary metric: a rate itself, the inverse of a time."""
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
    """Whether the generator, not the entry, may have set the figure. Both mappings are valid trials by block.

    Beyond 70% of the floor's throughput in the same blocks (median), nobody knows how much faster the entry could be: the
    floor shows what the generator can drive. In a cell that measures time, a generator busier than 80% adds its own
    queue. A client study has no generator: the client is what is measured. A cell with a processing delay is held back by that
    delay, and its floor's speed says nothing about the generator's.
    """
    cpus = [cpu for trial in trials.values() if (cpu := number(trial.validity.get("generator_cpu_share"))) is not None]
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
        if throughput and not delayed and not is_floor and share is not None and share > settings.bound_share:
            reason = f"reaches {share:.0%} of the floor's speed (limit {settings.bound_share:.0%})"
        elif not is_rate(cell.primary) and cpu is not None and cpu > settings.bound_cpu:
            reason = f"the generator used {cpu:.0%} of its core (limit {settings.bound_cpu:.0%})"
    return GeneratorBound(bound=reason is not None, share_of_floor=share, generator_cpu=cpu, reason=reason)
