"""What the fleet's cluster makes of answers, without Dask's processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wirebench.fleet.cluster import Cluster, Event, HostLostError, Presence
from wirebench.fleet.hosts import FleetFile, Host


class FakeFuture:
    status = "pending"
    value: Any = None

    def __init__(self, submitted: Callable[[], None]) -> None:
        self._submitted = submitted
        self.key = str(id(self))

    def add_done_callback(self, call: Callable[[FakeFuture], None]) -> None:
        self._call = call
        self._submitted()

    def finish(self, value: Any) -> None:
        self.status, self.value = "finished", value
        self._call(self)

    def done(self) -> bool:
        return self.status != "pending"

    def result(self) -> Any:
        return self.value

    def cancel(self) -> None:
        self.status = "cancelled"


class FakeClient:
    """What is submitted stays open; ``submitted`` may end it."""

    def __init__(self) -> None:
        self.futures: list[FakeFuture] = []
        self.submitted: Callable[[], None] = lambda: None

    def submit(self, *_arguments: Any, **_options: Any) -> FakeFuture:
        self.futures.append(FakeFuture(lambda: self.submitted()))
        return self.futures[-1]


class FakeCluster(Cluster):
    def __init__(self, *names: str) -> None:
        hosts = {name: Host(name=name, ssh=None, command="wirebench") for name in names}
        super().__init__(
            FleetFile(
                path=Path("fleet.toml"),
                listen="127.0.0.1",
                port=8786,
                lost_after_s=60,
                certificates=Path("certificates"),
                hosts=hosts,
            )
        )
        self.client = FakeClient()
        client: Any = self.client
        self._client = client
        self.presence.here = {name: f"tls://{name}" for name in names}

    def lose(self, name: str) -> None:
        scheduler: Any = None
        self.presence.remove_worker(scheduler, f"tls://{name}", stimulus_id="")


def task() -> None:
    raise AssertionError("only its name is used")


class FakeScheduler:
    """With workers by their addresses."""

    def __init__(self, **names: str) -> None:
        self.workers = {address: SimpleNamespace(name=name) for address, name in names.items()}


def test_hosts_of_the_fleet_are_here_while_their_workers_are() -> None:
    left: list[str] = []
    presence = Presence({"alpha", "beta"}, left.append)
    scheduler: Any = FakeScheduler(one="alpha", two="stranger")
    presence.look_round(scheduler)
    assert presence.here == {"alpha": "one"}
    assert presence.strangers == {"stranger"}
    scheduler = FakeScheduler(three="beta")
    presence.add_worker(scheduler, "three")
    presence.remove_worker(scheduler, "one", stimulus_id="x")
    assert presence.here == {"beta": "three"}
    assert left == ["one"]


def test_a_worker_that_takes_the_place_of_another_stays_when_that_is_removed() -> None:
    presence = Presence({"alpha"}, lambda _: None)
    scheduler: Any = FakeScheduler(one="alpha", two="alpha")
    presence.look_round(scheduler)
    presence.remove_worker(scheduler, "one", stimulus_id="x")
    assert presence.here == {"alpha": "two"}


def test_a_host_is_idle_when_its_answer_was_heard() -> None:
    cluster = FakeCluster("a", "b")
    cluster.begin("a", task)
    cluster.begin("b", task)
    cluster.client.futures[1].finish("of b")
    cluster.client.futures[0].finish("of a")
    assert cluster.idle == []
    assert cluster.wait(timeout_s=0) == Event(host="b", result="of b")
    assert cluster.idle == ["b"], "host a is not free before its answer is heard"
    assert cluster.wait(timeout_s=0) == Event(host="a", result="of a")
    assert cluster.idle == ["a", "b"]


def test_the_task_of_a_lost_host_is_cancelled() -> None:
    cluster = FakeCluster("a", "b")
    cluster.begin("a", task)
    cluster.begin("b", task)
    cluster.lose("a")
    cluster.client.futures[1].finish("of b")
    event = cluster.wait(timeout_s=0)
    assert event is not None
    assert (event.host, event.lost) == ("a", True)
    assert cluster.client.futures[0].status == "cancelled"
    assert cluster.wait(timeout_s=0) == Event(host="b", result="of b")


def test_a_host_that_is_lost_cannot_be_asked() -> None:
    cluster = FakeCluster("a")
    cluster.lose("a")
    with pytest.raises(HostLostError, match="host a: expected its worker"):
        cluster.begin("a", task)
    with pytest.raises(HostLostError, match="host a: expected its worker"):
        cluster.ask("a", task)
