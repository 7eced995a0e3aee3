"""Colours, dashes and shapes.

A chart names colours for white, where files are drawn too; on the dark page each becomes
``ON_DARK`` of it, since no colour has a contrast of 4.5 to both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

BEST = "#11713c"
WORST = "#c3281c"
NEUTRAL = "#2f74b5"
GREY = "#6b7280"

MARKS: Mapping[str, str] = {
    "best": BEST,
    "worst": WORST,
    "middle": NEUTRAL,
    "tie": GREY,
    "reference": GREY,
}

LINES = ("#660000", "#5577aa", "#dd2266", "#666600", "#2222cc", "#881188", "#aa33ff", "#222255")
_LINES_ON_DARK = (
    "#ff8877",
    "#0099bb",
    "#ff0088",
    "#778800",
    "#77ddcc",
    "#bb44ff",
    "#bbaaff",
    "#ffcc00",
)
"""Both found by search: the eight whose closest pair is farthest apart, to the colour-blind too,
with a contrast to the page of at least 4.5, and none close to black or white.
"""

ON_DARK: Mapping[str, str] = {
    **dict(zip(LINES, _LINES_ON_DARK, strict=True)),
    BEST: "#4cc38a",
    WORST: "#ff7b6e",
    NEUTRAL: "#7db8ee",
    GREY: "#8a8f98",
}

_DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (7, 3), (7, 2, 2, 2))
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down")
_LOOKS = len(LINES) * len(_DASHES) * len(_SHAPES)
"""Colour, dash and shape go round each by itself: as their numbers share no factor, that makes all
combinations, and neighbours differ in all three.
"""


@dataclass(frozen=True, kw_only=True)
class Look:
    """The look of a contestant's line."""

    colour: str
    """On white."""
    dash: tuple[int, ...]
    shape: str
    """The shape of its points, as Vega names it."""


FLOOR = Look(colour=GREY, dash=(2, 2), shape="cross")


def looks(studies: Sequence[Collection[str]], *, floors: Collection[str]) -> dict[str, Look]:
    """One look for each contestant, the same in all charts of a run. ``studies``: the contestants
    of each.

    No two looks are equal. Contestants of one study have different colours while there are enough.
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
    return Look(
        colour=LINES[index % len(LINES)],
        dash=_DASHES[index % len(_DASHES)],
        shape=_SHAPES[index % len(_SHAPES)],
    )
