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
from wirebench.selftest.cases import FULL, QUICK, Case, Faults, Load, base_load, cases, fitted, load_for
from wirebench.selftest.judge import (
    ErrorRow,
    Errors,
    Result,
    Row,
    Seen,
    Verdict,
    error_row,
    errors_of,
    exit_code,
    percentile_row,
)
from wirebench.selftest.laws import MS, US, Conditions, Constant, Drift, S, Slow, Span
from wirebench.selftest.peers import PEERS, Peer, PeerError, PeerRow, installed
from wirebench.selftest.repeats import Group, Run
from wirebench.selftest.suite import Wanted, distinct, estimate_s, runs
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

CONSTANT = Case(name="constant", law=Constant(delay_ns=10 * MS))


def at(truth: float | None, server: float | None, measured: float | None, stood: float | None = None) -> Seen:
    def span(ns: float | None) -> Span | None:
        return None if ns is None else Span(low=ns, high=ns)

    return Seen(truth=span(truth), server=server, measured=measured, with_gaps=span(stood))


def judged(*seen: Seen, wanted: int | None = None, asks_server: bool = False) -> Row:
    return percentile_row(CONSTANT, LOAD, "p99", seen, wanted=wanted or len(seen), asks_server=asks_server)


@pytest.mark.parametrize(
    ("truth", "server", "measured", "expected"),
    [
        (10 * MS, 10 * MS, 10.099 * MS, "yes"),
        (10 * MS, 10 * MS, 10.101 * MS, "NO"),
        (10 * MS, 10 * MS, 9.899 * MS, "NO"),
        (30 * US, 30 * US, 79 * US, "yes"),  # 50 us where one percent is less
        (30 * US, 30 * US, 81 * US, "NO"),
        (10 * MS, 10.2 * MS, 10.2 * MS, "server"),  # it was late, and wireload says so
        (10 * MS, 10.05 * MS, 10.14 * MS, "server"),
        (10 * MS, 10.2 * MS, 10 * MS, "yes"),
        (10 * MS, 10.2 * MS, 10.4 * MS, "undecided"),
        (10 * MS, 12 * MS, 11 * MS, "NO"),  # less than the server took: no generator can have seen that
        (10 * MS, None, 10.2 * MS, "NO"),
        (10 * MS, 10 * MS, None, "-"),
        (None, 10 * MS, 10 * MS, "-"),
    ],
)
def test_verdicts(truth: float | None, server: float | None, measured: float | None, expected: str) -> None:
    assert judged(at(truth, server, measured)).verdict == expected


def test_where_chance_makes_the_truth_wide_the_server_is_asked_too() -> None:
    def verdict(measured: float, *, asks_server: bool) -> Verdict:
        wide = Span(low=400 * MS, high=600 * MS)
        return judged(Seen(truth=wide, server=480 * MS, measured=measured), asks_server=asks_server).verdict

    assert verdict(550 * MS, asks_server=True) == "NO"
    assert verdict(484 * MS, asks_server=True) == "yes"
    assert verdict(550 * MS, asks_server=False) == "yes"  # a step: all of it is true


def test_the_median_of_the_repeats_decides_and_the_range_shows_the_rest() -> None:
    right, false = at(10 * MS, 10 * MS, 10.02 * MS), at(10 * MS, 10 * MS, 14 * MS)
    one = judged(right, false, right, right, right)
    assert (one.verdict, one.runs, one.wanted) == ("yes", 5, 5)
    assert one.off is not None
    assert (one.off.median, one.off.least, one.off.greatest) == pytest.approx((0.02 * MS, 0.02 * MS, 4 * MS))
    assert judged(false, right, false, right, right).verdict == "yes"
    assert judged(false, right, false, right, false).verdict == "NO"
    assert judged(*5 * [false]).verdict == "NO"
    assert judged(*5 * [at(10 * MS, 10 * MS, 6 * MS)]).verdict == "NO"
    # Too small and too large by turns is right in the middle: the range says that no run was.
    both = judged(at(10 * MS, 10 * MS, 14 * MS), at(10 * MS, 10 * MS, 6 * MS), right)
    assert both.verdict == "yes"
    assert both.off is not None
    assert (both.off.least, both.off.greatest) == (-4 * MS, 4 * MS)
    assert "+20.0 us [-4.00 ms, +4.00 ms]" in shown(table.percentile_table([both]))


