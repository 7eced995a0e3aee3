"""Other load generators beside ours: under the same load, with their own words for what they
measured.

Only what is installed is used. A peer is one entry of ``PEERS``: what loads it knows, its command,
and how its output is read.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from wirebench.process.ports import HOST
from wirebench.process.start import describe_end, tail_of
from wirebench.process.supervise import Scope
from wirebench.selftest.beside import PeerRow, Percentiles
from wirebench.selftest.cases import Case, Load
from wirebench.selftest.judge import MAX, PERCENTILES
from wirebench.selftest.laws import MS, US, Conditions, Mode, S, Span


class PeerError(Exception):
    """Its output was not what is known of it."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a peer says of its run."""

    percentiles: Percentiles
    failed: int | None = None
    """Requests without a right answer, or that it left out, by its own count: the truth knows none.
    None: it is not read.
    """


def _nothing(load: Load) -> int:
    return 0


@dataclass(frozen=True, kw_only=True)
class Peer:
    name: str
    modes: tuple[Mode, ...]
    command: Callable[[str, Load], list[str]]
    """The program's words for a URL and a load; what it reports is as long as our window, warm-up
    included.
    """
    parse: Callable[[str], Said]
    note: str
    """How it measures, where that explains what it says."""
    settles_s: Callable[[Load], int] = _nothing
    """How long after its start it throws away what it has measured."""

    def run(
        self,
        case: Case,
        load: Load,
        scope: Scope,
        *,
        port: int,
        cores: Sequence[int],
        base_ns: float,
    ) -> PeerRow:
        seconds = (load.warmup_ns + load.window_ns) / S
        words = self.command(f"http://{HOST}:{port}/", load)
        process = scope.start(
            words, name=self.name, cwd=scope.folder, env={}, cores=cores, merge_output=False
        )
        settles_s = self.settles_s(load)
        code = process.wait(settles_s + seconds + 30)
        process.stop()
        said = Said(percentiles={})
        if code == 0:
            try:
                said = self.parse(process.output.text())
                note = (
                    f"{said.failed:,} failed or left out; {self.note}" if said.failed else self.note
                )
            except PeerError as error:
                note = f"{self.name}: {error}"
        else:
            end = "did not end" if code is None else describe_end(process)
            note = f"{self.name} {end}: {tail_of(process)[:200]}"
        same = _conditions(load, load.mode, settles_s, seconds, base_ns)
        return PeerRow(
            case=case.name,
            peer=self.name,
            mode=load.mode,
            rate=load.rate,
            truth=_truths(case, same),
            for_users=_truths(case, _conditions(load, "constant", settles_s, seconds, base_ns)),
            measured=said.percentiles,
            failed=said.failed,
            note=note,
        )


_UNITS = {"us": US, "ms": MS, "s": S, "m": 60 * S}
_TIME = r"([0-9.]+)(us|ms|s|m)\b"


def _ns(number: str, unit: str) -> float:
    return float(number) * _UNITS[unit]


def _said(percentiles: Percentiles, failed: int | None = None) -> Said:
    if not percentiles:
        raise PeerError("expected percentiles in its output, got none")
    return Said(percentiles=percentiles, failed=failed)


def _named(percent: str) -> str:
    name = f"p{float(percent):g}"
    return MAX if name == "p100" else name


def _sum(pattern: str, text: str) -> int:
    """Of all numbers found; 0 where a program says nothing of errors unless there are some."""
    return sum(int(number) for number in re.findall(pattern, text, re.M))


def parse_wrk(text: str) -> Said:
    """Also of wrk2, whose table of all latencies behind the first has no percent signs."""
    most = re.search(rf"^\s+Latency\s+{_TIME}\s+{_TIME}\s+{_TIME}", text, re.M)
    found = {} if most is None else {MAX: _ns(most[5], most[6])}
    found |= {
        _named(percent): _ns(number, unit)
        for percent, number, unit in re.findall(rf"^\s*([0-9.]+)%\s+{_TIME}", text, re.M)
    }
    if not found.get(MAX):
        found = {}  # all are 0 where nothing was answered
    # Its timeouts are none of them: answers that come late count as answers too, and wrk2 counts
    # idle connections there.
    lost = re.search(r"^\s+Socket errors: connect (\d+), read (\d+), write (\d+)", text, re.M)
    failed = sum(int(number) for number in lost.groups()) if lost else 0
    return _said(found, failed + _sum(r"^\s+Non-2xx or 3xx responses: (\d+)", text))


def parse_vegeta(text: str) -> Said:
    """Its JSON line, in nanoseconds, and the table that HdrHistogram's tools plot, which alone has
    p99.9.

    That table goes in steps of share: the value of a percentile in it is that of the next step.
    """
    whole = _json(text)
    latencies = whole.get("latencies", {})
    keys = {"p50": "50th", "p90": "90th", "p99": "99th", MAX: "max"}
    found = {name: float(latencies[key]) for name, key in keys.items() if key in latencies}
    rows = re.findall(r"^\s*([0-9.]+)\s+([01]\.[0-9]+)\s+[0-9]+\s+\S+\s*$", text, re.M)
    beyond = [float(value) * MS for value, share in rows if float(share) >= 0.999]
    if beyond:
        found["p99.9"] = min(beyond)
    codes = whole.get("status_codes", {})
    return _said(found, sum(count for code, count in codes.items() if code != "200"))


