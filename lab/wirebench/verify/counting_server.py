"""The lab's own server for checking clients. It serves what the contract says, or something
deliberately wrong, and counts.

It has one thread with one asyncio loop. It serves http (``GET /payload/N``, or ``POST`` with the
payload as body) and WebSocket echo (``GET /`` with Upgrade) on one port, over TLS if it has
certificates.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from wirebench.catalog.loads import Method
from wirebench.catalog.units import count_of
from wirebench.catalog.workloads import payload
from wirebench.frames import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    apply_mask,
    encode_frame,
    switching_protocols,
)
from wirebench.process.certificates import Certificates
from wirebench.process.ports import HOST

Misbehaviour = Literal["none", "wrong_body", "short_body", "not_found", "close_each", "slow"]
SLOW_S = 0.025
"""How long a slow server takes for each reply and each handshake of WebSocket."""
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_HANDSHAKE_S = 5.0
"""A silent client must not hold up the server's shutdown."""


class _ProtocolError(Exception):
    """The client violated the protocol. The text is shown to the user."""


@dataclass(kw_only=True)
class Counts:
    connections: int = 0
    """Over TLS, connections whose handshake succeeded."""
    requests: int = 0
    """Complete requests or messages."""
    handshakes: int = 0
    problems: list[str] = field(default_factory=list)
    """Protocol violations by clients."""


class CountingServer:
    """Use ``serving()``. ``counts`` may be read when the client has exited."""

    def __init__(
        self,
        misbehaviour: Misbehaviour = "none",
        tls: Certificates | None = None,
        method: Method = "GET",
    ) -> None:
        self.port = 0
        self.counts = Counts()
        self._misbehaviour = misbehaviour
        self._method = method
        self._tls = None if tls is None else ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        if self._tls is not None and tls is not None:
            self._tls.load_cert_chain(tls.certificate_file, tls.key_file)
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="wirebench-counting-server", daemon=True
        )

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> None:
        patience = None if self._tls is None else _HANDSHAKE_S
        self._server = await asyncio.start_server(
            self._accept,
            HOST,
            0,
            limit=MAX_MESSAGE_BYTES,
            ssl=self._tls,
            ssl_handshake_timeout=patience,
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def _shut(self) -> None:
        # No more connections; asyncio's own tasks of those that are being accepted must end by
        # themselves, before the server is closed: cancelled or late, they would complain and leave
        # sockets open.
        for listener in self._server.sockets if self._server is not None else ():
            self._loop.remove_reader(listener.fileno())
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others & self._tasks:
                task.cancel()
            await asyncio.wait(others)
        if self._server is not None:
            self._server.close()
        await asyncio.sleep(0)  # one loop iteration, in which the last transports close

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task of our own: Python 3.11 reports the cancelling of one that asyncio's streams made
        # as an error.
        task = self._loop.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        # Also of a task that was cancelled before its first step. What the client did not read is
        # not waited for.
        task.add_done_callback(lambda _: writer.transport.abort())
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.counts.connections += 1
        try:
            await self._talk(reader, writer)
        except _ProtocolError as error:
            self.counts.problems.append(str(error))
        except (asyncio.IncompleteReadError, ConnectionError):
            # The client disconnected, as it may between requests.
            pass
        with suppress(OSError, RuntimeError):
            writer.close()
            await writer.wait_closed()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            method, path, headers = _parse_head(head)
            if headers.get("upgrade", "").lower() == "websocket":
                await self._websocket(reader, writer, path, headers)
                return
            if headers.get("expect", "").lower() == "100-continue":
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = await _read_body(reader, headers)
            self.counts.requests += 1
            if self._method == "POST":
                _check_posted(method, path, headers, body)
            await self._take_time(reader)
            closes = (
                self._misbehaviour == "close_each"
                or headers.get("connection", "").lower() == "close"
            )
            writer.write(self._response(method, path, closes=closes))
            await writer.drain()
            if closes:
                return

    async def _take_time(self, reader: asyncio.StreamReader) -> None:
        """Operations run one after another: before the reply nothing more comes."""
        if self._misbehaviour != "slow":
            return
        try:
            early = await asyncio.wait_for(reader.read(1), SLOW_S)
        except TimeoutError:
            return
        if early:
            raise _ProtocolError("more bytes from the client before the reply to its request")
        await asyncio.sleep(SLOW_S)  # the client sends no more, and waits all the same

    def _response(self, method: str, path: str, *, closes: bool) -> bytes:
        size = path.removeprefix("/payload/")
        found = method == self._method and path.startswith("/payload/") and size.isdigit()
        if self._misbehaviour == "not_found" or not found:
            status, body = "404 Not Found", b"not found"
        else:
            status, body = "200 OK", self._spoil(payload(int(size)))
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: application/octet-stream\r\nContent-Length:"
            f" {len(body)}\r\n"
        )
        return (head + ("Connection: close\r\n" if closes else "") + "\r\n").encode() + body

    def _spoil(self, body: bytes) -> bytes:
        match self._misbehaviour:
            case "wrong_body":
                # The right length and one wrong byte at the end: a client that checks less than all
                # of it will not see it.
                return body[:-1] + b"!"
            case "short_body":
                return body[:-1]
            case _:
                return body

    # --- WebSocket --------------------------------------------------------------------------------

    async def _websocket(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        path: str,
        headers: dict[str, str],
    ) -> None:
        if self._misbehaviour == "not_found":
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        if headers.get("sec-websocket-version") != "13" or "sec-websocket-key" not in headers:
            raise _ProtocolError(f"a WebSocket handshake with the headers {headers}")
        if path != "/":
            raise _ProtocolError(f"a WebSocket handshake for {path}")
        await self._take_time(reader)
        writer.write(switching_protocols(headers["sec-websocket-key"]))
        await writer.drain()
        self.counts.handshakes += 1
        message, kind = b"", TEXT
        while True:
            opcode, fin, data = await _read_frame(reader)
            if opcode == CLOSE:
                writer.write(encode_frame(CLOSE, data[:2], mask=False))
                await writer.drain()
                return
            if opcode == PING:
                writer.write(encode_frame(PONG, data, mask=False))
            if opcode not in (TEXT, BINARY, CONTINUATION):
                continue
            kind = kind if opcode == CONTINUATION else opcode
            message += data
            if not fin:
                continue
            self.counts.requests += 1
            await self._take_time(reader)
            writer.write(encode_frame(kind, self._spoil(message), mask=False))
            await writer.drain()
            message = b""
            if self._misbehaviour == "close_each":
                writer.write(encode_frame(CLOSE, b"\x03\xe8", mask=False))
                await writer.drain()
                return


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    """By its length or by chunks (RFC 9112 section 6)."""
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(_size(headers.get("content-length", "0"), 10))
    body = bytearray()
    while (size := _size((await reader.readuntil(b"\r\n"))[:-2].decode("latin-1"), 16)) > 0:
        if len(body) + size > MAX_MESSAGE_BYTES:
            raise _ProtocolError(f"a body of more than {MAX_MESSAGE_BYTES} bytes")
        body += await reader.readexactly(size)
        if await reader.readexactly(2) != b"\r\n":
            raise _ProtocolError("a chunk without its end (RFC 9112 section 7.1)")
    while await reader.readuntil(b"\r\n") != b"\r\n":
        continue  # a trailer field
    return bytes(body)


