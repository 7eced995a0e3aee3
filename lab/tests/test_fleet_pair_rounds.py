"""A run by pairs of hosts, without Dask and without processes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from developer import simulated_fleet as simulated
from test_fleet_apart import FAR, PAIR
from test_fleet_load import floor
from wirebench.catalog.model import Contestant
from wirebench.fleet import worker
from wirebench.fleet.bench import FleetBench
from wirebench.fleet.bundles import Packed
from wirebench.fleet.cluster import Event, HostError
from wirebench.fleet.link import FLOOR
from wirebench.fleet.orders import ORDER, TRIAL, BlockOrder, OrderError
from wirebench.fleet.session import FleetRun, described
from wirebench.plan.stop import Standstill


class PairsInProcess:
    """Hosts that answer what a pair's would; the trials are on those of the servers."""

    def __init__(self, *names: str) -> None:
        self.here = {name: f"tls://{name}" for name in names}
        self.asked: list[tuple[str, str]] = []
        self.orders: list[BlockOrder] = []
        self.on_disk: dict[str, list[str]] = {name: [] for name in names}
        self.change: Callable[[str, str], Event | None] = lambda _host, _task: None
        """What happens instead of an answer."""
        self._trials = simulated.Trials()
        self._events: list[Event] = []

    def present(self) -> Mapping[str, str]:
        return dict(self.here)

    @property
    def idle(self) -> Sequence[str]:
        busy = {event.host for event in self._events}
        return [name for name in self.here if name not in busy]

    def begin(self, host: str, task: Callable[..., Any], *arguments: Any) -> None:
        self.asked.append((host, task.__name__))
        event = self.change(host, task.__name__)
        result = self._answer(host, task, arguments)
        self._events.append(event or Event(host=host, result=result))

    def _answer(self, host: str, task: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        if task is worker.has:
            return list(arguments[0])
        if task is worker.reflect:
            return 4242
        if task is worker.measure_link:
            assert arguments[:2] == ("127.0.0.1", 4242)
            return FLOOR.dump_json(floor()).decode()
        if task is worker.serve_block:
            order = ORDER.validate_json(arguments[0])
            self.orders.append(order)
            self.on_disk[host] += [
                TRIAL.dump_json(self._trials.of(trial, host=order.host)).decode()
                for trial in order.cell.block(order.block, seed=order.seed)
                if trial.id in order.trials
            ]
            return 4243
        if task is worker.attend_block:
            assert arguments[1] == 4243
        if task is worker.finish_block:
            wanted = set(arguments[1])
            return [one for one in self.on_disk[host] if json.loads(one)["trial"] in wanted]
        if task is worker.collect:
            return list(self.on_disk[host])
        return None

    def wait(self, *, timeout_s: float) -> Event | None:
        return self._events.pop(0) if self._events else None


class Paired(FleetBench):
    """Whose builds are empty."""

    def packed(self, name: str, contestant: Contestant | None = None) -> Packed:
        return Packed(files={}, content=b"")

    def build_path(self, contestant: Contestant) -> str:
        return "build"


@pytest.fixture
def hosts() -> PairsInProcess:
    return PairsInProcess("alpha", "beta", "gamma", "delta", "spare")


@pytest.fixture
def run(tmp_path: Path, hosts: PairsInProcess) -> Iterator[FleetRun]:
    """Of two cells with four blocks each, by two pairs."""
    said = {name: simulated.describe(name) for name in hosts.here}
    made = Paired(root=tmp_path, jobs=1, fleet_id="1", hosts=said, pairs={"near": PAIR, "far": FAR})
    session = simulated.session_of(tmp_path / "results", made, simulated.CONTESTANTS)
    yield FleetRun(
        session=session,
        plan=simulated.plan_of(cells=2, blocks=4),
        bench=made,
        hosts=hosts,
        look=lambda *_: Standstill(),
        say=lambda _: None,
        patience_s=0,
    )
    session.directory.close()


ALL = {"concurrency.c0": 4, "concurrency.c1": 4}


def test_each_block_is_of_one_pair_and_the_link_is_measured_first(
    run: FleetRun, hosts: PairsInProcess
) -> None:
    said: list[str] = []
    run.say = said.append
    assert run.measure().blocks == ALL
    assert {one.host for one in run.session.trials} == {"near", "far"}
    assert all(order.pair in (PAIR, FAR) for order in hosts.orders)
    of_beta = [task for host, task in hosts.asked if host == "beta"]
    assert of_beta[:3] == ["has", "measure_link", "attend_block"]
    of_alpha = [task for host, task in hosts.asked if host == "alpha"]
    first = ["has", "collect", "reflect", "stop_reflecting", "serve_block", "finish_block"]
    assert of_alpha[:6] == first
    assert {task for host, task in hosts.asked if host == "spare"} == {"tidy"}
    assert any(one.startswith("near: servers on alpha (127.0.0.1)") for one in said)
    assert [len(run.bench.host()["pairs"][name]["floors"]) for name in ("near", "far")] == [1, 1]


@pytest.mark.parametrize("victim", ["alpha", "beta"])
def test_when_a_host_of_a_pair_is_lost_its_block_goes_elsewhere_unless_it_is_finished(
    run: FleetRun, hosts: PairsInProcess, victim: str
) -> None:
    said: list[str] = []
    run.say = said.append
    task = "finish_block" if victim == "alpha" else "attend_block"

    def lose(host: str, asked: str) -> Event | None:
        if (host, asked) == (victim, task):
            del hosts.here[victim]
            return Event(host=host, lost=True, error="its worker is gone")
        return None

    hosts.change = lose
    assert run.measure().blocks == ALL
    (line,) = [one for one in said if "lost" in one]
    known = f"pair near is lost: host {victim}: its worker is gone"
    of_near = [one.trial for one in run.session.trials if one.host == "near"]
    if victim == "alpha":  # which has what was finished
        assert (line, of_near) == (f"{known}; its block goes elsewhere", [])
    else:
        assert line == known
        assert len(set(of_near)) == len(of_near) == len(hosts.on_disk["alpha"])


def test_a_pair_that_comes_back_brings_what_it_has_measured(
    run: FleetRun, hosts: PairsInProcess
) -> None:
    once = iter((True,))

    def lose(host: str, asked: str) -> Event | None:
        if (host, asked) == ("beta", "attend_block") and next(once, False):
            hosts.here["beta"] += "/again"
            return Event(host=host, lost=True, error="its worker is gone")
        return None

    hosts.change = lose
    assert run.measure().blocks == ALL
    trials = run.session.trials
    assert len({one.trial for one in trials}) == len(trials)
    of_near = sum(1 for one in trials if one.host == "near")
    assert of_near == len(hosts.on_disk["alpha"]), "all that it ever finished, once"
    assert len(run.bench.host()["pairs"]["near"]["floors"]) == 2


def test_a_pair_that_refuses_gets_no_more_blocks_and_says_why(
    run: FleetRun, hosts: PairsInProcess
) -> None:
    said: list[str] = []
    run.say = said.append

    def refuse(host: str, asked: str) -> Event | None:
        if (host, asked) == ("beta", "measure_link"):
            return Event(host=host, error="host beta: 127.0.0.1: port 4242: expected the other")
        return None

    hosts.change = refuse
    assert run.measure().blocks == ALL
    (line,) = [one for one in said if "no more blocks" in one]
    assert line.startswith("pair near gets no more blocks: host beta: 127.0.0.1: port 4242")


@pytest.mark.parametrize(("task", "answer"), [("has", 5), ("collect", None), ("finish_block", [5])])
def test_what_a_host_answers_ends_no_more_than_its_own_part(
    run: FleetRun, hosts: PairsInProcess, task: str, answer: Any
) -> None:
    said: list[str] = []
    run.say = said.append

    def lie(host: str, asked: str) -> Event | None:
        return Event(host=host, result=answer) if (host, asked) == ("alpha", task) else None

    hosts.change = lie
    assert run.measure().blocks == ALL
    (line,) = [one for one in said if "no more blocks" in one]
    assert line.startswith("pair near gets no more blocks: the ")
    assert "expected a list of texts" in line
    assert {one.host for one in run.session.trials} == {"far"}


def test_a_host_says_what_a_run_must_know_of_it() -> None:
    right = simulated.describe("a")
    assert described(json.dumps(right), host="a") == right
    for wrong in (None, "soon", "[]", "{}", json.dumps({**right, "cores": "many"})):
        with pytest.raises(HostError, match=r"^host a: "):
            described(wrong, host="a")


def test_an_order_of_a_pair_is_for_its_own_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Side:
        name = "beta"

    monkeypatch.setattr(worker, "_side", Side)
    order = BlockOrder(
        run="r",
        attempt="a",
        host="near",
        pair=PAIR,
        seed=1,
        cell=simulated.plan_of(cells=1, blocks=1).cells[0],
        block=1,
        trials=(),
        hardware_threads=2,
        bundles={},
        builds={},
    )
    text = ORDER.dump_json(order).decode()
    assert ORDER.validate_json(text) == order
    for task in (worker.measure, worker.serve_block):
        with pytest.raises(OrderError, match="host beta: expected an order for it, got one"):
            task(text)
