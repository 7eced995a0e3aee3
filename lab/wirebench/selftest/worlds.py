"""Simulated worlds: the noise of a host's own trials, and what may come on top of it.

A world gives the log figures of entries in blocks when the true figures are all the same, shape
(entries, blocks). A factor common to a block would cancel in every ratio and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wirebench.plan.model import Plan
from wirebench.stats.cell import CellData
from wirebench.stats.settings import DEFAULT
from wirebench.stats.types import TrialView

Floats = NDArray[np.float64]

STANDARD_NOISE = 0.02
"""Standard deviation of the log-ratio of two entries in one block, where no trials are stored."""
SPIKES, SPIKE = 0.05, 0.3
"""This share of the trials loses an exponential amount of this mean (natural logarithm)."""
SLOW, STRAYS = math.log(0.75), 0.05
"""The second speed of the machine, and the share of the trials that do not run at their block's."""
CORRELATION = 0.5
"""Between an entry's successive blocks."""
RUN_EFFECT = 0.02
"""Standard deviation of what an entry keeps for a whole repeat."""
LEAST_RESIDUALS, LEAST_ENTRIES = 6, 4


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the noise comes from. ``residuals`` holds, entry by entry, deviations of block log
    figures from what entry and block explain; none: normal noise of ``STANDARD_NOISE``.
    """

    name: str
    residuals: tuple[Floats, ...] = ()

    @property
    def sd(self) -> float:
        """Of one entry's log figure, as the median over the entries."""
        if not self.residuals:
            return STANDARD_NOISE / math.sqrt(2)
        return float(np.median([np.std(one) for one in self.residuals]))

    def noise(self, random: np.random.Generator, entries: int, blocks: int) -> Floats:
        """Each entry takes after one stored entry, drawn at random, by a smoothed bootstrap
        (Silverman & Young, Biometrika 1987): a few residuals would otherwise give ties that real
        trials do not have. Signs are drawn too, so that the true ratio of two entries is exact
        whatever the skewness.
        """
        if not self.residuals:
            return random.normal(0, STANDARD_NOISE / math.sqrt(2), (entries, blocks))
        drawn = np.empty((entries, blocks))
        for entry in range(entries):
            own = self.residuals[random.integers(len(self.residuals))]
            drawn[entry] = _smoothed(random, own, blocks) * random.choice([-1.0, 1.0], blocks)
        return drawn


def _smoothed(random: np.random.Generator, values: Floats, count: int) -> Floats:
    """A resample with normal jitter of Silverman's bandwidth (1986, p. 48), shrunk to keep the
    variance.
    """
    variance = float(np.mean(values**2))
    low, high = np.quantile(values, [0.25, 0.75])
    spread = min(math.sqrt(variance), float(high - low) / 1.34) or math.sqrt(variance)
    bandwidth = 0.9 * spread * len(values) ** -0.2
    jittered = random.choice(values, count) + bandwidth * random.standard_normal(count)
    return np.asarray(jittered / math.sqrt(1 + bandwidth**2 / variance if variance else 1.0))


STANDARD = Source(name="standard noise")

World = Callable[[np.random.Generator, Source, Sequence[int], Sequence[int]], Floats]
"""Of a generator, a source, the contestant of each entry (its number, from 0) and the repeat of
each block (from 1).
"""


def calm(
    random: np.random.Generator, source: Source, entries: Sequence[int], repeats: Sequence[int]
) -> Floats:
    return source.noise(random, len(entries), len(repeats))


def tails(
    random: np.random.Generator, source: Source, entries: Sequence[int], repeats: Sequence[int]
) -> Floats:
    shape = (len(entries), len(repeats))
    spikes = (random.random(shape) < SPIKES) * random.exponential(SPIKE, shape)
    return calm(random, source, entries, repeats) - spikes


def two_speeds(
    random: np.random.Generator, source: Source, entries: Sequence[int], repeats: Sequence[int]
) -> Floats:
    """Half of the blocks are slow, and a few trials of each are not what their block is."""
    slow = random.random(len(repeats)) < 0.5
    stray = random.random((len(entries), len(repeats))) < STRAYS
    found = calm(random, source, entries, repeats)
    found += SLOW * (slow ^ stray)
    return found


