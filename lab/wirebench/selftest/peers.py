"""Other load generators beside ours: under the same load, with their own words for what they measured.

Only what is installed is used. A peer is one entry of ``PEERS``: what loads it knows, its command, and how its output is read.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wirebench.selftest.cases import Case, Load
from wirebench.selftest.judge import MAX, PERCENTILES
from wirebench.selftest.laws import MS, US, Conditions, Mode, S, Span
from wirebench.trial.ports import HOST
from wirebench.trial.start import describe_end, tail_of
from wirebench.trial.supervise import Scope

Percentiles = dict[str, float]
"""By the names of PERCENTILES and MAX, in nanoseconds. What a peer does not report is missing."""


class PeerError(Exception):
    """Its output was not what is known of it."""


@dataclass(frozen=True, kw_only=True)
class Peer:
    name: str
    modes: tuple[Mode, ...]
    command: Callable[[str, Load], list[str]]
    """The program's words for a URL and a load; the window as long as ours, warm-up included."""
    parse: Callable[[str], Percentiles]
    note: str
    """How it measures, where that explains what it says."""


@dataclass(frozen=True, kw_only=True)
class PeerRow:
    case: str
    peer: str
    mode: str
    rate: int
    truth: Mapping[str, Span | None]
    for_users: Mapping[str, Span | None]
    """The truth of an open loop at the same rate, which a closed loop does not see."""
    measured: Percentiles
    note: str


_UNITS = {"us": US, "ms": MS, "s": S, "m": 60 * S}
_TIME = r"([0-9.]+)(us|ms|s|m)\b"


def _ns(number: str, unit: str) -> float:
    return float(number) * _UNITS[unit]


def _found(name: str, percentiles: Percentiles) -> Percentiles:
    if not percentiles:
        raise PeerError(f"{name}: expected percentiles in its output, got none")
    return percentiles


def _named(percent: str) -> str:
    return f"p{float(percent):g}"


def parse_wrk(text: str) -> Percentiles:
    found = {
        _named(percent): _ns(number, unit) for percent, number, unit in re.findall(rf"^\s+([0-9.]+)%\s+{_TIME}", text, re.M)
    }
    most = re.search(rf"^\s+Latency\s+{_TIME}\s+{_TIME}\s+{_TIME}", text, re.M)
    if most is not None:
        found[MAX] = _ns(most[5], most[6])
    return _found("wrk", found)


def parse_wrk2(text: str) -> Percentiles:
    """Its table of corrected latencies; the one behind it, with all of them, has no percent signs."""
    found = {
        _named(percent): _ns(number, unit) for percent, number, unit in re.findall(rf"^\s*([0-9.]+)%\s+{_TIME}", text, re.M)
    }
    if "p100" in found:
        found[MAX] = found.pop("p100")
    return _found("wrk2", found)


def parse_vegeta(text: str) -> Percentiles:
    """The table that HdrHistogram's tools plot: milliseconds, share, count, and more."""
    rows = [
        (float(share), float(value) * MS)
        for value, share in re.findall(r"^\s*([0-9.]+)\s+([01]\.[0-9]+)\s+[0-9]+\s+\S+\s*$", text, re.M)
    ]
    found = {
        name: min(value for at, value in rows if at >= share) for name, share in PERCENTILES if rows and rows[-1][0] >= share
    }
    if rows:
        found[MAX] = max(value for _, value in rows)
    return _found("vegeta", found)


def parse_bombardier(text: str) -> Percentiles:
    """Microseconds; it knows no p99.9."""
    latency = _json(text, "bombardier").get("result", {}).get("latency", {})
    found = {_named(percent): float(value) * US for percent, value in latency.get("percentiles", {}).items()}
    if "max" in latency:
        found[MAX] = float(latency["max"]) * US
    return _found("bombardier", found)


def parse_k6(text: str) -> Percentiles:
    """What the script prints at the end: milliseconds by the names of k6's statistics."""
    values = _json(text, "k6").get("http_req_duration", {})
    keys = {**{name: f"p({name[1:]})" for name, _ in PERCENTILES}, MAX: "max"}
    return _found("k6", {name: float(values[key]) * MS for name, key in keys.items() if key in values})


