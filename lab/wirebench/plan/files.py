"""Connections beyond the open files of one process: how many processes a server needs for them.

Every connection is an open file of the process that accepted it, and a process may open only so
many: as many as the host allows, or fewer where its library says so. Servers whose threads above
one are processes get as many as it takes; the others cannot be in the cell. Nor can any be where
one process has to see all connections.
"""

from __future__ import annotations

import math

from wirebench.catalog.loads import most_connections
from wirebench.catalog.model import ONE_PROCESS, Contestant
from wirebench.catalog.studies import Cell
from wirebench.catalog.units import count_of

SHARE = 0.8
"""How much of a process's open files its even share of the connections may fill. The kernel, or the
server, spreads connections unevenly, and a server opens other files too. Our own choice.
"""


def processes_for(cell: Cell, *, open_files: int) -> int:
    """How many server processes hold the connections of the cell, by the host's limit."""
    return max(1, math.ceil(most_connections(cell.load) / (SHARE * open_files)))


def processes_of(contestant: Contestant, cell: Cell, *, open_files: int) -> int:
    """How many processes of the contestant hold them, by the lower of the host's limit and its
    own.
    """
    return processes_for(cell, open_files=_files_of(contestant, open_files))


def _files_of(contestant: Contestant, open_files: int) -> int:
    own = contestant.open_files
    return open_files if own is None else min(own, open_files)


def _may_be_several(contestant: Contestant, cell: Cell) -> bool:
    return contestant.processes and cell.workload not in ONE_PROCESS


def too_few_files(contestant: Contestant, cell: Cell, *, open_files: int) -> str | None:
    """Why the contestant cannot hold the connections of the cell; None if it can."""
    if (
        _may_be_several(contestant, cell)
        or processes_of(contestant, cell, open_files=open_files) == 1
    ):
        return None
    files = _files_of(contestant, open_files)
    whose = ", which is its own limit" if files < open_files else ""
    return (
        f"{files:,} a process{whose}, and it is one process: too few for"
        f" {count_of(most_connections(cell.load), 'connection')}"
    )
