"""What beside the library may explain a figure: cells of ours with it and without it, for figures
that were published and for every client.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from wirebench.catalog.loads import HOST, ClientLoad, Load
from wirebench.catalog.published import Artefact
from wirebench.catalog.studies import Cell
from wirebench.report.figures import amount, value_of
from wirebench.report.model import TableView
from wirebench.stats.types import CellAnalysis

_METRIC = "mean_ns"
_NO_VERDICT = "The cells are measured one after another, so there is no verdict on a difference."
_HOW = (
    "Off and on: our means in two cells of this run that differ by it alone. Adds: the difference,"
    f" and its share of the published mean. {_NO_VERDICT}"
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


def on_and_off_tables(pairs: Sequence[tuple[CellAnalysis, Cell]]) -> Iterator[TableView]:
    """For each cell with something switched on, every client there and in the cell without it, who
    it costs most first.
    """
    loads = [(cell, planned.load) for cell, planned in pairs]
    for on, load in loads:
        if not isinstance(load, ClientLoad):
            continue
        without = _switched_off(load)
        off = next(
            (cell for cell, other in loads if load != other and _alike(other, without)), None
        )
        rows = _on_and_off(off, on) if off is not None and load != without else ()
        if off is not None and rows:
            yield TableView(
                title=f"Each client with it and without: {on.title}",
                how=f"Our means in {off.cell} (off) and {on.cell} (on). {_NO_VERDICT}",
                columns=("off", "on", "on - off"),
                rows=tuple(rows),
            )


def _switched_off(load: ClientLoad) -> ClientLoad:
    return replace(load, host=HOST, server=None, closes_after=0, resumption=False)


def _alike(load: Load, wanted: ClientLoad) -> bool:
    """Whether they differ in no more than how much is measured."""
    if not isinstance(load, ClientLoad):
        return False
    counts = {"warmup": 0, "operations": 0, "typical_ns": 0}
    return replace(load, **counts) == replace(wanted, **counts)  # type: ignore[arg-type]


def _on_and_off(off: CellAnalysis, on: CellAnalysis) -> list[tuple[str, ...]]:
    found = []
    for entry in on.entries:
        values = _value(entry.entry, off), _value(entry.entry, on)
        if entry.twin_of is None and values[0] is not None and values[1] is not None:
            found.append((values[1] - values[0], entry.entry, values))
    return [
        (name, _text(values[0]), _text(values[1]), _signed(difference))
        for difference, name, values in sorted(found, reverse=True)
    ]


def _signed(difference: float) -> str:
    return ("-" if difference < 0 else "") + amount(_METRIC, abs(difference))


def _row(one: Artefact, cells: Mapping[str, CellAnalysis]) -> tuple[str, ...]:
    off, on = (_value(one.contestant, cells.get(name)) for name in (one.off, one.on))
    shown = (_text(off), _text(on))
    adds = ""
    if off is not None and on is not None:
        share = (on - off) / one.value
        adds = f"{_signed(on - off)}, {share:z.0%} of what was published"
    published = amount(_METRIC, one.value)
    return (one.contestant, one.published, published, one.says, *shown, adds)


def _value(contestant: str, cell: CellAnalysis | None) -> float | None:
    entry = cell.entry(contestant) if cell is not None else None
    return value_of(entry, _METRIC) if entry is not None else None


def _text(value: float | None) -> str:
    return "not in the run" if value is None else amount(_METRIC, value)
