"""Probes of WebSocket in bulk: the opening handshake with each field missing, wrong or twice, more
forms of frames, and more close codes.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable, Iterator
from functools import partial

from wirebench.conformance.asking import CLOSE_WITHIN_S, connected, head, is_end, refusal
from wirebench.conformance.types import Probe, Target, probe
from wirebench.conformance.websocket_probes import (
    echoes,
    failing,
    fails,
    shake,
    talking,
)
from wirebench.frames import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, encode_frame, new_key
from wirebench.verify.checks import Mismatch
from wirebench.verify.http import PeerError, show
from wirebench.verify.websocket import UPGRADE, Frame, WebSocket

UP, CONNECTION, VERSION = UPGRADE
FRAGMENTS = 1_000
PINGS = 20
_probe = partial(probe, "websocket")


def websocket_sweep_probes() -> Iterator[Probe]:
    yield from _handshakes()
    yield from _offers()
    yield from _frames()
    yield from _codes()


# ---- section 4.2: the opening handshake ----


def _handshakes() -> Iterator[Probe]:
    key = f"Sec-WebSocket-Key: {new_key()}"
    for name, sent, lines in (
        ("upgrade_missing", "no Upgrade", (CONNECTION, VERSION, key)),
        ("upgrade_other", "Upgrade: h2c", ("Upgrade: h2c", CONNECTION, VERSION, key)),
        (
            "upgrade_longer",
            "Upgrade: websockets",
            ("Upgrade: websockets", CONNECTION, VERSION, key),
        ),
        ("connection_other", "Connection: close", (UP, "Connection: close", VERSION, key)),
        (
            "connection_longer",
            "Connection: Upgrades",
            (UP, "Connection: Upgrades", VERSION, key),
        ),
        ("version_missing", "no Sec-WebSocket-Version", (UP, CONNECTION, key)),
        *(
            (
                f"version_{what}",
                f"Sec-WebSocket-Version: {value}",
                (UP, CONNECTION, f"Sec-WebSocket-Version: {value}", key),
            )
            for what, value in (
                ("empty", ""),
                ("0", "0"),
                ("12", "12"),
                ("14", "14"),
                ("256", "256"),
                ("269", "269"),
                ("zeros", "013"),
                ("signed", "+13"),
                ("word", "thirteen"),
                ("list", "13, 8"),
            )
        ),
        (
            "version_twice",
            "the version 13 and the version 8",
            (*UPGRADE, "Sec-WebSocket-Version: 8", key),
        ),
        *(
            (
                f"key_{what}",
                f"Sec-WebSocket-Key: {value}",
                (*UPGRADE, f"Sec-WebSocket-Key: {value}"),
            )
            for what, value in (
                ("empty", ""),
                ("15", base64.b64encode(bytes(15)).decode()),
                ("17", base64.b64encode(bytes(17)).decode()),
                ("24", base64.b64encode(bytes(24)).decode()),
                ("unpadded", "AAAAAAAAAAAAAAAAAAAAAA"),
                ("not_base64", "AAAA*AAAAAAAAAAAAAAAAA=="),
                ("url_safe", "AAAA-_AAAAAAAAAAAAAAAA=="),
                ("padding_inside", "AAAA==AAAAAAAAAAAAAAAAAA"),
            )
        ),
        ("key_twice", "two keys", (*UPGRADE, key, f"Sec-WebSocket-Key: {new_key()}")),
    ):
        standard = "6455 4.2.2 MUST" if name.startswith("version") else "6455 4.2.1 MUST"
        if name == "key_twice":
            standard = "6455 11.3.1 MUST"
        yield _probe(
            f"handshake_{name}",
            standard,
            f"a handshake with {sent}",
            "no 101",
            lambda t, lines=lines: _rejected(t, head(t, *lines, path=t.websocket_path)),  # type: ignore[misc]
        )
    yield _probe(
        "handshake_host_missing",
        "6455 4.2.1 MUST",
        "a handshake without Host",
        "no 101",
        lambda t: _rejected(t, head(t, *UPGRADE, key, path=t.websocket_path, host=False)),
    )
    yield _probe(
        "handshake_1_0",
        "6455 4.2.1 MUST",
        "a handshake in HTTP/1.0",
        "no 101",
        lambda t: _rejected(
            t, head(t, *UPGRADE, key, path=t.websocket_path).replace(b"HTTP/1.1", b"HTTP/1.0", 1)
        ),
    )
    for name, lines in (
        ("names_in_capitals", tuple(line.upper() for line in UPGRADE)),
        ("connection_twice", (UP, "Connection: keep-alive", CONNECTION, VERSION)),
    ):
        yield _probe(
            f"handshake_{name}",
            "6455 4.2.1 MUST",
            f"a handshake with {' and '.join(lines)}",
            "101, and an echo",
            lambda t, lines=lines: _accepted(t, lines),  # type: ignore[misc]
        )
    yield _probe(
        "handshake_upgrade_list",
        "9110 7.8 MAY",
        "a handshake with Upgrade: h2c, websocket",
        "101, and an echo (a server may ignore an Upgrade; this one names websocket)",
        lambda t: _accepted(t, ("Upgrade: h2c, websocket", CONNECTION, VERSION)),
    )
    yield _probe(
        "handshake_nothing_unoffered",
        "6455 4.2.2 MUST",
        "a handshake without extensions or subprotocols",
        "101 without Sec-WebSocket-Extensions and Sec-WebSocket-Protocol",
        _nothing_unoffered,
    )


def _rejected(target: Target, data: bytes) -> str:
    with connected(target) as connection:
        response = refusal(connection, data)
    if response.status == 101:
        raise Mismatch(expected="no 101", received=response.describe())
    return response.describe()


def _accepted(target: Target, lines: tuple[str, ...]) -> str:
    with connected(target) as connection:
        shake(target, connection, *lines)
        websocket = WebSocket(connection)
        websocket.send_text("hi")
        return f"101, {echoes(websocket, TEXT, b'hi')}"


def _nothing_unoffered(target: Target) -> str:
    with connected(target) as connection:
        fields = shake(target, connection, *UPGRADE)
    for name in ("sec-websocket-extensions", "sec-websocket-protocol"):
        if fields.get(name):
            raise Mismatch(expected=f"no {name}", received=fields[name])
    return "neither"


def _offers() -> Iterator[Probe]:
    for name, offer in (
        ("no_name", "; x=y"),
        ("no_parameter", "x; =y"),
        ("quote_open", 'x; y="z'),
        ("not_a_token", "x(y)"),
        ("quoted_not_a_token", 'x; y="a b"'),
    ):
        yield _probe(
            f"extensions_{name}",
            "6455 9.1 MUST",
            f"Sec-WebSocket-Extensions: {offer}, which breaks the grammar",
            "no 101, or the end of the connection",
            lambda t, offer=offer: _rejected(  # type: ignore[misc]
                t,
                head(
                    t,
                    *UPGRADE,
                    f"Sec-WebSocket-Key: {new_key()}",
                    f"Sec-WebSocket-Extensions: {offer}",
                    path=t.websocket_path,
                ),
            ),
        )
    yield _probe(
        "extensions_in_lines",
        "6455 9.1 MUST",
        "unknown extensions in two fields, with parameters",
        "101, and an echo",
        lambda t: _accepted(
            t,
            (
                *UPGRADE,
                "Sec-WebSocket-Extensions: x-one; a=b; c",
                'Sec-WebSocket-Extensions: x-two, x-three; d="e"',
            ),
        ),
    )


# ---- section 5: frames ----


def _frames() -> Iterator[Probe]:
    def many(websocket: WebSocket) -> str:
        frames = [encode_frame(TEXT, b"a", fin=False)]
        frames += [encode_frame(CONTINUATION, b"a", fin=False)] * (FRAGMENTS - 2)
        websocket.connection.send(b"".join(frames) + encode_frame(CONTINUATION, b"a"))
        echoes(websocket, TEXT, b"a" * FRAGMENTS)
        return f"{FRAGMENTS} bytes"

    def empty(websocket: WebSocket) -> str:
        frames = encode_frame(BINARY, b"", fin=False) + encode_frame(CONTINUATION, b"")
        websocket.connection.send(frames)
        return echoes(websocket, BINARY, b"")

    def in_order(websocket: WebSocket) -> str:
        texts = [f"message {number}" for number in range(100)]
        websocket.send_many(texts)
        for text in texts:
            echoes(websocket, TEXT, text.encode())
        return "a hundred echoes in order"

    def last_pong(websocket: WebSocket) -> str:
        websocket.connection.send(b"".join(encode_frame(PING, bytes([n])) for n in range(10)))
        while (frame := websocket.read_message()) != Frame(opcode=PONG, payload=bytes([9])):
            if frame.opcode != PONG:
                raise Mismatch(expected="pongs", received=frame.describe())
        return "the pong to the last ping"

    def zero_mask(websocket: WebSocket) -> str:
        websocket.connection.send(encode_frame(TEXT, b"hello", key=bytes(4)))
        return echoes(websocket, TEXT, b"hello")

    def close_inside(websocket: WebSocket) -> str:
        code = struct.pack(">H", 1000)
        websocket.connection.send(encode_frame(TEXT, b"a", fin=False) + encode_frame(CLOSE, code))
        frame = websocket.read_message()
        if frame.opcode != CLOSE:
            raise Mismatch(expected="a close frame", received=frame.describe())
        return frame.describe()

    def lengths_split(websocket: WebSocket) -> str:
        for size, head_bytes in ((126, 8), (65_536, 14)):
            frame = encode_frame(BINARY, bytes(size))
            websocket.connection.send_in_pieces(frame[:head_bytes])
            websocket.connection.send(frame[head_bytes:])
            echoes(websocket, BINARY, bytes(size))
        return "two echoes"

    def pings_between(websocket: WebSocket) -> str:
        sent = [encode_frame(TEXT, b"0", fin=False)]
        for number in range(1, PINGS + 1):
            sent.append(encode_frame(PING, bytes([number])))
            sent.append(encode_frame(CONTINUATION, b"0", fin=number == PINGS))
        websocket.connection.send(b"".join(sent))
        echo = Frame(opcode=TEXT, payload=b"0" * (PINGS + 1))
        last = Frame(opcode=PONG, payload=bytes([PINGS]))
        left = [echo, last]
        while left:
            frame = websocket.read_message()
            if frame in left:
                left.remove(frame)
            elif frame.opcode != PONG or last not in left:
                raise Mismatch(expected="pongs, and the echo", received=frame.describe())
        return "the echo, and the pong to the last ping"

    def closed_behind(websocket: WebSocket) -> str:
        messages = b"".join(encode_frame(TEXT, b"hi") for _ in range(10))
        code = struct.pack(">H", 1000)
        websocket.connection.send(messages + encode_frame(CLOSE, code))
        count = 0
        while (frame := websocket.read_message()).opcode != CLOSE:
            if frame != Frame(opcode=TEXT, payload=b"hi"):
                raise Mismatch(expected="echoes, and a close frame", received=frame.describe())
            count += 1
        if rest := websocket.connection.read_to_end():
            raise Mismatch(expected="nothing behind the close frame", received=show(rest))
        return f"{count} echoes, a close frame, and the end"

    for name, standard, sent, expected, talk in (
        (
            "split_lengths",
            "5.2",
            "messages of 126 and 65,536 bytes, their frames' heads one byte at a time",
            "their echoes",
            lengths_split,
        ),
        (
            "pings_between",
            "5.4",
            f"a message in {PINGS + 1} frames, a ping between any two",
            "the echo, and a pong to the last ping at least",
            pings_between,
        ),
        (
            "close_behind_messages",
            "5.5.1",
            "ten messages and a close frame in one piece",
            "echoes or none, a close frame, and nothing behind it",
            closed_behind,
        ),
        ("fragments_many", "5.4", f"a message in {FRAGMENTS} frames", "its echo", many),
        ("fragments_empty", "5.4", "an empty message in two frames", "its echo", empty),
        ("messages_in_order", "5.4", "a hundred messages in one piece", "their echoes", in_order),
        ("ping_many", "5.5.3", "ten pings in one piece", "a pong to the last at least", last_pong),
        ("mask_zero", "5.3", "a message masked with zeros", "its echo", zero_mask),
        ("close_inside", "5.4", "a close frame inside a message", "a close frame", close_inside),
    ):
        yield _probe(name, f"6455 {standard} MUST", sent, expected, talking(talk))
    for name, standard, sent, data in (
        ("pong_126", "5.5", "a pong of 126 bytes", encode_frame(PONG, bytes(126))),
        ("pong_fragmented", "5.5", "half a pong", encode_frame(PONG, b"a", fin=False)),
        ("close_fragmented", "5.5", "half a close frame", encode_frame(CLOSE, b"", fin=False)),
        (
            "close_126",
            "5.5",
            "a close frame of 126 bytes",
            encode_frame(CLOSE, b"\x03\xe8" + b"x" * 124),
        ),
        ("ping_rsv2", "5.2", "a ping with reserved bit 2", encode_frame(PING, b"", reserved=0x20)),
        (
            "close_rsv3",
            "5.2",
            "a close with reserved bit 3",
            encode_frame(CLOSE, b"", reserved=0x10),
        ),
        (
            "continuation_rsv1",
            "5.2",
            "a continuation with reserved bit 1",
            encode_frame(TEXT, b"a", fin=False) + encode_frame(CONTINUATION, b"b", reserved=0x40),
        ),
        (
            "binary_inside_text",
            "5.4",
            "a binary frame inside a fragmented text",
            encode_frame(TEXT, b"a", fin=False) + encode_frame(BINARY, b"b"),
        ),
        (
            "continuation_behind_pong",
            "5.4",
            "a continuation of no message, behind a pong",
            encode_frame(PONG, b"") + encode_frame(CONTINUATION, b"b"),
        ),
    ):
        yield _probe(
            name,
            f"6455 {standard} MUST",
            sent,
            "the connection's end",
            failing(data, closing=name.startswith("close_")),
        )
    for name, data in (
        ("ping", encode_frame(PING, b"p", mask=False)),
        ("close", encode_frame(CLOSE, b"", mask=False)),
        ("empty", encode_frame(TEXT, b"", mask=False)),
        (
            "continuation",
            encode_frame(TEXT, b"a", fin=False) + encode_frame(CONTINUATION, b"b", mask=False),
        ),
    ):
        yield _probe(
            f"unmasked_{name}",
            "6455 5.1 MUST",
            f"an unmasked frame: {name}",
            "the connection's end",  # a close frame with 1002 is a MAY
            failing(data),
        )
    yield _probe(
        "unmasked_later",
        "6455 5.1 MUST",
        "a message, and after its echo an unmasked frame",
        "the echo, and the connection's end",
        talking(_unmasked_later),
    )
    # No sentence says what a server makes of the end of the stream before a close frame.
    yield _probe(
        "half_closed_websocket",
        "6455 7.1.5 MAY",
        "a message, and the end of sending without a close frame",
        "the echo or none, and the connection's end",
        talking(_half_closed),
    )
    yield _probe(
        "length_64_not_minimal",
        "6455 5.2 MAY",
        "a frame of 2 bytes with a 64-bit length",
        "the connection's end (only senders are bound to the shortest form)",
        failing(bytes([0x81, 0xFF]) + struct.pack(">Q", 2) + bytes(4) + b"hi"),
    )


def _unmasked_later(websocket: WebSocket) -> str:
    websocket.send_text("hi")
    said = echoes(websocket, TEXT, b"hi")
    websocket.connection.send(encode_frame(TEXT, b"hi", mask=False))
    return f"{said}; {fails(websocket)}"


def _half_closed(websocket: WebSocket) -> str:
    websocket.send_text("hi")
    websocket.connection.finish_sending()
    said = "no echo"
    try:
        while (frame := websocket.read_message()).opcode != CLOSE:
            if frame != Frame(opcode=TEXT, payload=b"hi"):
                raise Mismatch(expected="the echo or none", received=frame.describe())
            said = "the echo"
    except PeerError as error:
        if is_end(error):
            return f"{said}, and the end"
        raise
    if not websocket.connection.is_closed_by_peer(CLOSE_WITHIN_S):
        raise Mismatch(expected="the connection's end", received=f"{said}; it stays open")
    return f"{said}, a close frame, and the end"


# ---- section 7.4: close codes; section 5.5.1: reasons ----


def _codes() -> Iterator[Probe]:
    def close(payload: bytes) -> Callable[[Target], str]:
        def talk(websocket: WebSocket) -> str:
            websocket.send(CLOSE, payload)
            frame = websocket.read_message()
            code = frame.payload[:2]
            if frame.opcode != CLOSE or (code and code != payload[:2] and code != b"\x03\xe8"):
                raise Mismatch(
                    expected="a close frame with the same code, 1000, or none",
                    received=frame.describe(),
                )
            return frame.describe()

        return talking(talk)

    for number in (1002, 1003, 1007, 1008, 1009, 1010, 1011, 3999, 4000):
        yield _probe(
            f"close_{number}",
            "6455 7.4.1 MUST" if number < 3000 else "6455 7.4.2 MUST",
            f"a close frame with code {number}",
            "a close frame with the same code, 1000, or none",
            close(struct.pack(">H", number)),
        )
    yield _probe(
        "close_reason_123",
        "6455 5.5.1 MUST",
        "a close frame with a reason of 123 bytes",
        "a close frame",
        close(struct.pack(">H", 1000) + "é".encode() * 61 + b"x"),
    )
    for number in (1, 1016, 1100, 2000, 65535):
        yield _probe(
            f"close_code_{number}",
            "6455 7.4 SHOULD",
            f"a close frame with code {number}, which is not to be sent",
            "the connection's end with the code of a fault, as 1002",
            failing(encode_frame(CLOSE, struct.pack(">H", number)), closing=True),
        )
    for name, reason in (
        ("overlong", b"\xc0\x80"),
        ("cut", b"\xe6\xb0"),
        ("surrogate", b"\xed\xa0\x80"),
    ):
        yield _probe(
            f"close_reason_{name}",
            "6455 8.1 MUST",
            f"a close frame whose reason is {reason.hex(' ')}",
            "the connection's end, not code 1000",
            failing(encode_frame(CLOSE, struct.pack(">H", 1000) + reason), closing=True),
        )
