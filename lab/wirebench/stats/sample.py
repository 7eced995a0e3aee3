"""Block log-ratios with the repeat of each block, and tables of them as matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wirebench.stats.ratio import Floats

Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sample:
    """What a comparison is judged by: one value for each block and the repeat each belongs to."""

    values: Floats
    """Logarithms, shape (blocks,), in the order of the blocks."""
    repeats: Numbers
    """The repeat of each block, counted from 0 without gaps, shape (blocks,)."""

    @classmethod
    def of(cls, values: Floats, repeats: Sequence[int] | Numbers | None = None) -> Sample:
        """``repeats`` may be numbered in any way. None: all blocks are of one repeat.

        Where fewer than a third of the blocks share their repeat with an earlier one, a block is
        about as good as a repeat: they then count as independent blocks of one repeat, because what
        differs between repeats is in the spread of the blocks already.
        """
        n = len(values)
        if repeats is None:
            return cls(values, np.zeros(n, dtype=np.intp))
        names, numbers = np.unique(np.asarray(repeats), return_inverse=True)
        if len(names) > 1 and n - len(names) < n / 3:
            # -1 tells these blocks from those of a single repeat.
            return cls(values, np.full(n, -1, dtype=np.intp))
        return cls(values, numbers.astype(np.intp))

    def __len__(self) -> int:
        return len(self.values)

    def __neg__(self) -> Sample:
        return Sample(-self.values, self.repeats)

    @property
    def of_own_repeats(self) -> bool:
        """Whether about each block is a repeat of its own."""
        return len(self.values) > 0 and int(self.repeats[0]) < 0

    @property
    def repeated(self) -> bool:
        """Whether the blocks themselves show what differs between repeats."""
        return self.of_own_repeats or (len(self.values) > 0 and int(self.repeats.max()) > 0)


@dataclass(frozen=True, eq=False)
class Group:
    """Comparisons over the same blocks, as a matrix."""

    where: list[int]
    """Their places in the table."""
    values: Floats
    """Shape (comparisons, blocks)."""
    repeats: Numbers
    """Shape (blocks,)."""

    @classmethod
    def of(cls, where: Sequence[int], samples: Sequence[Sample]) -> Group:
        return cls(list(where), np.array([one.values for one in samples]), samples[0].repeats)

    @property
    def blocks(self) -> int:
        return int(self.values.shape[1])

    @cached_property
    def counts(self) -> Numbers:
        """Blocks of each repeat, shape (repeats,)."""
        return np.bincount(np.maximum(self.repeats, 0))

    @cached_property
    def medians(self) -> Floats:
        """Of each comparison in each repeat, shape (comparisons, repeats)."""
        return np.stack([np.median(self.values[:, part], axis=1) for part in self.parts], axis=1)

    @cached_property
    def parts(self) -> list[Numbers]:
        """The places of the blocks of each repeat."""
        numbers = np.maximum(self.repeats, 0)
        return [np.flatnonzero(numbers == number) for number in range(len(self.counts))]

    def without_repeats(self, means: Floats, shares: Floats) -> Floats:
        """The values less what is attributed to repeats, shape (comparisons, blocks): of what the
        repeats' means (shape (comparisons, repeats)) differ by, each comparison's share (shape
        (comparisons,), 0 to 1), as the best linear predictor has it (Searle, Casella & McCulloch
        1992, section 7.4).
        """
        off = means - means.mean(axis=1, keepdims=True)
        attributed: Floats = shares[:, None] * off[:, np.maximum(self.repeats, 0)]
        return self.values - attributed

    @cached_property
    def centred(self) -> Floats:
        """Deviations from the median of the own repeat, shape (comparisons, blocks)."""
        return self.values - self.medians[:, np.maximum(self.repeats, 0)]


def groups(samples: Sequence[Sample]) -> list[Group]:
    """The samples with the same blocks side by side; samples without blocks are left out."""
    found: dict[tuple[int, bytes], list[int]] = {}
    for place, one in enumerate(samples):
        if len(one):
            found.setdefault((len(one), one.repeats.tobytes()), []).append(place)
    return [Group.of(where, [samples[place] for place in where]) for where in found.values()]
