"""The conformance check of a server: what it answers, and that it ends and starts again as the contract says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

from wirebench.catalog.model import Workload
from wirebench.trial import interrupt, ports
from wirebench.trial.cores import choose_cores
from wirebench.trial.process import GRACE_S
from wirebench.trial.start import Server, ServerSettings, StartError, describe_end, ended, start_server, tail_of
from wirebench.trial.supervise import Scope, Supervisor
from wirebench.trial.types import Failure, Program
from wirebench.trial.workloads import REST_BODY
from wirebench.verify.checks import Check, Mismatch, run_checks
from wirebench.verify.http import Connection, PeerError, exchange
from wirebench.verify.http_workloads import hello_checks, payload_checks, posting, rest_checks
from wirebench.verify.types import CheckResult, Verdict, verdict
from wirebench.verify.websocket_workloads import count_checks, echo_checks

_WORKLOADS: Mapping[Workload, Callable[[int], Iterator[Check]]] = {
    "http.hello": hello_checks,
    "http.payload": payload_checks,
    "rest": rest_checks,
    "ws.echo": echo_checks,
    "ws.count": count_checks,
}
DELAY_MS = 120
THREADS = 4


def verify_server(
    contestant: str,
    workload: Workload,
    program: Program,
    supervisor: Supervisor,
    *,
    port_seed: int = 0,
    start_timeout_ns: int | None = None,
) -> Verdict:
    """Start the server twice on one port and ask it everything its workload is about."""
    began = time.monotonic_ns()
    results: list[CheckResult] = []
    failure = None
    with supervisor.scope() as scope:
        try:
            failure = _first_start(scope, workload, program, results, port_seed=port_seed, timeout_ns=start_timeout_ns)
        except StartError as error:
            failure = error.failure
        except ports.NoPortError as error:
            failure = Failure(kind="generator_failed", phase="start", message=str(error))
    return verdict(contestant, "server", workload, tuple(results), elapsed_ns=time.monotonic_ns() - began, failure=failure)


def _first_start(
    scope: Scope, workload: Workload, program: Program, results: list[CheckResult], *, port_seed: int, timeout_ns: int | None
) -> Failure | None:
    # Where it will be measured, too: some races need two cores.
    cores = choose_cores().contestant
    settings = ServerSettings(workload=workload)
    server = start_server(scope, program, settings, cores=cores, port_seed=port_seed, timeout_ns=timeout_ns)

    results += run_checks(_WORKLOADS[workload](server.port), alive=lambda: not ended(server.process))
    if server.process.exit_code() is not None:
        return Failure(
            kind="crashed",
            phase="verify",
            message=f"the server {describe_end(server.process)} while it was checked",
            sent=results[-1].sent if results else None,
            expected=results[-1].expected if results else None,
            received=f"{results[-1].received if results else 'nothing'}; its last output: {tail_of(server.process)}",
        )
    results.append(_sigterm(server, "lifecycle.sigterm", "SIGTERM"))
    results += _second_start(scope, workload, program, server.port, timeout_ns=timeout_ns)
    return None


def _sigterm(server: Server, id_: str, sent: str, *, required: bool = True) -> CheckResult:
    passed = server.process.stop()
    return CheckResult(
        id=id_,
        passed=passed,
        required=required,
        sent=sent,
        expected=f"the end of all its processes within {GRACE_S:g} s",
        received="the end" if passed else f"still there after {GRACE_S:g} s, and killed",
    )


def _second_start(
    scope: Scope, workload: Workload, program: Program, port: int, *, timeout_ns: int | None
) -> Iterator[CheckResult]:
    """The port of a server that has just ended must do for the next; and the settings left at their defaults."""
    settings = ServerSettings(workload=workload, threads=THREADS, delay_ms=DELAY_MS if workload == "rest" else 0)
    sent, expected = "a start on the port it had before", f"a connection on {ports.HOST}:{port}"
    try:
        cores = choose_cores(THREADS).contestant
        server = start_server(scope, program, settings, cores=cores, port=port, timeout_ns=timeout_ns)
    except StartError as error:
        said = f"{error.failure.message}: {error.failure.received}"
        yield CheckResult(id="lifecycle.restart", passed=False, required=True, sent=sent, expected=expected, received=said)
        return
    yield CheckResult(id="lifecycle.restart", passed=True, required=True, sent=sent, expected=expected, received="a connection")
    if workload == "rest":
        yield from run_checks(_delay_checks(port), alive=lambda: not ended(server.process))
    # At the end of a trial a client may still hold connections.
    with interrupt.hold():
        try:
            idle: Connection | None = Connection(port)
        except PeerError:
            idle = None
        try:
            yield _sigterm(server, "lifecycle.sigterm_connected", "SIGTERM with a connection open", required=False)
        finally:
            if idle is not None:
                idle.close()


def _delay_checks(port: int) -> Iterator[Check]:
    asked = posting(REST_BODY.encode())
    what = f"{asked.sent}, with WIREBENCH_DELAY_MS={DELAY_MS}"

    def delayed() -> str:
        began = time.monotonic()
        asked.judge(exchange(port, asked.request(port)))
        took_ms = (time.monotonic() - began) * 1000
        if took_ms < DELAY_MS:
            raise Mismatch(expected=f"the reply after {DELAY_MS} ms or more", received=f"the reply after {took_ms:.0f} ms")
        return f"the reply after {took_ms:.0f} ms"

    yield Check(id="rest.delay", sent=what, expected=f"{asked.expected} after {DELAY_MS} ms or more", run=delayed)
    yield Check(
        id="rest.threads",
        sent=f"{THREADS} times at once: {what} WIREBENCH_THREADS={THREADS}",
        expected=f"{THREADS} replies sooner than {THREADS} delays one after another",
        run=lambda: _sooner(port),
        # It hangs on the machine too.
        required=False,
    )
    yield Check(
        id="rest.handlers",
        sent=f"{THREADS + 1} times at once: {what} WIREBENCH_THREADS={THREADS}",
        expected=f"the last reply after {2 * DELAY_MS} ms or more: one request waits until a handler is free",
        run=lambda: _one_waits(port),
    )


def _sooner(port: int) -> str:
    took_ms = _at_once(port, THREADS)
    if took_ms >= THREADS * DELAY_MS:
        raise Mismatch(expected=f"all within {THREADS * DELAY_MS} ms", received=f"all after {took_ms:.0f} ms")
    return f"all after {took_ms:.0f} ms"


def _one_waits(port: int) -> str:
    """A delay stands for processing and holds a handler: a service that only waits would be compared with those that work."""
    took_ms = _at_once(port, THREADS + 1)
    if took_ms < 2 * DELAY_MS:
        raise Mismatch(expected=f"the last after {2 * DELAY_MS} ms or more", received=f"the last after {took_ms:.0f} ms")
    return f"the last after {took_ms:.0f} ms"


def _at_once(port: int, count: int) -> float:
    """So many requests on connections of their own; milliseconds until the last is answered."""
    asked = posting(REST_BODY.encode())
    with ExitStack() as stack:
        connections = []
        for _ in range(count):
            connection = Connection(port)
            stack.callback(connection.close)
            connections.append(connection)
        began = time.monotonic()
        for connection in connections:
            # A server with a thread for each connection is free for the next only when one is closed.
            connection.send(asked.request(port, close=True))
        for connection in connections:
            asked.judge(connection.read_response())
        return (time.monotonic() - began) * 1000
