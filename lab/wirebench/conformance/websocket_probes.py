"""Probes of WebSocket: RFC 6455, on a path that echoes text and binary messages."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial

from wirebench.catalog.units import count_of
from wirebench.conformance.asking import CLOSE_WITHIN_S, connected, head, is_end, refusal
from wirebench.conformance.types import Probe, Target, probe
from wirebench.frames import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, encode_frame, new_key
from wirebench.verify.checks import Mismatch
from wirebench.verify.http import Connection, PeerError
from wirebench.verify.websocket import UPGRADE, Frame, WebSocket, handshake

Talk = Callable[[WebSocket], str]

NORMAL = 1000  # RFC 6455 section 7.4.1
FAULTS = frozenset((1002, 1003, 1007, 1008, 1009, 1010, 1011, *range(3000, 5000)))
"""Codes that say that something was wrong. The standard gives each a meaning, and no sentence says
which one an endpoint must send (section 7.1.7: an appropriate one).
"""
_probe = partial(probe, "websocket")


def websocket_probes() -> Iterator[Probe]:
    yield from _handshake()
    yield from _frames()
    yield from _fragments()
    yield from _control_frames()
    yield from _utf8()
    yield from _closing()


@contextmanager
def opened(target: Target, *lines: str) -> Iterator[WebSocket]:
    """A handshake with these further lines, then the connection."""
    with connected(target) as connection:
        shake(target, connection, *UPGRADE, *lines)
        yield WebSocket(connection)


def shake(target: Target, connection: Connection, *lines: str) -> Mapping[str, str]:
    """The fields of the 101."""
    path = target.websocket_path or "/"
    reply = handshake(connection, *lines, path=path, authority=target.authority)
    if reply.status != 101:
        raise PeerError(f"{reply.status} {reply.reason} to the handshake")
    accept = reply.fields.get("sec-websocket-accept")
    if accept != reply.accept:
        raise Mismatch(expected=f"Sec-WebSocket-Accept: {reply.accept}", received=str(accept))
    return reply.fields


def talking(talk: Talk) -> Callable[[Target], str]:
    def run(target: Target) -> str:
        with opened(target) as websocket:
            return talk(websocket)

    return run


def failing(data: bytes, *, closing: bool = False) -> Callable[[Target], str]:
    """These bytes make the server fail the connection (RFC 6455 section 7.1.7): a close frame or
    none, and the end. ``closing``: as ``fails`` has it.
    """

    def talk(websocket: WebSocket) -> str:
        with suppress(PeerError):
            websocket.connection.send(data)
        return fails(websocket, closing=closing)

    return talking(talk)


def _failing(id_: str, standard: str, sent: str, data: bytes) -> Probe:
    return _probe(id_, standard, sent, "the connection's end", failing(data))


def fails(websocket: WebSocket, *, closing: bool = False) -> str:
    """``closing``: what is wrong is a close frame. A server that does not see that ends the
    connection as well, and its code tells; else the code is no MUST (see ``failure_code``). Only
    that of the first close frame: the peer listens to no other (section 7.1.5).
    """
    said = ""
    while True:
        try:
            frame = websocket.read_frame()
        except PeerError as error:
            if is_end(error):
                return f"{said or 'no close frame'}, and the end of the connection"
            raise Mismatch(
                expected="the end of the connection",
                received=f"{said or 'no close frame'}; {error}",
            ) from error
        if frame.opcode != CLOSE:
            raise Mismatch(expected="the end of the connection", received=frame.describe())
        code = _code_of(frame)
        if closing and not said and code is not None and code not in FAULTS:
            raise Mismatch(
                expected="the code of a fault, as 1002 or 1007", received=f"close code {code}"
            )
        said = said or (
            f"close code {code}" if code is not None else "a close frame without a code"
        )
        if not websocket.connection.is_closed_by_peer(CLOSE_WITHIN_S / 4):
            # It may wait for our close frame before it ends the connection.
            with suppress(PeerError):
                websocket.send(CLOSE, frame.payload)


def _code_of(frame: Frame) -> int | None:
    return struct.unpack(">H", frame.payload[:2])[0] if len(frame.payload) >= 2 else None


def echoes(websocket: WebSocket, opcode: int, payload: bytes) -> str:
    frame = websocket.read_message()
    wanted = Frame(opcode=opcode, payload=payload)
    if frame != wanted:
        raise Mismatch(expected=wanted.describe(), received=frame.describe())
    return frame.describe()


def in_any_order(read: Callable[[], Frame], *wanted: Frame) -> str:
    """A pong goes as soon as is practical (RFC 6455 section 5.5.3), and no sentence says before or
    behind which frames of a message.
    """
    left, found = list(wanted), []
    while left:
        frame = read()
        if frame not in left:
            expected = " and ".join(one.describe() for one in left)
            raise Mismatch(expected=expected, received=frame.describe())
        left.remove(frame)
        found.append(frame.describe())
    return ", then ".join(found)


# ---- section 4: the handshake ----


def _handshake() -> Iterator[Probe]:
    def accepted(name: str, standard: str, sent: str, *lines: str) -> Probe:
        def run(target: Target) -> str:
            with connected(target) as connection:
                named = shake(target, connection, *lines)
                websocket = WebSocket(connection)
                websocket.send_text("hi")
                echoes(websocket, TEXT, b"hi")
            return f"101 with {count_of(len(named), 'field')}, and an echo"

        return _probe(name, standard, sent, "101, and an echo", run)

    def rejected(
        name: str, standard: str, sent: str, *lines: str, names_version: bool = False
    ) -> Probe:
        def run(target: Target) -> str:
            with connected(target) as connection:
                response = refusal(connection, head(target, *lines, path=target.websocket_path))
                if response.status == 101:
                    raise Mismatch(expected=expected, received=response.describe())
                if names_version and response.header("sec-websocket-version") is None:
                    raise Mismatch(
                        expected=expected, received=f"{response.describe()}, without the field"
                    )
            return response.describe()

        expected = "a refusal with Sec-WebSocket-Version: 13" if names_version else "no 101"
        return _probe(name, standard, sent, expected, run)

    key = f"Sec-WebSocket-Key: {new_key()}"
    version = "Sec-WebSocket-Version: 13"
    yield accepted("handshake", "6455 4.2.2 MUST", "a handshake", *UPGRADE)
    yield accepted(
        "handshake_case",
        "6455 4.2.1 MUST",
        "Upgrade: WebSocket, Connection: keep-alive, upgrade",
        "Upgrade: WebSocket",
        "Connection: keep-alive, upgrade",
        version,
    )
    yield accepted(
        "handshake_offers",
        "6455 4.2.2 MUST",
        "offers of an unknown extension and subprotocol",
        *UPGRADE,
        "Sec-WebSocket-Extensions: x-unheard-of",
        "Sec-WebSocket-Protocol: x-unheard-of",
    )
    yield rejected("key_missing", "6455 4.2.1 MUST", "a handshake without a key", *UPGRADE)
    yield rejected(
        "key_short", "6455 4.2.1 MUST", "a key of three bytes", *UPGRADE, "Sec-WebSocket-Key: YWJj"
    )
    yield rejected(
        "connection_missing",
        "6455 4.2.1 MUST",
        "a handshake without Connection",
        "Upgrade: websocket",
        version,
        key,
    )
    yield rejected(
        "version_99",
        "6455 4.2.2 MUST",
        "Sec-WebSocket-Version: 99",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 99",
        key,
        names_version=True,
    )

    def _post(target: Target) -> str:
        with connected(target) as connection:
            response = refusal(
                connection,
                head(
                    target,
                    *UPGRADE,
                    key,
                    "Content-Length: 0",
                    method="POST",
                    path=target.websocket_path,
                ),
            )
            if response.status == 101:
                raise Mismatch(expected="no 101", received=response.describe())
        return response.describe()

    yield _probe("handshake_post", "6455 4.2.1 MUST", "a handshake with POST", "no 101", _post)


# ---- section 5.2: frames ----


def _frames() -> Iterator[Probe]:
    for length in (0, 1, 125, 126, 127, 65_535, 65_536):
        for opcode, name in ((TEXT, "text"), (BINARY, "binary")):

            def talk(websocket: WebSocket, opcode: int = opcode, length: int = length) -> str:
                websocket.send(opcode, b"x" * length)
                return echoes(websocket, opcode, b"x" * length)

            yield _probe(
                f"{name}_{length}",
                "6455 5.6 MUST",
                f"a {name} message of {count_of(length, 'byte')}",
                "its echo",
                talking(talk),
            )

    def split(websocket: WebSocket) -> str:
        websocket.connection.send_in_pieces(encode_frame(TEXT, b"hello"))
        return echoes(websocket, TEXT, b"hello")

    yield _probe(
        "split_frames", "6455 5.2 MUST", "a message, one byte at a time", "its echo", talking(split)
    )
    yield _failing(
        "unmasked", "6455 5.1 MUST", "an unmasked frame", encode_frame(TEXT, b"hi", mask=False)
    )
    for bit, name in ((0x40, "rsv1"), (0x20, "rsv2"), (0x10, "rsv3")):
        yield _failing(
            name,
            "6455 5.2 MUST",
            f"a frame with reserved bit {name[3]} set",
            encode_frame(TEXT, b"hi", reserved=bit),
        )
    for opcode in (*range(3, 8), *range(11, 16)):
        yield _failing(
            f"opcode_{opcode}",
            "6455 5.2 MUST",
            f"a frame of the reserved opcode {opcode}",
            encode_frame(opcode, b"hi"),
        )
    yield _failing(
        "length_top_bit",
        "6455 5.2 MUST",
        "a frame whose 64-bit length has its top bit set",
        bytes([0x82, 0xFF]) + b"\x80" + bytes(7) + b"mask",
    )
    yield _probe(
        "length_not_minimal",
        "6455 5.2 MAY",
        "a frame of 2 bytes with a 16-bit length",
        "the connection's end (only senders are bound to the shortest form; strict receivers"
        " refuse)",
        failing(bytes([0x81, 0xFE, 0, 2]) + bytes(4) + b"hi"),
    )


# ---- section 5.4: fragments ----


def _fragments() -> Iterator[Probe]:
    def sending(*frames: tuple[int, bytes, bool]) -> bytes:
        return b"".join(encode_frame(opcode, payload, fin=fin) for opcode, payload, fin in frames)

    def whole(websocket: WebSocket) -> str:
        websocket.connection.send(
            sending((TEXT, b"a", False), (CONTINUATION, b"", False), (CONTINUATION, b"b", True))
        )
        return echoes(websocket, TEXT, b"ab")

    def with_ping(websocket: WebSocket) -> str:
        websocket.connection.send(
            sending((BINARY, b"a", False), (PING, b"p", True), (CONTINUATION, b"b", True))
        )
        pong, echo = Frame(opcode=PONG, payload=b"p"), Frame(opcode=BINARY, payload=b"ab")
        return in_any_order(websocket.read_message, pong, echo)

    yield _probe(
        "fragments", "6455 5.4 MUST", "a text message in three frames", "its echo", talking(whole)
    )
    yield _probe(
        "fragments_with_ping",
        "6455 5.4 MUST",
        "a message in two frames with a ping between",
        "the pong and the echo",
        talking(with_ping),
    )
    yield _failing(
        "continuation_alone",
        "6455 5.4 MUST",
        "a continuation frame of no message",
        encode_frame(CONTINUATION, b"x"),
    )
    yield _failing(
        "message_inside_message",
        "6455 5.4 MUST",
        "a text frame inside a fragmented message",
        encode_frame(TEXT, b"a", fin=False) + encode_frame(TEXT, b"b"),
    )


# ---- section 5.5: control frames ----


def _control_frames() -> Iterator[Probe]:
    def ping(payload: bytes) -> Talk:
        def talk(websocket: WebSocket) -> str:
            websocket.send(PING, payload)
            frame = websocket.read_message()
            if frame != Frame(opcode=PONG, payload=payload):
                raise Mismatch(expected="a pong with the same bytes", received=frame.describe())
            return frame.describe()

        return talk

    def pong(websocket: WebSocket) -> str:
        websocket.send(PONG, b"unasked")
        websocket.send_text("hi")
        return echoes(websocket, TEXT, b"hi")

    yield _probe(
        "ping_empty",
        "6455 5.5.2 MUST",
        "a ping without payload",
        "a pong without payload",
        talking(ping(b"")),
    )
    yield _probe(
        "ping_125",
        "6455 5.5.2 MUST",
        "a ping of 125 bytes",
        "a pong with the same bytes",
        talking(ping(bytes(range(125)))),
    )
    yield _probe(
        "pong_unasked",
        "6455 5.5.3 MUST",
        "a pong that nobody asked for, then a message",
        "the echo alone",
        talking(pong),
    )
    yield _failing(
        "ping_126",
        "6455 5.5 MUST",
        "a ping of 126 bytes",
        encode_frame(PING, bytes(126)),
    )
    yield _failing(
        "ping_fragmented",
        "6455 5.5 MUST",
        "a ping in two frames",
        encode_frame(PING, b"a", fin=False),
    )


# ---- section 8.1: UTF-8 ----


def _utf8() -> Iterator[Probe]:
    good = "κόσμε, 水, 🙂\u0000".encode()

    def split(websocket: WebSocket) -> str:
        for place in range(len(good)):
            last = place == len(good) - 1
            websocket.send(TEXT if place == 0 else CONTINUATION, good[place : place + 1], fin=last)
        return echoes(websocket, TEXT, good)

    yield _probe(
        "utf8_split",
        "6455 8.1 MUST",
        "a text of several scripts, each byte in a frame of its own",
        "its echo",
        talking(split),
    )
    for name, text in (
        ("byte", b"\xff"),
        ("overlong", b"\xc0\xaf"),
        ("surrogate", b"\xed\xa0\x80"),
        ("beyond", b"\xf4\x90\x80\x80"),
        ("cut", b"\xe6\xb0"),
    ):
        yield _failing(
            f"utf8_{name}",
            "6455 8.1 MUST",
            f"a text message of the bytes {text.hex(' ')}",
            encode_frame(TEXT, b"ok" + text),
        )
    yield _failing(
        "utf8_across_frames",
        "6455 8.1 MUST",
        "a text message that is wrong only where two frames meet",
        encode_frame(TEXT, b"\xe6", fin=False) + encode_frame(CONTINUATION, b"x"),
    )


# ---- section 7: closing ----


def _closing() -> Iterator[Probe]:
    def close(payload: bytes) -> Talk:
        def talk(websocket: WebSocket) -> str:
            websocket.send(CLOSE, payload)
            frame = websocket.read_message()
            if frame.opcode != CLOSE:
                raise Mismatch(expected="a close frame", received=frame.describe())
            if not websocket.connection.is_closed_by_peer(CLOSE_WITHIN_S):
                raise Mismatch(
                    expected="the end of the connection after both close frames",
                    received="an open connection",
                )
            return frame.describe()

        return talk

    def code(number: int, reason: bytes = b"") -> bytes:
        return struct.pack(">H", number) + reason

    def nothing_after(websocket: WebSocket) -> str:
        websocket.connection.send(encode_frame(CLOSE, code(NORMAL)) + encode_frame(TEXT, b"late"))
        frame = websocket.read_message()
        if frame.opcode != CLOSE:
            raise Mismatch(expected="a close frame and no echo", received=frame.describe())
        return frame.describe()

    def failure_code(data: bytes) -> Talk:
        def talk(websocket: WebSocket) -> str:
            websocket.connection.send(data)
            frame = websocket.read_frame()
            if frame.opcode != CLOSE or _code_of(frame) not in FAULTS:
                raise Mismatch(
                    expected="a close frame with the code of a fault", received=frame.describe()
                )
            return f"close code {_code_of(frame)}"

        return talk

    for name, what, data in (
        ("", "a frame of the reserved opcode 3", encode_frame(3, b"hi")),
        ("_of_text", "a text message that is not UTF-8", encode_frame(TEXT, b"\xff")),
    ):
        yield _probe(
            f"failure_code{name}",
            "6455 7.1.7 SHOULD",
            what,
            "a close frame with the code of a fault, as 1002 or 1007",
            talking(failure_code(data)),
        )
    answer = "a close frame, then the end of the connection"
    yield _probe(
        "close_empty",
        "6455 5.5.1 MUST",
        "a close frame without a code",
        answer,
        talking(close(b"")),
    )
    for number in (NORMAL, 1001, 3000, 4999):
        yield _probe(
            f"close_{number}",
            "6455 5.5.1 MUST",
            f"a close frame with code {number}",
            answer,
            talking(close(code(number, b"bye"))),
        )
    yield _probe(
        "close_then_data",
        "6455 5.5.1 MUST",
        "a close frame, and a message behind it",
        "a close frame and no echo",
        talking(nothing_after),
    )
    yield _probe(
        "close_one_byte",
        "6455 5.5.1 MUST",
        "a close frame of one byte",
        "the connection's end, not code 1000",
        failing(encode_frame(CLOSE, b"x"), closing=True),
    )
    yield _probe(
        "close_reason_utf8",
        "6455 5.5.1 MUST",
        "a close frame whose reason is not UTF-8",
        "the connection's end, not code 1000",
        failing(encode_frame(CLOSE, code(NORMAL, b"\xff")), closing=True),
    )
    for number in (0, 999, 1004, 1005, 1006, 1015, 2999, 5000):
        yield _probe(
            f"close_code_{number}",
            "6455 7.4 SHOULD",
            f"a close frame with code {number}, which must not be sent",
            "the connection's end with the code of a fault, as 1002",
            failing(encode_frame(CLOSE, code(number)), closing=True),
        )