def parse_ab(text: str) -> Percentiles:
    """Whole milliseconds."""
    found = {_named(percent): float(number) * MS for percent, number in re.findall(r"^\s+(\d+)%\s+(\d+)", text, re.M)}
    if "p100" in found:
        found[MAX] = found.pop("p100")
    return _found("ab", found)


def parse_h2load(text: str) -> Percentiles:
    """It reports the largest only, no percentiles."""
    line = re.search(rf"^time for request:\s+{_TIME}\s+{_TIME}", text, re.M)
    return _found("h2load", {} if line is None else {MAX: _ns(line[3], line[4])})


def parse_hey(text: str) -> Percentiles:
    """Tenths of a millisecond."""
    found = {
        _named(percent): float(number) * S for percent, number in re.findall(r"^\s+(\d+)%%? in ([0-9.]+) secs", text, re.M)
    }
    most = re.search(r"^\s+Slowest:\s+([0-9.]+) secs", text, re.M)
    if most is not None:
        found[MAX] = float(most[1]) * S
    return _found("hey", found)


def parse_autocannon(text: str) -> Percentiles:
    """Whole milliseconds."""
    latency = _json(text, "autocannon").get("latency", {})
    keys = {"p50": "p50", "p90": "p90", "p99": "p99", "p99.9": "p99_9", MAX: "max"}
    return _found("autocannon", {name: float(latency[key]) * MS for name, key in keys.items() if key in latency})


def parse_oha(text: str) -> Percentiles:
    latencies = _json(text, "oha").get("latencyPercentiles", {})
    slowest = _json(text, "oha").get("summary", {}).get("slowest")
    found = {name: float(latencies[name]) * S for name, _ in PERCENTILES if latencies.get(name) is not None}
    if slowest is not None:
        found[MAX] = float(slowest) * S
    return _found("oha", found)


def _json(text: str, name: str) -> dict[str, Any]:
    try:
        found = json.loads(text[text.index("{") :])
    except ValueError as error:
        raise PeerError(f"{name}: expected JSON, got {text[:200]!r}") from error
    return found if isinstance(found, dict) else {}


def _seconds(load: Load) -> str:
    return f"{max(1, round((load.warmup_ns + load.window_ns) / S))}"


def _rate(load: Load, *words: str) -> list[str]:
    return [*words, str(load.rate)] if load.mode != "closed" else []


_VEGETA = """echo "GET $1" | vegeta attack -duration "$2" -rate "$3" -workers "$4" -timeout 60s | vegeta report -type hdrplot"""
_K6 = """printf '%s' "
import http from 'k6/http';
export const options = {
  scenarios: { load: $2 },
  summaryTrendStats: ['p(50)', 'p(90)', 'p(99)', 'p(99.9)', 'max'],
  discardResponseBodies: true,
};
export default function () { http.get('$1'); }
export function handleSummary(data) {
  return { stdout: JSON.stringify({ http_req_duration: data.metrics.http_req_duration.values }) };
}
" | k6 run --quiet --no-usage-report -"""


def _shell(script: str, name: str, *words: str) -> list[str]:
    """For programs that are told what to do on their standard input."""
    return ["sh", "-c", script, name, *words]


def _k6_scenario(load: Load) -> str:
    users = str(load.connections * load.in_flight)
    fields = {"executor": "'constant-vus'", "vus": users}
    if load.mode != "closed":
        fields = {"executor": "'constant-arrival-rate'", "rate": str(load.rate), "timeUnit": "'1s'", "preAllocatedVUs": users}
    fields["duration"] = f"'{_seconds(load)}s'"
    return "{ " + ", ".join(f"{key}: {value}" for key, value in fields.items()) + " }"


