"""The standing of each entry of a cell by one metric: pairs, ranks and ratios to the floor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from wirebench.stats.bottleneck import bound_of, is_ahead, within_bounds
from wirebench.stats.cell import CellData
from wirebench.stats.comparisons import Comparisons
from wirebench.stats.ranks import Place
from wirebench.stats.ratio import median
from wirebench.stats.settings import Settings
from wirebench.stats.summary import higher_is_better
from wirebench.stats.types import (
    Pair,
    Ratio,
    Standing,
    Verdict,
)
from wirebench.stats.verdict import holm, log_edges


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
    comparisons: Comparisons,
    names: Sequence[str],
    metric: str,
    d: float,
    limited_entries: Collection[str],
    settings: Settings,
) -> tuple[Pair, ...]:
    """Every pair of the ranked entries in both directions, which say the same, with Holm's
    correction over the pairs (each counted once).
    """
    couples = list(combinations(names, 2))
    edges = log_edges(d)
    adjusted = holm([comparisons.p_value(a, b, edges) for a, b in couples])
    better = higher_is_better(metric)
    found = []
    for (a, b), p in zip(couples, adjusted, strict=True):
        judged = comparisons.verdict(
            a,
            b,
            d=d,
            higher_is_better=better,
            adjusted_p=p,
            pairs=len(couples),
        )
        for one, other in ((a, b), (b, a)):
            limited, other_limited = one in limited_entries, other in limited_entries
            ratio = comparisons.ratio(one, other)
            enough = ratio is not None and ratio.blocks >= settings.min_blocks
            found.append(
                Pair(
                    a=one,
                    b=other,
                    ratio=ratio,
                    p=p if enough else None,
                    verdict=within_bounds(
                        judged if one == a else _mirrored(judged),
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


def _mirrored(verdict: Verdict) -> Verdict:
    """Of B against A instead of A against B."""
    if verdict.kind == "faster":
        return replace(verdict, kind="slower")
    return replace(verdict, kind="faster") if verdict.kind == "slower" else verdict


def beats(pairs: Iterable[Pair]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in pairs:
        if pair.verdict.kind == "faster":
            found.setdefault(pair.a, set()).add(pair.b)
    return {name: frozenset(others) for name, others in found.items()}


def ratios_to_floor(
    data: CellData, comparisons: Comparisons, metric: str, d: float
) -> dict[str, tuple[Ratio | None, Verdict | None]]:
    """Every other entry's ratio to the floor, Holm-corrected over these comparisons."""
    floor = data.floor
    if floor is None:
        return {}
    names = [name for name in data.trials if name != floor and data.values(name, metric)]
    edges = log_edges(d)
    adjusted = holm([comparisons.p_value(name, floor, edges) for name in names])
    return {
        name: (
            comparisons.ratio(name, floor),
            comparisons.verdict(
                name,
                floor,
                d=d,
                higher_is_better=higher_is_better(metric),
                adjusted_p=p,
                pairs=len(names),
            ),
        )
        for name, p in zip(names, adjusted, strict=True)
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
        beaten_by=place.beaten_by,
    )
