"""A server that answers a client with the bytes of a probe."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from wirebench.catalog.workloads import payload
from wirebench.process.ports import HOST
from wirebench.verify.checks import Mismatch

BODY_BYTES = 16
BODY = payload(BODY_BYTES)
ACCEPT_S = 0.1
READ_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Called:
    """How a client's run ended."""

    ended: bool
    errors: int | None
    """Operations that failed; None: it said nothing that could be read."""
    said: str


Call = Callable[[int, int], Called]
"""Runs the client against this port, for so many operations over one connection if it can."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a request is answered with."""

    data: bytes
    closes: bool = False
    bytewise: bool = False
    before: bytes = b""
    """Sent once, before ``data``."""
    repeat: int = 1
    """How often ``data`` is sent, or until the client has gone."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request's head, and the port that it came from: its connection."""

    client_port: int
    head: bytes


@contextmanager
def answering(answers: Sequence[Answer], asked: list[Asked] | None = None) -> Iterator[int]:
    """A server's port. Its n-th request gets the n-th answer; further ones get the last. The
    requests are added to ``asked``.
    """
    with socket.create_server((HOST, 0)) as listener:
        listener.settimeout(ACCEPT_S)
        over = threading.Event()
        served = iter(range(1 << 30))

        def talk(connection: socket.socket) -> None:
            with connection:
                connection.settimeout(READ_S)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                received, peer = b"", connection.getpeername()[1]
                while not over.is_set():
                    while b"\r\n\r\n" not in received:
                        piece = connection.recv(65_536)
                        if not piece:
                            return
                        received += piece
                    head, _, received = received.partition(b"\r\n\r\n")
                    if asked is not None:
                        asked.append(Asked(client_port=peer, head=head))
                    answer = answers[min(next(served), len(answers) - 1)]
                    _send(connection, answer, over)
                    if answer.closes:
                        return

        def serve() -> None:
            talks = []
            while not over.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                talks.append(threading.Thread(target=_quietly, args=(talk, connection)))
                talks[-1].start()
            for one in talks:
                one.join()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            over.set()
            thread.join()


def _quietly(talk: Callable[[socket.socket], None], connection: socket.socket) -> None:
    with suppress(OSError):  # the client has gone, as it may
        talk(connection)


def _send(connection: socket.socket, answer: Answer, over: threading.Event) -> None:
    if answer.bytewise:
        for place in range(len(answer.data)):
            connection.sendall(answer.data[place : place + 1])
            over.wait(0.001)
        return
    connection.sendall(answer.before)
    for _ in range(answer.repeat):
        if over.is_set():
            return
        connection.sendall(answer.data)


def run_client(
    call: Call,
    answers: Sequence[Answer],
    operations: int,
    errors: Sequence[int],
    check: Callable[[Sequence[Asked], int], None] = lambda _asked, _port: None,
) -> str:
    """Compares the number of operations that failed, then checks what was asked at which port."""
    asked: list[Asked] = []
    with answering(answers, asked) as port:
        called = call(port, operations)
    wanted = f"{' or '.join(map(str, errors))} of {operations} operations to fail"
    if not called.ended:
        raise Mismatch(expected=wanted, received=f"it did not end: {called.said}")
    # A client that ends with a status and no report has failed in all of them.
    found = operations if called.errors is None else called.errors
    if found not in errors:
        raise Mismatch(expected=wanted, received=f"{found} of {operations}: {called.said}")
    check(asked, port)
    return f"{found} of {operations} failed"


def response(*lines: str, body: bytes = b"", status: str = "HTTP/1.1 200 OK") -> bytes:
    return "\r\n".join([status, *lines, "", ""]).encode("latin-1") + body


def chunked(body: bytes) -> bytes:
    return response("Transfer-Encoding: chunked", body=body)
