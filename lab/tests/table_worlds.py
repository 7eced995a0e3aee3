"""Tables of simulated entries: their worlds, and the verdict of every pair as a table has it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from wirebench.stats.comparisons import widened_interval
from wirebench.stats.ratio import Interval, median
from wirebench.stats.sample import Numbers, Sample
from wirebench.stats.spread import TableSpread, table_spread
from wirebench.stats.verdict import holm, judge, log_edges

Array = NDArray[np.float64]
D = 0.03


def calm(random: np.random.Generator, entries: int, blocks: int) -> Array:
    """Normal noise, 2% between two entries."""
    return random.normal(0, 0.02 / math.sqrt(2), (entries, blocks))


def tails(random: np.random.Generator, entries: int, blocks: int) -> Array:
    """One trial in twenty loses 30% and more."""
    spikes = (random.random((entries, blocks)) < 0.05) * random.exponential(0.3, (entries, blocks))
    return calm(random, entries, blocks) - spikes


def phases(random: np.random.Generator, entries: int, blocks: int) -> Array:
    """The machine has two speeds, and one trial in twenty falls into the other one."""
    slow = math.log(0.75)
    speeds = calm(random, entries, blocks)
    speeds += slow * (random.random(blocks) < 0.5)
    speeds += slow * (random.random((entries, blocks)) < 0.05) * random.choice([-1, 1])
    return speeds


def drifting(random: np.random.Generator, entries: int, blocks: int) -> Array:
    """As ``calm``, but each block is correlated with the one before: 0.6."""
    fresh = calm(random, entries, blocks)
    speeds = fresh.copy()
    for block in range(1, blocks):
        speeds[:, block] = 0.6 * speeds[:, block - 1] + 0.8 * fresh[:, block]
    return speeds


World = Callable[[np.random.Generator, int, int], Array]


def run_effect(
    random: np.random.Generator, entries: int, repeats: Sequence[int] | Numbers
) -> Array:
    """What each entry differs by from repeat to repeat, 2%; shape (entries, blocks)."""
    numbers = np.asarray(repeats)
    effects: Array = random.normal(0, 0.02, (entries, int(numbers.max()) + 1))
    return effects[:, numbers]


def table_p_values(
    logs: Sequence[Array], edges: Sequence[tuple[float, float]], *, entries: int
) -> list[float]:
    """The p-value of each comparison of a table whose blocks are all of one repeat."""
    samples = [Sample.of(values) for values in logs]
    spreads = table_spread(samples, entries=entries).spreads
    return [
        1.0 if spread is None else spread.p_beyond(median(one.values), edge)
        for one, spread, edge in zip(samples, spreads, edges, strict=True)
    ]


def judged(
    speeds: Array, repeats: Sequence[int] | Numbers | None = None
) -> tuple[dict[tuple[int, int], str], dict[tuple[int, int], Interval], TableSpread]:
    """Verdict and interval of every pair of a table of logarithms, shape (entries, blocks)."""
    pairs = list(combinations(range(len(speeds)), 2))
    samples = [Sample.of(speeds[a] - speeds[b], repeats) for a, b in pairs]
    table = table_spread(samples, entries=len(speeds))
    spreads = [spread for spread in table.spreads if spread is not None]
    adjusted = holm(
        [
            spread.p_beyond(median(one.values), log_edges(D))
            for one, spread in zip(samples, spreads, strict=True)
        ]
    )
    intervals = [
        widened_interval(one, spread) for one, spread in zip(samples, spreads, strict=True)
    ]
    verdicts = [
        judge(
            one.values,
            d=D,
            higher_is_better=True,
            adjusted_p=p,
            pairs=len(pairs),
            interval=interval,
        ).kind
        for one, p, interval in zip(samples, adjusted, intervals, strict=True)
    ]
    return (
        dict(zip(pairs, verdicts, strict=True)),
        dict(zip(pairs, intervals, strict=True)),
        table,
    )


def claims(
    speeds: Array, repeats: Sequence[int] | Numbers | None = None
) -> dict[tuple[int, int], str]:
    """The verdict of every pair, as a table has it."""
    return judged(speeds, repeats)[0]
