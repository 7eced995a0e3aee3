"""What beside the library may explain a published figure: cells of ours with it and without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wirebench.catalog.published import Artefact
from wirebench.report.figures import amount, value_of
from wirebench.report.model import TableView
from wirebench.stats.types import CellAnalysis

_METRIC = "mean_ns"
_HOW = (
    "Off and on: our means in two cells of this run that differ by it alone. Adds: the difference,"
    " and its share of the published mean. The cells are measured one after another, so there is no"
    " verdict on a difference."
)


def artefact_table(
    artefacts: Sequence[Artefact], cells: Sequence[CellAnalysis]
) -> TableView | None:
    """None: the run has none of the cells that have one switched on."""
    ids = {cell.cell for cell in cells}
    return every_artefact(artefacts, cells) if any(one.on in ids for one in artefacts) else None


def every_artefact(artefacts: Sequence[Artefact], cells: Sequence[CellAnalysis]) -> TableView:
    by_id = {cell.cell: cell for cell in cells}
    return TableView(
        title="What may explain published figures beside the library, off and on",
        how=_HOW,
        columns=("published as", "published", "what", "off", "on", "adds"),
        rows=tuple(_row(one, by_id) for one in artefacts),
    )


def _row(one: Artefact, cells: Mapping[str, CellAnalysis]) -> tuple[str, ...]:
    off, on = (_value(one, cells.get(name)) for name in (one.off, one.on))
    shown = (_text(off), _text(on))
    adds = ""
    if off is not None and on is not None:
        sign = "-" if on < off else ""
        share = (on - off) / one.value
        adds = f"{sign}{amount(_METRIC, abs(on - off))}, {share:.0%} of what was published"
    published = amount(_METRIC, one.value)
    return (one.contestant, one.published, published, one.says, *shown, adds)


def _value(one: Artefact, cell: CellAnalysis | None) -> float | None:
    entry = cell.entry(one.contestant) if cell is not None else None
    return value_of(entry, _METRIC) if entry is not None else None


def _text(value: float | None) -> str:
    return "not in the run" if value is None else amount(_METRIC, value)
