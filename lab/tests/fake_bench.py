"""A bench that measures nothing, and runs on it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from developer.simulated_duels import record_of
from test_plan import contestant
from wirebench.catalog.loads import Load
from wirebench.catalog.model import Contestant, Role
from wirebench.catalog.studies import Study
from wirebench.catalog.study_files import load_studies
from wirebench.plan.blocks import PlannedTrial
from wirebench.plan.stop import Standstill
from wirebench.run.bench import Absence, Built, Check
from wirebench.run.scope import scope_of
from wirebench.run.session import Session
from wirebench.store.records import RunInfo, Selection, VerifyRecord
from wirebench.store.rundir import RunDirectory, StoredRun
from wirebench.trial.record import FailureRecord, TrialRecord
from wirebench.trial.types import TrialSpec

STUDIES = load_studies(Path(__file__).resolve().parents[2] / "studies")
HELLO = ("http.hello",)
EVERYBODY: dict[str, Contestant] = {
    one.identity: one
    for one in (
        contestant(
            "cpp/floor",
            tier="floor",
            serves=("http.hello", "http.payload", "ws.echo", "ws.count"),
            calls=("http", "ws"),
        ),
        contestant("cpp/curl", calls=("http",)),
        contestant("go/net-http", serves=HELLO),
        contestant("node/http", serves=HELLO),
        contestant("python/mine", serves=("http.hello", "ws.count")),
    )
}


class PowerCutError(Exception):
    """Ends a run as SIGKILL would, without anything being tidied up."""


@dataclass
class FakeBench:
    hardware_threads: int = 2
    open_files: int = 20_000
    host_id: str = "this-host"
    gone: dict[str, Absence] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    unbuildable: set[str] = field(default_factory=set)
    wrong: set[tuple[str, str]] = field(default_factory=set)
    crashing: set[str] = field(default_factory=set)
    begun: list[str] = field(default_factory=list)
    built: list[str] = field(default_factory=list)
    built_for: dict[str, Collection[Role]] = field(default_factory=dict)
    ends: tuple[str, ...] = ()
    """Their builds end in this order, before all others."""
    checked: list[tuple[str, str]] = field(default_factory=list)
    ran: list[TrialSpec] = field(default_factory=list)
    cut_after: int | None = None
    building_for: int = 0
    """How many checks take place before all builds have ended."""
    right_when_quiet: set[tuple[str, str]] = field(default_factory=set)
    """Checks that fail only while something is built."""

    no_link: str | None = None
    """Why there is no emulated link."""

    def link_refusal(self) -> str | None:
        return self.no_link

    no_load: type | None = None
    """A load of this class cannot be put on."""

    def load_refusal(self, load: Load) -> str | None:
        return "no such load" if self.no_load and isinstance(load, self.no_load) else None

    def host(self) -> Mapping[str, Any]:
        return {"host_id": self.host_id}

    def absent(self, contestants: Mapping[str, Contestant]) -> Mapping[str, Absence]:
        return {name: why for name, why in self.gone.items() if name in contestants}

    def build_key(self, contestant: Contestant) -> str:
        return self.keys.get(contestant.identity, "k1")

    def is_built(self, contestant: Contestant) -> bool:
        return contestant.identity in self.built

    def building(self) -> tuple[str, ...]:
        return ("go/slow",) if len(self.checked) < self.building_for else ()

    def first_built(self, contestants: Sequence[Contestant]) -> Contestant:
        for name in self.ends:
            for one in contestants:
                if one.identity == name:
                    return one
        return contestants[0]

    def begin_builds(
        self,
        contestants: Iterable[Contestant],
        *,
        roles: Mapping[str, Collection[Role]] | None = None,
    ) -> None:
        self.begun += [one.identity for one in contestants]
        self.built_for |= roles or {}

    def build(self, contestant: Contestant) -> Built:
        self.built.append(contestant.identity)
        if contestant.identity in self.unbuildable:
            return Built(
                key=None,
                failure=FailureRecord(kind="build_failed", phase="build", message="no such header"),
            )
        return Built(key=self.build_key(contestant), failure=None)

    def verify(self, check: Check) -> VerifyRecord:
        busy = bool(self.building())
        self.checked.append(check.key)
        name, workload = check.key
        failure = None
        if check.key in self.wrong or (busy and check.key in self.right_when_quiet):
            failure = FailureRecord(
                kind="nonconformant",
                phase="verify",
                message="wrong body",
                sent="GET",
                expected="hello",
                received="404",
            )
        return VerifyRecord(
            contestant=name,
            workload=workload,
            status="failed" if failure else "ok",
            failure=failure,
            elapsed_ns=1,
        )

    def run_trial(self, spec: TrialSpec) -> TrialRecord:
        if self.cut_after is not None and len(self.ran) >= self.cut_after:
            raise PowerCutError
        self.ran.append(spec)
        crashed = spec.contestant.identity in self.crashing
        return replace(
            record_of(spec, metrics={"throughput_per_s": 5.0}, elapsed_ns=1000),
            status="failed" if crashed else "ok",
            failure=(
                FailureRecord(kind="crashed", phase="load", message="signal 11")
                if crashed
                else None
            ),
            validity={},
        )

    def run_in_turns(self, specs: Sequence[TrialSpec], *, length_ns: int) -> Sequence[TrialRecord]:
        return [self.run_trial(spec) for spec in specs]

    def notes(self) -> tuple[str, ...]:
        return ()


class Quiet:
    def building(self, names: Sequence[str], done: int, count: int) -> None: ...

    def built(self, name: str, failure: FailureRecord | None) -> None: ...

    def verifying(self, name: str, workload: str, number: int, count: int) -> None: ...

    def verified(self, record: VerifyRecord) -> None: ...

    def before(self, trial: PlannedTrial, *, left_ns: int) -> None: ...

    def after(self, record: TrialRecord, *, left_ns: int) -> None: ...


def selection(*studies: str, **changes: Any) -> Selection:
    return replace(
        Selection(studies=studies or ("concurrency",), preset="quick", cells=("c50",), seed=7),
        **changes,
    )


def session(
    tmp_path: Path,
    bench: FakeBench,
    wanted: Selection,
    *,
    before: StoredRun | None = None,
    studies: Mapping[str, Study] = STUDIES,
    everybody: Mapping[str, Contestant] = EVERYBODY,
) -> Session:
    scope = scope_of(
        wanted, studies=studies, wanted=list(everybody.values()), everybody=everybody, bench=bench
    )
    directory = (
        RunDirectory(before.path)
        if before
        else RunDirectory.create(tmp_path / "results", label="test")
    )
    info = RunInfo(
        name=directory.path.name,
        wirebench="0",
        status="running",
        command=("wirebench",),
        selection=wanted,
        started_unix_ns=1,
        absent=scope.absent,
    )
    if before is None:
        directory.write_info(info)
        directory.write_host(bench.host())
    return Session(
        directory=directory, info=info, scope=scope, bench=bench, reporter=Quiet(), before=before
    )


def all_settled(_key: str, _block: int, present: frozenset[str]) -> Standstill:
    return Standstill(settled=dict.fromkeys(present, "all its pairs were decided"))


def carry_out(one: Session) -> int:
    try:
        plan = one.prepare()
        one.measure(plan, look=all_settled, dropped=lambda _: False, watcher=Quiet())
        return one.exit_code()
    finally:
        one.directory.close()


def names(run: StoredRun, status: str = "ok") -> set[str]:
    return {record.entry for record in run.trials if record.status == status}
