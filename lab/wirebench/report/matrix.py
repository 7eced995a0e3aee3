"""The table of contestants by cells: the cost of each in each cell, as a heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wirebench.catalog.loads import on_all_cores
from wirebench.catalog.studies import Cell
from wirebench.report.figures import SIGNS, bound_sign, figure, figure_sign, noun, times
from wirebench.report.model import Matrix, MatrixField
from wirebench.stats.types import (
    CellAnalysis,
    EntryAnalysis,
)


def comparable(
    cells: Sequence[tuple[CellAnalysis, Cell]],
) -> list[tuple[CellAnalysis, ...]]:
    """The cells that one table may hold side by side, in the order of the study: those of one
    metric, with a single core or with all of them.
    """
    groups: dict[tuple[str, bool], list[CellAnalysis]] = {}
    for analysis, cell in cells:
        groups.setdefault((analysis.metric, on_all_cores(cell.load)), []).append(analysis)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def matrix_of(cells: Sequence[CellAnalysis]) -> Matrix:
    """Contestants by cells, in the order of their first ranks. Twins are left out; the floor is 1
    by definition.
    """
    costs: dict[tuple[str, str], float] = {}
    for cell in cells:
        for entry in cell.entries:
            ratio = entry.standing.ratio
            if ratio is not None and entry.twin_of is None:
                costs[cell.cell, entry.entry] = (
                    -math.log(ratio.estimate) if cell.higher_is_better else math.log(ratio.estimate)
                )
    least, most = min(costs.values(), default=0.0), max(costs.values(), default=0.0)
    order = dict.fromkeys(
        entry.entry
        for cell in cells
        for entry in cell.entries
        if entry.twin_of is None and not entry.is_floor
    )
    rows = []
    for name in order:
        fields = []
        for cell in cells:
            cost = costs.get((cell.cell, name))
            heat = (cost - least) / (most - least) if cost is not None and most > least else 0.0
            fields.append(_matrix_field(cell.entry(name), cell.metric, heat))
        rows.append((name, tuple(fields)))
    return Matrix(
        cells=tuple((cell.key.replace(".", "-"), cell.cell) for cell in cells),
        rows=tuple(rows),
        shows=noun(cells[0].metric, cells[0].unit),
    )


def _matrix_field(entry: EntryAnalysis | None, metric: str, heat: float) -> MatrixField:
    if entry is None:
        return MatrixField(text="", under="not in this cell", sign="", mark="", heat=0.0)
    summary = entry.summary.metrics.get(metric)
    if summary is None:
        reason = (entry.unranked or "not run").split(":")[0]
        return MatrixField(text="✕", under=reason, sign="", mark="failed", heat=0.0)
    ratio = entry.standing.ratio
    return MatrixField(
        text=figure_sign(entry, metric) + figure(metric, summary.median),
        under=(
            bound_sign(entry.standing.bound) + times(ratio.estimate) if ratio is not None else ""
        ),
        sign=SIGNS[entry.mark] if entry.mark else "",
        mark=entry.mark or "",
        heat=round(heat, 3),
    )
