"""Whether a head falls behind a rate that the base keeps up with."""

from __future__ import annotations

import math

from wirebench.stats.cell import CellData
from wirebench.stats.entry import why_unsound


def keeps_up_less(base: tuple[CellData, str], head: tuple[CellData, str], *, level: float) -> bool:
    """Whether the head could not keep up with the rate where the base could: in more of its trials
    than chance deals out (Fisher's exact test, one-sided). Each by its cell and its entry.
    """
    if why_unsound(*base, "not judged") is not None or why_unsound(*head, "not judged") is None:
        return False
    before, after = (
        [one.validity.get("kept_up") is False for one in data.valid.get(name, {}).values()]
        for data, name in (base, head)
    )
    slow = sum(before) + sum(after)
    as_many = sum(
        math.comb(len(after), own) * math.comb(len(before), slow - own)
        for own in range(sum(after), min(len(after), slow) + 1)
    )
    return as_many <= level * math.comb(len(before) + len(after), slow)
