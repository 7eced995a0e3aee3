"""What each law of the truth server does to latency, as formulae.

A law's truth is a quantile function: ``at(share)`` is the smallest latency that at least this share
of the requests does not exceed. It leaves out what every request costs besides, the way there and
back; that is measured (``Base``) and added.

The formulae are derived in the classes' docstrings; the tests check them against simulations that
know none of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

Mode = Literal["closed", "constant", "poisson"]
"""A closed loop, or an open one with constant or Poisson arrivals."""

MODES: tuple[Mode, ...] = ("closed", "constant", "poisson")

US = 1_000
MS = 1_000_000
S = 1_000_000_000

_DEVIATIONS = 4
"""How many standard deviations a share of random arrivals may lie off its expectation: once in
16,000 times. Our own choice.
"""


@dataclass(frozen=True, kw_only=True)
class Span:
    """The truth lies between these, in nanoseconds: a single value, or more where it is not certain
    to one.
    """

    low: float
    high: float

    def plus(self, ns: float) -> Span:
        return Span(low=self.low + ns, high=self.high + ns)

    def distance(self, value: float) -> float:
        """0 inside, positive above, negative below."""
        return min(0.0, value - self.low) + max(0.0, value - self.high)


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Under which load a law was met."""

    mode: Mode
    rate: float
    """Requests per second that were scheduled; of a closed loop those it made."""
    connections: int
    count: int
    """Latencies in the window."""
    start_s: float
    """When the window began, from the server's anchor on."""
    seconds: float
    base_ns: float


class Law(ABC):
    """One law of the truth server. Its words are what the server is told."""

    random_in_poisson = False
    """Whether a request's delay depends on when it came, so that random arrivals make the shares
    random.
    """

    @property
    @abstractmethod
    def words(self) -> tuple[str, ...]: ...

    @property
    @abstractmethod
    def mean_ns(self) -> float:
        """Of a request's delay; for choosing numbers of connections."""

    @abstractmethod
    def at(self, share: float, load: Conditions) -> float | None:
        """The quantile, in nanoseconds without the base. None where the law says
        nothing about it.
        """

    def in_flight_at_edges(self, load: Conditions) -> float:
        """How many requests at most begin on one side of an edge of the window and end on the
        other. It has two edges.

        A window of a closed loop holds what is answered in it; one of an open loop what was due in
        it.
        """
        return load.connections if load.mode == "closed" else 0

    def max(self, load: Conditions) -> Span | None:
        """Where the largest latency lies. None: a single request that the machine disturbs decides
        it.
        """
        return None

    def truth(self, share: float, load: Conditions) -> Span | None:
        """The quantile as a span.

        The shares of a finite window differ from the law's by what hangs over its edges, by the
        rounding of ranks and, where arrivals are random, by chance (the standard error of a share,
        sqrt(q (1 - q) / n)).
        """
        if load.count == 0:
            return None
        slack = 2 * (self.in_flight_at_edges(load) + 1) / load.count
        if load.mode == "poisson" and self.random_in_poisson:
            slack += _DEVIATIONS * math.sqrt(share * (1 - share) / load.count)
        low, high = self.at(max(0.0, share - slack), load), self.at(min(1.0, share + slack), load)
        return None if low is None or high is None else Span(low=low, high=high)


def words_of(ns: float) -> str:
    return f"{round(ns)}ns"


@dataclass(frozen=True, kw_only=True)
class Constant(Law):
    """Every request waits the same."""

    delay_ns: int

    @property
    def words(self) -> tuple[str, ...]:
        return ("constant", words_of(self.delay_ns))

    @property
    def mean_ns(self) -> float:
        return self.delay_ns

    def at(self, share: float, load: Conditions) -> float:
        return self.delay_ns


@dataclass(frozen=True, kw_only=True)
class Slow(Law):
    """Every Nth request waits, the others do not: a step at 1 - 1/N.

    With N = 100 the 99th percentile lies on the step, so that one request more or less decides
    between the two values; the truth there is the span between them.
    """

    every: int
    delay_ns: int

    @property
    def words(self) -> tuple[str, ...]:
        return ("slow", str(self.every), words_of(self.delay_ns))

    @property
    def mean_ns(self) -> float:
        return self.delay_ns / self.every

    def at(self, share: float, load: Conditions) -> float:
        return self.delay_ns if share > 1 - 1 / self.every else 0


