"""Runs of a client against a server that is started for it, outside timed trials."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from wirebench.catalog.loads import HOST, ClientLoad
from wirebench.catalog.model import Workload
from wirebench.process import certificates, names
from wirebench.process.client import ClientRun, run_client
from wirebench.process.cores import choose_cores
from wirebench.process.ports import NoPortError
from wirebench.process.start import StartError, start_server, tail_of
from wirebench.process.supervise import Scope
from wirebench.process.types import Program
from wirebench.trial.setup import settings_for_client

LIMIT_NS = 120_000_000_000


class CallError(Exception):
    """There is no figure. The message says why."""


@dataclass(frozen=True, kw_only=True)
class Served:
    port: int
    ca_file: Path | None
    """The authority to trust over TLS; None without TLS."""


def serve(scope: Scope, server: Program, load: ClientLoad, workload: Workload) -> Served:
    """Start the server that the load calls. Errors: ``CallError``."""
    if load.host != HOST and (why := names.refusal(scope.folder)) is not None:
        raise CallError(f"no {load.host} of its own: {why}")
    files = certificates.issue(scope.folder) if load.tls else None
    settings = replace(
        settings_for_client(load, workload, scope.folder),
        tls_cert=str(files.certificate_file) if files is not None else "",
        tls_key=str(files.key_file) if files is not None else "",
    )
    cores = choose_cores()
    try:
        running = start_server(
            scope, server, settings, cores=cores.contestant, port_seed=time.time_ns()
        )
    except (StartError, NoPortError) as error:
        raise CallError(f"the server for it: {error}") from error
    return Served(port=running.port, ca_file=files.ca_file if files is not None else None)


def call(scope: Scope, client: Program, load: ClientLoad, served: Served) -> ClientRun:
    """Run the client to its end. Errors: ``CallError`` if an operation failed."""
    run, process = run_client(
        scope,
        client,
        load,
        port=served.port,
        cores=choose_cores().generator,
        limit_ns=LIMIT_NS,
        ca_file=served.ca_file,
    )
    if run.report is None or run.exit_code != 0 or run.report.errors:
        why = run.problem or "an operation failed"
        raise CallError(f"{why}; its last output: {tail_of(process)}")
    return run
