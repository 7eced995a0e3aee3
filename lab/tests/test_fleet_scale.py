"""A thousand hosts, simulated without Dask: each gets a block, and every histogram is kept once."""

from __future__ import annotations

from dataclasses import replace

from hdrh.histogram import HdrHistogram

from test_fleet_rounds import World
from test_run_measure import plan
from wirebench.fleet.orders import TRIAL, read_trial
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
