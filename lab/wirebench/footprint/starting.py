"""From a program's start to its first reply, and its memory when it has nothing to do."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wirebench.catalog.loads import ClientLoad
from wirebench.catalog.model import CALLED, TLS_SCHEMES, Contestant, Scheme, Workload
from wirebench.footprint.model import FootprintError
from wirebench.process import certificates, interrupt
from wirebench.process.client import run_client
from wirebench.process.cores import choose_cores
from wirebench.process.ports import NoPortError
from wirebench.process.start import ServerSettings, StartError, start_server
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.verify.http import Connection, Peer, PeerError
from wirebench.verify.websocket import shake_hands

_STARTS = 5
_SETTLE_S = 0.5
"""What a runtime does after the first reply, it mostly does within it. Our own choice."""
_LIMIT_NS = 20_000_000_000


@dataclass(frozen=True, kw_only=True)
class Started:
    first_reply_ns: int
    """The median of several starts, after one that fills the page cache."""
    idle_bytes: int | None
    """Proportional set size of all its processes."""


def start_of_server(contestant: Contestant, program: Program, supervisor: Supervisor) -> Started:
    """Errors: ``FootprintError``."""
    workload = contestant.serves[0]
    replies, idle = [], []
    for attempt in range(1 + _STARTS):
        with supervisor.scope() as scope:
            settings = ServerSettings(workload=workload)
            try:
                cores = choose_cores().contestant
                server = start_server(scope, program, settings, cores=cores, port_seed=attempt)
                ask_once(workload, server.port)
                reply_ns = time.monotonic_ns() - server.process.started_ns
            except (StartError, PeerError, NoPortError) as error:
                raise FootprintError(f"the server of {workload}: {error}") from error
            with interrupt.waiting():
                time.sleep(_SETTLE_S)
            memory = proportional_bytes(server.process.pids())
        if attempt:
            replies.append(reply_ns)
            idle.append(memory)
    known = [one for one in idle if one is not None]
    return Started(
        first_reply_ns=round(statistics.median(replies)),
        idle_bytes=round(statistics.median(known)) if known else None,
    )


def ask_once(workload: Workload, port: int) -> None:
    """One request or message, and its whole reply. Errors: ``PeerError``."""
    connection = Connection(Peer(port=port))
    try:
        if workload.startswith("ws."):
            websocket = shake_hands(connection)
            websocket.send_text('{"c":1}')
            websocket.read_message()
        else:
            path = {"http.hello": "/route_01", "http.payload": "/payload/16"}.get(
                workload, "/test/status"
            )
            connection.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            connection.read_response()
    finally:
        connection.close()


def start_of_client(
    contestant: Contestant, program: Program, server: Program, supervisor: Supervisor
) -> Started:
    """A whole run of one operation against the server. Errors: ``FootprintError``."""
    scheme: Scheme = contestant.calls[0]
    times = []
    for attempt in range(1 + _STARTS):
        with supervisor.scope() as scope:
            files = certificates.issue(scope.folder) if scheme in TLS_SCHEMES else None
            settings = ServerSettings(
                workload=CALLED[scheme],
                tls_cert=str(files.certificate_file) if files is not None else "",
                tls_key=str(files.key_file) if files is not None else "",
            )
            cores = choose_cores()
            load = ClientLoad(
                scheme=scheme,
                policy="reuse",
                payload_bytes=16,
                warmup=0,
                operations=1,
                typical_ns=1_000_000,
            )
            try:
                running = start_server(
                    scope, server, settings, cores=cores.contestant, port_seed=attempt
                )
            except (StartError, NoPortError) as error:
                raise FootprintError(f"the server for it: {error}") from error
            began = time.monotonic_ns()
            run, _ = run_client(
                scope,
                program,
                load,
                port=running.port,
                cores=cores.generator,
                limit_ns=_LIMIT_NS,
                ca_file=files.ca_file if files is not None else None,
            )
            took = time.monotonic_ns() - began
        if run.report is None or run.exit_code != 0 or run.report.errors:
            raise FootprintError(f"the client of {scheme}: {run.problem or 'its operation failed'}")
        if attempt:
            times.append(took)
    return Started(first_reply_ns=round(statistics.median(times)), idle_bytes=None)


def proportional_bytes(pids: Iterable[int]) -> int | None:
    """Pages that several processes share count in parts (proc_pid_smaps, Pss). None where the host
    does not tell.
    """
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        except OSError:
            return None
        found = re.search(r"(?m)^Pss:\s+(\d+) kB", text)
        if found is None:
            return None
        total += int(found[1]) * 1024
    return total or None
