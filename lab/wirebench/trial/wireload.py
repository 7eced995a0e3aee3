"""The load generator: its command line for a load, and its output document, validated on the way
in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from wirebench.catalog.errors import explain
from wirebench.catalog.loads import (
    BroadcastLoad,
    ClosedLoad,
    EachLoad,
    IdleLoad,
    OpenLoad,
    RampLoad,
    StormLoad,
)
from wirebench.catalog.units import count_of, duration, exact_duration
from wirebench.catalog.workloads import GivenRequest, Request, WebSocketMessage

ServerLoad = ClosedLoad | OpenLoad | EachLoad | RampLoad | IdleLoad | StormLoad | BroadcastLoad

EXIT_OK, EXIT_WITH_ERRORS, EXIT_NOTHING_MEASURED, EXIT_USAGE = 0, 1, 2, 64
_INTERVALS = 40
"""Number of intervals in a trial's series: enough to see a change of level in an eighth of it. Our
own choice.
"""
_SHORTEST_INTERVAL_NS = 10_000_000
"""The generator takes some 30 us to close an interval, which must stay below 1% of it."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One of several generators that send one after another, each to a server of its own."""

    number: int
    """From 1 to ``of``."""
    of: int
    length_ns: int

    MEASURED = 0.7
    """The share of a turn that is measured: the generator's ``plan/turns.hpp``."""


@dataclass(frozen=True, kw_only=True)
class Aim:
    """The target of the load, and the generator's other options."""

    origin: str
    """``scheme://host:port``"""
    request: Request
    cores: tuple[int, ...]
    watch: str | None
    """The server's process id or cgroup folder; None for one that the lab did not start."""
    timeout_ns: int
    seed: int
    json_file: Path
    ca_file: Path | None = None
    """The authority to trust."""
    turn: Turn | None = None
    """None: it sends without a break."""


def command(wireload: Path, load: ServerLoad, aim: Aim) -> list[str]:
    words = [
        str(wireload),
        "--quiet",
        "--json",
        str(aim.json_file),
        "--threads",
        str(len(aim.cores)),
    ]
    words += ["--cpu", ",".join(map(str, aim.cores))]
    if aim.watch is not None:
        words += ["--watch", aim.watch]
    words += ["--timeout", exact_duration(aim.timeout_ns), "--seed", str(aim.seed)]
    words += _load_words(load, aim.turn)
    words += [] if isinstance(load, IdleLoad) else _request_words(aim.request)
    if aim.ca_file is not None:
        words += ["--cacert", str(aim.ca_file)]
    return [*words, f"{aim.origin}{aim.request.path}"]


def _load_words(load: ServerLoad, turn: Turn | None) -> list[str]:
    match load:
        case ClosedLoad() | OpenLoad():
            words = ["-c", str(load.connections), "--pipeline", str(load.in_flight)]
            words += [
                "--warmup",
                exact_duration(load.warmup_ns),
                "-d",
                exact_duration(load.window_ns),
            ]
            if isinstance(load, OpenLoad):
                words += _schedule_words(load)
            if turn is not None:
                length = exact_duration(turn.length_ns)
                return [*words, "--turns", f"{turn.number}/{turn.of}", "--turn", length]
            return [
                *words,
                "--interval",
                exact_duration(_interval_ns(load.window_ns)),
            ]
        case BroadcastLoad():
            words = ["-c", str(load.connections), "--warmup", exact_duration(load.warmup_ns)]
            words += ["-d", exact_duration(load.window_ns)]
            return [*words, "--interval", exact_duration(_interval_ns(load.window_ns))]
        case EachLoad():
            words = ["-c", str(load.producers), "--each", str(load.messages)]
            return words if load.policy == "reuse" else [*words, "--no-keepalive"]
        case IdleLoad():
            held = exact_duration(load.window_ns)
            return ["--idle", "-c", str(load.connections), "-d", held]
        case StormLoad():  # a ramp opens the connections of a round all at once
            words = ["--ramp-rounds", "1", "--ramp-add", str(load.connections)]
            return [*words, "--ramp-messages", "1"]
        case RampLoad():
            words = ["--ramp-rounds", str(load.rounds), "--ramp-add", str(load.add)]
            return [*words, "--ramp-messages", str(load.messages), "--ramp-pacing", load.pacing]


