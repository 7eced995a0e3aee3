"""The analytic truths against simulations that know the laws request by request, and no formula."""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import replace

import numpy as np
import pytest

from wirebench.selftest.cases import FULL, QUICK, Faults, cases, load_for
from wirebench.selftest.laws import (
    MS,
    US,
    Bimodal,
    Conditions,
    Constant,
    Drift,
    Freeze,
    Law,
    Mode,
    S,
    Slow,
    Span,
)

SHARES = (0.1, 0.5, 0.9, 0.99, 0.999)
BASE_NS = 30 * US


class Served:
    """One law, followed request by request as the server does it. Times in nanoseconds from the
    first request on.
    """

    def __init__(self, law: Law) -> None:
        self.law = law
        self.number = 0
        self.free = 0.0

    def due(self, received: float) -> float:
        self.number += 1
        match self.law:
            case Constant(delay_ns=delay):
                return received + delay
            case Slow(every=every, delay_ns=delay):
                return received + (delay if self.number % every == 0 else 0)
            case Bimodal(usual_ns=usual, other_ns=other, percent=percent):
                # Another way to spread them evenly than the server's: the shares are the same.
                return received + (other if self.number * 37 % 100 < percent else usual)
            case Drift(from_ns=first, to_ns=last, over_s=over):
                return received + first + (last - first) * min(received / S / over, 1)
            case Freeze(length_ns=length, period_ns=period, service_ns=service):
                begin = max(received, self.free)
                freeze = (begin // period + 1) * period - length
                if begin + service > freeze:
                    begin = freeze + length
                self.free = begin + service
                return self.free
        raise AssertionError(self.law)


def open_loop(law: Law, rate: int, *, start_s: float, seconds: float, poisson: bool) -> np.ndarray:
    """Latencies of what was scheduled inside the window."""
    chance = random.Random(7)
    served = Served(law)
    latencies, at = [], 0.0
    while at < (start_s + seconds) * S:
        if at >= start_s * S:
            latencies.append(served.due(at) - at)
        else:
            served.due(at)
        at += -math.log(1 - chance.random()) / rate * S if poisson else S / rate
    return np.array(latencies)


def closed_loop(law: Law, connections: int, *, start_s: float, seconds: float) -> np.ndarray:
    """Latencies, without the base, of what was answered inside the window; every request costs the
    base on top.
    """
    served = Served(law)
    ready = [i * 1_000.0 for i in range(connections)]  # not all in the same instant
    heapq.heapify(ready)
    latencies = []
    while ready:
        sent = heapq.heappop(ready)
        if sent > (start_s + seconds) * S:
            continue
        due = served.due(sent)
        if start_s * S <= due < (start_s + seconds) * S:
            latencies.append(due - sent)
        heapq.heappush(ready, due + BASE_NS)
    return np.array(latencies)


def conditions(
    mode: Mode, rate: float, connections: int, latencies: np.ndarray, start_s: float, seconds: float
) -> Conditions:
    return Conditions(
        mode=mode,
        rate=rate,
        connections=connections,
        count=len(latencies),
        start_s=start_s,
        seconds=seconds,
        base_ns=BASE_NS,
    )


LAWS = {
    "constant": Constant(delay_ns=10 * MS),
    "slow": Slow(every=100, delay_ns=100 * MS),
    "slow of 250": Slow(every=250, delay_ns=20 * MS),
    "bimodal": Bimodal(usual_ns=1 * MS, other_ns=20 * MS, percent=30),
    "drift": Drift(from_ns=5 * MS, to_ns=25 * MS, over_s=13),
    "drift that ends": Drift(from_ns=5 * MS, to_ns=25 * MS, over_s=6),
    "freeze": Freeze(length_ns=1 * S, period_ns=5 * S, service_ns=10 * US),
    "freeze and slow": Freeze(length_ns=1 * S, period_ns=5 * S, service_ns=500 * US),
}


def check(law: Law, met: Conditions, latencies: np.ndarray) -> None:
    for share in SHARES:
        span = law.truth(share, met)
        assert span is not None, share
        found = float(np.quantile(latencies, share, method="inverted_cdf"))
        # Arrivals come one by one, the formula has them flow: a service time of difference.
        service = law.service_ns if isinstance(law, Freeze) else 0
        assert abs(span.distance(found)) <= 1 * US + service, (share, span, found)


# A slow server's queue grows without end at the higher rate: it has no percentiles.
@pytest.mark.parametrize(
    ("name", "rate"),
    [(name, 1_000) for name in LAWS] + [(name, 10_000) for name in LAWS if "and slow" not in name],
)
def test_open_loop(name: str, rate: int) -> None:
    law = LAWS[name]
    start_s, seconds = (2.5, 15) if isinstance(law, Freeze) else (1, 12)
    latencies = open_loop(law, rate, start_s=start_s, seconds=seconds, poisson=False)
    met = conditions("constant", rate, 64, latencies, start_s, seconds)
    check(law, met, latencies)
    for share in SHARES:
        # Constant arrivals leave nothing to chance: but for steps and hanging edges the truth is a
        # value, not a range.
        span = law.truth(share, met)
        if span is not None and not isinstance(law, Slow):
            assert span.high - span.low <= 0.01 * span.high + 200 * US, (share, span)
    most = law.max(met)
    if most is not None:
        assert abs(most.distance(float(latencies.max()))) <= 1 * US


@pytest.mark.parametrize("name", LAWS)
def test_open_loop_with_poisson_arrivals(name: str) -> None:
    law = LAWS[name]
    start_s, seconds = (2.5, 15) if isinstance(law, Freeze) else (1, 12)
    latencies = open_loop(law, 1_000, start_s=start_s, seconds=seconds, poisson=True)
    met = conditions("poisson", 1_000, 64, latencies, start_s, seconds)
    if name == "freeze and slow":
        # Requests that wait for each other without a freeze are beyond the formula; what the freeze
        # adds is not.
        found = float(np.quantile(latencies, 0.99, method="inverted_cdf"))
        span = law.truth(0.99, met)
        assert span is not None
        assert abs(span.distance(found)) <= 0.03 * S
        return
    for share in SHARES:
        span = law.truth(share, met)
        assert span is not None
        found = float(np.quantile(latencies, share, method="inverted_cdf"))
        # Poisson arrivals wait for each other now and then: some tens of microseconds at most here.
        assert abs(span.distance(found)) <= (100 * US if isinstance(law, Freeze) else 1 * US), (
            share,
            span,
            found,
        )


# Not a drift that ends: the formula of the closed loop is for windows in which the delay grows.
@pytest.mark.long
@pytest.mark.parametrize("name", ["constant", "slow", "slow of 250", "bimodal", "drift"])
@pytest.mark.parametrize("connections", [1, 20])
def test_closed_loop(name: str, connections: int) -> None:
    law = LAWS[name]
    latencies = closed_loop(law, connections, start_s=1, seconds=12)
    check(law, conditions("closed", len(latencies) / 12, connections, latencies, 1, 12), latencies)


@pytest.mark.long
def test_a_closed_loop_leaves_out_what_it_should_measure() -> None:
    freeze = LAWS["freeze"]
    latencies = closed_loop(freeze, 10, start_s=2.5, seconds=15)
    met = conditions("closed", len(latencies) / 15, 10, latencies, 2.5, 15)
    assert freeze.truth(0.99, met) is None
    most = freeze.max(met)
    assert most is not None
    assert abs(most.distance(float(latencies.max()))) <= 1 * US
    # Users who come at 1,000 a second would see 950 ms at the 99th percentile.
    assert np.quantile(latencies, 0.99) < 1 * MS
    users = freeze.truth(0.99, replace(met, mode="constant", rate=1_000, count=15_000))
    assert users is not None
    assert 940 * MS < users.low <= users.high < 960 * MS


def test_the_freeze_of_one_second_in_five() -> None:
    met = Conditions(
        mode="constant",
        rate=1_000,
        connections=2_000,
        count=10**9,
        start_s=2.5,
        seconds=15,
        base_ns=0,
    )
    found = [LAWS["freeze"].at(share, met) for share in (0.5, 0.9, 0.99, 0.999)]
    # f = 1 / (1 - 0.01) / 5; s + L (q - 1 + f) / f
    assert found == pytest.approx([10 * US, 505.01 * MS, 950.51 * MS, 995.06 * MS], rel=1e-6)
    busy = replace(met, rate=50_000)
    assert [LAWS["freeze"].at(share, busy) for share in (0.5, 0.9, 0.99)] == pytest.approx(
        [10 * US, 750.01 * MS, 975.01 * MS]
    )
    assert LAWS["freeze"].at(0.5, replace(met, rate=90_000)) is None, (
        "the next freeze comes before the queue is empty"
    )
    assert LAWS["freeze"].at(0.5, replace(met, rate=100_000)) is None


def test_a_percentile_on_a_step_is_a_range() -> None:
    met = Conditions(
        mode="constant", rate=1_000, connections=64, count=12_000, start_s=1, seconds=12, base_ns=0
    )
    slow = LAWS["slow"]
    assert slow.truth(0.99, met) == Span(low=0, high=100 * MS)
    assert slow.truth(0.9, met) == Span(low=0, high=0)
    assert slow.truth(0.999, met) == Span(low=100 * MS, high=100 * MS)
    assert slow.truth(0.5, replace(met, count=0)) is None


def test_a_span_knows_what_lies_outside() -> None:
    span = Span(low=10, high=20)
    assert [span.distance(value) for value in (7, 10, 15, 20, 24)] == [-3, 0, 0, 0, 4]
    assert span.plus(5) == Span(low=15, high=25)


def test_faults_are_counted_as_the_server_does() -> None:
    # The numbers of wireload/truth/law_test.cpp.
    faults = Faults(drop=10, status=4, body=6, length=3)
    assert faults.expected(60) == {"closed_early": 6, "bad_status": 12, "bad_body": 14}
    assert faults.expected(2) == {}
    assert faults.words == (
        "--drop",
        "10",
        "--wrong-status",
        "4",
        "--wrong-body",
        "6",
        "--wrong-length",
        "3",
    )
    assert not Faults().any


@pytest.mark.parametrize("size", [FULL, QUICK])
def test_every_load_has_room_for_what_waits(size: object) -> None:
    assert size in (FULL, QUICK)
    chosen = FULL if size is FULL else QUICK
    for case in cases(chosen):
        for mode in ("constant", "poisson"):
            for rate in chosen.rates:
                load = load_for(case, mode, rate, chosen)
                room = load.connections * load.in_flight
                needed = (
                    rate
                    * (case.law.length_ns if isinstance(case.law, Freeze) else case.law.mean_ns)
                    / S
                )
                assert room >= 1.5 * needed
                # Behind each other only where requests are answered in order anyway.
                assert load.in_flight == 1 or isinstance(case.law, Freeze)
                assert load.connections <= 2_000
                if isinstance(case.law, Freeze):
                    # Whole periods, with edges where nothing is queued: past the freeze and what it
                    # left.
                    assert load.window_ns % case.law.period_ns == 0
                    phase = load.warmup_ns % case.law.period_ns
                    busy = rate * case.law.service_ns / S
                    assert (
                        case.law.length_ns * busy / (1 - busy)
                        < phase
                        < case.law.period_ns - case.law.length_ns
                    )
                assert (load.requests is None) == (not case.faults.any)
