"""Small servers that behave, or misbehave in one exact way, and a way to run wireload against them.
Standard library only.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "lab"))
from wirebench.frames import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    RSV1,
    TEXT,
    apply_mask,
    encode_frame,
    switching_protocols,
)

__all__ = ["BINARY", "CLOSE", "PING", "PONG", "RSV1", "TEXT"]

WIRELOAD = os.environ.get("WIRELOAD", "wireload")
# What carries a load if its test does not say; empty: what wireload chooses.
ENGINE = os.environ.get("WIRELOAD_ENGINE", "")
SKIPPED = 77  # the exit code of a suite that this host cannot run
MOST_MEMORY = int(os.environ.get("WIRELOAD_MOST_MEMORY_MIB", "48")) << 20
"""What wireload may take with few connections, whatever it is sent. Sanitizers have memory of their
own.
"""

Handler = Callable[["Server", socket.socket], None]


@dataclass
class Server:
    """Each connection is served by a thread of its own running ``handler``; what happened is
    counted.
    """

    handler: Handler
    listener: socket.socket = field(init=False)
    port: int = field(init=False)
    connections: int = 0
    requests: int = 0
    seen: list[bytes] = field(default_factory=list)
    closing: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    open_sockets: set[socket.socket] = field(default_factory=set)
    threads: list[threading.Thread] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = int(self.listener.getsockname()[1])
        self.accepting = threading.Thread(target=self._accept, daemon=True)
        self.accepting.start()

    def next_request(self, text: bytes = b"") -> int:
        """Counts one request and says which it is, from 1."""
        with self.lock:
            self.requests += 1
            self.seen.append(text)
            return self.requests

    def stop_listening(self) -> None:
        with contextlib.suppress(OSError):  # already
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.connections += 1
                self.open_sockets.add(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            self.handler(self, connection)
        except OSError:
            pass  # the peer is gone
        finally:
            with self.lock:
                self.open_sockets.discard(connection)
            connection.close()

    def close(self) -> None:
        self.stop_listening()
        with self.lock:
            for connection in self.open_sockets:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self.accepting.join(5)
        for thread in self.threads:
            thread.join(5)


@contextmanager
def serving(handler: Handler) -> Iterator[Server]:
    server = Server(handler)
    try:
        yield server
    finally:
        server.close()


# --- HTTP -----------------------------------------------------------------------------------------


def reply(body: bytes = b"hello", status: str = "200 OK", *fields: str) -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Length: {len(body)}",
        "Content-Type: text/plain",
        *fields,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def read_request(connection: socket.socket, held: bytearray) -> bytes | None:
    """One request, head and body; None at the end. ``held`` keeps what came after it."""
    while (end := held.find(b"\r\n\r\n")) < 0:
        data = connection.recv(65536)
        if not data:
            return None
        held += data
    head = bytes(held[: end + 4])
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    while len(held) < len(head) + length:
        data = connection.recv(65536)
        if not data:
            return None
        held += data
    request = bytes(held[: len(head) + length])
    del held[: len(request)]
    return request


def http(answer: Callable[[Server, socket.socket, int, bytes], bool]) -> Handler:
    """A handler that calls ``answer(server, connection, number, request)`` for each request, until
    it says False.
    """

    def handle(server: Server, connection: socket.socket) -> None:
        held = bytearray()
        while (request := read_request(connection, held)) is not None:
            if not answer(server, connection, server.next_request(request), request):
                return

    return handle


def http_replies(
    make: Callable[[int], bytes], *, after_s: Callable[[int], float] = lambda n: 0
) -> Handler:
    """Answers request number n (over all connections) with ``make(n)``, so many seconds after it
    came, and keeps the connection.
    """

    def answer(_server: Server, connection: socket.socket, number: int, _request: bytes) -> bool:
        time.sleep(after_s(number))
        connection.sendall(make(number))
        return True

    return http(answer)


def http_answers(make: Callable[[bytes], bytes]) -> Handler:
    """Answers each request with what ``make`` makes of it, and keeps the connection."""

    def answer(_server: Server, connection: socket.socket, _number: int, request: bytes) -> bool:
        connection.sendall(make(request))
        return True

    return http(answer)


def cut(stream: Callable[[socket.socket], Iterator[bytes]], size: int) -> Handler:
    """A handler that sends the replies of ``stream``, one behind the other, in pieces of ``size``
    bytes. A reply of no bytes says that the peer waits: what there is goes, too.
    """

    def handle(server: Server, connection: socket.socket) -> None:
        waiting = b""
        for text in stream(connection):
            if text:
                server.next_request()
            waiting += text
            while len(waiting) >= size or (waiting and not text):
                connection.sendall(waiting[:size])
                waiting = waiting[size:]
                time.sleep(0.0002)  # so that it is a piece of its own for the receiver, too

    return handle


def cut_http_replies(make: Callable[[int], bytes], size: int) -> Handler:
    """Answers a connection's request number n, from 1, with ``make(n)``; see ``cut``."""

    def stream(connection: socket.socket) -> Iterator[bytes]:
        held = bytearray()
        number = 0
        while read_request(connection, held) is not None:
            number += 1
            yield make(number)
            if b"\r\n\r\n" not in held:
                yield b""

    return cut(stream, size)


def cut_ws_replies(make: Callable[[int, bytes], bytes], size: int) -> Handler:
    """Answers a connection's message number n, from 1, with ``make(n, message)``; see ``cut``."""

    def stream(connection: socket.socket) -> Iterator[bytes]:
        if not shake_hands(connection):
            return
        number = 0
        while (got := read_frame(connection)) is not None and got[0] in (TEXT, BINARY):
            number += 1
            yield make(number, got[1])
            connection.setblocking(False)
            try:
                more = connection.recv(1, socket.MSG_PEEK)
            except BlockingIOError:
                more = b""
            connection.setblocking(True)
            if not more:
                yield b""

    return cut(stream, size)


