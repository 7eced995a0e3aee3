"""What a report says would change its verdicts, and what its curves are of."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from synthetic_run import make_plan
from synthetic_trials import make_trials
from synthetic_world import FLOOR, World
from wirebench.plan.model import Plan
from wirebench.report.curves import percentile_curves
from wirebench.report.sentences import Sentence, cell_sentence
from wirebench.stats import analyse
from wirebench.trial.record import FailureRecord, TrialRecord

WORLD = World(studies=("rest",), blocks=9, samples=50)
CRASHED = FailureRecord(
    kind="crashed", phase="load", message="it ended", sent=None, expected=None, received=None
)


def first_cell() -> tuple[Plan, list[TrialRecord]]:
    plan = make_plan(WORLD)
    one = replace(plan, cells=plan.cells[:1])
    id_ = one.cells[0].cell.id
    return one, [trial for trial in make_trials(WORLD, plan) if trial.cell == id_ and trial.block]


def voided(trial: TrialRecord) -> TrialRecord:
    return replace(trial, validity={**trial.validity, "little_ratio": 1.3})


def sentence(plan: Plan, trials: list[TrialRecord]) -> Sentence:
    return cell_sentence(analyse(trials, plan).cells[0], again="wirebench run rest")


@pytest.mark.parametrize(
    ("void", "blocks"), [(range(5, 10), 9 + 2), (range(2, 10), 9 + 5), (range(6, 10), 9 + 1)]
)
def test_void_trials_are_not_counted_among_the_blocks_of_a_verdict(
    void: Collection[int], blocks: int
) -> None:
    """Six valid ones are needed, not six."""
    plan, trials = first_cell()
    said = sentence(plan, [voided(one) if one.block in void else one for one in trials])
    assert said.text.startswith("Too few valid trials")
    assert said.changes[-1] == f"To measure that: wirebench run rest --blocks {blocks}"


def test_where_every_trial_failed_or_is_void_no_number_of_blocks_is_promised() -> None:
    plan, trials = first_cell()
    crashed = [replace(one, status="failed", failure=CRASHED, metrics={}) for one in trials]
    for given in (crashed, [voided(one) for one in trials]):
        said = sentence(plan, given)
        assert said.text == "Nothing valid was measured."
        assert not any("--blocks" in one for one in said.changes)
    assert sentence(plan, []).changes == ("To measure that: wirebench run rest --blocks 6",)


def test_what_the_generator_leaves_open_is_no_matter_of_the_noise_band() -> None:
    """The best is limited and the next is alike: that it is no better cannot be shown."""
    plan, trials = first_cell()
    shares = {"server_cpu_share": 0.7, "generator_cpu_share": 0.99}
    alike = {one.block: one.metrics for one in trials if one.entry == "rust/axum"}
    given = [
        replace(
            one,
            metrics=alike[one.block] if one.entry == "go/net-http" else one.metrics,
            validity={**one.validity, **(shares if one.entry == "rust/axum" else {})},
        )
        for one in trials
    ]
    cell = analyse(given, plan).cells[0]
    ranked = [one.entry for one in cell.entries if one.standing.rank_low is not None]
    assert set(ranked[:2]) == {"rust/axum", "go/net-http"}
    if ranked[0] != "rust/axum":
        places = {"rust/axum": 0, "go/net-http": 1}
        order = sorted(cell.entries, key=lambda one: places.get(one.entry, 2))
        cell = replace(cell, entries=tuple(order))
    said = cell_sentence(cell, again="wirebench run rest").changes
    both = [one for one in said if "rust/axum and go/net-http" in one]
    assert both
    assert all("generator-bound" in one and "noise band" not in one for one in both)


def test_void_trials_are_in_no_curve() -> None:
    plan, trials = first_cell()
    trials = [one for one in trials if one.entry in (FLOOR, "node/http")]
    slow = next(one.histogram for one in trials if one.entry == "node/http")
    odd = [
        replace(voided(one), histogram=slow) if (one.entry, one.block) == (FLOOR, 3) else one
        for one in trials
    ]
    without = [one for one in trials if (one.entry, one.block) != (FLOOR, 3)]
    cell = analyse(odd, plan).cells[0]
    assert percentile_curves(cell, odd)[FLOOR] == percentile_curves(cell, without)[FLOOR]
    assert percentile_curves(cell, odd)[FLOOR] != percentile_curves(cell, trials)[FLOOR]
