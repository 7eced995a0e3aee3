"""Which contestants take part in which cell."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from wirebench.catalog.loads import ClientLoad, on_all_cores, over_tls
from wirebench.catalog.model import Contestant
from wirebench.catalog.studies import Cell, Preset, Study
from wirebench.plan.blocks import choose_twin, entries_of
from wirebench.plan.estimate import warming_ns
from wirebench.plan.files import processes_for, processes_of
from wirebench.plan.model import PlannedCell


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """One cell before the twin is drawn: its possible contestants, and for a client study its
    servers.
    """

    study: Study
    preset: Preset
    cell: Cell
    contestants: tuple[Contestant, ...]
    servers: tuple[Contestant, ...]
    """For a client study: the possible servers, the preferred one first."""

    @property
    def key(self) -> str:
        return f"{self.study.name}.{self.cell.id}"


def has_cores_for(cell: Cell, *, hardware_threads: int) -> bool:
    """Whether a cell on all cores differs from one on a single core here: the generator keeps one
    core for itself.
    """
    return not on_all_cores(cell.load) or hardware_threads > 2


def takes_part(contestant: Contestant, cell: Cell) -> bool:
    """Whether the contestant can play its role in the cell: serve the workload, or call
    the scheme by the method.
    """
    if isinstance(cell.load, ClientLoad):
        asked = cell.load
        return asked.scheme in contestant.calls and (asked.method == "GET" or contestant.posts)
    return _serves(contestant, cell)


def _serves(contestant: Contestant, cell: Cell) -> bool:
    """Whether it serves the cell's workload, over TLS if the cell uses TLS."""
    return cell.workload in contestant.serves and (contestant.tls or not over_tls(cell.load))


def too_slow_to_warm(contestant: Contestant, cell: Cell, preset: Preset) -> bool:
    """Whether the preset has no time for what the contestant's runtime needs before each trial."""
    longest = preset.longest_warmup_ns
    return longest is not None and warming_ns(contestant, cell) > longest


def choose(
    studies: Sequence[tuple[Study, Preset]],
    *,
    wanted: Sequence[Contestant],
    everybody: Mapping[str, Contestant],
    by_preset: bool = False,
) -> tuple[Chosen, ...]:
    """The cells with the wanted contestants and the floor, which is in every block even if not
    asked for.

    ``by_preset``: apply the preset's lists of contestants to keep and to leave out, and leave out
    those that it has no time to warm up. A cell with only the floor is left out, unless only the
    floor was asked for.
    """
    floors = {one.identity for one in wanted if one.tier == "floor"}
    chosen = []
    for study, preset in studies:
        names = {one.identity for one in wanted}
        if by_preset:
            names = (names & set(preset.contestants) if preset.contestants else names) - set(
                preset.without
            )
        for cell in preset.cells:
            members = tuple(
                one
                for one in everybody.values()
                if takes_part(one, cell)
                and (one.identity in names or one.tier == "floor")
                and not (by_preset and too_slow_to_warm(one, cell, preset))
            )
            if names and all(one.tier == "floor" for one in members) and not names <= floors:
                continue
            own = cell.load.server if isinstance(cell.load, ClientLoad) else None
            servers = tuple(
                everybody[name]
                for name in (study.servers if own is None else (own,))
                if name in everybody and _serves(everybody[name], cell)
            )
            chosen.append(
                Chosen(study=study, preset=preset, cell=cell, contestants=members, servers=servers)
            )
    return tuple(chosen)


MOST_BLOCKS = 200
"""With a time budget of the user's, the budget ends the run, and this is the limit of a cell. Our
own choice.
"""


def plan_cell(
    chosen: Chosen,
    *,
    usable: Collection[str],
    server: str | None,
    seed: int,
    blocks: int | None,
    repeats: int | None = None,
    budgeted: bool = False,
    open_files: int,
) -> PlannedCell:
    """The planned cell: its usable contestants (built, with correct replies) and the twin.
    ``open_files`` is what a process may open here.

    ``blocks`` and ``repeats`` replace those of the preset. ``budgeted``: the user gave a time
    budget, which takes the place of the preset's most blocks.
    """
    members = [one for one in chosen.contestants if one.identity in usable]
    floors = tuple(one.identity for one in members if one.tier == "floor")
    names = [one.identity for one in members]
    twin = choose_twin(
        names, floors=floors, seed=seed, study=chosen.study.name, cell=chosen.cell.id
    )
    processes = processes_for(chosen.cell, open_files=open_files)
    own = {one.identity: processes_of(one, chosen.cell, open_files=open_files) for one in members}
    return PlannedCell(
        study=chosen.study.name,
        role=chosen.study.role,
        cell=chosen.cell,
        entries=entries_of(names, twin=twin),
        floors=floors,
        twin=twin,
        server=server,
        min_blocks=blocks or chosen.preset.min_blocks,
        max_blocks=blocks
        or (max(MOST_BLOCKS, chosen.preset.max_blocks) if budgeted else chosen.preset.max_blocks),
        precision=chosen.preset.precision,
        repeats=repeats or chosen.preset.repeats,
        processes=processes,
        open_files=open_files,
        more_processes={name: count for name, count in own.items() if count > processes},
    )
