"""wireload --deflate against WebSocket servers that agree, decline, or break permessage-deflate
(RFC 7692). Every count is exact.
"""

from __future__ import annotations

import itertools
import socket
import unittest
import zlib
from collections.abc import Callable

from servers import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    RSV1,
    TEXT,
    Handler,
    Run,
    Server,
    frame,
    load,
    read_frame_bits,
    serving,
    shake_hands,
    typed,
)

TAIL = b"\x00\x00\xff\xff"
AGREED = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
LONG = "so it goes, round and round; " * 40


def pack(message: bytes, window_bits: int = 15) -> bytes:
    packer = zlib.compressobj(wbits=-window_bits)
    packed = packer.compress(message) + packer.flush(zlib.Z_SYNC_FLUSH)
    assert packed.endswith(TAIL)
    return packed[: -len(TAIL)]


def unpack(payload: bytes, window_bits: int = 15) -> bytes:
    """By a new decompressor, with no larger window than was agreed on."""
    return zlib.decompressobj(wbits=-window_bits).decompress(payload + TAIL)


def compressed(opcode: int, payload: bytes, *, fin: bool = True) -> bytes:
    return frame(opcode, payload, fin=fin, reserved=RSV1)


def packing(
    make: Callable[[int, bytes], bytes],
    answer: str = AGREED,
    *,
    window_bits: int = 15,
    piece: int = 1 << 20,
) -> Handler:
    """Answers message number n with the bytes ``make(n, message)``, so many at a time; ``seen`` has
    payloads as they came.
    """

    def handle(server: Server, connection: socket.socket) -> None:
        if not shake_hands(connection, f"Sec-WebSocket-Extensions: {answer}"):
            return
        while (got := read_frame_bits(connection)) is not None and got[0] & 15 != CLOSE:
            if got[0] & 15 == PONG:
                continue
            number = server.next_request(got[1])
            message = unpack(got[1], window_bits) if got[0] & 0x40 else got[1]
            reply = make(number, message)
            for at in range(0, len(reply), piece):
                connection.sendall(reply[at : at + piece])

    return handle


def load_deflate(server: Server, *arguments: str) -> Run:
    return load(server, "--deflate", *arguments, scheme="ws")


