"""Whether tables keep their levels in worlds that are harder than those of ``selftest --verdicts``.

    python -m developer.levels --tables 200

Each world gives the noise of entries in blocks; a floor, the entries and a twin are measured in it
and judged as real runs are. Entries are 0 or just the noise band apart: every claim is false, and
they are as easily claimed as false ones can be. For power, every other entry is ahead by a gap.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from wirebench.selftest.tables import BAND, Design, Found, judge_run, simulate_run, spread
from wirebench.selftest.worlds import STANDARD, STANDARD_NOISE, WORLDS, Floats, Source

SD = STANDARD_NOISE / math.sqrt(2)
"""Of one entry's log figure."""
Draw = Callable[[np.random.Generator, int, int], Floats]
"""Of a generator, the number of entries and of blocks."""


def _lasting(correlation: float) -> Draw:
    def draw(random: np.random.Generator, entries: int, blocks: int) -> Floats:
        found = random.normal(0, SD, (entries, blocks))
        for block in range(1, blocks):
            found[:, block] *= math.sqrt(1 - correlation**2)
            found[:, block] += correlation * found[:, block - 1]
        return found

    return draw


def _heavy(random: np.random.Generator, entries: int, blocks: int) -> Floats:
    return SD / 2 * random.standard_t(1.5, (entries, blocks))


def _skewed(random: np.random.Generator, entries: int, blocks: int) -> Floats:
    return -random.exponential(SD, (entries, blocks))


def _unlike(random: np.random.Generator, entries: int, blocks: int) -> Floats:
    sizes = SD * np.exp(random.normal(0, 0.8, (entries, 1)))
    return np.asarray(sizes * random.normal(0, 1, (entries, blocks)))


def _one_noisy(random: np.random.Generator, entries: int, blocks: int) -> Floats:
    """The second entry: the floor and the first, whose twin is measured, are like the others."""
    sizes = np.where(np.arange(entries) == 2, 5 * SD, SD)[:, None]
    return np.asarray(sizes * random.normal(0, 1, (entries, blocks)))


def _own_speeds(random: np.random.Generator, entries: int, blocks: int) -> Floats:
    slow = random.random((entries, blocks)) < 0.5
    return np.asarray(random.normal(0, SD / 2, (entries, blocks)) - 3 * SD * slow)


def _rounded(random: np.random.Generator, entries: int, blocks: int) -> Floats:
    """To 1%."""
    return np.log(np.round(100 * np.exp(random.normal(0, SD, (entries, blocks)))) / 100)


MORE: dict[str, Draw] = {
    "heavy tails": _heavy,
    "skewed": _skewed,
    "unlike noise": _unlike,
    "one noisy entry": _one_noisy,
    "own speeds": _own_speeds,
    "rounded": _rounded,
    "correlated 0.5": _lasting(0.5),
    "correlated 0.8": _lasting(0.8),
}


def _world(draw: Draw) -> Callable[..., Floats]:
    def world(
        random: np.random.Generator,
        source: Source,  # these worlds bring their own noise
        entries: Sequence[int],
        repeats: Sequence[int],
    ) -> Floats:
        return draw(random, len(entries), len(repeats))

    return world


@dataclass(frozen=True, kw_only=True)
class Level:
    """What came of the tables of one world."""

    tables: int
    with_false_claims: int
    wrong_signs: int
    coverage: float

    @property
    def false(self) -> float:
        return self.with_false_claims / self.tables


def tables(
    world: str, *, entries: int, design: Design, count: int, gap: float = BAND, seed: int = 1
) -> Iterator[Found]:
    """Seeded: the same tables each time."""
    draw = WORLDS[world] if world in WORLDS else _world(MORE[world])
    for number in range(count):
        random = np.random.default_rng(
            [seed, zlib.crc32(world.encode()), entries, design.blocks, number]
        )
        run = simulate_run(random, STANDARD, draw, design, spread(entries, gap))
        yield judge_run(run)[0]


def level(world: str, *, entries: int, design: Design, count: int, seed: int = 1) -> Level:
    found = list(tables(world, entries=entries, design=design, count=count, seed=seed))
    return Level(
        tables=count,
        with_false_claims=sum(one.false_claims > 0 for one in found),
        wrong_signs=sum(one.wrong_signs for one in found),
        coverage=sum(one.covered for one in found) / sum(one.intervals for one in found),
    )


def power(world: str, *, entries: int, design: Design, count: int, gap: float) -> float:
    """The share of the differing pairs that are found."""
    found = list(tables(world, entries=entries, design=design, count=count, gap=gap))
    return sum(one.found for one in found) / sum(one.differing for one in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--entries", type=int, nargs="+", default=[3, 8])
    parser.add_argument("--blocks", type=int, nargs="+", default=[6, 8, 13])
    parser.add_argument("--worlds", nargs="+", default=["calm", "tails", "two speeds", *MORE])
    wanted = parser.parse_args()
    print("| entries | blocks | world | false claim | coverage | true 5% | true 10% |")
    print("|---:|---:|---|---:|---:|---:|---:|")
    for entries in wanted.entries:
        for blocks in wanted.blocks:
            design = Design(blocks=blocks, min_blocks=blocks, repeats=1)
            for world in wanted.worlds:
                said = level(world, entries=entries, design=design, count=wanted.tables)
                fewer = max(1, wanted.tables // 4)
                five, ten = (
                    power(world, entries=entries, design=design, count=fewer, gap=gap)
                    for gap in (0.05, 0.10)
                )
                print(
                    f"| {entries} | {blocks} | {world} | {said.false:.1%} | {said.coverage:.1%}"
                    f" | {five:.0%} | {ten:.0%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