def body_of(request: bytes) -> bytes:
    return request.partition(b"\r\n\r\n")[2]


def echoes_late(server: Server, connection: socket.socket) -> None:
    """Handler: the body of each request, from when the client's socket may have become full."""
    held = bytearray()
    time.sleep(0.2)
    while (request := read_request(connection, held)) is not None:
        server.next_request(request)
        connection.sendall(reply(body_of(request)))


# --- WebSocket ------------------------------------------------------------------------------------

frame = functools.partial(encode_frame, mask=False)
"""As a server sends it."""


def read_exactly(connection: socket.socket, n: int) -> bytes | None:
    data = b""
    while len(data) < n:
        piece = connection.recv(n - len(data))
        if not piece:
            return None
        data += piece
    return data


def read_frame(connection: socket.socket) -> tuple[int, bytes] | None:
    got = read_frame_bits(connection)
    return None if got is None else (got[0] & 15, got[1])


def read_frame_bits(connection: socket.socket) -> tuple[int, bytes] | None:
    """With the whole first byte: FIN, the reserved bits and the opcode."""
    head = read_exactly(connection, 2)
    if head is None:
        return None
    length = head[1] & 127
    if length == 126:
        length = struct.unpack(">H", read_exactly(connection, 2) or b"\0\0")[0]
    elif length == 127:
        length = struct.unpack(">Q", read_exactly(connection, 8) or b"\0" * 8)[0]
    assert head[1] & 128, "a client must mask (RFC 6455 section 5.3)"
    key = read_exactly(connection, 4)
    data = read_exactly(connection, length)
    if key is None or data is None:
        return None
    return head[0], apply_mask(data, key)


def shake_hands(connection: socket.socket, *fields: str) -> bytes | None:
    """Answers the handshake, with further fields; what was asked, or None at the end."""
    request = read_request(connection, bytearray())
    if request is not None:
        key = next(
            line.split(b":")[1].strip()
            for line in request.split(b"\r\n")
            if line.lower().startswith(b"sec-websocket-key")
        )
        connection.sendall(switching_protocols(key.decode(), *fields))
    return request


def websocket(answer: Callable[[Server, socket.socket, int, bytes], bool]) -> Handler:
    """Calls ``answer(server, connection, number, message)`` for each message, until it says
    False.
    """

    def handle(server: Server, connection: socket.socket) -> None:
        if not shake_hands(connection):
            return
        while (got := read_frame(connection)) is not None:
            opcode, payload = got
            if opcode == CLOSE:
                return
            if opcode in (TEXT, BINARY) and not answer(
                server, connection, server.next_request(payload), payload
            ):
                return

    return handle


def ws_replies(make: Callable[[int, bytes], bytes]) -> Handler:
    """Answers message number n with the bytes ``make(n, message)``."""

    def answer(_server: Server, connection: socket.socket, number: int, message: bytes) -> bool:
        connection.sendall(make(number, message))
        return True

    return websocket(answer)


# --- wireload -------------------------------------------------------------------------------------


def typed(arguments: str) -> list[str]:
    """Arguments without spaces, as they are typed."""
    return arguments.split()


CSV_COLUMNS = typed("time_s length_s ok errors rate_per_s p50_us p90_us p99_us max_us")


@contextmanager
def body_file(content: bytes) -> Iterator[str]:
    """The path of a file for ``--body-file``."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name


@dataclass(frozen=True)
class Run:
    code: int
    document: dict[str, Any]
    screen: str

    @property
    def errors(self) -> dict[str, int]:
        """The kinds that occurred."""
        return {kind: n for kind, n in self.document["errors"].items() if n}


def wireload(
    *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [WIRELOAD, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **(environment or {})},
    )


def words_of_a_load(arguments: tuple[str, ...]) -> list[str]:
    engine = ["--engine", ENGINE] if ENGINE and "--engine" not in arguments else []
    return ["--json", "-", "--threads", "1", *engine, *arguments]


def load(server: Server, *arguments: str, scheme: str = "http", path: str = "/") -> Run:
    """Runs wireload with one thread against the server and reads its document."""
    done = wireload(*words_of_a_load(arguments), f"{scheme}://127.0.0.1:{server.port}{path}")
    if ENGINE and f"--engine {ENGINE}:" in done.stderr:
        print(done.stderr, file=sys.stderr)
        os._exit(SKIPPED)
    assert done.stdout, f"no document: {done.stderr}"
    return Run(done.returncode, json.loads(done.stdout), done.stderr)


def load_ws(server: Server, *arguments: str) -> Run:
    return load(server, *arguments, scheme="ws")


def counted(message: bytes) -> bytes:
    return json.dumps({"c": json.loads(message)["c"], "ts": time.time()}).encode()


@contextmanager
def under_load(
    server: Server, *arguments: str, scheme: str = "http"
) -> Iterator[subprocess.Popen[str]]:
    """A wireload with one thread that runs against the server; see ``interrupt``."""
    with subprocess.Popen(
        [
            *(WIRELOAD, *words_of_a_load(arguments)),
            f"{scheme}://127.0.0.1:{server.port}/",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def interrupt(process: subprocess.Popen[str]) -> Run:
    """Ends a wireload that runs, and reads its document."""
    process.send_signal(signal.SIGINT)
    out, screen = process.communicate(timeout=30)
    return Run(process.returncode, json.loads(out), screen)
