"""The other load generators: how they are called, and what they print."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from developer.peers import PEERS, Peer, PeerError, installed
from wirebench.cli import selftest as command
from wirebench.cli.main import run_app
from wirebench.selftest.cases import Load
from wirebench.selftest.laws import MS, US, S

LOAD = Load(mode="constant", rate=1_000, connections=64, in_flight=1, warmup_ns=S, window_ns=12 * S)

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
ZRK = """{
  "zrk_version": "1.4.2",
  "requests": 1999,
  "error_rate": 0.000000,
  "max_schedule_lag_us": 0,
  "latency_us": {
    "min": 76, "mean": 113.9, "stdev": 98.1, "max": 3175,
    "p50": 107, "p75": 116, "p90": 122, "p99": 194, "p99_9": 1529, "p99_99": 3175
  },
  "status_codes": { "1xx": 0, "2xx": 1999, "3xx": 0, "4xx": 0, "5xx": 0 },
  "errors": { "connect": 0, "read": 0, "write": 0, "timeout": 0, "deadline": 0, "non_2xx_3xx": 0 }
}
"""
GCANNON = """{
  "requests": 217817,
  "responses": 217817,
  "latency_us": { "avg": 91, "p50": 97, "p90": 118, "p99": 142, "p999": 170, "samples": 217817 },
  "status": { "2xx": 217817, "3xx": 0, "4xx": 0, "5xx": 0, "other": 0 },
  "errors": { "connect": 0, "read": 0, "timeout": 0 },
  "reconnects": 0
}
"""
OHA = """{
  "summary": {"successRate": 1.0, "total": 2.000419862, "slowest": 0.074085311,
    "fastest": 0.000017931},
  "latencyPercentiles": {
    "p10": 0.0000254, "p50": 0.000057103, "p90": 0.000121912, "p99": 0.050034812,
    "p99.9": 0.050139357, "p99.99": null
  }
}
"""

SAMPLES = {
    "wrk": (
        WRK,
        {"p50": 30 * US, "p75": 24.88 * MS, "p90": 40.27 * MS, "p99": 49.5 * MS, "max": 50.12 * MS},
    ),
    "ab": (AB, {"p50": 0, "p90": 0, "p99": 50 * MS, "max": 50 * MS}),
    "h2load": (H2LOAD, {"max": 50.15 * MS}),
    "hey": (HEY, {"p50": 0, "p90": 100 * US, "p99": 50 * MS, "max": 50.2 * MS}),
    "oha": (
        OHA,
        {
            "p50": 57.103 * US,
            "p90": 121.912 * US,
            "p99": 50.034812 * MS,
            "p99.9": 50.139357 * MS,
            "max": 74.085311 * MS,
        },
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
    "zrk": (
        ZRK,
        {
            "p50": 107 * US,
            "p90": 122 * US,
            "p99": 194 * US,
            "p99.9": 1_529 * US,
            "max": 3_175 * US,
        },
    ),
    "gcannon": (
        GCANNON,
        {"p50": 97 * US, "p90": 118 * US, "p99": 142 * US, "p99.9": 170 * US},
    ),
    "vegeta": (
        VEGETA,
        {
            "p50": 149_596,
            "p90": 1_661_509,
            "p99": 30_064_201,
            "p99.9": 51_732_337,
            "max": 53_518_178,
        },
    ),
    "bombardier": (
        BOMBARDIER,
        {
            "p50": 177 * US,
            "p75": 243 * US,
            "p90": 333 * US,
            "p95": 506 * US,
            "p99": 5_564 * US,
            "max": 53_568 * US,
        },
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
    "autocannon": (
        AUTOCANNON,
        {"p50": 0, "p90": 0, "p99": 13 * MS, "p99.9": 50 * MS, "max": 59 * MS},
    ),
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
    "wrk": (
        f"""{WRK}  Socket errors: connect 0, read 86, write 0, timeout 56
  Non-2xx or 3xx responses: 87
"""
    ),
    "ab": (
        f"""Complete requests:      12411
Failed requests:        82
   (Connect: 0, Receive: 0, Length: 82, Exceptions: 0)
Non-2xx responses:      83
Keep-Alive requests:    12329
{AB}"""
    ),
    "vegeta": VEGETA.replace(
        '"status_codes":{"200":2000}', '"status_codes":{"200":1980,"500":13,"0":7}'
    ),
    "zrk": ZRK.replace('"read": 0', '"read": 13').replace('"non_2xx_3xx": 0', '"non_2xx_3xx": 20'),
    "gcannon": GCANNON.replace('"5xx": 0', '"5xx": 125').replace(
        '"reconnects": 0', '"reconnects": 124'
    ),
    "bombardier": BOMBARDIER.replace('"req5xx":0,"others":0', '"req5xx":14,"others":3'),
}


@pytest.mark.parametrize(
    ("name", "text", "failed"),
    [
        *((name, SAMPLES[name][0], 0) for name in FAILURES),
        *(
            (name, FAILURES[name], failed)
            for name, failed in [
                ("wrk", 173),
                ("ab", 165),
                ("zrk", 33),
                ("gcannon", 249),
                ("vegeta", 20),
                ("bombardier", 17),
            ]
        ),
        ("k6", K6, 15),
        ("hey", HEY, None),
    ],
)
def test_peers_own_counts_of_failures_are_read(name: str, text: str, failed: int | None) -> None:
    assert next(peer for peer in PEERS if peer.name == name).parse(text).failed == failed


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("zrk", ZRK.replace('"requests": 1999', '"requests": 0')),
        ("gcannon", GCANNON.replace('"samples": 217817', '"samples": 0')),
    ],
)
def test_figures_of_a_run_without_answers_are_no_percentiles(name: str, text: str) -> None:
    with pytest.raises(PeerError, match="expected percentiles"):
        next(peer for peer in PEERS if peer.name == name).parse(text)


def test_zeros_of_a_run_without_answers_are_no_percentiles() -> None:
    wrk2 = next(peer for peer in PEERS if peer.name == "wrk2")
    with pytest.raises(PeerError, match="expected percentiles"):
        wrk2.parse(
            "    Latency     -nanus    -nanus   0.00us    0.00%\n 50.000%    0.00us\n100.000%   "
            " 0.00us\n"
        )


def test_scripts_of_peers_are_told_everything() -> None:
    k6 = next(one for one in PEERS if one.name == "k6")
    assert "constant-arrival-rate" in k6.command("http://h/", LOAD)[-1]
    assert "rate: 1000" in k6.command("http://h/", LOAD)[-1]
    assert "constant-vus" in k6.command("http://h/", replace(LOAD, mode="closed"))[-1]
    vegeta = next(one for one in PEERS if one.name == "vegeta")
    assert vegeta.command("http://h/", LOAD)[3:] == ["vegeta", "http://h/", "13s", "1000/1s", "64"]


def test_without_a_checkout_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "_LAB", tmp_path)
    assert run_app(["selftest", "--peers"]) == 64
    assert "--peers: expected a checkout of wirebench, got the package installed" in " ".join(
        capsys.readouterr().err.split()
    )


def test_only_what_is_installed_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ab").write_text("#!/bin/sh\n")
    (tmp_path / "ab").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [peer.name for peer in installed()] == ["ab"]
