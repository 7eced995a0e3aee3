"""Noise band, verdicts, Holm's correction and ranks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from duel_world import cell_of, trials_of
from table_worlds import table_p_values
from wirebench.stats.cell import CellData
from wirebench.stats.comparisons import Comparisons
from wirebench.stats.ranks import places
from wirebench.stats.settings import DEFAULT
from wirebench.stats.standings import pairs_of
from wirebench.stats.verdict import holm, judge, log_edges, more_blocks


def spread(
    centre: float, deviation: float, blocks: int = 6
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Log-ratios with exactly this median, and no trend."""
    order = np.random.default_rng(2).permutation(blocks)
    return math.log(centre) + deviation * np.linspace(-1, 1, blocks)[order]


@pytest.mark.parametrize(
    ("centre", "deviation", "higher", "kind"),
    [
        (1.2, 0.01, True, "faster"),
        (1.2, 0.01, False, "slower"),
        (0.8, 0.01, True, "slower"),
        (0.8, 0.01, False, "faster"),
        (1.0, 0.01, True, "equivalent"),
        (1.03, 0.01, True, "undecided"),
        (1.2, 0.30, True, "undecided"),
    ],
)
def test_verdicts(centre: float, deviation: float, higher: bool, kind: str) -> None:
    verdict = judge(spread(centre, deviation), d=0.03, higher_is_better=higher)
    assert verdict.kind == kind
    assert (verdict.reason is not None) == (kind == "undecided")


def test_too_few_blocks_are_not_decided_and_say_how_many_are_missing() -> None:
    verdict = judge(spread(5.0, 0.001, blocks=4), d=0.03, higher_is_better=True)
    assert (verdict.kind, verdict.blocks_needed) == ("undecided", 2)


def test_among_many_pairs_a_clear_interval_is_not_enough() -> None:
    verdict = judge(spread(1.2, 0.01), d=0.03, higher_is_better=True, adjusted_p=0.2, pairs=40)
    assert verdict.kind == "undecided"
    assert verdict.reason is not None
    assert "40 comparisons" in verdict.reason


def test_more_blocks_grow_with_noise_and_are_not_suggested_without_end() -> None:
    near, far = spread(1.10, 0.10, blocks=13), spread(1.3, 0.25, blocks=9)
    few, many = more_blocks(far, d=0.03, pairs=3), more_blocks(near, d=0.03, pairs=3)
    assert few is not None
    assert many is not None
    assert 1 <= few < many
    assert more_blocks(spread(1.0301, 0.1), d=0.03, pairs=1) is None


def suggested(truth: float, noise: float, blocks: int) -> tuple[int, int, int]:
    """Of pairs whose true log-ratio is ``truth``: those that are undecided, those of them of which
    a number is named, and those that it decides.
    """
    random = np.random.default_rng([17, round(1000 * truth), round(1000 * noise), blocks])
    undecided = named = decided = 0
    for _ in range(250):
        logs = random.normal(truth, noise, blocks)
        verdict = judge(logs, d=0.03, higher_is_better=True)
        if verdict.kind == "undecided":
            undecided += 1
            if verdict.blocks_needed is not None:
                named += 1
                longer = np.concatenate([logs, random.normal(truth, noise, verdict.blocks_needed)])
                decided += judge(longer, d=0.03, higher_is_better=True).kind != "undecided"
    return undecided, named, decided


def test_suggested_blocks_decide_in_four_of_five_cases() -> None:
    """Pairs that are equal, near the edge of the band and beyond it, in little and much noise."""
    worlds = [
        (truth, noise, blocks)
        for truth in (0.0, 0.05, 0.10)
        for noise in (0.02, 0.06, 0.10)
        for blocks in (6, 9, 13)
    ]
    undecided, named, decided = np.array([suggested(*one) for one in worlds]).sum(axis=0)
    assert named > 0.1 * undecided
    assert decided >= DEFAULT.promised_share * named


def test_no_number_is_named_for_pairs_that_may_be_equal_in_too_much_noise() -> None:
    """To show within 3% that they are equal would take hundreds of blocks."""
    undecided, named, _ = suggested(0.0, 0.15, 9)
    assert undecided > 240
    assert named < 0.04 * undecided
    assert more_blocks(spread(1.0, 0.3), d=0.03, pairs=1) is None
    shown_equal = more_blocks(spread(1.0, 0.05, blocks=13), d=0.03, pairs=1)
    assert shown_equal is not None


def test_a_band_is_as_wide_from_either_side() -> None:
    """2.6 times as fast is beyond a band of 150%, and so is the other way round; 2.4 is not."""
    for centre, above, below in (
        (2.6, "faster", "slower"),
        (2.4, "equivalent", "equivalent"),
    ):
        logs = spread(centre, 0.01)
        assert judge(logs, d=1.5, higher_is_better=True).kind == above
        assert judge(-logs, d=1.5, higher_is_better=True).kind == below
        p, mirrored = table_p_values([logs, -logs], [log_edges(1.5)] * 2, entries=3)
        assert p == pytest.approx(mirrored)
        assert (p < 0.05) == (above == "faster")


