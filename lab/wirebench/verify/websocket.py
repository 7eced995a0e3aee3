"""WebSocket (RFC 6455) by hand, as a client: handshake and frames, strict about what the server
sends.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from wirebench.catalog.units import count_of
from wirebench.frames import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    accept_key,
    encode_frame,
    new_key,
)
from wirebench.verify.http import Connection, Peer, PeerError, show

UPGRADE = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")
_NAMES = {
    CONTINUATION: "continuation",
    TEXT: "text",
    BINARY: "binary",
    CLOSE: "close",
    PING: "ping",
    PONG: "pong",
}
MAX_FRAME_BYTES = 16 * 1024 * 1024
HANDSHAKE_PIECE_BYTES = 5
"""Small enough to cut every line, large enough not to look like an attack: tungstenite refuses more
than 64 tiny packets.
"""


@dataclass(frozen=True, kw_only=True)
class Frame:
    opcode: int
    payload: bytes
    fin: bool = True

    def describe(self) -> str:
        return f"{_NAMES[self.opcode]} {show(self.payload)}"


class WebSocket:
    """An open WebSocket connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._opcode = -1  # of the message that has begun
        self._parts: list[bytes] = []

    def send(self, opcode: int, payload: bytes, *, fin: bool = True) -> None:
        self.connection.send(encode_frame(opcode, payload, fin=fin))

    def send_text(self, text: str) -> None:
        self.send(TEXT, text.encode())

    def send_many(self, texts: Sequence[str]) -> None:
        self.connection.send(b"".join(encode_frame(TEXT, text.encode()) for text in texts))

    def read_frame(self) -> Frame:
        first, second = self.connection.read_exactly(2, "a frame")
        opcode, size = first & 0x0F, second & 0x7F
        if first & 0x70:
            raise PeerError(
                f"a frame with reserved bits set (first byte {first:#04x}), "
                "though no extension was agreed on"
            )
        if opcode not in _NAMES:
            raise PeerError(f"a frame with the unknown opcode {opcode:#x}")
        if second & 0x80:
            raise PeerError("a masked frame from a server (RFC 6455 section 5.1)")
        if size == 126:
            size = struct.unpack(">H", self.connection.read_exactly(2, "a frame's length"))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.connection.read_exactly(8, "a frame's length"))[0]
        if size > MAX_FRAME_BYTES:
            raise PeerError(f"a frame of {size} bytes")
        return Frame(
            opcode=opcode,
            payload=self.connection.read_exactly(size, f"a frame of {count_of(size, 'byte')}"),
            fin=bool(first & 0x80),
        )

    def read_message(self) -> Frame:
        """The next whole message, or a close or pong frame, which may come between the frames of a
        message; pings are answered.
        """
        while True:
            frame = self.read_frame()
            inside = self._opcode >= 0
            if frame.opcode == PING:
                self.send(PONG, frame.payload)
            elif frame.opcode in (CLOSE, PONG):
                return frame
            elif (frame.opcode == CONTINUATION) != inside:
                raise PeerError(
                    f"a {_NAMES[frame.opcode]} frame {'inside' if inside else 'outside'} "
                    "a fragmented message"
                )
            else:
                self._opcode = self._opcode if inside else frame.opcode
                self._parts.append(frame.payload)
                if frame.fin:
                    whole = Frame(opcode=self._opcode, payload=b"".join(self._parts))
                    self._opcode, self._parts = -1, []
                    return whole


@contextmanager
def open_websocket(
    peer: Peer, *, in_pieces: bool = False, timeout_s: float | None = None
) -> Iterator[WebSocket]:
    connection = Connection(peer, timeout_s=timeout_s)
    try:
        yield shake_hands(connection, in_pieces=in_pieces)
    finally:
        connection.close()


@dataclass(frozen=True, kw_only=True)
class HandshakeReply:
    """What a server answered to a handshake, not judged."""

    status: int
    reason: str
    fields: Mapping[str, str]
    """Names in lower case."""
    key: str
    """The one that was sent."""

    @property
    def accept(self) -> str:
        """What its Sec-WebSocket-Accept must be."""
        return accept_key(self.key)


def handshake(
    connection: Connection,
    *lines: str,
    path: str = "/",
    authority: str | None = None,
    in_pieces: bool = False,
) -> HandshakeReply:
    """Sends a handshake with these lines, which should be ``UPGRADE``, and a new key."""
    key = new_key()
    host = f"Host: {authority or f'{connection.peer.host}:{connection.peer.port}'}"
    head = [f"GET {path} HTTP/1.1", host, *lines, f"Sec-WebSocket-Key: {key}", "", ""]
    data = "\r\n".join(head).encode("latin-1")
    if in_pieces:
        connection.send_in_pieces(data, size=HANDSHAKE_PIECE_BYTES)
    else:
        connection.send(data)
    status, reason, headers = connection.read_head()
    return HandshakeReply(status=status, reason=reason, fields=dict(headers), key=key)


def shake_hands(connection: Connection, *, in_pieces: bool = False) -> WebSocket:
    """A handshake that must succeed, without any extension."""
    reply = handshake(connection, *UPGRADE, in_pieces=in_pieces)
    named = reply.fields
    if reply.status != 101:
        raise PeerError(f"{reply.status} {reply.reason}")
    if (
        named.get("upgrade", "").lower() != "websocket"
        or "upgrade" not in named.get("connection", "").lower()
    ):
        raise PeerError(
            f"101 with Upgrade: {named.get('upgrade')}, Connection: {named.get('connection')}"
        )
    if named.get("sec-websocket-accept") != reply.accept:
        raise PeerError(
            f"Sec-WebSocket-Accept: {named.get('sec-websocket-accept')} for the key {reply.key}, "
            f"not {reply.accept}"
        )
    for name in ("sec-websocket-extensions", "sec-websocket-protocol"):
        if named.get(name):
            raise PeerError(f"{name}: {named[name]}, which was not offered")
    return WebSocket(connection)
