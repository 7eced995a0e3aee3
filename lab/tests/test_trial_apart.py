"""What a server used in the window of a generator on another host."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from wirebench.catalog.loads import ClosedLoad
from wirebench.process import procfs
from wirebench.process.network import LOOPBACK, Network
from wirebench.process.supervise import Supervisor
from wirebench.process.usage import Usage, UsageReader
from wirebench.trial.apart import (
    ServerWatch,
    Told,
    of_both_hosts,
    use_of,
    with_server,
)
from wirebench.trial.wireload import parse_document

MS, S = 1_000_000, 1_000_000_000
LOAD = ClosedLoad(connections=2, warmup_ns=0, window_ns=S)


def readings(*, busy: tuple[int, int] = (0, 10 * S), every: int = 10 * MS) -> list[Usage]:
    """Over ten seconds, of a server that uses half a core while busy and grows by a byte a ms."""
    found = []
    for at in range(0, 10 * S + 1, every):
        used = max(0, min(at, busy[1]) - busy[0]) // 2
        found.append(
            Usage(at_ns=at, cpu_user_ns=used * 3 // 4, cpu_system_ns=used // 4, rss_bytes=at // MS)
        )
    return found


def test_the_cpu_of_a_window_is_read_between_its_edges() -> None:
    window = (2 * S + 3 * MS, 6 * S + 7 * MS)  # between two readings
    found = use_of(readings(), window, uncertainty_ns=0)
    assert found is not None
    assert found.use.cpu_ns == pytest.approx(2 * S + 2 * MS, rel=1e-6)
    assert found.use.cpu_user_ns == pytest.approx(1.5 * S, rel=1e-2)
    assert found.uncertainty_ns == 2 * 5 * MS, "half a core, for a reading at each edge"
    assert (found.use.rss_bytes, found.use.rss_peak_bytes) == (6000, 6000)


def test_memory_is_that_before_the_end_when_connections_are_open() -> None:
    shrinking = [
        Usage(at_ns=at * S, cpu_user_ns=at, cpu_system_ns=at, rss_bytes=bytes_)
        for at, bytes_ in ((0, 10), (1, 30), (2, 20), (3, 1))
    ]
    found = use_of(shrinking, (S // 2, 5 * S // 2), uncertainty_ns=0)
    assert found is not None
    assert (found.use.rss_bytes, found.use.rss_peak_bytes) == (20, 30)


def test_clocks_that_are_known_less_well_make_the_cpu_less_certain() -> None:
    window = (2 * S, 6 * S)
    near, far = (use_of(readings(), window, uncertainty_ns=ns) for ns in (MS, 45 * MS))
    assert near is not None
    assert far is not None
    assert near.use == far.use
    assert near.uncertainty_ns == 2 * 10 * MS
    assert far.uncertainty_ns == 2 * 50 * MS


@pytest.mark.parametrize("window", [(-S, S), (9 * S, 11 * S), (5 * S, 5 * S), (0, S)])
def test_without_readings_beyond_both_edges_nothing_is_known(window: tuple[int, int]) -> None:
    assert use_of(readings(), window, uncertainty_ns=MS) is None
    assert use_of([], window, uncertainty_ns=MS) is None


def document(*, start_unix_ns: int | None = None, elapsed_ns: int = S) -> str:
    return json.dumps(
        {
            "schema": "wireload/1",
            "connect": {"attempted": 1, "opened": 1, "failed": 0},
            "window": {
                "start_unix_ns": start_unix_ns,
                "elapsed_ns": elapsed_ns,
                "stopped_by": "duration",
            },
            "requests": {"sent": 3, "ok": 3, "errors": 0, "rate_per_s": 3.0},
            "errors": {},
            "latency": {"count": 3},
            "generator": {"cpu_share": 0.1},
            "server": None,
        }
    )


def told(window: tuple[int, int] | None) -> Told:
    return Told(host="beta", window=window, uncertainty_ns=MS, covariates={})


def test_the_document_gets_what_the_server_used_and_how_well_that_is_known() -> None:
    measured = with_server(parse_document(document()), readings(), told((2 * S, 6 * S)))
    assert measured.document.server is not None
    assert measured.document.server.cpu_ns == 2 * S
    assert measured.load["server"]["cpu_user_ns"] == 3 * S // 2
    assert measured.load["apart"] == {
        "generator": "beta",
        "clock_uncertainty_ns": MS,
        "server_cpu_uncertainty_ns": 20 * MS,
    }
    without = with_server(parse_document(document()), readings(), told(None))
    assert without.document.server is None
    assert without.load["apart"]["server_cpu_uncertainty_ns"] is None


def test_what_either_host_had_counts() -> None:
    unknown = {"other_programs_ns": None}
    here = {"watched_ns": 5, "steal_ns": 1, "retransmits": None, "involuntary_switches": 3}
    there = {"watched_ns": 7, "steal_ns": 2, "retransmits": 4, "involuntary_switches": 9}
    assert of_both_hosts({**here, "other_programs_ns": 8}, there) == {
        **unknown,
        "watched_ns": 5,
        "steal_ns": 3,
        "retransmits": 4,
        "involuntary_switches": 3,
    }
    assert of_both_hosts(here, {}) == {**here, **unknown}


def test_a_server_is_read_while_it_runs(tmp_path: Path) -> None:
    busy = [sys.executable, "-c", "while True: pass"]
    with Supervisor(scratch_parent=tmp_path) as supervisor, supervisor.scope() as scope:
        server = scope.start(busy, name="server", cwd=tmp_path, env={})
        cores = sorted(os.sched_getaffinity(0))[-1:]
        with ServerWatch(server, LOAD, cores=cores) as watch:
            while UsageReader(server).read().cpu_ns < 50 * MS:
                time.sleep(0.01)
        found = watch.readings
    assert found[-1].cpu_ns >= 50 * MS
    assert found[-1].rss_bytes > 0
    for one, other in pairwise(found):
        assert one.at_ns < other.at_ns
        assert one.cpu_ns <= other.cpu_ns


def test_the_cpu_time_of_a_process_is_exact() -> None:
    before = time.process_time_ns()
    found = procfs.cpu_ns(os.getpid())
    after = time.process_time_ns()
    assert found is not None
    assert before <= sum(found) <= after
    assert procfs.cpu_ns(2**22 + 1) is None


def test_a_server_may_listen_at_any_address_of_its_host() -> None:
    other = Network(address="127.0.0.2")
    port = other.free_port(1)
    assert other.is_free(port)
    with socket.create_server((other.address, port)):
        assert other.accepts(port)
        assert not other.is_free(port)
        assert not LOOPBACK.accepts(port)
        assert LOOPBACK.is_free(port)
