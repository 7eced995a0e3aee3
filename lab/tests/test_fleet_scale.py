"""A thousand hosts, simulated without Dask: each gets a block, and every histogram is kept once.
And what measures a fleet's cost (``developer.fleet_scale``), with few hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from developer import simulated_fleet as simulated
from developer.fleet_scale import (
    Count,
    FleetCost,
    fleet_rows,
    measure_fleet,
    measure_merging,
    measure_reading,
    rounds_ns,
)
from test_fleet_rounds import World
from test_run_measure import plan
from wirebench.catalog.loads import OpenLoad
from wirebench.fleet import worker
from wirebench.fleet.clocks import Clock
from wirebench.fleet.cluster import Event
from wirebench.fleet.orders import ORDER, TRIAL, BlockOrder, read_trial
from wirebench.fleet.place import HostPlace
from wirebench.fleet.session import FleetRun
from wirebench.plan.stop import Standstill
from wirebench.report.histograms import merge
from wirebench.trial.record import TrialRecord

HOSTS = 1000
SAMPLES = 20


def samples_of(trial: str) -> range:
    """Latencies in ns, other ones for each trial."""
    first = 1_000_000 + sum(trial.encode()) * 1000
    return range(first, first + SAMPLES * 10_000, 10_000)


def line_of(record: TrialRecord) -> str:
    """What a host writes of the trial, with a histogram of its own."""
    histogram = HdrHistogram(1, 60_000_000_000, 3)
    for value in samples_of(record.trial):
        histogram.record_value(value)
    return TRIAL.dump_json(replace(record, histogram=histogram.encode().decode())).decode()


def test_a_thousand_hosts_are_given_blocks_and_their_histograms_merge_without_loss() -> None:
    two = plan()
    half = tuple(replace(one, min_blocks=HOSTS // 2, max_blocks=HOSTS // 2) for one in two.cells)
    world = World(plan=replace(two, cells=half))
    rounds = world.rounds()
    given = [rounds.next(f"h{number}") for number in range(HOSTS)]
    for handed in given:
        assert handed is not None
        lines = [line_of(record) for record in world.run(handed)]
        rounds.take(read_trial(line, host=handed.host) for line in [*lines, *lines])
        rounds.ended(handed)
    assert rounds.measured.blocks == {cell.key: HOSTS // 2 for cell in half}
    assert not rounds.wanting
    world.check()
    assert len({one.host for one in world.kept}) == HOSTS
    merged = merge(one.histogram for one in world.kept if one.histogram is not None)
    assert merged is not None
    assert merged.get_total_count() == SAMPLES * (HOSTS // 2) * (3 + 4)
    direct = HdrHistogram(1, 60_000_000_000, 3)
    for record in world.kept:
        for value in samples_of(record.trial):
            direct.record_value(value)
    for percentile in (50, 90, 99, 99.9, 100):
        expected = direct.get_value_at_percentile(percentile)
        assert merged.get_value_at_percentile(percentile) == expected


# --- a run, without Dask and without processes ----------------------------------------------------


class HostsInProcess:
    """Hosts whose tasks run here, at once."""

    def __init__(self, names: Sequence[str], folder: Path, patch: pytest.MonkeyPatch) -> None:
        side = simulated.simulated_side(simulated.Trials())
        self.sides = {name: side(name, HostPlace(folder=folder / name)) for name in names}
        self.answered: list[tuple[str, Any]] = []
        self.orders: list[BlockOrder] = []
        self.change: Callable[[str, str, Any], Any] = lambda _task, _host, answer: answer
        """What becomes of an answer."""
        self._patch = patch
        self._events: list[Event] = []

    def present(self) -> Mapping[str, str]:
        return {name: f"tls://{name}" for name in self.sides}

    @property
    def idle(self) -> Sequence[str]:
        busy = {event.host for event in self._events}
        return [name for name in self.sides if name not in busy]

    def begin(self, host: str, task: Callable[..., Any], *arguments: Any) -> None:
        self._patch.setattr(worker, "_side", lambda: self.sides[host])
        if task is worker.measure:
            self.orders.append(ORDER.validate_json(arguments[0]))
        result = self.change(task.__name__, host, task(*arguments))
        self.answered.append((task.__name__, result))
        self._events.append(Event(host=host, result=result))

    def wait(self, *, timeout_s: float) -> Event | None:
        return self._events.pop(0) if self._events else None


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostsInProcess:
    names = [simulated.name_of(number) for number in range(8)]
    return HostsInProcess(names, tmp_path / "hosts", monkeypatch)


@pytest.fixture
def run(tmp_path: Path, hosts: HostsInProcess) -> Iterator[FleetRun]:
    """Of two cells with twelve blocks each."""
    said = {name: simulated.describe(name) for name in hosts.sides}
    bench = simulated.bench_of(tmp_path, said, 1000)
    session = simulated.session_of(tmp_path / "results", bench, simulated.CONTESTANTS)
    yield FleetRun(
        session=session,
        plan=simulated.plan_of(cells=2, blocks=12),
        bench=bench,
        hosts=hosts,
        look=lambda *_: Standstill(),
        say=lambda _: None,
        patience_s=1,
    )
    session.directory.close()


ALL = {"concurrency.c0": 12, "concurrency.c1": 12}


def test_each_trial_is_sent_once_and_the_hosts_are_written_once(
    run: FleetRun, hosts: HostsInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[object] = []
    monkeypatch.setattr(run.session.directory, "write_host", written.append)
    assert run.measure().blocks == ALL
    trials = 24 * simulated.ENTRIES
    assert len(run.session.trials) == len({one.trial for one in run.session.trials}) == trials
    sent = [line for task, lines in hosts.answered if task == "measure" for line in lines]
    assert len(sent) == trials
    assert len(written) == 1


def test_hosts_are_welcomed_side_by_side(run: FleetRun, hosts: HostsInProcess) -> None:
    run.measure()
    tasks = [task for task, _ in hosts.answered]
    assert tasks[:8] == ["has"] * 8, "nobody waits until another has its builds"
    assert tasks[-8:] == ["tidy"] * 8


def test_a_share_is_of_what_the_host_itself_does(run: FleetRun, hosts: HostsInProcess) -> None:
    closed, other = run.plan.cells
    load = OpenLoad(
        connections=50,
        arrivals="constant",
        rate_per_s=None,
        share=0.5,
        of=closed.cell.id,
        warmup_ns=1,
        window_ns=10**9,
    )
    shares = replace(other, cell=replace(other.cell, kind="open", load=load))
    run.plan = replace(run.plan, cells=(closed, shares))
    run.measure()
    measured: set[str] = set()
    for order in hosts.orders:
        if order.cell.key == closed.key:
            assert order.capacities == {}
            measured.add(order.host)
        elif order.host in measured:
            everybody = dict.fromkeys(simulated.CONTESTANTS, simulated.speed_of(order.host))
            assert order.capacities == everybody
    assert len(measured) > 1


def test_a_host_whose_lines_are_no_trials_gets_no_more_blocks(
    run: FleetRun, hosts: HostsInProcess
) -> None:
    said: list[str] = []
    run.say = said.append

    def spoil(task: str, host: str, answer: Any) -> Any:
        return ["{}"] if (task, host) == ("measure", "h0003") else answer

    hosts.change = spoil
    assert run.measure().blocks == ALL
    (line,) = (one for one in said if "no more blocks" in one)
    assert line.startswith("host h0003 gets no more blocks: a trial of h0003: ")
    assert "h0003" not in {one.host for one in run.session.trials}


# --- what measures the cost -----------------------------------------------------------------------


def test_blocks_late_in_a_run_cost_no_more_than_the_first() -> None:
    """Counted, not timed: the states of all blocks are not looked through for each."""
    looked = 0

    class Counted(dict[Any, Any]):
        def items(self) -> Any:
            nonlocal looked
            looked += 1
            return super().items()

    world = World(plan=simulated.plan_of(cells=3, blocks=20))
    rounds = world.rounds()
    rounds._blocks = Counted(rounds._blocks)
    for number in range(60):
        handed = rounds.next(f"h{number}")
        assert handed is not None
        rounds.take(world.run(handed))
        rounds.ended(handed)
    assert looked == 0
    assert min(rounds_ns(4, blocks=2, cells=2)) >= 0


def test_merging_is_checked_bucket_by_bucket() -> None:
    found = measure_merging(5, kinds=3)
    assert found.lossless
    assert found.count == 5 * simulated.SAMPLES


def test_a_trial_is_read_as_it_was_sent_and_weighed() -> None:
    found = measure_reading(3)
    assert found.line_bytes > simulated.LOAD_BYTES
    assert found.kept_bytes > simulated.LOAD_BYTES


def test_a_table_has_a_column_for_each_fleet() -> None:
    cost = FleetCost(
        hosts=10,
        describing=Count(messages=10),
        bundles=Count(),
        welcome=Count(),
        block=Count(messages=120, cpu_ns=5 * 10**7),
        idle=Count(elapsed_ns=10**9),
        clocks=[Clock(offset_ns=-1000, round_trip_ns=4000)],
        before_bytes=0,
        joined_bytes=0,
        after_bytes=0,
        host_bytes=0,
    )
    rows = {name: figures for name, *figures in fleet_rows([cost, cost])}
    assert rows["a trial: messages"] == ["2"] * 2
    assert rows["a block of 6 trials: ms of CPU"] == ["5"] * 2
    assert rows["clocks: largest error of the offset, us"] == ["1"] * 2


@pytest.mark.long
@pytest.mark.fleet
def test_a_simulated_fleet_is_measured_over_its_own_scheduler(tmp_path: Path) -> None:
    (tmp_path / "hosts").mkdir()
    cost = measure_fleet(3, tmp_path, tmp_path / "hosts", per_process=2, idle_s=0.1)
    assert cost.block.messages > 0
    assert cost.bundles.nbytes > 3 * 50_000
    assert len(cost.clocks) == 3
    # All on one machine: their clocks are one.
    assert all(abs(one.offset_ns) <= one.uncertainty_ns for one in cost.clocks)
