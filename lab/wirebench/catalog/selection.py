"""Presets with some of their cells, or with ramps of another size, as a command line asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import OpenLoad, Pacing, RampLoad
from wirebench.catalog.model import Workload
from wirebench.catalog.studies import Cell, Preset, Study


@dataclass(frozen=True, kw_only=True)
class RampSize:
    """The size of a ramp as a command line asks for it. What it leaves out is as the article had
    it.
    """

    rounds: int = 100
    add: int = 100
    messages: int = 100

    def __str__(self) -> str:
        return f"r{self.rounds}-a{self.add}-q{self.messages}"


def with_ramps(
    presets: Sequence[tuple[Study, Preset]], size: RampSize
) -> list[tuple[Study, Preset]]:
    """The presets with their ramps at this size, one for each workload and pacing that they have,
    and without everything else. A ramp of that size that the study has keeps its name.
    """
    resized = []
    for study, preset in presets:
        known = {
            (cell.workload, cell.load): cell for one in study.presets.values() for cell in one.cells
        }
        ramps: dict[tuple[Workload, Pacing], Cell] = {}
        for cell in preset.cells:
            if isinstance(cell.load, RampLoad):
                asked = _resized(cell, cell.load, size)
                kind = (cell.workload, cell.load.pacing)
                ramps.setdefault(kind, known.get((cell.workload, asked.load), asked))
        if ramps:
            resized.append((study, replace(preset, cells=tuple(ramps.values()))))
    if not resized:
        names = ", ".join(f"{study.name} ({preset.name})" for study, preset in presets)
        raise CatalogError(
            f"--rounds, --add, --messages: expected a study with ramps (websocket), got {names}"
        )
    return resized


def _resized(cell: Cell, load: RampLoad, size: RampSize) -> Cell:
    sending = "one in flight each" if load.pacing == "serial" else "sent back to back"
    echoing = cell.workload == "ws.echo"
    return replace(
        cell,
        id=f"{'echo-' if echoing else ''}{load.pacing}-{size}",
        title=f"R = {size.rounds}, A = {size.add}, Q = {size.messages}, {sending}"
        + (", echoed" if echoing else ""),
        load=replace(load, rounds=size.rounds, add=size.add, messages=size.messages),
    )


def select_cells(
    presets: Sequence[tuple[Study, Preset]], wanted: Sequence[str]
) -> list[tuple[Study, Preset]]:
    """The presets with only the named cells and those whose throughput their rates are shares of,
    and without the studies that have none of them; all when none is named.

    A name that no cell has is an error that lists the ones there are.
    """
    if not wanted:
        return list(presets)
    known = [cell.id for _, preset in presets for cell in preset.cells]
    for name in wanted:
        if name not in known:
            raise CatalogError(f"--cells: expected one of {', '.join(known)}, got {name!r}")
    chosen = [
        (study, replace(preset, cells=tuple(_with_capacity(preset.cells, wanted))))
        for study, preset in presets
    ]
    return [(study, preset) for study, preset in chosen if preset.cells]


def _with_capacity(cells: Sequence[Cell], wanted: Sequence[str]) -> list[Cell]:
    named = [cell for cell in cells if cell.id in wanted]
    needed = {cell.load.of for cell in named if isinstance(cell.load, OpenLoad)}
    return [cell for cell in cells if cell in named or cell.id in needed]
