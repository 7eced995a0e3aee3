"""Rank ranges, tie groups and marks from the verdicts of all pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wirebench.stats.types import Mark


@dataclass(frozen=True, kw_only=True)
class Place:
    group: int
    tied: bool
    rank_low: int
    rank_high: int
    mark: Mark
    beaten_by: frozenset[str]


def places(order: Sequence[str], beats: Mapping[str, frozenset[str]]) -> dict[str, Place]:
    """Rank range, tie group and mark of every entry.

    ``order`` lists the entries by their estimates, best first; ``beats`` says which others each is
    better than beyond doubt. Who beats one that beats a third is better than the third, too, even
    where the two share too few blocks to show it (``_transitive``).

    * Rank range: from 1 + those that beat it to n - those it beats.
    * Tie group: the best entry not yet in a group that none of the others there beats, with all
      that it does not beat.
    * Mark: ``best`` if nobody beats it and it beats somebody; ``worst`` if it beats nobody and
      somebody beats it; ``tie`` if neither (nothing is known to be better or worse); else
      ``middle``. So with A = B, B = C and A better than C, A is best, C is worst, and B, which
      cannot be told from either, is grey.
    """
    beats = _transitive(order, beats)
    groups = _groups(order, beats)
    found = {}
    for entry in order:
        beaten_by = frozenset(other for other in order if entry in beats[other])
        beaten = len(beats[entry])
        found[entry] = Place(
            group=groups[entry],
            tied=1 + len(beaten_by) != len(order) - beaten,
            rank_low=1 + len(beaten_by),
            rank_high=len(order) - beaten,
            mark=_mark(beaten_by=len(beaten_by), beaten=beaten),
            beaten_by=beaten_by,
        )
    return found


def _transitive(
    order: Sequence[str], beats: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    """What follows from all claims together: while they hold, so does it. Entries that beat each
    other around a circle contradict themselves, as pairs that rest on different blocks may, and
    then none of them is ahead of another.
    """
    reached = {entry: set(beats.get(entry, frozenset())) & set(order) for entry in order}
    for middle in order:
        for entry in order:
            if middle in reached[entry]:
                reached[entry] |= reached[middle]
    return {
        entry: frozenset(other for other in others if entry not in reached[other])
        for entry, others in reached.items()
    }


def _groups(order: Sequence[str], beats: Mapping[str, frozenset[str]]) -> dict[str, int]:
    groups: dict[str, int] = {}
    left = list(order)
    while left:
        leader = next(one for one in left if not any(one in beats[other] for other in left))
        number = 1 + max(groups.values(), default=0)
        for entry in left:
            if entry not in beats[leader]:
                groups[entry] = number
        left = [entry for entry in left if entry not in groups]
    return groups


def _mark(*, beaten_by: int, beaten: int) -> Mark:
    if beaten_by and beaten:
        return "middle"
    if beaten:
        return "best"
    return "worst" if beaten_by else "tie"
