"""The self-test's cases, loads and sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from wirebench.selftest.laws import MS, US, Bimodal, Constant, Drift, Freeze, Law, Mode, S, Slow

_EDGE = 3
"""Requests on each side of a window's beginning among which none is answered wrongly."""


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Every Nth answer is wrong, 0 for none. Where several meet the first counts, as in
    the server.
    """

    drop: int = 0
    status: int = 0
    body: int = 0
    length: int = 0

    @property
    def words(self) -> tuple[str, ...]:
        pairs = (
            ("--drop", self.drop),
            ("--wrong-status", self.status),
            ("--wrong-body", self.body),
            ("--wrong-length", self.length),
        )
        return tuple(word for flag, every in pairs if every for word in (flag, str(every)))

    @property
    def any(self) -> bool:
        return bool(self.words)

    def expected(self, requests: int, before: int = 0) -> dict[str, int]:
        """How many errors of each of the generator's kinds there are among that many requests, of
        those behind ``before``.
        """
        counts: dict[str, int] = {}
        kinds = (
            ("closed_early", self.drop),
            ("bad_status", self.status),
            ("bad_body", self.body),
            ("bad_body", self.length),
        )
        for number in range(before + 1, before + requests + 1):
            kind = next((kind for kind, every in kinds if every and number % every == 0), None)
            if kind is not None:
                counts[kind] = counts.get(kind, 0) + 1
        return counts

    def spare(self, before: int) -> bool:
        """Whether a window may begin behind so many requests: at its edge neighbours may arrive in
        another order.
        """
        return not self.expected(2 * _EDGE, max(0, before - _EDGE))


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    law: Law
    faults: Faults = field(default_factory=Faults)


@dataclass(frozen=True, kw_only=True)
class Load:
    """One run of the generator."""

    mode: Mode
    rate: int
    """The rate. For a closed loop: the most that its connections can make."""
    connections: int
    in_flight: int
    """On one connection."""
    warmup_ns: int
    window_ns: int
    requests: int | None = None
    """The window ends after so many, not after a time."""

    @property
    def seconds(self) -> float:
        """The duration of warm-up and window."""
        return self.warmup_ns / S + (
            self.window_ns / S if self.requests is None else self.requests / self.rate
        )


@dataclass(frozen=True, kw_only=True)
class Size:
    """Durations and rates of all runs. Our own choice throughout."""

    rates: tuple[int, ...]
    repeats: int
    window_ns: int
    """At least."""
    requests: int
    """In a window, at least."""
    warmup_ns: int
    fault_seconds: float
    """At least, and at least ``requests``."""
    freeze: Freeze
    freeze_warmup_ns: int
    freeze_window_ns: int
    """At least. Whole periods."""

    def window(self, rate: int) -> int:
        return max(self.window_ns, self.requests * S // rate)

    def freeze_window(self, rate: int) -> int:
        periods = math.ceil(self.requests * S / rate / self.freeze.period_ns)
        return max(self.freeze_window_ns, periods * self.freeze.period_ns)

    def faulty(self, rate: int) -> int:
        return max(self.requests, round(rate * self.fault_seconds))


SERVICE_NS = 10 * US
"""Answering what has waited takes so long for each request. Long enough for a machine to keep, and
half of what 50,000 requests per second leave.
"""

ENOUGH = 10_500
"""Requests in a window: ten right answers lie beyond p99.9, also of random arrivals, and with 2.3%
of the answers wrong.
"""

FULL = Size(
    rates=(1_000, 10_000, 50_000),
    repeats=5,
    window_ns=2 * S,
    requests=ENOUGH,
    warmup_ns=1 * S,
    fault_seconds=2,
    freeze=Freeze(length_ns=1 * S, period_ns=5 * S, service_ns=SERVICE_NS),
    freeze_warmup_ns=int(2.5 * S),
    freeze_window_ns=5 * S,
)
QUICK = Size(
    rates=(1_000,),
    repeats=1,
    window_ns=1_500 * MS,
    requests=0,
    warmup_ns=100 * MS,
    fault_seconds=0.5,
    freeze=Freeze(length_ns=100 * MS, period_ns=500 * MS, service_ns=SERVICE_NS),
    freeze_warmup_ns=250 * MS,
    freeze_window_ns=1_500 * MS,
)

NO_DELAY = Constant(delay_ns=0)
"""The load that measures the base."""

FREEZE_CONNECTIONS = 10
"""Connections of the closed loop against a server that freezes."""
_STANDSTILL_S = 0.005
"""A core may pause for this long, and requests due meanwhile should find a free connection. Our own
choice.
"""
_MOST_CONNECTIONS = 2_000
_MOST_CLOSED = 20
"""Connections of a closed loop: many with one delay come in bursts, which any server answers one
after the other, late.
"""


def cases(size: Size) -> tuple[Case, ...]:
    short = Constant(delay_ns=1 * MS)
    return (
        Case(name="constant", law=Constant(delay_ns=10 * MS)),
        Case(name="slow", law=Slow(every=100, delay_ns=100 * MS)),
        Case(name="freeze", law=size.freeze),
        Case(name="bimodal", law=Bimodal(usual_ns=1 * MS, other_ns=20 * MS, percent=30)),
        Case(
            name="drift",
            law=Drift(from_ns=5 * MS, to_ns=25 * MS, over_s=(size.warmup_ns + size.window_ns) / S),
        ),
        Case(name="drops", law=short, faults=Faults(drop=100)),
        Case(name="wrong", law=short, faults=Faults(status=100, body=150, length=175)),
    )


_DROPS = 5
"""In a window of an open loop. Our own choice: with the requests behind an opening, two of 10,500
or eight of 100,000 each, they are less than 0.1%.
"""


def fitted(case: Case, load: Load) -> Case:
    """A drift goes on growing to the end of the window, however long that is. Connections are
    dropped rarely in an open loop.

    Opening one again takes the generator's core for some 35 us at best (close, socket, connect);
    requests that are due meanwhile leave late, and what that costs is not known from any law. With
    every 100th dropped they are 1% of the requests and more: the queue that these meet, which
    decides whether a window is void, and p99 are then the price of an opening. It must lie beyond
    p99.9. A closed loop has no schedule to be late for, and keeps the 1%.
    """
    if isinstance(case.law, Drift):
        return replace(case, law=replace(case.law, over_s=load.seconds))
    if case.faults.drop and load.mode != "closed" and load.requests is not None:
        # A multiple of what it was: the window begins where none of those was near.
        every = case.faults.drop * max(1, load.requests // _DROPS // case.faults.drop)
        return replace(case, faults=replace(case.faults, drop=every))
    return case


def load_for(case: Case, mode: Mode, rate: int, size: Size) -> Load:
    """Enough connections that no request waits for a free one in an open loop; as many as make the
    rate in a closed one.
    """
    law = case.law
    warmup_ns, requests, in_flight = size.warmup_ns, None, 1
    window_ns = size.window(rate)
    if mode == "closed":
        connections = min(_MOST_CLOSED, max(1, round(rate * law.mean_ns / S)))
        rate = min(rate, round(connections * S / law.mean_ns))
        window_ns = min(window_ns, size.window(rate))
        if isinstance(law, Freeze):
            connections = FREEZE_CONNECTIONS
    else:
        waiting = rate * (law.length_ns if isinstance(law, Freeze) else law.mean_ns) / S
        wanted = math.ceil(2 * waiting + rate * _STANDSTILL_S) + 64
        connections = min(wanted, _MOST_CONNECTIONS)
        # Requests behind each other on a connection are answered in order; only a law that does so
        # anyway allows it.
        in_flight = math.ceil(2 * wanted / connections) if wanted > connections else 1
    if isinstance(law, Freeze):
        warmup_ns, window_ns = (
            size.freeze_warmup_ns,
            size.freeze_window(rate) if mode != "closed" else size.freeze_window_ns,
        )
    if case.faults.any:
        # By count, so that the number of each is known exactly.
        requests = size.faulty(rate)
    if case.faults.any and mode != "closed":
        # The first request on a connection costs more than the others: they come before what
        # counts. (With 66 connections they would be more than 1% of 5,000 requests, and p99 would
        # be theirs.)
        before = max(2 * connections, round(rate * warmup_ns / S))
        before += next(more for more in range(10_000) if case.faults.spare(before + more))
        warmup_ns = math.ceil(before * S / rate)
    return Load(
        mode=mode,
        rate=rate,
        connections=connections,
        in_flight=in_flight,
        warmup_ns=warmup_ns,
        window_ns=window_ns,
        requests=requests,
    )


def base_load(mode: Mode, rate: int, size: Size) -> Load:
    """Without delay: of a closed loop one connection, so that requests do not wait for
    each other.
    """
    connections = 1 if mode == "closed" else 64
    return Load(
        mode=mode,
        rate=rate,
        connections=connections,
        in_flight=1,
        warmup_ns=size.warmup_ns,
        window_ns=size.window_ns // 4,
    )
