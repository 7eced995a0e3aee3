"""What the fleet's cluster makes of answers, without Dask's processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wirebench.fleet.cluster import Cluster, Event, HostLostError
from wirebench.fleet.hosts import FleetFile, Host


class FakeFuture:
    status = "pending"
    value: Any = None

    def __init__(self, submitted: Callable[[], None]) -> None:
        self._submitted = submitted

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
        self.here = {name: f"tls://{name}" for name in names}

    def present(self) -> dict[str, str]:
        return self.here


def task() -> None:
    raise AssertionError("only its name is used")


def test_what_another_host_answers_while_one_is_asked_is_heard_afterwards() -> None:
    cluster = FakeCluster("a", "b")
    cluster.begin("a", task)
    first = cluster.client.futures[0]

    def answer() -> None:
        first.finish("of a")
        cluster.client.futures[1].finish("of b")

    cluster.client.submitted = answer
    assert cluster.call("b", task) == "of b"
    assert cluster.idle == ["b"], "host a is not free before its answer is heard"
    assert cluster.wait(timeout_s=0) == Event(host="a", result="of a")
    assert cluster.idle == ["a", "b"]


def test_a_host_that_is_lost_while_another_is_asked_is_not_the_other_one() -> None:
    cluster = FakeCluster("a", "b")
    cluster.begin("a", task)

    def lose() -> None:
        del cluster.here["a"]
        cluster.client.futures[1].finish("of b")

    cluster.client.submitted = lose
    assert cluster.call("b", task) == "of b"
    event = cluster.wait(timeout_s=0)
    assert event is not None
    assert (event.host, event.lost) == ("a", True)
    assert cluster.client.futures[0].status == "cancelled"


def test_a_host_that_is_lost_while_it_is_asked_is_an_error() -> None:
    cluster = FakeCluster("a")
    cluster.client.submitted = cluster.here.clear
    with pytest.raises(HostLostError, match="host a: it is lost"):
        cluster.call("a", task)
