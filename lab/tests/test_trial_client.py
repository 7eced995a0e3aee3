"""Trials of clients: what they claim is believed only where it fits what was asked and what the
host saw.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from misbehaving.support import CALLS, assert_free, program, spec
from wirebench.process.client import Report
from wirebench.process.supervise import Supervisor
from wirebench.trial import client_metrics as figures
from wirebench.trial import watchdog
from wirebench.trial.client_metrics import client_metrics, encode_histogram
from wirebench.trial.record import TrialRecord
from wirebench.trial.trial import run_trial


def call(
    fault: str,
    supervisor: Supervisor,
    tmp_path: Path,
    *,
    policy: str = "reuse",
    server: str = "payload",
    warmup_ns: int = 0,
) -> TrialRecord:
    load = replace(CALLS, policy=policy)  # type: ignore[arg-type]
    asked = spec(fault, tmp_path, role="client", load=load)
    result = run_trial(
        replace(asked, contestant=replace(asked.contestant, client_warmup_ns=warmup_ns)),
        program=program("client.py", fault),
        supervisor=supervisor,
        wireload=Path("/nonexistent"),
        server_program=program("server.py", server),
    )
    if result.port is not None:
        assert_free(result.port)
    return result


def test_a_right_client_has_its_figures(supervisor: Supervisor, tmp_path: Path) -> None:
    result = call("none", supervisor, tmp_path)
    assert result.failure is None
    assert result.metrics["connections_opened"] == 1
    assert (result.metrics["round_trip_ns"] or 0) > 0
    assert result.metrics["round_trip_p99_ns"] is None, "50 samples have no 99th percentile"
    assert result.validity["completed"] is True
    assert result.load is not None
    assert result.load["operations"] == CALLS.operations
    assert result.histogram is not None
    assert HdrHistogram.decode(result.histogram.encode()).get_total_count() == CALLS.operations


def test_what_a_client_asks_for_goes_to_no_proxy(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not each library takes an address of this host for one that needs none."""
    monkeypatch.setenv("HTTPS_PROXY", "http://192.0.2.1:3128")
    monkeypatch.setenv("socks_proxy", "socks5://192.0.2.1:1080")
    assert call("obeys_proxies", supervisor, tmp_path).failure is None


@pytest.mark.parametrize("policy", ["new", "cold"])
def test_a_new_connection_for_each_operation(
    policy: str, supervisor: Supervisor, tmp_path: Path
) -> None:
    result = call("none", supervisor, tmp_path, policy=policy)
    assert result.failure is None
    assert result.metrics["connections_opened"] == CALLS.operations + CALLS.warmup


