"""Repeats: what should not matter differs between them, so that its effect is in the intervals.

Blocks of one repeat cannot see what is the same in all of them: the address layout that a path of a
certain length gives, the physical pages that hold a program, the cells that ran before. The
component between repeats is estimated from several of them (Kalibera & Jones, ISMM 2013, nested
random effects). Each repeat but the first has another order of cells, and runs the contestants from
copies of their builds at paths of another length (Mytkowicz et al., ASPLOS 2009).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

MAX_PATH_FILLER = 160
"""How much longer the path of a copy is than the shortest, at most."""

Cell = TypeVar("Cell")


def repeat_of(block: int, *, min_blocks: int, repeats: int) -> int:
    """The repeat that a block belongs to, both counted from 1.

    The mandatory blocks are spread over the repeats as evenly as whole blocks can be; blocks beyond
    them go on in the same step. With one repeat all blocks belong to it.
    """
    if repeats <= 1:
        return 1
    return 1 + (block - 1) * min(repeats, min_blocks) // min_blocks


def order_of_cells(cells: Sequence[Cell], *, seed: int, repeat: int) -> list[Cell]:
    """The order in which cells take turns: in the first repeat that of the plan, in each other one
    drawn anew.
    """
    if repeat <= 1:
        return list(cells)
    generator = np.random.default_rng([seed, zlib.crc32(b"cells"), repeat])
    return [cells[index] for index in generator.permutation(len(cells))]


def path_filler(*, seed: int, repeat: int) -> int:
    """By how many bytes the paths of a repeat's copies are longer than the shortest."""
    generator = np.random.default_rng([seed, zlib.crc32(b"path"), repeat])
    return int(generator.integers(1, MAX_PATH_FILLER + 1))
