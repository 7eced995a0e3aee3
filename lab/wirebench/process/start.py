"""Start a server and wait until it accepts connections; explain why if it does not."""

from __future__ import annotations

import base64
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from wirebench.process import interrupt, ports, procfs
from wirebench.process.network import LOOPBACK, Network
from wirebench.process.process import Process
from wirebench.process.supervise import Scope
from wirebench.process.types import Failure, Program

START_TIMEOUT_NS = 20_000_000_000
"""A JIT-compiling runtime on a busy core needs a few seconds."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.0005, 0.002
"""Between attempts to connect. An attempt costs this program, which runs on another core than the
server, some 0.05 ms.
"""
_PORT_TRIES = 3
_TAKEN = ("address already in use", "eaddrinuse", "errno 98", "os error 98", "address in use")
_TAIL_CHARACTERS = 2000
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, the cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
"""What tells a terminal something, but is no text (ECMA-48)."""


class Text(Protocol):
    def text(self) -> str: ...


class Observed(Protocol):
    """What is seen of a process, here or on another host."""

    @property
    def output(self) -> Text: ...

    @property
    def errors(self) -> Text | None: ...

    def exit_code(self) -> int | None:
        """None while it runs. The negative signal number if a signal ended it."""
        ...


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server that has accepted a connection."""

    process: Process
    port: int
    ready_ns: int


