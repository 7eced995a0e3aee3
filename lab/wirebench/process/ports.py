"""Find a free port for a server, check who listens on it, and check that it is free afterwards."""

from __future__ import annotations

import functools
import http.client
import random
import socket
import ssl
from contextlib import suppress
from pathlib import Path

from wirebench.process import procfs

HOST = "127.0.0.1"
"""A literal address: resolving ``localhost`` may try ::1 first and wait."""
_LOWEST = 10_240
_HIGHEST = 60_999
_TRIES = 200


class NoPortError(Exception):
    """No free port was found in the range."""


def port_range() -> range:
    """The ports below the kernel's ephemeral range, from which an outgoing connection could take a
    server's port first.
    """
    lowest_outgoing = _HIGHEST
    with suppress(OSError, ValueError):
        lowest_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    return range(_LOWEST, lowest_outgoing if lowest_outgoing >= _LOWEST + 2 * _TRIES else _HIGHEST)


def free_port(seed: int, *, host: str = HOST) -> int:
    """A port without a listener and without connections in TIME_WAIT: not every server sets
    SO_REUSEADDR.
    """
    chooser = random.Random(seed)
    ports = port_range()
    for _ in range(_TRIES):
        port = chooser.choice(ports)
        with socket.socket() as probe, suppress(OSError):
            probe.bind((host, port))
            return port
    raise NoPortError(
        f"ports {ports.start}-{ports.stop - 1}: expected a free one, got {_TRIES} that are in use"
    )


def is_free(port: int, *, host: str = HOST) -> bool:
    """Whether a server could listen there. Connections in TIME_WAIT do not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError:
            # Those that linger of a server without SO_REUSEADDR (cpp-httplib sets SO_REUSEPORT
            # alone) keep us off, too.
            return procfs.sees_listeners() and not procfs.listener_inodes(port)
        return True


def accepts(port: int, *, host: str = HOST, timeout_s: float = 0.2) -> bool:
    with socket.socket() as probe:
        probe.settimeout(timeout_s)
        return probe.connect_ex((host, port)) == 0


def answers(port: int, path: str, *, tls: bool = False, timeout_s: float = 2.0) -> bool:
    """Whether a GET of the path is answered with 2xx or 3xx. The body, which may have no end, is
    not waited for.
    """
    reply = _ask(port, path, tls=tls, timeout_s=timeout_s, with_body=False)
    return reply is not None and 200 <= reply[0] < 400


def get(
    port: int, path: str, *, tls: bool = False, timeout_s: float = 2.0
) -> tuple[int, bytes] | None:
    """Status and body of a GET over a connection of its own; None without a reply."""
    return _ask(port, path, tls=tls, timeout_s=timeout_s, with_body=True)


def _ask(
    port: int, path: str, *, tls: bool, timeout_s: float, with_body: bool
) -> tuple[int, bytes] | None:
    connection = (
        http.client.HTTPSConnection(HOST, port, timeout=timeout_s, context=_any_certificate())
        if tls
        else http.client.HTTPConnection(HOST, port, timeout=timeout_s)
    )
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        reply = connection.getresponse()
        return reply.status, reply.read() if with_body else b""
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


@functools.cache
def _any_certificate() -> ssl.SSLContext:
    """What a server tells the lab does not depend on who signed its certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def listens_for(pids: set[int], port: int) -> bool:
    """Whether one of these processes owns the listening socket of ``HOST`` at the port. True where
    the host hides that.
    """
    inodes = procfs.listener_inodes(port, address=HOST)
    return not inodes or procfs.owns_socket(pids, inodes)
