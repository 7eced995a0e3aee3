"""One run from the selection to its exit code: build, verify, plan, measure, store; begun anew or
resumed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from wirebench.catalog.model import Contestant
from wirebench.catalog.studies import Preset, Study, select_cells
from wirebench.plan.blocks import PlannedTrial, trial_id
from wirebench.plan.choose import Chosen, choose, plan_cell
from wirebench.plan.estimate import VERIFY_NS, Pace, block_ns, build_ns, trial_ns
from wirebench.plan.model import Plan, PlannedCell, StudyText
from wirebench.plan.stop import Settled
from wirebench.run.bench import Absence, Bench, Check, check_name, threads_of
from wirebench.run.measure import Measured, Watcher, measure, not_run
from wirebench.store.jsonl import StoreError
from wirebench.store.records import (
    AbsentRecord,
    FailureRecord,
    RunInfo,
    Selection,
    TrialRecord,
    VerifyRecord,
)
from wirebench.store.rundir import RunDirectory, StoredRun, read_run
from wirebench.trial.interrupt import check, hold
from wirebench.trial.types import TrialSpec

ALL_MEASURED = 0
SOMETHING_FAILED = 1
NOTHING_VALID = 3


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What a selection comes to on this host, known before anything is built."""

    selection: Selection
    studies: tuple[tuple[Study, Preset], ...]
    cells: tuple[Chosen, ...]
    """With the contestants that can be run here."""
    needed: Mapping[str, Contestant]
    """Everybody to build: those of the cells, and who serves the client studies."""
    absent: tuple[AbsentRecord, ...]
    unbuilt: tuple[str, ...]
    budget_ns: int | None
    measuring_ns: int
    building_ns: int
    verifying_ns: int


class Reporter(Protocol):
    """Is told what happens before the trials."""

    def building(self, name: str, number: int, count: int) -> None: ...

    def built(self, name: str, failure: FailureRecord | None) -> None: ...

    def verifying(self, name: str, workload: str, number: int, count: int) -> None: ...

    def verified(self, record: VerifyRecord) -> None: ...