PEERS: tuple[Peer, ...] = (
    Peer(
        name="wrk",
        modes=("closed",),
        command=lambda url, load: ["wrk", "-t1", f"-c{load.connections}", f"-d{_seconds(load)}s", "--latency", url],
        parse=parse_wrk,
        note="closed; adds made-up samples for requests it thinks it left out",
    ),
    Peer(
        name="wrk2",
        modes=("constant",),
        command=lambda url, load: [
            *("wrk2", "-t1", f"-c{load.connections}", f"-d{_seconds(load)}s", "-R", str(load.rate), "--latency", url)
        ],
        parse=parse_wrk2,
        note="open; corrected by its schedule",
    ),
    Peer(
        name="vegeta",
        modes=("constant",),
        command=lambda url, load: _shell(
            _VEGETA, "vegeta", url, f"{_seconds(load)}s", f"{load.rate}/1s", str(load.connections)
        ),
        parse=parse_vegeta,
        note="open; from sending, with as many workers as it needs",
    ),
    Peer(
        name="bombardier",
        modes=("closed", "constant"),
        command=lambda url, load: [
            *("bombardier", "-c", str(load.connections), "-d", f"{_seconds(load)}s", "-l", "-o", "json", "-p", "r"),
            *_rate(load, "-r"),
            url,
        ],
        parse=parse_bombardier,
        note="from sending, also with -r; no p99.9",
    ),
    Peer(
        name="k6",
        modes=("closed", "constant"),
        command=lambda url, load: _shell(_K6, "k6", url, _k6_scenario(load)),
        parse=parse_k6,
        note="from sending",
    ),
    Peer(
        name="ab",
        modes=("closed",),
        command=lambda url, load: ["ab", "-q", "-k", "-c", str(load.connections), "-t", _seconds(load), "-n", "100000000", url],
        parse=parse_ab,
        note="closed; whole milliseconds",
    ),
    Peer(
        name="h2load",
        modes=("closed",),
        command=lambda url, load: ["h2load", "--h1", f"-c{load.connections}", f"-D{_seconds(load)}", url],
        parse=parse_h2load,
        note="closed; no percentiles",
    ),
    Peer(
        name="hey",
        modes=("closed",),
        command=lambda url, load: ["hey", "-c", str(load.connections), "-z", f"{_seconds(load)}s", url],
        parse=parse_hey,
        note="closed; tenths of a millisecond",
    ),
    Peer(
        name="oha",
        modes=("closed", "constant"),
        command=lambda url, load: [
            *("oha", "--no-tui", "-j", "-c", str(load.connections), "-z", f"{_seconds(load)}s"),
            *_rate(load, "--latency-correction", "-q"),
            url,
        ],
        parse=parse_oha,
        note="open with -q and --latency-correction, else closed",
    ),
    Peer(
        name="autocannon",
        modes=("closed",),
        command=lambda url, load: ["autocannon", "-j", "-c", str(load.connections), "-d", _seconds(load), url],
        parse=parse_autocannon,
        note="closed; whole milliseconds",
    ),
)


def installed(peers: Sequence[Peer] = PEERS) -> tuple[Peer, ...]:
    return tuple(peer for peer in peers if shutil.which(peer.name) is not None)


def run_peer(peer: Peer, case: Case, load: Load, scope: Scope, *, port: int, cores: Sequence[int], base_ns: float) -> PeerRow:
    seconds = (load.warmup_ns + load.window_ns) / S
    words = peer.command(f"http://{HOST}:{port}/", load)
    process = scope.start(words, name=peer.name, cwd=scope.folder, env={}, cores=cores, merge_output=False)
    code = process.wait(seconds + 30)
    process.stop()
    measured: Percentiles = {}
    if code == 0:
        try:
            measured, note = peer.parse(process.output.text()), peer.note
        except PeerError as error:
            note = str(error)
    else:
        note = f"{peer.name} {'did not end' if code is None else describe_end(process)}: {tail_of(process)[:200]}"
    same = _conditions(load, load.mode, seconds, base_ns)
    return PeerRow(
        case=case.name,
        peer=peer.name,
        mode=load.mode,
        rate=load.rate,
        truth=_truths(case, same),
        for_users=_truths(case, _conditions(load, "constant", seconds, base_ns)),
        measured=measured,
        note=note,
    )


def _conditions(load: Load, mode: Mode, seconds: float, base_ns: float) -> Conditions:
    return Conditions(
        mode=mode,
        rate=load.rate,
        connections=load.connections,
        count=round(load.rate * seconds),
        start_s=0.0,
        seconds=seconds,
        base_ns=base_ns,
    )


def _truths(case: Case, load: Conditions) -> dict[str, Span | None]:
    spans = {name: case.law.truth(share, load) for name, share in PERCENTILES}
    spans[MAX] = case.law.max(load)
    return {name: None if span is None else span.plus(load.base_ns) for name, span in spans.items()}
