"""A trial of a server: start it, put the load on it, read what the generator measured."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

from wirebench.catalog.studies import ClientLoad, ClosedLoad, EachLoad, RampLoad
from wirebench.catalog.workloads import request_of
from wirebench.process import certificates, procfs
from wirebench.process.cores import choose_cores
from wirebench.process.process import Process
from wirebench.process.start import (
    Server,
    ServerSettings,
    describe_end,
    ended,
    start_server,
    tail_of,
)
from wirebench.process.supervise import Scope
from wirebench.process.types import Failure, Program
from wirebench.trial import server_metrics, watchdog, wireload
from wirebench.trial.covariates import covariates, read_counters
from wirebench.trial.outcome import Outcome
from wirebench.trial.types import TrialSpec

_STOP_GENERATOR_S = 5.0
"""The generator, told to stop, writes what it has measured."""


def server_trial(
    spec: TrialSpec, outcome: Outcome, *, program: Program, scope: Scope, generator: Path
) -> None:
    """Fills ``outcome``. ``StartError`` if the server did not start."""
    if isinstance(spec.load, ClientLoad):
        raise TypeError(f"{spec.trial}: expected a load for a server, got one for a client")
    cores = choose_cores(spec.threads)
    settings = ServerSettings(
        workload=spec.workload,
        threads=spec.threads,
        delay_ms=spec.load.delay_ms if isinstance(spec.load, EachLoad) else 0,
        environment_bytes=spec.environment_bytes,
    )
    ca_file = None
    if isinstance(spec.load, ClosedLoad) and spec.load.tls:
        files = certificates.issue(scope.folder)
        ca_file = files.ca_file
        settings = replace(
            settings, tls_cert=str(files.certificate_file), tls_key=str(files.key_file)
        )
    server = start_server(
        scope, program, settings, cores=cores.contestant, port_seed=spec.port_seed
    )
    outcome.port, outcome.ready_ns = server.port, server.ready_ns
    outcome.metrics["ready_ns"] = server.ready_ns
    idle_rss = procfs.resident_bytes(server.process.pids())
    timeout_ns = watchdog.reply_timeout_ns(
        spec.load, patience_ns=spec.timeout_ns, threads=spec.threads
    )
    document_file = scope.folder / "wireload.json"
    command = wireload.command(
        generator,
        spec.load,
        wireload.Aim(
            port=server.port,
            request=request_of(spec.workload),
            cores=cores.generator,
            watch=server.process.watch,
            timeout_ns=timeout_ns,
            seed=spec.seed,
            json_file=document_file,
            ca_file=ca_file,
        ),
    )
    before = read_counters()
    switches = procfs.involuntary_switches(server.process.pids())
    process = scope.start(
        command, name="generator", cwd=scope.folder, env={}, cores=cores.generator
    )
    limit_ns = watchdog.limit_ns(spec.load, timeout_ns=timeout_ns, threads=spec.threads)
    code = process.wait(limit_ns / 1e9)
    hung = code is None
    if hung:
        process.signal(signal.SIGTERM)
        code = process.wait(_STOP_GENERATOR_S)
    pids = server.process.pids()
    # Processes that ended took their counts with them: then nothing is known.
    switches = procfs.involuntary_switches(pids) - switches if pids else -1
    after = read_counters()
    process.stop()
    right = code == wireload.EXIT_OK and server.process.exit_code() is None
    server_end = describe_end(server.process) if not right and ended(server.process) else None
    try:
        measured = wireload.read_document(document_file)
    except wireload.DocumentError as error:
        outcome.failure = _without_document(
            process, error, server_end=server_end, server=server, limit_ns=limit_ns, hung=hung
        )
        return
    document = measured.document
    generator_switches = document.generator.involuntary_switches
    outcome.covariates = covariates(
        before,
        after,
        involuntary_switches=switches + generator_switches
        if switches >= 0 and generator_switches is not None
        else None,
    )
    outcome.metrics = server_metrics.metrics(
        document, spec.load, ready_ns=server.ready_ns, idle_rss_bytes=idle_rss or None
    )
    outcome.load, outcome.series, outcome.rounds = measured.load, measured.series, measured.rounds
    outcome.histogram = document.latency.histogram
    judgement = server_metrics.judge(document, spec.load)
    if (hung or server_end is not None) and judgement != "failed":
        # A ramp goes on until it breaks; any other load must be borne to its end.
        judgement = "partly" if isinstance(spec.load, RampLoad) else "failed"
    outcome.validity = {
        "little_ratio": document.little.ratio if document.little is not None else None,
        "generator_cpu_share": document.generator.cpu_share,
        "completed": judgement == "right",
    }
    if judgement == "partly":
        outcome.warnings.append(server_metrics.partial_errors(document, spec.load))
        if hung:
            outcome.warnings.append(
                f"partial_errors: the ramp was stopped after {limit_ns / 1e9:.0f} s"
            )
        if server_end is not None:
            outcome.warnings.append(
                f"partial_errors: the server {server_end}; its last output: {tail_of(server.process)}"
            )
    elif judgement == "failed":
        found = server_metrics.failure_of(
            document,
            asked=request_of(spec.workload),
            server_end=server_end,
            output=tail_of(server.process),
        )
        outcome.failure = _hung(found, limit_ns) if hung else found


def _hung(found: Failure, limit_ns: int) -> Failure:
    if found.kind == "crashed":
        return found
    return Failure(
        kind="hung",
        phase="load",
        message=f"the load was not done after {limit_ns / 1e9:.0f} s; {found.message}",
        sent=found.sent,
        expected=found.expected,
        received=found.received,
    )


def _without_document(
    process: Process,
    error: wireload.DocumentError,
    *,
    server_end: str | None,
    server: Server,
    limit_ns: int,
    hung: bool,
) -> Failure:
    if server_end is not None:
        return Failure(
            kind="crashed",
            phase="load",
            message=f"the server {server_end} under load, and nothing could be measured",
            expected="a reply to each request",
            received=f"its last output: {tail_of(server.process)}",
        )
    told = f"it was told to stop after {limit_ns / 1e9:.0f} s" if hung else describe_end(process)
    return Failure(
        kind="generator_failed",
        phase="load",
        message=f"the generator {told}: {error}",
        sent=" ".join(process.argv),
        expected="a document",
        received=tail_of(process),
    )
