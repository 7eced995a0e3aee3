"""A trial of a client library: start a server for it, run it to its end, read what it measured."""

from __future__ import annotations

from dataclasses import replace

from wirebench.catalog.loads import HOST, ClientLoad
from wirebench.catalog.units import count_of
from wirebench.catalog.warmup import warmup_operations
from wirebench.process import names, sessions
from wirebench.process.accepted import FILE as ACCEPTED
from wirebench.process.accepted import accepted_connections
from wirebench.process.client import run_client
from wirebench.process.start import StartError
from wirebench.process.supervise import Scope
from wirebench.process.types import Failure, Program
from wirebench.trial import watchdog
from wirebench.trial.client_metrics import (
    client_metrics,
    encode_histogram,
    exact_connections,
    judge_client,
    server_ended,
)
from wirebench.trial.covariates import watch_host
from wirebench.trial.outcome import Outcome, TrialError
from wirebench.trial.setup import end_under_load, settings_for_client, start_for_load
from wirebench.trial.types import TrialSpec


def client_trial(
    spec: TrialSpec, outcome: Outcome, *, program: Program, server_program: Program, scope: Scope
) -> None:
    """Fill ``outcome``. ``StartError`` or ``TrialError`` if there is no valid figure."""
    load = spec.load
    if not isinstance(load, ClientLoad):
        raise TypeError(f"{spec.trial}: expected a load for a client, got one for a server")
    load = replace(load, warmup=warmup_operations(spec.contestant, load))

    if load.host != HOST and (why := names.refusal(scope.folder)) is not None:
        raise TrialError(
            Failure(kind="no_names", phase="start", message=f"no {load.host} of its own: {why}")
        )
    # The server runs on the contestant's core: the client, which is measured, has the generator's.
    settings = settings_for_client(load, spec.workload, scope.folder)
    whose = spec.server.identity if spec.server is not None else "the server"
    try:
        ready = start_for_load(spec, outcome, settings, program=server_program, scope=scope)
    except StartError as error:
        raise TrialError(replace(error.failure, whose=whose)) from error

    with watch_host(ready.server.process) as host:
        run, process = run_client(
            scope,
            program,
            load,
            port=ready.server.port,
            cores=ready.cores.generator,
            limit_ns=watchdog.limit_ns(load, timeout_ns=spec.timeout_ns, threads=spec.threads),
            ca_file=ready.ca_file,
            environment_bytes=spec.environment_bytes,
        )
    outcome.covariates = host.covariates()
    outcome.validity = {"little_ratio": None, "generator_cpu_share": None, "completed": False}
    if run.report is not None:
        outcome.load = run.report.model_dump()

    end = end_under_load(ready.server, load_succeeded=run.exit_code == 0)
    if end is not None:
        raise TrialError(server_ended(load, whose, how=end.how, output=end.output))
    failure = judge_client(run, process, load)
    if failure is not None:
        raise TrialError(failure)

    if run.report is not None:
        outcome.metrics = client_metrics(run.report, run.samples)
        if load.resumption:
            noted = scope.folder / sessions.FILE
            outcome.metrics["connections_resumed"] = sessions.resumed_connections(noted)
        outcome.histogram = encode_histogram(run.samples)
        outcome.validity["completed"] = True
        accepted = accepted_connections(
            scope.folder / ACCEPTED, ready.server.port, tls=ready.ca_file is not None
        )
        outcome.metrics["connections_accepted"] = accepted
        _compare_connections(
            outcome,
            reported=run.report.connections,
            accepted=host.accepted if accepted is None else accepted,
            exact=exact_connections(load, spec.contestant) if accepted is not None else None,
        )


def _compare_connections(
    outcome: Outcome, *, reported: int, accepted: int | None, exact: range | None
) -> None:
    """Hold the client's count of connections against that of its server. Where that keeps none,
    ``exact`` is None, and ``accepted`` the kernel's, which is of the whole host.
    """
    if accepted is None:
        return
    wrong = None
    if exact is None:
        if accepted < reported:
            wrong = (
                "the client reported more connections than this host accepted",
                f"at most {count_of(accepted, 'connection')}",
                count_of(reported, "connection"),
            )
    elif accepted != reported:
        wrong = (
            "the client reported other connections than its server accepted",
            f"what the server accepted: {count_of(accepted, 'connection')}",
            count_of(reported, "connection"),
        )
    elif accepted not in exact:
        wrong = (
            "the client opened other connections than its policy says",
            _range_text(exact),
            count_of(accepted, "connection"),
        )
    if wrong is not None:
        message, expected, received = wrong
        raise TrialError(
            Failure(
                kind="client_mismatch",
                phase="load",
                message=message,
                expected=expected,
                received=received,
            )
        )
    if exact is None and accepted > 2 * reported + 100:
        outcome.warnings.append(
            f"connections: the client reported {reported}; "
            f"this host accepted {accepted} in the same time"
        )


def _range_text(numbers: range) -> str:
    least, most = numbers[0], numbers[-1]
    return count_of(most, "connection") if least == most else f"{least} to {most} connections"
