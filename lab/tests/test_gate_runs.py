"""``wirebench gate`` over stored runs: baselines, what they must share with the head, errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from duel_world import LOAD, trials_of
from synthetic_run import write_run
from synthetic_world import World
from wirebench.cli.main import run_app
from wirebench.duel.plan import plan_of
from wirebench.duel.sides import sides_of
from wirebench.store.records import RunInfo, Selection
from wirebench.store.rundir import PLAN_FILE, TRIALS_FILE, RunDirectory

pytestmark = pytest.mark.long

WORLD = World(studies=("concurrency",), samples=60, blocks=12, generator_per_s=1_000_000)
LATER = replace(WORLD, seed=8, started_unix_ns=WORLD.started_unix_ns + 10**12)


@pytest.fixture
def limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "limits.toml"
    file.write_text('throughput = "-25%"\ncpu_per_request = "+33%"\n')
    return file


def over_stored(results: Path, limits: Path, head: World, *words: str, base: World = WORLD) -> int:
    first, second = write_run(results, base), write_run(results, head)
    return run_app(["gate", "--baseline", str(first), str(second), "-t", str(limits), *words])


@pytest.mark.parametrize(("scale", "code"), [(1.0, 0), (3.0, 1), (1.33, 2)])
def test_a_run_is_judged_against_its_baseline(
    tmp_path: Path,
    limits: Path,
    capsys: pytest.CaptureFixture[str],
    scale: float,
    code: int,
) -> None:
    head = replace(LATER, scale={"go/net-http": scale})
    words = ("--contestant", "go/net-http", "--cell", "c50")
    assert over_stored(tmp_path, limits, head, *words) == code
    said = capsys.readouterr().out
    assert "concurrency c50 go/net-http: throughput ≥ -25%" in said
    assert "rust/axum" not in said


def leave_out_wholly(run: Path, contestant: str) -> list[str]:
    """As if the run had been without it. The trials that are left, a line each."""
    plan = json.loads((run / PLAN_FILE).read_text())
    for cell in plan["cells"]:
        cell["entries"] = [one for one in cell["entries"] if one["contestant"] != contestant]
    (run / PLAN_FILE).write_text(json.dumps(plan))
    trials = (run / TRIALS_FILE).read_text().splitlines()
    kept = [line for line in trials if json.loads(line)["contestant"] != contestant]
    (run / TRIALS_FILE).write_text("\n".join([*kept, ""]))
    return kept


def test_a_contestant_that_the_head_cannot_build_makes_the_gate_invalid(
    tmp_path: Path, limits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, head = write_run(tmp_path, WORLD), write_run(tmp_path, LATER)
    kept = leave_out_wholly(head, "go/net-http")
    gone = json.loads(next(line for line in kept if '"c50"' in line))
    failure = {"kind": "build_failed", "phase": "build", "message": "no such header"}
    gone |= {"trial": "x", "block": 0, "entry": "go/net-http", "contestant": "go/net-http"}
    gone |= {"status": "failed", "failure": failure, "metrics": {}, "twin_of": None}
    (head / TRIALS_FILE).write_text("\n".join([*kept, json.dumps(gone)]) + "\n")
    words = ["gate", "--baseline", str(base), str(head), "-t", str(limits), "--cell", "c50"]
    assert run_app(words) == 3
    assert "go/net-http: build_failed: no such header" in capsys.readouterr().out
    assert run_app([*words, "--contestant", "rust/axum"]) == 0


def test_cells_that_only_the_baseline_has_are_named(
    tmp_path: Path, limits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, head = write_run(tmp_path, WORLD), write_run(tmp_path, LATER)
    plan = json.loads((head / PLAN_FILE).read_text())
    plan["cells"] = [cell for cell in plan["cells"] if cell["cell"]["id"] == "c50"]
    (head / PLAN_FILE).write_text(json.dumps(plan))
    words = ["gate", "--baseline", str(base), str(head), "-t", str(limits)]
    words += ["--contestant", "go/net-http"]
    assert run_app(words) == 0
    assert "since only the baseline has it: concurrency.c1000" in capsys.readouterr().out
    assert run_app([*words, "--cell", "c50"]) == 0
    assert "only the baseline" not in capsys.readouterr().out


def test_contestants_that_only_the_baseline_has_are_named(
    tmp_path: Path, limits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where a toolchain is gone: that the others hold says nothing of it."""
    base, head = write_run(tmp_path, WORLD), write_run(tmp_path, LATER)
    leave_out_wholly(head, "rust/hyper")
    words = ["gate", "--baseline", str(base), str(head), "-t", str(limits)]
    run_app(words)
    assert "since only the baseline has it: rust/hyper" in capsys.readouterr().out
    run_app([*words, "--contestant", "go/net-http"])
    assert "only the baseline" not in capsys.readouterr().out


