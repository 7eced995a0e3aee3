"""How far the blocks of a cell went, in words: widest interval, who left early, what is open."""

from __future__ import annotations

from collections.abc import Iterable

from wirebench.catalog.units import count_of
from wirebench.stats.precision import precision_of
from wirebench.stats.types import CellAnalysis
from wirebench.store.records import LeftRecord


def precision_text(cell: CellAnalysis, left: Iterable[LeftRecord]) -> str:
    """Empty if nothing has an interval."""
    found = precision_of(cell)
    if found is None:
        return ""
    of = f"{found.entry}, {count_of(found.blocks, 'block')}"
    parts = [f"widest interval ±{found.half_width:.1%} ({of})"]
    own = [one for one in left if (one.study, one.cell) == (cell.study, cell.cell)]
    for blocks, reason in sorted({(one.blocks, one.reason) for one in own}):
        names = [one.entry for one in own if (one.blocks, one.reason) == (blocks, reason)]
        parts.append(f"left after {count_of(blocks, 'block')}, since {reason}: {', '.join(names)}")
    # Both directions of a pair have one verdict.
    undecided = [pair for pair in cell.pairs if pair.verdict.kind == "undecided"]
    if undecided:
        parts.append(f"{len(undecided) // 2} of {count_of(len(cell.pairs) // 2, 'pair')} undecided")
    return "; ".join(parts)
