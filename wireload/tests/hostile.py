"""Ways in which a server can be hostile: each answers one request, or one message, as no server
should.
"""

from __future__ import annotations

import random
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

from servers import BINARY, CLOSE, PING, TEXT, frame, reply

FOREVER_S = 20
"""Of what never ends the peer sees the end of its own patience first."""


@dataclass(frozen=True)
class Behaviour:
    """``act`` says whether the connection stays open. ``kinds``: what the one asked may count it
    as.
    """

    act: Callable[[random.Random, socket.socket, bytes], bool]
    kinds: frozenset[str]


def says(data: bytes | Callable[[random.Random], bytes], *kinds: str) -> Behaviour:
    """Sends these bytes and waits for what the peer makes of them."""

    def act(chance: random.Random, connection: socket.socket, _asked: bytes) -> bool:
        connection.sendall(data if isinstance(data, bytes) else data(chance))
        return True

    return Behaviour(act, frozenset(kinds))


def says_and_closes(data: bytes | Callable[[random.Random], bytes], *kinds: str) -> Behaviour:
    inner = says(data, *kinds)

    def act(chance: random.Random, connection: socket.socket, asked: bytes) -> bool:
        inner.act(chance, connection, asked)
        return False

    return Behaviour(act, inner.kinds)


def endless(start: bytes, more: bytes, *kinds: str, pause_s: float = 0.0) -> Behaviour:
    """Sends ``more`` again and again until the peer has had enough."""

    def act(_chance: random.Random, connection: socket.socket, _asked: bytes) -> bool:
        connection.sendall(start)
        end = time.monotonic() + FOREVER_S
        while time.monotonic() < end:
            connection.sendall(more)
            if pause_s:
                time.sleep(pause_s)
        return False

    return Behaviour(act, frozenset(kinds))


def reset(_chance: random.Random, connection: socket.socket, _asked: bytes) -> bool:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def slowly(data: bytes) -> Callable[[random.Random, socket.socket, bytes], bool]:
    """A byte now and then: there is always a sign of life, and never an answer."""

    def act(_chance: random.Random, connection: socket.socket, _asked: bytes) -> bool:
        for i in range(len(data)):
            connection.sendall(data[i : i + 1])
            time.sleep(0.02)
        return True

    return act


def mutated(whole: bytes) -> Callable[[random.Random], bytes]:
    def make(chance: random.Random) -> bytes:
        data = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(data))
            match chance.randrange(4):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    del data[at : at + chance.randint(1, 8)]
                case 2:
                    data[at:at] = chance.randbytes(chance.randint(1, 8))
                case _:
                    data[at:at] = data[: chance.randint(1, 40)]
            data = data or bytearray(b"?")
        return bytes(data)

    return make


# --- HTTP -----------------------------------------------------------------------------------------

_OK = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_ANY = ("protocol", "closed_early", "read_timeout", "bad_status", "bad_body")