def _schedule_words(load: OpenLoad) -> list[str]:
    if load.rate_per_s is None:
        raise TypeError("open loop: expected a rate, got a share of an unknown capacity")
    return ["--rate", f"{load.rate_per_s:.3f}", "--arrivals", load.arrivals]


def _interval_ns(window_ns: int) -> int:
    """An equal part of the window, in whole microseconds rounded up: a short interval left over at
    the end would look like a drop of the rate.
    """
    intervals = max(1, min(_INTERVALS, window_ns // _SHORTEST_INTERVAL_NS))
    return -(-window_ns // (intervals * 1000)) * 1000


def _request_words(request: Request) -> list[str]:
    if isinstance(request, GivenRequest):
        return list(request.options)
    if isinstance(request, WebSocketMessage):
        if request.check == "broadcast":
            return ["--broadcast", "--message", request.text]
        if request.payload_bytes is not None:
            return ["--message-size", str(request.payload_bytes), "--check", request.check]
        return ["--message", request.text, "--check", request.check]
    words = [
        "--method",
        request.method,
        "--expect-status",
        str(request.status),
        "--expect-body",
        request.reply,
    ]
    for header in request.headers:
        words += ["--header", header]
    return words if request.body is None else [*words, "--body", request.body]


# --- the document ---------------------------------------------------------------------------------


class DocumentError(Exception):
    """The generator's document is missing, unreadable or does not follow its schema."""


class _Part(BaseModel):
    # A newer generator may have more fields.
    model_config = ConfigDict(extra="ignore", frozen=True)


class Latency(_Part):
    count: int
    min_ns: int | None = None
    mean_ns: float | None = None
    stddev_ns: float | None = None
    max_ns: int | None = None
    percentiles_ns: Mapping[str, int | None] = {}
    histogram: str | None = None


class Phases(_Part):
    """Parts of the time to connect."""

    tcp: Latency | None = None


class QuotaUse(_Part):
    """What the CPU quotas of its cgroups did to a process. None: not known."""

    cpu_quota: float | None = None
    """The smallest, in CPUs."""
    throttled_periods: int | None = None
    """In which the kernel stopped it."""
    throttled_ns: int | None = None
    """For how long, summed over CPUs."""
    limited_by: str | None = None
    """``cpu_quota`` where that was the limit. Of a generator also ``cpu``."""

    @property
    def stopped_by_quota(self) -> bool:
        return self.limited_by == "cpu_quota"

    def stopped(self, who: str) -> str:
        """In words."""
        quota = "a CPU quota" if self.cpu_quota is None else f"a CPU quota of {self.cpu_quota:g}"
        return (
            f"{quota} stopped the {who} in {count_of(self.throttled_periods or 0, 'period')}, for"
            f" {duration(self.throttled_ns or 0)}"
        )


class ServerUse(QuotaUse):
    cpu_user_ns: int | None = None
    cpu_system_ns: int | None = None
    rss_bytes: int | None = None
    rss_peak_bytes: int | None = None
    pss_bytes: int | None = None
    kernel_bytes: int | None = None
    """Of the server's cgroup; None without one that tells."""
    host_kernel_growth_bytes: int | None = None
    """Of the whole host, since before the first connection."""
    processes: int | None = None

    @property
    def cpu_ns(self) -> int | None:
        if self.cpu_user_ns is None or self.cpu_system_ns is None:
            return None
        return self.cpu_user_ns + self.cpu_system_ns


class Connect(_Part):
    attempted: int
    opened: int
    failed: int
    elapsed_ns: int | None = None
    phases: Phases | None = None
    server: ServerUse | None = None
    """What the server used until the last connection was open."""


class Window(_Part):
    start_unix_ns: int | None = None
    elapsed_ns: int | None = None
    stopped_by: str | None = None


class Requests(_Part):
    sent: int
    ok: int
    errors: int
    rate_per_s: float | None = None
    connections_opened: int | None = None


class FirstError(_Part):
    kind: str
    sent: str | None = None
    expected: str | None = None
    received: str | None = None


class Little(_Part):
    ratio: float | None = None


class OpenLoop(_Part):
    """Of an open loop only. What was due inside the window is measured, however late its reply."""

    rate: float
    """Requests that were due inside the window, a second."""
    scheduled: int
    not_sent: int = 0
    """Found no connection before the end."""
    drain_ns: int = 0
    """From the window's end to the last reply. No CPU time holds it."""
    rate_kept: bool
    """Whether nearly all of them were sent inside the window."""
    limited_by: Literal["server", "generator"] | None = None
    """Who was too slow when they were not."""
    lag: Latency
    """How late the generator itself was. No latency holds it."""
    service: Latency
    """From sending, not from the schedule."""
    void: str | None = None
    """Why the load was not what was asked for, through no fault of the server's."""


class Turns(_Part):
    """Of a window in turns with other generators."""

    taken: int
    answered: int
    """Right replies in all of its turns. CPU times are for these; ``requests.ok`` counts those of
    the measured parts.
    """
    late: int
    """Turns after which a reply came when it was another's turn."""
    longest_rest_ns: int


class Start(_Part):
    """Of a load that was told when to begin."""

    asked_steady_ns: int
    late_ns: int
    """How much later it began."""


class Idle(_Part):
    """Of connections that were held and not used."""

    opened: int
    held: int
    server_wake_ups: int | None = None


class Broadcast(_Part):
    """Of messages that every connection was to get."""

    last: Latency
    """From the sending of a message until the last connection had it."""


class Generator(QuotaUse):
    cpu_share: float | None = None
    involuntary_switches: int | None = None

    @property
    def used_share(self) -> float | None:
        """``cpu_share``, and all where a CPU quota was the limit."""
        return 1.0 if self.stopped_by_quota else self.cpu_share


class Round(_Part):
    round: int
    clients: int
    opened: int
    connect_elapsed_ns: int | None = None
    sent: int
    answered: int
    success_ratio: float | None = None
    elapsed_ns: int | None = None


class Plan(_Part):
    engine: str | None = None


class Document(_Part):
    plan: Plan = Plan()
    connect: Connect
    window: Window
    requests: Requests
    errors: Mapping[str, int]
    first_error: FirstError | None = None
    latency: Latency
    little: Little | None = None
    open_loop: OpenLoop | None = None
    turns: Turns | None = None
    start: Start | None = None
    idle: Idle | None = None
    broadcast: Broadcast | None = None
    generator: Generator
    server: ServerUse | None = None
    rounds: tuple[Round, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A document, validated and raw."""

    document: Document
    raw: Mapping[str, Any]

    @property
    def load(self) -> dict[str, Any]:
        """The part of the document that a trial stores as it is. Histograms, series and rounds have
        their own fields.
        """
        kept = {key: value for key, value in self.raw.items() if key not in ("series", "rounds")}
        for part in ("latency", "connect", "open_loop", "broadcast"):
            if isinstance(kept.get(part), dict):
                kept[part] = _without_histograms(kept[part])
        return kept

    @property
    def series(self) -> Mapping[str, Any] | None:
        value = self.raw.get("series")
        return value if isinstance(value, dict) else None

    @property
    def rounds(self) -> tuple[Mapping[str, Any], ...] | None:
        value = self.raw.get("rounds")
        if not isinstance(value, list):
            return None
        return tuple(_without_histograms(entry) for entry in value)


def _without_histograms(part: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _without_histograms(value) if isinstance(value, dict) else value
        for key, value in part.items()
        if key != "histogram"
    }


def read_document(path: Path) -> Measured:
    try:
        return parse_document(path.read_bytes())
    except FileNotFoundError:
        raise DocumentError("wireload: expected a document, got none") from None


def parse_document(text: str | bytes) -> Measured:
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise DocumentError(f"wireload: expected a JSON document, got {error}") from error
    schema = raw.get("schema") if isinstance(raw, dict) else None
    if schema != "wireload/1":
        raise DocumentError(f"wireload: schema: expected 'wireload/1', got {schema!r}")
    try:
        return Measured(document=Document.model_validate(raw), raw=raw)
    except ValidationError as error:
        raise DocumentError(explain(error, path="wireload")) from error
