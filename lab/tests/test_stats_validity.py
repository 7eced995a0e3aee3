"""Warm-up classes, Little's law, dropped blocks and summaries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wirebench.report.figures import quota_text
from wirebench.stats.disturbances import dropped_blocks, other_programs, quota_stops, repeat_reason
from wirebench.stats.summary import mean, summarise
from wirebench.stats.types import OtherPrograms, QuotaStops, Starvation, TrialView
from wirebench.stats.validity import (
    breaks_little,
    faults,
    little_check,
    silent_connections,
    starvation,
)
from wirebench.stats.warmup import change_points, combine, warm_up_class


def trial(block: int = 1, entry: str = "go/x", **changes: object) -> TrialView:
    one = TrialView(
        trial=f"s.c.b{block}.{entry}",
        study="s",
        cell="c",
        block=block,
        position=1,
        entry=entry,
        contestant=entry,
        twin_of=None,
        status="ok",
        failure=None,
        started_unix_ns=1,
        elapsed_ns=1_000_000_000,
    )
    return replace(one, **changes)  # type: ignore[arg-type]


def sampled(ratio: float, *, samples: int, mean: float, connections: int = 10) -> TrialView:
    little = {"in_flight_mean": mean, "samples": samples, "ratio": ratio}
    return trial(
        validity={"little_ratio": ratio},
        load={"little": little, "plan": {"connections": connections, "in_flight": 1}},
    )


def test_a_mean_of_few_samples_may_be_off_by_what_they_allow() -> None:
    """Variance of a mean of n: at most 8 (10 - 8) / n, so with 49 samples 2 x 4 / 7 / 8 = 14%."""
    assert not breaks_little(sampled(0.87, samples=49, mean=8))
    assert breaks_little(sampled(0.85, samples=49, mean=8))
    assert breaks_little(sampled(1.06, samples=49_000, mean=8)), "with many samples 5% holds"
    assert breaks_little(sampled(1.06, samples=49, mean=10)), (
        "always full: every sample says the same"
    )


def noisy(*levels: tuple[float, int]) -> list[float]:
    random = np.random.default_rng(31)
    return [
        float(value)
        for level, count in levels
        for value in level * (1 + random.normal(0, 0.005, count))
    ]


def test_change_point_is_found_where_it_is() -> None:
    points = change_points(np.array(noisy((100.0, 20), (130.0, 30))))
    assert points == [20]


def test_no_change_point_in_noise() -> None:
    assert change_points(np.array(noisy((100.0, 60)))) == []
    assert change_points(np.array([1.0, 2.0, 3.0])) == []
    assert change_points(np.full(40, 7.0)) == []


@pytest.mark.parametrize(
    ("series", "name"),
    [
        (noisy((100.0, 40)), "flat"),
        (noisy((60.0, 15), (100.0, 25)), "warms up"),
        (noisy((120.0, 15), (100.0, 25)), "slows down"),
        (noisy((100.0, 34), (70.0, 6)), "never steady"),
        (noisy((100.0, 15), (101.0, 25)), "flat"),
        ([100.0] * 5, "too short"),
        ([100.0] * 19 + [float("nan")], "too short"),
    ],
)
def test_warm_up_classes_of_a_rate(series: list[float], name: str) -> None:
    assert warm_up_class(series, higher_is_better=True) == name


def test_a_falling_latency_warms_up() -> None:
    assert warm_up_class(noisy((120.0, 15), (100.0, 25)), higher_is_better=False) == "warms up"


def test_an_entry_has_the_class_of_most_of_its_trials() -> None:
    assert combine(["flat", "flat", "warms up"]) == "flat"
    assert combine(["flat", "never steady"]) == "never steady"
    assert combine(["too short", "flat"]) == "flat"
    assert combine([]) == "too short"


def test_little_voids_beyond_five_percent() -> None:
    good, bad = trial(validity={"little_ratio": 1.049}), trial(validity={"little_ratio": 0.94})
    assert not breaks_little(good)
    assert breaks_little(bad)
    assert not breaks_little(trial(validity={"little_ratio": None}))
    check = little_check([good, bad])
    assert (check.worst, check.voided) == (0.94, 1)
    assert little_check([trial()]).median is None


def test_a_short_window_is_held_to_littles_law_as_well() -> None:
    short = trial(
        validity={"little_ratio": 0.88},
        metrics={"mean_ns": 75_000_000},
        load={"window": {"elapsed_ns": 500_000_000}},
    )
    assert breaks_little(short)


def left_aside(starved: int, oldest_ns: int | None, p50_ns: int = 1_000_000) -> TrialView:
    unanswered = {"count": 1000, "oldest_ns": oldest_ns, "starved": starved}
    return trial(
        validity={"little_ratio": 1.0},
        metrics={"p50_ns": p50_ns},
        load={"window": {"unanswered": unanswered}, "plan": {"connections": 500, "in_flight": 2}},
    )


def test_a_server_that_starves_connections_is_warned_of_and_not_voided() -> None:
    trials = [left_aside(0, 2_000_000), left_aside(450, 800_000_000), left_aside(20, 900_000_000)]
    found = starvation(trials)
    assert found == Starvation(requests=450, of=1000, oldest_ns=800_000_000)
    assert little_check(trials).voided == 0


def silent(connections: int | None) -> TrialView:
    return trial(load={"window": {"unanswered": {"silent_connections": connections}}})


def test_connections_without_an_answer_are_the_most_of_any_trial() -> None:
    assert silent_connections([silent(0), silent(3), silent(1), trial()]) == 3
    assert silent_connections([silent(0)]) == 0
    assert silent_connections([trial(), left_aside(1, 1), silent(None)]) is None


def counted(refused: int, **errors: int) -> TrialView:
    return trial(load={"connect": {"failed": refused}, "errors": errors})


def test_faults_are_the_most_of_any_trial_and_refused_connections_no_errors() -> None:
    clean, refused = counted(0, connect_refused=0), counted(3, connect_refused=3)
    assert faults([clean]) == {"connect_failed": 0, "errors": 0}
    assert faults([clean, refused]) == {"connect_failed": 3, "errors": 0}
    broken = counted(1, connect_timeout=1, closed_early=40, bad_body=2)
    assert faults([clean, refused, broken, trial()]) == {"connect_failed": 3, "errors": 42}
    assert faults([trial(), trial(load={"errors": {"bad_body": 1}})]) == {}


def test_slow_answers_to_everybody_are_no_starvation() -> None:
    assert starvation([left_aside(450, 800_000_000, p50_ns=700_000_000)]) is None
    assert (
        starvation(
            [left_aside(0, None), trial(), trial(load={"window": {"unanswered": None}, "plan": {}})]
        )
        is None
    )


def test_a_block_with_steal_goes_as_a_whole_and_says_why() -> None:
    trials = [
        trial(1, covariates={"steal_ns": 10_000_000}),
        trial(2, covariates={"steal_ns": 90_000_000}),
        trial(3, covariates={"steal_ns": None}),
    ]
    dropped = dropped_blocks(trials)
    assert [one.block for one in dropped] == [2]
    assert "9% of a core" in dropped[0].reason


def test_a_trial_with_steal_is_to_be_run_again_whatever_its_figures() -> None:
    assert repeat_reason(trial(covariates={"steal_ns": 10_000_000})) is None
    assert repeat_reason(trial(covariates={"steal_ns": None})) is None
    stolen = trial(covariates={"steal_ns": 90_000_000})
    assert repeat_reason(stolen) == "the hypervisor took 9% of a core (limit 5%)"
    void = replace(stolen, validity={"void": "sent late: by 4 ms; use --cpu"})
    assert repeat_reason(void) == "not the load asked for (sent late)"
    assert repeat_reason(replace(void, covariates={})) == repeat_reason(void)


def test_three_clock_ticks_of_steal_drop_no_block_however_short_its_trials() -> None:
    """A trial of 100 ms has ten ticks: one of them is already a tenth of a core."""
    short = [
        replace(trial(block), elapsed_ns=100_000_000, covariates={"steal_ns": ticks * 10_000_000})
        for block, ticks in ((1, 1), (2, 3), (3, 4))
    ]
    assert [one.block for one in dropped_blocks(short)] == [3]


def test_steal_is_held_against_the_time_of_the_load_and_not_of_the_warm_up() -> None:
    """A tenth of a load of half a second, in a trial of twelve seconds."""
    stolen = {"steal_ns": 50_000_000, "watched_ns": 500_000_000}
    long = replace(trial(1), elapsed_ns=12_000_000_000, covariates=stolen)
    (dropped,) = dropped_blocks([long])
    assert "10% of a core" in dropped.reason
    assert (
        dropped_blocks([replace(long, covariates={**stolen, "watched_ns": 12_000_000_000})]) == ()
    )


def test_other_programs_drop_no_block_but_are_counted() -> None:
    """Of one second: a twentieth is no disturbance, more is one; a trial may not know."""
    trials = [
        trial(block, covariates={"other_programs_ns": taken})
        for block, taken in enumerate((50_000_000, 60_000_000, 770_000_000, None), 1)
    ]
    assert dropped_blocks(trials) == ()
    assert other_programs(trials) == OtherPrograms(trials=3, disturbed=2, limit=0.05, most=0.77)
    assert other_programs(trials[-1:]) is None


def test_trials_that_a_cpu_quota_limited_are_counted() -> None:
    quota = "a CPU quota of 0.5 stopped the server in 3 periods, for 1.00 s"
    kinds = ("generator_stopped_by_cpu_quota", "server_stopped_by_cpu_quota")
    trials = [
        replace(trial(1), warnings=tuple(f"{kind}: {quota}" for kind in kinds)),
        replace(trial(2), warnings=(f"{kinds[1]}: {quota}",)),
        replace(trial(3), warnings=("partial_errors: stopped_by_cpu_quota",)),
    ]
    assert quota_stops(trials) == QuotaStops(trials=3, stopped=2)
    assert quota_stops(trials[2:]) is None
    assert quota_text(quota_stops(trials)) == (
        "a CPU quota stopped server or generator in 2 of 3 trials, and counts as their limit;"
        " wirebench doctor tells the lab's"
    )


def test_three_clock_ticks_of_other_programs_are_no_disturbance() -> None:
    short = [
        replace(trial(block), covariates={"watched_ns": 100_000_000, "other_programs_ns": taken})
        for block, taken in ((1, 30_000_000), (2, 40_000_000))
    ]
    found = other_programs(short)
    assert found is not None
    assert (found.disturbed, found.most) == (1, 0.4)


def test_rates_have_a_harmonic_mean_and_costs_an_arithmetic_one() -> None:
    assert mean([40.0, 60.0], rate=True) == pytest.approx(48.0)
    assert mean([40.0, 60.0], rate=False) == pytest.approx(50.0)
    assert mean([0.0, 60.0], rate=True) == 0.0


def test_summary_skips_what_is_null_and_takes_medians_over_trials() -> None:
    found = summarise(
        [{"p99_ns": 10, "p999_ns": None}, {"p99_ns": 30}, {"p99_ns": 11, "throughput_per_s": 5.0}]
    )
    assert "p999_ns" not in found
    assert (found["p99_ns"].median, found["p99_ns"].least, found["p99_ns"].greatest) == (
        11.0,
        10.0,
        30.0,
    )
    assert found["throughput_per_s"].trials == 1
