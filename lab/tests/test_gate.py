"""``wirebench gate``: thresholds, their verdicts, every exit code, and what goes to files."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from duel_world import LOAD, SERVER, cell_of, server, trials_of
from run_project import Project, wait_for
from synthetic_run import World, write_run
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import OpenLoad
from wirebench.cli.main import run_app
from wirebench.duel.plan import plan_of
from wirebench.duel.sides import sides_of
from wirebench.gate.over_duel import over_duel
from wirebench.gate.text import headline, junit, markdown, measured, verdict
from wirebench.gate.thresholds import Threshold, read_thresholds, threshold
from wirebench.gate.types import Found
from wirebench.store.records import RunInfo, Selection
from wirebench.store.rundir import PLAN_FILE, TRIALS_FILE, RunDirectory
from wirebench.trial.cold import cold_warnings
from wirebench.trial.record import FailureRecord, TrialRecord

pytestmark = pytest.mark.long  # most start whole duels

# --- thresholds -----------------------------------------------------------------------------------


def test_thresholds_are_changes_figures_and_errors(tmp_path: Path) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(
        'p99 = ["+5%", "20ms"]\nthroughput = "-3%"\ncpu_per_request = "30us"\nmemory = "64MiB"\n'
    )
    found = read_thresholds(file)
    assert [(one.name, one.kind) for one in found] == [
        ("p99", "change"),
        ("p99", "figure"),
        ("throughput", "change"),
        ("cpu_per_request", "figure"),
        ("memory", "figure"),
        ("errors", "errors"),
    ]
    assert [one.limit for one in found] == [
        *(pytest.approx(1.05), 20_000_000, pytest.approx(0.97)),
        *(30_000, 64 * 2**20, 0),
    ]
    assert [one.upper for one in found] == [True, True, False, True, True, True]


def test_rates_are_numbers() -> None:
    for value in (20000, "20000", "20000/s"):
        assert threshold("throughput", value).limit == 20000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('p98 = "+5%"', "expected one of throughput, p50"),
        ('p99 = "-5%"', 'growth that is allowed, such as "\\+5%"'),
        ('throughput = "+3%"', 'loss that is allowed, such as "-5%"'),
        ('throughput = "-100%"', "loss that is allowed"),
        ("p99 = 20", "a time such as"),
        ('p99 = "0ms"', "more than 0"),
        ('memory = "64MB"', "a size such as"),
        ("throughput = true", "a rate such as"),
        ("errors = -1", "number of errors"),
        ('errors = "0%"', "number of errors"),
        ("", "expected a threshold"),
        ("p99 = []", "p99: expected a threshold, or several, got none"),
        ('p99 = [["+5%"]]', "a time such as"),
        ("[p99]\nlimit = 5", "a time such as"),
        ("p99 = true", "a time such as"),
        ("p99 = 2026-01-01", "a time such as"),
        ("throughput = inf", "a rate such as"),
        ("throughput = nan", "a rate such as"),
        ("errors = 0.5", "number of errors"),
        ("p99 = ", "expected TOML"),
    ],
)
def test_wrong_thresholds_are_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(text)
    with pytest.raises(CatalogError, match=says):
        read_thresholds(file)


@pytest.mark.parametrize(
    ("name", "text", "never"),
    [
        ("p99", "+0%", True),
        ("throughput", "-0%", True),
        ("p99", "+0.09%", True),
        ("p99", "+0.1%", False),
        ("throughput", "-0.1%", False),
        ("throughput", "-5.25%", False),
        ("p99", "20ms", False),
    ],
)
def test_a_change_below_all_noise_never_holds(name: str, text: str, never: bool) -> None:
    one = threshold(name, text)
    assert one.never_holds == never
    if never:
        metrics = {"p99": "p99_ns", "throughput": "throughput_per_s"}[name]
        trials = [
            replace(trial, metrics={**trial.metrics, metrics: 1000.0 + trial.block})
            for trial in trials_of(cell_of(), 20, factor=1.0, noise=0.01, seed=1)
        ]
        assert over_duel(cell_of(), trials, [one], level=0.05).state == "undecided"


# --- verdicts over a duel -------------------------------------------------------------------------


def thresholds(**given: object) -> list[Threshold]:
    return [threshold(name, value) for name, value in {**given, "errors": 0}.items()]


def found_of(
    factor: float,
    *wanted: Threshold,
    blocks: int = 20,
    noise: float = 0.01,
    seed: int = 1,
    level: float = 0.05,
) -> Found:
    trials = trials_of(cell_of(), blocks, factor=factor, noise=noise, seed=seed)
    return over_duel(cell_of(), trials, wanted, level=level)


def states(found: Found) -> dict[str, str]:
    return {row.threshold.name: row.state for row in found.rows}


def test_a_change_beyond_the_threshold_is_regressed() -> None:
    found = found_of(1.10, *thresholds(cpu_per_request="+3%", throughput="-3%", memory="+1%"))
    assert states(found) == {
        "cpu_per_request": "regressed",
        "throughput": "regressed",
        "memory": "holds",
        "errors": "holds",
    }
    assert found.exit_code == 1
    assert "cpu_per_request ≤ +3%, measured +" in headline(found)


def test_a_change_within_the_threshold_holds() -> None:
    found = found_of(1.01, *thresholds(cpu_per_request="+5%", throughput="-5%"))
    assert set(states(found).values()) == {"holds"}
    assert found.exit_code == 0
    assert headline(found) == "All 3 thresholds hold."


def test_an_improvement_holds_and_is_never_a_regression() -> None:
    found = found_of(0.7, *thresholds(cpu_per_request="+3%", throughput="-3%"))
    assert found.exit_code == 0


def test_an_interval_over_the_limit_is_not_decided_and_says_what_it_takes() -> None:
    found = replace(
        found_of(1.07, *thresholds(throughput="-3%"), blocks=8, noise=0.04), block_seconds=6.0
    )
    assert states(found)["throughput"] == "undecided"
    assert found.exit_code == 2
    assert found.more_blocks is not None
    assert f"About {found.more_blocks} more block" in headline(found)
    assert "--budget" in headline(found)


def test_one_block_is_one_and_no_change_has_no_minus() -> None:
    found = found_of(1.07, *thresholds(throughput="-3%"), blocks=8, noise=0.04)
    (row,) = (one for one in found.rows if one.state == "undecided")
    one = replace(row, more_blocks=1, estimate=0.9999, low=0.9, high=1.1)
    assert verdict(one).endswith("; about 1 more block")
    assert measured(one) == "+0.0% [-10.0%, +10.0%]"
    assert headline(replace(found, rows=(one,))).startswith("Not decided: ")
    assert "About 1 more block would" in headline(replace(found, rows=(one,)))


def test_few_blocks_decide_nothing() -> None:
    found = found_of(3.0, *thresholds(throughput="-3%"), blocks=3)
    assert found.exit_code == 2
    assert found.more_blocks == 3


def test_a_cold_runtime_is_a_note() -> None:
    trials = trials_of(cell_of(), 6, factor=1.0, noise=0.01, seed=1)
    (warning,) = cold_warnings(["sh", "java", None], {"java": 10**10}, warmup_ns=10**9)
    assert list(cold_warnings(["java"], {"java": 10**10}, warmup_ns=10**10)) == []
    cold = [replace(one, warnings=(warning,)) if one.entry == "B" else one for one in trials]
    (note,) = over_duel(cell_of(), cold, thresholds(memory="+3%"), level=0.05).notes
    assert note.startswith("B was measured cold: java needs 10s of load")
    assert over_duel(cell_of(), trials, thresholds(memory="+3%"), level=0.05).notes == ()


def test_figures_have_limits_too() -> None:
    # 20 us of CPU and 50,000/s at a factor of 1.
    slow = found_of(2.0, *thresholds(throughput=40_000, cpu_per_request="100us"))
    assert states(slow) == {
        "throughput": "regressed",
        "cpu_per_request": "holds",
        "errors": "holds",
    }
    assert found_of(1.0, *thresholds(throughput=40_000)).exit_code == 0


def test_the_whole_interval_decides_and_not_its_middle() -> None:
    for factor in (0.98, 1.0, 1.02, 1.03, 1.04, 1.06, 1.1):
        for seed in range(4):
            found = found_of(factor, *thresholds(cpu_per_request="+3%"), seed=seed, noise=0.03)
            row = found.rows[0]
            assert row.low is not None
            assert row.high is not None
            if row.state == "regressed":
                assert row.low > 1.03
            elif row.state == "holds":
                assert row.high <= 1.03
            else:
                assert row.state == "undecided"


def test_a_change_of_exactly_the_threshold_is_rarely_called_either_way() -> None:
    regressed = held = 0
    for seed in range(40):
        found = found_of(1.03, *thresholds(cpu_per_request="+3%"), seed=seed, noise=0.02)
        regressed += states(found)["cpu_per_request"] == "regressed"
        held += states(found)["cpu_per_request"] == "holds"
    assert regressed <= 5  # 1 is expected of each; 6 and more have a chance below 0.1%
    assert held <= 5


def test_an_early_look_has_little_to_spend() -> None:
    wanted = thresholds(cpu_per_request="+3%")
    assert found_of(1.06, *wanted, blocks=6, noise=0.01).exit_code == 1
    assert found_of(1.06, *wanted, blocks=6, noise=0.01, level=1e-9).exit_code == 2


def test_a_generator_at_its_limit_hides_regressions() -> None:
    trials = [
        replace(one, validity={"server_cpu_share": 0.6, "generator_cpu_share": 0.99})
        for one in trials_of(cell_of(), 20, factor=1.5, noise=0.01, seed=3)
    ]
    found = over_duel(
        cell_of(), trials, thresholds(throughput="-3%", cpu_per_request="+3%"), level=0.05
    )
    assert states(found)["throughput"] == "undecided"
    assert "--rate" in found.rows[0].reason
    assert states(found)["cpu_per_request"] == "regressed"


@pytest.mark.parametrize("server", [0.6, None])
def test_more_blocks_are_not_promised_where_the_generator_is_the_limit(
    server: float | None,
) -> None:
    """Both sides got no more load than the generator had, be they ours or servers that ran already.
    Neither a pass nor a regression would be true.
    """
    for factor, noise in ((1.0, 0.001), (1.0, 0.05), (1.03, 0.05), (1.5, 0.01)):
        trials = [
            replace(one, validity={"server_cpu_share": server, "generator_cpu_share": 0.99})
            for one in trials_of(cell_of(), 12, factor=factor, noise=noise, seed=3)
        ]
        found = over_duel(cell_of(), trials, thresholds(throughput="-3%", p50="+3%"), level=0.05)
        for row in found.rows[:2]:
            assert (row.state, row.more_blocks) == ("undecided", None)
            assert "the load generator was at its limit" in row.reason
        assert "More blocks would not decide it all" in headline(found)


def test_a_bound_may_still_be_good_enough() -> None:
    """The head reached the generator's limit and the base its own; and the head alone has more than
    the limit asks for.
    """
    trials = [
        replace(one, validity={"server_cpu_share": 0.6, "generator_cpu_share": 0.99})
        if one.contestant == "B"
        else one
        for one in trials_of(cell_of(), 20, factor=0.9, noise=0.01, seed=3)
    ]
    found = over_duel(cell_of(), trials, thresholds(throughput="-3%"), level=0.05)
    assert found.exit_code == 0
    found = over_duel(cell_of(), trials, thresholds(throughput=40_000), level=0.05)
    assert found.exit_code == 0


@pytest.mark.parametrize("limit", ["+50%", "1s"])
def test_blocks_with_a_figure_of_zero_are_not_left_out(limit: str) -> None:
    trials = [
        replace(one, metrics={**one.metrics, "cpu_per_request_ns": 0})
        if one.contestant == "B" and one.block % 2
        else one
        for one in trials_of(cell_of(), 20, factor=1.0, noise=0.001, seed=3)
    ]
    found = over_duel(cell_of(), trials, thresholds(cpu_per_request=limit), level=0.05)
    assert found.exit_code == 2
    assert found.rows[0].reason == "0 in 10 of 20 blocks of B"


def test_a_noisy_twin_blurs_a_narrow_threshold() -> None:
    trials = [
        replace(one, metrics={**one.metrics, "cpu_per_request_ns": 30_000 + 10 * one.block})
        if one.twin_of is not None
        else one
        for one in trials_of(cell_of(), 20, factor=1.06, noise=0.005, seed=3)
    ]
    found = over_duel(cell_of(), trials, thresholds(cpu_per_request="+3%"), level=0.05)
    assert states(found)["cpu_per_request"] == "undecided"
    assert "measured twice" in found.rows[0].reason


def failed(trial: TrialRecord, kind: str) -> TrialRecord:
    return replace(
        trial,
        status="failed",
        failure=FailureRecord(
            kind=kind, phase="load", message="it went wrong", received="its last output: <oh> | no"
        ),
        load={"requests": {"errors": 7}},
        metrics={},
    )


def test_wrong_replies_are_errors_and_a_dead_server_is_invalid() -> None:
    trials = trials_of(cell_of(), 20, factor=1.0, noise=0.01, seed=1)
    place = next(n for n, one in enumerate(trials) if one.contestant == "B")
    other = next(n for n, one in enumerate(trials) if one.contestant == "A")

    def found(n: int, kind: str, **given: object) -> Found:
        spoilt = [failed(one, kind) if at == n else one for at, one in enumerate(trials)]
        wanted = [threshold("throughput", "-50%"), threshold("errors", given.get("errors", 0))]
        return over_duel(cell_of(), spoilt, wanted, level=0.05)

    wrong = found(place, "wrong_reply")
    assert wrong.exit_code == 1
    assert wrong.rows[-1].head == 7
    assert found(place, "wrong_reply", errors=7).exit_code == 0
    dead = found(place, "crashed")
    assert dead.exit_code == 3
    assert "its last output: <oh> | no" in headline(dead)
    assert found(other, "wrong_reply").exit_code == 3
    assert found(place, "not_listening").exit_code == 3


def test_a_head_that_cannot_keep_up_has_no_cost_and_is_regressed_by_its_latency() -> None:
    slow = {"kept_up": False}
    cell = cell_of()
    load = OpenLoad(
        connections=50,
        rate_per_s=50_000.0,
        share=None,
        of=None,
        arrivals="constant",
        warmup_ns=1,
        window_ns=1,
    )
    cell = replace(cell, cell=replace(cell.cell, load=load))
    trials = [
        replace(
            one,
            metrics={
                name: value
                for name, value in {**one.metrics, "offered_per_s": 50_000.0}.items()
                if one.entry != "B" or name != "cpu_per_request_ns"
            },
            validity={**one.validity, **(slow if one.entry == "B" else {})},
        )
        for one in trials_of(cell, 20, factor=1.5, noise=0.01, seed=3)
    ]
    found = over_duel(cell, trials, thresholds(throughput="-3%", cpu_per_request="+3%"), level=0.05)
    assert states(found)["throughput"] == "regressed"
    assert states(found)["cpu_per_request"] == "undecided"
    assert "could not keep up" in found.rows[1].reason
    assert found.exit_code == 1
    alone = over_duel(cell, trials, thresholds(cpu_per_request="+3%"), level=0.05)
    assert alone.exit_code == 2


def test_blocks_are_promised_only_where_they_would_decide_every_row() -> None:
    found = found_of(1.07, *thresholds(throughput="-3%"), blocks=8, noise=0.04)
    assert found.more_blocks is not None
    never = replace(found.rows[0], more_blocks=None)
    assert replace(found, rows=(*found.rows, never)).more_blocks is None


def test_a_metric_without_figures_is_invalid() -> None:
    found = found_of(1.0, *thresholds(ready="1s"))
    assert found.exit_code == 3
    assert "no figures" in headline(found)


def test_files_hold_whatever_a_server_said() -> None:
    found = replace(
        found_of(1.1, *thresholds(cpu_per_request="+3%", memory="+1%", ready="1s")),
        invalid=("B: died\x00\n<script>alert(1)</script> | \ud800",),
    )
    text = markdown(found)
    assert "<script" not in text
    assert text.startswith("**Invalid measurement: B: died")
    suite = ElementTree.fromstring(junit(found, seconds=1.5).encode()).find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "1",
        "errors": "2",
        "skipped": "0",
    }


# --- over stored runs -----------------------------------------------------------------------------

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


def test_a_contestant_that_the_head_cannot_build_makes_the_gate_invalid(
    tmp_path: Path, limits: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, head = write_run(tmp_path, WORLD), write_run(tmp_path, LATER)
    plan = json.loads((head / PLAN_FILE).read_text())
    for cell in plan["cells"]:
        cell["entries"] = [one for one in cell["entries"] if one["contestant"] != "go/net-http"]
    (head / PLAN_FILE).write_text(json.dumps(plan))
    kept = [
        line
        for line in (head / TRIALS_FILE).read_text().splitlines()
        if json.loads(line)["contestant"] != "go/net-http"
    ]
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


# --- with servers ---------------------------------------------------------------------------------

SLOW = SERVER.replace("Handler.asked += 1", "Handler.asked += 1; time.sleep(0.01)").replace(
    "import os,", "import time, os,"
)
WRONG = SERVER.replace("else 200", "else 500")
DIES_LATER = SERVER.replace(
    "class Handler",
    """
