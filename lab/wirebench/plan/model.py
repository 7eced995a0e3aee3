"""The plan of a run as it stands in ``plan.json``: all that is needed to draw its blocks again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wirebench.catalog.model import Role
from wirebench.catalog.studies import Cell
from wirebench.plan.blocks import Entry, PlannedTrial, draw_block

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """One cell with the entries that run in it and the limits of its stop rule."""

    study: str
    role: Role
    cell: Cell
    entries: tuple[Entry, ...]
    floors: tuple[str, ...]
    """Entries that are the floor: the ratios of the cell are to the first."""
    twin: str | None
    """The contestant that is entered twice."""
    server: str | None
    """For a client study: the contestant that serves."""
    min_blocks: int
    max_blocks: int
    precision: float

    @property
    def key(self) -> str:
        return f"{self.study}.{self.cell.id}"

    def block(self, number: int, *, seed: int) -> tuple[PlannedTrial, ...]:
        return draw_block(
            self.entries, seed=seed, study=self.study, cell=self.cell.id, block=number
        )


@dataclass(frozen=True, kw_only=True)
class StudyText:
    """What a report says about a study of the run."""

    name: str
    title: str
    question: str
    role: Role
    preset: str
    preset_title: str


@dataclass(frozen=True, kw_only=True)
class Plan:
    schema: int = SCHEMA
    seed: int
    studies: tuple[StudyText, ...]
    cells: tuple[PlannedCell, ...]
    budget_ns: int | None
    estimate_ns: int
    """How long the measuring of the blocks that are certain to run was expected to take."""
    builds: dict[str, str]
    """The build hash of every contestant that takes part: a resumed run must have the same."""
    order: tuple[str, ...]
    """Trial ids of the blocks that are certain to run, in the order they run."""

    def blocks(self, numbers: range) -> Iterator[PlannedTrial]:
        """The trials of these blocks: block by block, and in each block cell after cell.

        Cells take turns block by block, so that slow drift of the machine falls on all of them, and
        an interrupted run has about as many blocks of each.
        """
        for number in numbers:
            for cell in self.cells:
                yield from cell.block(number, seed=self.seed)
