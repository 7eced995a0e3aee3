"""The figures of a client's trial from its JSON line and samples, and whether they count."""

from __future__ import annotations

from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram

from wirebench.catalog.loads import ClientLoad
from wirebench.catalog.model import Contestant
from wirebench.catalog.units import count_of
from wirebench.process.client import ClientRun, Report
from wirebench.process.process import Process
from wirebench.process.start import describe_end, tail_of
from wirebench.process.types import Failure, FailureKind

HISTOGRAM_LOWEST_NS = 1
HISTOGRAM_HIGHEST_NS = 3_600_000_000_000
HISTOGRAM_DIGITS = 3
MIN_BEYOND = 10
"""A percentile needs at least this many samples above it."""


def server_ended(load: ClientLoad, whose: str, *, how: str, output: str) -> Failure:
    """The failure of the server that ended under a client. ``whose``: the contestant; ``how`` and
    ``output``: as ``ServerEnd`` has them. Whatever the client made of that says nothing of it.
    """
    return Failure(
        kind="crashed",
        phase="load",
        message=f"{whose} {how} as the server of a client",
        sent=_asked(load),
        received=f"its last output: {output}",
        whose=whose,
    )


def _asked(load: ClientLoad) -> str:
    return (
        f"{count_of(load.operations, 'operation')} after {load.warmup} to warm up, "
        f"{load.policy}, {count_of(load.payload_bytes, 'byte')}"
    )


def judge_client(run: ClientRun, process: Process, load: ClientLoad) -> Failure | None:
    """Why the client's figures do not count; None if they do."""
    kind: FailureKind
    report, expected, received = run.report, None, tail_of(process)
    if run.exit_code is None:
        kind, message = "hung", "the client had not ended at the time limit of the trial"
        expected = "its end"
    elif report is None or run.exit_code != 0 or report.errors:
        kind, message = "client_failed", f"{_problem(run)}; it {describe_end(process)}"
        expected = "exit code 0 and a JSON line with 0 errors"
    elif (mismatch := _mismatch(report, len(run.samples), load)) is not None:
        kind, message = "client_mismatch", "the client's report contradicts its task"
        expected, received = mismatch
    else:
        return None
    return Failure(
        kind=kind,
        phase="load",
        message=message,
        sent=_asked(load),
        expected=expected,
        received=received,
    )


def _problem(run: ClientRun) -> str:
    errors = run.report.errors if run.report is not None else 0
    return run.problem or (f"reported {count_of(errors, 'error')}" if errors else "failed")


def _mismatch(report: Report, samples: int, load: ClientLoad) -> tuple[str, str] | None:
    """What was expected and what the client reported, where the two differ."""
    operations = load.warmup + load.operations
    wrong = None
    if report.operations != load.operations:
        wrong = (f"operations: {load.operations}", f"operations: {report.operations}")
    elif samples != load.operations:
        wrong = (f"{count_of(load.operations, 'sample')} of 8 bytes", count_of(samples, "sample"))
    elif load.policy != "reuse" and report.connections < operations:
        wrong = (
            f"a connection for each of {count_of(operations, 'operation')}",
            f"connections: {report.connections}",
        )
    elif report.connections == 0:
        wrong = ("at least one connection", "connections: 0")
    return wrong


def exact_connections(load: ClientLoad, contestant: Contestant) -> range:
    """How many connections the policy allows a right client.

    One that a server closes after each N operations is opened anew; a pool may then leave each of
    its connections half used, and open one ahead.
    """
    operations, kept = load.warmup + load.operations, contestant.kept_connections
    if load.policy != "reuse":
        return range(operations, operations + 1)
    if load.closes_after:
        least = -(-operations // load.closes_after)
        return range(least, least + kept + 1)
    return range(1, kept + 1)


def client_metrics(
    report: Report, samples: np.ndarray[Any, np.dtype[np.uint64]]
) -> dict[str, float | int | None]:
    """The figures of a trial: exact, from all samples (nanoseconds)."""
    median = _percentile(samples, 500)
    tail = _percentile(samples, 990)
    return {
        "round_trip_ns": median,
        "round_trip_p99_ns": tail,
        "p50_ns": median,
        "p90_ns": _percentile(samples, 900),
        "p99_ns": tail,
        "p999_ns": _percentile(samples, 999),
        "mean_ns": float(samples.mean()),
        "stddev_ns": float(samples.std(ddof=1)) if len(samples) > 1 else None,
        "max_ns": int(samples.max()),
        "throughput_per_s": report.operations / report.wall_ns * 1e9 if report.wall_ns else None,
        "cpu_per_operation_ns": (report.cpu_user_ns + report.cpu_system_ns) / report.operations,
        "connections_opened": report.connections,
        "success_ratio": 1.0,
    }


def _percentile(samples: np.ndarray[Any, np.dtype[np.uint64]], per_mille: int) -> int | None:
    """The nearest-rank percentile. None with too few samples beyond it."""
    if len(samples) * (1000 - per_mille) < MIN_BEYOND * 1000:
        return None
    rank = -(-len(samples) * per_mille // 1000)
    return int(np.partition(samples, rank - 1)[rank - 1])


def encode_histogram(samples: np.ndarray[Any, np.dtype[np.uint64]]) -> str:
    """The samples as an HdrHistogram, V2, compressed, base64."""
    histogram = HdrHistogram(HISTOGRAM_LOWEST_NS, HISTOGRAM_HIGHEST_NS, HISTOGRAM_DIGITS)
    values, counts = np.unique(samples, return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        histogram.record_value(min(max(value, HISTOGRAM_LOWEST_NS), HISTOGRAM_HIGHEST_NS), count)
    encoded = histogram.encode()
    return encoded.decode() if isinstance(encoded, bytes) else str(encoded)
