"""Blocks, twins and the stop rule."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from wirebench.catalog.loads import (
    ClientLoad,
    ClosedLoad,
    EachLoad,
    IdleLoad,
    Load,
    Pacing,
    RampLoad,
    StormLoad,
)
from wirebench.catalog.model import Contestant
from wirebench.catalog.studies import Cell
from wirebench.catalog.study_files import load_studies
from wirebench.catalog.warmup import lacking_ns, warmup_operations
from wirebench.plan.blocks import MAX_ENVIRONMENT_BYTES, Entry, choose_twin, draw_block, entries_of
from wirebench.plan.choose import choose, plan_cell
from wirebench.plan.estimate import Pace, block_ns, trial_ns, trial_of_ns
from wirebench.plan.fit import cells_that_fit
from wirebench.plan.repeats import order_of_cells, path_filler, repeat_of
from wirebench.plan.stop import is_look, looks

NAMES = ("cpp/floor", "go/net-http", "node/http", "python/aiohttp")
ENTRIES = entries_of(NAMES, twin="node/http")


def draw(seed: int = 1, block: int = 1, cell: str = "c50") -> list[tuple[str, int, int]]:
    trials = draw_block(ENTRIES, seed=seed, study="concurrency", cell=cell, block=block)
    return [(trial.entry.name, trial.environment_bytes, trial.port_seed) for trial in trials]


def test_a_block_holds_every_entry_once_and_the_twin_under_its_own_name() -> None:
    trials = draw_block(ENTRIES, seed=3, study="concurrency", cell="c50", block=2)
    assert Counter(trial.entry.name for trial in trials) == Counter([*NAMES, "node/http~twin"])
    twin = next(trial for trial in trials if trial.entry.twin_of)
    assert twin.entry == Entry(name="node/http~twin", contestant="node/http", twin_of="node/http")
    assert [trial.position for trial in trials] == [1, 2, 3, 4, 5]
    assert len({trial.id for trial in trials}) == 5
    assert twin.id == "concurrency.c50.b02.node.http~twin"


def test_blocks_come_again_from_the_same_seed_and_differ_otherwise() -> None:
    assert draw() == draw()
    assert draw(seed=2) != draw()
    assert draw(block=2) != draw()
    assert draw(cell="c1000") != draw()


def test_every_entry_takes_every_place_and_environments_vary() -> None:
    drawn = [draw(block=block) for block in range(1, 200)]
    for place in range(5):
        share = Counter(order[place][0] for order in drawn)
        assert set(share) == {entry.name for entry in ENTRIES}
        assert max(share.values()) < 80  # of 199: about 40 each
    sizes = [size for order in drawn for _, size, _ in order]
    assert min(sizes) >= 0
    assert max(sizes) <= MAX_ENVIRONMENT_BYTES
    assert len(set(sizes)) > 500


def test_the_twin_is_never_the_floor_unless_it_is_alone() -> None:
    def twin(names: tuple[str, ...], seed: int = 0, cell: str = "c50") -> str | None:
        return choose_twin(names, floors=("cpp/floor",), seed=seed, study="concurrency", cell=cell)

    drawn = {twin(NAMES, seed) for seed in range(60)}
    assert drawn == set(NAMES) - {"cpp/floor"}
    assert twin(NAMES, 7) == twin(tuple(reversed(NAMES)), 7)
    assert twin(("cpp/floor",)) == "cpp/floor"
    assert twin(()) is None


def test_looks_are_taken_at_fixed_numbers_of_blocks() -> None:
    assert list(islice(looks(), 7)) == [6, 9, 13, 19, 28, 41, 59]
    assert [blocks for blocks in range(1, 30) if is_look(blocks)] == [6, 9, 13, 19, 28]


def test_mandatory_blocks_are_spread_over_the_repeats_and_others_go_on() -> None:
    def repeats(min_blocks: int, repeats: int, blocks: int) -> list[int]:
        return [
            repeat_of(block, min_blocks=min_blocks, repeats=repeats)
            for block in range(1, blocks + 1)
        ]

    assert repeats(6, 3, 10) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert repeats(9, 3, 10) == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4]
    assert repeats(7, 3, 9) == [1, 1, 1, 2, 2, 3, 3, 4, 4]
    assert repeats(6, 4, 9) == [1, 1, 2, 3, 3, 4, 5, 5, 6]
    assert repeats(6, 6, 8) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert repeats(6, 1, 28) == [1] * 28
    assert repeats(2, 3, 3) == [1, 2, 3], "fewer blocks than repeats"
    for blocks in range(1, 30):
        for wanted in range(1, blocks + 1):
            assert set(repeats(blocks, wanted, blocks)) == set(range(1, wanted + 1))


def test_each_repeat_has_its_own_order_of_cells_and_path() -> None:
    cells = [f"c{number}" for number in range(10)]
    orders = [order_of_cells(cells, seed=5, repeat=repeat) for repeat in range(1, 6)]
    assert orders[0] == cells, "the first repeat keeps the order of the plan"
    assert all(sorted(order) == cells for order in orders)
    assert len({tuple(order) for order in orders}) == len(orders)
    assert orders[2] == order_of_cells(cells, seed=5, repeat=3)
    assert orders[2] != order_of_cells(cells, seed=6, repeat=3)
    lengths = [path_filler(seed=5, repeat=repeat) for repeat in range(2, 12)]
    assert len(set(lengths)) > 5
    assert min(lengths) >= 1
    assert max(lengths) <= 160


def test_without_time_the_study_that_takes_most_loses_its_last_cell() -> None:
    costs = [("a", 10), ("a", 10), ("a", 10), ("b", 40), ("b", 5), ("c", 1)]
    assert cells_that_fit(costs, 76) == [0, 1, 2, 3, 4, 5]
    assert cells_that_fit(costs, 75) == [0, 1, 2, 3, 5], "b takes most"
    assert cells_that_fit(costs, 65) == [0, 1, 3, 5], "b has one cell left, so a pays"
    assert cells_that_fit(costs, 0) == [0, 3, 5], "each study keeps its first cell"
    assert cells_that_fit([], 0) == []


def cell(load: Load) -> Cell:
    return Cell(id="x", title="x", kind="closed", primary="p50_ns", workload="rest", load=load)


def test_the_estimate_follows_the_load() -> None:
    def closed(window: int) -> int:
        load = ClosedLoad(connections=50, warmup_ns=0, window_ns=window)
        return trial_ns(cell(load), language="go", hardware_threads=2)

    assert closed(3_000_000_000) - closed(1_000_000_000) == 2_000_000_000

    def of(load: EachLoad, hardware: int) -> int:
        return trial_ns(cell(load), language="go", hardware_threads=hardware)

    def delayed(threads: int | None, hardware: int) -> int:
        load = EachLoad(producers=10, messages=200, delay_ms=200, policy="new", threads=threads)
        idle = EachLoad(producers=10, messages=200, delay_ms=0, policy="new", threads=threads)
        return of(load, hardware) - of(idle, hardware)

    # N t max(1, P/C), the ideal time of the published study
    assert delayed(4, 2) == 100_000_000_000
    assert delayed(None, 28) == 40_000_000_000


def test_the_estimate_of_a_block_is_the_sum_over_its_entries() -> None:
    load = RampLoad(rounds=4, add=50, messages=20, pacing="serial")

    def block(*names: str) -> int:
        return block_ns(cell(load), map(contestant, names), hardware_threads=2)

    assert block("cpp/floor", "python/x", "python/x") == block("cpp/floor") + 2 * block("python/x")
    assert block("python/x") > block("cpp/floor")


MEASURED_RAMPS = (
    ("cpp", 100, 0.28e-6, 0.33e-6),
    ("cpp", 2, 4.3e-6, 4.4e-6),
    ("bun", 100, 0.50e-6, 0.51e-6),
    ("go", 100, 4.9e-6, 7.7e-6),
    ("go", 2, 9.3e-6, 16e-6),
    ("java", 100, 1.1e-6, 8.6e-6),
    ("java", 2, 13e-6, 36e-6),
    ("node", 100, 8.3e-6, 8.4e-6),
    ("node", 2, 11e-6, 18e-6),
    ("python", 100, 12e-6, 40e-6),
    ("python", 2, 23e-6, 56e-6),
    ("rust", 100, 0.50e-6, 6.8e-6),
    ("rust", 2, 6.8e-6, 16e-6),
)
"""Least and greatest seconds for each message, where a connection sends so many back to back:
those of a language's libraries on two cores.
"""


@pytest.mark.parametrize(("language", "messages", "least", "greatest"), MEASURED_RAMPS)
def test_a_ramp_without_history_is_estimated_by_its_messages_back_to_back(
    language: str, messages: int, least: float, greatest: float
) -> None:
    load = RampLoad(rounds=100, add=100, messages=messages, pacing="burst")
    took = trial_ns(cell(load), language=language, hardware_threads=2) / 1e9
    assert least / 2 < took / load.total_messages < 2 * greatest


def test_a_handshake_takes_longer_than_a_connection() -> None:
    load = replace(CLOSED, connections=1000)
    plain, secured = (
        trial_ns(cell(replace(load, tls=tls)), language="go", hardware_threads=2)
        for tls in (False, True)
    )
    assert secured - plain > 0.2 * SECOND


@pytest.mark.parametrize("language", ["cpp", "go", "python"])
def test_a_message_that_waits_takes_longest(language: str) -> None:
    def each(messages: int, pacing: Pacing) -> float:
        load = RampLoad(rounds=100, add=100, messages=messages, pacing=pacing)
        took = trial_ns(cell(load), language=language, hardware_threads=2)
        alone = trial_ns(
            cell(IdleLoad(connections=10_000, window_ns=0)), language=language, hardware_threads=2
        )
        return (took - alone) / load.total_messages

    assert each(100, "serial") == pytest.approx(each(2, "serial"), rel=0.01)
    assert each(2, "serial") > each(2, "burst") > each(100, "burst") > 0


SECOND = 1_000_000_000
CLOSED = ClosedLoad(connections=50, warmup_ns=SECOND, window_ns=SECOND)
RAMP = RampLoad(rounds=4, add=50, messages=20, pacing="serial")
EACH = EachLoad(producers=10, messages=100, delay_ms=0, policy="new", threads=4)
CALLS = ClientLoad(
    scheme="http", policy="reuse", payload_bytes=16, warmup=50, operations=100, typical_ns=100_000
)


def test_a_server_is_warmed_by_what_the_load_itself_does_not_do() -> None:
    slow = replace(contestant("java/x"), warmup_ns=10 * SECOND)
    assert lacking_ns(slow, CLOSED) == 9 * SECOND
    assert lacking_ns(slow, replace(CLOSED, warmup_ns=11 * SECOND)) == 0
    assert lacking_ns(slow, RAMP) == lacking_ns(slow, EACH) == 10 * SECOND
    assert lacking_ns(contestant("go/x"), RAMP) == 0
    idle = IdleLoad(connections=1000, window_ns=SECOND)
    storm = StormLoad(connections=1000, restart=True)
    assert lacking_ns(slow, idle) == lacking_ns(slow, storm) == 0, "how it starts is measured"


def test_a_client_is_warmed_by_operations_but_not_by_clients() -> None:
    slow = replace(contestant("java/x"), client_warmup_ns=SECOND)
    assert warmup_operations(slow, CALLS) == 10_000
    assert warmup_operations(slow, replace(CALLS, warmup=20_000)) == 20_000
    assert warmup_operations(slow, replace(CALLS, policy="cold")) == 50
    assert warmup_operations(contestant("go/x"), CALLS) == 50


def test_the_estimate_of_a_trial_holds_the_warm_up_of_the_runtime() -> None:
    for load in (CLOSED, RAMP, EACH, CALLS):
        plain = contestant("go/x")
        slow = replace(plain, warmup_ns=10 * SECOND, client_warmup_ns=10 * SECOND)
        one, other = (trial_of_ns(cell(load), c, hardware_threads=2) for c in (plain, slow))
        assert other - one >= 9 * SECOND, load


def test_a_preset_may_have_no_time_for_a_warm_up() -> None:
    study = load_studies(Path(__file__).resolve().parents[2] / "studies")["concurrency"]
    preset = replace(study.preset("quick"), longest_warmup_ns=SECOND)
    people = {
        one.identity: one
        for one in (
            contestant("cpp/floor", tier="floor", serves=("http.hello",)),
            replace(contestant("java/x", serves=("http.hello",)), warmup_ns=10 * SECOND),
            replace(contestant("node/x", serves=("http.hello",)), warmup_ns=SECOND),
        )
    }

    def measured(*, by_preset: bool) -> set[str]:
        cells = choose(
            [(study, preset)],
            wanted=tuple(people.values()),
            everybody=people,
            by_preset=by_preset,
        )
        return {one.identity for chosen in cells for one in chosen.contestants}

    assert measured(by_preset=True) == {"cpp/floor", "node/x"}
    assert measured(by_preset=False) == set(people), "whoever is named is measured"


def test_pace_prefers_what_was_seen() -> None:
    pace = Pace(estimated={("s.c", "a"): 1000, ("s.c", "b"): 500, ("s.d", "a"): 2000})
    assert (pace.trial("s.c", "a"), pace.trial("s.c", "b")) == (1000, 500)
    pace.add("s.c", "a", 1500)
    pace.add("s.c", "a", 2500)
    assert pace.trial("s.c", "a") == 2000
    assert (pace.trial("s.c", "b"), pace.trial("s.d", "a")) == (1000, 4000), (
        "all took twice as long as was thought"
    )


def contestant(
    identity: str,
    *,
    tier: str = "idiomatic",
    serves: tuple[str, ...] = (),
    calls: tuple[str, ...] = (),
) -> Contestant:
    language, name = identity.split("/")
    return Contestant(
        identity=identity,
        language=language,
        language_title=language,
        name=name,
        folder=Path("contestants") / identity,
        library=name,
        version="1",
        license="MIT",
        homepage="https://example.org",
        tier=tier,  # type: ignore[arg-type]
        serves=serves,  # type: ignore[arg-type]
        calls=calls,  # type: ignore[arg-type]
    )


EVERYBODY = {
    one.identity: one
    for one in (
        contestant(
            "cpp/floor",
            tier="floor",
            serves=("http.hello", "http.payload", "ws.echo"),
            calls=("http", "ws"),
        ),
        contestant("cpp/curl", calls=("http",)),
        contestant("python/aiohttp", serves=("http.hello",)),
        contestant("python/mine", serves=("http.hello", "ws.count")),
    )
}


def chosen(study: str, only: tuple[str, ...]) -> dict[str, tuple[list[str], list[str]]]:
    one = load_studies(Path(__file__).resolve().parents[2] / "studies")[study]
    wanted = [EVERYBODY[name] for name in only]
    cells = choose([(one, one.preset("quick"))], wanted=wanted, everybody=EVERYBODY)
    return {
        cell.cell.id: (
            [one.identity for one in cell.contestants],
            [one.identity for one in cell.servers],
        )
        for cell in cells
    }


def test_a_cell_has_those_who_do_its_workload_and_always_the_floor() -> None:
    everybody = tuple(EVERYBODY)
    assert chosen("concurrency", everybody)["c50"][0] == [
        "cpp/floor",
        "python/aiohttp",
        "python/mine",
    ]
    assert chosen("concurrency", ("python/mine",))["c50"][0] == ["cpp/floor", "python/mine"]


def test_a_preset_names_who_is_measured_when_the_run_names_nobody() -> None:
    study = load_studies(Path(__file__).resolve().parents[2] / "studies")["concurrency"]
    preset = replace(study.preset("quick"), contestants=("python/mine", "gone/since"))
    everybody = tuple(EVERYBODY.values())

    def members(*, by_preset: bool) -> list[str]:
        (cell, *_) = choose(
            [(study, preset)], wanted=everybody, everybody=EVERYBODY, by_preset=by_preset
        )
        return [one.identity for one in cell.contestants]

    assert members(by_preset=True) == ["cpp/floor", "python/mine"]
    assert members(by_preset=False) == ["cpp/floor", "python/aiohttp", "python/mine"]
    preset = replace(study.preset("quick"), without=("python/aiohttp", "gone/since"))
    assert members(by_preset=True) == ["cpp/floor", "python/mine"]
    assert members(by_preset=False) == ["cpp/floor", "python/aiohttp", "python/mine"]


def test_a_client_cell_has_callers_and_a_server_that_was_not_asked_for() -> None:
    cells = chosen("roundtrip", ("cpp/curl",))
    assert cells["http-reuse-16"] == (["cpp/floor", "cpp/curl"], ["cpp/floor"])


def test_only_a_server_that_speaks_tls_serves_a_cell_over_tls() -> None:
    study = load_studies(Path(__file__).resolve().parents[2] / "studies")["roundtrip"]
    everybody = {
        name: replace(
            contestant(name, tier="floor", serves=("http.payload",), calls=("http", "https")),
            tls=tls,
        )
        for name, tls in (("c/nginx", False), ("cpp/floor", True))
    }
    cells = choose(
        [(study, study.preset("tls"))], wanted=tuple(everybody.values()), everybody=everybody
    )
    servers = {cell.cell.id: [one.identity for one in cell.servers] for cell in cells}
    assert servers["http-new-1024"] == ["c/nginx", "cpp/floor"]
    assert servers["https-new-1024"] == ["cpp/floor"]


def test_only_who_speaks_tls_is_in_a_servers_cell_over_tls() -> None:
    study = load_studies(Path(__file__).resolve().parents[2] / "studies")["concurrency"]
    everybody = {**EVERYBODY, "python/mine": replace(EVERYBODY["python/mine"], tls=True)}
    cells = choose(
        [(study, study.preset("tls"))], wanted=tuple(everybody.values()), everybody=everybody
    )
    members = {cell.cell.id: [one.identity for one in cell.contestants] for cell in cells}
    assert members["c50"] == ["cpp/floor", "python/aiohttp", "python/mine"]
    assert members["tls-c50"] == ["python/mine"]


def test_the_floor_is_alone_in_a_cell_only_when_asked_for_alone() -> None:
    assert "ws-reuse-16" not in chosen("roundtrip", ("cpp/curl", "cpp/floor"))
    assert chosen("roundtrip", ("cpp/floor",))["ws-reuse-16"] == (["cpp/floor"], ["cpp/floor"])


def test_a_planned_cell_leaves_out_who_cannot_be_used() -> None:
    study = load_studies(Path(__file__).resolve().parents[2] / "studies")["concurrency"]
    (cell, *_) = choose(
        [(study, study.preset("quick"))], wanted=tuple(EVERYBODY.values()), everybody=EVERYBODY
    )
    planned = plan_cell(
        cell,
        usable={"cpp/floor", "python/mine"},
        server=None,
        seed=1,
        blocks=8,
        open_files=20_000,
    )
    assert [entry.name for entry in planned.entries] == [
        "cpp/floor",
        "python/mine",
        "python/mine~twin",
    ]
    assert (planned.floors, planned.twin) == (("cpp/floor",), "python/mine")
    assert (planned.min_blocks, planned.max_blocks) == (8, 8)
