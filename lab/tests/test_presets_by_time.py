"""The presets by time hold what they name, with every contestant of the catalog installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fake_bench import FakeBench
from wirebench.catalog import load_catalog
from wirebench.catalog.loads import on_all_cores
from wirebench.catalog.model import Contestant
from wirebench.catalog.study_files import load_studies
from wirebench.catalog.units import parse_duration
from wirebench.run.scope import Scope, scope_of
from wirebench.store.records import Selection

ROOT = Path(__file__).resolve().parents[2]
STUDIES = load_studies(ROOT / "studies")
CATALOG = {
    name: one for name, one in load_catalog(ROOT).contestants.items() if one.disabled is None
}
BY_TIME = {"hour": "1h", "evening": "4h", "published": "6h"}
SHORTER = {("rest", "published"): "2.5h", ("rest", "kept"): "2.5h", ("rest", "link"): "2h"}
"""Presets of single studies that take less time than others of their name, or have no others."""
ALL = tuple(STUDIES)


def scope(
    *studies: str, preset: str, contestants: dict[str, Contestant] = CATALOG, **changes: object
) -> Scope:
    return scope_of(
        replace(Selection(studies=studies, preset=preset, seed=1), **changes),  # type: ignore[arg-type]
        studies=STUDIES,
        wanted=list(contestants.values()),
        everybody=contestants,
        bench=FakeBench(),
    )


def test_every_study_has_the_same_five() -> None:
    for study in STUDIES.values():
        assert {"quick", *BY_TIME, "full"} <= set(study.presets)
        assert study.preset("quick").repeats == 1
        for name in (*BY_TIME, "full"):
            assert study.preset(name).repeats == 3
        assert study.preset("full").budget_ns is None, "whatever it takes"
    for name, time in BY_TIME.items():
        (budget,) = {
            study.preset(name).budget_ns
            for study in STUDIES.values()
            if (study.name, name) not in SHORTER
        }
        assert budget is not None
        assert 0.9 * parse_duration(time) < budget < parse_duration(time), "building comes on top"


@pytest.mark.parametrize("preset", BY_TIME)
@pytest.mark.parametrize("studies", [*((name,) for name in ALL), ALL])
def test_mandatory_blocks_fit_the_time(preset: str, studies: tuple[str, ...]) -> None:
    found = scope(*studies, preset=preset)
    assert found.measuring_ns <= 0.9 * parse_duration(BY_TIME[preset])
    assert all(cell.planned.min_blocks >= 6 for cell in found.forecasts)
    assert {cell.planned.study for cell in found.forecasts} == set(studies)
    if studies != ALL:
        assert found.untimely == (), "a study alone has room for all its cells"
    elif preset == "published":
        assert set(found.untimely) <= {"websocket.echo-burst-r100-q2"}, "no article has that one"


@pytest.mark.parametrize(("study", "preset"), SHORTER)
def test_a_preset_that_is_shorter_holds_its_time_too(study: str, preset: str) -> None:
    time = parse_duration(SHORTER[study, preset])
    found = scope(study, preset=preset)
    assert found.budget_ns is not None
    assert 0.9 * time < found.budget_ns < time
    assert found.measuring_ns <= 0.9 * time
    assert found.untimely == ()


def test_the_published_cells_are_those_of_the_articles() -> None:
    cells = {
        name: [cell.id for cell in study.preset("published").cells]
        for name, study in STUDIES.items()
    }
    assert set(cells["concurrency"]) == {
        "rate-1000",
        *(f"c{rung}" for rung in (50, 1000, 2000, 3000, 4000, 5000, 10000, 15000)),
    }
    assert set(cells["rest"]) == {
        f"{place}new-{handlers}-{load}"
        for handlers in ("c28", "c4")
        for place, first in (("", "n1000-t0"), ("wan-", "n25-t0"))
        for load in (first, "n5-t200", "n25-t200")
    }
    assert len(cells["rest"]) == 12
    assert cells["websocket"] == [
        "burst-r100-q2", "echo-rate-1000", "echo-burst-r100-q2", "echo-all-100",
    ]  # fmt: skip
    assert {cell.rpartition("-")[0] for cell in cells["roundtrip"]} == {
        "http-reuse", "https-reuse", "http-cold", "https-cold", "http-new", "ws-reuse", "wss-reuse",
    }  # fmt: skip


def test_twice_as_many_contestants_cost_cells_and_not_blocks() -> None:
    more = CATALOG | {
        f"{name}-too": replace(one, identity=f"{name}-too", name=f"{one.name}-too")
        for name, one in CATALOG.items()
        if one.tier != "floor"
    }
    for preset, time in BY_TIME.items():
        few, many = (scope(*ALL, preset=preset, contestants=who) for who in (CATALOG, more))
        assert len(many.cells) < len(few.cells)
        assert {cell.planned.min_blocks for cell in many.forecasts} == {
            cell.planned.min_blocks for cell in few.forecasts
        }
        assert {cell.planned.study for cell in many.forecasts} == set(ALL)
        assert many.measuring_ns <= parse_duration(time)
        assert set(many.untimely) == {
            f"{study.name}.{cell.id}"
            for study in STUDIES.values()
            for cell in study.preset(preset).cells
            if not on_all_cores(cell.load)  # which two cores cannot have
        } - {cell.key for cell in many.cells}


def test_a_budget_takes_the_place_of_the_presets_time_and_most_blocks() -> None:
    found = scope("concurrency", preset="hour", budget_ns=parse_duration("10m"))
    assert found.budget_ns == parse_duration("10m")
    assert found.untimely
    assert {cell.planned.max_blocks for cell in found.forecasts} == {200}
    fixed = scope("concurrency", preset="hour", budget_ns=parse_duration("10m"), blocks=6)
    assert {cell.planned.max_blocks for cell in fixed.forecasts} == {6}


def test_repeats_of_the_command_line_replace_those_of_the_preset() -> None:
    assert {cell.planned.repeats for cell in scope("rest", preset="hour").forecasts} == {3}
    assert {cell.planned.repeats for cell in scope("rest", preset="hour", repeats=1).forecasts} == {
        1
    }
    quick, moved = (scope("rest", preset="quick", repeats=one) for one in (None, 3))
    assert moved.measuring_ns > quick.measuring_ns, "copies of builds take time"


def test_a_resumed_run_keeps_the_cells_of_its_plan() -> None:
    cut = scope(*ALL, preset="hour")
    assert cut.untimely
    planned = [cell.key for cell in cut.cells][1:]
    selection = Selection(studies=ALL, preset="hour", seed=1)
    again = scope_of(
        selection,
        studies=STUDIES,
        wanted=list(CATALOG.values()),
        everybody=CATALOG,
        bench=FakeBench(),
        planned=planned,
    )
    assert [cell.key for cell in again.cells] == planned
