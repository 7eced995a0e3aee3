"""The check of a server: its replies, and that it stops and starts again as the contract says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from wirebench.catalog.model import ONE_PROCESS, Workload
from wirebench.catalog.units import count_of
from wirebench.process import interrupt, ports, process
from wirebench.process.certificates import issue
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
from wirebench.verify.delay_checks import DELAY_MS, THREADS, delay_checks, one_handler_check
from wirebench.verify.http import Connection, Peer, PeerError
from wirebench.verify.http_workloads import (
    hello_checks,
    payload_checks,
    posted_payload_checks,
    rest_checks,
)
from wirebench.verify.parity_checks import (
    crowd_check,
    handlers_check,
    nodelay_check,
    quiet_check,
    slow_head_check,
)
from wirebench.verify.survival_checks import survival_checks
from wirebench.verify.types import PLAIN, CheckResult, Traits, Verdict, verdict
from wirebench.verify.websocket_workloads import broadcast_checks, count_checks, echo_checks

_PROCESSES_WITHIN_S = 10.0
"""An interpreter on a busy core needs about a second for each."""

_WITH_THREADS = ("http.concurrent", "ws.concurrent", "broadcast.senders")
"""What is asked again of several threads in one process, which may share what they should not."""

_HTTP: Mapping[Workload, Callable[..., Iterator[Check]]] = {
    "http.hello": hello_checks,
    "http.payload": payload_checks,
    "rest": rest_checks,
}
_WEBSOCKET: Mapping[Workload, Callable[[Peer], Iterator[Check]]] = {
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
    """Start the server twice on one port, once more to count its handlers, and once more over TLS
    if it speaks that; run every check of its workload.

    ``timeouts``: wait for the limit of a request head too, for up to ``HEAD_WITHIN_S``.
    """
    began = time.monotonic_ns()
    results: list[CheckResult] = []
    failure = None
    with supervisor.scope() as scope:
        starts = _Starts(
            scope=scope,
            workload=workload,
            program=program,
            traits=traits,
            port_seed=port_seed,
            timeout_ns=start_timeout_ns,
        )
        try:
            failure = _first_start(starts, results, timeouts=timeouts)
            if failure is None and traits.tls:
                failure = _tls_start(starts, results)
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


@dataclass(frozen=True, kw_only=True)
class _Starts:
    """What all starts of the server have in common."""

    scope: Scope
    workload: Workload
    program: Program
    traits: Traits
    port_seed: int
    timeout_ns: int | None

    def start(
        self, settings: ServerSettings, *, threads: int = 1, port: int | None = None
    ) -> Server:
        """On the cores where it will be measured: some races need two cores. Errors:
        ``StartError``.
        """
        return start_server(
            self.scope,
            self.program,
            replace(settings, threads=self.traits.threads or threads),
            cores=choose_cores(threads).contestant,
            port_seed=self.port_seed,
            port=port,
            timeout_ns=self.timeout_ns,
        )


def _first_start(starts: _Starts, results: list[CheckResult], *, timeouts: bool) -> Failure | None:
    server = starts.start(ServerSettings(workload=starts.workload))
    peer = Peer(port=server.port)

    def questions() -> Iterator[Check]:
        yield from _questions(starts.workload, peer, starts.traits)
        yield _nodelay(starts, server, peer)
        # In rest they are counted by their delay.
        if starts.workload in ("http.hello", "http.payload") and starts.traits.threads is None:
            yield handlers_check(peer, starts.workload)
        yield crowd_check(peer)
        yield quiet_check(lambda: server.process.output.total_bytes)
        # After it: what ends a handler by an exception may print a line for each call.
        yield from _survival(starts, server, peer)
        if timeouts:
            yield slow_head_check(peer)

    failure = _ask(server, questions(), results)
    if failure is None:
        results.append(_sigterm(server, "lifecycle.sigterm", "SIGTERM"))
        results += _second_start(starts, server.port)
        if starts.workload == "rest" and starts.traits.threads is None:
            results += _start_with_one_handler(starts)
    return failure


def _tls_start(starts: _Starts, results: list[CheckResult]) -> Failure | None:
    """The same questions, asked over TLS. Its certificate must be the one that it was given."""
    import ssl  # only TLS needs it

    files = issue(starts.scope.folder)
    settings = ServerSettings(
        workload=starts.workload,
        tls_cert=str(files.certificate_file),
        tls_key=str(files.key_file),
    )
    try:
        server = starts.start(settings)
    except StartError as error:
        return replace(error.failure, message=f"over TLS: {error.failure.message}")
    peer = Peer(port=server.port, tls=ssl.create_default_context(cafile=str(files.ca_file)))

    def questions() -> Iterator[Check]:
        yield from _questions(starts.workload, peer, starts.traits)
        yield _nodelay(starts, server, peer)
        yield from _survival(starts, server, peer)

    over_tls = (
        replace(check, id=f"tls.{check.id}", sent=f"{check.sent}, over TLS")
        for check in questions()
    )
    failure = _ask(server, over_tls, results)
    if failure is None:
        results.append(_sigterm(server, "tls.lifecycle.sigterm", "SIGTERM, over TLS"))
    return failure


def _ask(server: Server, questions: Iterator[Check], results: list[CheckResult]) -> Failure | None:
    """Run the checks and add their results; the failure if the server ended."""
    results += run_checks(questions, alive=lambda: not ended(server.process))
    if server.process.exit_code() is None:
        return None
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


def _questions(workload: Workload, peer: Peer, traits: Traits) -> Iterator[Check]:
    if workload in _HTTP:
        yield from _HTTP[workload](peer, closes=traits.closes)
        if workload == "http.payload" and traits.posts:
            yield from posted_payload_checks(peer)
    else:
        yield from _WEBSOCKET[workload](peer)


def _nodelay(starts: _Starts, server: Server, peer: Peer) -> Check:
    return nodelay_check(peer, starts.workload, server.process.pids, closes=starts.traits.closes)


def _survival(starts: _Starts, server: Server, peer: Peer) -> Iterator[Check]:
    return survival_checks(peer, starts.workload, server.process.pids, posts=starts.traits.posts)


def _with_threads(checks: Iterable[Check]) -> Iterator[Check]:
    for check in checks:
        yield replace(
            check,
            id=f"threads.{check.id}",
            sent=f"{check.sent}, with WIREBENCH_THREADS={THREADS}",
        )


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
        received=count_of(found, "process", "processes"),
    )


def _start_with_one_handler(starts: _Starts) -> list[CheckResult]:
    server = starts.start(ServerSettings(workload=starts.workload, delay_ms=DELAY_MS))
    results = run_checks(
        [one_handler_check(Peer(port=server.port))], alive=lambda: not ended(server.process)
    )
    server.process.stop()
    return results


def _second_start(starts: _Starts, port: int) -> Iterator[CheckResult]:
    """A server's port must be usable right after it stopped; this also tests the
    default settings.
    """
    workload, traits = starts.workload, starts.traits
    settings = ServerSettings(workload=workload, delay_ms=DELAY_MS if workload == "rest" else 0)
    sent, expected = "a start on the port it had before", f"a connection on {ports.HOST}:{port}"
    try:
        server = starts.start(settings, threads=THREADS, port=port)
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
        yield from run_checks(
            _with_threads(_survival(starts, server, Peer(port=port))),
            alive=lambda: not ended(server.process),
        )
    elif workload != "rest":
        asked = _questions(workload, Peer(port=port), traits)
        yield from run_checks(
            _with_threads(check for check in asked if check.id in _WITH_THREADS),
            alive=lambda: not ended(server.process),
        )
    if workload == "rest":
        yield from run_checks(
            delay_checks(Peer(port=port), limited=traits.threads is None, closes=traits.closes),
            alive=lambda: not ended(server.process),
        )
    # At the end of a trial a client may still hold connections.
    with interrupt.hold():
        try:
            idle: Connection | None = Connection(Peer(port=port))
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
