"""The self-test's verdicts, tables, adapters and command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from wirebench.cli.main import run_app
from wirebench.selftest import generator, table
from wirebench.selftest.cases import FULL, QUICK, Case, Faults, Load, base_load, cases, load_for
from wirebench.selftest.judge import ErrorRow, Result, Row, Verdict, VoidRow, error_row, exit_code, percentile_rows, verdict_of
from wirebench.selftest.laws import MS, US, Conditions, Constant, Drift, S, Slow, Span
from wirebench.selftest.peers import PEERS, PeerError, PeerRow, installed
from wirebench.selftest.suite import Wanted, distinct, runs
from wirebench.selftest.truth_server import Counts, Record

LOAD = Load(mode="constant", rate=1_000, connections=64, in_flight=1, warmup_ns=S, window_ns=12 * S)
MET = Conditions(mode="constant", rate=1_000, connections=64, count=12_000, start_s=1, seconds=12, base_ns=30 * US)


def shown(*tables: object) -> str:
    console = Console(width=220, no_color=True)
    with console.capture() as capture:
        for one in tables:
            console.print(one)
    return capture.get()


# --- verdicts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("truth", "server", "measured", "expected"),
    [
        (10 * MS, 10 * MS, 10.099 * MS, "yes"),
        (10 * MS, 10 * MS, 10.101 * MS, "NO"),
        (10 * MS, 10 * MS, 9.899 * MS, "NO"),
        (30 * US, 30 * US, 79 * US, "yes"),  # 50 us where one percent is less
        (30 * US, 30 * US, 81 * US, "NO"),
        (10 * MS, 10.2 * MS, 10.2 * MS, "machine"),
        (10 * MS, 10.2 * MS, 10 * MS, "yes"),
        (10 * MS, None, 10.2 * MS, "NO"),
        (10 * MS, 10 * MS, None, "-"),
        (None, 10 * MS, 10 * MS, "-"),
    ],
)
def test_verdicts(truth: float | None, server: float | None, measured: float | None, expected: str) -> None:
    span = None if truth is None else Span(low=truth, high=truth)
    assert verdict_of(span, server, measured, random=False)[0] == expected


def test_where_chance_makes_the_truth_wide_the_server_is_asked_too() -> None:
    wide = Span(low=400 * MS, high=600 * MS)
    assert verdict_of(wide, 480 * MS, 550 * MS, random=True)[0] == "NO"
    assert verdict_of(wide, 480 * MS, 484 * MS, random=True)[0] == "yes"
    assert verdict_of(wide, 480 * MS, 550 * MS, random=False)[0] == "yes"  # a step: all of it is true


def test_rows_of_a_run() -> None:
    case = Case(name="slow", law=Slow(every=100, delay_ns=100 * MS))
    measured = {"p50": 35.0 * US, "p90": 40.0 * US, "p99": 60 * MS, "p99.9": 130.0 * MS, "max": 140.0 * MS}
    server = {"p50": 1.0 * US, "p90": 1.0 * US, "p99": 1.0 * US, "p99.9": 100.0 * MS, "max": 100.0 * MS}
    rows = percentile_rows(case, LOAD, MET, measured, server, hint="a busy core")
    assert [(row.percentile, row.verdict) for row in rows] == [
        ("p50", "yes"),
        ("p90", "yes"),
        ("p99", "yes"),
        ("p99.9", "NO"),
        ("max", "-"),
    ]
    assert rows[3].note == "a busy core"
    assert rows[3].difference == pytest.approx(29.97 * MS)
    assert rows[2].truth == Span(low=30 * US, high=100 * MS + 30 * US)
    assert rows[0].server == 31 * US


def test_errors_are_exact_or_wrong() -> None:
    case = Case(name="wrong", law=Constant(delay_ns=MS), faults=Faults(drop=100, body=150))

    def verdict(measured: dict[str, int], server: dict[str, int]) -> Verdict:
        return error_row(case, LOAD, requests=1_000, measured=measured, server=server).verdict

    expected = case.faults.expected(1_000)
    assert expected == {"closed_early": 10, "bad_body": 3}  # 150 450 750; 300 600 900 are dropped
    assert verdict(expected, expected) == "yes"
    assert verdict({**expected, "read_timeout": 0}, expected) == "yes"
    assert verdict({**expected, "read_timeout": 1}, expected) == "NO"
    assert verdict({**expected, "bad_body": expected["bad_body"] - 1}, expected) == "NO"
    assert verdict(expected, {**expected, "closed_early": 11}) == "NO"


def test_errors_of_the_warm_up_do_not_count() -> None:
    faults = Faults(drop=100, body=150)
    case = Case(name="wrong", law=Constant(delay_ns=MS), faults=faults)
    server = faults.expected(1_250)
    assert faults.expected(1_000, 250) == {"closed_early": 10, "bad_body": 3}  # 300 is dropped, 450 750 1,050 are not
    row = error_row(case, LOAD, requests=1_000, measured={"closed_early": 10, "bad_body": 3}, server=server, before=250)
    assert (row.verdict, row.server) == ("yes", {"closed_early": 10, "bad_body": 3})
    row = error_row(case, LOAD, requests=1_000, measured={"closed_early": 11, "bad_body": 3}, server=server, before=250)
    assert row.verdict == "NO"
    assert faults.spare(250)
    assert not any(faults.spare(before) for before in (97, 100, 102, 148, 1_050))
    for mode in ("constant", "poisson"):
        load = load_for(case, mode, 1_000, FULL)
        before = round(load.warmup_ns * load.rate / S)
        assert before >= 2 * load.connections
        assert faults.spare(before)


def row(verdict: Verdict) -> Row:
    return Row(case="c", mode="closed", rate=1, percentile="p50", truth=None, server=None, measured=None, verdict=verdict)


def test_exit_codes() -> None:
    void = VoidRow(case="c", mode="closed", rate=1, why="lag")
    exact = ErrorRow(case="c", mode="closed", rate=1, truth={}, server={}, measured={}, verdict="yes")
    assert exit_code([row("yes"), row("machine"), row("-"), void]) == 0
    assert exit_code([exact, void]) == 0
    assert exit_code([row("yes"), row("NO")]) == 1
    assert exit_code([replace(exact, verdict="NO"), row("yes")]) == 1
    assert exit_code([row("machine"), row("-"), void]) == 3
    assert exit_code([]) == 3


# --- what runs ------------------------------------------------------------------------------------------------------------


def test_runs_cover_every_case_mode_and_rate() -> None:
    every = list(runs(Wanted(cases=cases(FULL), modes=("closed", "constant", "poisson"), rates=FULL.rates), FULL))
    for mode in ("constant", "poisson"):
        assert [load.rate for _, load in every if load.mode == mode] == [1_000, 10_000, 50_000] * 7
    closed = {(case.name, load.rate, load.connections) for case, load in every if load.mode == "closed"}
    assert {("constant", 1_000, 10), ("constant", 2_000, 20), ("slow", 1_000, 1), ("slow", 20_000, 20)} <= closed
    # A freeze says the same at any rate.
    assert len([name for name, _, _ in closed if name == "freeze"]) == 1
    assert len(closed) == len([load for _, load in every if load.mode == "closed"])
    assert distinct(["slow"], ["constant", "slow"], "--case") == ("slow",)
    with pytest.raises(ValueError, match="--case: expected one of constant, slow, got 'fast'"):
        distinct(["fast"], ["constant", "slow"], "--case")


def test_the_generators_command_line(tmp_path: Path) -> None:
    freeze = next(case for case in cases(FULL) if case.name == "freeze")
    drops = next(case for case in cases(FULL) if case.name == "drops")
    where = {"port": 8080, "cores": (1,), "seed": 3, "json_file": tmp_path / "x"}

    def words(load: Load) -> str:
        return " ".join(generator.command(Path("wireload"), load, **where))  # type: ignore[arg-type]

    open_loop = words(load_for(freeze, "poisson", 1_000, FULL))
    assert (
        f"--rate 1000 --arrivals poisson --warmup 2500ms -d 15s --core-gaps {tmp_path / 'x.gaps'} http://127.0.0.1:8080/"
        in open_loop
    )
    assert "--threads 1 --cpu 1" in open_loop
    assert "--seed 3" in open_loop
    closed = words(load_for(drops, "closed", 1_000, FULL))
    assert "--rate" not in closed
    assert "-c 1 --pipeline 1 --warmup 1s -n 5000 --core-gaps" in closed
    assert base_load("closed", 1_000, FULL).connections == 1


def test_the_generators_document(tmp_path: Path) -> None:
    document = {
        "schema": "wireload/1",
        "connect": {"attempted": 1, "opened": 1, "failed": 0},
        "window": {"start_unix_ns": 5, "elapsed_ns": 2 * S},
        "requests": {"sent": 12, "ok": 9, "errors": 2},
        "errors": {"closed_early": 2, "tls": 0},
        "latency": {"count": 9, "max_ns": 7, "percentiles_ns": {"50": 3, "99.9": None}},
        "generator": {"involuntary_switches": 30},
        "open_loop": {"void": "p99 of the lag is 3 ms"},
    }
    file = tmp_path / "document.json"
    file.write_text(json.dumps(document))
    watched = {"core": 1, "problem": None, "looks": 10, "left_out": 0, "gaps": [[7, 2, 3]]}
    file.with_suffix(".gaps").write_text(json.dumps({"schema": "core-gaps/1", "cores": [watched]}))
    found = generator.read(file)
    assert found.percentiles == {"p50": 3, "p99.9": None, "max": 7}
    assert (found.requests, found.errors, found.evictions_per_s) == (11, {"closed_early": 2}, 10)
    assert found.gaps.gaps == ((7, 2, 3),)
    assert found.void == "p99 of the lag is 3 ms"
    file.write_text(json.dumps({**document, "open_loop": None}))
    assert generator.read(file).void is None
    file.write_text("{")
    with pytest.raises(generator.GeneratorError, match="expected a JSON document"):
        generator.read(file)


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
    record = Record(counts=counts, received_unix=received, law=received, really=np.array([900, 5, 7, 900], dtype=np.int64))
    assert record.percentiles(10, 30) == {"p50": 5, "p90": 7, "p99": 7, "p99.9": 7, "max": 7}
    assert record.percentiles(100, 200) == {}
    assert counts.errors == {"closed_early": 1, "bad_body": 5}


# --- tables ---------------------------------------------------------------------------------------------------------------


def test_tables_say_what_was_found() -> None:
    results: list[Result] = [
        Row(
            case="freeze",
            mode="constant",
            rate=50_000,
            percentile="p99",
            truth=Span(low=900 * MS, high=951 * MS),
            server=950 * MS,
            measured=0.4 * MS,
            verdict="NO",
        ),
        ErrorRow(
            case="drops",
            mode="closed",
            rate=1_000,
            truth={"closed_early": 50},
            server={"closed_early": 50},
            measured={},
            verdict="NO",
        ),
        VoidRow(case="drift", mode="poisson", rate=1_000, why="lag [p99] is 9 ms"),
    ]
    text = shown(table.percentile_table(results), table.error_table(results))
    assert "900.00 ms .. 951.00 ms" in text
    assert "400.0 us" in text
    assert "-899.60 ms" in text
    assert "50 closed_early" in text
    assert "none" in text
    assert "void: lag (p99) is 9 ms" in text
    assert table.summary(results) == "0 right, 2 wrong, 0 not decided (the machine was disturbed), 1 runs void"
    stood = replace(
        row("gaps"), truth=Span(low=1 * MS, high=1 * MS), with_gaps=Span(low=2 * MS, high=3 * MS), note="stood still"
    )
    both = shown(table.percentile_table([stood, *results]))
    assert "truth with gaps" in both
    assert "2.00 ms .. 3.00 ms" in both
    assert "gaps (stood still)" in both
    assert "1 right with recorded standstills of the cores" in table.summary([stood])
    assert exit_code([stood]) == 0
    assert "closed 1,000/s 30.0 us" in table.footer({("closed", 1_000): 30 * US})
    stored = json.loads(json.dumps(table.to_json(results, (), {("closed", 1_000): 1.0})))
    assert [len(stored[part]) for part in ("percentiles", "errors", "void", "peers", "bases_ns")] == [1, 1, 1, 0, 1]


def test_peers_stand_beside_us_and_what_users_see() -> None:
    peer = PeerRow(
        case="freeze",
        peer="wrk",
        mode="closed",
        rate=1_000,
        truth={"max": Span(low=S, high=S)},
        for_users={"p99": Span(low=951 * MS, high=951 * MS)},
        measured={"p99": 60.0 * US, "max": 1.1 * S},
        note="closed",
    )
    own = replace(row("-"), case="freeze", mode="closed", rate=1_000, percentile="p99", measured=70.0 * US)
    lines = shown(table.peer_table([peer], [own])).splitlines()
    who = [line.split("1,000")[1].split() for line in lines if "1,000" in line]
    assert [words[0] for words in who] == ["truth", "truth", "wireload", "wrk"]
    assert "951.00" in who[1]
    assert "70.0" in who[2]
    assert "60.0" in who[3]


# --- peers ----------------------------------------------------------------------------------------------------------------

# What they printed of a server that answers every 100th request after 50 ms, ten connections.
WRK = """Running 2s test @ http://127.0.0.1:34495/
  1 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    12.41ms   16.18ms  50.12ms   78.85%
    Req/Sec    19.58k   815.21    20.20k    75.00%
  Latency Distribution
     50%   30.00us
     75%   24.88ms
     90%   40.27ms
     99%   49.50ms
  38990 requests in 2.00s, 3.46MB read