class Agreed(unittest.TestCase):
    def test_echo_of_constant_and_of_varying_messages(self) -> None:
        for kind, message, piece in itertools.product(
            (TEXT, BINARY), (LONG, LONG + "{c} {random} {uuid}"), (1 << 20, 1, 7)
        ):
            more = ["--binary"] if kind == BINARY else []
            make = lambda n, m, kind=kind: compressed(kind, pack(m))  # noqa: E731
            with (
                self.subTest(message=message[-9:], kind=kind, piece=piece),
                serving(packing(make, piece=piece)) as server,
            ):
                run = load_deflate(server, "--each", "5", "-c", "3", "--message", message, *more)
                self.assertEqual(
                    (run.code, run.document["requests"]["ok"]), (0, 15), run.document["first_error"]
                )
                sent = [unpack(m) for m in server.seen]
                self.assertTrue(all(text.startswith(LONG.encode()) for text in sent))
                self.assertTrue(all(len(m) < 200 for m in server.seen))
                found = run.document["deflate"]
                self.assertEqual(found["connections_with"], 3)
                self.assertEqual(found["connections_without"], 0)
                self.assertEqual(found["sent_compressed"], 15)
                self.assertEqual(found["payload_out"], sum(map(len, sent)))
                self.assertEqual(found["payload_in"], sum(map(len, sent)))
                self.assertLess(run.document["requests"]["bytes_in"], found["payload_in"] / 5)
                self.assertLess(run.document["requests"]["bytes_out"], found["payload_out"] / 5)
                self.assertIn("Deflate    3 of 3 connections; payload in ", run.screen)
                for warning in ("permessage-deflate declined", "no message became shorter"):
                    self.assertNotIn(warning, " ".join(run.screen.split()))

    def test_short_messages_go_as_they_are(self) -> None:
        with serving(packing(lambda n, m: frame(TEXT, m))) as server:
            run = load_deflate(
                server, "-n", "6", "-c", "1", "--message", "n={c}", "--pipeline", "3"
            )
            self.assertEqual(sorted(server.seen), [b"n=%d" % n for n in range(1, 7)])
        self.assertEqual(
            (run.code, run.document["deflate"]["sent_compressed"]),
            (0, 0),
            run.document["first_error"],
        )
        self.assertEqual(run.document["deflate"]["payload_in"], 18)
        self.assertIn("no message became shorter", run.screen)

    def test_fragments_pings_and_several_to_a_read(self) -> None:
        def pieces(n: int, message: bytes) -> bytes:
            packed = pack(message)
            first = (
                compressed(TEXT, packed[:5], fin=False) + frame(PING, b"p") + frame(0, packed[5:])
            )
            return first if n % 2 else compressed(TEXT, packed)

        for piece in (1 << 20, 1):
            with self.subTest(piece), serving(packing(pieces, piece=piece)) as server:
                run = load_deflate(
                    server, "-n", "20", "-c", "1", "--message", LONG, "--pipeline", "4"
                )
                self.assertEqual(
                    (run.code, run.document["requests"]["ok"]), (0, 20), run.document["first_error"]
                )

    def test_a_smaller_window_is_kept_to(self) -> None:
        # What comes again after 600 bytes lies beyond a window of 2^9, and 2^8 no zlib can make:
        # nothing is compressed then.
        far = "".join(chr(33 + i * i % 89) for i in range(600))
        for bits, compresses in ((9, 4), (8, 0), (12, 4)):
            answer = f"{AGREED}; client_max_window_bits={bits}; server_max_window_bits=10"
            make = lambda n, m: compressed(TEXT, pack(m, 10))  # noqa: E731
            with (
                self.subTest(bits),
                serving(packing(make, answer, window_bits=max(bits, 9))) as server,
            ):
                run = load_deflate(server, "-n", "4", "-c", "1", "--message", far * 3 + " " * 300)
                self.assertEqual(
                    (run.code, run.document["requests"]["ok"]), (0, 4), run.document["first_error"]
                )
                self.assertEqual(run.document["deflate"]["sent_compressed"], compresses)

    def test_large_messages_that_do_not_compress_leave_in_pieces(self) -> None:
        values = "{uuid}" * 5000  # 180 kB, half of it as random as can be
        for message in (values, values + "{c}"):
            with (
                self.subTest(message[-6:]),
                serving(packing(lambda n, m: compressed(TEXT, pack(m)))) as server,
            ):
                run = load_deflate(server, "-n", "6", "-c", "3", "--message", message)
                self.assertEqual(
                    (run.code, run.document["requests"]["ok"]), (0, 6), run.document["first_error"]
                )

    def test_the_echo_of_a_monotonous_message_is_no_bomb(self) -> None:
        with serving(packing(lambda n, m: compressed(TEXT, pack(m)))) as server:
            run = load_deflate(server, "-n", "2", "-c", "1", "--message-size", "1000000")
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 2), run.document["first_error"]
        )
        self.assertLess(run.document["requests"]["bytes_in"], 20_000)

    def test_in_storms_open_loops_and_ramps(self) -> None:
        make = lambda n, m: compressed(TEXT, pack(m))  # noqa: E731
        for arguments, opened in (
            (["-n", "6", "-c", "2", "--no-keepalive"], 6),
            (["--rate", "200", "-n", "20", "-c", "2"], 2),
            (
                [
                    *typed("--ramp-rounds 2 --ramp-add 2 --ramp-messages 3 --ramp-pacing burst"),
                ],
                4,
            ),
        ):
            with self.subTest(arguments), serving(packing(make)) as server:
                run = load_deflate(server, *arguments, "--message", LONG + "{c}")
                self.assertEqual(
                    (run.code, run.document["deflate"]["connections_with"]),
                    (0, opened),
                    run.document["first_error"],
                )


class Declined(unittest.TestCase):
    def test_messages_go_as_they_are_and_it_is_said(self) -> None:
        def some(server: Server, connection: socket.socket) -> None:
            with server.lock:
                agree = server.connections % 2 == 0
            if not shake_hands(
                connection, *([f"Sec-WebSocket-Extensions: {AGREED}"] if agree else [])
            ):
                return
            while (got := read_frame_bits(connection)) is not None and got[0] & 15 == TEXT:
                server.next_request(bytes([got[0]]))
                connection.sendall(
                    compressed(TEXT, got[1]) if got[0] & 0x40 else frame(TEXT, got[1])
                )

        with serving(some) as server:
            # One after another, so that every other is declined.
            run = load_deflate(server, "-n", "4", "-c", "1", "--no-keepalive", "--message", LONG)
            self.assertEqual(sorted(server.seen), [b"\x81", b"\x81", b"\xc1", b"\xc1"])
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 4), run.document["first_error"]
        )
        found = run.document["deflate"]
        self.assertEqual(
            (found["connections_with"], found["connections_without"], found["sent_compressed"]),
            (2, 2, 2),
        )
        self.assertEqual(
            (found["payload_in"], found["payload_out"]), (2 * len(LONG), 2 * len(LONG))
        )
        self.assertIn("Deflate    2 of 4 connections", run.screen)
        self.assertIn(
            "permessage-deflate declined on 2 of 4 connections", " ".join(run.screen.split())
        )

    def test_a_compressed_message_is_against_the_rules_then(self) -> None:
        for offer in (["--deflate"], []):

            def bold(server: Server, connection: socket.socket) -> None:
                shake_hands(connection)
                while (got := read_frame_bits(connection)) is not None and got[0] & 15 == TEXT:
                    connection.sendall(compressed(TEXT, pack(got[1])))

            with self.subTest(offer), serving(bold) as server:
                run = load(server, *offer, "-n", "2", "-c", "1", "--message", LONG, scheme="ws")
                self.assertEqual(run.errors, {"protocol": 2})
                self.assertEqual(run.document["deflate"] is None, not offer)


