"""HTTP/1.1 over a socket, by hand: the checks must see the exact bytes, and send what no
client library would.

The reader is strict where a load generator would be misled: CRLF line ends, an HTTP/1.1 status
line, a body with a known end.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wirebench.catalog.units import count_of
from wirebench.process import interrupt
from wirebench.process.ports import HOST

# Imported where it is used: only TLS needs it.
if TYPE_CHECKING:
    import ssl

TIMEOUT_S = 5.0
MAX_HEAD_BYTES = 65_536
MAX_BODY_BYTES = 16 * 1024 * 1024


class PeerError(Exception):
    """The peer violated the protocol. A result shows the text as received."""


class SilenceError(PeerError):
    """The peer went silent and did not close."""


@contextmanager
def at(where: str) -> Iterator[None]:
    """Adds the number of the step to an error."""
    try:
        yield
    except PeerError as error:
        raise type(error)(f"{where}{error}") from error


@dataclass(frozen=True, kw_only=True)
class Response:
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""
    body: bytes

    def header(self, name: str) -> str | None:
        """All values of the header, in order, as one list (RFC 9110 section 5.2)."""
        values = [value for key, value in self.headers if key == name]
        return ", ".join(values) if values else None

    @property
    def media_type(self) -> str | None:
        """The content type without its parameters, in lower case."""
        value = self.header("content-type")
        return value.partition(";")[0].strip().lower() if value is not None else None

    def describe(self) -> str:
        return (
            f"{self.status} {self.reason}, {self.header('content-type') or 'no Content-Type'}:"
            f" {show(self.body)}"
        )


@dataclass(frozen=True, kw_only=True)
class Peer:
    """Where a server listens, and how it is spoken to."""

    port: int
    host: str = HOST
    tls: ssl.SSLContext | None = None
    """What its certificate must satisfy; None: plain TCP."""


class Connection:
    """A connection with a buffer of unread bytes."""

    def __init__(
        self,
        peer: Peer,
        *,
        timeout_s: float | None = None,
        versions: Collection[str] = ("HTTP/1.1",),
    ) -> None:
        """``versions``: which of them a response may be of."""
        self._versions = versions
        timeout_s = TIMEOUT_S if timeout_s is None else timeout_s
        self._timeout_s = timeout_s
        self._buffer = bytearray()
        self._closed_by_peer = False
        self.peer = peer
        with interrupt.waiting():
            try:
                self._socket = socket.create_connection((peer.host, peer.port), timeout=timeout_s)
            except OSError as error:
                raise PeerError(f"no connection: {error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if peer.tls is not None:
            self._socket = _secured(self._socket, peer.host, peer.tls)

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def local_port(self) -> int:
        return int(self._socket.getsockname()[1])

    def close(self) -> None:
        self._socket.close()

    def reset(self) -> None:
        """Ends the connection by RST (socket(7), SO_LINGER), as the end of a client's host may."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def send(self, data: bytes) -> None:
        with interrupt.waiting():
            try:
                self._socket.sendall(data)
            except OSError as error:
                raise PeerError(f"the connection broke while sending: {error}") from error

    def send_in_pieces(self, data: bytes, *, size: int = 1, pause_s: float = 0.0005) -> None:
        """Send each piece in its own segment, as far as the kernel allows."""
        for start in range(0, len(data), size):
            self.send(data[start : start + size])
            with interrupt.waiting():
                time.sleep(pause_s)

    def finish_sending(self) -> None:
        """The peer reads the end of the stream. What it sends can still be read."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            raise PeerError(f"the connection broke: {error}") from error

    def push_back(self, data: bytes) -> None:
        """Bytes that are read before all others."""
        self._buffer[:0] = data

    def read_exactly(self, count: int, what: str) -> bytes:
        while len(self._buffer) < count:
            if not self._fill():
                raise PeerError(f"closed in {what}, after {show(bytes(self._buffer))}")
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def read_until(self, end: bytes, what: str) -> bytes:
        """Read up to and including ``end``."""
        while (found := self._buffer.find(end)) < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise PeerError(
                    f"no end of {what} in {MAX_HEAD_BYTES} bytes: {show(bytes(self._buffer))}"
                )
            if not self._fill():
                got = show(bytes(self._buffer)) if self._buffer else "nothing"
                raise PeerError(f"closed in {what}, after {got}")
        data = bytes(self._buffer[: found + len(end)])
        del self._buffer[: found + len(end)]
        return data

    def read_to_end(self, limit: int = MAX_BODY_BYTES) -> bytes:
        while len(self._buffer) <= limit and self._fill():
            pass
        data = bytes(self._buffer)
        self._buffer.clear()
        return data

    def read_rest(self, within_s: float) -> bytes:
        """What comes behind the last response, or has come: nothing, where nobody asked for it."""
        with self.waiting_at_most(within_s), suppress(PeerError):
            if not self._buffer:
                self._fill()
        return bytes(self._buffer)

    def is_closed_by_peer(self, within_s: float) -> bool:
        """Whether the peer closes the connection in time without sending more."""
        with self.waiting_at_most(within_s):
            try:
                return not self._buffer and not self._fill()
            except PeerError:
                return False

    def answers_or_closes(self, within_s: float) -> bool:
        """Whether the peer sends anything or ends the connection in time, be it by a reset."""
        with self.waiting_at_most(within_s):
            try:
                self._fill()
            except SilenceError:
                return False
            except PeerError:
                return True
            return True

    @contextmanager
    def waiting_at_most(self, within_s: float) -> Iterator[None]:
        """Inside, reading gives up after this time."""
        before, self._timeout_s = self._timeout_s, within_s
        try:
            yield
        finally:
            self._timeout_s = before

    def _fill(self) -> bool:
        """Read more. False at the end of the stream."""
        if self._closed_by_peer:
            return False
        self._socket.settimeout(self._timeout_s)
        # Else a server that writes head and body apart with Nagle's algorithm on waits 40 ms for
        # each reply's acknowledgement: that is for the timed trials to show, not for a thousand
        # checks to sit through. It does not last (tcp(7)).
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        with interrupt.waiting():
            try:
                data = self._socket.recv(262_144)
            except TimeoutError:
                got = show(bytes(self._buffer)) if self._buffer else "nothing"
                raise SilenceError(f"{got}, and no more in {self._timeout_s:g} s") from None
            except ConnectionResetError:
                data = b""
            except OSError as error:
                raise PeerError(f"the connection broke: {error}") from error
        if not data:
            self._closed_by_peer = True
        self._buffer += data
        return bool(data)

    # --- HTTP -------------------------------------------------------------------------------------

    def read_response(self) -> Response:
        status, reason, headers = self.read_head()
        named = dict(headers)
        if status in (204, 304) or 100 <= status < 200:
            body = b""
        elif "transfer-encoding" in named:
            if named["transfer-encoding"].strip().lower() != "chunked":
                raise PeerError(f"Transfer-Encoding: {named['transfer-encoding']}")
            if "content-length" in named:
                raise PeerError(
                    "both Transfer-Encoding and Content-Length (RFC 9112 section 6.2 forbids it)"
                )
            body = self._read_chunks()
        elif "content-length" in named:
            text = named["content-length"]
            if others := {value for name, value in headers if name == "content-length"} - {text}:
                raise PeerError(
                    f"Content-Length: {text}, and {', '.join(others)} (RFC 9112 section 6.3)"
                )
            if not (text.isascii() and text.isdigit()) or int(text) > MAX_BODY_BYTES:
                raise PeerError(f"Content-Length: {text}")
            body = self.read_exactly(int(text), f"a body of {count_of(int(text), 'byte')}")
        else:
            # Legal (RFC 9112 section 6.3), but it ends the connection.
            body = self.read_to_end()
        return Response(status=status, reason=reason, headers=headers, body=body)

    def read_head(self) -> tuple[int, str, tuple[tuple[str, str], ...]]:
        head = self.read_until(b"\r\n\r\n", "a response head")
        lines = head[:-4].split(b"\r\n")
        version, _, rest = lines[0].decode("latin-1").partition(" ")
        code, _, reason = rest.partition(" ")
        if version not in self._versions or len(code) != 3 or not code.isdigit():
            raise PeerError(f"a status line {show(lines[0])}")
        headers = []
        for line in lines[1:]:
            name, colon, value = line.decode("latin-1").partition(":")
            if not colon or not name or name != name.strip() or "\n" in value:
                raise PeerError(f"a header line {show(line)}")
            headers.append((name.lower(), value.strip()))
        return int(code), reason, tuple(headers)

    def _read_chunks(self) -> bytes:
        body = bytearray()
        while True:
            line = self.read_until(b"\r\n", "a chunk size")[:-2]
            try:
                size = int(line.partition(b";")[0].strip(), 16)
            except ValueError:
                raise PeerError(f"a chunk size {show(line)}") from None
            if size == 0:
                while self.read_until(b"\r\n", "a trailer") != b"\r\n":
                    pass
                return bytes(body)
            if len(body) + size > MAX_BODY_BYTES:
                raise PeerError(f"a chunked body of more than {MAX_BODY_BYTES} bytes")
            body += self.read_exactly(size, "a chunk")
            if self.read_exactly(2, "a chunk's end") != b"\r\n":
                raise PeerError("a chunk that does not end where its size says")


def _secured(plain: socket.socket, host: str, tls: ssl.SSLContext) -> ssl.SSLSocket:
    """The connection after a TLS handshake; it is closed if that fails."""
    with interrupt.waiting():
        try:
            return tls.wrap_socket(plain, server_hostname=host)
        except TimeoutError:
            plain.close()
            raise SilenceError(f"no end of the TLS handshake in {plain.gettimeout():g} s") from None
        except OSError as error:
            plain.close()
            raise PeerError(f"no TLS handshake: {error}") from error


@contextmanager
def connect(peer: Peer, *, timeout_s: float | None = None) -> Iterator[Connection]:
    connection = Connection(peer, timeout_s=timeout_s)
    try:
        yield connection
    finally:
        connection.close()


def request(
    method: str,
    path: str,
    *,
    port: int,
    body: bytes | None = None,
    content_type: str | None = None,
    close: bool = False,
) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}:{port}"]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    if close:
        lines.append("Connection: close")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


def exchange(peer: Peer, data: bytes, *, timeout_s: float | None = None) -> Response:
    """One request on its own connection."""
    with connect(peer, timeout_s=timeout_s) as connection:
        connection.send(data)
        return connection.read_response()


SHOWN_BYTES = 300


def show(data: bytes) -> str:
    """Bytes as text for a report, escaped and truncated."""
    cut = data[:SHOWN_BYTES]
    text = cut.decode("utf-8", errors="backslashreplace").encode("unicode_escape").decode()
    return f'"{text}"' + (f"... ({len(data)} bytes)" if len(data) > SHOWN_BYTES else "")