Requests/sec:  19485.62
"""
AB = """Percentage of the requests served within a certain time (ms)
  50%      0
  90%      0
  99%     50
 100%     50 (longest request)
"""
H2LOAD = """                     min         max         mean         sd        +/- sd
time for request:        8us     50.15ms       506us      4.91ms    99.03%
time for connect:        6us        79us        46us        24us    70.00%
"""
HEY = """Summary:
  Total:	2.0403 secs
  Slowest:	0.0502 secs
  Fastest:	0.0000 secs

Latency distribution:
  50%% in 0.0000 secs
  90%% in 0.0001 secs
  99%% in 0.0500 secs
"""
WRK2 = """Running 2s test @ http://127.0.0.1:34495/
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    0.94ms
 75.000%    1.40ms
 90.000%    1.75ms
 99.000%   49.12ms
 99.900%   50.30ms
 99.990%   50.43ms
100.000%   50.43ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.031     0.000000            1         1.00
       0.940     0.500000          996         2.00
#[Mean    =        1.438, StdDeviation   =        4.910]
----------------------------------------------------------
"""
VEGETA = """Value(ms)  Percentile  TotalCount  1/(1-Percentile)
0.020000   0.000000    1           1.000000
0.110000   0.500000    1000        2.000000
0.140000   0.900000    1800        10.000000
50.020000  0.990000    1980        100.000000
50.100000  0.999000    1998        1000.000000
50.200000  1.000000    2000        10000000.000000
"""
BOMBARDIER = (
    '{"spec":{"numberOfConnections":10,"testType":"timed","testDurationSeconds":2,"client":"fasthttp"},"result":{"bytesRead":1,'
    '"req2xx":20000,"others":0,"latency":{"mean":499.2,"stddev":4900.1,"max":50210,"percentiles":{"50":31,"75":38,"90":52,'
    '"99":49870}},"rps":{"mean":20000.0,"stddev":800.0,"max":21000.0,"percentiles":{"50":20100.000000}}}}'
)
K6 = '{"http_req_duration":{"p(50)":0.09,"p(90)":0.14,"p(99)":50.02,"p(99.9)":50.11,"max":50.3}}'
AUTOCANNON = (
    '{"url":"http://127.0.0.1:34495/","connections":10,"latency":{"average":0.5,"min":1,"max":59,"p50":0,"p90":0,"p97_5":0,'
    '"p99":13,"p99_9":50,"totalCount":37686},"requests":{"p50":18591}}'
)
OHA = """{
  "summary": {"successRate": 1.0, "total": 2.000419862, "slowest": 0.074085311, "fastest": 0.000017931},
  "latencyPercentiles": {
    "p10": 0.0000254, "p50": 0.000057103, "p90": 0.000121912, "p99": 0.050034812, "p99.9": 0.050139357, "p99.99": null
  }
}
"""

SAMPLES = {
    "wrk": (WRK, {"p50": 30 * US, "p75": 24.88 * MS, "p90": 40.27 * MS, "p99": 49.5 * MS, "max": 50.12 * MS}),
    "ab": (AB, {"p50": 0, "p90": 0, "p99": 50 * MS, "max": 50 * MS}),
    "h2load": (H2LOAD, {"max": 50.15 * MS}),
    "hey": (HEY, {"p50": 0, "p90": 100 * US, "p99": 50 * MS, "max": 50.2 * MS}),
    "oha": (
        OHA,
        {"p50": 57.103 * US, "p90": 121.912 * US, "p99": 50.034812 * MS, "p99.9": 50.139357 * MS, "max": 74.085311 * MS},
    ),
    "wrk2": (
        WRK2,
        {
            "p50": 940 * US,
            "p75": 1.4 * MS,
            "p90": 1.75 * MS,
            "p99": 49.12 * MS,
            "p99.99": 50.43 * MS,
            "p99.9": 50.3 * MS,
            "max": 50.43 * MS,
        },
    ),
    "vegeta": (VEGETA, {"p50": 110 * US, "p90": 140 * US, "p99": 50.02 * MS, "p99.9": 50.1 * MS, "max": 50.2 * MS}),
    "bombardier": (BOMBARDIER, {"p50": 31 * US, "p75": 38 * US, "p90": 52 * US, "p99": 49.87 * MS, "max": 50.21 * MS}),
    "k6": (K6, {"p50": 90 * US, "p90": 140 * US, "p99": 50.02 * MS, "p99.9": 50.11 * MS, "max": 50.3 * MS}),
    "autocannon": (AUTOCANNON, {"p50": 0, "p90": 0, "p99": 13 * MS, "p99.9": 50 * MS, "max": 59 * MS}),
}


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_what_peers_print_is_understood(peer: object) -> None:
    found = next(one for one in PEERS if one is peer)
    text, expected = SAMPLES[found.name]
    assert found.parse(text) == pytest.approx(expected)
    with pytest.raises(PeerError, match=f"{found.name}: expected"):
        found.parse("something else {}")
    words = found.command("http://127.0.0.1:1/", LOAD)
    assert words[0] == found.name or (words[:2] == ["sh", "-c"] and words[3] == found.name)
    assert "http://127.0.0.1:1/" in words
    assert any("13" in word for word in words), "as long as our warm-up and window together"


def test_scripts_of_peers_are_told_everything() -> None:
    k6 = next(one for one in PEERS if one.name == "k6")
    assert "constant-arrival-rate" in k6.command("http://h/", LOAD)[-1]
    assert "rate: 1000" in k6.command("http://h/", LOAD)[-1]
    assert "constant-vus" in k6.command("http://h/", replace(LOAD, mode="closed"))[-1]
    vegeta = next(one for one in PEERS if one.name == "vegeta")
    assert vegeta.command("http://h/", LOAD)[3:] == ["vegeta", "http://h/", "13s", "1000/1s", "64"]


def test_only_what_is_installed_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ab").write_text("#!/bin/sh\n")
    (tmp_path / "ab").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [peer.name for peer in installed()] == ["ab"]


# --- the command ------------------------------------------------------------------------------------------------------------


def test_a_short_self_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "selftest.json"
    words = ["--quick", "--mode", "closed", "--case", "constant", "--case", "drops", "--case", "wrong", "--json", str(file)]
    code = run_app(["selftest", *words])
    # How well a busy machine keeps time is not for a test to say; what is counted is exact on any.
    assert code in (0, 1)
    said = capsys.readouterr().out
    assert "truth = the law of the server + the base" in said
    stored = json.loads(file.read_text())
    assert stored["void"] == []
    assert [(row["case"], row["verdict"]) for row in stored["errors"]] == [("drops", "yes"), ("wrong", "yes")]
    assert stored["errors"][0]["measured"] == {"closed_early": 5}
    constant = [row for row in stored["percentiles"] if row["case"] == "constant"]
    assert [row["percentile"] for row in constant] == ["p50", "p90", "p99", "p99.9", "max"]
    for row in constant[:2]:
        assert row["measured"] >= row["truth"]["low"] - 1 * MS, "no reply comes before the law lets it go"
        assert row["server"] >= row["truth"]["low"]


def test_wrong_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["selftest", "--case", "fast"]) == 64
    assert "--case: expected one of constant, slow, freeze, bimodal, drift, drops, wrong, got 'fast'" in capsys.readouterr().err
    assert run_app(["selftest", "--wireload", str(tmp_path / "none")]) == 64
    assert "--wireload: expected a program" in capsys.readouterr().err


def test_quick_is_smaller_in_every_way() -> None:
    assert QUICK.rates == FULL.rates[:1]
    assert QUICK.window_ns < FULL.window_ns
    assert [case.name for case in cases(QUICK)] == [case.name for case in cases(FULL)]
    drift = next(case.law for case in cases(FULL) if case.name == "drift")
    assert isinstance(drift, Drift)
    # It goes on growing to the end of the window.
    assert drift.over_s * S >= FULL.warmup_ns + FULL.window_ns