class StartError(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """The environment variables of the server contract, except the port."""

    workload: str
    threads: int = 1
    delay_ms: int = 0
    environment_bytes: int = 0
    closes_after: int = 0
    tls_cert: str = ""
    tls_key: str = ""
    tls_sessions: str = ""
    """The file in which the server notes who resumed one; empty: it issues none."""
    accepted: str = ""
    """The file of ``accepted.accepted_connections``; empty: the server need not count."""


def server_environment(
    settings: ServerSettings, port: int, *, host: str = ports.HOST
) -> dict[str, str]:
    return {
        "WIREBENCH_WORKLOAD": settings.workload,
        "WIREBENCH_HOST": host,
        "WIREBENCH_PORT": str(port),
        "WIREBENCH_THREADS": str(settings.threads),
        "WIREBENCH_DELAY_MS": str(settings.delay_ms),
        "WIREBENCH_CLOSES_AFTER": str(settings.closes_after),
        "WIREBENCH_TLS_CERT": settings.tls_cert,
        "WIREBENCH_TLS_KEY": settings.tls_key,
        "WIREBENCH_TLS_SESSIONS": settings.tls_sessions,
        "WIREBENCH_ACCEPTED": settings.accepted,
        "WIREBENCH_PAD": pad(settings.environment_bytes),
    }


def pad(size: int) -> str:
    """A filler of that many bytes, without meaning to any program."""
    return base64.b64encode(random.Random(size).randbytes(size)).decode()[:size]


def start_server(
    scope: Scope,
    program: Program,
    settings: ServerSettings,
    *,
    cores: Sequence[int] = (),
    port_seed: int = 0,
    port: int | None = None,
    timeout_ns: int | None = None,
    ready_path: str | None = None,
    ready_tls: bool = False,
    extra_env: Mapping[str, str] | None = None,
    network: Network = LOOPBACK,
) -> Server:
    """Start a server in the network, on a free port, or on ``port``, which replaces ``{port}`` in
    its command and in the values of ``extra_env``. ``StartError`` if it never accepts a connection,
    or with ``ready_path`` never answers a GET of that with 2xx or 3xx, asked over TLS with
    ``ready_tls``.

    Another program may take the port before the server binds it; then this tries another port.
    """
    for attempt in range(_PORT_TRIES):
        chosen = network.free_port(port_seed + attempt) if port is None else port
        process = scope.start(
            [word.replace("{port}", str(chosen)) for word in program.argv],
            name="server",
            cwd=program.folder,
            env={
                **server_environment(settings, chosen, host=network.address),
                **{
                    name: value.replace("{port}", str(chosen))
                    for name, value in (extra_env or {}).items()
                },
            },
            cores=cores,
            enter=network.enter,
        )
        outcome = _wait_ready(
            process,
            chosen,
            START_TIMEOUT_NS if timeout_ns is None else timeout_ns,
            ready_path=ready_path,
            ready_tls=ready_tls,
            network=network,
        )
        if isinstance(outcome, int):
            return Server(process=process, port=chosen, ready_ns=outcome)
        if outcome is not None and (port is not None or attempt == _PORT_TRIES - 1):
            raise StartError(outcome)
        process.stop()
        if outcome is not None and not _port_was_taken(process, chosen, network):
            raise StartError(outcome)
    raise StartError(
        Failure(
            kind="start_crashed",
            phase="start",
            message=(
                f"port {chosen} accepts connections, but no process that the command started is"
                " seen to listen there: another program took it, or the server runs elsewhere"
                " (container, sudo, service); 'duel' and 'gate' take its address instead"
            ),
            expected=f"a process of the command that listens on {network.address}:{chosen}",
            received=tail_of(process),
        )
    )


def _wait_ready(
    process: Process,
    port: int,
    timeout_ns: int,
    *,
    ready_path: str | None,
    ready_tls: bool,
    network: Network,
) -> int | Failure | None:
    """Nanoseconds to the first connection (or the first good answer to a GET of ``ready_path``),
    the failure, or None if another program has the port.
    """
    waited_for = "a connection on" if ready_path is None else f"GET {ready_path} answered on"
    deadline = process.started_ns + timeout_ns
    pause_s = _FIRST_PAUSE_S
    while True:
        if (
            network.accepts(port)
            if ready_path is None
            else ports.answers(port, ready_path, tls=ready_tls)
        ):
            ready_ns = time.monotonic_ns() - process.started_ns
            # One that forks and ends meanwhile, as a daemon does, has other processes at the second
            # look: the socket is those'.
            found = any(network.listens_for(process.pids(), port) for _look in range(2))
            return ready_ns if found else None
        if process.exit_code() is not None:
            process.stop()
            # What a shell started with & is ended with it.
            hint = "; keep it in the foreground" if process.exit_code() == 0 else ""
            return Failure(
                kind="start_crashed",
                phase="start",
                message=(
                    f"the server {describe_end(process)} before it was ready on port {port}{hint}"
                ),
                expected=f"{waited_for} {network.address}:{port}",
                received=tail_of(process),
            )
        if time.monotonic_ns() > deadline:
            where = () if network.holder is not None else procfs.listening_at(process.pids())
            hint = f"; it listens on {', '.join(where)}" if where else ""
            process.stop()
            return Failure(
                kind="start_timeout",
                phase="start",
                message=(
                    f"the server runs, but was not ready on port {port} in {timeout_ns / 1e9:g} s"
                    f"{hint}"
                ),
                expected=f"{waited_for} {network.address}:{port}",
                received=tail_of(process),
            )
        with interrupt.waiting():
            time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)


def _port_was_taken(process: Process, port: int, network: Network) -> bool:
    text = process.output.text().lower()
    return not network.is_free(port) or any(words in text for words in _TAKEN)


_LAST_BREATH_S = 0.1


def ended(process: Process) -> bool:
    """Whether a process that has just closed its connections has exited; its remaining output is
    then read.

    The kernel closes the files of a dying process a moment before it reports its exit.
    """
    if process.wait(_LAST_BREATH_S) is None:
        return False
    process.stop()
    return True


def describe_end(process: Observed) -> str:
    code = process.exit_code()
    if code is None:
        return "still runs"
    return f"exited with {code}" if code >= 0 else f"was ended by signal {-code}"


def tail_of(process: Observed) -> str:
    """The end of its output, for a failure's ``received``: text alone, since it is printed, and a
    server may colour its log or send a terminal whatever it likes.
    """
    text = process.output.text().strip()
    if process.errors is not None:
        text = f"{text}\n{process.errors.text().strip()}".strip()
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if not text:
        return "(it printed nothing)"
    return text if len(text) <= _TAIL_CHARACTERS else "..." + text[-_TAIL_CHARACTERS:]
