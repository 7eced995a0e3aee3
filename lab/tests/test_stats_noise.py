"""The noise band: what twins differ by beyond their own sampling error."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from synthetic_run import make_plan
from synthetic_trials import make_trials
from synthetic_world import ROOT, World
from wirebench.catalog.study_files import load_studies
from wirebench.stats import analyse
from wirebench.stats.noise import earlier_twins, noise_band, noise_kind, usable_presets
from wirebench.stats.settings import DEFAULT
from wirebench.stats.types import TwinNoise, TwinRecord


def twin(ratio: float, error: float = 0.005, degrees: float = 20) -> TwinNoise:
    return TwinNoise(log_ratio=math.log(ratio), standard_error=error, degrees=degrees)


def test_band_is_three_percent_without_twins_and_with_quiet_ones() -> None:
    none = noise_band([])
    assert (none.d, none.twins) == (DEFAULT.min_noise, 0)
    quiet = noise_band([twin(1.01)] * 30)
    assert (quiet.d, quiet.twins) == (DEFAULT.min_noise, 30)


def test_a_difference_that_sampling_error_explains_does_not_widen_the_band() -> None:
    """The twin of a cell of 30 ms: 12% apart, with an error of 7%."""
    assert noise_band([twin(1.12, error=0.07, degrees=3)]).d == DEFAULT.min_noise
    assert noise_band([twin(1.12, error=0.005)]).d == pytest.approx(0.12)


def test_sampling_error_is_counted_once() -> None:
    """Twins that truly differ by 4%, measured with an error of 6%: the band is that of the 4%."""
    random = np.random.default_rng(4)
    found = [
        noise_band(
            [
                twin(math.exp(random.normal(0, math.hypot(0.04, 0.06))), error=0.06)
                for _ in range(400)
            ]
        ).d
        for _ in range(20)
    ]
    assert np.mean(found) == pytest.approx(math.expm1(1.96 * 0.04), rel=0.1)


@pytest.mark.parametrize("twins", [1, 3, 9, 40])
def test_few_twins_of_few_blocks_seldom_widen_the_band(twins: int) -> None:
    """Twins without any excess, each with an error of 4% that is itself estimated from six
    blocks.
    """
    random = np.random.default_rng(twins)
    wider = 0
    for _ in range(300):
        errors = 0.04 * np.sqrt(random.chisquare(5, twins) / 5)
        logs = random.normal(0, 0.04, twins)
        band = noise_band(
            [
                TwinNoise(log_ratio=float(log), standard_error=float(error), degrees=5)
                for log, error in zip(logs, errors, strict=True)
            ]
        )
        wider += band.d > DEFAULT.min_noise
    assert wider / 300 < 0.09


def test_band_is_no_wider_than_the_widest_of_few_twins() -> None:
    band = noise_band([twin(one) for one in (1.0, 0.92, 1.05)])
    assert DEFAULT.min_noise < band.d <= math.expm1(-math.log(0.92))


def test_one_wild_twin_among_many_is_left_out() -> None:
    random = np.random.default_rng(7)
    calm = [twin(math.exp(one)) for one in random.normal(0, 0.03, 99)]
    without = noise_band(calm).d
    assert noise_band([*calm, twin(3.0)]).d == pytest.approx(without, rel=0.1)
    assert without == pytest.approx(math.expm1(1.96 * 0.03), rel=0.2)


def test_shorter_presets_are_not_used_and_a_stranger_stands_alone() -> None:
    assert usable_presets("hour") == {"hour", "evening", "published", "full"}
    assert usable_presets("full") == {"full"}
    assert usable_presets("mine") == {"mine"}


def test_only_twins_of_the_same_study_kind_and_metric_are_used() -> None:
    def record(study: str, kind: str, metric: str, preset: str) -> TwinRecord:
        return TwinRecord(
            run="r",
            started_unix_ns=1,
            host_id="h",
            study=study,
            cell="c",
            contestant="x",
            ratio=1.0,
            blocks=6,
            false_alarm=False,
            kind=kind,
            preset=preset,
            noise={metric: twin(1.0)},
        )

    own = record("rest", "each", "makespan_ns", "hour")
    others = [
        record("websocket", "each", "makespan_ns", "hour"),
        record("rest", "closed", "makespan_ns", "hour"),
        record("rest", "each", "p99_ns", "hour"),
        record("rest", "each", "makespan_ns", "quick"),
    ]
    found = earlier_twins(
        [own, *others], study="rest", kind="each", metric="makespan_ns", presets={"hour", "full"}
    )
    assert found == [own.noise["makespan_ns"]]


def test_cells_share_their_noise_with_cells_of_their_like_only() -> None:
    kinds = {
        f"{study.name}.{cell.id}": noise_kind(cell)
        for study in load_studies(ROOT / "studies").values()
        for preset in study.presets.values()
        for cell in preset.cells
    }
    expected = {
        "concurrency.c50": "closed",
        "concurrency.c1000": "closed",
        "concurrency.tls-c50": "closed-tls",
        "concurrency.all-c50": "closed-all",
        "concurrency.rate-1000": "open-rate",
        "concurrency.load-10": "open-share-10",
        "concurrency.load-90": "open-share-90",
        "concurrency.over-120": "open-over",
        "concurrency.over-200": "open-over",
        "websocket.serial": "ramp",
    }
    assert {name: kinds[name] for name in expected} == expected


def test_a_noisy_twin_at_high_load_leaves_the_band_at_low_load_alone() -> None:
    world = World(studies=("concurrency",), preset="load", samples=5)
    plan = make_plan(world)
    trials = [
        replace(one, metrics={**one.metrics, "p99_ns": float(one.metrics["p99_ns"] or 0) * 1.5})
        if one.twin_of is not None and one.cell == "load-90"
        else one
        for one in make_trials(world, plan)
    ]
    bands = {
        cell.cell: band.d
        for cell in analyse(trials, plan).cells
        if (band := cell.bands.get("p99_ns")) is not None
    }
    assert bands["load-90"] > 0.4
    assert bands["load-10"] == bands["rate-1000"] == 0.03
