"""How a duel chooses the length of its turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from developer.simulated_duels import record_of
from duel_world import LOAD, SIDES
from wirebench.catalog.loads import ClosedLoad
from wirebench.duel.measure import TURNS_NS, Duel
from wirebench.duel.plan import DuelLoad, plan_of
from wirebench.run.bench import Bench
from wirebench.store.rundir import RunDirectory
from wirebench.trial.record import FailureRecord, TrialRecord
from wirebench.trial.types import TrialSpec

MS = 1_000_000
BUDGET_NS, TRY_NS = 120_000 * MS, 3_000 * MS
Answer = Callable[[TrialSpec, int], TrialRecord]


def record(
    spec: TrialSpec, *, late: float = 0.0, rest_ns: int = 0, failed: str | None = None
) -> TrialRecord:
    return replace(
        record_of(spec, metrics={}),
        status="ok" if failed is None else "failed",
        failure=None
        if failed is None
        else FailureRecord(kind=failed, phase="load", message="it failed"),
        validity={"late_turns": late},
        load=None if failed else {"turns": {"longest_rest_ns": rest_ns}},
    )


class FakeBench:
    hardware_threads = 2

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.tried: list[int] = []
        self.now_ns = 0

    def run_in_turns(self, specs: Sequence[TrialSpec], *, length_ns: int) -> list[TrialRecord]:
        self.tried.append(length_ns)
        self.now_ns += TRY_NS
        return [self.answer(spec, length_ns) for spec in specs]


def chosen(answer: Answer) -> tuple[int | None, list[int]]:
    """The chosen length, and those that were tried."""
    bench = FakeBench(answer)
    duel = duel_on(bench)
    duel.choose_turns()
    return duel.turn_ns, bench.tried


def duel_on(bench: FakeBench, *, blocks: int | None = None, load: DuelLoad = LOAD) -> Duel:
    plan = plan_of(SIDES, load, floor=None, seed=1, budget_ns=BUDGET_NS, blocks=blocks)
    return Duel(
        plan=plan,
        sides=SIDES,
        load=load,
        servers={},
        floor=None,
        band=0.01,
        bench=cast("Bench", bench),
        directory=cast("RunDirectory", Path()),
        clock_ns=lambda: bench.now_ns,
    )


def test_a_trial_has_the_load_and_the_patience_that_were_asked_for() -> None:
    asked: set[tuple[int, int]] = set()

    def answer(spec: TrialSpec, _: int) -> TrialRecord:
        assert isinstance(spec.load, ClosedLoad)
        asked.add((spec.load.in_flight, spec.timeout_ns))
        return record(spec)

    load = replace(LOAD, in_flight=4, timeout_ns=20_000 * MS)
    duel_on(FakeBench(answer), load=load).choose_turns()
    assert asked == {(4, 20_000 * MS)}


def test_the_search_is_part_of_the_budget() -> None:
    bench = FakeBench(lambda spec, _: record(spec, failed="hung"))
    duel = duel_on(bench)
    duel.choose_turns()
    assert duel.plan.budget_ns == BUDGET_NS - 2 * TRY_NS
    bench.now_ns = -BUDGET_NS
    bench.answer = lambda spec, _: record(spec)
    counted = duel_on(bench, blocks=6)
    counted.choose_turns()
    assert counted.plan.budget_ns is None


def test_fast_servers_have_the_shortest_turns() -> None:
    assert chosen(lambda spec, _: record(spec)) == (TURNS_NS[0], [TURNS_NS[0]])


def test_turns_are_long_enough_for_the_slowest_replies() -> None:
    """Replies take up to 30 ms, and the last fifth of a turn is for them."""

    def answer(spec: TrialSpec, length_ns: int) -> TrialRecord:
        return record(spec, late=float(length_ns < 150 * MS), rest_ns=30 * MS)

    assert chosen(answer) == (200 * MS, [TURNS_NS[0], 200 * MS])


def test_without_a_reply_only_the_longest_turns_are_tried() -> None:
    def slow(spec: TrialSpec, length_ns: int) -> TrialRecord:
        return record(spec, failed="hung" if length_ns < TURNS_NS[-1] else None)

    assert chosen(slow) == (TURNS_NS[-1], [TURNS_NS[0], TURNS_NS[-1]])
    never = chosen(lambda spec, _: record(spec, failed="hung"))
    assert never == (None, [TURNS_NS[0], TURNS_NS[-1]])


@pytest.mark.parametrize("kind", ["start_timeout", "start_crashed", "crashed", "wrong_reply"])
def test_a_broken_server_is_tried_once(kind: str) -> None:
    def answer(spec: TrialSpec, _: int) -> TrialRecord:
        return record(spec, failed=kind if spec.entry == "B" else None)

    assert chosen(answer) == (TURNS_NS[0], [TURNS_NS[0]])