def test_what_a_runtime_needs_before_it_is_measured_is_done_and_not_measured(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    result = call("none", supervisor, tmp_path, policy="new", warmup_ns=20 * CALLS.typical_ns)
    assert result.failure is None
    assert result.metrics["connections_opened"] == CALLS.operations + 20
    assert result.load is not None
    assert result.load["operations"] == CALLS.operations


@pytest.mark.parametrize(
    ("fault", "policy", "kind", "received"),
    [
        ("loses_a_sample", "reuse", "client_mismatch", "49 samples"),
        ("says_one_connection", "new", "client_mismatch", "connections: 1"),
        ("says_one_connection", "cold", "client_mismatch", "connections: 1"),
        ("says_too_many", "reuse", "client_mismatch", "5,001 connections"),
        ("prints_nothing", "reuse", "client_failed", "(it printed nothing)"),
        ("chatters", "reuse", "client_failed", "a line of chatter"),
        ("nests_deeply", "reuse", "client_failed", "[[["),
        ("says_no_float", "reuse", "client_failed", "cpu_user_ns"),
        ("crashes", "reuse", "client_failed", "(it printed nothing)"),
    ],
)
def test_what_does_not_fit_is_a_failure(
    fault: str, policy: str, kind: str, received: str, supervisor: Supervisor, tmp_path: Path
) -> None:
    result = call(fault, supervisor, tmp_path, policy=policy)
    assert result.failure is not None
    assert result.failure.kind == kind
    assert result.failure.received is not None
    assert received in result.failure.received
    assert result.failure.expected
    if kind == "client_failed" or fault == "loses_a_sample":
        assert result.metrics.get("round_trip_ns") is None


def test_errors_a_client_reports_are_a_failure(supervisor: Supervisor, tmp_path: Path) -> None:
    # This server has no payloads: each reply is a 404.
    result = call("none", supervisor, tmp_path, server="none")
    assert result.failure is not None
    assert result.failure.kind == "client_failed"
    assert "reported 55 errors" in result.failure.message


def test_more_connections_than_the_client_says_are_a_warning(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    load = replace(CALLS, operations=200)
    result = run_trial(
        spec("reconnects", tmp_path, role="client", load=load),
        program=program("client.py", "reconnects"),
        supervisor=supervisor,
        wireload=Path("/nonexistent"),
        server_program=program("server.py", "payload"),
    )
    assert result.failure is None
    assert len(result.warnings) == 1
    assert result.warnings[0].startswith("connections: the client reported 1;")


def test_a_client_that_hangs_is_stopped(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "limit_ns", lambda *_, **__: 500_000_000)
    result = call("hangs", supervisor, tmp_path)
    assert result.failure is not None
    assert result.failure.kind == "hung"


def test_a_server_that_crashes_is_not_the_clients_fault(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    load = replace(CALLS, operations=2000)
    result = run_trial(
        spec("none", tmp_path, role="client", load=load),
        program=program("client.py"),
        supervisor=supervisor,
        wireload=Path("/nonexistent"),
        server_program=program("server.py", "crashes_under_load"),
    )
    assert result.status == "not_run"
    assert result.failure is not None
    assert (result.failure.kind, result.failure.whose) == ("crashed", "fake/server")
    assert result.failure.message.startswith("fake/server exited with 7")


def test_a_server_that_does_not_start_is_not_the_clients_fault(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    result = call("none", supervisor, tmp_path, server="crashes_at_start")
    assert result.status == "not_run"
    assert result.failure is not None
    assert (result.failure.kind, result.failure.whose) == ("start_crashed", "fake/server")


def test_the_figures_are_exact() -> None:
    samples = np.arange(1, 10_001, dtype=np.uint64) * 1000
    report = Report(
        operations=10_000,
        errors=0,
        connections=3,
        wall_ns=20_000_000_000,
        cpu_user_ns=4_000_000,
        cpu_system_ns=1_000_000,
    )
    found = client_metrics(report, samples)
    assert found["round_trip_ns"] == 5_000_000
    assert found["p90_ns"] == 9_000_000
    assert found["round_trip_p99_ns"] == 9_900_000
    assert found["p999_ns"] == 9_990_000, "ten samples are beyond it"
    assert found["max_ns"] == 10_000_000
    assert found["mean_ns"] == 5_000_500.0
    # Of 1 to n: n (n + 1) / 12, the sample's own variance.
    assert found["stddev_ns"] == pytest.approx(1000 * (10_000 * 10_001 / 12) ** 0.5)
    assert found["throughput_per_s"] == 500.0
    assert found["cpu_per_operation_ns"] == 500.0
    assert client_metrics(report, samples[:9_999])["p999_ns"] is None


def test_the_histogram_holds_every_sample() -> None:
    samples = np.array([1, 1, 50_000, 50_000, 4_000_000_000_000], dtype=np.uint64)
    histogram = HdrHistogram.decode(encode_histogram(samples).encode())
    assert histogram.get_total_count() == 5
    assert histogram.get_count_at_value(1) == 2
    assert histogram.get_count_at_value(50_000) == 2
    # Above the highest it can hold: counted there, not lost.
    assert histogram.get_max_value() >= figures.HISTOGRAM_HIGHEST_NS