def correlated(
    random: np.random.Generator, source: Source, entries: Sequence[int], repeats: Sequence[int]
) -> Floats:
    """A first-order autoregressive series over the blocks, with the variance of the source."""
    found = calm(random, source, entries, repeats)
    for block in range(1, len(repeats)):
        found[:, block] *= math.sqrt(1 - CORRELATION**2)
        found[:, block] += CORRELATION * found[:, block - 1]
    return found


def run_effect(
    random: np.random.Generator, source: Source, entries: Sequence[int], repeats: Sequence[int]
) -> Floats:
    """A twin's second entry keeps what its contestant does: it is the same program at the same
    place.
    """
    kept = random.normal(0, RUN_EFFECT, (max(entries) + 1, max(repeats)))
    places = np.asarray(repeats) - 1
    found = calm(random, source, entries, repeats)
    found += kept[np.asarray(entries)][:, places]
    return found


WORLDS: dict[str, World] = {
    "calm": calm,
    "tails": tails,
    "two speeds": two_speeds,
    "correlated": correlated,
    "run effect": run_effect,
}
EXPLAINED = {
    "calm": "nothing but the noise above",
    "tails": f"{SPIKES:.0%} of the trials are slower by an exponential amount, {SPIKE:.0%} on"
    " average",
    "two speeds": f"half of the blocks at {math.exp(SLOW):.0%} of the speed, {STRAYS:.0%} of the"
    " trials at the other one",
    "correlated": f"successive blocks of an entry correlate by {CORRELATION}",
    "run effect": f"an entry keeps {RUN_EFFECT:.0%} of its own for a whole repeat",
}


def stored_sources(runs: Iterable[tuple[Plan, Sequence[TrialView]]]) -> tuple[Source, ...]:
    """The noise of stored runs by study and kind of cell, by the cells' primary metrics. Kinds with
    fewer than ``LEAST_ENTRIES`` entries of ``LEAST_RESIDUALS`` blocks are left out.
    """
    found: dict[str, list[Floats]] = {}
    for plan, trials in runs:
        by_cell: dict[tuple[str, str], list[TrialView]] = {}
        for trial in trials:
            by_cell.setdefault((trial.study, trial.cell), []).append(trial)
        for planned in plan.cells:
            data = CellData.of(planned, by_cell.get((planned.study, planned.cell.id), []), DEFAULT)
            found.setdefault(f"{planned.study} {planned.cell.kind}", []).extend(residuals_of(data))
    return tuple(
        Source(name=name, residuals=tuple(entries))
        for name, entries in sorted(found.items())
        if len(entries) >= LEAST_ENTRIES
    )


def residuals_of(data: CellData) -> list[Floats]:
    """The deviations of each entry's log figures from its own median of the repeat and from the
    median of the block (median polish: Tukey 1977), scaled for the degrees of freedom that these
    take. Entries with too few blocks, and blocks that not all of the others have, are left out.
    """
    metric = data.planned.cell.primary
    values = {name: data.values(name, metric) for name in data.valid}
    values = {
        name: own
        for name, own in values.items()
        if len(own) >= LEAST_RESIDUALS and min(own.values()) > 0
    }
    if len(values) < 2:
        return []
    blocks = sorted(set.intersection(*(set(own) for own in values.values())))
    if len(blocks) < LEAST_RESIDUALS:
        return []
    repeat = {trial.block: trial.repeat for own in data.trials.values() for trial in own}
    logs = np.log([[own[block] for block in blocks] for own in values.values()])
    parts = [
        [place for place, block in enumerate(blocks) if repeat[block] == one]
        for one in sorted({repeat[block] for block in blocks})
    ]
    for _ in range(3):
        for part in parts:
            logs[:, part] -= np.median(logs[:, part], axis=1, keepdims=True)
        logs -= np.median(logs, axis=0, keepdims=True)
    rows, columns = logs.shape
    left = (rows - 1) * (columns - len(parts))
    if left <= 0:
        return []
    return list(logs * math.sqrt(rows * columns / left))
