"""The scope of a run on this host: contestants, checks and time, before anything is built."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import link_of
from wirebench.catalog.model import Contestant, Role
from wirebench.catalog.selection import select_cells, with_ramps
from wirebench.catalog.studies import Cell, Preset, Study
from wirebench.plan.choose import (
    Chosen,
    choose,
    has_cores_for,
    plan_cell,
    takes_part,
    too_slow_to_warm,
)
from wirebench.plan.estimate import NO_PACES, VERIFY_NS, Paces, block_ns, build_ns, moving_ns
from wirebench.plan.files import too_few_files
from wirebench.plan.fit import ESTIMATE_SHARE, cells_that_fit
from wirebench.plan.model import PlannedCell
from wirebench.run.bench import Absence, Bench, Check
from wirebench.store.records import AbsentRecord, Selection


@dataclass(frozen=True, kw_only=True)
class CellForecast:
    """The blocks of a cell and their time, assuming that all its contestants pass their checks."""

    planned: PlannedCell
    block_ns: int
    moving_ns: int
    """For the copies of builds that its repeats run from."""

    @property
    def mandatory_ns(self) -> int:
        return self.planned.min_blocks * self.block_ns + self.moving_ns


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The scope of a selection on this host, known before anything is built."""

    selection: Selection
    studies: tuple[tuple[Study, Preset], ...]
    cells: tuple[Chosen, ...]
    """With the contestants that can run here."""
    forecasts: tuple[CellForecast, ...]
    """Of the same cells, in the same order."""
    untimely: tuple[str, ...]
    """Cells (``study.cell``) of the preset that the time budget has no room for."""
    needed: Mapping[str, Contestant]
    """Every contestant to build: those that can hold the connections of one of their cells, and the
    servers of the client studies.
    """
    roles: Mapping[str, frozenset[Role]]
    """What each of them is needed for."""
    checks: tuple[Check, ...]
    """What is asked of them before anything is timed."""
    absent: tuple[AbsentRecord, ...]
    unwarmed: tuple[str, ...]
    """Contestants for whose warm-up the preset has no time in any of its cells."""
    overfull: Mapping[tuple[str, str], tuple[str, ...]]
    """Contestants that cannot hold the connections of a cell, by the cell's id and the reason."""
    unbuilt: tuple[str, ...]
    budget_ns: int | None
    measuring_ns: int
    building_ns: int
    verifying_ns: int
    notes: tuple[str, ...] = ()
    """Which cells this host cannot have, and why."""
    paces: Paces = NO_PACES
    """What earlier runs showed of the contestants' times."""


def scope_of(
    selection: Selection,
    *,
    studies: Mapping[str, Study],
    wanted: Sequence[Contestant],
    everybody: Mapping[str, Contestant],
    bench: Bench,
    planned: Collection[str] | None = None,
    paces: Paces = NO_PACES,
) -> Scope:
    """Determine which contestants will be measured where, which cannot be, and the time it will
    take.

    ``planned``: the cells (``study.cell``) of the run that is resumed. Without it, those that the
    time budget has room for. ``paces``: what earlier runs showed of the contestants' times.
    """
    presets = [
        (studies[name], studies[name].preset(selection.preset)) for name in selection.studies
    ]
    if selection.ramp is not None:
        presets = with_ramps(presets, selection.ramp)
    chosen_studies, notes = _fitting(select_cells(presets, selection.cells), bench)
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
    budget_ns = selection.budget_ns
    if budget_ns is None:
        # The time of a preset is that of a run, however many studies share it.
        budget_ns = max((preset.budget_ns or 0 for _, preset in chosen_studies), default=0) or None
    forecasts = [_forecast(cell, selection, bench=bench, paces=paces) for cell in here]
    kept = list(range(len(here)))
    if planned is not None:
        kept = [place for place, cell in enumerate(here) if cell.key in planned]
    elif budget_ns is not None:
        costs = [(cell.planned.study, cell.mandatory_ns) for cell in forecasts]
        kept = cells_that_fit(costs, budget_ns * ESTIMATE_SHARE)
    untimely = tuple(cell.key for place, cell in enumerate(here) if place not in kept)
    here = tuple(here[place] for place in kept)
    able = tuple(_able(cell, open_files=bench.open_files) for cell in here)
    needed = {one.identity: one for cell in able for one in (*cell.contestants, *cell.servers)}
    unbuilt = tuple(name for name, one in needed.items() if not bench.is_built(one))
    checks = _checks_of(able)
    return Scope(
        selection=selection,
        studies=tuple(chosen_studies),
        cells=here,
        forecasts=tuple(forecasts[place] for place in kept),
        untimely=untimely,
        needed=needed,
        roles=_roles(checks),
        checks=checks,
        absent=_absences(cells, gone),
        unwarmed=() if selection.only else _unwarmed(chosen_studies, wanted, measured=needed),
        overfull=_overfull(here, open_files=bench.open_files),
        unbuilt=unbuilt,
        budget_ns=budget_ns,
        measuring_ns=sum(forecasts[place].mandatory_ns for place in kept),
        building_ns=build_ns(unbuilt),
        verifying_ns=sum(VERIFY_NS[one.role] for one in checks),
        notes=notes,
        paces=paces,
    )


