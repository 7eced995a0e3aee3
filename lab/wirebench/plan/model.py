"""The plan of a run as stored in ``plan.json``: everything needed to draw its blocks again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from wirebench.catalog.model import Role
from wirebench.catalog.studies import Cell
from wirebench.plan.blocks import Entry, PlannedTrial, draw_block
from wirebench.plan.repeats import order_of_cells, repeat_of

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """One cell with its entries and the limits of its stop rule."""

    study: str
    role: Role
    cell: Cell
    entries: tuple[Entry, ...]
    floors: tuple[str, ...]
    """The floor's entries. Ratios of the cell are to the first."""
    twin: str | None
    """The contestant that is entered twice."""
    server: str | None
    """For a client study: the contestant that serves."""
    min_blocks: int
    max_blocks: int
    precision: float
    repeats: int = 1
    processes: int = 1
    """How many processes each server is, so that their open files hold its connections."""
    open_files: int | None = None
    """What one process may open, as the run found it."""
    more_processes: dict[str, int] = field(default_factory=dict)
    """The contestants of which a process may open fewer than that, and how many processes each is
    for it.
    """

    def processes_of(self, contestant: str) -> int:
        return self.more_processes.get(contestant, self.processes)

    def repeat(self, block: int) -> int:
        """The repeat that a block of this cell belongs to."""
        return repeat_of(block, min_blocks=self.min_blocks, repeats=self.repeats)

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
    left_out: dict[str, str] = field(default_factory=dict)
    """Why the run lacks what the study has, by contestant or by the cell's id: as the study was
    when the plan was drawn.
    """


@dataclass(frozen=True, kw_only=True)
class Plan:
    schema: int = SCHEMA
    seed: int
    studies: tuple[StudyText, ...]
    cells: tuple[PlannedCell, ...]
    budget_ns: int | None
    estimate_ns: int
    """Estimated time of the mandatory blocks."""
    builds: dict[str, str]
    """The build hash of every contestant in the run. A resumed run must have the same."""
    order: tuple[str, ...]
    """The trial ids of the mandatory blocks, in order."""

    def blocks(self, numbers: range) -> Iterator[PlannedTrial]:
        """The trials of these blocks: block by block, and cell by cell within each block.

        Interleaving the cells spreads slow drift of the machine over all of them, and leaves an
        interrupted run with about as many blocks of each.
        """
        for number in numbers:
            for cell in self.in_turn(self.cells, number):
                yield from cell.block(number, seed=self.seed)

    def in_turn(self, cells: Sequence[PlannedCell], number: int) -> list[PlannedCell]:
        """These cells in the order they take turns in, in the given round of blocks."""
        repeat = min((cell.repeat(number) for cell in cells), default=1)
        return order_of_cells(cells, seed=self.seed, repeat=repeat)