@dataclass(frozen=True, kw_only=True)
class Bimodal(Law):
    """A share waits one time, the rest another."""

    usual_ns: int
    other_ns: int
    percent: int

    @property
    def words(self) -> tuple[str, ...]:
        return ("bimodal", words_of(self.usual_ns), words_of(self.other_ns), str(self.percent))

    @property
    def mean_ns(self) -> float:
        return self.usual_ns + (self.other_ns - self.usual_ns) * self.percent / 100

    def at(self, share: float, load: Conditions) -> float:
        return self.other_ns if share > 1 - self.percent / 100 else self.usual_ns


@dataclass(frozen=True, kw_only=True)
class Drift(Law):
    """The delay grows in a straight line.

    Open loop: arrivals are even in time, so the quantile is the delay at that share of the window.
    Closed loop: a connection sends 1 / (delay + base) requests in a unit of time, fewer and fewer
    as the server slows down; so the density of delay + base is 1 / (delay + base), and its quantile
    is geometric between the ends. (That is coordinated omission.)
    """

    from_ns: int
    to_ns: int
    over_s: float

    random_in_poisson = True

    @property
    def words(self) -> tuple[str, ...]:
        return ("drift", words_of(self.from_ns), words_of(self.to_ns), words_of(self.over_s * S))

    @property
    def mean_ns(self) -> float:
        return (self.from_ns + self.to_ns) / 2

    def _delay(self, at_s: float) -> float:
        return self.from_ns + (self.to_ns - self.from_ns) * min(max(at_s, 0.0) / self.over_s, 1.0)

    def at(self, share: float, load: Conditions) -> float:
        if load.mode != "closed":
            return self._delay(load.start_s + share * load.seconds)
        first = self._delay(load.start_s) + load.base_ns
        last = self._delay(load.start_s + load.seconds) + load.base_ns
        return float(first * (last / first) ** share - load.base_ns)


@dataclass(frozen=True, kw_only=True)
class Freeze(Law):
    """Nothing leaves in the last part of every period; otherwise requests are served one after the
    other, in order.

    Open loop at rate R, freeze of length L in every P, service time s, load r = R s: a request that
    comes a time x after the freeze began finds R x before it, so it leaves at L + s + r x and waits
    L + s - (1 - r) x. That ends when the queue is empty, at x = L / (1 - r). So a share f = L / (1
    - r) / P of the requests waits between s and L + s, evenly, the rest s. (With Poisson arrivals
    the rest also waits for each other, r s / (2 (1 - r)) on average; that is below 5 us here.) It
    needs windows of whole periods whose edges lie where nothing is queued.

    Closed loop: each connection meets a freeze with one request. How many others there are depends
    on the machine, so only the largest latency is known. Between the moment a request is read and
    its answer lie the freeze and at most all other connections, twice.
    """

    length_ns: int
    period_ns: int
    service_ns: int

    random_in_poisson = True

    @property
    def words(self) -> tuple[str, ...]:
        return (
            "freeze",
            words_of(self.length_ns),
            words_of(self.period_ns),
            words_of(self.service_ns),
        )

    @property
    def mean_ns(self) -> float:
        return self.length_ns * self.length_ns / self.period_ns / 2

    def in_flight_at_edges(self, load: Conditions) -> float:
        # In an open loop nothing is; but each freeze begins just before or just after a request.
        return load.connections if load.mode == "closed" else load.seconds * S / self.period_ns / 2

    def at(self, share: float, load: Conditions) -> float | None:
        if load.mode == "closed":
            return None
        busy = load.rate * self.service_ns / S
        if busy >= 1 or (affected := self.length_ns / (1 - busy) / self.period_ns) > 1:
            return None  # the queue never drains
        return self.service_ns + self.length_ns * max(0.0, share - (1 - affected)) / affected

    def max(self, load: Conditions) -> Span:
        if load.mode == "closed":
            return Span(
                low=self.length_ns - load.base_ns,
                high=self.length_ns + 2 * load.connections * self.service_ns,
            )
        # The first request of a freeze comes up to one distance after its beginning, with random
        # arrivals seldom more than ten.
        late = (10 if load.mode == "poisson" else 1) * S / load.rate
        return Span(low=self.length_ns - late, high=self.length_ns + self.service_ns)
