"""Pairs of hosts as network namespaces: the way between the two of a pair is a link of their own,
which goes down while the way to the command stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fleet_project import Fleet, check_trials, fleet_of
from namespaces import COMMAND, PAIR, Namespaces, joined, refusal
from run_project import wait_for
from speaking_project import needs_wireload, teach
from test_fleet_run import ENTRIES, RUN

REFUSAL = refusal()
pytestmark = [
    pytest.mark.long,  # each starts whole runs
    pytest.mark.fleet,
    pytest.mark.skipif(REFUSAL is not None, reason=REFUSAL or ""),
]
NEAR, FAR = ("alpha", "beta"), ("gamma", "delta")
SPARE = "epsilon"
FleetWith = Callable[..., Fleet]


@pytest.fixture
def hosts() -> Iterator[Namespaces]:
    with joined((*NEAR, *FAR, SPARE)) as made:
        yield made


@pytest.fixture
def fleet_with(tmp_path: Path, hosts: Namespaces) -> Iterator[FleetWith]:
    """Makes a fleet of these pairs, near and far, and of the spare host."""
    with ExitStack() as stack:

        def make(*pairs: tuple[str, str], seconds: float = 0.3, speaks: bool = False) -> Fleet:
            names = (*(host for pair in pairs for host in pair), SPARE)
            fleet = stack.enter_context(
                fleet_of(
                    tmp_path / "project",
                    names,
                    seconds=seconds,
                    lost_after_s=12,
                    listen=hosts.command_address,
                    enter={name: hosts.enter(name) for name in (COMMAND, *names)},
                )
            )
            for name, pair in zip(("near", "far"), pairs, strict=False):
                fleet.pair(name, *pair, hosts.join(*pair))
            if speaks:
                teach(fleet.project)
            return fleet

        yield make


def loads_begun(fleet: Fleet) -> int:
    """How many generators were started, the one that warms up and verifies included."""
    return sum(1 for path in fleet.project.pids.iterdir() if path.read_text() == "generator")


def in_a_load(fleet: Fleet) -> bool:
    """Whether a load is under way after the first trial."""
    return loads_begun(fleet) > fleet.measured_on("alpha") > 0


@needs_wireload
@pytest.mark.first
def test_a_preset_by_time_is_measured_by_two_pairs(fleet_with: FleetWith) -> None:
    fleet = fleet_with(NEAR, FAR, speaks=True)
    code, output = fleet.run("concurrency", "--preset", "hour", "--seed", "5")
    assert code == 0, output
    assert f"in no pair, so that they get no blocks: {SPARE}" in output
    run = fleet.stored()
    check_trials(run, blocks=6)
    assert {one.host for one in run.trials} == {"near", "far"}
    assert {name: fleet.measured_on(name) > 0 for name in fleet.names} == {
        **dict.fromkeys((*NEAR, *FAR, SPARE), False),
        **dict.fromkeys((NEAR[0], FAR[0]), True),
    }
    addresses = {"near": "10.212.2.1", "far": "10.212.4.1"}
    for one in run.trials:
        assert one.load is not None
        assert one.load["command"][-1].startswith(f"http://{addresses[one.host]}:{one.port}/")
        assert one.metrics["cpu_per_request_ns"]
    code, output = fleet.project.run("report", run.path.name)
    assert code == 0, output
    page = (run.path / "report.html").read_text()
    assert all(f"pair {name}" in page for name in ("near", "far"))
    code, output = fleet.run("--resume", run.path.name)
    assert "is complete" in output, output
    assert fleet.project.survivors() == []


@needs_wireload
@pytest.mark.first
def test_ramps_storms_and_tls_are_measured_by_a_pair(fleet_with: FleetWith) -> None:
    fleet = fleet_with(NEAR, speaks=True)
    code, output = fleet.run(
        *("concurrency", "websocket", "--preset", "quick", "--seed", "5", "--blocks", "1")
    )
    assert code == 0, output
    assert "the memory of idle connections is read by a generator beside the server" in output
    run = fleet.stored()
    cells = {"rate-200", "tls-http", "burst", "serial", "tls-ws", "restart"}
    assert {one.cell for one in run.trials} == cells
    check_trials(run, blocks=len(cells))
    for one in run.trials:
        assert one.load is not None
        assert one.load["apart"]["generator"] == "beta"
        command = one.load["command"]
        schemes = {"tls-http": "https", "rate-200": "http", "tls-ws": "wss"}
        scheme = schemes.get(one.cell, "ws")
        assert command[-1].startswith(f"{scheme}://10.212.2.1:{one.port}/")
        # The authority of the trial's certificate came with the order.
        assert ("--cacert" in command) == one.cell.startswith("tls")
        if one.cell in ("burst", "serial"):
            assert one.rounds is not None
            assert [len(one.rounds), one.metrics["throughput_per_s"] is None] == [3, False]
        # There is one window to read the server's CPU in, or it is not read.
        read = one.metrics.get("cpu_per_request_ns") is not None
        assert read == (one.cell in schemes)
    assert fleet.project.survivors() == []


@pytest.mark.first
@pytest.mark.parametrize("side", [NEAR[0], pytest.param(NEAR[1], marks=pytest.mark.outage)])
def test_a_pair_whose_link_is_cut_in_a_load_measures_the_block_when_it_is_mended(
    fleet_with: FleetWith, hosts: Namespaces, side: str
) -> None:
    fleet = fleet_with(NEAR, seconds=3)
    with fleet.start_run(*RUN[:-1], "2") as process:
        wait_for(lambda: in_a_load(fleet), process)
        hosts.cut(side, PAIR)
        output = fleet.heard(process, "pair near is lost: ")
        before = fleet.measured_on("alpha")
        hosts.mend(side, PAIR)
        rest, _ = process.communicate(timeout=480)
        assert process.returncode == 0, output + rest
    assert "its block goes elsewhere; it is tried again in 10 s" in output
    assert before < ENTRIES, "the trial whose link was cut is none"
    run = fleet.stored()
    check_trials(run, blocks=2)
    assert len(run.trials) == fleet.measured_on("alpha"), "all that was ever finished, once"
    assert len(run.host["pairs"]["near"]["floors"]) == 2
    assert fleet.project.survivors() == []


@pytest.mark.outage
def test_a_run_whose_only_link_stays_cut_stops_and_is_completed_later(
    fleet_with: FleetWith, hosts: Namespaces
) -> None:
    fleet = fleet_with(NEAR, seconds=3)
    with fleet.start_run(*RUN[:-1], "2", "--wait", "15") as process:
        wait_for(lambda: in_a_load(fleet), process)
        hosts.cut("beta", PAIR)
        # Two tries after the loss, and nobody waits for what TCP sends for a quarter of an hour.
        output, _ = process.communicate(timeout=300)
    assert process.returncode == 69, output
    assert "no pair of the fleet is left after 15 s of waiting (near: host " in output
    finished = fleet.measured_on("alpha")
    assert len(fleet.stored().trials) == finished
    assert fleet.project.survivors() == []
    hosts.mend("beta", PAIR)
    code, output = fleet.run("--resume", "latest")
    assert code == 0, output
    run = fleet.stored()
    assert run.info.status == "complete"
    check_trials(run, blocks=2)
    assert len(run.trials) == fleet.measured_on("alpha")


@pytest.mark.outage
def test_while_the_link_of_a_pair_is_cut_another_pair_measures(
    fleet_with: FleetWith, hosts: Namespaces
) -> None:
    fleet = fleet_with(NEAR, FAR, seconds=1)
    with fleet.start_run(*RUN) as process:
        wait_for(lambda: fleet.measured_on("alpha") >= 1, process)
        hosts.cut("beta", PAIR)
        output = fleet.heard(process, "pair near is lost: ")
        before = fleet.measured_on("gamma")
        wait_for(lambda: fleet.measured_on("gamma") > before + ENTRIES, process)
        hosts.mend("beta", PAIR)
        rest, _ = process.communicate(timeout=480)
        assert process.returncode == 0, output + rest
    run = fleet.stored()
    check_trials(run, blocks=6)
    for name, server in (("near", "alpha"), ("far", "gamma")):
        kept = sum(1 for one in run.trials if one.host == name)
        assert kept == fleet.measured_on(server)
    assert fleet.project.survivors() == []


@pytest.mark.outage
def test_a_load_in_which_the_link_was_down_for_a_moment_is_no_trial(
    fleet_with: FleetWith, hosts: Namespaces
) -> None:
    fleet = fleet_with(NEAR, seconds=3)
    with fleet.start_run(*RUN[:-1], "1") as process:
        wait_for(lambda: in_a_load(fleet), process)
        hosts.cut("beta", PAIR)
        time.sleep(1)  # less than anything here waits for
        hosts.mend("beta", PAIR)
        output, _ = process.communicate(timeout=480)
        assert process.returncode == 0, output
    assert "pair near is lost: host alpha: the generator's host beta: the link to it was" in output
    run = fleet.stored()
    check_trials(run, blocks=1)
    assert len(run.trials) == fleet.measured_on("alpha") == ENTRIES


@pytest.mark.outage
def test_a_pair_that_is_cut_off_from_everybody_in_a_block_comes_back(
    fleet_with: FleetWith, hosts: Namespaces
) -> None:
    fleet = fleet_with(NEAR, FAR, seconds=1)
    with fleet.start_run(*RUN) as process:
        wait_for(lambda: fleet.measured_on("alpha") >= 1, process)
        for device in (PAIR, "eth0"):
            hosts.cut("beta", device)
        before = fleet.measured_on("gamma")
        wait_for(lambda: fleet.measured_on("gamma") > before + 2 * ENTRIES, process)
        for device in (PAIR, "eth0"):
            hosts.mend("beta", device)
        output, _ = process.communicate(timeout=480)
        assert process.returncode == 0, output
    assert "pair near is lost: host beta: " in output
    run = fleet.stored()
    check_trials(run, blocks=6)
    assert fleet.project.survivors() == []