def test_each_run_is_compared_with_its_own_truth() -> None:
    assert judged(*(at(ns * MS, ns * MS, (ns + 0.01) * MS) for ns in (10, 20, 30))).verdict == "yes"
    assert judged(*(at(ns * MS, ns * MS, 20 * MS) for ns in (10, 20.5, 30))).verdict == "NO"


def test_too_few_valid_runs_decide_nothing() -> None:
    right = at(10 * MS, 10 * MS, 10 * MS)
    row = judged(right, right, wanted=5)
    assert (row.verdict, row.note) == ("undecided", "measured in 2 of 5 runs")
    assert judged(right, right, right, wanted=5).verdict == "yes"
    assert judged(*3 * [at(10 * MS, 10 * MS, 20 * MS)], wanted=5).verdict == "NO"
    # Of a percentile that most runs had too few samples for, the others do not decide.
    assert judged(right, right, *3 * [at(10 * MS, 10 * MS, None)]).verdict == "undecided"


def test_standstills_excuse_what_they_explain_in_the_middle() -> None:
    stood = at(10 * MS, 10 * MS, 12 * MS, stood=12.05 * MS)
    right = at(10 * MS, 10 * MS, 10 * MS)
    assert judged(stood, stood, stood, right, right).verdict == "gaps"
    assert judged(stood, stood, right, right, right).verdict == "yes"
    worse = at(10 * MS, 10 * MS, 14 * MS, stood=12.05 * MS)
    assert judged(worse, worse, worse, stood, stood).verdict == "NO"
    assert judged(at(10 * MS, 20 * MS, 12 * MS, stood=12 * MS)).verdict == "NO"  # less than the server took
    # A run in which nothing stood still is held to the law.
    assert judged(stood, *2 * [at(10 * MS, 10 * MS, 12 * MS)]).verdict == "NO"


def test_rows_of_a_group() -> None:
    case = Case(name="slow", law=Slow(every=100, delay_ns=100 * MS))
    measured = {"p50": 35.0 * US, "p90": 40.0 * US, "p99": 60 * MS, "p99.9": 130.0 * MS, "max": 140.0 * MS}
    server = {"p50": 1.0 * US, "p90": 1.0 * US, "p99": 1.0 * US, "p99.9": 100.0 * MS, "max": 100.0 * MS}
    run = Run(round=1, void=None, met=MET, measured=measured, server=server, evictions_per_s=30)
    void = Run(round=2, void="sent late; give it a core", met=MET, measured=measured, server=server)
    group = Group(case=case, load=LOAD, wanted=3, base_ns=30 * US, runs=(run, void, replace(run, round=3)))
    rows = [row for row in group.results() if isinstance(row, Row)]
    assert [(row.percentile, row.verdict, row.runs) for row in rows] == [
        ("p50", "yes", 2),
        ("p90", "yes", 2),
        ("p99", "yes", 2),
        ("p99.9", "NO", 2),
        ("max", "-", 2),
    ]
    assert rows[3].note == "typical run: others took wireload's core 30 times a second"
    assert rows[3].off is not None
    assert rows[3].off.median == pytest.approx(29.97 * MS)
    assert rows[2].truth == Span(low=30 * US, high=100 * MS + 30 * US)
    assert rows[0].server == 31 * US
    assert table.missing_lines([group], ["base, x"]) == [
        "missing: base, x",
        "missing: slow, constant, 1,000/s, round 2: sent late",
    ]

    early = replace(group, runs=(run,))
    assert {row.verdict for row in early.results()} == {"undecided", "-"}
    assert early.missing() == ["slow, constant, 1,000/s, from round 2 on: not begun"]
    baseless = replace(group, base_ns=None)
    assert [(row.percentile, row.verdict, row.note) for row in baseless.results() if isinstance(row, Row)] == [
        ("all", "undecided", "no valid run")
    ]
    assert len(baseless.missing()) == 3


