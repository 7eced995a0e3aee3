"""The check of a client: its behaviour and its report, against the lab's own counting server."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from wirebench.catalog.loads import ClientLoad, ClientPolicy, HostName, Method
from wirebench.catalog.model import CALLED, SCHEMES, TLS_SCHEMES, Scheme, Workload
from wirebench.catalog.units import count_of
from wirebench.process.certificates import Certificates, issue
from wirebench.process.client import ClientRun, run_client
from wirebench.process.cores import choose_cores
from wirebench.process.names import refusal
from wirebench.process.process import Process
from wirebench.process.start import describe_end, tail_of
from wirebench.process.supervise import Scope, Supervisor
from wirebench.process.types import Program
from wirebench.verify.counting_server import SLOW_S, Counts, Misbehaviour, serving
from wirebench.verify.types import PLAIN, CheckResult, Traits, Verdict, verdict

WARMUP, OPERATIONS = 3, 17
LIMIT_NS = 20_000_000_000
"""The time limit of one client run. A virtual machine takes a second to start; the operations take
almost none.
"""
_TYPICAL_NS = 1_000_000

_SIZES = (16, 65_536)
_POLICIES: tuple[ClientPolicy, ...] = ("reuse", "new", "cold")
_POSTED_OVER_TLS: tuple[ClientPolicy, ...] = ("reuse", "new")
"""Those that are measured."""
_SLOW: tuple[ClientPolicy, ...] = ("reuse", "new")
_SURELY_NS = 20_000_000
"""What a sample from a slow server has at least: some clocks are coarse."""
_WRONGS: tuple[Misbehaviour, ...] = ("wrong_body", "short_body", "not_found")


def verify_client(
    contestant: str,
    workload: Workload,
    program: Program,
    supervisor: Supervisor,
    *,
    schemes: Sequence[Scheme] = SCHEMES,
    traits: Traits = PLAIN,
) -> Verdict:
    """Run the client against correct servers with each policy, and against wrong ones.

    ``schemes``: the schemes it calls. Those for the workload are checked, plain and over TLS.
    """
    began = time.monotonic_ns()
    results: list[CheckResult] = []
    with supervisor.scope() as scope:
        for scheme in schemes:
            if CALLED[scheme] != workload:
                continue
            checks = _tls_checks if scheme in TLS_SCHEMES else _checks
            for result in checks(scope, program, scheme, traits):
                results.append(result)
                if not result.passed and result.id.endswith(".ends"):
                    # A client that hangs does so each time; the other checks would only wait.
                    break
    return verdict(
        contestant, "client", workload, tuple(results), elapsed_ns=time.monotonic_ns() - began
    )


def _checks(
    scope: Scope, program: Program, scheme: Scheme, traits: Traits
) -> Iterator[CheckResult]:
    for policy in _POLICIES:
        for size in _SIZES:
            yield from _right(scope, program, _load(scheme, policy, size), traits)
    if refusal(scope.folder) is None:  # else no cell with such names is measured either
        # An attempt that ::1 refuses is no connection.
        load = _load(scheme, "new", 16, host="localhost")
        yield from _right(scope, program, load, traits)
    for policy in _SLOW:
        yield from _slow(scope, program, _load(scheme, policy, 16))
    for wrong in _WRONGS:
        yield from _wrong(scope, program, _load(scheme, "reuse", 1024), wrong)
    if scheme == "http":
        yield from _closing(scope, program, _load(scheme, "reuse", 16))
    if scheme == "http" and traits.posts:
        for policy in _POLICIES:
            for size in _SIZES:
                yield from _right(scope, program, _load(scheme, policy, size, "POST"), traits)
        yield from _wrong(scope, program, _load(scheme, "reuse", 1024, "POST"), "wrong_body")


def _tls_checks(
    scope: Scope, program: Program, scheme: Scheme, traits: Traits
) -> Iterator[CheckResult]:
    """The client's own work is the same as without TLS. Its check of the server's certificate is
    not.
    """
    right = issue(scope.folder)
    for policy in _POLICIES:
        yield from _right(scope, program, _load(scheme, policy, 65_536), traits, right)
    if scheme == "https" and traits.posts:
        # Of the size that is measured: undici gives up a connection that answers a larger body
        # before it has noticed that all of it was sent, and opens another one.
        for policy in _POSTED_OVER_TLS:
            yield from _right(scope, program, _load(scheme, policy, 1024, "POST"), traits, right)
    yield from _wrong(scope, program, _load(scheme, "reuse", 1024), "wrong_body", right)
    for what, certificates in (
        ("other_authority", issue(scope.folder, signed_by="stranger")),
        ("other_host", issue(scope.folder, host="another.example")),
    ):
        yield from _impostor(scope, program, _load(scheme, "reuse", 1024), what, certificates)


def _load(
    scheme: Scheme,
    policy: ClientPolicy,
    size: int,
    method: Method = "GET",
    host: HostName = "127.0.0.1",
) -> ClientLoad:
    return ClientLoad(
        scheme=scheme,
        policy=policy,
        payload_bytes=size,
        method=method,
        host=host,
        warmup=WARMUP,
        operations=OPERATIONS,
        typical_ns=_TYPICAL_NS,
    )


def _run(
    scope: Scope,
    program: Program,
    load: ClientLoad,
    misbehaviour: Misbehaviour,
    tls: Certificates | None = None,
) -> tuple[ClientRun, Process, Counts]:
    with serving(misbehaviour, tls, load.method) as server:
        run, process = run_client(
            scope,
            program,
            load,
            port=server.port,
            cores=choose_cores().generator,
            limit_ns=LIMIT_NS,
            ca_file=None if tls is None else tls.ca_file,
        )
    return run, process, server.counts


class _Says:
    """The results of one client run, under one prefix."""

    def __init__(self, name: str, load: ClientLoad, besides: str = "") -> None:
        post = load.method == "POST"
        named = load.host == "localhost"
        name = f"post.{name}" if post else f"localhost.{name}" if named else name
        self._name = f"{load.scheme}.{name}" if load.tls else name
        size = count_of(load.payload_bytes, "byte")
        self._sent = (
            f"{load.scheme}, {'POST, ' if post else ''}{load.policy}, {size},"
            f" {load.warmup} to warm up, {load.operations} operations"
            + (", to localhost, where ::1 refuses" if named else "")
            + (f", {besides}" if besides else "")
        )

    def that(
        self, what: str, passed: bool, *, expected: object, received: object, required: bool = True
    ) -> CheckResult:
        return CheckResult(
            id=f"{self._name}.{what}",
            passed=passed,
            required=required,
            sent=self._sent,
            expected=str(expected),
            received=str(received),
        )


def _ends(says: _Says, run: ClientRun, process: Process) -> CheckResult:
    return says.that(
        "ends",
        run.exit_code is not None,
        expected=f"an end within {LIMIT_NS / 1e9:g} s",
        received=(
            describe_end(process)
            if run.exit_code is not None
            else f"still running, and killed: {tail_of(process)}"
        ),
    )


def _right(
    scope: Scope,
    program: Program,
    load: ClientLoad,
    traits: Traits,
    tls: Certificates | None = None,
) -> Iterator[CheckResult]:
    run, process, counts = _run(scope, program, load, "none", tls)
    says = _Says(f"{load.policy}.{load.payload_bytes}", load)
    ends = _ends(says, run, process)
    yield ends
    if not ends.passed:
        return
    printed = tail_of(process)
    yield says.that(
        "exit_code",
        run.exit_code == 0,
        expected="exit code 0",
        received=f"{describe_end(process)}: {printed}",
    )
    report = run.report
    yield says.that(
        "json_line", report is not None, expected="one JSON line", received=run.problem or printed
    )
    yield says.that(
        "protocol",
        not counts.problems,
        expected="right requests",
        received=counts.problems[:1] or "right requests",
    )
    wanted = WARMUP + OPERATIONS
    yield says.that(
        "requests",
        counts.requests == wanted,
        expected=f"{wanted} requests at the server",
        received=counts.requests,
    )
    if report is None:
        return
    yield says.that(
        "operations",
        report.operations == OPERATIONS,
        expected=OPERATIONS,
        received=report.operations,
    )
    yield says.that(
        "errors", report.errors == 0, expected="0 errors", received=f"{report.errors}: {printed}"
    )
    yield says.that(
        "connections_said",
        report.connections == counts.connections,
        expected=f"what the server counted: {counts.connections}",
        received=report.connections,
    )
    most = traits.kept_connections if load.policy == "reuse" else wanted
    least = 1 if load.policy == "reuse" else wanted
    wanted_text = count_of(most, "connection")
    wanted_text = wanted_text if least == most else f"{least} to {wanted_text}"
    yield says.that(
        "connections",
        least <= counts.connections <= most,
        expected=f"{wanted_text} at the server",
        received=counts.connections,
    )
    yield from _samples(says, run, wall_ns=report.wall_ns)
    cpu_ns = report.cpu_user_ns + report.cpu_system_ns
    yield says.that(
        "cpu",
        cpu_ns > 0,
        expected="processor time above 0",
        received=f"{cpu_ns} ns",
        required=False,
    )


def _samples(says: _Says, run: ClientRun, *, wall_ns: int) -> Iterator[CheckResult]:
    samples = run.samples
    yield says.that(
        "samples",
        len(samples) == OPERATIONS and bool((samples > 0).all()),
        expected=f"{OPERATIONS} samples above 0 in WIREBENCH_SAMPLES",
        received=f"{count_of(len(samples), 'sample')}: {samples[:5].tolist()}",
    )
    # Operations run one after another, so their sum cannot exceed the total.
    total = int(samples.sum()) if len(samples) else 0
    yield says.that(
        "samples_sum",
        total <= wall_ns,
        expected=f"samples of {wall_ns} ns in all at most",
        received=f"{total} ns",
    )


def _slow(scope: Scope, program: Program, load: ClientLoad) -> Iterator[CheckResult]:
    """Times in another unit, of another moment, or of several operations at once are found by a
    server whose time is known.
    """
    began = time.monotonic_ns()
    run, process, counts = _run(scope, program, load, "slow")
    elapsed_ns = time.monotonic_ns() - began
    says = _Says(f"slow.{load.policy}", load, f"from a server that takes {SLOW_S * 1e3:g} ms each")
    ends = _ends(says, run, process)
    yield ends
    if not ends.passed:
        return
    yield says.that(
        "protocol",
        not counts.problems,
        expected="a request, its reply, and then the next request",
        received=counts.problems[:1] or "right requests",
    )
    report = run.report
    yield says.that(
        "json_line",
        report is not None,
        expected="one JSON line",
        received=run.problem or tail_of(process),
    )
    if report is None:
        return
    # A new connection of WebSocket has a handshake, which is part of the operation.
    waits = 2 if load.scheme == "ws" and load.policy == "new" else 1
    shortest = int(run.samples.min()) if len(run.samples) else 0
    yield says.that(
        "samples",
        shortest >= waits * _SURELY_NS,
        expected=f"samples of {waits * _SURELY_NS} ns or more, as the server takes that long",
        received=f"one of {shortest} ns",
    )
    yield says.that(
        "wall",
        OPERATIONS * waits * _SURELY_NS <= report.wall_ns <= elapsed_ns,
        expected=(
            f"wall_ns from {OPERATIONS * waits * _SURELY_NS} to {elapsed_ns}, the time of the"
            " whole process"
        ),
        received=report.wall_ns,
    )


def _wrong(
    scope: Scope,
    program: Program,
    load: ClientLoad,
    misbehaviour: Misbehaviour,
    tls: Certificates | None = None,
) -> Iterator[CheckResult]:
    """A client that counts wrong replies as operations would be the fastest of all."""
    run, process, _ = _run(scope, program, load, misbehaviour, tls)
    says = _Says(f"wrong.{misbehaviour}", load, f"from a server that misbehaves: {misbehaviour}")
    yield from _reported(says, run, process)


def _impostor(
    scope: Scope, program: Program, load: ClientLoad, what: str, tls: Certificates
) -> Iterator[CheckResult]:
    """A client that ignores certificates saves the time of checking them, and is insecure."""
    run, process, counts = _run(scope, program, load, "none", tls)
    says = _Says(f"impostor.{what}", load, f"from a server whose certificate is wrong: {what}")
    yield from _reported(says, run, process)
    yield says.that(
        "requests",
        counts.requests == 0,
        expected="no request at the server",
        received=counts.requests,
    )


def _reported(says: _Says, run: ClientRun, process: Process) -> Iterator[CheckResult]:
    ends = _ends(says, run, process)
    yield ends
    if not ends.passed:
        return
    errors = run.report.errors if run.report is not None else None
    line = "no JSON line" if errors is None else count_of(errors, "error")
    said = f"{describe_end(process)}, {line}"
    yield says.that(
        "reported",
        run.exit_code != 0 and errors != 0,
        expected="exit code 1, and errors in the JSON line if there is one",
        received=said,
    )


def _closing(scope: Scope, program: Program, load: ClientLoad) -> Iterator[CheckResult]:
    """Servers close kept connections after some requests. A client that opens new ones must report
    them.
    """
    run, process, counts = _run(scope, program, load, "close_each")
    says = _Says("closing", load, "from a server that closes after each reply")
    ends = _ends(says, run, process)
    yield ends
    if not ends.passed or run.report is None:
        return
    said = run.report.connections
    yield says.that(
        "connections_said",
        said == counts.connections,
        expected=f"what the server counted: {counts.connections}",
        received=f"{said}, with {count_of(run.report.errors, 'error')}",
    )
