"""Open-loop cells in a run: capacities, shares of them, void windows, cells on all cores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fake_bench import EVERYBODY, FakeBench, PowerCutError, Quiet, all_settled, selection, session
from test_open_loop import OVER, PINNED, SECOND, STUDIES
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import OpenLoad
from wirebench.cli.announce import scope_notes
from wirebench.plan.blocks import entries_of
from wirebench.plan.model import Plan, PlannedCell
from wirebench.report.memory import heading
from wirebench.run.bench import threads_of
from wirebench.run.scope import scope_of
from wirebench.run.session import Session
from wirebench.stats import analyse, capacity
from wirebench.stats.cell import CellData
from wirebench.stats.settings import DEFAULT
from wirebench.store.rundir import StoredRun, read_run
from wirebench.trial.record import TrialRecord
from wirebench.trial.types import TrialSpec

RATES = {"cpp/floor": 100.0, "go/net-http": 40.0, "node/http": 20.0, "python/mine": 10.0}


class Rated(FakeBench):
    """Closed cells run at each contestant's own speed."""

    def run_trial(self, spec: TrialSpec) -> TrialRecord:
        record = super().run_trial(spec)
        rate = RATES[spec.contestant.identity]
        if isinstance(spec.load, OpenLoad):
            assert spec.load.rate_per_s is not None
            rate = spec.load.rate_per_s
        return replace(record, metrics={"throughput_per_s": rate})


def carry_out(one: Session, *, dropping: tuple[int, ...] = ()) -> StoredRun:
    """As the command does, with the blocks of c50 in ``dropping`` dropped."""
    try:
        plan = one.prepare()
        cells = {cell.key: cell for cell in plan.cells}
        one.measure(
            plan,
            look=all_settled,
            dropped=lambda block: block[0].cell == "c50" and block[0].block in dropping,
            capacity=lambda key, name: capacity(one.trials, cells[key], name),
            watcher=Quiet(),
        )
    finally:
        one.directory.close()
    return read_run(one.directory.path)


HALVES = selection(preset="load", cells=("load-50",))


def rates_of(bench: FakeBench) -> dict[str, set[float | None]]:
    found: dict[str, set[float | None]] = {}
    for spec in bench.ran:
        if isinstance(spec.load, OpenLoad):
            found.setdefault(spec.contestant.identity, set()).add(spec.load.rate_per_s)
    return found


def test_every_contestant_has_a_share_of_its_own_capacity_from_the_first_block(
    tmp_path: Path,
) -> None:
    bench = Rated()
    run = carry_out(session(tmp_path, bench, HALVES))
    assert rates_of(bench) == {name: {rate / 2} for name, rate in RATES.items()}
    load = [trial for trial in run.trials if trial.cell == "load-50"]
    assert {trial.status for trial in load} == {"ok"}
    assert {trial.block for trial in load} == {1, 2, 3, 4, 5, 6}


def test_arrivals_differ_from_block_to_block_and_are_the_same_within_one(tmp_path: Path) -> None:
    bench = Rated()
    carry_out(session(tmp_path, bench, HALVES))
    seeds: dict[tuple[str, int], set[int]] = {}
    for spec in bench.ran:
        seeds.setdefault((spec.cell, spec.block), set()).add(spec.load_seed)
    assert {len(one) for one in seeds.values()} == {1}
    assert len(set.union(*seeds.values())) == len(seeds) == 2 * 6
    assert {spec.seed for spec in bench.ran} == {HALVES.seed}
    again = Rated()
    carry_out(session(tmp_path / "again", again, HALVES))
    assert [spec.load_seed for spec in again.ran] == [spec.load_seed for spec in bench.ran]


def test_a_resumed_run_knows_the_capacities_of_its_first_part(tmp_path: Path) -> None:
    first = Rated(cut_after=7)
    one = session(tmp_path, first, HALVES)
    with pytest.raises(PowerCutError):
        carry_out(one)
    left = read_run(one.directory.path)
    second = Rated()
    run = carry_out(session(tmp_path, second, left.info.selection, before=left))
    assert {name for name, rates in rates_of(second).items() if rates == {RATES[name] / 2}} == set(
        RATES
    )
    assert len(run.trials) == 60


def test_without_a_capacity_a_trial_is_not_run_and_says_why(tmp_path: Path) -> None:
    bench = Rated(crashing={"node/http"})
    run = carry_out(session(tmp_path, bench, HALVES))
    gone = [one for one in run.trials if (one.cell, one.contestant) == ("load-50", "node/http")]
    assert {one.status for one in gone} == {"not_run"}
    first = gone[0].failure
    assert first is not None
    assert first.kind == "capacity_unknown"
    assert "a share of what node/http does in c50" in first.message
    assert "node/http" not in rates_of(bench)
    assert run.plan is not None
    cell = next(one for one in analyse(run.trials, run.plan).cells if one.cell == "load-50")
    entry = cell.entry("node/http")
    assert entry is not None
    assert entry.unranked is not None
    assert "a share of what node/http does in c50" in entry.unranked


def test_a_dropped_first_block_does_not_cost_the_load_cells_a_block(tmp_path: Path) -> None:
    bench = Rated()
    run = carry_out(session(tmp_path, bench, HALVES), dropping=(1,))
    load = [trial for trial in run.trials if trial.cell == "load-50"]
    assert {trial.status for trial in load} == {"ok"}


def planned() -> PlannedCell:
    cell = next(one for one in STUDIES["concurrency"].preset("load").cells if one.id == "c50")
    return PlannedCell(
        study="concurrency",
        role="server",
        cell=cell,
        entries=entries_of(["cpp/floor", "go/net-http"], twin="go/net-http"),
        floors=("cpp/floor",),
        twin="go/net-http",
        server=None,
        min_blocks=6,
        max_blocks=6,
        precision=0.02,
    )