def test_errors_are_exact_or_wrong() -> None:
    case = Case(name="wrong", law=Constant(delay_ns=MS), faults=Faults(drop=100, body=150))

    def exact(measured: dict[str, int], server: dict[str, int]) -> bool:
        return errors_of(case, requests=1_000, measured=measured, server=server).exact

    expected = case.faults.expected(1_000)
    assert expected == {"closed_early": 10, "bad_body": 3}  # 150 450 750; 300 600 900 are dropped
    assert exact(expected, expected)
    assert exact({**expected, "read_timeout": 0}, expected)
    assert not exact({**expected, "read_timeout": 1}, expected)
    assert not exact({**expected, "bad_body": expected["bad_body"] - 1}, expected)
    assert not exact(expected, {**expected, "closed_early": 11})


def test_errors_of_every_run_must_be_exact() -> None:
    case = Case(name="drops", law=Constant(delay_ns=MS), faults=Faults(drop=100))
    right = Errors(truth={"closed_early": 10}, server={"closed_early": 10}, measured={"closed_early": 10})
    lost = replace(right, measured={"closed_early": 9})

    def row_of(*found: Errors) -> ErrorRow:
        return error_row(case, LOAD, found, wanted=5)

    assert row_of(*5 * [right]).verdict == "yes"
    one = row_of(right, right, right, lost, right)
    assert (one.verdict, one.exact, one.runs, one.measured) == ("NO", 4, 5, {"closed_early": 9})
    assert row_of(right, right).verdict == "undecided"
    assert row_of().verdict == "undecided"
    assert row_of(lost).verdict == "NO"
    # Sent late is void for latencies; what was counted was counted.
    void = Run(round=1, void="sent late", met=MET, errors=lost)
    group = Group(case=case, load=LOAD, wanted=1, base_ns=1, runs=(void,))
    assert [row.verdict for row in group.results()] == ["NO", "undecided"]


def test_errors_of_the_warm_up_do_not_count() -> None:
    faults = Faults(drop=100, body=150)
    case = Case(name="wrong", law=Constant(delay_ns=MS), faults=faults)
    server = faults.expected(1_250)
    assert faults.expected(1_000, 250) == {"closed_early": 10, "bad_body": 3}  # 300 is dropped, 450 750 1,050 are not
    found = errors_of(case, requests=1_000, measured={"closed_early": 10, "bad_body": 3}, server=server, before=250)
    assert found.exact
    assert found.server == {"closed_early": 10, "bad_body": 3}
    assert not errors_of(case, requests=1_000, measured={"closed_early": 11, "bad_body": 3}, server=server, before=250).exact
    assert faults.spare(250)
    assert not any(faults.spare(before) for before in (97, 100, 102, 148, 1_050))
    for mode in ("constant", "poisson"):
        load = load_for(case, mode, 1_000, FULL)
        before = round(load.warmup_ns * load.rate / S)
        assert before >= 2 * load.connections
        assert faults.spare(before)


def row(verdict: Verdict) -> Row:
    return replace(judged(at(None, None, None)), verdict=verdict)


def test_exit_codes() -> None:
    exact = error_row(CONSTANT, LOAD, [Errors(truth={}, server={}, measured={})], wanted=1)
    assert exit_code([row("yes"), row("undecided"), row("-")]) == 0
    assert exit_code([row("server")]) == exit_code([row("gaps")]) == exit_code([exact]) == 0
    assert exit_code([row("yes"), row("NO")]) == 1
    assert exit_code([replace(exact, verdict="NO"), row("yes")]) == 1
    assert exit_code([row("undecided"), row("-")]) == 3
    assert exit_code([]) == 3


# --- what runs ------------------------------------------------------------------------------------------------------------