def _fitting(
    studies: Sequence[tuple[Study, Preset]], bench: Bench
) -> tuple[list[tuple[Study, Preset]], tuple[str, ...]]:
    """The presets without the cells that this host cannot have, and a note for each reason.
    ``CatalogError`` if no cell is left.
    """
    refused = _refused([cell for _, preset in studies for cell in preset.cells], bench)
    kept = []
    gone: dict[str, list[str]] = {}
    for study, preset in studies:
        cells = tuple(cell for cell in preset.cells if cell not in refused)
        for cell in preset.cells:
            if cell in refused:
                gone.setdefault(refused[cell], []).append(f"{study.name} {cell.id}")
        if cells:
            kept.append((study, replace(preset, cells=cells)))
    notes = tuple(f"not run: {', '.join(cells)}: {reason}" for reason, cells in gone.items())
    if notes and not kept:
        raise CatalogError("; ".join(notes))
    return kept, notes


def _refused(cells: Sequence[Cell], bench: Bench) -> dict[Cell, str]:
    """The cells that this host cannot have, each with the reason: those on all cores where those
    are a single core, those over an emulated link where the host allows none, and those whose load
    cannot be put on here.
    """
    threads = bench.hardware_threads
    reasons = {
        cell: f"all cores but the generator's are fewer than two here ({threads} in all)"
        for cell in cells
        if not has_cores_for(cell, hardware_threads=threads)
    }
    linked = [cell for cell in cells if link_of(cell.load) is not None]
    refusal = bench.link_refusal() if linked else None
    if refusal is not None:
        reasons |= dict.fromkeys(linked, f"no emulated link here: {refusal}")
    for cell in cells:
        if (why := bench.load_refusal(cell.load)) is not None:
            reasons[cell] = why
    return reasons


def _forecast(cell: Chosen, selection: Selection, *, bench: Bench, paces: Paces) -> CellForecast:
    files = bench.open_files
    # Clients without a server have no trials.
    served = cell.study.role == "server" or cell.servers
    able = _able(cell, open_files=files).contestants if served else ()
    planned = plan_cell(
        cell,
        usable={one.identity for one in able},
        server=cell.servers[0].identity if cell.servers else None,
        seed=selection.seed,
        blocks=selection.blocks,
        repeats=selection.repeats,
        budgeted=selection.budget_ns is not None,
        open_files=files,
    )
    names = [entry.contestant for entry in planned.entries]
    known = {one.identity: one for one in cell.contestants}
    return CellForecast(
        planned=planned,
        block_ns=block_ns(
            cell.cell,
            (known[name] for name in names),
            hardware_threads=bench.hardware_threads,
            paces=paces,
        ),
        moving_ns=moving_ns(
            len({*names, *(one.identity for one in cell.servers)}),
            min_blocks=planned.min_blocks,
            repeats=planned.repeats,
        ),
    )


def _able(cell: Chosen, *, open_files: int) -> Chosen:
    """The cell with those of its contestants that can hold its connections."""
    return replace(
        cell,
        contestants=tuple(
            one
            for one in cell.contestants
            if too_few_files(one, cell.cell, open_files=open_files) is None
        ),
    )


def _overfull(
    cells: Sequence[Chosen], *, open_files: int
) -> dict[tuple[str, str], tuple[str, ...]]:
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for cell in cells:
        for one in cell.contestants:
            reason = too_few_files(one, cell.cell, open_files=open_files)
            if reason is not None:
                key = (cell.cell.id, reason)
                found[key] = (*found.get(key, ()), one.identity)
    return found


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


def _unwarmed(
    studies: Sequence[tuple[Study, Preset]],
    wanted: Sequence[Contestant],
    *,
    measured: Collection[str],
) -> tuple[str, ...]:
    """Those that the presets do not leave out by name either."""
    found = {
        one.identity
        for _, preset in studies
        for cell in preset.cells
        for one in wanted
        if takes_part(one, cell)
        and too_slow_to_warm(one, cell, preset)
        and one.identity not in preset.without
    }
    return tuple(sorted(found - set(measured)))


def _roles(checks: Sequence[Check]) -> dict[str, frozenset[Role]]:
    roles: dict[str, set[Role]] = {}
    for one in checks:
        roles.setdefault(one.contestant.identity, set()).add(one.role)
    return {name: frozenset(found) for name, found in roles.items()}


def _checks_of(cells: Sequence[Chosen]) -> tuple[Check, ...]:
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