def trial(
    block: int, rate: float, *, entry: str = "go/net-http", cell: str = "c50", **changes: Any
) -> TrialRecord:
    return replace(
        TrialRecord(
            trial=f"{cell}.{block}.{entry}",
            study="concurrency",
            cell=cell,
            block=block,
            position=1,
            entry=entry,
            contestant=entry.removesuffix("~twin"),
            twin_of=None,
            status="ok",
            failure=None,
            started_unix_ns=1,
            elapsed_ns=1,
            metrics={"throughput_per_s": rate},
        ),
        **changes,
    )


def test_the_capacity_is_the_median_of_what_is_valid() -> None:
    trials = [
        trial(1, 10.0),
        trial(2, 30.0, entry="go/net-http~twin"),
        trial(3, 20.0),
        trial(3, 900.0, entry="cpp/floor"),
        trial(3, 900.0, cell="c1000"),
        trial(4, 900.0, status="failed"),
        trial(5, 900.0, validity={"little_ratio": 0.5}),
        trial(6, 900.0, covariates={"steal_ns": SECOND}),
    ]
    assert capacity(trials, planned(), "go/net-http") == 20.0
    assert capacity(trials, planned(), "rust/axum") is None
    assert capacity(trials[-1:], planned(), "go/net-http") == 900.0, "better than no load at all"
    assert capacity([trial(1, 0.0)], planned(), "go/net-http") is None


def open_cell(load: OpenLoad, *, primary: str) -> PlannedCell:
    cell = replace(planned().cell, id="x", kind="open", primary=primary, load=load)
    return replace(planned(), cell=cell)


def loaded(block: int, **changes: Any) -> TrialRecord:
    given = {"throughput_per_s": 60.0, "offered_per_s": 100.0, "p99_ns": 5, **changes}
    validity = {"kept_up": given.pop("kept_up", True), "void": given.pop("void", None)}
    return trial(block, 1.0, cell="x", metrics=given, validity=validity)


def test_a_void_window_is_no_valid_trial() -> None:
    data = CellData.of(
        open_cell(PINNED, primary="p99_ns"), [loaded(1), loaded(2, void="sent late")], DEFAULT
    )
    assert list(data.valid["go/net-http"]) == [1]


def why(trials: list[TrialRecord], load: OpenLoad = PINNED, primary: str = "p99_ns") -> str | None:
    plan_cell = open_cell(load, primary=primary)
    plan = Plan(
        seed=1,
        studies=(),
        cells=(plan_cell,),
        budget_ns=None,
        estimate_ns=1,
        builds={},
        order=(),
    )
    entry = analyse(trials, plan).cells[0].entry("go/net-http")
    assert entry is not None
    return entry.unranked


def test_why_there_is_no_rank_says_what_happened() -> None:
    blocks = range(1, 7)
    assert why([loaded(block, void="sent late: by 4 ms; use --cpu") for block in blocks]) == (
        "every trial is void: not the load asked for (sent late)"
    )
    slow = [loaded(block, kept_up=False) for block in blocks]
    assert why(slow) == "could not keep up: answered 60/s of 100/s"
    assert why(slow, OVER, "throughput_per_s") is None
    assert why([loaded(block, p99_ns=None) for block in blocks]) == (
        "too few requests in a window for this percentile, which needs ten beyond it"
    )
    once = [loaded(block, kept_up=block != 3) for block in blocks]
    assert why(once) is None, "what it took in one block of six stands among the others"


def test_a_server_on_all_cores_leaves_one_to_the_generator() -> None:
    cells = {cell.id: cell for cell in STUDIES["concurrency"].preset("full").cells}
    assert threads_of(cells["all-c50"], hardware_threads=8) == 7
    assert threads_of(cells["c50"], hardware_threads=8) == 1
    assert threads_of(cells["load-50"], hardware_threads=8) == 1


ALL = selection(preset="full", cells=("c50", "all-c50", "all-c1000"))


def test_trials_on_all_cores_are_told_their_threads(tmp_path: Path) -> None:
    bench = Rated(hardware_threads=4)
    run = carry_out(session(tmp_path, bench, ALL))
    assert run.plan is not None
    tables = analyse(run.trials, run.plan).memory
    assert [(table.cells, table.all_cores) for table in tables] == [
        (("c50",), False),
        (("all-c50", "all-c1000"), True),
    ]
    assert heading(tables[1]).endswith("50 and 1,000 connections, all cores")
    threads = {(spec.cell, spec.threads) for spec in bench.ran}
    assert threads == {("c50", 1), ("all-c50", 3), ("all-c1000", 3)}
    assert {trial.cell for trial in run.trials} == {"c50", "all-c50", "all-c1000"}


def test_where_all_cores_are_one_the_cells_are_left_out_and_it_is_said_once() -> None:
    scope = scope_of(
        ALL,
        studies=STUDIES,
        wanted=list(EVERYBODY.values()),
        everybody=EVERYBODY,
        bench=FakeBench(hardware_threads=2),
    )
    assert [cell.cell.id for cell in scope.cells] == ["c50"]
    said = [note for note in scope_notes(scope) if "all-c50" in note]
    assert said == [
        "not run: concurrency all-c50, concurrency all-c1000: all cores but the generator's are"
        " fewer than two here (2 in all)"
    ]
    with pytest.raises(CatalogError, match="not run: concurrency all-c50"):
        scope_of(
            replace(ALL, cells=("all-c50",)),
            studies=STUDIES,
            wanted=list(EVERYBODY.values()),
            everybody=EVERYBODY,
            bench=FakeBench(hardware_threads=2),
        )
