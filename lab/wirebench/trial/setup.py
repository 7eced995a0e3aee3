"""What precedes and follows the load in both kinds of trial: the server's start and its end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from wirebench.catalog.studies import over_tls
from wirebench.catalog.workloads import WebSocketMessage
from wirebench.process import certificates, ports
from wirebench.process.cores import choose_cores
from wirebench.process.start import (
    Server,
    ServerSettings,
    describe_end,
    ended,
    start_server,
    tail_of,
)
from wirebench.process.supervise import Scope
from wirebench.process.types import Cores, Program
from wirebench.trial.outcome import Outcome
from wirebench.trial.types import TrialSpec


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A server that accepts connections, and what the load on it needs."""

    server: Server
    origin: str
    """``scheme://host:port``"""
    cores: Cores
    ca_file: Path | None
    """The authority to trust over TLS; None without TLS."""


def start_for_load(
    spec: TrialSpec, outcome: Outcome, settings: ServerSettings, *, program: Program, scope: Scope
) -> Ready:
    """Start the trial's server, with a certificate if the load uses TLS. ``StartError`` if it does
    not accept connections.
    """
    cores = choose_cores(spec.threads)
    own = spec.own
    ca_file = None
    if over_tls(spec.load):
        files = certificates.issue(scope.folder)
        ca_file = files.ca_file
        settings = replace(
            settings, tls_cert=str(files.certificate_file), tls_key=str(files.key_file)
        )
    server = start_server(
        scope,
        program,
        settings,
        cores=cores.contestant,
        port_seed=spec.port_seed,
        timeout_ns=own.start_timeout_ns if own is not None else None,
        ready_path=own.ready_path if own is not None else None,
        extra_env=own.environment if own is not None else None,
    )
    outcome.port, outcome.ready_ns = server.port, server.ready_ns
    origin = f"{_scheme(spec, tls=ca_file is not None)}://{ports.HOST}:{server.port}"
    return Ready(server=server, origin=origin, cores=cores, ca_file=ca_file)


def _scheme(spec: TrialSpec, *, tls: bool) -> str:
    if spec.own is not None:
        return spec.own.scheme
    return ("ws" if isinstance(spec.request, WebSocketMessage) else "http") + ("s" if tls else "")


@dataclass(frozen=True, kw_only=True)
class ServerEnd:
    how: str
    """Such as ``exited with 1``."""
    output: str
    """The last part of what it printed."""


def end_under_load(server: Server, *, load_succeeded: bool) -> ServerEnd | None:
    """How the server ended during the load; None if it still runs.

    If the load failed, this waits briefly: a dying server closes its connections before its death
    can be seen.
    """
    process = server.process
    if (load_succeeded and process.exit_code() is None) or not ended(process):
        return None
    return ServerEnd(how=describe_end(process), output=tail_of(process))
