"""A trial of a client library: a server for it, the client's own measurements, and what speaks
against them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram

from wirebench.catalog.studies import ClientLoad
from wirebench.process import certificates, procfs
from wirebench.process.client import ClientRun, Report, run_client
from wirebench.process.cores import choose_cores
from wirebench.process.process import Process
from wirebench.process.start import ServerSettings, describe_end, ended, start_server, tail_of
from wirebench.process.supervise import Scope
from wirebench.process.types import Failure, Program
from wirebench.trial import watchdog
from wirebench.trial.covariates import accepted, covariates, read_counters
from wirebench.trial.outcome import Outcome
from wirebench.trial.types import TrialSpec

HISTOGRAM_LOWEST_NS = 1
HISTOGRAM_HIGHEST_NS = 3_600_000_000_000
HISTOGRAM_DIGITS = 3
MIN_BEYOND = 10
"""No percentile with fewer samples beyond it."""


def client_trial(
    spec: TrialSpec, outcome: Outcome, *, program: Program, server_program: Program, scope: Scope
) -> None:
    """Fills ``outcome``. ``StartError`` if the server did not start."""
    load = spec.load
    if not isinstance(load, ClientLoad):
        raise TypeError(f"{spec.trial}: expected a load for a client, got one for a server")
    cores = choose_cores(spec.threads)
    settings, ca_file = ServerSettings(workload=spec.workload), None
    if load.tls:
        files = certificates.issue(scope.folder)
        ca_file = files.ca_file
        settings = replace(
            settings, tls_cert=str(files.certificate_file), tls_key=str(files.key_file)
        )
    # The server has the contestant's core here: what is measured runs where the generator would.
    server = start_server(
        scope, server_program, settings, cores=cores.contestant, port_seed=spec.port_seed
    )
    outcome.port, outcome.ready_ns = server.port, server.ready_ns
    before = read_counters()
    switches = procfs.involuntary_switches(server.process.pids())
    run, process = run_client(
        scope,
        program,
        load,
        port=server.port,
        cores=cores.generator,
        limit_ns=watchdog.limit_ns(load, timeout_ns=spec.timeout_ns, threads=spec.threads),
        ca_file=ca_file,
        environment_bytes=spec.environment_bytes,
    )
    pids = server.process.pids()
    after = read_counters()
    outcome.covariates = covariates(
        before,
        after,
        involuntary_switches=procfs.involuntary_switches(pids) - switches if pids else None,
    )
    outcome.validity = {"little_ratio": None, "generator_cpu_share": None, "completed": False}
    if run.report is not None:
        outcome.load = run.report.model_dump()
    server_end = None
    if (run.exit_code != 0 or server.process.exit_code() is not None) and ended(server.process):
        server_end = f"{describe_end(server.process)} under the client; its last output: {tail_of(server.process)}"
    outcome.failure = judge_client(run, process, load, server_end=server_end)
    if outcome.failure is not None or run.report is None:
        return
    outcome.metrics = client_metrics(run.report, run.samples)
    outcome.histogram = encode_histogram(run.samples)
    outcome.validity["completed"] = True
    seen = accepted(before, after)
    if seen is not None and seen < run.report.connections:
        outcome.failure = Failure(
            kind="client_mismatch",
            phase="load",
            message="the client says it opened more connections than this host took",
            expected=f"at most {seen} connections",
            received=f"{run.report.connections} connections",
        )
    elif seen is not None and seen > 2 * run.report.connections + 100:
        outcome.warnings.append(
            f"connections: the client says it opened {run.report.connections}; this host took {seen} meanwhile"
        )


def judge_client(
    run: ClientRun, process: Process, load: ClientLoad, *, server_end: str | None
) -> Failure | None:
    """What is wrong with what the client did or said; None if nothing is."""
    asked = f"{load.operations} operations after {load.warmup} to warm up, {load.policy}, {load.payload_bytes} bytes"
    printed = tail_of(process)
    if server_end is not None:
        return Failure(
            kind="crashed",
            phase="load",
            message=f"the server {server_end}",
            sent=asked,
            received=printed,
        )
    if run.exit_code is None:
        return Failure(
            kind="hung",
            phase="load",
            message="the client was not done at the limit of the trial",
            sent=asked,
            expected="its end",
            received=printed,
        )
    report = run.report
    if report is None or run.exit_code != 0 or report.errors:
        what = run.problem or (
            f"reported {report.errors} errors" if report is not None and report.errors else "failed"
        )
        return Failure(
            kind="client_failed",
            phase="load",
            message=f"{what}; it {describe_end(process)}",
            sent=asked,
            expected="exit code 0 and a JSON line with 0 errors",
            received=printed,
        )
    return _mismatch(report, len(run.samples), load, asked)


def _mismatch(report: Report, samples: int, load: ClientLoad, asked: str) -> Failure | None:
    operations = load.warmup + load.operations
    if report.operations != load.operations:
        wrong = (f"operations: {load.operations}", f"operations: {report.operations}")
    elif samples != load.operations:
        wrong = (f"{load.operations} samples of 8 bytes", f"{samples} samples")
    elif load.policy == "new" and report.connections < operations:
        wrong = (
            f"a connection for each of {operations} operations",
            f"connections: {report.connections}",
        )
    elif report.connections == 0:
        wrong = ("at least one connection", "connections: 0")
    else:
        return None
    return Failure(
        kind="client_mismatch",
        phase="load",
        message="what the client says does not fit what it was asked",
        sent=asked,
        expected=wrong[0],
        received=wrong[1],
    )


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
        "max_ns": int(samples.max()),
        "throughput_per_s": report.operations / report.wall_ns * 1e9 if report.wall_ns else None,
        "cpu_per_operation_ns": (report.cpu_user_ns + report.cpu_system_ns) / report.operations,
        "connections_opened": report.connections,
        "success_ratio": 1.0,
    }


def _percentile(samples: np.ndarray[Any, np.dtype[np.uint64]], per_mille: int) -> int | None:
    """The smallest sample that at least that many of all are not above (nearest rank); None with
    too few beyond it.
    """
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
