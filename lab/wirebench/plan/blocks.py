"""Blocks: every contestant of a cell once, with the floor and the twin, in a new random order.

The block is the unit of the statistics (randomised multiple interleaved trials: Abedi & Brecht,
ICPE 2017). Each trial also gets an environment of another size, because that alone can change a
figure (Mytkowicz et al., ASPLOS 2009). A block depends only on the seed, the study, the cell and
its number. A resumed or extended run therefore draws exactly the same blocks.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MAX_ENVIRONMENT_BYTES = 4096
TWIN_SUFFIX = "~twin"
FLOOR = "floor"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One row of a cell: a contestant, or the second entry of the contestant that is the twin."""

    name: str
    contestant: str
    twin_of: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlannedTrial:
    id: str
    study: str
    cell: str
    block: int
    """Counted from 1."""
    position: int
    """Position in the block, counted from 1."""
    entry: Entry
    environment_bytes: int
    port_seed: int
    """Where the search for a free port starts; differs from trial to trial."""
    load_seed: int
    """The load generator's, such as for its arrivals: the same for all entries of a block, so that
    they stay paired, and another in each block.
    """

    @classmethod
    def excluded(cls, study: str, cell: str, contestant: str) -> PlannedTrial:
        """Block 0 stands for a contestant that has no trial in the cell."""
        return cls(
            id=trial_id(study, cell, 0, contestant),
            study=study,
            cell=cell,
            block=0,
            position=0,
            entry=Entry(name=contestant, contestant=contestant),
            environment_bytes=0,
            port_seed=0,
            load_seed=0,
        )


def entries_of(contestants: Sequence[str], *, twin: str | None) -> tuple[Entry, ...]:
    """The rows of a cell: each contestant once, and the twin's second entry."""
    rows = [Entry(name=name, contestant=name) for name in contestants]
    if twin is not None:
        rows.append(Entry(name=twin + TWIN_SUFFIX, contestant=twin, twin_of=twin))
    return tuple(rows)


def trial_id(study: str, cell: str, block: int, entry: str) -> str:
    return f"{study}.{cell}.b{block:02d}.{entry.replace('/', '.')}"


def draw_block(
    entries: Sequence[Entry], *, seed: int, study: str, cell: str, block: int
) -> tuple[PlannedTrial, ...]:
    """The trials of one block in the order they run."""
    place = zlib.crc32(f"{study}/{cell}".encode())
    generator = np.random.default_rng([seed, place, block])
    order = generator.permutation(len(entries))
    environment = generator.integers(0, MAX_ENVIRONMENT_BYTES + 1, size=len(entries))
    ports = generator.integers(0, 2**31, size=len(entries))
    load_seed = int(generator.integers(0, 2**31))
    return tuple(
        PlannedTrial(
            id=trial_id(study, cell, block, entries[index].name),
            study=study,
            cell=cell,
            block=block,
            position=position,
            entry=entries[index],
            environment_bytes=int(environment[position - 1]),
            port_seed=int(ports[position - 1]),
            load_seed=load_seed,
        )
        for position, index in enumerate(order, start=1)
    )


def choose_twin(
    contestants: Sequence[str], *, floors: Sequence[str], seed: int, study: str, cell: str
) -> str | None:
    """Draw the contestant that is entered twice, from all but the floor, differently for each cell
    and run.

    The floor is the twin only when it is alone: its noise is not that of the others. None without
    contestants.
    """
    candidates = sorted(set(contestants) - set(floors)) or sorted(contestants)
    if not candidates:
        return None
    generator = np.random.default_rng([seed, zlib.crc32(f"twin/{study}/{cell}".encode())])
    return candidates[int(generator.integers(len(candidates)))]