def parse_bombardier(text: str) -> Said:
    """Microseconds; it knows no p99.9."""
    result = _json(text).get("result", {})
    latency = result.get("latency", {})
    found = {
        _named(percent): float(value) * US
        for percent, value in latency.get("percentiles", {}).items()
    }
    if "max" in latency:
        found[MAX] = float(latency["max"]) * US
    return _said(
        found,
        sum(result.get(kind, 0) for kind in ("req1xx", "req3xx", "req4xx", "req5xx", "others")),
    )


def parse_k6(text: str) -> Said:
    """What the script prints at the end: milliseconds by the names of k6's statistics."""
    document = _json(text)
    values = document.get("http_req_duration", {})
    keys = {**{name: f"p({name[1:]})" for name, _ in PERCENTILES}, MAX: "max"}
    found = {name: float(values[key]) * MS for name, key in keys.items() if key in values}
    return _said(found, document.get("failed"))


def parse_ab(text: str) -> Said:
    """Whole milliseconds."""
    found = {
        _named(percent): float(number) * MS
        for percent, number in re.findall(r"^\s+(\d+)%\s+(\d+)", text, re.M)
    }
    return _said(found, _sum(r"^(?:Failed requests|Non-2xx responses):\s+(\d+)", text))


def parse_h2load(text: str) -> Said:
    """It reports the largest only, no percentiles."""
    line = re.search(rf"^time for request:\s+{_TIME}\s+{_TIME}", text, re.M)
    return _said({} if line is None else {MAX: _ns(line[3], line[4])})


def parse_hey(text: str) -> Said:
    """Tenths of a millisecond."""
    found = {
        _named(percent): float(number) * S
        for percent, number in re.findall(r"^\s+(\d+)%%? in ([0-9.]+) secs", text, re.M)
    }
    most = re.search(r"^\s+Slowest:\s+([0-9.]+) secs", text, re.M)
    if most is not None:
        found[MAX] = float(most[1]) * S
    return _said(found)


def parse_autocannon(text: str) -> Said:
    """Whole milliseconds."""
    latency = _json(text).get("latency", {})
    keys = {"p50": "p50", "p90": "p90", "p99": "p99", "p99.9": "p99_9", MAX: "max"}
    return _said({name: float(latency[key]) * MS for name, key in keys.items() if key in latency})


def parse_oha(text: str) -> Said:
    latencies = _json(text).get("latencyPercentiles", {})
    slowest = _json(text).get("summary", {}).get("slowest")
    found = {
        name: float(latencies[name]) * S
        for name, _ in PERCENTILES
        if latencies.get(name) is not None
    }
    if slowest is not None:
        found[MAX] = float(slowest) * S
    return _said(found)


def parse_gcannon(text: str) -> Said:
    """Whole microseconds. Connections that it lost are told as those that it opened again."""
    said = _json(text)
    latency = said.get("latency_us", {})
    keys = {"p50": "p50", "p90": "p90", "p99": "p99", "p99.9": "p999"}
    status, errors = said.get("status", {}), said.get("errors", {})
    return _said(
        {name: float(latency[key]) * US for name, key in keys.items() if latency.get("samples")},
        sum(status.get(key, 0) for key in ("3xx", "4xx", "5xx", "other"))
        + sum(errors.values())
        + said.get("reconnects", 0),
    )


def parse_zrk(text: str) -> Said:
    """Whole microseconds. A status that is no success is one of its errors."""
    said = _json(text)
    latency = said.get("latency_us", {}) if said.get("requests") else {}
    keys = {"p50": "p50", "p90": "p90", "p99": "p99", "p99.9": "p99_9", MAX: "max"}
    return _said(
        {name: float(latency[key]) * US for name, key in keys.items() if key in latency},
        sum(said.get("errors", {}).values()),
    )


def _json(text: str) -> dict[str, Any]:
    try:
        found, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    except ValueError as error:
        raise PeerError(f"expected JSON, got {text[:200]!r}") from error
    return found if isinstance(found, dict) else {}


def _seconds(load: Load) -> int:
    return max(1, round((load.warmup_ns + load.window_ns) / S))


def _wrk2_settles_s(load: Load) -> int:
    """It calibrates itself for 10 s and 5 ms a connection, and then throws away all it has
    measured.
    """
    return math.ceil(10 + 0.005 * load.connections)


def _command(
    words: str, *, at_rate: str = "", settles_s: Callable[[Load], int] = _nothing
) -> Callable[[str, Load], list[str]]:
    """``at_rate`` comes behind the words of an open loop; the URL is the last."""

    def command(url: str, load: Load) -> list[str]:
        all_words = words if load.mode == "closed" else f"{words} {at_rate}"
        seconds = _seconds(load) + settles_s(load)
        return [
            *all_words.format(
                connections=load.connections, seconds=seconds, rate=load.rate
            ).split(),
            url,
        ]

    return command


