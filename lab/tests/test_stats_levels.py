"""Whole tables in worlds that are hard on statistics: claims stay rare, intervals cover, and what
differs is found. The worlds and their tables are those of ``developer.levels``.
"""

from __future__ import annotations

import math

import pytest

from developer.levels import MORE, level, power
from wirebench.selftest.tables import Design

pytestmark = pytest.mark.long

TABLES = 100
COVERED = {"correlated 0.5": 0.89, "correlated 0.8": 0.84}
"""What eight blocks can do. All others: 95%, and what 100 tables, whose pairs depend on each other,
may differ from it.
"""


@pytest.mark.parametrize("world", ["calm", "tails", "two speeds", *MORE])
def test_the_levels_hold(world: str) -> None:
    found = level(world, entries=4, design=Design(blocks=8, min_blocks=8, repeats=1), count=TABLES)
    assert found.with_false_claims <= TABLES * 0.05 + 2 * math.sqrt(TABLES * 0.05 * 0.95)
    assert found.wrong_signs == 0
    assert found.coverage >= COVERED.get(world, 0.93)


@pytest.mark.parametrize("blocks", [6, 7])
def test_the_fewest_blocks_cover_as_often_as_more(blocks: int) -> None:
    design = Design(blocks=blocks, min_blocks=blocks, repeats=1)
    assert 0.94 <= level("calm", entries=6, design=design, count=TABLES).coverage <= 0.985


@pytest.mark.parametrize(
    ("world", "blocks", "gap", "share"),
    [
        ("calm", 6, 0.10, 0.9),
        ("calm", 13, 0.05, 0.6),
        ("tails", 8, 0.10, 0.85),
        ("heavy tails", 8, 0.10, 0.9),
        ("correlated 0.5", 13, 0.10, 0.85),
    ],
)
def test_what_truly_differs_is_found(world: str, blocks: int, gap: float, share: float) -> None:
    """Not so much is given away for the levels that nothing is found."""
    design = Design(blocks=blocks, min_blocks=blocks, repeats=1)
    assert power(world, entries=3, design=design, count=TABLES, gap=gap) >= share
