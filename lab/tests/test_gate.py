"""``wirebench gate``: thresholds, their verdicts, and what goes to files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from duel_world import cell_of, trials_of
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import OpenLoad
from wirebench.cli.console import write_file
from wirebench.gate.over_duel import over_duel
from wirebench.gate.text import headline, junit, markdown, measured, verdict
from wirebench.gate.thresholds import Threshold, read_thresholds, threshold
from wirebench.gate.types import Found
from wirebench.plan.model import PlannedCell
from wirebench.trial.cold import cold_warnings
from wirebench.trial.record import FailureRecord, TrialRecord

pytestmark = pytest.mark.long  # many simulate hundreds of duels


def test_thresholds_are_changes_figures_and_errors(tmp_path: Path) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(
        'p99 = ["+5%", "20ms"]\nthroughput = "-3%"\ncpu_per_request = "30us"\nmemory = "64MiB"\n'
    )
    found = read_thresholds(file)
    assert [(one.name, one.kind) for one in found] == [
        ("p99", "change"),
        ("p99", "figure"),
        ("throughput", "change"),
        ("cpu_per_request", "figure"),
        ("memory", "figure"),
        ("errors", "errors"),
    ]
    assert [one.limit for one in found] == [
        *(pytest.approx(1.05), 20_000_000, pytest.approx(0.97)),
        *(30_000, 64 * 2**20, 0),
    ]
    assert [one.upper for one in found] == [True, True, False, True, True, True]


def test_rates_are_numbers() -> None:
    for value in (20000, "20000", "20000/s"):
        assert threshold("throughput", value).limit == 20000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('p98 = "+5%"', "expected one of throughput, p50"),
        ('p99 = "-5%"', 'growth that is allowed, such as "\\+5%"'),
        ('throughput = "+3%"', 'loss that is allowed, such as "-5%"'),
        ('throughput = "-100%"', "loss that is allowed"),
        ("p99 = 20", "a time such as"),
        ('p99 = "0ms"', "more than 0"),
        ('memory = "64MB"', "a size such as"),
        ("throughput = true", "a rate such as"),
        ("errors = -1", "number of errors"),
        ('errors = "0%"', "number of errors"),
        ("", "expected a threshold"),
        ("p99 = []", "p99: expected a threshold, or several, got none"),
        ('p99 = [["+5%"]]', "a time such as"),
        ("[p99]\nlimit = 5", "a time such as"),
        ("p99 = true", "a time such as"),
        ("p99 = 2026-01-01", "a time such as"),
        ("throughput = inf", "a rate such as"),
        ("throughput = nan", "a rate such as"),
        ("errors = 0.5", "number of errors"),
        # What no float holds.
        (f'p99 = "{"9" * 400}s"', "a time such as"),
        (f'p99 = "+{"9" * 400}%"', "growth that is allowed"),
        (f'memory = "{"9" * 400}GiB"', "a size such as"),
        (f'throughput = "{"9" * 400}"', "a rate such as"),
        ("p99 = ", "expected TOML"),
        # What Python's parser itself fails at.
        pytest.param(f"errors = {'9' * 5000}", "expected TOML", id="digits"),
        pytest.param(f"p99 = {'[' * 5000}", "expected TOML", id="levels"),
    ],
)
def test_wrong_thresholds_are_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "gate.toml"
    file.write_text(text)
    with pytest.raises(CatalogError, match=says):
        read_thresholds(file)


@pytest.mark.parametrize(
    ("name", "text", "never"),
    [
        ("p99", "+0%", True),
        ("throughput", "-0%", True),
        ("p99", "+0.09%", True),
        ("p99", "+0.1%", False),
        ("throughput", "-0.1%", False),
        ("throughput", "-5.25%", False),
        ("p99", "20ms", False),
    ],
)
def test_a_change_below_all_noise_never_holds(name: str, text: str, never: bool) -> None:
    one = threshold(name, text)
    assert one.never_holds == never
    if never:
        metrics = {"p99": "p99_ns", "throughput": "throughput_per_s"}[name]
        trials = [
            replace(trial, metrics={**trial.metrics, metrics: 1000.0 + trial.block})
            for trial in trials_of(cell_of(), 20, factor=1.0, noise=0.01, seed=1)
        ]
        assert over_duel(cell_of(), trials, [one], level=0.05).state == "undecided"


def thresholds(**given: object) -> list[Threshold]:
    return [threshold(name, value) for name, value in {**given, "errors": 0}.items()]


def found_of(
    factor: float,
    *wanted: Threshold,
    blocks: int = 20,
    noise: float = 0.01,
    seed: int = 1,
    level: float = 0.05,
) -> Found:
    trials = trials_of(cell_of(), blocks, factor=factor, noise=noise, seed=seed)
    return over_duel(cell_of(), trials, wanted, level=level)


def states(found: Found) -> dict[str, str]:
    return {row.threshold.name: row.state for row in found.rows}


def test_a_change_beyond_the_threshold_is_regressed() -> None:
    found = found_of(1.10, *thresholds(cpu_per_request="+3%", throughput="-3%", memory="+1%"))
    assert states(found) == {
        "cpu_per_request": "regressed",
        "throughput": "regressed",
        "memory": "holds",
        "errors": "holds",
    }
    assert found.exit_code == 1
    assert "cpu_per_request ≤ +3%, measured +" in headline(found)


def test_a_change_within_the_threshold_holds() -> None:
    found = found_of(1.01, *thresholds(cpu_per_request="+5%", throughput="-5%"))
    assert set(states(found).values()) == {"holds"}
    assert found.exit_code == 0
    assert headline(found) == "All 3 thresholds hold."


def test_an_improvement_holds_and_is_never_a_regression() -> None:
    found = found_of(0.7, *thresholds(cpu_per_request="+3%", throughput="-3%"))
    assert found.exit_code == 0


def test_an_interval_over_the_limit_is_not_decided_and_says_what_it_takes() -> None:
    found = replace(
        found_of(1.08, *thresholds(throughput="-3%"), blocks=8, noise=0.04), block_seconds=6.0
    )
    assert states(found)["throughput"] == "undecided"
    assert found.exit_code == 2
    assert found.more_blocks is not None
    assert f"About {found.more_blocks} more block" in headline(found)
    assert "--budget" in headline(found)


def test_one_block_is_one_and_no_change_has_no_minus() -> None:
    found = found_of(1.08, *thresholds(throughput="-3%"), blocks=8, noise=0.04)
    (row,) = (one for one in found.rows if one.state == "undecided")
    one = replace(row, more_blocks=1, estimate=0.9999, low=0.9, high=1.1)
    assert verdict(one).endswith("; about 1 more block")
    assert measured(one) == "+0.0% [-10.0%, +10.0%]"
    assert headline(replace(found, rows=(one,))).startswith("Not decided: ")
    assert "About 1 more block would" in headline(replace(found, rows=(one,)))


def test_few_blocks_decide_nothing() -> None:
    found = found_of(3.0, *thresholds(throughput="-3%"), blocks=3)
    assert found.exit_code == 2
    assert found.more_blocks == 3


def test_a_cold_runtime_is_a_note() -> None:
    trials = trials_of(cell_of(), 6, factor=1.0, noise=0.01, seed=1)
    (warning,) = cold_warnings(["sh", "java", None], {"java": 10**10}, warmup_ns=10**9)
    assert list(cold_warnings(["java"], {"java": 10**10}, warmup_ns=10**10)) == []
    cold = [replace(one, warnings=(warning,)) if one.entry == "B" else one for one in trials]
    (note,) = over_duel(cell_of(), cold, thresholds(memory="+3%"), level=0.05).notes
    assert note.startswith("B was measured cold: java needs 10s of load")
    assert over_duel(cell_of(), trials, thresholds(memory="+3%"), level=0.05).notes == ()


def test_figures_have_limits_too() -> None:
    # 20 us of CPU and 50,000/s at a factor of 1.
    slow = found_of(2.0, *thresholds(throughput=40_000, cpu_per_request="100us"))
    assert states(slow) == {
        "throughput": "regressed",
        "cpu_per_request": "holds",
        "errors": "holds",
    }
    assert found_of(1.0, *thresholds(throughput=40_000)).exit_code == 0


def test_the_whole_interval_decides_and_not_its_middle() -> None:
    for factor in (0.98, 1.0, 1.02, 1.03, 1.04, 1.06, 1.1):
        for seed in range(4):
            found = found_of(factor, *thresholds(cpu_per_request="+3%"), seed=seed, noise=0.03)
            row = found.rows[0]
            assert row.low is not None
            assert row.high is not None
            if row.state == "regressed":
                assert row.low > 1.03
            elif row.state == "holds":
                assert row.high <= 1.03
            else:
                assert row.state == "undecided"


def test_a_change_of_exactly_the_threshold_is_rarely_called_either_way() -> None:
    regressed = held = 0
    for seed in range(40):
        found = found_of(1.03, *thresholds(cpu_per_request="+3%"), seed=seed, noise=0.02)
        regressed += states(found)["cpu_per_request"] == "regressed"
        held += states(found)["cpu_per_request"] == "holds"
    assert regressed <= 5  # 1 is expected of each; 6 and more have a chance below 0.1%
    assert held <= 5


def test_an_early_look_has_little_to_spend() -> None:
    wanted = thresholds(cpu_per_request="+3%")
    assert found_of(1.09, *wanted, blocks=6, noise=0.01).exit_code == 1
    assert found_of(1.09, *wanted, blocks=6, noise=0.01, level=1e-9).exit_code == 2


def test_a_generator_at_its_limit_hides_regressions() -> None:
    trials = [
        replace(one, validity={"server_cpu_share": 0.6, "generator_cpu_share": 0.99})
        for one in trials_of(cell_of(), 20, factor=1.5, noise=0.01, seed=3)
    ]
    found = over_duel(
        cell_of(), trials, thresholds(throughput="-3%", cpu_per_request="+3%"), level=0.05
    )
    assert states(found)["throughput"] == "undecided"
    assert "--rate" in found.rows[0].reason
    assert states(found)["cpu_per_request"] == "regressed"


@pytest.mark.parametrize("server", [0.6, None])
def test_more_blocks_are_not_promised_where_the_generator_is_the_limit(
    server: float | None,
) -> None:
    """Both sides got no more load than the generator had, be they ours or servers that ran already.
    Neither a pass nor a regression would be true.
    """
    for factor, noise in ((1.0, 0.001), (1.0, 0.05), (1.03, 0.05), (1.5, 0.01)):
        trials = [
            replace(one, validity={"server_cpu_share": server, "generator_cpu_share": 0.99})
            for one in trials_of(cell_of(), 12, factor=factor, noise=noise, seed=3)
        ]
        found = over_duel(cell_of(), trials, thresholds(throughput="-3%", p50="+3%"), level=0.05)
        for row in found.rows[:2]:
            assert (row.state, row.more_blocks) == ("undecided", None)
            assert "the load generator was at its limit" in row.reason
        assert "More blocks would not decide it all" in headline(found)


def test_a_bound_may_still_be_good_enough() -> None:
    """The head reached the generator's limit and the base its own; and the head alone has more than
    the limit asks for.
    """
    trials = [
        replace(one, validity={"server_cpu_share": 0.6, "generator_cpu_share": 0.99})
        if one.contestant == "B"
        else one
        for one in trials_of(cell_of(), 20, factor=0.9, noise=0.01, seed=3)
    ]
    found = over_duel(cell_of(), trials, thresholds(throughput="-3%"), level=0.05)
    assert found.exit_code == 0
    found = over_duel(cell_of(), trials, thresholds(throughput=40_000), level=0.05)
    assert found.exit_code == 0


@pytest.mark.parametrize("limit", ["+50%", "1s"])
def test_blocks_with_a_figure_of_zero_are_not_left_out(limit: str) -> None:
    trials = [
        replace(one, metrics={**one.metrics, "cpu_per_request_ns": 0})
        if one.contestant == "B" and one.block % 2
        else one
        for one in trials_of(cell_of(), 20, factor=1.0, noise=0.001, seed=3)
    ]
    found = over_duel(cell_of(), trials, thresholds(cpu_per_request=limit), level=0.05)
    assert found.exit_code == 2
    assert found.rows[0].reason == "0 in 10 of 20 blocks of B"


def test_a_noisy_twin_blurs_a_narrow_threshold() -> None:
    trials = [
        replace(one, metrics={**one.metrics, "cpu_per_request_ns": 30_000 + 10 * one.block})
        if one.twin_of is not None
        else one
        for one in trials_of(cell_of(), 20, factor=1.06, noise=0.005, seed=3)
    ]
    found = over_duel(cell_of(), trials, thresholds(cpu_per_request="+3%"), level=0.05)
    assert states(found)["cpu_per_request"] == "undecided"
    assert "measured twice" in found.rows[0].reason


def failed(trial: TrialRecord, kind: str) -> TrialRecord:
    return replace(
        trial,
        status="failed",
        failure=FailureRecord(
            kind=kind, phase="load", message="it went wrong", received="its last output: <oh> | no"
        ),
        load={"requests": {"errors": 7}},
        metrics={},
    )


def test_wrong_replies_are_errors_and_a_dead_server_is_invalid() -> None:
    trials = trials_of(cell_of(), 20, factor=1.0, noise=0.01, seed=1)
    place = next(n for n, one in enumerate(trials) if one.contestant == "B")
    other = next(n for n, one in enumerate(trials) if one.contestant == "A")

    def found(n: int, kind: str, **given: object) -> Found:
        spoilt = [failed(one, kind) if at == n else one for at, one in enumerate(trials)]
        wanted = [threshold("throughput", "-50%"), threshold("errors", given.get("errors", 0))]
        return over_duel(cell_of(), spoilt, wanted, level=0.05)

    wrong = found(place, "wrong_reply")
    assert wrong.exit_code == 1
    assert wrong.rows[-1].head == 7
    assert found(place, "wrong_reply", errors=7).exit_code == 0
    dead = found(place, "crashed")
    assert dead.exit_code == 3
    assert "its last output: <oh> | no" in headline(dead)
    assert found(other, "wrong_reply").exit_code == 3
    assert found(place, "not_listening").exit_code == 3


def at_a_rate(
    slow: Mapping[str, int], *, blocks: int = 20
) -> tuple[PlannedCell, list[TrialRecord]]:
    """An open loop. ``slow``: the block up to which a side could not keep up with it."""
    cell = cell_of()
    load = OpenLoad(
        connections=50,
        rate_per_s=50_000.0,
        share=None,
        of=None,
        arrivals="constant",
        warmup_ns=1,
        window_ns=1,
    )
    cell = replace(cell, cell=replace(cell.cell, load=load))
    return cell, [
        replace(
            one,
            metrics={
                name: value
                for name, value in {**one.metrics, "offered_per_s": 50_000.0}.items()
                if one.block > slow.get(one.entry, 0) or name != "cpu_per_request_ns"
            },
            validity={**one.validity, "kept_up": one.block > slow.get(one.entry, 0)},
        )
        for one in trials_of(cell, blocks, factor=1.5, noise=0.01, seed=3)
    ]


def test_a_head_that_cannot_keep_up_has_no_cost_and_is_regressed() -> None:
    """By its latency, and by each figure that it then has not: the base does what is asked."""
    cell, trials = at_a_rate({"B": 20})
    found = over_duel(cell, trials, thresholds(throughput="-3%", cpu_per_request="+3%"), level=0.05)
    assert states(found)["throughput"] == "regressed"
    assert states(found)["cpu_per_request"] == "regressed"
    assert "could not keep up" in found.rows[1].reason
    alone = over_duel(cell, trials, thresholds(cpu_per_request="+3%"), level=0.05)
    assert alone.exit_code == 1
    assert headline(alone).startswith("Regressed: cpu_per_request ≤ +3%: could not keep up")


@pytest.mark.parametrize(
    ("slow", "blocks"), [({"A": 20, "B": 20}, 20), ({"A": 9, "B": 20}, 20), ({"B": 2}, 2)]
)
def test_at_a_rate_that_is_too_much_for_both_nothing_is_decided(
    slow: Mapping[str, int], blocks: int
) -> None:
    """Nor where the base may only have had more luck, and in few blocks."""
    cell, trials = at_a_rate(slow, blocks=blocks)
    level = 1e-5 if slow == {"A": 9, "B": 20} else 0.05
    found = over_duel(cell, trials, thresholds(cpu_per_request="+3%"), level=level)
    assert states(found)["cpu_per_request"] in ("undecided", "invalid")
    assert found.exit_code != 1


def test_blocks_are_promised_only_where_they_would_decide_every_row() -> None:
    found = found_of(1.08, *thresholds(throughput="-3%"), blocks=8, noise=0.04)
    assert found.more_blocks is not None
    timed = replace(found, block_seconds=2.0)
    assert "try --budget " in headline(timed)
    wanted = found.blocks + found.more_blocks
    assert headline(replace(timed, exactly=True)).endswith(f": try --blocks {wanted}.")
    never = replace(found.rows[0], more_blocks=None)
    assert replace(found, rows=(*found.rows, never)).more_blocks is None


def test_a_metric_without_figures_is_invalid() -> None:
    found = found_of(1.0, *thresholds(ready="1s"))
    assert found.exit_code == 3
    assert "no figures" in headline(found)


def test_files_hold_whatever_a_server_said(tmp_path: Path) -> None:
    found = replace(
        found_of(1.1, *thresholds(cpu_per_request="+3%", memory="+1%", ready="1s")),
        invalid=("B: died\x00\n<script>alert(1)</script> | \ud800",),
    )
    text = markdown(found)
    assert "<script" not in text
    assert text.startswith("**Invalid measurement: B: died")
    assert write_file(tmp_path / "gate.md", text)
    assert "| \\ud800; ready" in (tmp_path / "gate.md").read_text()
    suite = ElementTree.fromstring(junit(found, seconds=1.5).encode()).find("testsuite")
    assert suite is not None
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5",
        "failures": "1",
        "errors": "2",
        "skipped": "0",
    }