HTTP: dict[str, Behaviour] = {
    "random bytes": says_and_closes(
        lambda chance: chance.randbytes(chance.randint(1, 2000)), "protocol", "closed_early"
    ),
    "a mutated reply": says_and_closes(
        mutated(reply(b"hello", "200 OK", "X-Other: some value")), *_ANY
    ),
    "a mutated chunked reply": says_and_closes(
        mutated(_CHUNKED + b"3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n"), *_ANY
    ),
    "nothing": says_and_closes(b"", "closed_early"),
    "silence": says(b"", "read_timeout"),
    "a reset": Behaviour(reset, frozenset({"closed_early"})),
    "half a head": says_and_closes(_OK + b"Content-Le", "closed_early"),
    "half a body": says_and_closes(_OK + b"Content-Length: 5\r\n\r\nhel", "closed_early"),
    "half a chunk": says_and_closes(_CHUNKED + b"5\r\nhel", "closed_early"),
    "a byte now and then": Behaviour(slowly(reply(b"hello")), frozenset({"read_timeout"})),
    "endless fields": endless(_OK, b"X-Filler: " + b"y" * 1000 + b"\r\n", "protocol"),
    "an endless field": endless(_OK + b"X-Filler: ", b"y" * 4096, "protocol"),
    "an endless status line": endless(b"HTTP/1.1 200 ", b"O" * 4096, "protocol"),
    "too many fields": says(_OK + b"A: b\r\n" * 2000 + b"\r\n", "protocol"),
    "endless interim replies": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", "protocol"),
    "an endless chunked body": endless(
        _CHUNKED, b"10000\r\n" + b"z" * 65536 + b"\r\n", "read_timeout", "bad_body"
    ),
    "endless small chunks": endless(_CHUNKED, b"1\r\nz\r\n" * 4000, "read_timeout", "bad_body"),
    "an endless chunk extension": endless(_CHUNKED + b"5;", b"e" * 4096, "protocol"),
    "endless trailers": endless(
        _CHUNKED + b"0\r\n", b"X-Trailer: " + b"t" * 1000 + b"\r\n", "protocol"
    ),
    "an endless body to the end": endless(_OK + b"\r\n", b"z" * 65536, "read_timeout", "bad_body"),
    "more than it promised": says(reply(b"hello") + b"and more", "protocol"),
    "a petabyte announced": says(
        _OK + b"Content-Length: 1125899906842624\r\n\r\n", "protocol", "read_timeout"
    ),
    "a chunk of all there is": says(_CHUNKED + b"ffffffffffffffff\r\n", "protocol"),
    "a chunk size that wraps": says(
        _CHUNKED + b"10000000000000005\r\nhello\r\n0\r\n\r\n", "protocol"
    ),
    "a chunk size that is none": says(_CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n", "protocol"),
    "a chunk that is longer than it says": says(_CHUNKED + b"3\r\nhello\r\n0\r\n\r\n", "protocol"),
    "two lengths": says(_OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "protocol"),
    "a length below zero": says(_OK + b"Content-Length: -1\r\n\r\n", "protocol"),
    "a switch of protocols": says(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
        "protocol",
        "bad_status",
    ),
    "zeros in a field": says(_OK + b"A: b\0c\r\nContent-Length: 5\r\n\r\nhello", "protocol"),
    "another body": says(reply(b"jello"), "bad_body"),
    "another status": says(reply(b"hello", "503 Service Unavailable"), "bad_status"),
}

# --- WebSocket ------------------------------------------------------------------------------------


def header(first: int, length: int, *, masked: bool = False) -> bytes:
    """A frame's header with its length in 64 bits."""
    return bytes([first, (128 if masked else 0) | 127]) + struct.pack(">Q", length)


WS: dict[str, Behaviour] = {
    "random bytes": says_and_closes(
        lambda chance: chance.randbytes(chance.randint(2, 2000)),
        "protocol",
        "closed_early",
        "bad_body",
    ),
    "a mutated frame": says_and_closes(
        mutated(frame(TEXT, b"hello" * 30)), "protocol", "closed_early", "bad_body", "read_timeout"
    ),
    "nothing": says_and_closes(b"", "closed_early"),
    "silence": says(b"", "read_timeout"),
    "a reset": Behaviour(reset, frozenset({"closed_early"})),
    "half a frame": says_and_closes(frame(TEXT, b"hello")[:4], "closed_early"),
    "a byte now and then": Behaviour(slowly(frame(TEXT, b"h" * 100)), frozenset({"read_timeout"})),
    "an opcode that is none": says(
        lambda chance: frame(chance.choice((3, 4, 5, 6, 7, 11, 12, 13, 14, 15)), b"x"), "protocol"
    ),
    "reserved bits": says(
        lambda chance: bytes([0x81 | chance.choice((0x10, 0x20, 0x40)), 1, 120]), "protocol"
    ),
    "a masked frame": says(b"\x81\x85\1\2\3\4hello", "protocol"),
    "all there is in one frame": says(header(0x81, 2**63 - 1) + b"x" * 1000, "protocol"),
    "a length below zero": says(header(0x81, 2**63 + 5) + b"x" * 1000, "protocol"),
    "a length in too many bytes": says(header(0x81, 5) + b"hello", "protocol"),
    "fragments without end": endless(
        frame(TEXT, b"x", fin=False), frame(0, b"x" * 65000, fin=False), "protocol"
    ),
    "empty fragments without end": endless(
        frame(TEXT, b"", fin=False), frame(0, b"", fin=False) * 4000, "protocol", "read_timeout"
    ),
    "pings without end": endless(b"", frame(PING, b"p" * 125) * 500, "read_timeout"),
    "a ping in pieces": says(frame(PING, b"p", fin=False), "protocol"),
    "a ping that is too long": says(frame(PING, b"p" * 126), "protocol"),
    "a continuation of nothing": says(frame(0, b"x"), "protocol"),
    "a message inside another": says(frame(TEXT, b"x", fin=False) + frame(TEXT, b"y"), "protocol"),
    "bytes that are not UTF-8": says(frame(TEXT, b"\xff\xfe\xfd"), "protocol"),
    "a surrogate, split": says(frame(TEXT, b"\xed", fin=False) + frame(0, b"\xa0\x80"), "protocol"),
    "a character that never ends": says(
        frame(TEXT, b"\xe2\x82", fin=False) + frame(0, b""), "protocol"
    ),
    "a close with half a code": says(frame(CLOSE, b"\x03"), "protocol"),
    "a close with a code that is none": says(frame(CLOSE, struct.pack(">H", 1005)), "protocol"),
    "a close": says_and_closes(frame(CLOSE, struct.pack(">H", 1001) + b"bye"), "closed_early"),
    "another message": says(frame(TEXT, b"jello"), "bad_body"),
    "another kind of message": says(frame(BINARY, b"hello"), "bad_body"),
    "more messages than were asked for": says(frame(TEXT, b"jello") * 3, "bad_body"),
}