def _size(text: str, base: int) -> int:
    digits = "0123456789abcdef"[:base]
    if not text or any(one not in digits for one in text.lower()):
        raise _ProtocolError(f"a body whose size is {text[:40]!r}")
    size = int(text, base)
    if size > MAX_MESSAGE_BYTES:
        raise _ProtocolError(f"a body of {size} bytes")
    return size


def _check_posted(method: str, path: str, headers: dict[str, str], body: bytes) -> None:
    if method != "POST":
        raise _ProtocolError(f"the method {method}, not POST")
    kind = headers.get("content-type", "none")
    if kind.partition(";")[0].strip().lower() != "application/octet-stream":
        raise _ProtocolError(f"the Content-Type {kind}, not application/octet-stream")
    size = path.removeprefix("/payload/")
    if not size.isdigit() or body != payload(int(size)):
        raise _ProtocolError(f"POST {path} with {count_of(len(body), 'byte')}: {body[:40]!r}")


async def _read_frame(reader: asyncio.StreamReader) -> tuple[int, bool, bytes]:
    first, second = await reader.readexactly(2)
    if not second & 0x80:
        raise _ProtocolError("a frame without a mask from a client (RFC 6455 section 5.1)")
    size = second & 0x7F
    if size >= 126:
        size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
    if size > MAX_MESSAGE_BYTES:
        raise _ProtocolError(f"a frame of {size} bytes")
    key = await reader.readexactly(4)
    return first & 0x0F, bool(first & 0x80), apply_mask(await reader.readexactly(size), key)


def _parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or words[2] != "HTTP/1.1":
        raise _ProtocolError(f"the request line {lines[0]!r}")
    headers = {}
    for line in lines[1:-2]:
        name, colon, value = line.partition(":")
        if not colon:
            raise _ProtocolError(f"the header line {line!r}")
        headers[name.lower()] = value.strip()
    if "host" not in headers:
        raise _ProtocolError("a request without Host (RFC 9112 section 3.2)")
    return words[0], words[1], headers


@contextmanager
def serving(
    misbehaviour: Misbehaviour = "none",
    tls: Certificates | None = None,
    method: Method = "GET",
) -> Iterator[CountingServer]:
    server = CountingServer(misbehaviour, tls, method)
    server.start()
    try:
        yield server
    finally:
        server.stop()
