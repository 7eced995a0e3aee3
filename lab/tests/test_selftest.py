"""What the self-test runs, what it reads of its programs, and its command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wirebench.cli.main import run_app
from wirebench.selftest import generator
from wirebench.selftest.cases import FULL, QUICK, Load, base_load, cases, fitted, load_for
from wirebench.selftest.laws import MS, US, Drift, S
from wirebench.selftest.suite import Wanted, distinct, estimate_s, runs
from wirebench.selftest.truth_server import Counts, Record
from wirebench.trial.wireload import Document

# --- what runs ------------------------------------------------------------------------------------


def test_runs_cover_every_case_mode_and_rate() -> None:
    wanted = Wanted(
        cases=cases(FULL),
        modes=("closed", "constant", "poisson"),
        rates=FULL.rates,
        repeats=FULL.repeats,
    )
    every = list(runs(wanted, FULL))
    for mode in ("constant", "poisson"):
        assert [load.rate for _, load in every if load.mode == mode] == [1_000, 10_000, 50_000] * 7
    closed = {
        (case.name, load.rate, load.connections) for case, load in every if load.mode == "closed"
    }
    assert {
        ("constant", 1_000, 10),
        ("constant", 2_000, 20),
        ("slow", 1_000, 1),
        ("slow", 20_000, 20),
    } <= closed
    # A freeze says the same at any rate.
    assert len([name for name, _, _ in closed if name == "freeze"]) == 1
    assert len(closed) == len([load for _, load in every if load.mode == "closed"])
    for _, load in every:
        if load.mode != "closed":  # ten samples beyond p99.9, with random arrivals too
            assert (load.requests or load.rate * load.window_ns / S) >= 10_500
    for case, load in every:
        if isinstance(case.law, Drift):
            assert case.law.over_s == load.seconds  # it goes on growing to the end of the window
    assert estimate_s(replace(wanted, modes=("constant",)), FULL) < 20 * 60
    assert distinct(["slow"], ["constant", "slow"], "--case") == ("slow",)
    with pytest.raises(ValueError, match="--case: expected one of constant, slow, got 'fast'"):
        distinct(["fast"], ["constant", "slow"], "--case")


def test_openings_cost_less_than_a_thousandth_of_the_requests_of_an_open_loop() -> None:
    drops = next(case for case in cases(FULL) if case.name == "drops")
    for mode in ("constant", "poisson"):
        for rate in FULL.rates:
            load = load_for(drops, mode, rate, FULL)
            assert load.requests is not None
            faults = fitted(drops, load).faults
            before = round(load.warmup_ns * load.rate / S)
            dropped = faults.expected(load.requests, before)["closed_early"]
            assert dropped in (4, 5)
            assert dropped * (1 + rate * 150 * US / S) < load.requests / 1_000
            assert faults.spare(before)
    closed = load_for(drops, "closed", 1_000, FULL)
    assert fitted(drops, closed).faults.drop == 100
    assert (
        fitted(drops, load_for(drops, "constant", 1_000, QUICK)).faults.drop == 100
    )  # p99.9 is not asked there


def test_the_generators_command_line(tmp_path: Path) -> None:
    freeze = next(case for case in cases(FULL) if case.name == "freeze")
    drops = next(case for case in cases(FULL) if case.name == "drops")
    where = {"port": 8080, "cores": (1,), "seed": 3, "json_file": tmp_path / "x"}

    def words(load: Load) -> str:
        return " ".join(generator.command(Path("wireload"), load, **where))  # type: ignore[arg-type]

    open_loop = words(load_for(freeze, "poisson", 1_000, FULL))
    assert (
        "--rate 1000 --arrivals poisson --warmup 2500ms -d 15s http://127.0.0.1:8080/" in open_loop
    )
    assert "--threads 1 --cpu 1" in open_loop
    assert "--seed 3" in open_loop
    closed = words(load_for(drops, "closed", 1_000, FULL))
    assert "--rate" not in closed
    assert "-c 1 --pipeline 1 --warmup 1s -n 10500 http" in closed
    assert base_load("closed", 1_000, FULL).connections == 1
    assert "--engine" not in closed
    load = load_for(drops, "closed", 1_000, FULL)
    asked = generator.command(Path("wireload"), load, **where, engine="io_uring")  # type: ignore[arg-type]
    assert "--engine io_uring" in " ".join(asked)


def test_the_generators_document() -> None:
    document = {
        "schema": "wireload/1",
        "plan": {"engine": "io_uring"},
        "connect": {"attempted": 1, "opened": 1, "failed": 0},
        "window": {"start_unix_ns": 5, "elapsed_ns": 2 * S},
        "requests": {"sent": 12, "ok": 9, "errors": 2},
        "errors": {"closed_early": 2, "tls": 0},
        "latency": {"count": 9, "max_ns": 7, "percentiles_ns": {"50": 3, "99.9": None}},
        "generator": {"involuntary_switches": 30},
        "open_loop": {
            "rate": 6.0,
            "scheduled": 12,
            "rate_kept": True,
            "lag": {"count": 12},
            "service": {"count": 9},
            "void": "p99 of the lag is 3 ms",
        },
    }
    found = generator.figures([Document.model_validate(document)])
    assert found.percentiles == {"p50": 3, "p99.9": None, "max": 7}
    assert (found.requests, found.errors, found.evictions_per_s) == (11, {"closed_early": 2}, 15)
    assert found.void == "p99 of the lag is 3 ms"
    assert found.engine == "io_uring"
    closed = Document.model_validate({**document, "open_loop": None})
    assert generator.figures([closed]).void is None
    without = Document.model_validate({**document, "window": {}})
    with pytest.raises(generator.GeneratorError, match="expected a start and a length"):
        generator.figures([without])
    with pytest.raises(generator.GeneratorError, match="latency: expected a histogram"):
        generator.figures([closed, closed])


def test_a_load_in_parts(tmp_path: Path) -> None:
    freeze = next(case for case in cases(FULL) if case.name == "freeze")
    load = replace(load_for(freeze, "constant", 1_000, FULL), connections=7)
    words = [
        " ".join(
            generator.command(
                Path("wireload"),
                load,
                port=8080,
                cores=(1,),
                seed=3,
                json_file=tmp_path / "x",
                part=generator.Part(number=number, of=2, start_ns=99),
            )
        )
        for number in (1, 2)
    ]
    assert "--part 1/2 --start 99" in words[0]
    assert "-c 4 " in words[0]
    assert "--rate 1000 --arrivals constant --spin never" in words[0]
    assert "--part 2/2 --start 99" in words[1]
    assert "-c 3 " in words[1]
    assert "--no-histogram" not in words[1]


def test_the_servers_record_is_cut_to_the_window() -> None:
    counts = Counts(
        anchor_unix_ns=0,
        connections=1,
        requests=4,
        right=4,
        dropped=1,
        wrong_status=0,
        wrong_body=2,
        wrong_length=3,
        samples_left_out=0,
    )
    received = np.array([0, 10, 20, 30], dtype=np.int64)
    record = Record(
        counts=counts,
        received_unix=received,
        law=received,
        really=np.array([900, 5, 7, 900], dtype=np.int64),
    )
    assert record.percentiles(10, 30) == {"p50": 5, "p90": 7, "p99": 7, "p99.9": 7, "max": 7}
    assert record.percentiles(100, 200) == {}
    assert counts.errors == {"closed_early": 1, "bad_body": 5}


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["epoll", "io_uring"])
def test_a_short_self_test(engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "selftest.json"
    words = [
        "--quick",
        "--engine",
        engine,
        "--mode",
        "closed",
        "--case",
        "constant",
        "--case",
        "drops",
        "--case",
        "wrong",
        "--json",
        str(file),
    ]
    code = run_app(["selftest", *words])
    # How well a busy machine keeps time is not for a test to say; what is counted is exact on any.
    said = capsys.readouterr().out
    if "cannot use io_uring" in said:
        pytest.skip("this host forbids io_uring")
    assert code in (0, 1)
    assert said.startswith("1 x 3 runs, some ")
    assert "truth = the law of the server + the base" in said
    assert f"engine: {engine} in 3 runs (asked for)" in said
    stored = json.loads(file.read_text())
    assert stored["engine_asked"] == engine
    assert [run["engine"] for run in stored["runs"]] == [engine] * 3
    assert [run["void"] for run in stored["runs"]] == [None] * 3
    assert [(row["case"], row["verdict"]) for row in stored["errors"]] == [
        ("drops", "yes"),
        ("wrong", "yes"),
    ]
    assert stored["errors"][0]["measured"] == {"closed_early": 5}
    constant = [row for row in stored["percentiles"] if row["case"] == "constant"]
    assert [row["percentile"] for row in constant] == ["p50", "p90", "p99", "p99.9", "max"]
    for row in constant[:2]:
        assert row["measured"] >= row["truth"]["low"] - 1 * MS, (
            "no reply comes before the law lets it go"
        )
        assert row["server"] >= 10 * MS, "nor did the server give one"
        assert row["off"]["least"] == row["off"]["median"] == row["off"]["greatest"]


def test_a_short_self_test_by_several_generators(tmp_path: Path) -> None:
    file = tmp_path / "selftest.json"
    words = ["--quick", "--parts", "3", "--mode", "constant", "--case", "wrong"]
    code = run_app(["selftest", *words, "--json", str(file)])
    assert code in (0, 1, 3)
    stored = json.loads(file.read_text())
    (run,) = stored["runs"]
    assert run["void"] is None or "wireload" not in run["void"]
    if run["void"] is None:
        assert [row["verdict"] for row in stored["errors"]] == ["yes"]


def test_wrong_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["selftest", "--case", "fast"]) == 64
    assert (
        "--case: expected one of constant, slow, freeze, bimodal, drift, drops, wrong, got 'fast'"
        in capsys.readouterr().err
    )
    assert run_app(["selftest", "--engine", "select"]) == 64
    assert "--engine: expected one of epoll, io_uring, got 'select'" in capsys.readouterr().err
    assert run_app(["selftest", "--tables", "5", "--standard"]) == 64
    assert "--tables, --standard: expected --verdicts with it" in capsys.readouterr().err
    assert run_app(["selftest", "--verdicts", "--quick"]) == 64
    assert "--verdicts: expected no --quick with it" in capsys.readouterr().err
    assert run_app(["selftest", "--repeats", "4"]) == 64
    assert "--repeats: expected an odd number" in capsys.readouterr().err
    assert run_app(["selftest", "--wireload", str(tmp_path / "none")]) == 64
    assert "--wireload: expected a program" in capsys.readouterr().err


def test_quick_is_smaller_in_every_way() -> None:
    assert QUICK.rates == FULL.rates[:1]
    assert QUICK.window_ns < FULL.window_ns
    assert [case.name for case in cases(QUICK)] == [case.name for case in cases(FULL)]
