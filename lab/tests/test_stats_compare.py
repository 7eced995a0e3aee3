"""Two runs against each other: what changed is found, what did not is not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from synthetic_run import FLOOR, World, make_plan, make_trials
from wirebench.stats.compare import Change, compare, unpaired_ratio

OLD = World(studies=("concurrency",), samples=5, blocks=9)


def changes(new: World) -> dict[tuple[str, str], Change]:
    plans = make_plan(OLD), make_plan(new)
    found = compare((plans[0], make_trials(OLD, plans[0])), (plans[1], make_trials(new, plans[1])))
    return {(one.cell, one.entry): one for one in found}


def test_only_what_changed_is_called_changed_though_the_host_is_slower_today() -> None:
    everybody = (
        "cpp/floor",
        "go/net-http",
        "rust/axum",
        "rust/hyper",
        "c/libevent",
        "node/http",
        "python/aiohttp",
    )
    slower_host = dict.fromkeys(everybody, 1.3) | {
        "go/net-http": 1.3 * 1.25,
        "c/libevent": 1.3 * 0.8,
    }
    found = changes(replace(OLD, seed=99, scale=slower_host))
    assert found["c50", "go/net-http"].verdict.kind == "slower"
    assert found["c50", "c/libevent"].verdict.kind == "faster"
    assert found["c50", "rust/axum"].verdict.kind == "equivalent"
    assert found["c50", "rust/axum"].basis == "over the floor"
    assert found["c50", FLOOR].basis == "absolute"
    ratio = found["c50", "go/net-http"].ratio
    assert ratio is not None
    assert ratio.estimate == pytest.approx(0.8, rel=0.03)


def test_one_without_trials_is_named_not_guessed() -> None:
    found = changes(replace(OLD, seed=5))
    gone = found["c1000", "python/flask"]
    assert gone.ratio is None
    assert gone.missing == "no valid trial in run A and B"
    assert not any("~twin" in entry for _, entry in found)


def test_too_few_blocks_on_one_side_are_not_decided() -> None:
    one = changes(replace(OLD, seed=5, blocks=4))["c50", "go/net-http"]
    assert (one.verdict.kind, one.verdict.blocks_needed) == ("undecided", 2)
    assert one.ratio is not None
    assert one.ratio.low is None


def test_no_common_cell_no_change() -> None:
    plan, other = make_plan(OLD), make_plan(World(studies=("rest",), samples=5))
    assert compare((plan, []), (other, [])) == ()


@pytest.mark.parametrize(("first", "second"), [(6, 6), (9, 6), (13, 9)])
def test_interval_of_a_difference_covers_about_95_times_in_100(first: int, second: int) -> None:
    random = np.random.default_rng([first, second])
    hits = 0
    for _ in range(800):
        ratio = unpaired_ratio(random.normal(0.1, 0.05, first), random.normal(0, 0.05, second))
        assert ratio.low is not None
        assert ratio.high is not None
        hits += ratio.low <= math.exp(0.1) <= ratio.high
    assert 0.91 < hits / 800 < 0.99
