"""The check of a server: its replies, and that it stops and starts again as the contract says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from wirebench.catalog.model import ONE_PROCESS, Workload
from wirebench.process import interrupt, ports, process
from wirebench.process.cores import choose_cores
from wirebench.process.start import (
    Server,
    ServerSettings,
    StartError,
    describe_end,
    ended,
    start_server,
    tail_of,
)
from wirebench.process.supervise import Scope, Supervisor
from wirebench.process.types import Failure, Program
from wirebench.verify.checks import Check, run_checks
from wirebench.verify.delay_checks import DELAY_MS, THREADS, delay_checks
from wirebench.verify.http import Connection, PeerError
from wirebench.verify.http_workloads import (
    hello_checks,
    payload_checks,
    posted_payload_checks,
    rest_checks,
)
from wirebench.verify.parity_checks import crowd_check, slow_head_check
from wirebench.verify.types import PLAIN, CheckResult, Traits, Verdict, verdict
from wirebench.verify.websocket_workloads import broadcast_checks, count_checks, echo_checks

_PROCESSES_WITHIN_S = 10.0
"""An interpreter on a busy core needs about a second for each."""

_HTTP: Mapping[Workload, Callable[..., Iterator[Check]]] = {
    "http.hello": hello_checks,
    "http.payload": payload_checks,
    "rest": rest_checks,
}
_WEBSOCKET: Mapping[Workload, Callable[[int], Iterator[Check]]] = {
    "ws.echo": echo_checks,
    "ws.count": count_checks,
    "ws.broadcast": broadcast_checks,
}


def verify_server(
    contestant: str,
    workload: Workload,
    program: Program,
    supervisor: Supervisor,
    *,
    port_seed: int = 0,
    start_timeout_ns: int | None = None,
    traits: Traits = PLAIN,
    timeouts: bool = False,
) -> Verdict:
    """Start the server twice on one port and run every check of its workload.

    ``timeouts``: wait for the limit of a request head too, for up to ``HEAD_WITHIN_S``.
    """
    began = time.monotonic_ns()
    results: list[CheckResult] = []
    failure = None
    with supervisor.scope() as scope:
        try:
            failure = _first_start(
                scope,
                workload,
                program,
                results,
                port_seed=port_seed,
                timeout_ns=start_timeout_ns,
                traits=traits,
                timeouts=timeouts,
            )
        except StartError as error:
            failure = error.failure
        except ports.NoPortError as error:
            failure = Failure(kind="generator_failed", phase="start", message=str(error))
    return verdict(
        contestant,
        "server",
        workload,
        tuple(results),
        elapsed_ns=time.monotonic_ns() - began,
        failure=failure,
    )


def _first_start(
    scope: Scope,
    workload: Workload,
    program: Program,
    results: list[CheckResult],
    *,
    port_seed: int,
    timeout_ns: int | None,
    traits: Traits,
    timeouts: bool,
) -> Failure | None:
    # On the core where it will be measured: some races need two cores.
    cores = choose_cores().contestant
    settings = ServerSettings(workload=workload, threads=traits.threads or 1)
    server = start_server(
        scope, program, settings, cores=cores, port_seed=port_seed, timeout_ns=timeout_ns
    )

    results += run_checks(
        _questions(workload, server.port, traits, timeouts=timeouts),
        alive=lambda: not ended(server.process),
    )
    if server.process.exit_code() is not None:
        return Failure(
            kind="crashed",
            phase="verify",
            message=f"the server {describe_end(server.process)} while it was checked",
            sent=results[-1].sent if results else None,
            expected=results[-1].expected if results else None,
            received=(
                f"{results[-1].received if results else 'nothing'}; its last output:"
                f" {tail_of(server.process)}"
            ),
        )
    results.append(_sigterm(server, "lifecycle.sigterm", "SIGTERM"))
    results += _second_start(
        scope, workload, program, server.port, timeout_ns=timeout_ns, traits=traits
    )
    return None


def _questions(workload: Workload, port: int, traits: Traits, *, timeouts: bool) -> Iterator[Check]:
    if workload in _HTTP:
        yield from _HTTP[workload](port, closes=traits.closes)
        if workload == "http.payload" and traits.posts:
            yield from posted_payload_checks(port)
    else:
        yield from _WEBSOCKET[workload](port)
    yield crowd_check(port)
    if timeouts:
        yield slow_head_check(port)


def _sigterm(server: Server, id_: str, sent: str, *, required: bool = True) -> CheckResult:
    passed = server.process.stop()
    return CheckResult(
        id=id_,
        passed=passed,
        required=required,
        sent=sent,
        expected=f"the end of all its processes within {process.GRACE_S:g} s",
        received="the end" if passed else f"still there after {process.GRACE_S:g} s, and killed",
    )


def _processes(server: Server) -> CheckResult:
    """The rule of ``processes = true``. The others may come after the first that accepts."""
    deadline = time.monotonic() + _PROCESSES_WITHIN_S
    with interrupt.waiting():
        while (found := len(server.process.pids())) < THREADS and time.monotonic() < deadline:
            time.sleep(0.02)
    return CheckResult(
        id="parity.processes",
        passed=found >= THREADS,
        required=True,
        sent=f"a start with WIREBENCH_THREADS={THREADS}",
        expected=f"{THREADS} processes, since its manifest has processes = true",
        received=f"{found} process{'' if found == 1 else 'es'}",
    )


def _second_start(
    scope: Scope,
    workload: Workload,
    program: Program,
    port: int,
    *,
    timeout_ns: int | None,
    traits: Traits,
) -> Iterator[CheckResult]:
    """A server's port must be usable right after it stopped; this also tests the
    default settings.
    """
    settings = ServerSettings(
        workload=workload,
        threads=traits.threads or THREADS,
        delay_ms=DELAY_MS if workload == "rest" else 0,
    )
    sent, expected = "a start on the port it had before", f"a connection on {ports.HOST}:{port}"
    try:
        cores = choose_cores(THREADS).contestant
        server = start_server(
            scope, program, settings, cores=cores, port=port, timeout_ns=timeout_ns
        )
    except StartError as error:
        said = f"{error.failure.message}: {error.failure.received}"
        yield CheckResult(
            id="lifecycle.restart",
            passed=False,
            required=True,
            sent=sent,
            expected=expected,
            received=said,
        )
        return
    yield CheckResult(
        id="lifecycle.restart",
        passed=True,
        required=True,
        sent=sent,
        expected=expected,
        received="a connection",
    )
    if workload not in ONE_PROCESS and traits.processes:
        yield _processes(server)
    if workload == "rest":
        yield from run_checks(
            delay_checks(port, limited=traits.threads is None),
            alive=lambda: not ended(server.process),
        )
    # At the end of a trial a client may still hold connections.
    with interrupt.hold():
        try:
            idle: Connection | None = Connection(port)
        except PeerError:
            idle = None
        try:
            yield _sigterm(
                server,
                "lifecycle.sigterm_connected",
                "SIGTERM with a connection open",
                required=False,
            )
        finally:
            if idle is not None:
                idle.close()