starts = pathlib.Path(__file__).with_suffix(".starts")
starts.write_text((starts.read_text() if starts.exists() else "") + "x")


class Handler""",
    1,
).replace("if Handler.asked > {dies}", "if Handler.asked > 5 and len(starts.read_text()) > {dies}")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def other(project: Project, name: str, source: str, *, dies: int = 10**9) -> str:
    file = project.root / name
    file.write_text(source.format(pids=str(project.pids), dies=dies, port="sys.argv[1]"))
    return f"{sys.executable} -B {file} {{port}}"


def run_gate(project: Project, limits: str, *words: str) -> tuple[int, str]:
    file = project.root / "gate.toml"
    file.write_text(limits)
    return project.run(
        *("gate", "-t", str(file), "--path", "/route_01", "-c", "2"),
        # An overloaded host may give a server no time at all for 50 ms.
        *("--warmup", "100ms", "--window", "300ms"),
        *words,
    )


def nothing_is_left(project: Project) -> bool:
    return project.survivors() == [] and project.leftovers() == []


def test_equal_servers_hold_a_wide_threshold(project: Project, tmp_path: Path) -> None:
    base, head = (server(project, name) + " {port}" for name in ("base.py", "head.py"))
    code, output = run_gate(
        project,
        'throughput = "-95%"\n',
        *(base, head, "--blocks", "6", "--junit", str(tmp_path / "g.xml")),
        *("--markdown", str(tmp_path / "g.md")),
    )
    assert code == 0, output
    assert "All 2 thresholds hold." in output
    assert 'failures="0" errors="0" skipped="0"' in (tmp_path / "g.xml").read_text()
    assert "| throughput ≥ -95% |" in (tmp_path / "g.md").read_text()
    assert nothing_is_left(project)


def test_a_slow_head_is_regressed(project: Project, tmp_path: Path) -> None:
    code, output = run_gate(
        project,
        'throughput = "-3%"\n',
        server(project, "base.py") + " {port}",
        other(project, "head.py", SLOW),
        *("--blocks", "6", "--junit", str(tmp_path / "g.xml")),
    )
    assert code == 1, output
    assert "Regressed: throughput ≥ -3%, measured -" in output
    assert '<failure message="-' in (tmp_path / "g.xml").read_text()
    assert nothing_is_left(project)


def test_too_few_blocks_are_not_decided(project: Project) -> None:
    base, head = (server(project, name) + " {port}" for name in ("base.py", "head.py"))
    code, output = run_gate(project, 'throughput = "-3%"\n', base, head, "--blocks", "1")
    assert code == 2, output
    assert "About 5 more blocks would probably decide it (" in output
    assert "try --budget" in output
    assert nothing_is_left(project)


def test_wrong_replies_end_the_gate_at_once(project: Project) -> None:
    code, output = run_gate(
        project,
        'throughput = "-95%"\n',
        server(project, "base.py") + " {port}",
        other(project, "head.py", WRONG),
    )
    assert code == 1, output
    assert "errors ≤ 0, measured" in output
    assert nothing_is_left(project)


def test_a_server_that_dies_in_the_middle_makes_the_gate_invalid(
    project: Project, tmp_path: Path
) -> None:
    code, output = run_gate(
        project,
        'throughput = "-3%"\n',
        server(project, "base.py") + " {port}",
        other(project, "head.py", DIES_LATER, dies=2),
        *("--junit", str(tmp_path / "g.xml")),
    )
    assert code == 3, output
    assert "Invalid measurement: B: the server exited with 7 under load" in output
    assert "out of paper" in output
    assert "out of paper" in (tmp_path / "g.xml").read_text()
    assert nothing_is_left(project)


def test_an_interrupted_gate_prints_what_is_known_and_leaves_nothing(project: Project) -> None:
    file = project.root / "gate.toml"
    file.write_text('throughput = "-1%"\n')
    base, head = (server(project, name) + " {port}" for name in ("base.py", "head.py"))
    with project.start(
        "gate", base, head, "-t", str(file), "--path", "/route_01", "-c", "2", "--window", "50ms"
    ) as process:
        wait_for(lambda: len(project.started()) > 3, process)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "throughput ≥ -1%" in output
    assert nothing_is_left(project)
    code, output = project.run("run", "--resume", "latest")
    assert code == 64, output
    assert "--resume: expected a run of a study, got a duel or gate" in output


def test_a_server_that_does_not_start_makes_the_gate_invalid(project: Project) -> None:
    code, output = run_gate(
        project,
        'throughput = "-3%"\n',
        *(server(project, "base.py") + " {port}", "echo no such luck; exit 3"),
    )
    assert code == 3, output
    assert "no such luck" in output
    assert nothing_is_left(project)


def test_a_revision_that_does_not_build_makes_the_gate_invalid(
    project: Project, tmp_path: Path
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    for words in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "one"],
        ["commit", "-q", "--allow-empty", "-m", "two"],
    ):
        subprocess.run(
            ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b", *words],
            check=True,
        )
    code, output = run_gate(
        project,
        'throughput = "-3%"\n',
        *("--git", "HEAD~1..", "--build", "echo broken; false", "true"),
        *("--cwd", str(repository)),
    )
    assert code == 3, output
    assert "broken" in output
    assert nothing_is_left(project)


@pytest.mark.parametrize("name", ["cpu_per_request", "memory", "memory_peak", "ready"])
def test_what_is_not_known_of_an_address_is_refused(
    project: Project,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WIREBENCH_ROOT", str(project.root))
    file = project.root / "gate.toml"
    file.write_text(f'{name} = "+5%"\n')
    for words in (["./a", "http://127.0.0.1:9"], ["http://127.0.0.1:9", "./a"]):
        assert run_app(["gate", "-t", str(file), *words]) == 64
        said = capsys.readouterr().err
        assert f"{name}: not known of a server that runs already" in said
        assert "give its command" in said
    assert not (project.root / "results").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a"], "expected two commands"),
        (["a", "b", "c"], "expected two commands"),
        (["a", "b", "--baseline", "x"], "one stored run"),
        (["a", "--baseline", "x", "--git", "m.."], "no --git"),
        (["a", "--baseline", "x", "--rate", "5"], "--baseline: expected no --rate with it"),
        (["a", "--baseline", "x", "--blocks", "9", "--no-turns"], "no --no-turns, --blocks with"),
        (["a", "--baseline", "x", "--budget", "2m", "-c", "50"], "no --connections, --budget with"),
        (["a", "--baseline", "x"], "RUN: expected"),
        (["a", "b", "--cell", "c"], "expected --baseline"),
        (["a", "b", "--junit", "/nowhere/at/all/x.xml"], "/nowhere"),
        (["a", "b", "--out", "/bin/sh"], "--out: expected a folder"),
        (["a", "b", "--thresholds", "/nowhere/at/all/x.toml"], "not read"),
    ],
)
def test_wrong_usage_is_told_before_anything_starts(
    project: Project,
    words: Sequence[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WIREBENCH_ROOT", str(project.root))
    monkeypatch.setenv("COLUMNS", "200")
    file = project.root / "gate.toml"
    file.write_text('p99 = "+5%"\n')
    assert run_app(["gate", "-t", str(file), *words]) == 64
    assert says in capsys.readouterr().err
    assert not (project.root / "results").exists()
