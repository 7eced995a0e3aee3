"""WebSocket as bytes (RFC 6455): frames, and the keys and the answer of the handshake. No I/O.

By hand and not by a library, because the checks and tests that use it also send what no library
would. Standard library only: wireload's tests, which run without the lab's packages, use it too.
"""

from __future__ import annotations

import base64
import hashlib
import os
import struct

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
RSV1 = 0x40
"""The first reserved bit: with permessage-deflate it marks a compressed message (RFC 7692)."""
_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # section 1.3


def new_key() -> str:
    return base64.b64encode(os.urandom(16)).decode()


def accept_key(key: str) -> str:
    """Section 4.2.2."""
    return base64.b64encode(hashlib.sha1((key + _GUID).encode()).digest()).decode()  # noqa: S324  # the protocol's choice


def switching_protocols(key: str, *fields: str) -> bytes:
    """The server's answer to the client's key, with further fields."""
    lines = (
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {accept_key(key)}",
        *fields,
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def encode_frame(
    opcode: int,
    payload: bytes,
    *,
    fin: bool = True,
    reserved: int = 0,
    mask: bool = True,
    key: bytes | None = None,
) -> bytes:
    """Any opcode and any reserved bits (of the first byte). ``mask``: as a client sends it, with
    this masking key or a random one.
    """
    head = bytearray([(0x80 if fin else 0) | reserved | opcode])
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
    """Section 5.3, as one exclusive or of two long numbers."""
    size = len(payload)
    repeated = (key * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
