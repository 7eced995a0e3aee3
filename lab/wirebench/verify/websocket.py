"""WebSocket (RFC 6455) by hand, as a client: handshake and frames, strict about what the server
sends.
"""

from __future__ import annotations

import base64
import hashlib
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from wirebench.process.ports import HOST
from wirebench.verify.http import Connection, PeerError, show

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_NAMES = {
    CONTINUATION: "continuation",
    TEXT: "text",
    BINARY: "binary",
    CLOSE: "close",
    PING: "ping",
    PONG: "pong",
}
_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455 section 1.3
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


def accept_key(key: str) -> str:
    """RFC 6455 section 4.2.2."""
    return base64.b64encode(hashlib.sha1((key + _GUID).encode()).digest()).decode()  # noqa: S324  # the protocol's choice


def encode_frame(
    opcode: int, payload: bytes, *, fin: bool = True, mask: bool = True, key: bytes | None = None
) -> bytes:
    head = bytearray([(0x80 if fin else 0) | opcode])
    bit = 0x80 if mask else 0
    if len(payload) < 126:
        head.append(bit | len(payload))
    elif len(payload) < 65536:
        head.append(bit | 126)
        head += struct.pack(">H", len(payload))
    else:
        head.append(bit | 127)
        head += struct.pack(">Q", len(payload))
    if not mask:
        return bytes(head) + payload
    key = key if key is not None else os.urandom(4)
    return bytes(head) + key + apply_mask(payload, key)


def apply_mask(payload: bytes, key: bytes) -> bytes:
    """RFC 6455 section 5.3, as one exclusive or of two long numbers."""
    size = len(payload)
    repeated = (key * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")


def handshake_request(port: int, key: str, path: str = "/") -> bytes:
    return (
        f"GET {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def new_key() -> str:
    return base64.b64encode(os.urandom(16)).decode()


class WebSocket:
    """An open WebSocket connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

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
                f"a frame with reserved bits set (first byte {first:#04x}), though no extension was agreed on"
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
            payload=self.connection.read_exactly(size, f"a frame of {size} bytes"),
            fin=bool(first & 0x80),
        )

    def read_message(self) -> Frame:
        """The next whole message, or a close or pong frame; pings are answered."""
        opcode, parts = -1, []
        while True:
            frame = self.read_frame()
            if frame.opcode == PING:
                self.send(PONG, frame.payload)
            elif frame.opcode in (CLOSE, PONG):
                return frame
            elif (frame.opcode == CONTINUATION) == (opcode < 0):
                raise PeerError(
                    f"a {_NAMES[frame.opcode]} frame {'outside' if opcode < 0 else 'inside'} a fragmented message"
                )
            else:
                opcode = frame.opcode if opcode < 0 else opcode
                parts.append(frame.payload)
                if frame.fin:
                    return Frame(opcode=opcode, payload=b"".join(parts))


@contextmanager
def open_websocket(
    port: int, *, in_pieces: bool = False, timeout_s: float | None = None
) -> Iterator[WebSocket]:
    connection = Connection(port, timeout_s=timeout_s)
    try:
        yield shake_hands(connection, in_pieces=in_pieces)
    finally:
        connection.close()


def shake_hands(connection: Connection, *, in_pieces: bool = False) -> WebSocket:
    key = new_key()
    data = handshake_request(connection.port, key)
    if in_pieces:
        connection.send_in_pieces(data, size=HANDSHAKE_PIECE_BYTES)
    else:
        connection.send(data)
    status, reason, headers = connection.read_head()
    named = dict(headers)
    if status != 101:
        raise PeerError(f"{status} {reason}")
    if (
        named.get("upgrade", "").lower() != "websocket"
        or "upgrade" not in named.get("connection", "").lower()
    ):
        raise PeerError(
            f"101 with Upgrade: {named.get('upgrade')}, Connection: {named.get('connection')}"
        )
    if named.get("sec-websocket-accept") != accept_key(key):
        raise PeerError(
            f"Sec-WebSocket-Accept: {named.get('sec-websocket-accept')} for the key {key}, not {accept_key(key)}"
        )
    for name in ("sec-websocket-extensions", "sec-websocket-protocol"):
        if named.get(name):
            raise PeerError(f"{name}: {named[name]}, which was not offered")
    return WebSocket(connection)
