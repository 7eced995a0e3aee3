"""The bench on this machine: the real builds, checks and trials."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from wirebench.build import LOG, Builds, builds_folder, resolve_command
from wirebench.build.cache import build_key
from wirebench.build.copies import CannotCopyError, Copies
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.link import Link
from wirebench.catalog.loads import Load, link_of
from wirebench.catalog.model import Contestant, Role, Workload
from wirebench.conformance.contestant import read_results
from wirebench.host import can_keep_awake, capture, cores_awake, presence, presences
from wirebench.host.debian import install_line
from wirebench.plan.repeats import path_filler
from wirebench.process.cores import choose_cores
from wirebench.process.link import refusal
from wirebench.process.native import find_native, missing_native
from wirebench.process.process import open_files
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.run.bench import Absence, Built, Check
from wirebench.store.records import VerifyRecord
from wirebench.trial.apart import GeneratorHost
from wirebench.trial.link_rtt import LinkRtt, measure_rtt
from wirebench.trial.record import FailureRecord, TrialRecord
from wirebench.trial.trial import run_in_turns, run_trial
from wirebench.trial.types import TrialSpec
from wirebench.verify import Traits, verify

GENERATOR = "wireload"
LINK = "wirelink"


def find_generator() -> Path:
    """The load generator."""
    found = find_native(GENERATOR)
    if found is None:
        raise CatalogError(missing_native(GENERATOR))
    return found


def find_link() -> Path | None:
    """The emulator of wide-area links."""
    return find_native(LINK)


class LocalBench:
    """Use it as a context manager: on exit, every process it started has ended."""

    def __init__(self, *, root: Path, jobs: int) -> None:
        self.root = root
        self._builds = Builds(root, jobs=jobs)
        self._supervisor = Supervisor()
        self._folders: dict[str, Path] = {}
        self._copies = Copies(root)
        self._places: dict[tuple[str, int], Path] = {}
        self._unmoved: dict[str, str] = {}
        """Contestants that run in place in every repeat, and why."""
        self._host: Mapping[str, Any] | None = None
        self._given: dict[str, Program] = {}
        self._wirelink = find_link()
        self._floor: Contestant | None = None
        self._apart: GeneratorHost | None = None
        self._rtts: dict[tuple[str, str], LinkRtt | None] = {}
        """Of each cell (study, cell) over a link, as measured before its first trial."""

    def __enter__(self) -> LocalBench:
        self._generator = find_generator()
        self._supervisor.__enter__()
        return self

    def __exit__(self, *_error: object) -> None:
        try:
            self._builds.close()
        finally:
            self._supervisor.close()
            self._copies.close()

    @property
    def hardware_threads(self) -> int:
        return len(os.sched_getaffinity(0))

    @property
    def open_files(self) -> int:
        return open_files()

    def host(self) -> Mapping[str, Any]:
        if self._host is None:
            self._host = capture().to_json()
        return self._host

    def absent(self, contestants: Mapping[str, Contestant]) -> Mapping[str, Absence]:
        found = presences(contestants.values())
        absences = {}
        for name, contestant in contestants.items():
            if contestant.disabled is not None:
                reason = (
                    f"disabled since {contestant.disabled.since.isoformat()}:"
                    f" {contestant.disabled.reason}"
                )
                absences[name] = Absence(kind="disabled", reason=reason, install=None)
            elif not found[name].complete:
                packages = found[name].installable
                absences[name] = Absence(
                    kind="not_installed",
                    reason=found[name].describe(contestant),
                    install=install_line(packages) if packages else None,
                )
        return absences

    def build_key(self, contestant: Contestant) -> str:
        return build_key(contestant, self.root.resolve(), presence(contestant))

    def is_built(self, contestant: Contestant) -> bool:
        """Whether it has a build folder, or needs none. Only the estimate asks: a failed build has
        a folder too.
        """
        if not contestant.build_steps:
            return True
        folder = (
            builds_folder(contestant, self.root.resolve())
            / f"{contestant.name}-{self.build_key(contestant)}"
        )
        return (folder / LOG).exists()

    def building(self) -> tuple[str, ...]:
        return self._builds.running()

    def give(self, name: str, program: Program) -> None:
        """A program of the user's under this contestant's name: it is not built, and not moved."""
        self._given[name] = program

    def load_from(self, host: GeneratorHost) -> None:
        """From now on the generator of this host puts the load on servers."""
        self._apart = host

    def begin_builds(
        self,
        contestants: Iterable[Contestant],
        *,
        roles: Mapping[str, Collection[Role]] | None = None,
    ) -> None:
        self._builds.begin(contestants, roles=roles)

    def first_built(self, contestants: Sequence[Contestant]) -> Contestant:
        return self._builds.first_ended(contestants)

    def build(self, contestant: Contestant) -> Built:
        result = self._builds.wait(contestant)
        if result.folder is None:
            received = result.log_tail or None
            kind = "not_installed" if result.status == "not_installed" else "build_failed"
            return Built(
                key=None,
                failure=FailureRecord(
                    kind=kind, phase="build", message=result.message, received=received
                ),
            )
        self.adopt(contestant, result.folder)
        return Built(key=result.folder.name.rpartition("-")[2], failure=None, cached=result.cached)

    def adopt(self, contestant: Contestant, folder: Path) -> None:
        """Take the build in this folder for the contestant's."""
        self._folders[contestant.identity] = folder
        if contestant.tier == "floor" and "rest" in contestant.serves:
            self._floor = contestant

    def folder_of(self, contestant: Contestant) -> Path:
        """Where its build is."""
        return self._folders[contestant.identity]

    def verify(self, check: Check) -> VerifyRecord:
        program = self._program(check.contestant, check.role)
        one = check.contestant
        verdict = verify(
            one.identity,
            check.role,
            check.workload,
            program,
            self._supervisor,
            schemes=one.calls,
            traits=Traits.of(one),
            source=one.folder,
        )
        name, workload = check.key
        return VerifyRecord(
            contestant=name,
            workload=workload,
            status="ok" if verdict.passed else "failed",
            failure=FailureRecord.of(verdict.failure),
            elapsed_ns=verdict.elapsed_ns,
            checks=tuple(one.record() for one in verdict.checks),
            probes=read_results(program.folder, check.workload) if check.role == "server" else (),
        )

    def run_trial(self, spec: TrialSpec) -> TrialRecord:
        program = self._moved(spec.contestant, spec.role, spec)
        server_program = (
            self._moved(spec.server, "server", spec) if spec.server is not None else None
        )
        with cores_awake():
            link = link_of(spec.load)
            rtt = self._rtt(spec, link) if link is not None else None
            record = run_trial(
                spec,
                program=program,
                supervisor=self._supervisor,
                wireload=self._generator,
                server_program=server_program,
                wirelink=self._wirelink,
                apart=self._apart,
            )
        if rtt is not None:
            record = replace(record, metrics={**record.metrics, "link_rtt_ns": rtt.median_ns})
        return record

    def run_in_turns(self, specs: Sequence[TrialSpec], *, length_ns: int) -> list[TrialRecord]:
        wanted = [(spec, self._moved(spec.contestant, spec.role, spec)) for spec in specs]
        with cores_awake():
            return run_in_turns(
                wanted,
                length_ns=length_ns,
                supervisor=self._supervisor,
                wireload=self._generator,
            )

    def _rtt(self, spec: TrialSpec, link: Link) -> LinkRtt | None:
        """The round trip of the cell's link, measured before its first trial. None without a floor
        that serves it.
        """
        key = (spec.study, spec.cell)
        if key not in self._rtts:
            self._rtts[key] = None
            if self._floor is not None and self._wirelink is not None:
                self._rtts[key] = measure_rtt(
                    self._supervisor,
                    link,
                    program=self._program(self._floor, "server"),
                    wireload=self._generator,
                    wirelink=self._wirelink,
                )
        return self._rtts[key]

    def link_refusal(self) -> str | None:
        with self._entered():
            return refusal(self._supervisor, self._wirelink)

    @contextmanager
    def _entered(self) -> Iterator[None]:
        """``--dry-run`` asks a bench that nobody entered."""
        if self._supervisor.entered:
            yield
        else:
            with self._supervisor:
                yield

    def load_refusal(self, load: Load) -> str | None:
        return None

    def notes(self) -> tuple[str, ...]:
        notes = []
        if choose_cores().shared:
            notes.append("server and generator share one core: throughput is their joint limit")
        if not can_keep_awake():
            notes.append(
                "idle cores may sleep: their wake-up time is part of every round trip ('wirebench"
                " doctor' shows how to keep them awake)"
            )
        for (study, cell), rtt in sorted(self._rtts.items()):
            notes.append(
                f"{study} {cell}: {rtt}"
                if rtt is not None
                else f"{study} {cell}: the round trip of its link was not measured: no floor here"
            )
        notes += [
            f"{name} ran from the same folder in every repeat: {why}"
            for name, why in sorted(self._unmoved.items())
        ]
        return tuple(notes)

    def _moved(self, contestant: Contestant, role: Role, spec: TrialSpec) -> Program:
        """The contestant as it runs in the trial's repeat: from the second on from a copy of its
        build, made before its first trial there and checked like the build itself.
        """
        name, repeat = contestant.identity, spec.repeat
        if repeat == 1 or name in self._unmoved or name in self._given:
            return self._program(contestant, role)
        place = self._places.get((name, repeat))
        if place is None or not place.is_dir():
            try:
                place = self._copies.copy(
                    self._folders[name],
                    repeat=repeat,
                    filler=path_filler(seed=spec.seed, repeat=repeat),
                )
                self._check_copy(contestant, role, spec.workload, place)
            except CannotCopyError as error:
                self._unmoved[name] = str(error)
                return self._program(contestant, role)
            self._places[name, repeat] = place
        return self._program(contestant, role, place)

    def _check_copy(
        self, contestant: Contestant, role: Role, workload: Workload, place: Path
    ) -> None:
        program = self._program(contestant, role, place)
        verdict = verify(
            contestant.identity,
            role,
            workload,
            program,
            self._supervisor,
            schemes=contestant.calls,
            traits=Traits.of(contestant),
            source=contestant.folder,
        )
        if not verdict.passed:
            self._copies.remove(place)
            why = verdict.failure.message if verdict.failure is not None else "its check failed"
            raise CannotCopyError(f"its build does not work elsewhere: {why}")

    def _program(self, contestant: Contestant, role: Role, folder: Path | None = None) -> Program:
        if contestant.identity in self._given:
            return self._given[contestant.identity]
        if folder is None:
            folder = self._folders[contestant.identity]
        return Program(argv=tuple(resolve_command(contestant, folder, role)), folder=folder)
