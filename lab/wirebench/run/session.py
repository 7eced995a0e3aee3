"""One run from its selection to its exit code: build, verify, plan, measure, store. A session
starts a run or resumes one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from wirebench.catalog.loads import ClientLoad
from wirebench.catalog.model import Contestant
from wirebench.catalog.studies import Preset, Study
from wirebench.plan.blocks import PlannedTrial
from wirebench.plan.choose import Chosen, plan_cell
from wirebench.plan.estimate import Pace, block_ns, build_ns, trial_of_ns
from wirebench.plan.files import too_few_files
from wirebench.plan.model import Plan, PlannedCell, StudyText
from wirebench.plan.stop import Look
from wirebench.process.interrupt import check, hold
from wirebench.run.bench import Bench, Check, check_name
from wirebench.run.measure import Dropped, Measured, Watcher, measure, not_run
from wirebench.run.scope import Scope
from wirebench.run.sound import Void
from wirebench.run.spec import Capacity, spec_of
from wirebench.store.records import LeftRecord, RunInfo, VerifyRecord
from wirebench.store.rundir import RunDirectory, StoredRun
from wirebench.trial.record import FailureRecord, Status, TrialRecord, who_failed
from wirebench.trial.types import TrialSpec

ALL_MEASURED = 0

SOMETHING_FAILED = 1

NOTHING_VALID = 3


_MINUTE_NS = 60_000_000_000
_OF_THE_HOST = ("not_installed", "open_files")
"""Why a contestant is in no block of a cell, when that says nothing about it."""


Counted = Callable[[Sequence[TrialRecord]], Sequence[TrialRecord]]
"""The trials of a run that say something of their entries: without those of dropped blocks."""


class RunStopped(Exception):  # noqa: N818  # what is measured stands
    """A run cannot go on now, and can be completed later. The text is for the user."""


def _no_capacity(_cell: str, _contestant: str) -> None:
    """For plans without a cell whose rate is a share."""


class Reporter(Protocol):
    """Called during builds and checks, before the trials."""

    def building(self, names: Sequence[str], done: int, count: int) -> None:
        """``names`` are being built; ``done`` of ``count`` are, or could not be."""
        ...

    def built(self, name: str, failure: FailureRecord | None) -> None: ...

    def verifying(self, name: str, workload: str, number: int, count: int) -> None: ...

    def verified(self, record: VerifyRecord) -> None: ...


@dataclass(kw_only=True)
class Session:
    """A run in progress: its directory and what is known so far."""

    directory: RunDirectory
    info: RunInfo
    scope: Scope
    bench: Bench
    reporter: Reporter
    before: StoredRun | None = None
    """The interrupted run that this one resumes."""

    def __post_init__(self) -> None:
        self._trials: list[TrialRecord] = list(self.before.trials) if self.before else []
        self._left = list(self.before.left) if self.before else []
        self._known = {record.trial for record in self._trials}
        self._verified = self._verified_before()
        self._built: set[str] = set()
        """Whose build has ended, well or not."""
        self._unbuildable: dict[str, FailureRecord] = {}
        self._keys: dict[str, str] = {}

    def _verified_before(self) -> dict[tuple[str, str], VerifyRecord]:
        """The checks that the interrupted run made and that still hold. Its plan binds the builds.
        Without one, a contestant may have changed since, and what is known is of another build.
        """
        if self.before is None:
            return {}
        found = {(one.contestant, one.workload): one for one in self.before.verified}
        if self.before.plan is not None:
            return found
        return {
            check.key: record
            for check in self.scope.checks
            if (record := found.get(check.key)) is not None
            and record.builds == {one.identity: self.bench.build_key(one) for one in check.needs}
        }

    @property
    def trials(self) -> tuple[TrialRecord, ...]:
        return tuple(self._trials)

    @property
    def left(self) -> tuple[LeftRecord, ...]:
        return tuple(self._left)

    def prepare(self) -> Plan:
        """Build and verify all contestants, then draw the plan. A resumed run already
        has its plan.
        """
        stored = self.before.plan if self.before else None
        needed = self.scope.needed
        wanted = [one for name, one in needed.items() if stored is None or name in stored.builds]
        # Each is checked when it is built. Those that take far longer than others go first: at the
        # end one would leave the other cores idle.
        slowest_first = sorted(wanted, key=lambda one: -(build_ns([one.identity]) // _MINUTE_NS))
        self.bench.begin_builds(slowest_first, roles=self.scope.roles)
        again = self._verify(wanted) if stored is None else []
        while missing := self._unbuilt(wanted):
            self._wait_for_a_build(missing, count=len(wanted))
        for number, one in enumerate(again, start=1):
            self._check(one, number, len(again))
        if stored is not None:
            return stored
        plan = self._plan()
        with hold():  # who is left out, and why, is of the builds in the plan
            for cell in self.scope.cells:
                self._note_excluded(cell)
            self.directory.write_plan(plan)
        return plan

    def measure(
        self,
        plan: Plan,
        *,
        look: Look,
        dropped: Dropped,
        void: Void = lambda _: None,
        capacity: Capacity = _no_capacity,
        watcher: Watcher,
    ) -> Measured:
        return measure(
            plan,
            done=self.trials,
            run_trial=lambda trial, cell: self._run_trial(trial, cell, capacity),
            keep=self.keep,
            leave=self.note_left,
            look=look,
            dropped=dropped,
            void=void,
            clock_ns=time.monotonic_ns,
            pace=self.pace(plan),
            watcher=watcher,
        )

    def pace(self, plan: Plan) -> Pace:
        """The estimated time of every trial."""
        return Pace(
            estimated={
                (cell.key, entry.name): self._estimate_ns(cell, entry.contestant)
                for cell in plan.cells
                for entry in cell.entries
            }
        )

    def _estimate_ns(self, cell: PlannedCell, contestant: str) -> int:
        """Of one trial; 0 where a resumed run goes on without the contestant."""
        known = self.scope.needed.get(contestant)
        if known is None:
            return 0
        return trial_of_ns(
            cell.cell,
            known,
            hardware_threads=self.bench.hardware_threads,
            paces=self.scope.paces,
        )

    def exit_code(
        self, *, counted: Counted = lambda trials: trials, void: Void = lambda _: None
    ) -> int:
        """By the trials that are ``counted``, of which those that are ``void`` measured nothing."""
        trials = counted(self._trials)
        if not any(record.status == "ok" and void(record) is None for record in trials):
            return NOTHING_VALID
        return SOMETHING_FAILED if any(who_failed(one) for one in trials) else ALL_MEASURED

    def _unbuilt(self, contestants: Iterable[Contestant]) -> list[Contestant]:
        return [one for one in contestants if one.identity not in self._built]

    def _wait_for_a_build(self, contestants: Sequence[Contestant], *, count: int) -> None:
        """Until one of these is built, or cannot be."""
        check()
        if names := self.bench.building():
            self.reporter.building(names, len(self._built), count)
        contestant = self.bench.first_built(contestants)
        built = self.bench.build(contestant)
        name = contestant.identity
        self._built.add(name)
        if built.failure is not None:
            self._unbuildable[name] = built.failure
        elif built.key is not None:
            self._keys[name] = built.key
        self.reporter.built(name, built.failure)

    def _verify(self, wanted: Sequence[Contestant]) -> list[Check]:
        """Check what is built while other contestants are still being built: of the checks whose
        contestants are there, the first in the order of the cells.

        Returns the checks that failed meanwhile: they are due again when no build takes the cores
        any more, since some of them end after two seconds.
        """
        again = []
        due = [one for one in self.scope.checks if one.key not in self._verified]
        count = len(due)
        while due:
            ready = next((one for one in due if not self._unbuilt(one.needs)), None)
            if ready is None:
                missing = {one.identity: one for each in due for one in self._unbuilt(each.needs)}
                self._wait_for_a_build(list(missing.values()), count=len(wanted))
                continue
            number = count - len(due) + 1
            due.remove(ready)
            if any(one.identity in self._unbuildable for one in ready.needs):
                continue
            if not self._check(ready, number, count, final=not self.bench.building()):
                again.append(ready)
        return again

    def _check(self, one: Check, number: int, count: int, *, final: bool = True) -> bool:
        """Whether the result stands. A failure that is not ``final`` is not kept."""
        check()
        name, workload = one.key
        self.reporter.verifying(name, workload, number, count)
        with hold():
            record = replace(
                self.bench.verify(one),
                builds={each.identity: self._keys[each.identity] for each in one.needs},
            )
            if record.status == "failed" and not final:
                return False
            self.directory.append_verify(record)
        self._verified[one.key] = record
        self.reporter.verified(record)
        return True

    def _trouble(self, cell: Chosen, contestant: Contestant) -> FailureRecord | None:
        """Why the contestant is in no block of the cell; None if it takes part."""
        if contestant.identity in self._unbuildable:
            return self._unbuildable[contestant.identity]
        if cell.study.role == "client":
            why = self._without_server(cell)
            if why is not None:
                message = f"no server for {cell.cell.workload} here: {why}"
                return FailureRecord(kind="not_installed", phase="verify", message=message)
        fault = self._fault(contestant.identity, cell.study.role, cell)
        if fault is None and cell.study.role == "server":
            files = too_few_files(contestant, cell.cell, open_files=self.bench.open_files)
            if files is not None:
                return FailureRecord(kind="open_files", phase="plan", message=files)
        return fault

    def _without_server(self, cell: Chosen) -> str | None:
        """Why nobody serves the clients of the cell; None if somebody does."""
        server = next(iter(cell.servers), None)
        if server is None:
            load = cell.cell.load
            own = load.server if isinstance(load, ClientLoad) else None
            return f"none of {own or ', '.join(cell.study.servers)} is installed"
        fault = self._fault(server.identity, "server", cell)
        return None if fault is None else f"{server.identity}: {fault.kind}: {fault.message}"

    def _fault(self, name: str, role: str, cell: Chosen) -> FailureRecord | None:
        if name in self._unbuildable:
            return self._unbuildable[name]
        record = self._verified.get(
            (name, check_name("client" if role == "client" else "server", cell.cell.workload))
        )
        return record.failure if record is not None and record.status == "failed" else None

    def _plan(self) -> Plan:
        selection = self.scope.selection
        seed = selection.seed
        cells = []
        for chosen in self.scope.cells:
            usable = {
                one.identity for one in chosen.contestants if self._trouble(chosen, one) is None
            }
            server = chosen.servers[0].identity if chosen.servers else None
            cells.append(
                plan_cell(
                    chosen,
                    usable=usable,
                    server=server,
                    seed=seed,
                    blocks=selection.blocks,
                    repeats=selection.repeats,
                    budgeted=selection.budget_ns is not None,
                    open_files=self.bench.open_files,
                )
            )
        threads = self.bench.hardware_threads
        plan = Plan(
            seed=seed,
            studies=tuple(_text(study, preset, self.scope) for study, preset in self.scope.studies),
            cells=tuple(cells),
            budget_ns=self.scope.budget_ns,
            estimate_ns=sum(
                cell.min_blocks
                * block_ns(
                    cell.cell,
                    [self.scope.needed[entry.contestant] for entry in cell.entries],
                    hardware_threads=threads,
                    paces=self.scope.paces,
                )
                for cell in cells
            ),
            builds=dict(self._keys),
            order=(),
        )
        fewest = min((cell.min_blocks for cell in cells), default=0)
        return replace(plan, order=tuple(trial.id for trial in plan.blocks(range(1, fewest + 1))))

    def _note_excluded(self, cell: Chosen) -> None:
        """Record each contestant that has no trial in the cell, so that the tables show it with the
        reason.
        """
        for one in cell.contestants:
            trouble = self._trouble(cell, one)
            trial = PlannedTrial.excluded(cell.study.name, cell.cell.id, one.identity)
            if trouble is None or trial.id in self._known:
                continue
            status: Status = "not_run" if trouble.kind in _OF_THE_HOST else "failed"
            self.keep(not_run(trial, trouble, status=status, at_unix_ns=time.time_ns()))

    def _run_trial(self, trial: PlannedTrial, cell: PlannedCell, capacity: Capacity) -> TrialRecord:
        spec = self.spec(trial, cell, capacity)
        return (
            not_run(trial, spec) if isinstance(spec, FailureRecord) else self.bench.run_trial(spec)
        )

    def spec(
        self, trial: PlannedTrial, cell: PlannedCell, capacity: Capacity
    ) -> TrialSpec | FailureRecord:
        """What a bench is asked to do for the trial, or why it cannot take place."""
        return spec_of(
            trial,
            cell,
            everybody={
                name: one
                for name, one in self.scope.needed.items()
                if name not in self._unbuildable  # only after a forced resume
            },
            hardware_threads=self.bench.hardware_threads,
            seed=self.scope.selection.seed,
            capacity=capacity,
        )

    def note_left(self, record: LeftRecord) -> None:
        if record not in self._left:
            self.directory.append_left(record)
            self._left.append(record)

    def keep(self, *records: TrialRecord) -> None:
        """Store the trials that the run does not have: each is kept once, wherever it comes from
        and however often.
        """
        new = {one.trial: one for one in records if one.trial not in self._known}
        if new:
            self.directory.append_trial(*new.values())
            self._trials += new.values()
            self._known |= new.keys()


def _text(study: Study, preset: Preset, scope: Scope) -> StudyText:
    spared = () if scope.selection.only else preset.without
    own = f"{study.name}."
    untimely = (key.removeprefix(own) for key in scope.untimely if key.startswith(own))
    return StudyText(
        name=study.name,
        title=study.title,
        question=study.question,
        role=study.role,
        preset=preset.name,
        preset_title=preset.title,
        left_out=dict.fromkeys(spared, f"the preset {preset.name} leaves it out")
        | dict.fromkeys(scope.unwarmed, f"the preset {preset.name} has no time for its warm-up")
        | dict.fromkeys(untimely, "the run's time does not hold this cell"),
    )


def finish(
    session: Session, *, status: str, exit_code: int, now_unix_ns: Callable[[], int] = time.time_ns
) -> RunInfo:
    """Write the final ``run.json``."""
    info = replace(
        session.info,
        status=status,  # type: ignore[arg-type]
        ended_unix_ns=now_unix_ns(),
        exit_code=exit_code,
        notes=tuple(dict.fromkeys((*session.info.notes, *session.bench.notes()))),
    )
    session.directory.write_info(info)
    return info
