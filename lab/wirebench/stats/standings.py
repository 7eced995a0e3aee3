"""The standing of each entry of a cell by one metric: pairs, ranks and ratios to the floor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from wirebench.stats.bottleneck import bound_of, is_ahead, within_bounds
from wirebench.stats.cell import CellData
from wirebench.stats.moderated import table_p_values
from wirebench.stats.ranks import Place
from wirebench.stats.ratio import median, ratio_of
from wirebench.stats.settings import Settings
from wirebench.stats.summary import higher_is_better
from wirebench.stats.types import (
    Pair,
    Ratio,
    Standing,
    Verdict,
)
from wirebench.stats.verdict import holm, judge, log_edges


def order_of(data: CellData, names: Sequence[str], metric: str) -> list[str]:
    """The entries, best first: by the block ratios to the floor where there are some, else by the
    median over trials.
    """
    sign = -1 if higher_is_better(metric) else 1
    by_floor: dict[str, float] = {}
    for name in names:
        if data.floor is not None:
            logs = data.log_ratios(name, data.floor, metric)
            if len(logs):
                by_floor[name] = median(logs)
    if len(by_floor) == len(names):
        return sorted(names, key=lambda name: sign * by_floor[name])
    medians = {
        name: float(np.median(list(data.values(name, metric).values()) or [np.nan]))
        for name in names
    }
    return sorted(names, key=lambda name: sign * medians[name])


def pairs_of(
    data: CellData,
    names: Sequence[str],
    metric: str,
    d: float,
    generator_bound: set[str],
    settings: Settings,
) -> tuple[Pair, ...]:
    """Every pair of the ranked entries in both directions, with Holm's correction over the pairs
    (each counted once).
    """
    couples = list(combinations(names, 2))
    logs = [data.log_ratios(a, b, metric) for a, b in couples]
    raw = table_p_values(logs, [log_edges(d)] * len(logs), entries=len(names), settings=settings)
    found = []
    for (a, b), values, p in zip(couples, logs, holm(raw), strict=True):
        for one, other, oriented in ((a, b, values), (b, a, -values)):
            limited, other_limited = one in generator_bound, other in generator_bound
            verdict = judge(
                oriented,
                d=d,
                higher_is_better=higher_is_better(metric),
                adjusted_p=p,
                pairs=len(couples),
                settings=settings,
            )
            ratio = ratio_of(oriented, settings=settings)
            better = higher_is_better(metric)
            found.append(
                Pair(
                    a=one,
                    b=other,
                    ratio=ratio,
                    p=p if len(values) >= settings.min_blocks else None,
                    verdict=within_bounds(
                        verdict,
                        limited=limited,
                        other_limited=other_limited,
                        ahead=is_ahead(ratio, higher_is_better=better),
                    ),
                    bound=bound_of(
                        limited=limited, other_limited=other_limited, higher_is_better=better
                    ),
                )
            )
    return tuple(found)


def beats(pairs: Iterable[Pair]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in pairs:
        if pair.verdict.kind == "faster":
            found.setdefault(pair.a, set()).add(pair.b)
    return {name: frozenset(others) for name, others in found.items()}


def ratios_to_floor(
    data: CellData, metric: str, d: float, settings: Settings
) -> dict[str, tuple[Ratio | None, Verdict | None]]:
    """Every other entry's ratio to the floor, Holm-corrected over these comparisons."""
    if data.floor is None:
        return {}
    names = [name for name in data.trials if name != data.floor and data.values(name, metric)]
    logs = [data.log_ratios(name, data.floor, metric) for name in names]
    raw = table_p_values(
        logs, [log_edges(d)] * len(logs), entries=len(names) + 1, settings=settings
    )
    return {
        name: (
            ratio_of(values, settings=settings),
            judge(
                values,
                d=d,
                higher_is_better=higher_is_better(metric),
                adjusted_p=p,
                pairs=len(names),
                settings=settings,
            ),
        )
        for name, values, p in zip(names, logs, holm(raw), strict=True)
    }


def standing_of(place: Place | None, ratio: Ratio | None, verdict: Verdict | None) -> Standing:
    if place is None:
        return Standing(
            ratio=ratio,
            verdict=verdict,
            group=None,
            tied=False,
            rank_low=None,
            rank_high=None,
            mark=None,
        )
    return Standing(
        ratio=ratio,
        verdict=verdict,
        group=place.group,
        tied=place.tied,
        rank_low=place.rank_low,
        rank_high=place.rank_high,
        mark=place.mark,
    )