def test_runs_cover_every_case_mode_and_rate() -> None:
    wanted = Wanted(cases=cases(FULL), modes=("closed", "constant", "poisson"), rates=FULL.rates, repeats=FULL.repeats)
    every = list(runs(wanted, FULL))
    for mode in ("constant", "poisson"):
        assert [load.rate for _, load in every if load.mode == mode] == [1_000, 10_000, 50_000] * 7
    closed = {(case.name, load.rate, load.connections) for case, load in every if load.mode == "closed"}
    assert {("constant", 1_000, 10), ("constant", 2_000, 20), ("slow", 1_000, 1), ("slow", 20_000, 20)} <= closed
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
    assert fitted(drops, load_for(drops, "constant", 1_000, QUICK)).faults.drop == 100  # p99.9 is not asked there


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
    assert "-c 1 --pipeline 1 --warmup 1s -n 10500 --core-gaps" in closed
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
    freeze = replace(
        judged(Seen(truth=Span(low=900 * MS, high=951 * MS), server=950 * MS, measured=0.4 * MS)), case="freeze", rate=50_000
    )
    lost = Errors(truth={"closed_early": 50}, server={"closed_early": 50}, measured={})
    results: list[Result] = [freeze, error_row(CONSTANT, LOAD, [lost], wanted=1)]
    text = shown(table.percentile_table(results), table.error_table(results))
    assert "900.00 ms .. 951.00 ms" in text
    assert "400.0 us" in text
    assert "-899.60 ms" in text
    assert "50 closed_early" in text
    assert "0 of 1 runs" in text
    assert "none" in text
    void = Run(round=1, void="lag [p99] is 9 ms")
    group = Group(case=CONSTANT, load=LOAD, wanted=1, base_ns=1.0, runs=(void,))
    assert table.missing_lines([group], ()) == ["missing: constant, constant, 1,000/s, round 1: lag [p99] is 9 ms"]
    assert table.summary(results, [group]) == "0 right, 2 wrong, 0 not decided; 1 of 1 runs void"
    some = [row("yes"), row("gaps"), row("server"), row("undecided")]
    assert table.summary(some, []) == (
        "3 right (1 by the server's own record, 1 with recorded standstills of the cores), 0 wrong, 1 not decided; "
        "0 of 0 runs void"
    )


