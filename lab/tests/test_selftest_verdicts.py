"""``selftest --verdicts``: the worlds, whole tables judged by the product, and when it fails."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from synthetic_run import make_plan, write_run
from synthetic_trials import make_trials
from synthetic_world import World as SyntheticWorld
from wirebench.catalog.study_files import load_studies
from wirebench.cli import selftest_verdicts
from wirebench.cli.main import run_app
from wirebench.plan.blocks import FLOOR
from wirebench.report.checked import verdicts_sentence
from wirebench.selftest import verdicts_text, worlds
from wirebench.selftest.gaps import Share, smallest_gaps
from wirebench.selftest.tables import (
    BAND,
    Design,
    Found,
    Run,
    TwoRuns,
    judge_run,
    judge_two,
    simulate_run,
    spread,
)
from wirebench.selftest.verdicts import (
    MOST_BLOCKS,
    Row,
    Wanted,
    designs_of,
    empty_rows,
    power,
    simulate,
    two_tables,
)
from wirebench.selftest.worlds import STANDARD, WORLDS, Source, stored_sources
from wirebench.stats.settings import DEFAULT
from wirebench.store.rundir import read_run
from wirebench.store.verdicts import CheckedDesign, CheckedVerdicts, keep_verdicts, read_verdicts

SIX = Design(blocks=6, min_blocks=6, repeats=1, presets=("quick",))
MANY = [1] * 4000


def drawn(world: str, repeats: list[int] = MANY, source: Source = STANDARD) -> worlds.Floats:
    return WORLDS[world](np.random.default_rng(7), source, [0, 1, 2, 3], repeats)


def correlation(series: worlds.Floats) -> float:
    return float(np.mean([np.corrcoef(one[1:], one[:-1])[0, 1] for one in series]))


def test_calm_has_two_percent_between_two_entries() -> None:
    logs = drawn("calm")
    assert np.std(logs[0] - logs[1]) == pytest.approx(worlds.STANDARD_NOISE, rel=0.05)
    assert abs(correlation(logs)) < 0.03


def test_tails_lose_and_never_gain() -> None:
    logs = drawn("tails")
    assert np.mean(logs < -0.1) == pytest.approx(
        worlds.SPIKES * math.exp(-0.1 / worlds.SPIKE), rel=0.15
    )
    assert np.max(logs) < 0.1


def test_two_speeds_are_those_of_blocks_with_a_few_strays() -> None:
    slow = drawn("two speeds") < worlds.SLOW / 2
    assert np.mean(slow) == pytest.approx(0.5, abs=0.03)
    alike = np.mean(slow[0] == slow[1])
    assert alike == pytest.approx(1 - 2 * worlds.STRAYS * (1 - worlds.STRAYS), abs=0.02)


def test_correlated_blocks_have_the_correlation_and_the_variance_they_should() -> None:
    logs = drawn("correlated")
    assert correlation(logs) == pytest.approx(worlds.CORRELATION, abs=0.04)
    assert np.std(logs) == pytest.approx(worlds.STANDARD_NOISE / math.sqrt(2), rel=0.05)


def test_the_run_effect_is_kept_for_a_repeat_and_shared_by_a_twin() -> None:
    blocks = 40
    repeats = [1 + place // blocks for place in range(600 * blocks)]
    logs = WORLDS["run effect"](np.random.default_rng(1), STANDARD, [0, 1, 1], repeats)
    means = logs.reshape(3, 600, blocks).mean(axis=2)
    noise = worlds.STANDARD_NOISE / math.sqrt(2) / math.sqrt(blocks)
    assert np.std(means[0]) == pytest.approx(math.hypot(worlds.RUN_EFFECT, noise), rel=0.08)
    assert np.std(means[1] - means[2]) == pytest.approx(math.sqrt(2) * noise, rel=0.1)
    assert np.std(means[0] - means[1]) > worlds.RUN_EFFECT


def test_stored_noise_is_that_of_the_stored_trials() -> None:
    synthetic = replace(SyntheticWorld(), blocks=12, noise=0.05, block_noise=0.3)
    plan = make_plan(synthetic)
    found = {one.name: one for one in stored_sources([(plan, make_trials(synthetic, plan))])}
    assert "concurrency closed" in found
    source = found["concurrency closed"]
    assert source.sd == pytest.approx(0.05, rel=0.25), "the block's own factor is no noise"
    assert all(abs(np.median(one)) < 0.03 for one in source.residuals)
    resampled = source.noise(np.random.default_rng(3), 200, 50)
    own = np.sqrt(np.mean([np.mean(one**2) for one in source.residuals]))
    assert np.std(resampled) == pytest.approx(own, rel=0.1)
    assert len(np.unique(resampled)) == resampled.size, "no ties"


def test_few_blocks_give_no_noise() -> None:
    synthetic = replace(SyntheticWorld(), blocks=3)
    plan = make_plan(synthetic)
    assert stored_sources([(plan, make_trials(synthetic, plan))]) == ()


def test_blocks_are_spread_over_the_repeats() -> None:
    design = Design(blocks=12, min_blocks=8, repeats=3)
    assert [design.repeat(block) for block in range(1, 13)] == [1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5]
    assert {SIX.repeat(block) for block in range(1, 7)} == {1}


def test_a_table_of_far_entries_is_found_and_covered() -> None:
    random = np.random.default_rng(4)
    run = simulate_run(random, STANDARD, "calm", SIX, spread(6, 0.5))
    found, _ = judge_run(run)
    assert (found.pairs, found.differing, found.found) == (15, 9, 9)
    assert (found.false_claims, found.wrong_signs) == (0, 0)
    assert found.intervals == 15
    assert found.covered >= 10


def blocks_of(run: Run) -> dict[str, int]:
    return dict(Counter(trial.entry for trial in run.trials))


def test_entries_leave_a_simulated_table_as_the_stop_rule_lets_them() -> None:
    up_to = replace(SIX, blocks=28)
    clear = simulate_run(np.random.default_rng(4), STANDARD, "calm", up_to, spread(2, 0.5))
    assert set(blocks_of(clear).values()) == {6}, "whoever is far from the others needs no more"
    truth = np.log1p(np.array([0.0, 0.0, 0.05, 1.0]))
    noisy = Source(name="noisy", residuals=(np.linspace(-0.1, 0.1, 11),))
    mixed = blocks_of(simulate_run(np.random.default_rng(4), noisy, "calm", up_to, truth))
    assert mixed["entry/03"] < mixed["entry/01"]
    assert mixed[FLOOR] == mixed["entry/00"] == mixed["entry/00~twin"] == 28
    fixed = replace(up_to, min_blocks=28)
    same = simulate_run(np.random.default_rng(4), noisy, "calm", fixed, truth)
    assert set(blocks_of(same).values()) == {28}, "nobody leaves before the mandatory blocks"


def test_a_table_with_its_truth_turned_round_has_wrong_signs() -> None:
    run = simulate_run(np.random.default_rng(4), STANDARD, "calm", SIX, spread(6, 0.5))
    turned = replace(run, truth={name: -value for name, value in run.truth.items()})
    found, _ = judge_run(turned)
    assert (found.wrong_signs, found.found) == (9, 0)
    near = replace(run, truth=dict.fromkeys(run.truth, 0.0))
    assert judge_run(near)[0].false_claims == 9


def test_two_runs_of_different_truths_have_changes_and_reversals() -> None:
    random = np.random.default_rng(6)
    ahead, behind = spread(4, 0.5), spread(4, 0.5)[::-1].copy()
    runs = [
        simulate_run(random, STANDARD, "calm", replace(SIX, blocks=9), truth)
        for truth in (ahead, behind)
    ]
    first, second = ((run, judge_run(run)[1]) for run in runs)
    two = judge_two(first, second)
    assert two.changes == 5, "the floor and four entries"
    assert two.false_changes == 4
    assert two.reversed == 4
    same = judge_two(first, first)
    assert (same.false_changes, same.reversed) == (0, 0)


def test_a_gap_is_where_the_share_reaches_what_is_wanted() -> None:
    def at(gap: float) -> Share:
        return Share(value=min(1.0, max(0.0, (gap - 0.03) / 0.05)), error=0.01)

    lower, upper = smallest_gaps(at)
    assert lower.gap == pytest.approx(0.07, rel=0.03)
    assert upper.gap == pytest.approx(0.0775, rel=0.03)
    assert lower.gap is not None
    assert lower.high is not None
    assert lower.low < lower.gap < lower.high
    never = smallest_gaps(lambda _: Share(value=0.5, error=0.1))
    assert [gap.gap for gap in never] == [None, None]


def test_more_blocks_find_smaller_gaps() -> None:
    wanted = Wanted(designs=(), worlds=(), sources=(STANDARD,), tables=10, entries=6, seed=3)
    few = power(wanted, SIX, "calm", 0.06, tables=6).value
    many = power(wanted, replace(SIX, blocks=19), "calm", 0.06, tables=6).value
    assert many > few
    assert power(wanted, SIX, "calm", 0.03, tables=6).value <= 0.1


def test_designs_are_the_presets_of_the_studies() -> None:
    studies = load_studies(Path(__file__).parents[2] / "studies").values()
    found = designs_of(studies)
    assert {name for one in found for name in one.presets} == {
        name for study in studies for name in study.presets
    }
    assert all(6 <= one.blocks <= max(MOST_BLOCKS, one.min_blocks) for one in found)
    assert len({(one.blocks, one.min_blocks, one.repeats) for one in found}) == len(found)
    assert {name for one in designs_of(studies, ["quick"]) for name in one.presets} == {"quick"}


# --- when the limits hold -------------------------------------------------------------------------


def row(world: str, *, false: int, wrong: int = 0, of: int = 100, repeats: int = 1) -> Row:
    found = Found(
        false_claims=0, wrong_signs=0, pairs=9, covered=9, intervals=9, found=1, differing=2
    )
    rows = [replace(found, false_claims=int(place < false)) for place in range(of)]
    rows[0] = replace(rows[0], wrong_signs=wrong)
    two = TwoRuns(changes=5, false_changes=0, reversed=0)
    design = Design(blocks=9, min_blocks=9, repeats=repeats, presets=("hour",))
    return Row(design=design, world=world, found=rows, two_runs=[two])


def test_five_percent_and_two_standard_errors_hold() -> None:
    assert row("calm", false=9).holds
    assert not row("calm", false=10).holds
    assert not row("calm", false=0, wrong=1).holds


def test_one_repeat_is_not_judged_by_what_it_cannot_see() -> None:
    assert not row("run effect", false=60).judged
    assert row("run effect", false=60, repeats=3).judged
    text = verdicts_text.summary([row("calm", false=0), row("run effect", false=60)])
    assert text == "the limits hold in the 1 row that counts"


def test_good_statistics_hold_and_broken_ones_do_not() -> None:
    wanted = Wanted(
        designs=(SIX,), worlds=("calm",), sources=(STANDARD,), tables=12, entries=6, seed=2
    )
    good, broken = (empty_rows(wanted)[0] for _ in range(2))
    bad = replace(DEFAULT, min_noise=0.0, confidence=0.5)
    for number in range(6):
        good.found += two_tables(wanted, SIX, "calm", number)[0]
        broken.found += two_tables(replace(wanted, settings=bad), SIX, "calm", number)[0]
    assert good.holds
    assert good.false_tables <= 1
    assert not broken.holds
    assert broken.false_tables >= 6


@pytest.mark.long
def test_tables_are_the_same_for_the_same_seed_on_one_or_two_processes() -> None:
    wanted = Wanted(
        designs=(SIX,), worlds=("calm",), sources=(STANDARD,), tables=4, entries=3, seed=5
    )
    one, two, told = empty_rows(wanted), empty_rows(wanted), list[float]()
    simulate(wanted, one, workers=1, say=told.append)
    simulate(wanted, two, workers=2, say=lambda _: None)
    assert told[-1] == pytest.approx(1.0)
    assert told == sorted(told)
    assert (one[0].tables, one[0].gaps) == (4, two[0].gaps)
    assert sorted(one[0].found, key=repr) == sorted(two[0].found, key=repr)
    assert one[0].found[:2] == two_tables(wanted, SIX, "calm", 0)[0]


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = Path(__file__).parents[2]
    for name in ("studies", "contestants"):
        (tmp_path / name).symlink_to(root / name)
    monkeypatch.setenv("WIREBENCH_ROOT", str(tmp_path))
    return tmp_path


def command(*words: str) -> int:
    small = ["--tables", "2", "--entries", "3", "--preset", "quick"]
    return run_app(["selftest", "--verdicts", *small, *words])


@pytest.mark.long
def test_the_command_prints_stores_and_says_whose_noise_it_is(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = project / "found.json"
    assert command("--world", "calm", "--json", str(file)) == 0
    said = capsys.readouterr().out
    assert "no trials of this host are stored" in said
    assert "the limits hold in the 1 row that counts" in said
    document = json.loads(file.read_text())
    assert document["schema"] == "selftest-verdicts/1"
    assert {one["world"] for one in document["rows"]} == {"calm"}
    (stored,) = read_verdicts(project / "results").values()
    assert stored.source == "standard noise"
    assert stored.designs[0].tables == 2


def test_the_command_fails_when_the_limits_do_not_hold(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_wanted: Wanted, rows: list[Row], **_: object) -> None:
        rows[0].found += row("calm", false=50).found

    monkeypatch.setattr("wirebench.selftest.verdicts.simulate", broken)
    assert command("--world", "calm") == 1
    assert "do not hold in 1 of 1" in capsys.readouterr().out


def test_an_interrupted_command_prints_what_is_done_and_stores_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import os
    import signal

    def interrupted(_wanted: Wanted, rows: list[Row], **_: object) -> None:
        rows[0].found += row("calm", false=0, of=7).found
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("wirebench.selftest.verdicts.simulate", interrupted)
    assert command("--world", "calm") == 130
    assert " 7 " in capsys.readouterr().out
    assert not (project / "results").exists()


@pytest.mark.parametrize("words", [("--world", "flat"), ("--preset", "none")])
def test_an_unknown_name_is_wrong_usage(project: Path, words: tuple[str, str]) -> None:
    assert command(*words) == 64


def test_the_noise_is_of_this_hosts_runs_only(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_run(project / "results", replace(SyntheticWorld(), blocks=8))
    host = str(read_run(path).host["host_id"])
    assert selftest_verdicts._own_sources(project / "results", host)
    assert selftest_verdicts._own_sources(project / "results", "another") == ()


def test_a_report_prints_what_was_simulated_for_its_preset(tmp_path: Path) -> None:
    path = write_run(tmp_path, SyntheticWorld())
    run = read_run(path)
    assert run.plan is not None
    assert verdicts_sentence(run) == ""
    preset = run.plan.studies[0].preset
    design = CheckedDesign(
        presets=(preset,),
        blocks=6,
        repeats=1,
        world="calm",
        tables=60,
        false_tables=1,
        wrong_signs=0,
        counts=True,
        gap_80=0.091,
        gap_95=0.12,
    )
    unseen = replace(design, world="run effect", false_tables=40, counts=False)
    checked = CheckedVerdicts(
        host_id=str(run.host["host_id"]),
        ended_unix_ns=run.info.started_unix_ns,
        entries=12,
        source="this host's own trials",
        designs=(design, replace(design, world="tails", false_tables=2), unseen),
    )
    keep_verdicts(tmp_path, checked)
    said = verdicts_sentence(run)
    assert "in 2 of 60 at worst (world: tails); no wrong sign" in said
    assert "a gap of 9.1% is found in 80% of the pairs, of 12.0% in 95%" in said
    keep_verdicts(tmp_path, replace(checked, host_id="another"))
    assert verdicts_sentence(run) == said, "each host keeps its own"
    other = replace(checked, designs=(replace(design, presets=("none",)),))
    keep_verdicts(tmp_path, other)
    assert verdicts_sentence(run) == ""


def test_the_band_that_counts_as_false_is_the_products() -> None:
    assert DEFAULT.min_noise == BAND