class Wrong(unittest.TestCase):
    def test_answers_that_were_not_offered(self) -> None:
        for answer in (
            "permessage-deflate",  # with the server's context
            "permessage-deflate; server_no_context_takeover; server_max_window_bits=16",
            "permessage-deflate; server_no_context_takeover; mode=fast",
            f"{AGREED}, {AGREED}",
            "x-webkit-deflate-frame",
            "permessage-deflate;;",
        ):
            with (
                self.subTest(answer),
                serving(packing(lambda n, m: frame(TEXT, m), answer)) as server,
            ):
                run = load_deflate(server, "-n", "2", "-c", "1")
                self.assertEqual((run.code, run.errors), (2, {"connect_failed": 1}))
                self.assertIn("WebSocket handshake", run.document["first_error"]["received"])
                self.assertEqual(run.document["deflate"]["connections_with"], 0)

    def test_replies(self) -> None:
        other = LONG.replace("goes", "went").encode()
        wrong = [
            (compressed(TEXT, pack(other)), "bad_body"),
            (compressed(BINARY, pack(LONG.encode())), "bad_body"),
            (compressed(TEXT, b"\xff" * 20), "protocol"),  # no block is of such a type
            (compressed(TEXT, pack(LONG.encode())[:-3]), "protocol"),  # cut short
            (compressed(TEXT, pack(b"\xff\xfe" * 50)), "protocol"),  # not UTF-8
            (compressed(TEXT, pack(b"x" * 1_000_000)), "protocol"),  # more than any right reply has
            (
                compressed(TEXT, pack(LONG.encode()), fin=False) + compressed(0, b""),
                "protocol",
            ),  # RSV1 on a continuation
            (compressed(PING, b""), "protocol"),
        ]
        for (reply, kind), piece in itertools.product(wrong, (1 << 20, 3)):

            def make(n: int, message: bytes, reply: bytes = reply) -> bytes:
                return reply if n == 2 else compressed(TEXT, pack(message))

            with (
                self.subTest(reply=reply[:12], piece=piece),
                serving(packing(make, piece=piece)) as server,
            ):
                run = load_deflate(server, "-n", "4", "-c", "1", "--message", LONG)
                self.assertEqual(
                    (run.errors, run.document["requests"]["ok"]),
                    ({kind: 1}, 3),
                    run.document["first_error"],
                )

    def test_a_bomb_where_any_reply_is_right(self) -> None:
        bomb = compressed(TEXT, pack(b"x" * 6_000_000))
        with serving(packing(lambda n, m: bomb if n == 2 else frame(TEXT, b"news"))) as server:
            run = load_deflate(server, "-n", "4", "-c", "1", "--check", "none")
        self.assertEqual(
            (run.errors, run.document["requests"]["ok"]),
            ({"protocol": 1}, 3),
            run.document["first_error"],
        )
        self.assertLess(run.document["generator"]["rss_peak_bytes"], 256 << 20)

    def test_a_connection_cut_in_the_middle_of_a_message(self) -> None:
        def cut(server: Server, connection: socket.socket) -> None:
            if not shake_hands(connection, f"Sec-WebSocket-Extensions: {AGREED}"):
                return
            while (got := read_frame_bits(connection)) is not None and got[0] & 15 == TEXT:
                reply = compressed(TEXT, got[1])
                if server.next_request() % 3 == 0:
                    connection.sendall(reply[:-5])
                    return
                connection.sendall(reply)

        with serving(cut) as server:
            run = load_deflate(server, "-n", "60", "-c", "1", "--message", LONG)
        self.assertEqual((run.errors, run.document["requests"]["ok"]), ({"closed_early": 20}, 40))


if __name__ == "__main__":
    unittest.main()