def test_peers_stand_beside_us_and_what_users_see() -> None:
    peer = PeerRow(
        case="freeze",
        peer="wrk",
        mode="closed",
        rate=1_000,
        truth={"max": Span(low=S, high=S)},
        for_users={"p99": Span(low=951 * MS, high=951 * MS)},
        measured={"p99": 60.0 * US, "max": 1.1 * S},
        failed=0,
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
WRK2 = """Running 13s test @ http://127.0.0.1:33985/
  1 threads and 10 connections
  Thread calibration: mean lat.: 2.746ms, rate sampling interval: 10ms
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.64ms    7.42ms  54.88ms   95.01%
    Req/Sec     1.07k   286.80     2.22k    74.20%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    0.92ms
 75.000%    1.28ms
 90.000%    3.92ms
 99.000%   44.96ms
 99.900%   54.85ms
 99.990%   54.91ms
 99.999%   54.91ms
100.000%   54.91ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.046     0.000000            1         1.00
      54.911     1.000000         2905          inf
#[Mean    =        2.642, StdDeviation   =        7.418]
#[Max     =       54.880, Total count    =         2905]
#[Buckets =           27, SubBuckets     =         2048]
----------------------------------------------------------
  12939 requests in 13.00s, 1.15MB read
Requests/sec:    995.13
Transfer/sec:     90.38KB
"""
VEGETA_JSON = (
    '{"latencies":{"total":2104766663,"mean":1052383,"50th":149596,"90th":1661509,"95th":3756881,"99th":30064201,"max'
    '":53518178,"min":33770},"bytes_in":{"total":10000,"mean":5},"bytes_out":{"total":0,"mean":0},"earliest":"2026-11'
    '-22T00:45:25.892551907Z","latest":"2026-11-22T00:45:27.891757938Z","end":"2026-11-22T00:45:27.941986472Z","durat'
    'ion":1999206031,"wait":50228534,"requests":2000,"rate":1000.3971421592815,"throughput":975.8789249267884,"succes'
    's":1,"status_codes":{"200":2000},"errors":[]}'
)
VEGETA = f"""{VEGETA_JSON}
Value(ms)  Percentile  TotalCount  1/(1-Percentile)
0.033770   0.000000    0           1.000000
0.149596   0.500000    1000        2.000000
35.644545  0.990625    1981        106.666667
51.357320  0.998828    1998        853.242321
51.732337  0.999023    1998        1023.541453
53.518178  1.000000    2000        10000000.000000
"""
BOMBARDIER = (
    '{"spec":{"numberOfConnections":10,"testType":"timed","testDurationSeconds":2,"method":"GET","url":"http://127.0.'
    '0.1:33985/","body":"","stream":false,"timeoutSeconds":2,"client":"fasthttp","rate":1000},"result":{"bytesRead":1'
    '86930,"bytesWritten":126630,"timeTakenSeconds":2.000503672,"req1xx":0,"req2xx":2010,"req3xx":0,"req4xx":0,"req5x'
    'x":0,"others":0,"latency":{"mean":797.0452736318408,"stddev":5076.1778433779855,"max":53568,"percentiles":{"50":'
    '177,"75":243,"90":333,"95":506,"99":5564}},"rps":{"mean":1003.6049107132417,"stddev":279.3683256222031,"max":152'
    '9.5828980395336,"percentiles":{"50":998.468599,"75":1101.930527,"90":1426.665460,"95":1474.076720,"99":1506.6585'
    "27}}}}"
)
K6 = (
    '{"failed":15,"http_req_duration":{"max":50.260752,"p(50)":0.110154,"p(90)":0.18495660000000005,"p(99)":17.871762'
    '640003137,"p(99.9)":50.24794756}}'
)
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
            "p50": 0.92 * MS,
            "p75": 1.28 * MS,
            "p90": 3.92 * MS,
            "p99": 44.96 * MS,
            "p99.9": 54.85 * MS,
            "p99.99": 54.91 * MS,
            "p99.999": 54.91 * MS,
            "max": 54.91 * MS,
        },
    ),
    "vegeta": (VEGETA, {"p50": 149_596, "p90": 1_661_509, "p99": 30_064_201, "p99.9": 51_732_337, "max": 53_518_178}),
    "bombardier": (
        BOMBARDIER,
        {"p50": 177 * US, "p75": 243 * US, "p90": 333 * US, "p95": 506 * US, "p99": 5_564 * US, "max": 53_568 * US},
    ),
    "k6": (
        K6,
        {
            "p50": 110_154,
            "p90": 184_956.6,
            "p99": 17.871762640003137 * MS,
            "p99.9": 50.24794756 * MS,
            "max": 50.260752 * MS,
        },
    ),
    "autocannon": (AUTOCANNON, {"p50": 0, "p90": 0, "p99": 13 * MS, "p99.9": 50 * MS, "max": 59 * MS}),
}


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_what_peers_print_is_understood(peer: Peer) -> None:
    text, expected = SAMPLES[peer.name]
    assert peer.parse(text).percentiles == pytest.approx(expected)
    with pytest.raises(PeerError, match="expected"):
        peer.parse("something else {}")
    words = peer.command("http://127.0.0.1:1/", LOAD)
    assert words[0] == peer.name or (words[:2] == ["sh", "-c"] and words[3] == peer.name)
    assert "http://127.0.0.1:1/" in words
    seconds = 13 + peer.settles_s(LOAD)
    assert any(str(seconds) in word for word in words), "as long as our warm-up and window together"


