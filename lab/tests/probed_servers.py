"""Servers that keep the standards but for what a test has them break."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wirebench.conformance import (
    PARTS,
    Probe,
    ProbeResult,
    Target,
    probes_for,
    run_probes,
)
from wirebench.process.ports import HOST

Reply = Callable[[bytes], bytes]
"""From what came to what goes back; an empty reply is none."""
GOOD = b"HTTP/1.1 200 OK\r\nDate: Sat, 31 Jan 2026 12:00:00 GMT\r\nContent-Length: 2\r\n\r\nhi"
BAD = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


Ends = bool | Callable[[bytes], bool]
"""Whether the server closes the connection after its reply to some bytes."""


@contextmanager
def server(reply: Reply, *, closes: Ends) -> Iterator[Target]:
    """Answers each chunk of bytes that comes, then closes if it is one that does."""
    with socket.create_server((HOST, 0)) as listener:
        listener.settimeout(0.1)
        over = threading.Event()

        def serve() -> None:
            while not over.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                with connection:
                    connection.settimeout(3)
                    try:
                        while data := connection.recv(65_536):
                            if said := reply(data):
                                connection.sendall(said)
                            if closes(data) if callable(closes) else closes:
                                break
                    except OSError:
                        pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Target(host=HOST, port=listener.getsockname()[1], path="/", websocket_path="/")
        finally:
            over.set()
            thread.join()


def probe(id_: str) -> Probe:
    target = Target(host=HOST, port=1, path="/", websocket_path="/")
    return next(one for one in probes_for(target, PARTS) if one.id == id_)


def outcome(id_: str, reply: Reply, *, closes: Ends = False) -> ProbeResult:
    with server(reply, closes=closes) as target:
        (result,) = run_probes(target, [probe(id_)])
    return result
