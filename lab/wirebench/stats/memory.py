"""Memory per connection: the slope of a server's memory over rungs of connections.

One difference of memory, divided by the connections, has everything in it that a server allocates
once: code, heap, and what the first requests touch. A slope over rungs leaves that out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from wirebench.catalog.loads import (
    ClosedLoad,
    IdleLoad,
    most_connections,
    on_all_cores,
    over_tls,
)
from wirebench.catalog.studies import Cell
from wirebench.stats.cell import CellData
from wirebench.stats.ratio import block_median
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import BlockMedian, CellAnalysis, ConnectionMemory, MemoryTable

NEEDS_RUNGS = "needs two rungs"
NEEDS_LIKE_RUNGS = "needs two rungs on which it has as many processes"


def memory_tables(
    cells: Sequence[CellData], *, settings: Settings = DEFAULT
) -> tuple[MemoryTable, ...]:
    """One table for each set of closed-loop cells that differ only in their connections and
    times, in the order of the plan. A set of one cell has a table too, which says that it needs
    another. A server of more processes has more that it allocates once, so the number of processes
    tells sets apart, and of an entry that needs more of them than the others
    (``PlannedCell.more_processes``) the rungs are those on which it has as many.
    """
    ladders: dict[tuple[str, int, Cell], dict[int, CellData]] = {}
    for data in cells:
        load, same = data.planned.cell.load, but_for_connections(data.planned.cell)
        if isinstance(load, ClosedLoad | IdleLoad) and same is not None:
            rungs = ladders.setdefault((data.study, data.planned.processes, same), {})
            rungs[load.connections] = data
    return tuple(_table(dict(sorted(rungs.items())), settings) for rungs in ladders.values())


def rungs_of(cell: Cell, cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells that give a slope with this one, itself among them; none where they are too close
    together. How many processes a server is there depends on the host.
    """
    same = but_for_connections(cell)
    if same is None:
        return ()
    found = tuple(one for one in cells if but_for_connections(one) == same)
    sizes = [most_connections(one.load) for one in found]
    return found if sizes and max(sizes) >= DEFAULT.rung_factor * min(sizes) else ()


def but_for_connections(cell: Cell) -> Cell | None:
    """What cells have in common that differ in their connections and times alone, the rungs of a
    ladder; None for a load whose connections are no rungs.
    """
    match cell.load:
        case ClosedLoad() as load:
            return replace(
                cell, id="", title="", load=replace(load, connections=0, warmup_ns=0, window_ns=0)
            )
        case IdleLoad() as load:
            return replace(cell, id="", title="", load=replace(load, connections=0, window_ns=0))
        case _:
            return None


def with_memory(
    cells: Sequence[CellAnalysis], tables: Sequence[MemoryTable]
) -> tuple[CellAnalysis, ...]:
    """The cells, each entry with its memory per connection."""
    known = {(table.study, cell): table for table in tables for cell in table.cells}
    return tuple(
        replace(
            cell,
            entries=tuple(
                replace(entry, memory=known[cell.study, cell.cell].entries.get(entry.entry))
                for entry in cell.entries
            ),
        )
        if (cell.study, cell.cell) in known
        else cell
        for cell in cells
    )


def _table(rungs: Mapping[int, CellData], settings: Settings) -> MemoryTable:
    first = next(iter(rungs.values()))
    load = first.planned.cell.load
    assert isinstance(load, ClosedLoad | IdleLoad)
    pss = _any_has(rungs, "server_pss_bytes")
    own_kernel = _any_has(rungs, "server_kernel_bytes")
    return MemoryTable(
        study=first.study,
        cells=tuple(data.planned.cell.id for data in rungs.values()),
        connections=tuple(rungs),
        tls=over_tls(load),
        in_flight=load.in_flight if isinstance(load, ClosedLoad) else 0,
        all_cores=on_all_cores(load),
        processes=first.planned.processes,
        measure="PSS" if pss else "RSS",
        kernel_of="server" if own_kernel else "host",
        entries={
            name: _memory_of(
                rungs,
                name,
                own="server_pss_bytes" if pss else "server_rss_bytes",
                kernel="server_kernel_bytes" if own_kernel else "host_kernel_growth_bytes",
                settings=settings,
            )
            for name in dict.fromkeys(name for data in rungs.values() for name in data.trials)
        },
    )


def _any_has(rungs: Mapping[int, CellData], metric: str) -> bool:
    return any(data.values(name, metric) for data in rungs.values() for name in data.trials)


def _memory_of(
    rungs: Mapping[int, CellData], name: str, *, own: str, kernel: str, settings: Settings
) -> ConnectionMemory:
    alike = _alike(rungs, name)
    found = slope_of(_by_block(alike, name, own), settings=settings)
    reason = None
    if found is None and max(alike) < settings.rung_factor * min(alike):
        reason = NEEDS_RUNGS if len(alike) == len(rungs) else NEEDS_LIKE_RUNGS
    elif found is None:
        reason = "no block has its memory at two rungs"
    return ConnectionMemory(
        own=found,
        kernel=slope_of(_by_block(alike, name, kernel), settings=settings),
        reason=reason,
    )


def _alike(rungs: Mapping[int, CellData], name: str) -> Mapping[int, CellData]:
    """The rungs on which the entry has as many processes: of several such sets the one that reaches
    farthest, by the factor between its largest and its smallest.
    """
    sets: dict[int, dict[int, CellData]] = {}
    for connections, data in rungs.items():
        processes = data.planned.processes_of(data.contestant(name))
        sets.setdefault(processes, {})[connections] = data
    return max(sets.values(), key=lambda own: max(own) / min(own))


def _by_block(rungs: Mapping[int, CellData], name: str, metric: str) -> dict[int, dict[int, float]]:
    """The metric by block and connections."""
    found: dict[int, dict[int, float]] = {}
    for connections, data in rungs.items():
        for block, value in data.values(name, metric).items():
            found.setdefault(block, {})[connections] = value
    return found


def slope_of(
    blocks: Mapping[int, Mapping[int, float]], *, settings: Settings = DEFAULT
) -> BlockMedian | None:
    """Bytes per connection, from bytes by block and connections.

    Each block with rungs far enough apart has its own slope: the median of the slopes between all
    pairs of its rungs (Theil 1950; Sen, JASA 1968), which one rung with a grown heap does not move.
    The estimate is their median, with its interval; no interval below ``min_blocks``. A server
    that gives memory back may have a negative one. None where no block has such rungs.
    """
    slopes = np.array(
        [
            _theil_sen(values)
            for _, values in sorted(blocks.items())
            if max(values) >= settings.rung_factor * min(values)
        ],
        dtype=np.float64,
    )
    return block_median(slopes, settings=settings)


def _theil_sen(values: Mapping[int, float]) -> float:
    """The median slope. ``scipy.stats`` has it too, but takes most of a second to import, which
    each command and each block of a fleet would.
    """
    pairs = combinations(values.items(), 2)
    return float(np.median([(high - low) / (more - few) for (few, low), (more, high) in pairs]))
