"""When an entry, and when a cell, has enough blocks: by what is decided and by the width of
intervals, or the time budget; never by which entry leads.

(Kalibera & Jones, ISMM 2013. Checking at fixed points only keeps the number of looks small.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

FIRST_LOOK = 6
LOOK_GROWTH = 1.45
"""Our own choice: check after 6, 9, 13, 19, 28, 41... blocks."""


@dataclass(frozen=True, kw_only=True)
class Standstill:
    """Whom of a cell more blocks would not help."""

    settled: Mapping[str, str] = field(default_factory=dict)
    """These entries may leave the cell, each for a reason in words."""
    hopeless: frozenset[str] = frozenset()
    """These do not leave, but the cell does not go on for them: they fail too often."""
    twin_open: bool = False
    """The cell goes on for its twin, which has no interval yet."""
    floor_known: bool = False
    """The floors may leave too: nobody is judged by a comparison with them."""


Look = Callable[[str, int, frozenset[str]], Standstill]
"""Judges a cell (``study.cell``) by its blocks up to this number, among the entries still in it."""


def looks() -> Iterator[int]:
    """The numbers of blocks after which a cell is looked at."""
    blocks = FIRST_LOOK
    while True:
        yield blocks
        blocks = max(blocks + 1, round(blocks * LOOK_GROWTH))


def is_look(blocks: int) -> bool:
    for look in looks():
        if look >= blocks:
            return look == blocks
    raise AssertionError("looks() has no end")