def test_a_gate_does_not_hold_for_what_it_was_asked_to_judge_and_cannot(
    tmp_path: Path, limits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That the others hold says nothing of a name with a slip, nor of what one run lacks."""
    base, head = write_run(tmp_path, WORLD), write_run(tmp_path, LATER)
    plan = json.loads((head / PLAN_FILE).read_text())
    plan["cells"] = [cell for cell in plan["cells"] if cell["cell"]["id"] == "c50"]
    for cell in plan["cells"]:
        cell["entries"] = [one for one in cell["entries"] if one["contestant"] != "rust/hyper"]
    (head / PLAN_FILE).write_text(json.dumps(plan))
    words = ["gate", "--baseline", str(base), str(head), "-t", str(limits)]
    words += ["--contestant", "go/net-http", "--cell", "c50"]
    assert run_app(words) == 0
    capsys.readouterr()
    for more, says in (
        (("--contestant", "rust/hyper"), "rust/hyper: not judged, since only the baseline has it"),
        (("--contestant", "rust/hypre"), "rust/hypre: not judged, since neither run has it"),
        (("--contestant", "cpp/floor"), "cpp/floor: not judged, since it is the floor"),
        (("--cell", "c1000"), "--cell c1000: not judged, since only the baseline has it"),
        (("--cell", "c10OO"), "--cell c10OO: not judged, since neither run has it"),
    ):
        assert run_app([*words, *more]) == 3, more
        assert says in " ".join(capsys.readouterr().out.split())


def test_a_threshold_that_never_holds_is_said_when_it_is_read(
    tmp_path: Path, limits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits.write_text('throughput = "-0%"\np99 = "+50%"\n')
    over_stored(tmp_path, limits, LATER, "--contestant", "go/net-http", "--cell", "c50")
    said = capsys.readouterr().err
    assert "throughput ≥ -0%: can be regressed or not decided, but never hold" in said
    assert "p99" not in said


def test_errors_are_counted_in_the_chosen_cells_only(tmp_path: Path, limits: Path) -> None:
    limits.write_text("errors = 0\n")
    words = ("--contestant", "java/broken")
    assert over_stored(tmp_path, limits, LATER, *words) == 1, "its replies in c1000 are wrong"
    assert over_stored(tmp_path / "other", limits, LATER, *words, "--cell", "c50") == 0


def test_one_that_was_not_run_has_no_errors_that_hold(
    tmp_path: Path, limits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits.write_text("errors = 0\n")
    base, head = write_run(tmp_path, WORLD), write_run(tmp_path, LATER)
    leave_out(head, "go/net-http", "c50")
    words = ["gate", "-t", str(limits), "--cell", "c50", "--contestant", "go/net-http"]
    assert run_app([*words, "--baseline", str(base), str(head)]) == 3
    assert "go/net-http: errors ≤ 0: not run" in capsys.readouterr().out
    leave_out(base, "go/net-http", "c50")
    assert run_app([*words, "--baseline", str(base), str(head)]) == 3
    assert "errors ≤ 0: nothing was measured" in capsys.readouterr().out
    assert run_app([*words[:-2], "--baseline", str(base), str(head)]) == 0, "the others were"


def leave_out(run: Path, contestant: str, cell: str) -> None:
    """As if the run had not measured the contestant in this cell."""
    trials = [json.loads(line) for line in (run / TRIALS_FILE).read_text().splitlines()]
    failure = {"kind": "no_room", "phase": "plan", "message": "too few open files"}
    for one in trials:
        if (one["contestant"], one["cell"]) == (contestant, cell):
            one |= {"status": "not_run", "failure": failure, "metrics": {}}
    (run / TRIALS_FILE).write_text("".join(json.dumps(one) + "\n" for one in trials))


def test_a_run_is_no_baseline_of_itself(
    tmp_path: Path, limits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "results", WORLD)
    link = tmp_path / "results" / "main"
    link.symlink_to(run.name)
    assert run_app(["gate", "--baseline", str(link), str(run), "-t", str(limits)]) == 64
    assert "--baseline: expected two runs, got the same one twice" in capsys.readouterr().err
    assert run_app(["compare", str(run), str(link)]) == 64
    assert "A: expected two runs, got the same one twice" in capsys.readouterr().err


def stored_duel(results: Path, *words: str, factor: float = 1.0, seed: int = 1) -> Path:
    sides = sides_of(list(words[:2]), folders=[Path("/")])
    plan = plan_of(sides, LOAD, floor=None, seed=1, budget_ns=120 * 10**9, blocks=None)
    directory = RunDirectory.create(results, label="duel")
    directory.write_info(
        RunInfo(
            name=directory.path.name,
            wirebench="0",
            status="complete",
            command=("wirebench", "duel", *words, "--seed", "1"),
            selection=Selection(studies=("duel",), preset="duel", seed=1),
            started_unix_ns=seed,
        )
    )
    directory.write_host({"schema": 1, "host_id": "0123456789ab"})
    directory.write_plan(plan)
    for trial in trials_of(plan.cells[0], 12, factor=factor, noise=0.01, seed=seed):
        directory.append_trial(trial)
    directory.close()
    return directory.path


def test_a_duel_of_other_servers_is_no_baseline(
    tmp_path: Path, limits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both have an A and a B, which are other programs."""
    base = stored_duel(tmp_path, "./a {port}", "./b {port}")
    same = stored_duel(tmp_path, "./a {port}", "./b {port}", "-c", "50", seed=2)
    other = stored_duel(tmp_path, "./a {port}", "./c {port}", seed=3)
    words = ["gate", "-t", str(limits), "--baseline", str(base)]
    assert run_app([*words, str(other)]) == 3
    assert "a duel of other servers" in capsys.readouterr().out
    assert run_app(["compare", str(base), str(other)]) == 64
    assert "'./c {port}'" in capsys.readouterr().err
    assert run_app([*words, str(same)]) in (0, 2)
    assert run_app(["compare", str(base), str(same)]) == 0


def test_a_baseline_of_another_host_is_refused(
    tmp_path: Path, limits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "gate.xml"
    head = replace(LATER, host_id="ffffffffffff")
    assert over_stored(tmp_path, limits, head, "--junit", str(report)) == 3
    assert "the baseline is of another host" in capsys.readouterr().out
    assert "another host" in report.read_text()


def test_a_baseline_from_before_the_host_changed_is_refused(
    tmp_path: Path, limits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = write_run(tmp_path, WORLD), write_run(tmp_path, LATER)
    host = (
        (second / "host.json")
        .read_text()
        .replace('"host_id"', '"governor": "powersave", "host_id"')
    )
    (second / "host.json").write_text(host)
    assert run_app(["gate", "--baseline", str(first), str(second), "-t", str(limits)]) == 3
    assert "'powersave'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("head", "words", "says"),
    [
        (replace(LATER, studies=("rest",)), (), "no cell in common"),
        (LATER, ("--cell", "nothing"), "no cell in common of --cell"),
        (LATER, ("--contestant", "nobody"), "no contestant in common of --contestant"),
    ],
)
def test_runs_without_anything_in_common_are_invalid(
    tmp_path: Path,
    limits: Path,
    capsys: pytest.CaptureFixture[str],
    head: World,
    words: Sequence[str],
    says: str,
) -> None:
    assert over_stored(tmp_path, limits, head, *words) == 3
    assert says in capsys.readouterr().out


def test_what_fails_in_a_dropped_block_makes_no_gate_invalid(
    tmp_path: Path, limits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run measured that block again."""
    base, head = write_run(tmp_path, WORLD), write_run(tmp_path, LATER)
    lines = [json.loads(one) for one in (head / TRIALS_FILE).read_text().splitlines()]
    failure = {"kind": "crashed", "phase": "load", "message": "signal 11"}
    last = max(one["block"] for one in lines)
    words = ["gate", "--baseline", str(base), str(head), "-t", str(limits), "--cell", "c50"]
    words += ["--contestant", "go/net-http"]
    for covariates, code in (({}, 3), ({"steal_ns": 10**9, "watched_ns": 10**9}, 0)):
        again = [
            one | {"trial": one["trial"] + "x", "block": last + 1}
            for one in lines
            if one["block"] == last and one["cell"] == "c50"
        ]
        for one in again:
            if one["entry"] == "go/net-http":
                one |= {"status": "failed", "failure": failure, "covariates": covariates}
        written = "".join(json.dumps(one) + "\n" for one in [*lines, *again])
        (head / TRIALS_FILE).write_text(written)
        assert run_app(words) == code
        assert ("signal 11" in capsys.readouterr().out) is (code == 3)


def fall_behind(run: Path, entry: str) -> None:
    """As if it could not keep up with 10,000 requests/s."""
    lines = []
    for line in (run / TRIALS_FILE).read_text().splitlines():
        one = json.loads(line)
        if (one["cell"], one["entry"]) == ("rate-10000", entry):
            one["validity"]["kept_up"] = False
            one["metrics"].pop("cpu_per_request_ns", None)
        lines.append(json.dumps(one))
    (run / TRIALS_FILE).write_text("\n".join([*lines, ""]))


def test_a_head_that_falls_behind_a_rate_is_regressed_as_between_two_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no CPU time for each request then, and the base has, unless it falls behind too."""
    limits = tmp_path / "limits.toml"
    limits.write_text('cpu_per_request = "+33%"\n')
    runs = [write_run(tmp_path, replace(one, preset="load")) for one in (WORLD, LATER)]
    fall_behind(runs[1], "go/net-http")
    words = ["gate", "--baseline", *map(str, runs), "-t", str(limits), "--cell", "rate-10000"]
    assert run_app([*words, "--contestant", "go/net-http"]) == 1
    assert "Regressed: " in (said := capsys.readouterr().out)
    assert "could not keep up" in said
    assert run_app([*words, "--contestant", "rust/axum"]) == 0
    fall_behind(runs[0], "go/net-http")
    assert run_app(words) != 1
