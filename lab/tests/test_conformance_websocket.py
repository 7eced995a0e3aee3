"""Probes of WebSocket: put to servers that keep them, and to servers that break one rule."""

from __future__ import annotations

import zlib

from probed_servers import BAD, GOOD, Reply, outcome
from wirebench.frames import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PONG,
    RSV1,
    TEXT,
    encode_frame,
    switching_protocols,
)

ONCE = bytes(zlib.crc32(i.to_bytes(2)) % 256 for i in range(2_000))


def deflating(agreed: str, bits: int, text: bytes = ONCE + b" " * 300 + ONCE) -> Reply:
    """A server that agrees to one window, and sends one message, which repeats itself, compressed
    with another.
    """
    compressor = zlib.compressobj(wbits=-bits)
    data = compressor.compress(text) + compressor.flush(zlib.Z_SYNC_FLUSH)
    data = data.removesuffix(b"\x00\x00\xff\xff")
    echo = encode_frame(BINARY, data, reserved=RSV1, mask=False)
    return saying(echo, f"Sec-WebSocket-Extensions: {agreed}")


def saying(frames: bytes, *fields: str) -> Reply:
    """A server that opens every WebSocket, with these fields in its 101, and says the same to
    whatever comes.
    """

    def reply(received: bytes) -> bytes:
        if not received.startswith(b"GET"):
            return frames
        key = next(
            line[19:]
            for line in received.decode().splitlines()
            if line.startswith("Sec-WebSocket-Key: ")
        )
        return switching_protocols(key, *fields)

    return reply


def test_a_pong_may_come_before_between_or_behind_the_frames_of_an_echo() -> None:
    first, last, echo, pong, other = (
        encode_frame(opcode, text, fin=fin, mask=False)
        for opcode, text, fin in (
            (BINARY, b"a", False),
            (CONTINUATION, b"b", True),
            (BINARY, b"ab", True),
            (PONG, b"p", True),
            (PONG, b"q", True),
        )
    )
    for right in (pong + echo, echo + pong, pong + first + last, first + pong + last):
        assert outcome("fragments_with_ping", saying(right)).outcome == "passed"
    for wrong in (echo, pong, echo + other, pong + pong + echo, first + pong + echo):
        assert outcome("fragments_with_ping", saying(wrong)).outcome == "failed"
    text = zlib.compressobj(wbits=-15)
    packed = text.compress(b"hello hello hello hello") + text.flush(zlib.Z_SYNC_FLUSH)
    packed = packed.removesuffix(b"\x00\x00\xff\xff")
    first = encode_frame(TEXT, packed[:2], fin=False, reserved=RSV1, mask=False)
    last = encode_frame(CONTINUATION, packed[2:], mask=False)
    agreed = "Sec-WebSocket-Extensions: permessage-deflate"
    for right in (pong + first + last, first + pong + last, first + last + pong):
        assert outcome("compressed_fragments", saying(right, agreed)).outcome == "passed"
    late = outcome("compressed_fragments", saying(first + last + other, agreed))
    assert late.outcome == "failed"


def test_a_window_larger_than_agreed_is_seen() -> None:
    agreed = "permessage-deflate; server_max_window_bits=9"
    assert outcome("server_window_kept", deflating(agreed, 9)).outcome == "passed"
    larger = outcome("server_window_kept", deflating(agreed, 15))
    assert larger.outcome == "failed"
    assert "too far back" in larger.received


def test_a_server_that_takes_every_offer_fails() -> None:
    for offer in (
        "offer_unknown_parameter",
        "offer_window_no_value",
        "offer_window_leading_zero",
        "offer_client_window_16",
    ):
        assert outcome(offer, deflating("permessage-deflate", 15)).outcome == "failed"


HI = encode_frame(TEXT, b"hi", mask=False)


def test_a_101_has_its_fields_and_no_others() -> None:
    def other(data: bytes) -> bytes:
        return saying(HI)(data).replace(b"Upgrade: websocket", b"Upgrade: other")

    assert outcome("handshake_fields", saying(HI)).outcome == "passed"
    assert outcome("handshake_fields", other).outcome == "failed"
    assert outcome("handshake_no_length", saying(HI)).outcome == "passed"
    assert outcome("handshake_no_length", saying(HI, "Content-Length: 0")).outcome == "failed"
    offers = "handshake_protocols_in_lines"
    assert outcome(offers, saying(HI)).outcome == "passed"
    assert outcome(offers, saying(HI, "Sec-WebSocket-Protocol: x-two")).outcome == "passed"
    assert outcome(offers, saying(HI, "Sec-WebSocket-Protocol: x-one, x-two")).outcome == "failed"


