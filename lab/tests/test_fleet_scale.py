"""A thousand hosts: each gets a block, every histogram comes back and none twice."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

from fleet_project import free_port
from simulated_workers import SAMPLES, measure, name_of, samples_of
from test_fleet_rounds import World
from test_run_measure import plan
from wirebench.fleet.certificates import make_certificates
from wirebench.fleet.cluster import Cluster
from wirebench.fleet.hosts import read_fleet
from wirebench.fleet.orders import read_trial
from wirebench.fleet.rounds import Handed
from wirebench.report.histograms import merge
from wirebench.run.measure import not_run
from wirebench.trial.record import FailureRecord

pytestmark = pytest.mark.long  # a thousand workers take minutes on two cores

HOSTS = 1000
TESTS = Path(__file__).parent


def test_a_thousand_workers_are_given_blocks_and_their_histograms_merge(tmp_path: Path) -> None:
    hosts = "".join(f"[hosts.{name_of(number)}]\n" for number in range(HOSTS))
    path = tmp_path / "fleet.toml"
    path.write_text(f'listen = "127.0.0.1"\nport = {free_port()}\nlost_after_s = 600\n{hosts}')
    fleet = read_fleet(path)
    make_certificates(fleet.certificates, [name_of(0)])
    two = plan()
    half = [replace(one, min_blocks=HOSTS // 2, max_blocks=HOSTS // 2) for one in two.cells]
    world = World(plan=replace(two, cells=tuple(half)), settled_after=0)
    rounds = world.rounds()
    command = [sys.executable, str(TESTS / "simulated_workers.py"), fleet.scheduler]
    command += [str(fleet.certificates / name_of(0)), str(tmp_path / "hosts"), str(HOSTS)]
    with (
        Cluster(fleet) as cluster,
        (tmp_path / "workers.log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT) as workers,
    ):
        try:
            assert cluster.wait_for(set(fleet.hosts), timeout_s=1200) == set()
            doing: dict[str, Handed] = {}
            for host in cluster.idle:
                handed = rounds.next(host)
                assert handed is not None
                doing[host] = handed
                asked = [
                    replace(not_run(one, NOT_RUN), status="ok", failure=None)
                    for one in handed.trials
                ]
                cluster.begin(host, measure, host, asked)
            while doing:
                event = cluster.wait(timeout_s=60)
                assert event is not None
                assert event.result is not None, event.error
                rounds.take(read_trial(line, host=event.host) for line in event.result)
                rounds.ended(doing.pop(event.host))
        finally:
            workers.kill()
    assert rounds.measured.blocks == {cell.key: HOSTS // 2 for cell in half}
    assert not rounds.wanting
    assert set(Counter((one.cell, one.block, one.host) for one in world.kept).values()) == {3, 4}
    assert len({one.host for one in world.kept}) == HOSTS
    merged = merge(one.histogram for one in world.kept if one.histogram is not None)
    assert merged is not None
    assert merged.get_total_count() == SAMPLES * len(world.kept) == SAMPLES * 500 * (3 + 4)
    direct = HdrHistogram(1, 60_000_000_000, 3)
    for record in world.kept:
        for value in samples_of(record.trial):
            direct.record_value(value)
    for percentile in (50, 90, 99, 99.9, 100):
        assert merged.get_value_at_percentile(percentile) == direct.get_value_at_percentile(
            percentile
        )


NOT_RUN = FailureRecord(kind="simulated", phase="plan", message="")