# What they printed of a server that answers every 100th request with 500 and drops every 150th.
FAILURES = {
    "wrk": f"""{WRK}  Socket errors: connect 0, read 86, write 0, timeout 56
  Non-2xx or 3xx responses: 87
""",
    "ab": f"""Complete requests:      12411
Failed requests:        82
   (Connect: 0, Receive: 0, Length: 82, Exceptions: 0)
Non-2xx responses:      83
Keep-Alive requests:    12329
{AB}""",
    "vegeta": VEGETA.replace('"status_codes":{"200":2000}', '"status_codes":{"200":1980,"500":13,"0":7}'),
    "bombardier": BOMBARDIER.replace('"req5xx":0,"others":0', '"req5xx":14,"others":3'),
}


@pytest.mark.parametrize(
    ("name", "text", "failed"),
    [
        *((name, SAMPLES[name][0], 0) for name in FAILURES),
        *((name, FAILURES[name], failed) for name, failed in [("wrk", 173), ("ab", 165), ("vegeta", 20), ("bombardier", 17)]),
        ("k6", K6, 15),
        ("hey", HEY, None),
    ],
)
def test_peers_own_counts_of_failures_are_read(name: str, text: str, failed: int | None) -> None:
    assert next(peer for peer in PEERS if peer.name == name).parse(text).failed == failed


def test_zeros_of_a_run_without_answers_are_no_percentiles() -> None:
    wrk2 = next(peer for peer in PEERS if peer.name == "wrk2")
    with pytest.raises(PeerError, match="expected percentiles"):
        wrk2.parse("    Latency     -nanus    -nanus   0.00us    0.00%\n 50.000%    0.00us\n100.000%    0.00us\n")


def test_a_peer_that_reports_only_its_end_has_the_truth_of_that() -> None:
    """wrk2's share of a drift lies behind its end; the table says so with a truth of its own."""

    def row_of(peer: str, ns: float) -> PeerRow:
        truth = {"p50": Span(low=ns, high=ns)}
        said = {"p50": ns + 1}
        return PeerRow(
            case="drift", peer=peer, mode="constant", rate=1, truth=truth, for_users=truth, measured=said, failed=0, note=""
        )

    text = shown(table.peer_table([row_of("k6", 15 * MS), row_of("oha", 15 * MS), row_of("wrk2", 25 * MS)], []))
    assert [line.split()[3] for line in text.splitlines()[2:]] == ["truth", "wireload", "k6", "oha", "truth", "wrk2"]


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
    assert said.startswith("1 x 3 runs, some ")
    assert "truth = the law of the server + the base" in said
    stored = json.loads(file.read_text())
    assert [run["void"] for run in stored["runs"]] == [None] * 3
    assert [(row["case"], row["verdict"]) for row in stored["errors"]] == [("drops", "yes"), ("wrong", "yes")]
    assert stored["errors"][0]["measured"] == {"closed_early": 5}
    constant = [row for row in stored["percentiles"] if row["case"] == "constant"]
    assert [row["percentile"] for row in constant] == ["p50", "p90", "p99", "p99.9", "max"]
    for row in constant[:2]:
        assert row["measured"] >= row["truth"]["low"] - 1 * MS, "no reply comes before the law lets it go"
        assert row["server"] >= row["truth"]["low"]
        assert row["off"]["least"] == row["off"]["median"] == row["off"]["greatest"]


def test_wrong_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["selftest", "--case", "fast"]) == 64
    assert "--case: expected one of constant, slow, freeze, bimodal, drift, drops, wrong, got 'fast'" in capsys.readouterr().err
    assert run_app(["selftest", "--repeats", "4"]) == 64
    assert "--repeats: expected an odd number" in capsys.readouterr().err
    assert run_app(["selftest", "--wireload", str(tmp_path / "none")]) == 64
    assert "--wireload: expected a program" in capsys.readouterr().err


def test_quick_is_smaller_in_every_way() -> None:
    assert QUICK.rates == FULL.rates[:1]
    assert QUICK.window_ns < FULL.window_ns
    assert [case.name for case in cases(QUICK)] == [case.name for case in cases(FULL)]
