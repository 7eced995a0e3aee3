"""What an HTTP server speaks: asked of the running contestant, else by its manifest.

A probe that succeeds says that the library has the feature. One that fails says that it has not,
but only of what a contestant does not turn off: keep-alive, pipelining, request bodies by chunks.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wirebench.catalog.model import FEATURES, Contestant, Feature, Workload
from wirebench.footprint.model import FootprintError, Spoken
from wirebench.process import certificates, interrupt
from wirebench.process.cores import choose_cores
from wirebench.process.ports import HOST, NoPortError
from wirebench.process.start import ServerSettings, StartError, start_server
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.verify.http import Peer, PeerError, Response, connect, exchange, request
from wirebench.verify.websocket import shake_hands

_RESOURCES: dict[Workload, str] = {
    "rest": "/test/status",
    "http.hello": "/route_01",
    "http.payload": "/payload/1024",
}
"""The HTTP workloads, those that show most first, each with a resource that has a body."""
_BODY = b'{"param1":42,"param2":"' + b"a" * 65_536 + b'"}'
"""Large enough that a server which compresses would."""
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""RFC 9113 section 3.4, with an empty SETTINGS frame."""
_SETTINGS = 4
_OK = b"HTTP/1.1 200"
_TIMEOUT_S = 5.0
ALWAYS: frozenset[Feature] = frozenset(("keep-alive", "pipelining", "chunked in"))
"""A server that does not do these lacks them."""


def http_workload(contestant: Contestant) -> Workload | None:
    return next((one for one in _RESOURCES if one in contestant.serves), None)


def features_of(
    contestant: Contestant, program: Program, supervisor: Supervisor
) -> tuple[Spoken, ...]:
    """Errors: ``FootprintError``."""
    workload = http_workload(contestant)
    if workload is None:
        raise FootprintError("it serves no HTTP")
    seen: dict[Feature, bool] = {}
    with _running(program, supervisor, ServerSettings(workload=workload)) as peer:
        for feature, probe in _PROBES:
            if feature != "chunked in" or workload == "rest":
                seen[feature] = _holds(probe, peer, workload)
    if contestant.tls:
        with supervisor.scope() as scope:
            files = certificates.issue(scope.folder)
            settings = ServerSettings(
                workload=workload,
                tls_cert=str(files.certificate_file),
                tls_key=str(files.key_file),
            )
            with _running(program, supervisor, settings) as peer:
                context = ssl.create_default_context(cafile=str(files.ca_file))
                spoken = _over_tls(peer, workload, context)
        seen["TLS"] = spoken is not None
        seen["HTTP/2"] = seen["HTTP/2"] or spoken == "h2"
    if "ws.echo" in contestant.serves:
        with _running(program, supervisor, ServerSettings(workload="ws.echo")) as peer:
            seen["WebSocket"] = _holds(_echoes, peer, "ws.echo")
    return tuple(spoken_of(one, seen.get(one), contestant.documented.get(one)) for one in FEATURES)


def spoken_of(feature: Feature, seen: bool | None, documented: bool | None) -> Spoken:
    """``seen``: whether the probe succeeded; None: there was none."""
    if seen or (seen is False and feature in ALWAYS):
        return Spoken(feature=feature, has=seen, probed=True)
    return Spoken(feature=feature, has=documented, probed=False)


@contextmanager
def _running(program: Program, supervisor: Supervisor, settings: ServerSettings) -> Iterator[Peer]:
    with supervisor.scope() as scope:
        try:
            cores = choose_cores().contestant
            seed = time.time_ns()
            server = start_server(scope, program, settings, cores=cores, port_seed=seed)
            yield Peer(port=server.port)
        except (StartError, NoPortError) as error:
            raise FootprintError(f"the server of {settings.workload}: {error}") from error


Asked = Callable[[Peer, Workload], bool]


def _holds(probe: Asked, peer: Peer, workload: Workload) -> bool:
    try:
        return probe(peer, workload)
    except PeerError:
        return False


def _get(peer: Peer, workload: Workload) -> bytes:
    return request("GET", _RESOURCES[workload], port=peer.port)


def _keeps_alive(peer: Peer, workload: Workload) -> bool:
    with connect(peer) as connection:
        for _ in range(2):
            connection.send(_get(peer, workload))
            if connection.read_response().status != 200:
                return False
    return True


def _pipelines(peer: Peer, workload: Workload) -> bool:
    with connect(peer) as connection:
        connection.send(_get(peer, workload) * 3)
        return all(connection.read_response().status == 200 for _ in range(3))


def _takes_chunks(peer: Peer, _workload: Workload) -> bool:
    head = (
        f"POST /test HTTP/1.1\r\nHost: {HOST}:{peer.port}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    with connect(peer) as connection:
        connection.send(head.encode() + b'6\r\n{"a":1\r\n1\r\n}\r\n0\r\n\r\n')
        response = connection.read_response()
    return response.status == 200 and response.body == b'Sending response: {"a":1}'


def _large(peer: Peer, workload: Workload) -> Response:
    if workload == "rest":
        data = request("POST", "/test", port=peer.port, body=_BODY, content_type="application/json")
    else:
        data = _get(peer, workload)
    return exchange(peer, data.replace(b"\r\n", b"\r\nAccept-Encoding: gzip, deflate, br\r\n", 1))


def _sends_chunks(peer: Peer, workload: Workload) -> bool:
    return _large(peer, workload).header("transfer-encoding") is not None


def _compresses(peer: Peer, workload: Workload) -> bool:
    return _large(peer, workload).header("content-encoding") is not None


def _speaks_http2(peer: Peer, _workload: Workload) -> bool:
    with connect(peer) as connection:
        connection.send(_PREFACE)
        return connection.read_exactly(4, "a frame")[3] == _SETTINGS


def _echoes(peer: Peer, _workload: Workload) -> bool:
    with connect(peer) as connection:
        websocket = shake_hands(connection)
        websocket.send_text("echo")
        return websocket.read_message().payload == b"echo"


def _over_tls(peer: Peer, workload: Workload, context: ssl.SSLContext) -> str | None:
    """The protocol that the server chose; None: it does not speak TLS."""
    context.set_alpn_protocols(["h2", "http/1.1"])
    with interrupt.waiting():
        try:
            with (
                socket.create_connection((peer.host, peer.port), timeout=_TIMEOUT_S) as plain,
                context.wrap_socket(plain, server_hostname=HOST) as secure,
            ):
                chosen = secure.selected_alpn_protocol() or "http/1.1"
                if chosen == "h2":
                    return chosen
                secure.sendall(_get(peer, workload))
                reply = b""  # of which a record may hold less than this
                while len(reply) < len(_OK) and (more := secure.recv(len(_OK) - len(reply))):
                    reply += more
                return chosen if reply == _OK else None
        except OSError:
            return None


_PROBES: tuple[tuple[Feature, Asked], ...] = (
    ("keep-alive", _keeps_alive),
    ("pipelining", _pipelines),
    ("chunked in", _takes_chunks),
    ("chunked out", _sends_chunks),
    ("compression", _compresses),
    ("HTTP/2", _speaks_http2),
)
