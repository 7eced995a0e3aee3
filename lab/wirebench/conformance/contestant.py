"""Probe a contestant. It is started as for a trial, and started again when a probe ended it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from wirebench.catalog.loads import ClientLoad
from wirebench.catalog.model import Workload
from wirebench.conformance.answers import BODY_BYTES, Called
from wirebench.conformance.client_probes import NOWHERE, client_probes
from wirebench.conformance.run import probes_for, run_probes
from wirebench.conformance.types import PARTS, Part, Probe, ProbeResult, Target
from wirebench.process import ports
from wirebench.process.client import run_client
from wirebench.process.cores import choose_cores
from wirebench.process.process import Process
from wirebench.process.start import ServerSettings, StartError, ended, start_server, tail_of
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Failure, Program

FILE = "conformance.json"
"""A file in the contestant's build folder, whose name changes with the content: the results are
valid as long as the build is.
"""
SCHEMA = 1
MOST_STARTS = 20
"""The most starts of one contestant: one that crashes at each probe is not started a hundred times.
"""
CLIENT_LIMIT_NS = 20_000_000_000
"""A client that hangs at a response is ended then."""
CLIENT_TYPICAL_NS = 1_000_000
PROBED: dict[Workload, tuple[str | None, str | None]] = {
    "http.hello": ("/route_01", None),
    "rest": ("/test/status", None),
    "http.payload": ("/payload/16", None),
    "ws.echo": (None, "/"),
}
"""The resource and the echo path to probe, by workload. ``ws.count`` echoes nothing."""
PART_OF: dict[Workload, tuple[Part, ...]] = {
    "http.hello": ("http",),
    "rest": ("http",),
    "http.payload": ("http",),
    "ws.echo": ("websocket", "deflate"),
    "ws.count": ("websocket", "deflate"),
    "ws.broadcast": ("websocket", "deflate"),
}
"""The part that matters for a contestant in a study with this workload, whatever workload was
probed.
"""


def probed_workloads(serves: Sequence[Workload]) -> tuple[Workload, ...]:
    """The workloads to probe: the first HTTP workload in the order above, and the echo. A library's
    parser is the same under all of them.
    """
    http = [one for one in PROBED if one in serves and PROBED[one][0] is not None]
    echo = [one for one in PROBED if one in serves and PROBED[one][1] is not None]
    return (*http[:1], *echo)


def probe_contestant(
    workload: Workload,
    program: Program,
    supervisor: Supervisor,
    *,
    progress: Callable[[Probe], None] = lambda _: None,
) -> tuple[tuple[ProbeResult, ...], Failure | None]:
    """All results, and the failure that ended the probes early, if any."""
    path, websocket_path = PROBED[workload]
    results: list[ProbeResult] = []
    for start in range(MOST_STARTS):
        with supervisor.scope() as scope:
            try:
                server = start_server(
                    scope,
                    program,
                    ServerSettings(workload=workload),
                    cores=choose_cores().contestant,
                    port_seed=time.time_ns() + start,
                )
            except StartError as error:
                return tuple(results), error.failure
            except ports.NoPortError as error:
                return tuple(results), Failure(
                    kind="generator_failed", phase="start", message=str(error)
                )
            target = Target(
                host=ports.HOST, port=server.port, path=path, websocket_path=websocket_path
            )
            left = list(probes_for(target, PARTS))[len(results) :]
            alive = partial(_is_alive, server.process)
            results += run_probes(target, left, alive=alive, progress=progress)
            if len(results) == len(list(probes_for(target, PARTS))):
                return tuple(results), None
    message = f"it exited at {MOST_STARTS} probes; the others did not run"
    return tuple(results), Failure(kind="crashed", phase="verify", message=message)


def probe_client(
    program: Program,
    supervisor: Supervisor,
    *,
    progress: Callable[[Probe], None] = lambda _: None,
) -> tuple[ProbeResult, ...]:
    """The probes of HTTP clients, each with a run of the contestant's client."""
    with supervisor.scope() as scope:

        def call(port: int, operations: int) -> Called:
            load = ClientLoad(
                scheme="http",
                policy="reuse",
                payload_bytes=BODY_BYTES,
                warmup=0,
                operations=operations,
                typical_ns=CLIENT_TYPICAL_NS,
            )
            cores = choose_cores().generator
            run, process = run_client(
                scope, program, load, port=port, cores=cores, limit_ns=CLIENT_LIMIT_NS
            )
            return Called(
                ended=run.exit_code is not None,
                errors=None if run.report is None else run.report.errors,
                said=tail_of(process),
            )

        return run_probes(NOWHERE, client_probes(call), progress=progress)


def _is_alive(process: Process) -> bool:
    return not ended(process)


def write_results(folder: Path, results: Sequence[ProbeResult]) -> None:
    document = {"schema": SCHEMA, "results": [result.record() for result in results]}
    (folder / FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def read_results(folder: Path, workload: Workload) -> tuple[dict[str, Any], ...]:
    """The stored results of this build that matter for the workload. Empty if it was
    never probed.
    """
    try:
        document = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        return ()
    return tuple(one for one in document["results"] if one["part"] in PART_OF[workload])
