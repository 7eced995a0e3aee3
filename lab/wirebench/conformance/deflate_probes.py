"""Probes of compressed WebSocket messages: RFC 7692. They apply to servers that agree to
permessage-deflate.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from wirebench.catalog.units import count_of
from wirebench.conformance.asking import connected
from wirebench.conformance.types import NotApplicableError, Probe, Target, probe
from wirebench.conformance.websocket_probes import (
    fails,
    in_any_order,
    shake,
)
from wirebench.frames import BINARY, CLOSE, CONTINUATION, PING, PONG, RSV1, TEXT, encode_frame
from wirebench.verify.checks import Mismatch
from wirebench.verify.websocket import UPGRADE, Frame, WebSocket

NAME = "permessage-deflate"
TAIL = b"\x00\x00\xff\xff"  # RFC 7692 section 7.2.1
LARGEST_MESSAGE = 16 * 1024 * 1024
INFLATED_AT_ONCE = 64
REPEATED_AFTER_280 = bytes(zlib.crc32(i.to_bytes(2)) % 256 for i in range(280)) * 4

Parameters = Mapping[str, str | None]
_probe = partial(probe, "deflate")


def deflate_probes() -> Iterator[Probe]:
    yield from _negotiation()
    yield from _messages()
    yield from _errors()


class Deflated:
    """A connection on which permessage-deflate was agreed."""

    def __init__(self, websocket: WebSocket, agreed: Parameters) -> None:
        self.websocket = websocket
        self.agreed = agreed
        bits = int(agreed.get("client_max_window_bits") or 15)
        # zlib makes no windows of 8 bits without a header; in one of 9 it looks back 250 bytes.
        self._client_bits = max(bits, 9)
        self._compressor = zlib.compressobj(wbits=-self._client_bits)
        self._server_bits = int(agreed.get("server_max_window_bits") or 15)
        self._decompressor = zlib.decompressobj(wbits=-self._server_bits)
        self._window = b""
        self._opcode = -1  # of the message that has begun
        self._marked = False
        self._parts: list[bytes] = []

    def _inflated(self, data: bytes) -> bytes:
        """In small steps: zlib looks at how far references go back only when they leave what it has
        just written. Behind a final block, with which a message may end (section 7.2.3.4), another
        begins, which may refer to what was there before.
        """
        before, text, rest = self._window, bytearray(), data + TAIL
        while rest and len(text) < LARGEST_MESSAGE:
            text += self._decompressor.decompress(rest, INFLATED_AT_ONCE)
            rest = self._decompressor.unconsumed_tail
            if self._decompressor.eof:
                rest = self._decompressor.unused_data
                self._begin_to_inflate(before + text)
        self._window = (before + text)[-(1 << self._server_bits) :]
        return bytes(text)

    def _begin_to_inflate(self, before: bytes = b"") -> None:
        self._window = before[-(1 << self._server_bits) :]
        self._decompressor = zlib.decompressobj(wbits=-self._server_bits, zdict=self._window)

    def compressed(self, payload: bytes) -> bytes:
        if "client_no_context_takeover" in self.agreed:
            self._compressor = zlib.compressobj(wbits=-self._client_bits)
        data = self._compressor.compress(payload) + self._compressor.flush(zlib.Z_SYNC_FLUSH)
        return data.removesuffix(TAIL)

    def send(self, opcode: int, payload: bytes) -> None:
        self.websocket.connection.send(marked(opcode, self.compressed(payload)))

    def read(self) -> Frame:
        """The next message, inflated if it is marked as compressed, or a control frame, which may
        come between the frames of a message.
        """
        while True:
            first = self.websocket.connection.read_exactly(1, "a frame")
            opcode_now = first[0] & 0x0F
            self.websocket.connection.push_back(bytes([first[0] & ~RSV1]))
            rest = self.websocket.read_frame()
            if opcode_now in (CLOSE, PING, PONG):
                if first[0] & RSV1:
                    raise Mismatch(expected="control frames without RSV1", received=rest.describe())
                return rest
            if self._opcode < 0:
                self._opcode, self._marked = opcode_now, bool(first[0] & RSV1)
            elif first[0] & RSV1:
                raise Mismatch(
                    expected="RSV1 on the first frame only (section 6)",
                    received="RSV1 on a continuation",
                )
            self._parts.append(rest.payload)
            if rest.fin:
                break
        opcode, data = self._opcode, b"".join(self._parts)
        self._opcode, self._parts = -1, []
        if self._marked:
            if "server_no_context_takeover" in self.agreed:
                self._begin_to_inflate()
            try:
                data = self._inflated(data)
            except zlib.error as error:
                raise Mismatch(
                    expected="a message that inflates",
                    received=f"{count_of(len(data), 'byte')}, {error}",
                ) from error
        return Frame(opcode=opcode, payload=data)

    def echo(self, opcode: int, payload: bytes) -> str:
        self.send(opcode, payload)
        return self.expect(opcode, payload)

    def expect(self, opcode: int, payload: bytes) -> str:
        frame, wanted = self.read(), Frame(opcode=opcode, payload=payload)
        if frame != wanted:
            raise Mismatch(expected=wanted.describe(), received=frame.describe())
        return frame.describe()


def marked(opcode: int, payload: bytes, *, fin: bool = True) -> bytes:
    """A frame with RSV1 set: the first of a compressed message."""
    return encode_frame(opcode, payload, fin=fin, reserved=RSV1)


def parameters(field: str) -> Parameters:
    """Of the one extension in a Sec-WebSocket-Extensions field of a response."""
    name, *rest = [part.strip() for part in field.split(";")]
    if name.lower() != NAME or "," in field:
        raise Mismatch(expected=f"{NAME} alone, or no extension", received=field)
    found: dict[str, str | None] = {}
    for part in rest:
        key, equals, value = part.partition("=")
        if key in found:
            raise Mismatch(expected="each parameter once", received=field)
        found[key] = value.strip('"') if equals else None
    return found


@contextmanager
def deflated(target: Target, offer: str = NAME) -> Iterator[Deflated]:
    with connected(target) as connection:
        named = shake(target, connection, *UPGRADE, f"Sec-WebSocket-Extensions: {offer}")
        field = named.get("sec-websocket-extensions")
        if not field:
            raise NotApplicableError(f"it declines {NAME}")
        yield Deflated(WebSocket(connection), parameters(field))


def _talking(talk: Callable[[Deflated], str], offer: str = NAME) -> Callable[[Target], str]:
    def run(target: Target) -> str:
        with deflated(target, offer) as connection:
            return talk(connection)

    return run


# ---- section 7.1: negotiation ----


def _negotiation() -> Iterator[Probe]:
    def declined(name: str, standard: str, offer: str) -> Probe:
        def run(target: Target) -> str:
            with connected(target) as connection:
                # Only a server that agrees at all can decline.
                field = shake(
                    target, connection, *UPGRADE, f"Sec-WebSocket-Extensions: {NAME}"
                ).get("sec-websocket-extensions")
                if not field:
                    raise NotApplicableError(f"it declines {NAME}")
            with connected(target) as connection:
                field = shake(
                    target, connection, *UPGRADE, f"Sec-WebSocket-Extensions: {offer}"
                ).get("sec-websocket-extensions")
                if field:
                    raise Mismatch(expected="the offer declined", received=field)
            return "the offer declined"

        return _probe(
            name,
            standard,
            f"the offer {offer}",
            "the offer declined: 101 without the extension",
            run,
        )

    yield declined("offer_unknown_parameter", "7692 7.1 MUST", f"{NAME}; x_unheard_of")
    yield declined(
        "offer_parameter_twice",
        "7692 7.1 MUST",
        f"{NAME}; server_no_context_takeover; server_no_context_takeover",
    )
    yield declined("offer_window_16", "7692 7.1.2.1 MUST", f"{NAME}; server_max_window_bits=16")
    yield declined("offer_window_7", "7692 7.1.2.1 MUST", f"{NAME}; server_max_window_bits=7")
    yield declined("offer_window_no_value", "7692 7.1.2.1 MUST", f"{NAME}; server_max_window_bits")
    yield declined(
        "offer_window_leading_zero", "7692 7.1.2.1 MUST", f"{NAME}; server_max_window_bits=09"
    )
    yield declined(
        "offer_client_window_16", "7692 7.1.2.2 MUST", f"{NAME}; client_max_window_bits=16"
    )
    yield declined(
        "offer_takeover_value", "7692 7.1.1.1 MUST", f"{NAME}; server_no_context_takeover=1"
    )

    for name, section, parameter in (
        ("client_window_7", "7.1.2.2", "client_max_window_bits=7"),
        ("client_window_zeros", "7.1.2.2", "client_max_window_bits=015"),
        ("client_window_word", "7.1.2.2", "client_max_window_bits=many"),
        ("client_window_twice", "7.1", "client_max_window_bits; client_max_window_bits=10"),
        ("server_window_word", "7.1.2.1", "server_max_window_bits=x"),
        ("server_window_signed", "7.1.2.1", "server_max_window_bits=-9"),
        ("server_window_huge", "7.1.2.1", "server_max_window_bits=99999999999999999999"),
        ("client_takeover_value", "7.1.1.2", "client_no_context_takeover=1"),
        (
            "client_takeover_twice",
            "7.1",
            "client_no_context_takeover; client_no_context_takeover",
        ),
    ):
        yield declined(f"offer_{name}", f"7692 {section} MUST", f"{NAME}; {parameter}")
    yield _probe(
        "offer_quoted",
        "7692 5.2 MUST",
        f'{NAME}; server_max_window_bits="10", a value in quotes',
        "server_max_window_bits of 8 to 10 in the response, or the offer declined",
        lambda t: _talking(window, f'{NAME}; server_max_window_bits="10"')(t),
    )
    yield _probe(
        "offer_in_lines",
        "7692 5 SHOULD",
        "an unknown extension, and the offer in a second field",
        "the offer agreed to, and an echo",
        _talking(
            lambda c: c.echo(TEXT, b"hello"), f"x-unheard-of\r\nSec-WebSocket-Extensions: {NAME}"
        ),
    )

    def takeover(connection: Deflated) -> str:
        if "server_no_context_takeover" not in connection.agreed:
            raise Mismatch(
                expected="server_no_context_takeover in the response",
                received=str(dict(connection.agreed)),
            )
        return str(dict(connection.agreed))

    def window(connection: Deflated) -> str:
        bits = connection.agreed.get("server_max_window_bits")
        if bits is None or not bits.isdigit() or not 8 <= int(bits) <= 10:
            raise Mismatch(
                expected="server_max_window_bits of 8 to 10 in the response",
                received=str(dict(connection.agreed)),
            )
        return str(dict(connection.agreed))

    def window_kept(connection: Deflated) -> str:
        # What comes again does so further back than 512 bytes.
        once = bytes(zlib.crc32(i.to_bytes(2)) % 256 for i in range(2_000))
        return connection.echo(BINARY, once + b" " * 300 + once)

    def window_8(connection: Deflated) -> str:
        if connection.agreed.get("server_max_window_bits") != "8":
            raise Mismatch(
                expected="server_max_window_bits=8", received=str(dict(connection.agreed))
            )
        return connection.echo(BINARY, REPEATED_AFTER_280)

    def client_window(connection: Deflated) -> str:
        bits = connection.agreed.get("client_max_window_bits", "10")
        if bits is None or not bits.isdigit() or not 8 <= int(bits) <= 10:
            raise Mismatch(
                expected="client_max_window_bits of 8 to 10, or none",
                received=str(dict(connection.agreed)),
            )
        return connection.echo(TEXT, b"hello")

    def no_window(connection: Deflated) -> str:
        if "client_max_window_bits" in connection.agreed:
            raise Mismatch(
                expected="no client_max_window_bits, which was not offered",
                received=str(dict(connection.agreed)),
            )
        return connection.echo(TEXT, b"hello")

    yield _probe(
        "server_no_context_takeover",
        "7692 7.1.1.1 MUST",
        f"{NAME}; server_no_context_takeover",
        "the parameter in the response, or the offer declined",
        _talking(takeover, f"{NAME}; server_no_context_takeover"),
    )
    yield _probe(
        "server_max_window_bits",
        "7692 7.1.2.1 MUST",
        f"{NAME}; server_max_window_bits=10",
        "the parameter, at most 10, in the response, or the offer declined",
        _talking(window, f"{NAME}; server_max_window_bits=10"),
    )
    yield _probe(
        "server_window_kept",
        "7692 7.1.2.1 MUST",
        f"{NAME}; server_max_window_bits=9, and a message that repeats itself after 2,300 bytes",
        "its echo, with no reference further back than 512 bytes, or the offer declined",
        _talking(window_kept, f"{NAME}; server_max_window_bits=9"),
    )
    yield _probe(
        "server_window_8",
        "7692 7.1.2.1 MUST",
        f"{NAME}; server_max_window_bits=8, and a message that repeats itself after 280 bytes",
        "server_max_window_bits=8, and its echo with no reference further back than 256 bytes; or"
        " the offer declined",
        _talking(window_8, f"{NAME}; server_max_window_bits=8"),
    )
    yield _probe(
        "client_max_window_bits",
        "7692 7.1.2.2 MUST",
        f"{NAME}; client_max_window_bits=10",
        "in the response at most 10, or none; and an echo",
        _talking(client_window, f"{NAME}; client_max_window_bits=10"),
    )
    yield _probe(
        "client_max_window_bits_unasked",
        "7692 7.1.2.2 MUST",
        NAME,
        "no client_max_window_bits in the response",
        _talking(no_window),
    )
    yield _probe(
        "offers_in_turn",
        "7692 5 SHOULD",
        "an offer it cannot take, then a plain one",
        "the second, agreed to",
        _talking(lambda c: c.echo(TEXT, b"hello"), f"{NAME}; x_unheard_of, {NAME}"),
    )


# ---- sections 6 and 7.2: messages ----


def _messages() -> Iterator[Probe]:
    text = b"hello hello hello hello"

    def twice(connection: Deflated) -> str:
        connection.echo(TEXT, text)
        return connection.echo(TEXT, text)

    def fragments(connection: Deflated) -> str:
        data = connection.compressed(text)
        first, last = marked(TEXT, data[:3], fin=False), encode_frame(CONTINUATION, data[3:])
        connection.websocket.connection.send(first + encode_frame(PING, b"p") + last)
        pong, echo = Frame(opcode=PONG, payload=b"p"), Frame(opcode=TEXT, payload=text)
        return in_any_order(connection.read, pong, echo)

    def plain(connection: Deflated) -> str:
        connection.websocket.send(TEXT, text)
        return connection.expect(TEXT, text)

    def finished(connection: Deflated) -> str:
        # A sender may end a message with a final block; then an empty byte follows (section
        # 7.2.3.4).
        compressor = zlib.compressobj(wbits=-15)
        data = compressor.compress(text) + compressor.flush(zlib.Z_FINISH) + b"\x00"
        connection.websocket.connection.send(marked(TEXT, data))
        return connection.expect(TEXT, text)

    def stored(connection: Deflated) -> str:
        compressor = zlib.compressobj(level=0, wbits=-15)
        data = compressor.compress(text) + compressor.flush(zlib.Z_SYNC_FLUSH)
        connection.websocket.connection.send(marked(TEXT, data.removesuffix(TAIL)))
        return connection.expect(TEXT, text)

    def bytewise(connection: Deflated) -> str:
        data = connection.compressed(text)
        frames = [marked(TEXT, data[:1], fin=False)]
        frames += [encode_frame(CONTINUATION, bytes([byte]), fin=False) for byte in data[1:]]
        connection.websocket.connection.send(b"".join(frames) + encode_frame(CONTINUATION, b""))
        return connection.expect(TEXT, text)

    def first_empty(connection: Deflated) -> str:
        data = connection.compressed(text)
        frames = marked(TEXT, b"", fin=False) + encode_frame(CONTINUATION, data)
        connection.websocket.connection.send(frames)
        return connection.expect(TEXT, text)

    def blocks(connection: Deflated) -> str:
        compressor = zlib.compressobj(wbits=-15)
        data = b""
        for _ in range(3):
            data += compressor.compress(text) + compressor.flush(zlib.Z_SYNC_FLUSH)
        connection.websocket.connection.send(marked(TEXT, data.removesuffix(TAIL)))
        return connection.expect(TEXT, text * 3)

    def fixed(connection: Deflated) -> str:
        compressor = zlib.compressobj(wbits=-15, strategy=zlib.Z_FIXED)
        data = compressor.compress(text) + compressor.flush(zlib.Z_SYNC_FLUSH)
        connection.websocket.connection.send(marked(TEXT, data.removesuffix(TAIL)))
        return connection.expect(TEXT, text)

    def mixed(connection: Deflated) -> str:
        connection.echo(TEXT, text)
        plain(connection)
        connection.echo(BINARY, text)
        return connection.echo(TEXT, text)

    def split_character(connection: Deflated) -> str:
        data = connection.compressed("κόσμε, 水, 🙂".encode())
        middle = len(data) // 2
        frames = marked(TEXT, data[:middle], fin=False) + encode_frame(CONTINUATION, data[middle:])
        connection.websocket.connection.send(frames)
        return connection.expect(TEXT, "κόσμε, 水, 🙂".encode())

    for name, section, sent, talk in (
        ("compressed_bytewise", "6.1", "a compressed message, each byte in a frame", bytewise),
        (
            "compressed_first_empty",
            "6.1",
            "a compressed message whose first frame is empty",
            first_empty,
        ),
        ("compressed_blocks", "7.2.3.2", "a compressed message of three blocks", blocks),
        ("compressed_fixed", "7.2.2", "a compressed message with fixed Huffman codes", fixed),
        ("compressed_mixed", "6", "messages compressed and not in turn", mixed),
        (
            "compressed_split",
            "6.1",
            "a compressed text of several scripts in two frames",
            split_character,
        ),
    ):
        yield _probe(name, f"7692 {section} MUST", sent, "its echo", _talking(talk))
    for name, parameter, section in (
        ("client_no_context_takeover", "client_no_context_takeover", "7.1.1.2"),
        ("server_no_context_takeover_kept", "server_no_context_takeover", "7.1.1.1"),
        ("client_window_offered", "client_max_window_bits", "7.1.2.2"),
        ("client_window_8", "client_max_window_bits=8", "7.1.2.2"),
        ("windows_smallest", "server_max_window_bits=9; client_max_window_bits=9", "7.1.2"),
    ):
        yield _probe(
            name,
            f"7692 {section} MUST",
            f"{NAME}; {parameter}, and the same message twice",
            "both echoes, as agreed",
            _talking(twice, f"{NAME}; {parameter}"),
        )
    yield _probe(
        "compressed",
        "7692 7.2.2 MUST",
        "a compressed text message",
        "its echo",
        _talking(lambda c: c.echo(TEXT, text)),
    )
    yield _probe(
        "compressed_empty",
        "7692 7.2.3.6 MUST",
        "a compressed message of no bytes",
        "its echo",
        _talking(lambda c: c.echo(BINARY, b"")),
    )
    yield _probe(
        "compressed_large",
        "7692 7.2.2 MUST",
        "a compressed message of 100,000 bytes",
        "its echo",
        _talking(lambda c: c.echo(BINARY, bytes(range(250)) * 400)),
    )
    yield _probe(
        "context_takeover",
        "7692 7.2.3.2 MUST",
        "the same message twice, the second a reference to the first",
        "both echoes",
        _talking(twice),
    )
    yield _probe(
        "no_context_takeover",
        "7692 7.1.1.2 MUST",
        "two messages without context takeover either way",
        "both echoes",
        _talking(twice, f"{NAME}; client_no_context_takeover; server_no_context_takeover"),
    )
    yield _probe(
        "compressed_fragments",
        "7692 6.1 MUST",
        "a compressed message in two frames, a ping between",
        "the pong and the echo",
        _talking(fragments),
    )
    yield _probe(
        "uncompressed_message", "7692 6 MUST", "a message without RSV1", "its echo", _talking(plain)
    )
    yield _probe(
        "stored_block",
        "7692 7.2.3.3 MUST",
        "a compressed message in a stored block",
        "its echo",
        _talking(stored),
    )
    yield _probe(
        "final_block",
        "7692 7.2.3.4 MUST",
        "a compressed message that ends in a final block",
        "its echo",
        _talking(finished),
    )


# ---- what must fail the connection ----


def _errors() -> Iterator[Probe]:
    def failing(
        name: str,
        standard: str,
        sent: str,
        pieces: Callable[[Deflated], bytes],
        *,
        closing: bool = False,
    ) -> Probe:
        def talk(connection: Deflated) -> str:
            connection.websocket.connection.send(pieces(connection))
            return fails(connection.websocket, closing=closing)

        return _probe(name, standard, sent, "the connection's end", _talking(talk))

    def continued(connection: Deflated) -> bytes:
        data = connection.compressed(b"hello hello")
        return marked(TEXT, data[:3], fin=False) + marked(CONTINUATION, data[3:])

    yield failing(
        "rsv1_continuation",
        "7692 6.1 MUST",
        "a continuation frame with RSV1",
        continued,
    )
    yield failing("rsv1_ping", "7692 5 MUST", "a ping with RSV1", lambda _: marked(PING, b"p"))
    yield failing(
        "rsv1_close",
        "7692 5 MUST",
        "a close frame with RSV1",
        lambda _: marked(CLOSE, b"\x03\xe8"),
        closing=True,
    )
    for bit, number in ((0x20, 2), (0x10, 3)):
        yield failing(
            f"compressed_rsv{number}",
            "7692 6 MUST",
            f"a compressed message with reserved bit {number} too",
            lambda c, bit=bit: encode_frame(  # type: ignore[misc]
                TEXT, c.compressed(b"hello"), reserved=RSV1 | bit
            ),
        )
    yield failing(
        "rsv1_continuation_of_plain",
        "7692 6.1 MUST",
        "RSV1 on the second frame of a message that is not compressed",
        lambda _: encode_frame(TEXT, b"a", fin=False) + marked(CONTINUATION, b"b"),
    )
    yield failing(
        "reference_before_start",
        "7692 7.2.2 MUST",
        "a compressed message that refers to bytes before its beginning",
        lambda _: marked(BINARY, b"\x02\x03\x00"),
    )
    yield failing(
        "not_deflate",
        "7692 7.2.2 MUST",
        "a compressed message of bytes that are not DEFLATE",
        lambda _: marked(BINARY, b"\xff" * 20),
    )
    yield failing(
        "inflates_to_bad_utf8",
        "7692 8.1 of RFC 6455 MUST",
        "a compressed text message that is not UTF-8",
        lambda c: marked(TEXT, c.compressed(b"\xff\xff")),
    )
