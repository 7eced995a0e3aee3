"""A whole run with a bench of fakes: who is left out and why, what is stored, what a resumed run
does.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from developer.simulated_duels import record_of
from test_plan import contestant
from wirebench.catalog.loads import Load
from wirebench.catalog.model import Contestant, Role
from wirebench.catalog.studies import Study
from wirebench.catalog.study_files import load_studies
from wirebench.cli.announce import scope_notes
from wirebench.cli.table import run_tables
from wirebench.plan.blocks import PlannedTrial
from wirebench.plan.stop import Standstill
from wirebench.report import analyse_run
from wirebench.report.view import page_view
from wirebench.run.bench import Absence, Built, Check
from wirebench.run.resume import check_resumable
from wirebench.run.scope import Scope, scope_of
from wirebench.run.session import Session
from wirebench.store.jsonl import StoreError
from wirebench.store.records import RunInfo, Selection, VerifyRecord
from wirebench.store.rundir import RunDirectory, StoredRun, read_run
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


def test_whom_a_preset_spares_is_said() -> None:
    study = STUDIES["concurrency"]
    studies = {
        "concurrency": replace(
            study, presets={"quick": replace(study.preset("quick"), without=("go/net-http",))}
        )
    }

    def scope(*only: str) -> Scope:
        wanted = [one for name, one in EVERYBODY.items() if not only or name in only]
        return scope_of(
            replace(selection(), only=only),
            studies=studies,
            wanted=wanted,
            everybody=EVERYBODY,
            bench=FakeBench(),
        )

    assert "go/net-http" not in scope().needed
    (said,) = scope_notes(scope())
    assert said.startswith("without go/net-http: left out by this preset")
    assert "go/net-http" in scope("go/net-http").needed
    assert list(scope_notes(scope("go/net-http"))) == []


def test_whom_a_preset_has_no_time_to_warm_up_is_said() -> None:
    study = STUDIES["concurrency"]
    quick = replace(study.preset("quick"), longest_warmup_ns=1_000_000_000, without=())
    cold = replace(EVERYBODY["go/net-http"], warmup_ns=10_000_000_000)
    everybody = {**EVERYBODY, "go/net-http": cold}

    def scope(*only: str) -> Scope:
        return scope_of(
            replace(selection(), only=only),
            studies={"concurrency": replace(study, presets={"quick": quick})},
            wanted=[one for name, one in everybody.items() if not only or name in only],
            everybody=everybody,
            bench=FakeBench(),
        )

    assert "go/net-http" not in scope().needed
    (said,) = scope_notes(scope())
    assert said.startswith("without go/net-http: this preset has no time for the warm-up")
    assert "go/net-http" in scope("go/net-http").needed
    assert list(scope_notes(scope("go/net-http"))) == []


def test_a_plan_says_what_was_left_out_and_why(tmp_path: Path) -> None:
    study = STUDIES["concurrency"]
    quick = replace(study.preset("quick"), without=("go/net-http",))

    def left_out(*only: str) -> Mapping[str, str]:
        one = session(
            tmp_path,
            FakeBench(),
            selection(only=only),
            studies={"concurrency": replace(study, presets={"quick": quick})},
        )
        one.scope = replace(
            one.scope, unwarmed=("java/cold",), untimely=("concurrency.c1000", "rest.local")
        )
        plan = one.prepare()
        one.directory.close()
        return plan.studies[0].left_out

    others = {
        "java/cold": "the preset quick has no time for its warm-up",
        "c1000": "the run's time does not hold this cell",
    }
    assert left_out() == {"go/net-http": "the preset quick leaves it out", **others}
    assert left_out("go/net-http") == others


def test_builds_that_take_far_longer_than_others_begin_first(tmp_path: Path) -> None:
    everybody = {**EVERYBODY, "rust/axum": contestant("rust/axum", serves=HELLO)}
    one = session(tmp_path, bench := FakeBench(), selection(), everybody=everybody)
    one.prepare()
    assert bench.begun[0] == "rust/axum"
    assert bench.begun[1:] == [name for name in one.scope.needed if name != "rust/axum"]
    one.directory.close()


def test_everybody_is_measured_in_every_block(tmp_path: Path) -> None:
    one = session(tmp_path, FakeBench(), selection())
    assert carry_out(one) == 0
    run = read_run(one.directory.path)
    assert run.plan is not None
    twin = run.plan.cells[0].twin
    assert names(run) == {"cpp/floor", "go/net-http", "node/http", "python/mine", f"{twin}~twin"}
    assert len(run.trials) == 6 * 5
    assert run.plan.order == tuple(record.trial for record in run.trials)
    assert set(run.plan.builds) == {"cpp/floor", "go/net-http", "node/http", "python/mine"}


def test_a_wrong_contestant_is_reported_and_never_timed_and_the_others_stand(
    tmp_path: Path,
) -> None:
    bench = FakeBench(wrong={("node/http", "http.hello")}, unbuildable={"go/net-http"})
    one = session(tmp_path, bench, selection())
    assert carry_out(one) == 1
    run = read_run(one.directory.path)
    failed = {record.entry: record for record in run.trials if record.status == "failed"}
    assert {name: record.block for name, record in failed.items()} == {
        "node/http": 0,
        "go/net-http": 0,
    }
    why = failed["node/http"].failure
    assert why is not None
    assert (why.kind, why.sent, why.expected, why.received) == (
        "nonconformant",
        "GET",
        "hello",
        "404",
    )
    assert ("go/net-http", "http.hello") not in bench.checked
    assert names(run) == {
        "cpp/floor",
        "python/mine",
        "python/mine~twin",
    }, "the twin is one that can be measured"


def test_whoever_is_built_first_is_checked_first(tmp_path: Path) -> None:
    bench = FakeBench(ends=("python/mine", "node/http"))
    assert carry_out(session(tmp_path, bench, selection())) == 0
    checked = [name for name, _ in bench.checked]
    assert checked[:2] == ["python/mine", "node/http"]
    assert len(set(checked)) == len(checked) == 4
    assert sorted(bench.built) == sorted(set(bench.built)), "each is waited for once"


def test_a_check_that_fails_while_others_are_built_is_repeated_afterwards(tmp_path: Path) -> None:
    slow, wrong = ("node/http", "http.hello"), ("go/net-http", "http.hello")
    bench = FakeBench(building_for=3, right_when_quiet={slow}, wrong={wrong})
    one = session(tmp_path, bench, selection())
    assert carry_out(one) == 1
    run = read_run(one.directory.path)
    assert "node/http" in names(run)
    assert names(run, "failed") == {"go/net-http"}
    results = [(record.contestant, record.status) for record in run.verified]
    assert ("node/http", "failed") not in results, "only the result that stands is kept"
    assert results.count(("go/net-http", "failed")) == 1


def test_one_wrong_workload_leaves_the_other_one_measured(tmp_path: Path) -> None:
    bench = FakeBench(wrong={("python/mine", "ws.count")})
    wanted = selection("concurrency", "websocket", cells=("c50", "serial-small"))
    one = session(tmp_path, bench, wanted)
    assert carry_out(one) == 1
    cells = {
        record.cell
        for record in read_run(one.directory.path).trials
        if record.entry == "python/mine" and record.block
    }
    assert cells == {"c50"}


def test_what_is_not_installed_is_listed_and_is_no_failure(tmp_path: Path) -> None:
    absence = Absence(
        kind="not_installed", reason="go: not found", install="apt-get install golang-go"
    )
    one = session(tmp_path, FakeBench(gone={"go/net-http": absence}), selection())
    assert carry_out(one) == 0
    run = read_run(one.directory.path)
    (absent,) = run.info.absent
    assert (absent.contestant, absent.studies, absent.install) == (
        "go/net-http",
        ("concurrency",),
        "apt-get install golang-go",
    )
    assert "go/net-http" not in names(run)


def test_nothing_valid_is_an_exit_code_of_its_own(tmp_path: Path) -> None:
    assert carry_out(session(tmp_path, FakeBench(crashing=set(EVERYBODY)), selection())) == 3
    assert (
        carry_out(
            session(
                tmp_path, FakeBench(wrong={(name, "http.hello") for name in EVERYBODY}), selection()
            )
        )
        == 3
    )


def test_clients_are_measured_against_a_server_that_was_checked(tmp_path: Path) -> None:
    bench = FakeBench()
    one = session(tmp_path, bench, selection("roundtrip", cells=("http-reuse-16",)))
    assert carry_out(one) == 0
    assert bench.checked == [
        ("cpp/floor", "http.payload"),
        ("cpp/floor", "client:http.payload"),
        ("cpp/curl", "client:http.payload"),
    ]
    assert bench.built_for == {"cpp/floor": {"server", "client"}, "cpp/curl": {"client"}}
    assert {(spec.role, spec.server.identity if spec.server else None) for spec in bench.ran} == {
        ("client", "cpp/floor")
    }


def test_without_a_right_server_no_client_is_blamed(tmp_path: Path) -> None:
    bench = FakeBench(wrong={("cpp/floor", "http.payload")})
    one = session(tmp_path, bench, selection("roundtrip", cells=("http-reuse-16",)))
    assert carry_out(one) == 3
    records = read_run(one.directory.path).trials
    assert {record.entry: record.status for record in records} == {
        "cpp/floor": "not_run",
        "cpp/curl": "not_run",
    }
    assert all(
        record.failure and "no server for http.payload here" in record.failure.message
        for record in records
    )


def test_trials_are_told_threads_and_their_place(tmp_path: Path) -> None:
    bench = FakeBench()
    carry_out(session(tmp_path, bench, selection()))
    assert {spec.threads for spec in bench.ran} == {1}
    assert [spec.position for spec in bench.ran[:5]] == [1, 2, 3, 4, 5]
    assert len({spec.port_seed for spec in bench.ran}) == 30


def test_a_server_of_one_process_is_no_part_of_a_cell_beyond_its_open_files(
    tmp_path: Path,
) -> None:
    everybody = {
        name: replace(one, processes=name in ("cpp/floor", "node/http"))
        for name, one in EVERYBODY.items()
    }
    bench = FakeBench(open_files=100)
    one = session(tmp_path, bench, selection(cells=("c1000",)), everybody=everybody)
    assert carry_out(one) == 0, "the limit is the host's, and no failure"
    run = read_run(one.directory.path)
    assert names(run) == {"cpp/floor", "node/http", "node/http~twin"}
    assert {spec.processes for spec in bench.ran} == {13}
    assert {spec.threads for spec in bench.ran} == {1}, "they share one core"
    assert set(bench.built) == {"cpp/floor", "node/http"}, "no build for who is in no cell"
    assert {name for name, _ in bench.checked} == {"cpp/floor", "node/http"}
    assert (
        "without go/net-http, python/mine in c1000: open files: 100 a process, and it is one"
        " process: too few for 1,000 connections"
    ) in scope_notes(one.scope)
    (left_out, *_) = [record for record in run.trials if record.status == "not_run"]
    assert left_out.failure is not None
    assert left_out.failure.kind == "open_files"
    assert "100 a process" in left_out.failure.message
    analysis = analyse_run(run)
    page = page_view(run, analysis)
    (cell,) = page.studies[0].cells
    assert "13 processes each server, for open files (100 a process)" in cell.basis
    assert page.failures == ()
    assert {row.sign for row in cell.rows if row.blank} == {""}
    blank = {row.entry: row.blank for row in cell.rows}
    assert blank["go/net-http"].startswith("open files: 100 a process, and it is one process")
    file = io.StringIO()
    for part in run_tables(analysis, run.plan.studies if run.plan else ()):
        Console(file=file, width=160, color_system=None).print(part)
    assert "13 processes each server, for open files (100 a process)" in file.getvalue()
    assert "open files: 100 a process" in file.getvalue()


def test_a_server_with_a_limit_of_its_own_is_more_processes_or_left_out(tmp_path: Path) -> None:
    limited = {
        "node/http": replace(EVERYBODY["node/http"], open_files=100, processes=True),
        "go/net-http": replace(EVERYBODY["go/net-http"], open_files=100),
    }
    bench = FakeBench(open_files=20_000)
    one = session(tmp_path, bench, selection(cells=("c1000",)), everybody={**EVERYBODY, **limited})
    assert carry_out(one) == 0, "the limit is no failure"
    assert {spec.processes for spec in bench.ran if spec.contestant.identity == "node/http"} == {13}
    assert {spec.processes for spec in bench.ran if spec.contestant.identity != "node/http"} == {1}
    run = read_run(one.directory.path)
    (cell,) = page_view(run, analyse_run(run)).studies[0].cells
    assert "node/http 13 processes, since each may open fewer files" in cell.basis
    blank = {row.entry: row.blank for row in cell.rows}
    assert blank["go/net-http"].startswith("open files: 100 a process, which is its own limit")


@pytest.mark.parametrize("cut", [0, 1, 7, 29])
def test_a_killed_run_is_completed_with_exactly_what_is_missing(tmp_path: Path, cut: int) -> None:
    first = FakeBench(cut_after=cut)
    one = session(tmp_path, first, selection())
    with pytest.raises(PowerCutError):
        carry_out(one)
    left = read_run(one.directory.path)
    assert len(left.trials) == cut
    assert left.info.status == "running"
    second = FakeBench()
    again = session(tmp_path, second, left.info.selection, before=left)
    check_resumable(left, scope=again.scope, bench=second, force=False)
    assert carry_out(again) == 0
    whole = read_run(one.directory.path)
    assert whole.plan is not None
    assert tuple(record.trial for record in whole.trials) == whole.plan.order
    assert len(second.ran) == 30 - cut
    assert second.checked == []


def test_a_run_killed_while_it_was_checking_starts_there(tmp_path: Path) -> None:
    one = session(tmp_path, FakeBench(), selection())
    one.directory.append_verify(
        FakeBench().verify(
            Check(contestant=EVERYBODY["cpp/floor"], role="server", workload="http.hello")
        )
    )
    one.directory.close()
    left = read_run(one.directory.path)
    assert left.plan is None
    second = FakeBench()
    assert carry_out(session(tmp_path, second, left.info.selection, before=left)) == 0
    assert ("cpp/floor", "http.hello") not in second.checked
    assert len(second.ran) == 30


def test_failures_noted_before_a_kill_are_not_noted_twice(tmp_path: Path) -> None:
    wrong = {("node/http", "http.hello")}
    one = session(tmp_path, FakeBench(wrong=wrong, cut_after=3), selection())
    with pytest.raises(PowerCutError):
        carry_out(one)
    (one.directory.path / "plan.json").unlink()  # killed between the note and the plan
    left = read_run(one.directory.path)
    again = session(tmp_path, FakeBench(wrong=wrong), left.info.selection, before=left)
    assert carry_out(again) == 1
    trials = [record.trial for record in read_run(one.directory.path).trials]
    assert len(trials) == len(set(trials)) == 1 + 6 * 4


def test_another_host_or_another_build_is_refused_unless_forced(tmp_path: Path) -> None:
    one = session(tmp_path, FakeBench(), selection())
    carry_out(one)
    run = read_run(one.directory.path)

    def resume(bench: FakeBench, *, force: bool = False) -> None:
        everybody = list(EVERYBODY.values())
        scope = scope_of(
            run.info.selection, studies=STUDIES, wanted=everybody, everybody=EVERYBODY, bench=bench
        )
        check_resumable(run, scope=scope, bench=bench, force=force)

    resume(FakeBench())
    elsewhere = FakeBench(host_id="another")
    with pytest.raises(
        StoreError,
        match=(
            r"expected the host it was measured on \(this-host\), .*, got another; start a new run"
        ),
    ):
        resume(elsewhere)
    resume(elsewhere, force=True)
    changed = FakeBench(keys={"node/http": "k2"})
    with pytest.raises(
        StoreError, match=r"expected node/http as it was built for the run \(k1\), but it changed"
    ):
        resume(changed)
    resume(changed, force=True)
    gone = FakeBench(gone={"node/http": Absence(kind="disabled", reason="x", install=None)})
    with pytest.raises(
        StoreError, match="expected node/http as in the interrupted run, got none here"
    ):
        resume(gone)


def test_a_forced_run_goes_on_without_those_that_are_gone(tmp_path: Path) -> None:
    one = session(tmp_path, FakeBench(cut_after=10), selection())
    with pytest.raises(PowerCutError):
        carry_out(one)
    left = read_run(one.directory.path)
    second = FakeBench(
        gone={"node/http": Absence(kind="disabled", reason="x", install=None)},
        unbuildable={"python/mine"},
    )
    assert carry_out(session(tmp_path, second, left.info.selection, before=left)) == 0
    whole = read_run(one.directory.path)
    assert len(whole.trials) == 30
    added = {(record.contestant, record.status) for record in whole.trials[10:]}
    assert added == {
        ("cpp/floor", "ok"),
        ("go/net-http", "ok"),
        ("node/http", "not_run"),
        ("python/mine", "not_run"),
    }


def test_the_estimate_is_the_sum_over_what_will_run(tmp_path: Path) -> None:
    def measuring(**changes: object) -> int:
        bench = FakeBench()
        wanted = selection(**changes)
        return scope_of(
            wanted,
            studies=STUDIES,
            wanted=list(EVERYBODY.values()),
            everybody=EVERYBODY,
            bench=bench,
        ).measuring_ns

    six, twelve = measuring(), measuring(blocks=12)
    assert twelve == 2 * six
    assert measuring(cells=("c50", "c1000")) > 2 * six, "more connections take longer to open"
    one = session(tmp_path, FakeBench(), selection())
    plan = one.prepare()
    one.directory.close()
    assert plan.estimate_ns == six