def scope_of(
    selection: Selection,
    *,
    studies: Mapping[str, Study],
    wanted: Sequence[Contestant],
    everybody: Mapping[str, Contestant],
    bench: Bench,
) -> Scope:
    """Who will be measured in what, who cannot be, and how long it will take."""
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
    checks = _checks(here)
    return Scope(
        selection=selection,
        studies=tuple(chosen_studies),
        cells=here,
        needed=needed,
        absent=_absences(cells, gone),
        unbuilt=unbuilt,
        budget_ns=selection.budget_ns
        if selection.budget_ns is not None
        else (sum(budgets) or None),
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
    """The contestants of a cell with the twin's second entry, as they will be if all pass their
    checks.
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


def _checks(cells: Sequence[Chosen]) -> tuple[Check, ...]:
    """The conformance checks the cells need, each once; a server is checked before the clients that
    call it.
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


@dataclass(kw_only=True)
class Session:
    """One run under way: its directory, and what is known so far."""

    directory: RunDirectory
    info: RunInfo
    scope: Scope
    bench: Bench
    reporter: Reporter
    before: StoredRun | None = None
    """What an interrupted run left, when this resumes it."""

    def __post_init__(self) -> None:
        self._trials: list[TrialRecord] = list(self.before.trials) if self.before else []
        self._known = {record.trial for record in self._trials}
        self._verified = {
            (one.contestant, one.workload): one
            for one in (self.before.verified if self.before else ())
        }
        self._waited: set[str] = set()
        self._unbuildable: dict[str, FailureRecord] = {}
        self._keys: dict[str, str] = {}

    @property
    def trials(self) -> tuple[TrialRecord, ...]:
        return tuple(self._trials)

    def prepare(self) -> Plan:
        """Build and verify everybody, then draw the plan; a resumed run has its plan already."""
        stored = self.before.plan if self.before else None
        needed = self.scope.needed
        wanted = [one for name, one in needed.items() if stored is None or name in stored.builds]
        self.bench.begin_builds(wanted)
        if stored is None:
            self._verify(builds=len(wanted))
        for contestant in wanted:
            self._wait_for_build(contestant, count=len(wanted))
        if stored is not None:
            return stored
        plan = self._plan()
        for cell in self.scope.cells:
            self._note_excluded(cell)
        self.directory.write_plan(plan)
        return plan

    def measure(self, plan: Plan, *, settled: Settled, watcher: Watcher) -> Measured:
        return measure(
            plan,
            done=self.trials,
            run_trial=self._run_trial,
            keep=self._keep,
            settled=settled,
            clock_ns=time.monotonic_ns,
            pace=Pace(
                estimated={
                    (cell.key, entry.name): trial_ns(
                        cell.cell,
                        language=entry.contestant.split("/")[0],
                        hardware_threads=self.bench.hardware_threads,
                    )
                    for cell in plan.cells
                    for entry in cell.entries
                }
            ),
            watcher=watcher,
        )

    def exit_code(self) -> int:
        measured = [record for record in self._trials if record.status == "ok"]
        if not measured:
            return NOTHING_VALID
        return (
            SOMETHING_FAILED
            if any(record.status == "failed" for record in self._trials)
            else ALL_MEASURED
        )

    def _wait_for_build(self, contestant: Contestant, *, count: int) -> bool:
        """Whether it could be built."""
        name = contestant.identity
        if name not in self._waited:
            check()
            self._waited.add(name)
            self.reporter.building(name, len(self._waited), count)
            built = self.bench.build(contestant)
            if built.failure is not None:
                self._unbuildable[name] = built.failure
            elif built.key is not None:
                self._keys[name] = built.key
            self.reporter.built(name, built.failure)
        return name not in self._unbuildable

    def _verify(self, *, builds: int) -> None:
        """Checks what is built while others are still being built: what a check requires is an
        answer in time for a person, or not before a delay, and a busy machine changes neither.
        """
        checks = [one for one in _checks(self.scope.cells) if one.key not in self._verified]
        for number, one in enumerate(checks, start=1):
            needed = (one.contestant, *([one.server] if one.server is not None else []))
            if not all(self._wait_for_build(it, count=builds) for it in needed):
                continue
            check()
            name, workload = one.key
            self.reporter.verifying(name, workload, number, len(checks))
            with hold():
                record = self.bench.verify(one)
                self.directory.append_verify(record)
            self._verified[one.key] = record
            self.reporter.verified(record)

    def _trouble(self, cell: Chosen, contestant: Contestant) -> FailureRecord | None:
        """Why the contestant is in no block of the cell."""
        if contestant.identity in self._unbuildable:
            return self._unbuildable[contestant.identity]
        if cell.study.role == "client":
            server = next(iter(cell.servers), None)
            if server is None or self._fault(server.identity, "server", cell) is not None:
                who = ", ".join(cell.study.servers)
                message = f"nobody serves {cell.cell.workload} here: none of {who} is installed and gives the right replies"
                return FailureRecord(kind="not_installed", phase="verify", message=message)
        return self._fault(contestant.identity, cell.study.role, cell)

    def _fault(self, name: str, role: str, cell: Chosen) -> FailureRecord | None:
        if name in self._unbuildable:
            return self._unbuildable[name]
        record = self._verified.get(
            (name, check_name("client" if role == "client" else "server", cell.cell.workload))
        )
        return record.failure if record is not None and record.status == "failed" else None

    def _plan(self) -> Plan:
        seed, blocks = self.scope.selection.seed, self.scope.selection.blocks
        cells = []
        for chosen in self.scope.cells:
            usable = {
                one.identity for one in chosen.contestants if self._trouble(chosen, one) is None
            }
            server = chosen.servers[0].identity if chosen.servers else None
            cells.append(plan_cell(chosen, usable=usable, server=server, seed=seed, blocks=blocks))
        threads = self.bench.hardware_threads
        plan = Plan(
            seed=seed,
            studies=tuple(_text(study, preset) for study, preset in self.scope.studies),
            cells=tuple(cells),
            budget_ns=self.scope.budget_ns,
            estimate_ns=sum(
                cell.min_blocks
                * block_ns(
                    cell.cell,
                    [entry.contestant for entry in cell.entries],
                    hardware_threads=threads,
                )
                for cell in cells
            ),
            builds=dict(self._keys),
            order=(),
        )
        fewest = min((cell.min_blocks for cell in cells), default=0)
        return replace(plan, order=tuple(trial.id for trial in plan.blocks(range(1, fewest + 1))))

    def _note_excluded(self, cell: Chosen) -> None:
        """A record for each contestant that comes to no trial of the cell, so that the tables show
        it with the reason.
        """
        for one in cell.contestants:
            trouble = self._trouble(cell, one)
            name = trial_id(cell.study.name, cell.cell.id, 0, one.identity)
            if trouble is None or name in self._known:
                continue
            self._keep(
                TrialRecord(
                    trial=name,
                    study=cell.study.name,
                    cell=cell.cell.id,
                    block=0,
                    position=0,
                    entry=one.identity,
                    contestant=one.identity,
                    twin_of=None,
                    status="not_run" if trouble.kind == "not_installed" else "failed",
                    failure=trouble,
                    started_unix_ns=time.time_ns(),
                    elapsed_ns=0,
                )
            )

    def _run_trial(self, trial: PlannedTrial, cell: PlannedCell) -> TrialRecord:
        everybody = self.scope.needed
        for name in (trial.entry.contestant, *([cell.server] if cell.server is not None else [])):
            if name not in everybody or name in self._unbuildable:  # only when a resume was forced
                return not_run(
                    trial,
                    FailureRecord(
                        kind="not_installed", phase="plan", message=f"{name} is not here any more"
                    ),
                )
        return self.bench.run_trial(
            TrialSpec(
                trial=trial.id,
                study=trial.study,
                cell=trial.cell,
                block=trial.block,
                position=trial.position,
                entry=trial.entry.name,
                twin_of=trial.entry.twin_of,
                contestant=everybody[trial.entry.contestant],
                role=cell.role,
                workload=cell.cell.workload,
                load=cell.cell.load,
                server=everybody[cell.server] if cell.server is not None else None,
                threads=threads_of(cell.cell, hardware_threads=self.bench.hardware_threads),
                environment_bytes=trial.environment_bytes,
                port_seed=trial.port_seed,
                seed=self.scope.selection.seed,
            )
        )

    def _keep(self, record: TrialRecord) -> None:
        self.directory.append_trial(record)
        self._trials.append(record)
        self._known.add(record.trial)


def _text(study: Study, preset: Preset) -> StudyText:
    return StudyText(
        name=study.name,
        title=study.title,
        question=study.question,
        role=study.role,
        preset=preset.name,
        preset_title=preset.title,
    )


def check_resumable(run: StoredRun, *, scope: Scope, bench: Bench, force: bool) -> None:
    """Refuse to add trials that could not be compared with those the run has: of another host, or
    of other builds.
    """
    if force:
        return
    again = "start a new run, or add --force to mix them all the same"
    before, now = run.host.get("host_id"), bench.host().get("host_id")
    if run.host and before != now:
        same = (
            f"the host it was measured on ({before}), with the same right to keep its cores awake"
        )
        raise StoreError(f"{run.path}: expected {same}, got {now}; {again}")
    if run.plan is None:
        return
    for name, key in run.plan.builds.items():
        contestant = scope.needed.get(name)
        if contestant is None:
            raise StoreError(
                f"{run.path}: expected {name} as in the interrupted run, got none here; {again}"
            )
        if bench.build_key(contestant) != key:
            raise StoreError(
                f"{run.path}: expected {name} as it was built for the run ({key}), but it changed; {again}"
            )


def finish(
    session: Session, *, status: str, exit_code: int, now_unix_ns: Callable[[], int] = time.time_ns
) -> RunInfo:
    """The last word in ``run.json``."""
    info = replace(
        session.info,
        status=status,  # type: ignore[arg-type]
        ended_unix_ns=now_unix_ns(),
        exit_code=exit_code,
    )
    session.directory.write_info(info)
    return info


__all__ = ["Reporter", "Scope", "Session", "check_resumable", "finish", "read_run", "scope_of"]
