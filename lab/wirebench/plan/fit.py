"""Which cells a run has time for.

Fewer cells, never fewer blocks: a cell with less than six blocks has no verdict at all.
"""

from __future__ import annotations

from collections.abc import Sequence

ESTIMATE_SHARE = 0.9
"""The share of its time that a run plans for. The rest is for an estimate that is too low, and for
cells that need more blocks. Our own choice.
"""


def cells_that_fit(costs: Sequence[tuple[str, int]], time_ns: float) -> list[int]:
    """The places of the cells to keep, given each cell's study and the time of its mandatory
    blocks, in the order of the plan.

    As long as the rest takes too long, the study that takes most of the time loses its last cell:
    a preset lists the cells that matter most first, and no study pays for another. The first cell
    of each study stays.
    """
    kept = list(range(len(costs)))
    while sum(costs[place][1] for place in kept) > time_ns:
        by_study: dict[str, list[int]] = {}
        for place in kept:
            by_study.setdefault(costs[place][0], []).append(place)
        shrinkable = [own for own in by_study.values() if len(own) > 1]
        if not shrinkable:
            break
        most = max(shrinkable, key=lambda own: sum(costs[place][1] for place in own))
        kept.remove(most[-1])
    return kept
