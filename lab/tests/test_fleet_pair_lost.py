"""Pairs whose hosts lose each other while their workers stay, without Dask and by a clock of the
test's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from developer import simulated_fleet as simulated
from test_fleet_apart import FAR, PAIR
from test_fleet_pair_rounds import ALL, Paired, PairsInProcess
from wirebench.fleet.cluster import Event
from wirebench.fleet.session import FleetRun
from wirebench.plan.stop import Standstill
from wirebench.run.session import RunStopped

S = 1_000_000_000
UNREACHED = "the other host is gone: timed out"


class Timed(PairsInProcess):
    """Whose clock goes on while nothing happens."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.now_ns = 0
        self.said: list[str] = []
        self.silent: set[tuple[str, str]] = set()
        """Hosts and tasks that are never answered."""
        self.stuck: set[str] = set()

    @property
    def idle(self) -> Sequence[str]:
        return [host for host in super().idle if host not in self.stuck]

    def begin(self, host: str, task: Callable[..., Any], *arguments: Any) -> None:
        if (host, task.__name__) in self.silent:
            self.asked.append((host, task.__name__))
            self.stuck.add(host)
        else:
            super().begin(host, task, *arguments)

    def wait(self, *, timeout_s: float) -> Event | None:
        event = super().wait(timeout_s=timeout_s)
        if event is None:
            self.now_ns += round(timeout_s * S)
        return event

    def lose(self, host: str, task: str, *, times: int) -> None:
        """The other host of its pair is not reached, so many times."""
        left = iter(range(times))

        def happens(asked: str, what: str) -> Event | None:
            if (asked, what) == (host, task) and next(left, None) is not None:
                return Event(host=host, lost=True, error=f"host {host}: {UNREACHED}")
            return None

        self.change = happens


@pytest.fixture
def hosts() -> Timed:
    return Timed("alpha", "beta", "gamma", "delta")


@pytest.fixture
def run_of(tmp_path: Path, hosts: Timed) -> Iterator[Callable[..., FleetRun]]:
    """A run of two cells with four blocks each, by these pairs."""
    runs: list[FleetRun] = []

    def make(*pairs: str, patience_s: float = 60) -> FleetRun:
        said = {name: simulated.describe(name) for name in hosts.here}
        known = {"near": PAIR, "far": FAR}
        wanted = {name: known[name] for name in pairs}
        bench = Paired(root=tmp_path, jobs=1, fleet_id="1", hosts=said, pairs=wanted)
        session = simulated.session_of(tmp_path / "results", bench, simulated.CONTESTANTS)
        runs.append(
            FleetRun(
                session=session,
                plan=simulated.plan_of(cells=2, blocks=4),
                bench=bench,
                hosts=hosts,
                look=lambda *_: Standstill(),
                say=hosts.said.append,
                patience_s=patience_s,
                clock_ns=lambda: hosts.now_ns,
            )
        )
        return runs[-1]

    yield make
    for one in runs:
        one.session.directory.close()


def test_a_pair_that_lost_its_link_in_a_block_is_tried_again_and_finishes_it(
    run_of: Callable[..., FleetRun], hosts: Timed
) -> None:
    run = run_of("near")
    hosts.lose("beta", "attend_block", times=1)
    assert run.measure().blocks == ALL
    (line,) = [one for one in hosts.said if "lost" in one]
    assert line == f"pair near is lost: host beta: {UNREACHED}; it is tried again in 10 s", (
        "the block was whole on the disk of alpha, which was asked for it"
    )
    trials = [one.trial for one in run.session.trials]
    assert len(set(trials)) == len(trials) == len(hosts.on_disk["alpha"])
    assert len(run.bench.host()["pairs"]["near"]["floors"]) == 2
    assert hosts.now_ns >= 10 * S


def test_a_link_that_stays_down_is_tried_less_and_less_and_then_the_run_stops(
    run_of: Callable[..., FleetRun], hosts: Timed
) -> None:
    run = run_of("near", patience_s=100)
    hosts.lose("beta", "measure_link", times=1000)
    with pytest.raises(RunStopped) as caught:
        run.measure()
    assert str(caught.value).startswith(
        "no pair of the fleet is left after 100 s of waiting (near: host beta: the other host is"
    )
    pauses = [line.rpartition("again in ")[2] for line in hosts.said if "lost" in line]
    assert pauses == ["10 s", "20 s", "40 s", "80 s"]
    of_alpha = [task for host, task in hosts.asked if host == "alpha"]
    assert of_alpha.count("reflect") == of_alpha.count("stop_reflecting") == 4, "no port stays open"
    assert not any("block" in line for line in hosts.said)


def test_a_pair_that_brings_trials_is_waited_for_however_often_it_is_lost(
    run_of: Callable[..., FleetRun], hosts: Timed
) -> None:
    run = run_of("near", patience_s=5)
    hosts.lose("beta", "attend_block", times=7)
    with pytest.raises(RunStopped):
        run.measure()
    hosts.said.clear()
    run = run_of("near", patience_s=15)
    hosts.lose("beta", "attend_block", times=7)
    assert run.measure().blocks == ALL
    assert all(line.endswith("again in 10 s") for line in hosts.said if "lost" in line)


def test_what_one_host_refuses_says_more_than_that_the_other_lost_it(
    run_of: Callable[..., FleetRun], hosts: Timed
) -> None:
    run = run_of("near", "far")
    lost = Event(host="alpha", lost=True, error=f"host alpha: {UNREACHED}")
    ended = Event(host="beta", error="host beta: its process ended with -9")
    happens = {("alpha", "finish_block"): lost, ("beta", "attend_block"): ended}
    hosts.change = lambda host, task: happens.get((host, task))
    assert run.measure().blocks == ALL
    (line,) = [one for one in hosts.said if one.startswith("pair near")]
    assert line == "pair near gets no more blocks: host beta: its process ended with -9"


def test_a_host_without_an_answer_after_the_other_failed_is_not_waited_for(
    run_of: Callable[..., FleetRun], hosts: Timed
) -> None:
    run = run_of("near", "far")
    hosts.lose("alpha", "finish_block", times=1)
    hosts.silent.add(("beta", "attend_block"))
    asked = hosts.change

    def slowly(host: str, task: str) -> Event | None:
        hosts.now_ns += 10 * S  # so that the other pair does not end the run before
        return asked(host, task)

    hosts.change = slowly
    assert run.measure().blocks == ALL
    assert any(
        line.startswith(f"pair near is lost: host alpha: {UNREACHED}") for line in hosts.said
    )
    assert hosts.stuck == {"beta"}


def test_a_try_that_hangs_does_not_keep_a_run_that_is_done(
    run_of: Callable[..., FleetRun], hosts: Timed
) -> None:
    run = run_of("near", "far")
    hosts.lose("beta", "attend_block", times=1)
    asked = hosts.change

    def slowly(host: str, task: str) -> Event | None:
        hosts.now_ns += 2 * S
        if any("lost" in line for line in hosts.said):
            hosts.silent.add(("beta", "measure_link"))
        return asked(host, task)

    hosts.change = slowly
    assert run.measure().blocks == ALL
    assert hosts.stuck == {"beta"}
