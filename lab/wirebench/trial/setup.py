"""What precedes and follows the load in both kinds of trial: the server's start and its end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from wirebench.catalog.loads import ClientLoad, link_of, over_tls
from wirebench.catalog.model import TLS_SCHEMES, Workload
from wirebench.catalog.workloads import WebSocketMessage
from wirebench.process import accepted, certificates, sessions
from wirebench.process.cores import choose_cores
from wirebench.process.link import LinkError, OpenLink, open_link
from wirebench.process.network import LOOPBACK, Network
from wirebench.process.start import (
    Server,
    ServerSettings,
    describe_end,
    ended,
    start_server,
    tail_of,
)
from wirebench.process.supervise import Scope
from wirebench.process.types import Cores, Failure, Program
from wirebench.trial.outcome import Outcome, TrialError
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
    link: OpenLink | None = None
    """Between the server and those who call it."""
    served_at: Network = LOOPBACK

    @property
    def caller(self) -> Network:
        """Where those who call the server run."""
        return self.link.client if self.link is not None else self.served_at


def settings_for_client(load: ClientLoad, workload: Workload, folder: Path) -> ServerSettings:
    """Of the server that a client calls, without what TLS needs. ``folder``: the scope's."""
    return ServerSettings(
        workload=workload,
        closes_after=load.closes_after,
        tls_sessions=str(folder / sessions.FILE) if load.resumption else "",
        accepted=str(folder / accepted.FILE),
    )


def start_for_load(
    spec: TrialSpec,
    outcome: Outcome,
    settings: ServerSettings,
    *,
    program: Program,
    scope: Scope,
    wirelink: Path | None = None,
    port: int | None = None,
    network: Network = LOOPBACK,
) -> Ready:
    """Start the trial's server in the network, on this port if one is given, with a certificate if
    the load uses TLS, and behind a link of its own if the load asks for one. ``StartError`` if it
    does not accept connections, ``TrialError`` if there is no link.
    """
    cores = choose_cores(spec.threads)
    own = spec.own
    link = _link(spec, scope, wirelink, cores)
    if link is not None:
        network = link.server
    ca_file = None
    if over_tls(spec.load):
        files = certificates.issue(scope.folder, host=network.address)
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
        port=port,
        timeout_ns=own.start_timeout_ns if own is not None else None,
        ready_path=own.ready_path if own is not None else None,
        ready_tls=own is not None and own.scheme in TLS_SCHEMES,
        extra_env=own.environment if own is not None else None,
        network=network,
    )
    outcome.ready_ns = server.ready_ns
    if link is None:  # a port behind a link is none of this host's
        outcome.port, outcome.served_at = server.port, network
    origin = f"{_scheme(spec, tls=ca_file is not None)}://{network.address}:{server.port}"
    return Ready(
        server=server,
        origin=origin,
        cores=cores,
        ca_file=ca_file,
        link=link,
        served_at=network,
    )


def _scheme(spec: TrialSpec, *, tls: bool) -> str:
    if spec.own is not None:
        return spec.own.scheme
    return ("ws" if isinstance(spec.request, WebSocketMessage) else "http") + ("s" if tls else "")


def _link(spec: TrialSpec, scope: Scope, wirelink: Path | None, cores: Cores) -> OpenLink | None:
    """The load's link, new for each trial: the kernel keeps what it learns about a path for the
    next connections over it. It runs beside the generator, and takes no time of the server's core.
    """
    wanted = link_of(spec.load)
    if wanted is None:
        return None
    try:
        if wirelink is None:
            raise LinkError("wirelink is not installed")
        return open_link(
            scope,
            wirelink,
            wanted,
            seed=spec.load_seed,
            cores=cores.generator,
            record=scope.folder / "packets.txt",
        )
    except LinkError as error:
        raise TrialError(
            Failure(kind="no_link", phase="start", message=f"no emulated link here: {error}")
        ) from error


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
    # What was started with & or became a daemon is ended with the process that was started.
    hint = " (keep it in the foreground)" if process.exit_code() == 0 else ""
    return ServerEnd(how=describe_end(process) + hint, output=tail_of(process))