_VEGETA = """echo "GET $1" |
vegeta attack -duration "$2" -rate "$3" -workers "$4" -timeout 60s -output vegeta.bin &&
vegeta report -type json vegeta.bin && vegeta report -type hdrplot vegeta.bin"""
_K6 = """printf '%s' "
import http from 'k6/http';
export const options = {
  scenarios: { load: $2 },
  summaryTrendStats: ['p(50)', 'p(90)', 'p(99)', 'p(99.9)', 'max'],
  discardResponseBodies: true,
};
export default function () { http.get('$1'); }
export function handleSummary({ metrics }) {
  const dropped = metrics.dropped_iterations ? metrics.dropped_iterations.values.count : 0;
  const failed = metrics.http_req_failed.values.passes + dropped;
  const http_req_duration = metrics.http_req_duration.values;
  return { stdout: JSON.stringify({ failed, http_req_duration }) };
}
" | k6 run --quiet --no-usage-report -"""


def _shell(script: str, name: str, *words: str) -> list[str]:
    """For programs that are told what to do on their standard input."""
    return ["sh", "-c", script, name, *words]


def _k6_scenario(load: Load) -> str:
    users = str(load.connections * load.in_flight)
    fields = {"executor": "'constant-vus'", "vus": users}
    if load.mode != "closed":
        fields = {
            "executor": "'constant-arrival-rate'",
            "rate": str(load.rate),
            "timeUnit": "'1s'",
            "preAllocatedVUs": users,
        }
    fields["duration"] = f"'{_seconds(load)}s'"
    return "{ " + ", ".join(f"{key}: {value}" for key, value in fields.items()) + " }"


PEERS: tuple[Peer, ...] = (
    Peer(
        name="wrk",
        modes=("closed",),
        command=_command("wrk -t1 -c{connections} -d{seconds}s --latency"),
        parse=parse_wrk,
        note="closed; adds made-up samples for requests it thinks it left out",
    ),
    Peer(
        name="wrk2",
        modes=("constant",),
        command=_command(
            "wrk2 -t1 -c{connections} -d{seconds}s --latency",
            at_rate="-R {rate}",
            settles_s=_wrk2_settles_s,
        ),
        parse=parse_wrk,
        note="open; corrected by its schedule; reports nothing of its first ten seconds",
        settles_s=_wrk2_settles_s,
    ),
    Peer(
        name="zrk",
        modes=("constant",),
        command=_command(
            "zrk --format json -t 1 -c {connections} -d {seconds}s", at_rate="-R {rate}"
        ),
        parse=parse_zrk,
        note="open; from the moment at which a request was due",
    ),
    Peer(
        name="gcannon",
        modes=("closed",),
        # The URL comes first.
        command=lambda url, load: [
            "gcannon",
            url,
            *f"-t 1 -c {load.connections} -d {_seconds(load)}s --json".split(),
        ],
        parse=parse_gcannon,
        note="closed; checks the status only; no max",
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
        command=_command(
            "bombardier -c {connections} -d {seconds}s -l -o json -p r", at_rate="-r {rate}"
        ),
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
        command=_command("ab -q -k -c {connections} -t {seconds} -n 100000000"),
        parse=parse_ab,
        note="closed; whole milliseconds",
    ),
    Peer(
        name="h2load",
        modes=("closed",),
        command=_command("h2load --h1 -c{connections} -D{seconds}"),
        parse=parse_h2load,
        note="closed; no percentiles",
    ),
    Peer(
        name="hey",
        modes=("closed",),
        command=_command("hey -c {connections} -z {seconds}s"),
        parse=parse_hey,
        note="closed; tenths of a millisecond",
    ),
    Peer(
        name="oha",
        modes=("closed", "constant"),
        command=_command(
            "oha --no-tui -j -c {connections} -z {seconds}s",
            at_rate="--latency-correction -q {rate}",
        ),
        parse=parse_oha,
        note="open with -q and --latency-correction, else closed",
    ),
    Peer(
        name="autocannon",
        modes=("closed",),
        command=_command("autocannon -j -c {connections} -d {seconds}"),
        parse=parse_autocannon,
        note="closed; whole milliseconds",
    ),
)


def installed(peers: Sequence[Peer] = PEERS) -> tuple[Peer, ...]:
    return tuple(peer for peer in peers if shutil.which(peer.name) is not None)


def _conditions(
    load: Load, mode: Mode, start_s: float, seconds: float, base_ns: float
) -> Conditions:
    return Conditions(
        mode=mode,
        rate=load.rate,
        connections=load.connections,
        count=round(load.rate * seconds),
        start_s=start_s,
        seconds=seconds,
        base_ns=base_ns,
    )


def _truths(case: Case, load: Conditions) -> dict[str, Span | None]:
    spans = {name: case.law.truth(share, load) for name, share in PERCENTILES}
    spans[MAX] = case.law.max(load)
    return {name: None if span is None else span.plus(load.base_ns) for name, span in spans.items()}
