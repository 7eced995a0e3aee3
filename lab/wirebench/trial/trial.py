"""One trial from its specification to its result. Every process it started has ended by then."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from wirebench.process import interrupt, ports
from wirebench.process.start import StartError
from wirebench.process.supervise import Scope, Supervisor
from wirebench.process.types import Failure, Program
from wirebench.trial.apart import GeneratorHost
from wirebench.trial.client_trial import client_trial
from wirebench.trial.killed import KIND as IGNORED_SIGTERM
from wirebench.trial.outcome import Outcome, TrialError
from wirebench.trial.record import FailureRecord, Status, TrialRecord
from wirebench.trial.server_trial import ServerTrial
from wirebench.trial.types import TrialSpec
from wirebench.trial.wireload import Turn


def run_trial(
    spec: TrialSpec,
    *,
    program: Program,
    supervisor: Supervisor,
    wireload: Path,
    server_program: Program | None = None,
    wirelink: Path | None = None,
    apart: GeneratorHost | None = None,
) -> TrialRecord:
    """Run a trial to its result. Whatever the contestant does is in the result; only
    ``Interrupted`` is raised, and ``GeneratorLostError`` with a generator apart.

    ``program``: the contestant. ``server_program``: the server that a client's trial calls.
    ``wireload`` and ``wirelink``: the load generator, and the emulator for loads over a link.
    ``apart``: the host whose generator loads a server instead of the one here.
    """
    clock, outcome = _Clock(), Outcome()
    with interrupt.hold():
        with supervisor.scope() as scope:
            with _outcome_of(outcome):
                _measure(spec, outcome, scope, program, server_program, wireload, wirelink, apart)
            outcome.warnings += _stop(scope)
        return _result(spec, outcome, clock)


def run_in_turns(
    specs: Sequence[tuple[TrialSpec, Program]],
    *,
    length_ns: int,
    supervisor: Supervisor,
    wireload: Path,
) -> list[TrialRecord]:
    """Run closed loops on several servers at the same time, in turns of ``length_ns``: one is
    under load, the others stand by. The results are in the order of ``specs``. As with
    ``run_trial()`` only ``Interrupted`` is raised.
    """
    clock = _Clock()
    outcomes = [Outcome() for _ in specs]
    with interrupt.hold():
        with ExitStack() as stack:
            scopes = [stack.enter_context(supervisor.scope()) for _ in specs]
            trials = []
            for (spec, program), outcome, scope in zip(specs, outcomes, scopes, strict=True):
                trial = ServerTrial(spec, outcome, program=program, scope=scope, generator=wireload)
                with _outcome_of(outcome):
                    trial.start()
                    trials.append((trial, outcome))
            for number, (trial, outcome) in enumerate(trials, start=1):
                with _outcome_of(outcome):
                    trial.launch(Turn(number=number, of=len(trials), length_ns=length_ns))
            for trial, outcome in trials:
                if outcome.failure is None:
                    with _outcome_of(outcome):
                        trial.finish()
            for outcome, scope in zip(outcomes, scopes, strict=True):
                outcome.warnings += _stop(scope)
        return [
            _result(spec, outcome, clock)
            for (spec, _), outcome in zip(specs, outcomes, strict=True)
        ]


class _Clock:
    """When a trial began."""

    def __init__(self) -> None:
        self.started_unix_ns, self._began_ns = time.time_ns(), time.monotonic_ns()

    def elapsed_ns(self) -> int:
        return time.monotonic_ns() - self._began_ns


@contextmanager
def _outcome_of(outcome: Outcome) -> Iterator[None]:
    """What ends a trial without a figure becomes its outcome."""
    try:
        yield
    except (StartError, TrialError) as error:
        outcome.failure = error.failure
    except ports.NoPortError as error:
        outcome.failure = Failure(kind="generator_failed", phase="start", message=str(error))


def _measure(
    spec: TrialSpec,
    outcome: Outcome,
    scope: Scope,
    program: Program,
    server_program: Program | None,
    wireload: Path,
    wirelink: Path | None,
    apart: GeneratorHost | None,
) -> None:
    if spec.role == "server":
        trial = ServerTrial(
            spec,
            outcome,
            program=program,
            scope=scope,
            generator=wireload,
            wirelink=wirelink,
            apart=apart,
        )
        trial.start()
        trial.launch()
        trial.finish()
    elif server_program is not None:
        client_trial(spec, outcome, program=program, server_program=server_program, scope=scope)
    else:
        raise TypeError(
            f"{spec.trial}: expected the program of a server for a client's trial, got none"
        )


def _stop(scope: Scope) -> list[str]:
    return [
        f"{IGNORED_SIGTERM}: {process.name} had to be killed 2 s after SIGTERM"
        for process in scope.stop()
        if process.name == "server"
    ]


def _status(failure: Failure | None) -> Status:
    if failure is None:
        return "ok"
    # A host without an emulated link or names says nothing about the contestant, nor does a server
    # that fails while a client calls it.
    if failure.kind in ("no_link", "no_names") or failure.whose is not None:
        return "not_run"
    return "failed"


def _result(spec: TrialSpec, outcome: Outcome, clock: _Clock) -> TrialRecord:
    """Its scope has ended."""
    if outcome.port is not None and not outcome.served_at.is_free(outcome.port):
        outcome.warnings.append(
            f"port_in_use: another program took port {outcome.port} as the trial ended"
        )
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
        started_unix_ns=clock.started_unix_ns,
        elapsed_ns=clock.elapsed_ns(),
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
