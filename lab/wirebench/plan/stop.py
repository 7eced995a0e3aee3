"""When a cell has enough blocks: by the width of its intervals or the time budget, never by which
entry leads.

(Kalibera & Jones, ISMM 2013. Checking at fixed points only keeps the number of looks small.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

FIRST_LOOK = 6
LOOK_GROWTH = 1.45
"""Our own choice: check after 6, 9, 13, 19, 28, 41... blocks."""

Settled = Callable[[str, int], bool]
"""Whether every interval of a cell (``study.cell``) is narrow enough after this many blocks."""


def looks() -> Iterator[int]:
    """The numbers of blocks after which a cell may stop."""
    blocks = FIRST_LOOK
    while True:
        yield blocks
        blocks = max(blocks + 1, round(blocks * LOOK_GROWTH))


def wants_more(key: str, *, done: int, min_blocks: int, max_blocks: int, settled: Settled) -> bool:
    """Whether the cell gets another block after ``done`` blocks."""
    if done < min_blocks:
        return True
    if done >= max_blocks:
        return False
    for look in looks():
        if look >= done:
            return look > done or not settled(key, done)
    raise AssertionError("looks() has no end")
