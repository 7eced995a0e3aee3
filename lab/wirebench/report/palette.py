"""Colours, dashes and shapes. Mid-tones that stand out on white and on near-black, so that one chart serves both themes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

BEST = "#1a9850"
WORST = "#d73027"
NEUTRAL = "#3b82c4"
GREY = "#8a8f98"

MARKS: Mapping[str, str] = {"best": BEST, "worst": WORST, "middle": NEUTRAL, "tie": GREY, "reference": GREY}

LINES = ("#3344ff", "#99bb00", "#ee0066", "#55bbdd", "#666611", "#ee8899", "#aa11aa", "#9977dd")
"""Found by search: the eight whose closest pair is farthest apart, to the colour-blind too, with a contrast of at least 2.2 to
white and 2.9 to the dark page."""
_DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (7, 3), (7, 2, 2, 2))
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down")
_LOOKS = len(LINES) * len(_DASHES) * len(_SHAPES)
"""Colour, dash and shape go round each by itself: as their numbers share no factor, that makes all combinations, and neighbours
differ in all three."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """How a contestant's line is drawn."""

    colour: str
    dash: tuple[int, ...]
    shape: str
    """Of its points, as Vega calls it."""


FLOOR = Look(colour=GREY, dash=(2, 2), shape="cross")


def looks(studies: Sequence[Collection[str]], *, floors: Collection[str]) -> dict[str, Look]:
    """One for each contestant, the same in all charts of a run. ``studies``: the contestants of each.

    No two have the same, and those of one study have different colours as far as there are enough.
    """
    found = dict.fromkeys(floors, FLOOR)
    free = list(range(_LOOKS))
    for study in studies:
        for name in sorted(set(study) - set(found)):
            beside = {one for other in studies if name in other for one in other}
            used = Counter(found[one].colour for one in beside if one in found)
            chosen = min(free, key=lambda index: (used[LINES[index % len(LINES)]], index))
            free.remove(chosen)
            free = free or list(range(_LOOKS))
            found[name] = _look(chosen)
    return found


def _look(index: int) -> Look:
    return Look(colour=LINES[index % len(LINES)], dash=_DASHES[index % len(_DASHES)], shape=_SHAPES[index % len(_SHAPES)])
