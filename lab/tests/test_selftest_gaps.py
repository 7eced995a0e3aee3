"""Standstills of the cores: what they do to latency, and that they excuse nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wirebench.selftest.cases import Case, Load
from wirebench.selftest.gaps import CoreGaps, Standstills, describe, one_after_another, read_gaps, truth_with_gaps
from wirebench.selftest.judge import Row, exit_code
from wirebench.selftest.laws import MS, US, Bimodal, Conditions, Constant, Drift, Freeze, Law, Mode, S, Slow, Span
from wirebench.selftest.repeats import Group, Run

LOAD = Load(mode="constant", rate=1_000, connections=64, in_flight=1, warmup_ns=0, window_ns=4 * S)
START = 1_700_000_000 * S
NONE = CoreGaps()


def met(mode: Mode = "constant", rate: float = 1_000, seconds: float = 4, connections: int = 64) -> Conditions:
    count = round(rate * seconds)
    return Conditions(mode=mode, rate=rate, connections=connections, count=count, start_s=0, seconds=seconds, base_ns=40 * US)


def gap(start_s: float, length_ns: int, unsure_ns: int = 0) -> tuple[int, int, int]:
    return (START + round(start_s * S) + length_ns, length_ns - unsure_ns, length_ns)


def within(span: Span, value: float) -> bool:
    return abs(span.distance(value)) <= max(0.01 * span.low, 50 * US)


def followed(law: Law, load: Conditions, client: CoreGaps, server: CoreGaps) -> list[float]:
    """The same, by another way: time goes on in small steps for three queues, each at rest while its core stands still."""

    def still(gaps: CoreGaps, at: float) -> bool:
        return any(end - START - longest <= at < end - START for end, _, longest in gaps.gaps)

    step = 10 * US
    due = [round(i * S / load.rate) for i in range(load.count)]
    to_send = list(range(load.count))
    to_read: list[tuple[float, int]] = []
    to_answer: list[tuple[float, int]] = []
    to_take: list[tuple[float, int]] = []
    found: dict[int, float] = {}
    read: list[int] = []
    at = 0.0
    while len(found) < load.count:
        if not still(client, at):
            if to_send and due[to_send[0]] <= at:
                to_read.append((at + load.base_ns / 2, to_send.pop(0)))
            if to_take and to_take[0][0] <= at:
                _, number = to_take.pop(0)
                found[number] = at - due[number]
        if not still(server, at):
            if to_read and to_read[0][0] <= at:
                _, number = to_read.pop(0)
                delay = float(law.delays(np.array([len(read)]), np.array([at]), load)[0])
                read.append(number)
                to_answer.append((at + delay, number))
                to_answer.sort()
            if to_answer and to_answer[0][0] <= at:
                _, number = to_answer.pop(0)
                to_take.append((at + load.base_ns / 2, number))
        at += step
    return [found[number] for number in range(load.count)]


@pytest.mark.parametrize(
    "law",
    [Constant(delay_ns=3 * MS), Slow(every=50, delay_ns=20 * MS), Bimodal(usual_ns=MS, other_ns=7 * MS, percent=30)],
    ids=lambda law: type(law).__name__,
)
@pytest.mark.parametrize("who", ["client", "server", "both"])
def test_the_truth_is_what_a_simulation_finds(law: Law, who: str) -> None:
    stops = CoreGaps(gaps=(gap(0.2, 5 * MS), gap(0.61, 3 * MS), gap(0.8004, 8 * MS)))
    client = stops if who != "server" else NONE
    server = CoreGaps(gaps=(gap(0.3, 4 * MS), gap(0.803, 6 * MS))) if who == "both" else stops if who == "server" else NONE
    load = met(rate=2_000, seconds=1)
    truth = truth_with_gaps(law, load, client, server, START)
    latencies = followed(law, load, client, server)
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)):
        value = float(np.quantile(latencies, share, method="inverted_cdf"))
        assert within(truth[name], value), (name, truth[name], value)
    # And it says more than the law: 16 ms in a second are 1.6% of all requests. (Those that are slow anyway hide it.)
    if isinstance(law, Slow):
        return
    plain = law.truth(0.999, load)
    assert plain is not None
    assert truth["p99.9"].high - load.base_ns > plain.high + MS


def test_where_nothing_was_recorded_nothing_is_explained() -> None:
    stops = CoreGaps(gaps=(gap(1, 5 * MS),))
    law = Constant(delay_ns=MS)
    assert truth_with_gaps(law, met(), NONE, NONE, START) == {}
    assert truth_with_gaps(law, met(), CoreGaps(problem="no right to it"), stops, START) == {}
    before_it = CoreGaps(gaps=(gap(-1, 5 * MS), gap(9, 5 * MS)))
    assert truth_with_gaps(law, met(), before_it, NONE, START) == {}
    assert set(truth_with_gaps(law, met(), stops, NONE, START)) == {"p50", "p90", "p99", "p99.9", "max"}


def test_an_idle_core_may_stand_still() -> None:
    """Between requests it harms nobody; at 10 requests a second, 5 ms hit one of them at most."""
    stops = CoreGaps(gaps=tuple(gap(0.03 + 0.1 * i, 5 * MS) for i in range(40)))
    truth = truth_with_gaps(Constant(delay_ns=MS), met(rate=10), NONE, stops, START)
    assert truth["p50"].low == pytest.approx(MS + 40 * US)
    # The phase of the schedule is not known to it.
    assert truth["p50"].high <= 6 * MS + 41 * US


def test_a_freeze_is_followed_request_by_request() -> None:
    law = Freeze(length_ns=100 * MS, period_ns=500 * MS, service_ns=10 * US)
    load = met(rate=1_000, seconds=2)
    tiny = CoreGaps(gaps=(gap(0.1, 1_000),))  # too short to change anything
    truth = truth_with_gaps(law, load, tiny, NONE, START)
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        plain = law.truth(share, load)
        assert plain is not None
        assert truth[name].distance(plain.low + load.base_ns) == pytest.approx(0, abs=MS)


def test_a_drift_and_a_closed_loop() -> None:
    load = Conditions(mode="closed", rate=500, connections=5, count=2_000, start_s=0, seconds=4, base_ns=40 * US)
    stops = CoreGaps(gaps=tuple(gap(0.2 + i / 2, 10 * MS) for i in range(7)))
    truth = truth_with_gaps(Constant(delay_ns=10 * MS), load, NONE, stops, START)
    assert within(truth["p50"], 10.04 * MS)
    # Each standstill meets each connection once: 35 of some 2,000.
    assert truth["p99"].high > 12 * MS
    drift = Drift(from_ns=5 * MS, to_ns=25 * MS, over_s=4)
    truth = truth_with_gaps(drift, met(), stops, NONE, START)
    assert within(truth["p50"], 15.04 * MS)


def test_arrivals_at_random_make_a_span() -> None:
    stops = CoreGaps(gaps=tuple(gap(0.2 + i / 3, 4 * MS, 200 * US) for i in range(10)))
    constant = truth_with_gaps(Constant(delay_ns=MS), met("constant"), stops, NONE, START)["p99.9"]
    poisson = truth_with_gaps(Constant(delay_ns=MS), met("poisson"), stops, NONE, START)["p99.9"]
    assert poisson.high - poisson.low > constant.high - constant.low
    assert MS < poisson.low < poisson.high < 6 * MS


def test_what_stands_still_and_what_waits_in_line() -> None:
    stops = Standstills.of(CoreGaps(gaps=(gap(2, 100), gap(1, 50, 20))), START, longest=False)
    assert stops.after(np.array([S - 1.0, S + 10.0, S + 30.0, S + 49.0, S + 50.0, 2.0 * S + 99])).tolist() == [
        *(S - 1, S + 10, S + 50, S + 50, S + 50, 2 * S + 100)
    ]
    assert [stops.after_one(at) for at in (S + 30.0, S + 50.0)] == [S + 50, S + 50]
    assert one_after_another(np.array([5.0, 0.0, 1.0, 30.0]), 10).tolist() == [20, 0, 10, 30]


# --- verdicts ------------------------------------------------------------------------------------------------------------


def test_it_excuses_what_it_explains_and_nothing_else() -> None:
    stops = CoreGaps(gaps=tuple(gap(0.2 + i / 2, 4 * MS, 200 * US) for i in range(5)))
    load = met()
    case = Case(name="constant", law=Constant(delay_ns=10 * MS))
    truth = truth_with_gaps(case.law, load, stops, NONE, START)
    latencies = followed(case.law, load, stops, NONE)
    shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
    seen: dict[str, float | None] = {
        name: float(np.quantile(latencies, share, method="inverted_cdf")) for name, share in shares.items()
    }
    server: dict[str, float | None] = dict.fromkeys(shares, 10.0 * MS)

    def rows(*measured: dict[str, float | None]) -> list[Row]:
        runs = [
            Run(
                round=number,
                void=None,
                met=replace(load, base_ns=0),
                measured=one,
                server=server,
                start_unix_ns=START,
                client_gaps=stops,
            )
            for number, one in enumerate(measured, 1)
        ]
        group = Group(case=case, load=LOAD, wanted=len(runs), base_ns=load.base_ns, runs=runs)
        return [row for row in group.results() if isinstance(row, Row)]

    def verdicts(*measured: dict[str, float | None]) -> Sequence[str]:
        return [row.verdict for row in rows(*measured)][:4]

    assert verdicts(seen) == ["yes", "yes", "yes", "gaps"]
    for false in (0.5, 2, 5):
        falsified: dict[str, float | None] = {**seen, "p99.9": truth["p99.9"].high + false * MS}
        assert verdicts(falsified)[3] == "NO"
        assert verdicts(seen, falsified, seen)[3] == "gaps"
        assert verdicts(falsified, seen, falsified)[3] == "NO"
    # Between the two truths lies no third one.
    assert verdicts({**seen, "p99.9": (10.04 * MS + truth["p99.9"].low) / 2})[3] == "NO"
    assert verdicts({**seen, "p50": 10.2 * MS})[0] == "NO"
    found = rows(seen)
    assert found[3].off_gaps is not None
    assert found[3].note == f"typical run: {describe(stops, NONE, START, 4 * S)}"
    assert found[3].truth == Span(low=10.04 * MS, high=10.04 * MS)
    assert exit_code(found) == 0


# --- files ---------------------------------------------------------------------------------------------------------------


def test_records_are_read(tmp_path: Path) -> None:
    file = tmp_path / "gaps"

    def read(*cores: dict[str, object]) -> CoreGaps:
        file.write_text(json.dumps({"schema": "core-gaps/1", "cores": cores}))
        return read_gaps(file)

    core: dict[str, object] = {"core": 1, "problem": None, "looks": 9, "left_out": 0, "gaps": [[START, 3, 4]]}
    assert read(core) == CoreGaps(gaps=((START, 3, 4),), looks=9)
    assert read({**core, "problem": "no right"}).problem == "no right"
    assert read({**core, "left_out": 2}).problem is not None
    assert read(core, core).problem is not None
    with pytest.raises(ValueError, match="gaps"):
        read({**core, "gaps": [[1, 2]]})


def test_in_words() -> None:
    stops = CoreGaps(gaps=(gap(1, 4 * MS), gap(2, 3 * MS), gap(7, 9 * MS)))
    once = CoreGaps(gaps=(gap(1, 2 * MS),))
    assert describe(stops, once, START, 4 * S) == (
        "wireload's core stood still 2 times, 7.0 ms, longest 4.0 ms; "
        "the server's core stood still once, 2.0 ms, longest 2.0 ms"
    )
    assert describe(NONE, NONE, START, 4 * S) == ""
