"""One trial from its specification to its result. Every process it started has ended by then."""

from __future__ import annotations

import time
from pathlib import Path

from wirebench.process import interrupt, ports
from wirebench.process.start import StartError
from wirebench.process.supervise import Scope, Supervisor
from wirebench.process.types import Failure, Program
from wirebench.trial.client_trial import client_trial
from wirebench.trial.outcome import Outcome, TrialError
from wirebench.trial.record import FailureRecord, Status, TrialRecord
from wirebench.trial.server_trial import server_trial
from wirebench.trial.types import TrialSpec


def run_trial(
    spec: TrialSpec,
    *,
    program: Program,
    supervisor: Supervisor,
    wireload: Path,
    server_program: Program | None = None,
    wirelink: Path | None = None,
) -> TrialRecord:
    """Run a trial to its result. Whatever the contestant does is in the result; only
    ``Interrupted`` is raised.

    ``program``: the contestant. ``server_program``: the server that a client's trial calls.
    ``wireload`` and ``wirelink``: the load generator, and the emulator for loads over a link.
    """
    started_unix_ns, began_ns = time.time_ns(), time.monotonic_ns()
    outcome = Outcome()
    with interrupt.hold():
        with supervisor.scope() as scope:
            try:
                _measure(spec, outcome, scope, program, server_program, wireload, wirelink)
            except (StartError, TrialError) as error:
                outcome.failure = error.failure
            except ports.NoPortError as error:
                outcome.failure = Failure(
                    kind="generator_failed", phase="start", message=str(error)
                )
            outcome.warnings += _stop(scope)
        if outcome.port is not None and not ports.is_free(outcome.port):
            outcome.warnings.append(
                f"port_in_use: another program took port {outcome.port} as the trial ended"
            )
        return _result(
            spec,
            outcome,
            started_unix_ns=started_unix_ns,
            elapsed_ns=time.monotonic_ns() - began_ns,
        )


def _measure(
    spec: TrialSpec,
    outcome: Outcome,
    scope: Scope,
    program: Program,
    server_program: Program | None,
    wireload: Path,
    wirelink: Path | None,
) -> None:
    if spec.role == "server":
        server_trial(
            spec, outcome, program=program, scope=scope, generator=wireload, wirelink=wirelink
        )
    elif server_program is not None:
        client_trial(spec, outcome, program=program, server_program=server_program, scope=scope)
    else:
        raise TypeError(
            f"{spec.trial}: expected the program of a server for a client's trial, got none"
        )


def _stop(scope: Scope) -> list[str]:
    return [
        f"ignored_sigterm: {process.name} had to be killed 2 s after SIGTERM"
        for process in scope.stop()
        if process.name == "server"
    ]


def _status(failure: Failure | None) -> Status:
    if failure is None:
        return "ok"
    # A host without an emulated link says nothing about the contestant.
    return "not_run" if failure.kind == "no_link" else "failed"


def _result(
    spec: TrialSpec, outcome: Outcome, *, started_unix_ns: int, elapsed_ns: int
) -> TrialRecord:
    return TrialRecord(
        trial=spec.trial,
        study=spec.study,
        cell=spec.cell,
        block=spec.block,
        position=spec.position,
        entry=spec.entry,
        contestant=spec.contestant.identity,
        twin_of=spec.twin_of,
        status=_status(outcome.failure),
        failure=FailureRecord.of(outcome.failure),
        warnings=tuple(outcome.warnings),
        started_unix_ns=started_unix_ns,
        elapsed_ns=elapsed_ns,
        port=outcome.port,
        environment_bytes=spec.environment_bytes,
        ready_ns=outcome.ready_ns,
        metrics=outcome.metrics,
        series=outcome.series,
        rounds=outcome.rounds,
        histogram=outcome.histogram,
        validity=outcome.validity,
        covariates=outcome.covariates,
        load=outcome.load,
        packets=outcome.packets,
    )