def test_holm_known_answer() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_twins_are_called_equivalent_and_seldom_different() -> None:
    """1% noise is well inside the band: nearly all equivalent. 10% noise: too few blocks, seldom a
    false alarm.
    """
    random = np.random.default_rng(11)
    calm = [
        judge(random.normal(0, 0.01, 9), d=0.03, higher_is_better=True).kind for _ in range(300)
    ]
    assert calm.count("equivalent") > 280
    assert calm.count("faster") == calm.count("slower") == 0
    wild = [
        judge(random.normal(0, 0.10, 6), d=0.03, higher_is_better=True).kind for _ in range(300)
    ]
    assert wild.count("faster") + wild.count("slower") <= 9


def test_a_table_of_equals_seldom_has_a_winner() -> None:
    """Eight equal entries, 28 pairs, 5% noise: in at most 5% of the tables is any pair called
    different.
    """
    random = np.random.default_rng(23)
    wrong = 0
    for _ in range(60):
        speeds = random.normal(0, 0.05, (8, 9))
        logs = [speeds[a] - speeds[b] for a in range(8) for b in range(a)]
        adjusted = holm(table_p_values(logs, [log_edges(0.03)] * len(logs), entries=8))
        kinds = {
            judge(one, d=0.03, higher_is_better=True, adjusted_p=p).kind
            for one, p in zip(logs, adjusted, strict=True)
        }
        wrong += bool(kinds & {"faster", "slower"})
    assert wrong <= 3


@pytest.mark.parametrize("metric", ["throughput_per_s", "cpu_per_request_ns"])
@pytest.mark.parametrize("names", [("A", "B"), ("B", "A")])
def test_both_directions_of_a_pair_say_the_same_in_any_order(
    metric: str, names: tuple[str, str]
) -> None:
    """1.36 is beyond a band of 30%; its inverse, 0.74, is not below 0.7."""
    trials = trials_of(cell_of(), 12, factor=1.36, noise=0.003, seed=1)
    compared = Comparisons(CellData.of(cell_of(), trials, DEFAULT), metric)
    found = pairs_of(compared, names, metric, 0.3, (), DEFAULT)
    assert [(one.a, one.b) for one in found] == [names, names[::-1]]
    assert {one.a: one.verdict.kind for one in found} == {"A": "faster", "B": "slower"}


def test_clear_ranks() -> None:
    found = places(["a", "b", "c"], {"a": frozenset("bc"), "b": frozenset("c")})
    assert [
        (one.rank_low, one.rank_high, one.group, one.mark, one.tied) for one in found.values()
    ] == [
        (1, 1, 1, "best", False),
        (2, 2, 2, "middle", False),
        (3, 3, 3, "worst", False),
    ]


def test_one_that_cannot_be_told_from_either_end_is_grey() -> None:
    found = places(["a", "b", "c"], {"a": frozenset("c")})
    assert [found[name].mark for name in "abc"] == ["best", "tie", "worst"]
    assert [(found[name].rank_low, found[name].rank_high) for name in "abc"] == [
        (1, 2),
        (1, 3),
        (2, 3),
    ]
    assert [found[name].group for name in "abc"] == [1, 1, 2]


def test_nothing_can_be_told_apart() -> None:
    found = places(["a", "b", "c"], {})
    assert {one.mark for one in found.values()} == {"tie"}
    assert {(one.rank_low, one.rank_high, one.group) for one in found.values()} == {(1, 3, 1)}


def test_a_lone_entry_wins_nothing() -> None:
    alone = places(["a"], {})["a"]
    assert (alone.rank_low, alone.rank_high, alone.mark, alone.tied) == (1, 1, "tie", False)


def test_who_beats_one_that_beats_a_third_is_better_than_it() -> None:
    """The two may share too few blocks to show it themselves."""
    found = places(["a", "b", "c"], {"a": frozenset("b"), "b": frozenset("c")})
    assert [(one.rank_low, one.rank_high) for one in found.values()] == [(1, 1), (2, 2), (3, 3)]
    assert found["c"].beaten_by == frozenset("ab")


def test_a_circle_of_claims_puts_nobody_ahead() -> None:
    circle = {"a": frozenset("b"), "b": frozenset("c"), "c": frozenset("ad")}
    found = places(["a", "b", "c", "d"], circle)
    assert {(one.rank_low, one.rank_high, one.mark) for one in found.values()} == {
        (1, 3, "best"),
        (4, 4, "worst"),
    }
    assert found["d"].beaten_by == frozenset("abc")


def test_a_tie_group_begins_with_one_that_nobody_in_it_beats() -> None:
    """Estimates are over the floor, verdicts over each other, so that the two may differ."""
    found = places(["a", "b"], {"b": frozenset("a")})
    assert {name: one.group for name, one in found.items()} == {"a": 2, "b": 1}
