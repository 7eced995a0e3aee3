"""The scope of a run on this host: contestants, checks and time, before anything is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wirebench.catalog.model import Contestant
from wirebench.catalog.studies import Preset, Study, select_cells
from wirebench.plan.choose import Chosen, choose, plan_cell
from wirebench.plan.estimate import VERIFY_NS, block_ns, build_ns
from wirebench.run.bench import Absence, Bench, Check
from wirebench.store.records import AbsentRecord, Selection


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The scope of a selection on this host, known before anything is built."""

    selection: Selection
    studies: tuple[tuple[Study, Preset], ...]
    cells: tuple[Chosen, ...]
    """With the contestants that can run here."""
    needed: Mapping[str, Contestant]
    """Every contestant to build: those of the cells, and the servers of the client studies."""
    absent: tuple[AbsentRecord, ...]
    unbuilt: tuple[str, ...]
    budget_ns: int | None
    measuring_ns: int
    building_ns: int
    verifying_ns: int


def scope_of(
    selection: Selection,
    *,
    studies: Mapping[str, Study],
    wanted: Sequence[Contestant],
    everybody: Mapping[str, Contestant],
    bench: Bench,
) -> Scope:
    """Determine which contestants will be measured where, which cannot be, and the time it will
    take.
    """
    presets = [
        (studies[name], studies[name].preset(selection.preset)) for name in selection.studies
    ]
    chosen_studies = select_cells(presets, selection.cells)
    cells = choose(chosen_studies, wanted=wanted, everybody=everybody, by_preset=not selection.only)
    candidates = {one.identity: one for cell in cells for one in (*cell.contestants, *cell.servers)}
    gone = bench.absent(candidates)
    here = tuple(
        replace(
            cell,
            contestants=tuple(one for one in cell.contestants if one.identity not in gone),
            servers=tuple(one for one in cell.servers if one.identity not in gone)[:1],
        )
        for cell in cells
    )
    needed = {one.identity: one for cell in here for one in (*cell.contestants, *cell.servers)}
    unbuilt = tuple(name for name, one in needed.items() if not bench.is_built(one))
    budgets = [preset.budget_ns for _, preset in chosen_studies if preset.budget_ns is not None]
    checks = checks_of(here)
    return Scope(
        selection=selection,
        studies=tuple(chosen_studies),
        cells=here,
        needed=needed,
        absent=_absences(cells, gone),
        unbuilt=unbuilt,
        budget_ns=(
            selection.budget_ns if selection.budget_ns is not None else (sum(budgets) or None)
        ),
        measuring_ns=sum(
            (selection.blocks or cell.preset.min_blocks)
            * block_ns(
                cell.cell,
                _likely_entries(cell, seed=selection.seed),
                hardware_threads=bench.hardware_threads,
            )
            for cell in here
        ),
        building_ns=build_ns(unbuilt),
        verifying_ns=sum(VERIFY_NS[one.role] for one in checks),
    )


def _likely_entries(cell: Chosen, *, seed: int) -> list[str]:
    """The contestants of a cell with the twin's second entry, assuming that all pass
    their checks.
    """
    planned = plan_cell(
        cell, usable={one.identity for one in cell.contestants}, server=None, seed=seed, blocks=None
    )
    return [entry.contestant for entry in planned.entries]


def _absences(cells: Sequence[Chosen], gone: Mapping[str, Absence]) -> tuple[AbsentRecord, ...]:
    studies: dict[str, list[str]] = {}
    for cell in cells:
        for one in cell.contestants:
            names = studies.setdefault(one.identity, [])
            if one.identity in gone and cell.study.name not in names:
                names.append(cell.study.name)
    return tuple(
        AbsentRecord(
            contestant=name,
            studies=tuple(names),
            kind=gone[name].kind,
            reason=gone[name].reason,
            install=gone[name].install,
        )
        for name, names in sorted(studies.items())
        if names
    )


def checks_of(cells: Sequence[Chosen]) -> tuple[Check, ...]:
    """The checks that the cells need, each once. A server is checked before the clients that call
    it.
    """
    checks: dict[tuple[str, str], Check] = {}
    for cell in cells:
        server = next(iter(cell.servers), None)
        if server is not None:
            wanted = Check(contestant=server, role="server", workload=cell.cell.workload)
            checks.setdefault(wanted.key, wanted)
        for one in cell.contestants:
            wanted = Check(
                contestant=one, role=cell.study.role, workload=cell.cell.workload, server=server
            )
            checks.setdefault(wanted.key, wanted)
    return tuple(checks.values())
