"""A whole run with a bench of fakes: who is left out and why, what is stored, what a resumed run
does.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from fake_bench import (
    EVERYBODY,
    HELLO,
    STUDIES,
    FakeBench,
    PowerCutError,
    Quiet,
    all_settled,
    carry_out,
    names,
    selection,
    session,
)
from test_plan import contestant
from wirebench.cli.announce import done_text, scope_notes
from wirebench.cli.publish import conclude
from wirebench.cli.table import run_tables
from wirebench.report import analyse_run
from wirebench.report.view import page_view
from wirebench.run.bench import Absence, Check
from wirebench.run.resume import check_resumable
from wirebench.run.scope import Scope, scope_of
from wirebench.run.session import ALL_MEASURED, NOTHING_VALID, SOMETHING_FAILED
from wirebench.stats import counted_trials, dropped_blocks, repeat_reason
from wirebench.store.jsonl import StoreError
from wirebench.store.rundir import read_run
from wirebench.trial.record import FailureRecord, TrialRecord
from wirebench.trial.types import TrialSpec


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
    assert {record.failure and record.failure.message for record in records} == {
        "no server for http.payload here: cpp/floor: nonconformant: wrong body"
    }


def test_a_cell_whose_server_is_not_installed_takes_no_time(tmp_path: Path) -> None:
    cells = ("http-reuse-1024", "http-reuse-1024-closes-at-100")  # the latter is c/nginx's alone
    wanted = selection("roundtrip", preset="artefacts", cells=cells, blocks=6)
    one = session(tmp_path, FakeBench(), wanted)
    served, unserved = one.scope.forecasts
    assert served.mandatory_ns == one.scope.measuring_ns > 0
    assert (unserved.planned.entries, unserved.mandatory_ns) == ((), 0)
    carry_out(one)
    assert {
        record.failure.message for record in read_run(one.directory.path).trials if record.failure
    } == {"no server for http.payload here: none of c/nginx is installed"}


def test_a_run_in_which_nobody_takes_part_says_why(tmp_path: Path) -> None:
    cells = ("http-reuse-1024-closes-at-100",)
    one = session(tmp_path, FakeBench(), selection("roundtrip", preset="artefacts", cells=cells))
    assert carry_out(one) == NOTHING_VALID
    text = io.StringIO()
    conclude(one, status="complete", code=NOTHING_VALID, out=Console(file=text), command="run")
    assert text.getvalue().splitlines() == [
        "nothing valid was measured",
        "not run: roundtrip http-reuse-1024-closes-at-100: no server for http.payload here:"
        " none of c/nginx is installed",
    ]


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
    first = Check(contestant=EVERYBODY["cpp/floor"], role="server", workload="http.hello")
    one.directory.append_verify(replace(FakeBench().verify(first), builds={"cpp/floor": "k1"}))
    one.directory.close()
    left = read_run(one.directory.path)
    assert left.plan is None
    second = FakeBench()
    assert carry_out(session(tmp_path, second, left.info.selection, before=left)) == 0
    assert ("cpp/floor", "http.hello") not in second.checked
    assert len(second.ran) == 30


@pytest.mark.parametrize("changed", ["", "cpp/curl", "cpp/floor"])
def test_a_check_of_another_build_is_made_again(tmp_path: Path, changed: str) -> None:
    """Of a run that was killed before it had its plan. A client's check is of its server, too."""
    wanted = selection("roundtrip", cells=("http-reuse-16",))
    one = session(tmp_path, FakeBench(wrong={("cpp/curl", "client:http.payload")}), wanted)
    one.prepare()
    one.directory.close()
    for name in ("plan.json", "trials.jsonl"):
        (one.directory.path / name).unlink()
    left = read_run(one.directory.path)
    assert left.plan is None
    second = FakeBench(keys={changed: "k2"} if changed else {})
    assert carry_out(session(tmp_path, second, wanted, before=left)) == (0 if changed else 1)
    every = [
        ("cpp/floor", "http.payload"),
        ("cpp/floor", "client:http.payload"),
        ("cpp/curl", "client:http.payload"),
    ]
    assert second.checked == {"": [], "cpp/curl": every[-1:], "cpp/floor": every}[changed]
    run = read_run(one.directory.path)
    assert [(one.contestant, one.workload) for one in run.verified] == every, "each once"
    assert {one.status for one in run.verified} == ({"ok"} if changed else {"ok", "failed"})


def test_what_a_run_has_is_counted_in_words(tmp_path: Path) -> None:
    one = session(tmp_path, FakeBench(crashing=set(EVERYBODY), cut_after=1), selection())
    with pytest.raises(PowerCutError):
        carry_out(one)
    assert done_text(read_run(one.directory.path)) == (
        "1 trial of this run is done and is not repeated"
    )
    text = io.StringIO()
    conclude(one, status="interrupted", code=130, out=Console(file=text, width=300), command="run")
    assert "interrupted with 1 trial done, all kept" in text.getvalue()


def test_the_failure_of_a_server_is_not_its_clients(tmp_path: Path) -> None:
    crash = FailureRecord(kind="crashed", phase="load", message="signal 11", whose="cpp/floor")

    class DyingServer(FakeBench):
        def run_trial(self, spec: TrialSpec) -> TrialRecord:
            record = super().run_trial(spec)
            if spec.contestant.identity == "cpp/floor":
                return record
            return replace(record, status="not_run", failure=crash)

    one = session(tmp_path, DyingServer(), selection("roundtrip", cells=("http-reuse-16",)))
    assert carry_out(one) == SOMETHING_FAILED
    run = read_run(one.directory.path)
    trials = [record for record in run.trials if record.entry == "cpp/curl"]
    assert len(trials) == 6, "the client is not given up for it"
    (cell,) = analyse_run(run).cells
    entry = cell.entry("cpp/curl")
    assert entry is not None
    assert (entry.summary.failed, entry.summary.not_run, entry.failures) == (0, 6, ())
    assert [(found.whose, found.count) for found in entry.server_failures] == [("cpp/floor", 6)]
    (shown,) = page_view(run, analyse_run(run)).failures
    assert shown.entry == "cpp/floor"


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


def test_the_exit_code_follows_what_counts(tmp_path: Path) -> None:
    """A block that the host disturbed is run again, and what happened in it counts for nothing."""
    one = session(tmp_path, FakeBench(), selection(blocks=1))
    stolen = {"steal_ns": 10**9, "watched_ns": 10**9}
    plan = one.prepare()
    one.measure(
        plan,
        look=all_settled,
        dropped=lambda block: bool(dropped_blocks(block)),
        watcher=Quiet(),
    )
    sound = list(one.trials)

    def code(*trials: TrialRecord) -> int:
        one._trials = list(trials)
        return one.exit_code(counted=counted_trials, void=repeat_reason)

    assert code(*sound) == ALL_MEASURED
    failure = FailureRecord(kind="hung", phase="load", message="it did not answer")
    failed = replace(sound[0], block=2, status="failed", failure=failure, metrics={})
    assert code(*sound, failed) == SOMETHING_FAILED
    disturbed = replace(failed, covariates=stolen)
    assert code(*sound, disturbed) == ALL_MEASURED
    beside = replace(sound[1], block=2, covariates=stolen)
    assert code(*sound, failed, beside) == ALL_MEASURED, "the whole block is dropped"
    assert code(*(replace(one, covariates=stolen) for one in sound)) == NOTHING_VALID
    void = {"void": "sent late: by 4 ms"}
    assert code(*(replace(one, validity=void) for one in sound)) == NOTHING_VALID
    one.directory.close()
