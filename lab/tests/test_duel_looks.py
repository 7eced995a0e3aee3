"""What the looks of a duel and of a gate decide, kept to its end: over made-up trials and time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from developer.simulated_duels import World
from duel_world import LOAD, SIDES, cell_of, trials_of
from wirebench.cli.gate import _Judge
from wirebench.duel.measure import Duel, Ends
from wirebench.duel.plan import plan_of
from wirebench.duel.text import Duelled, document, notes, sentences
from wirebench.duel.verdicts import Judged, judged
from wirebench.gate.over_duel import over_duel
from wirebench.gate.text import verdict
from wirebench.gate.thresholds import threshold
from wirebench.trial.record import FailureRecord
from wirebench.trial.types import TrialSpec

TRIAL_NS = 10**9
CALM_BLOCKS, DECIDED, BLOCKS = 13, 19, 30
CALM = ("p50_ns", "p99_ns", "server_rss_bytes")
NO_ERRORS = threshold("errors", 0)


def made_up(spec: TrialSpec) -> dict[str, float]:
    """B costs ten percent more CPU in the first blocks, and anything between less and more in the
    others; its throughput is anything all the time.
    """
    random = np.random.default_rng((spec.block, spec.position))
    factor = 1.0
    if spec.contestant.identity == "B":
        factor = 1.10 if spec.block <= CALM_BLOCKS else (0.7, 1.4)[spec.block % 2]
    return {
        "cpu_per_request_ns": 20_000 * factor * float(np.exp(random.normal(0, 0.003))),
        "throughput_per_s": 40_000 * float(np.exp(random.normal(0, 0.4))),
        **dict.fromkeys(CALM, 1_000_000.0),
    }


def world_of(*, slow_block: int = 0) -> World:
    """A trial takes a second; the last one of ``slow_block`` ten times as long."""

    def trial_ns(spec: TrialSpec) -> int:
        return TRIAL_NS * (10 if (spec.block, spec.position) == (slow_block, 3) else 1)

    return World(metrics=made_up, trial_ns=trial_ns)


def duel_in(world: World, *, ends: Ends | None = None) -> Duel:
    plan = plan_of(SIDES, LOAD, floor=None, seed=1, budget_ns=3 * BLOCKS * TRIAL_NS, blocks=None)
    return world.measure(plan, SIDES, LOAD, band=0.01, ends=ends)


def line_of(result: Judged, metric: str) -> str:
    return next(line for line in result.lines if line.metric == metric).verdict.kind


def test_what_a_look_decides_stays_decided() -> None:
    duel = duel_in(world_of())
    result = duel.result()
    assert result.blocks > DECIDED
    assert line_of(result, "throughput_per_s") == "undecided", "so that it went on to its end"
    last = judged(duel.cell, duel.trials, level=duel.level_left, band=0.01)
    assert line_of(last, "cpu_per_request_ns") == "undecided", "not by the rest of the level"
    cpu = next(line for line in result.lines if line.metric == "cpu_per_request_ns")
    assert cpu.verdict.kind == "slower"
    assert cpu.decided_after == DECIDED
    assert cpu.ratio is not None
    assert cpu.ratio.blocks == DECIDED
    assert cpu.ratio.estimate == pytest.approx(1.10, rel=0.01)
    said = Duelled(
        sides=SIDES,
        load="",
        unit="request",
        kind="closed",
        result=result,
        seconds=60,
        run="duel",
    )
    assert "more CPU per request (worse)" in next(iter(sentences(said)))
    assert "decided after 19 blocks, with the ratio of these: CPU per request of B" in list(
        notes(said)
    )
    by_metric = {line["metric"]: line["decided_after"] for line in document(said)["lines"]}
    assert by_metric["cpu_per_request_ns"] == DECIDED
    assert by_metric["throughput_per_s"] is None


def test_a_look_when_the_time_is_over_is_the_last_one() -> None:
    """Its block takes longer than the budget has, so that the look may spend all that is left."""
    duel = duel_in(world_of(slow_block=28))
    result = duel.result()
    assert result.blocks == 28
    assert duel.level_left == pytest.approx(0.0, abs=1e-12)
    assert result.level > 0.01, "and not what is left after it"
    assert line_of(result, "throughput_per_s") == "undecided"


def test_a_later_look_that_decides_has_the_word() -> None:
    cell = cell_of()
    early = judged(cell, trials_of(cell, 9, factor=1.3, noise=0.01, seed=1), level=0.05, band=0.01)
    late = judged(cell, trials_of(cell, 20, factor=0.8, noise=0.01, seed=1), level=0.05, band=0.01)
    assert late.keeping(early) == late
    assert late.keeping(None) == late


def test_a_duel_ends_when_all_is_decided_be_it_by_several_looks() -> None:
    cell = cell_of()
    trials = trials_of(cell, 20, factor=1.1, noise=0.01, seed=1)
    both = judged(cell, trials, level=0.05, band=0.01)
    assert both.decided("closed")

    def only(metric: str) -> Judged:
        """As if all other lines were open."""
        open_ = judged(cell, trials[:6], level=0.05, band=0.01)
        shown = {line.metric: line for line in both.lines}
        lines = (shown[metric] if one.metric == metric else one for one in open_.lines)
        return replace(open_, lines=tuple(lines))

    first, second = only("cpu_per_request_ns"), only("throughput_per_s")
    assert not first.decided("closed")
    assert not second.decided("closed")
    assert second.keeping(first).decided("closed")


def test_what_a_look_of_a_gate_decides_stays_decided() -> None:
    judge = _Judge(
        [threshold("cpu_per_request", "+15%"), threshold("throughput", "-3%"), NO_ERRORS]
    )
    duel = duel_in(world_of(), ends=judge.ends)
    found = judge.result(duel.cell, duel.trials, duel.level_left)
    cpu, throughput, errors = found.rows
    assert throughput.state == "undecided"
    assert (cpu.state, errors.state) == ("holds", "holds")
    assert verdict(cpu) == f"holds: decided after {DECIDED} blocks"
    assert (cpu.low or 0) > 1
    assert verdict(errors) == "holds", "counted to the end"


def test_errors_that_come_after_a_look_are_counted() -> None:
    wanted = [threshold("throughput", "-3%"), NO_ERRORS]
    trials = trials_of(cell_of(), 20, factor=1.0, noise=0.005, seed=1)
    early = over_duel(cell_of(), trials, wanted, level=0.05)
    assert early.state == "holds"
    wrong = replace(
        trials[-1],
        entry="B",
        contestant="B",
        status="failed",
        failure=FailureRecord(kind="wrong_reply", phase="load", message="a wrong reply"),
    )
    late = over_duel(cell_of(), [*trials, wrong], wanted, level=1e-9).keeping(early)
    assert [row.state for row in late.rows] == ["holds", "regressed"]