def test_a_handshake_has_several_right_forms() -> None:
    def only_paths(data: bytes) -> bytes:
        return BAD if data.startswith(b"GET http:") else saying(HI)(data)

    def without_spaces(data: bytes) -> bytes:
        return BAD if b"\t" in data and data.startswith(b"GET") else saying(HI)(data)

    def after_a_request(data: bytes) -> bytes:
        return GOOD if data.startswith(b"GET") and b"Upgrade" not in data else saying(HI)(data)

    held = bytearray()

    def in_pieces(data: bytes) -> bytes:
        if not held.endswith(b"\r\n\r\n"):
            held.extend(data)
            return saying(HI)(bytes(held)) if held.endswith(b"\r\n\r\n") else b""
        return HI

    assert outcome("handshake_absolute_form", saying(HI)).outcome == "passed"
    assert outcome("handshake_absolute_form", only_paths).outcome == "failed"
    assert outcome("handshake_spaces", saying(HI)).outcome == "passed"
    assert outcome("handshake_spaces", without_spaces).outcome == "failed"
    assert outcome("handshake_behind_request", after_a_request).outcome == "passed"
    assert outcome("handshake_behind_request", lambda _: BAD).outcome == "failed"
    assert outcome("handshake_in_pieces", in_pieces).outcome == "passed"
    assert outcome("handshake_in_pieces", lambda _: BAD, closes=True).outcome == "failed"


def test_pings_between_fragments_are_answered() -> None:
    echo = encode_frame(TEXT, b"0" * 21, mask=False)
    early, last = (encode_frame(PONG, bytes([n]), mask=False) for n in (1, 20))
    for right in (early + last + echo, echo + last, early + echo + last):
        assert outcome("pings_between", saying(right)).outcome == "passed"
    for wrong in (echo + early, last + echo[:-1] + b"1", HI):
        assert outcome("pings_between", saying(wrong)).outcome == "failed"


def test_nothing_follows_a_close_frame() -> None:
    def closes(data: bytes) -> bool:
        return not data.startswith(b"GET")

    close = encode_frame(CLOSE, b"\x03\xe8", mask=False)
    probe_id = "close_behind_messages"
    assert outcome(probe_id, saying(HI * 3 + close), closes=closes).outcome == "passed"
    assert outcome(probe_id, saying(close + HI), closes=closes).outcome == "failed"
    half_closed = "half_closed_websocket"
    assert outcome(half_closed, saying(HI), closes=closes).outcome == "passed"
    assert outcome(half_closed, saying(HI + close), closes=closes).outcome == "passed"
    assert outcome(half_closed, saying(HI * 2 + b"\x81\x01x"), closes=closes).outcome == "failed"


def test_an_unmasked_frame_ends_the_connection_later_too() -> None:
    ends = [False]

    def reply(data: bytes) -> bytes:
        ends[0] = not data.startswith(b"GET") and data[1] & 0x80 == 0
        return b"" if ends[0] else saying(HI)(data)

    assert outcome("unmasked_later", reply, closes=lambda _: ends[0]).outcome == "passed"
    assert outcome("unmasked_later", saying(HI)).outcome == "failed"


def test_a_window_of_8_bits_is_kept_or_declined() -> None:
    agreed = "permessage-deflate; server_max_window_bits="
    text = ONCE[:280] * 4
    assert outcome("server_window_8", deflating(f"{agreed}8", 9, text)).outcome == "passed"
    assert outcome("server_window_8", deflating(f"{agreed}8", 10, text)).outcome == "failed"
    assert outcome("server_window_8", deflating(f"{agreed}9", 9, text)).outcome == "failed"
    assert outcome("server_window_8", saying(HI)).outcome == "not_applicable"


def test_the_code_of_a_failed_connection_is_no_must_but_of_a_close_frame() -> None:
    def closing(code: int) -> Reply:
        return saying(encode_frame(CLOSE, code.to_bytes(2), mask=False))

    def closes(data: bytes) -> bool:
        return not data.startswith(b"GET")

    def of(id_: str, code: int) -> str:
        return outcome(id_, closing(code), closes=closes).outcome

    for code in (1002, 1003, 1007, 1008, 4000):
        for id_ in ("utf8_byte", "opcode_3", "close_one_byte", "close_code_999", "failure_code"):
            assert of(id_, code) == "passed", (id_, code)
    for code in (1000, 1001, 1005):
        for id_ in ("utf8_byte", "opcode_3", "continuation_rsv1"):
            assert of(id_, code) == "passed", (id_, code)
        for id_ in ("close_one_byte", "close_126", "close_code_999", "failure_code_of_text"):
            assert of(id_, code) == "failed", (id_, code)
    assert outcome("failure_code", saying(b""), closes=closes).outcome == "failed"
    twice = b"".join(encode_frame(CLOSE, one, mask=False) for one in (b"\x03\xea", b"\x03\xe8"))
    assert outcome("close_one_byte", saying(twice), closes=closes).outcome == "passed"


def test_a_server_may_end_each_message_with_a_final_block() -> None:
    text = b"hello hello hello hello"
    window = zlib.compressobj(wbits=-15, zdict=text)
    first = zlib.compressobj(wbits=-15)
    messages = [
        encode_frame(
            TEXT,
            one.compress(text) + one.flush(zlib.Z_FINISH) + b"\x00",
            reserved=RSV1,
            mask=False,
        )
        for one in (first, window)
    ]
    sent = iter([b"", *messages])
    reply = saying(b"", "Sec-WebSocket-Extensions: permessage-deflate")
    found = outcome("context_takeover", lambda data: reply(data) + next(sent))
    assert (found.outcome, found.received) == ("passed", 'text "hello hello hello hello"')


def test_an_unmasked_close_frame_may_be_answered_with_any_code() -> None:
    close = encode_frame(CLOSE, b"\x03\xe8", mask=False)
    ended = outcome(
        "unmasked_close", saying(close), closes=lambda data: not data.startswith(b"GET")
    )
    assert ended.outcome == "passed"
