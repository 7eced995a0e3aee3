"""wireload against WebSocket servers that behave, in closed loop. Every count is exact."""

from __future__ import annotations

import itertools
import socket
import threading
import time
import unittest
from collections.abc import Callable
from typing import Any

from servers import (
    BINARY,
    CLOSE,
    PING,
    TEXT,
    Run,
    Server,
    counted,
    cut_ws_replies,
    frame,
    interrupt,
    load_ws,
    read_frame,
    serving,
    shake_hands,
    typed,
    under_load,
    wireload,
    ws_replies,
)


class Comparison(unittest.TestCase):
    """The echo of a message that is always the same is compared, any other is read: both tell the
    same.
    """

    def counts(
        self, message: str, make: Callable[[int, bytes], bytes], size: int, *arguments: str
    ) -> dict[str, Any]:
        with serving(cut_ws_replies(make, size)) as server:
            run = load_ws(
                server, *typed("--each 24 -c 2 --pipeline 8"), "--message", message, *arguments
            )
        requests = run.document["requests"]
        return {
            **{name: requests[name] for name in typed("sent ok errors bytes_in bytes_out")},
            "errors by kind": run.errors,
            "latencies": run.document["latency"]["count"],
            "code": run.code,
        }

    def test_both_ways_count_the_same_however_the_stream_is_cut(self) -> None:
        for size in (1, 5, 6, 7, 20, 1 << 20):
            with self.subTest(size):
                same = self.counts("abcd", lambda n, message: frame(TEXT, message), size)
                other = self.counts(
                    "a{random:100-999}", lambda n, message: frame(TEXT, message), size
                )
                self.assertEqual(same, other)
                self.assertEqual((same["ok"], same["bytes_in"], same["code"]), (48, 48 * 6, 0))

    def test_one_byte_that_differs_is_caught(self) -> None:
        wrong = {
            "byte": frame(TEXT, b"abcD"),
            "opcode": frame(BINARY, b"abcd"),
            "length": frame(TEXT, b"abcde"),
        }
        for (what, bad), size in itertools.product(wrong.items(), (1, 6, 20, 1 << 20)):
            with self.subTest(what=what, size=size):
                counts = self.counts(
                    "abcd",
                    lambda n, message, bad=bad: bad if n in (3, 12) else frame(TEXT, message),
                    size,
                )
                self.assertEqual(counts["errors by kind"], {"bad_body": 4})
                self.assertEqual((counts["ok"], counts["latencies"]), (44, 44))

    def test_what_else_a_message_must_be_is_asked_for_all_the_same(self) -> None:
        counts = self.counts(
            "abcd",
            lambda n, message: frame(TEXT, message),
            1 << 20,
            *typed("--check echo --expect-match ^x"),
        )
        self.assertEqual(counts["errors by kind"], {"bad_body": 48})

    def test_one_echo_too_many_is_caught(self) -> None:
        def answer(n: int, message: bytes) -> bytes:
            return frame(TEXT, message) * (2 if n == 20 else 1)

        with serving(ws_replies(answer)) as server:
            run = load_ws(server, *typed("-n 40 -c 1 --message abcd"))
        self.assertEqual(run.errors, {"bad_body": 1})


class RightReplies(unittest.TestCase):
    def test_echo(self) -> None:
        with serving(ws_replies(lambda n, message: frame(TEXT, message))) as server:
            run = load_ws(server, "--each", "10", "-c", "3", "--message", "hi {c}")
            self.assertEqual((server.requests, server.connections), (30, 3))
            self.assertEqual(sorted(server.seen), sorted([b"hi %d" % c for c in range(1, 11)] * 3))
        self.assertEqual(
            (run.code, run.document["requests"]["ok"], run.document["connect"]["opened"]),
            (0, 30, 3),
        )

    def test_binary(self) -> None:
        with serving(ws_replies(lambda n, message: frame(BINARY, message))) as server:
            self.assertEqual(load_ws(server, "-n", "5", "-c", "1", "--binary").code, 0)
            # The same bytes as text are another message, and a report says so.
            run = load_ws(server, "-n", "5", "-c", "1")
        self.assertEqual(run.errors, {"bad_body": 5})
        self.assertEqual(run.document["first_error"]["expected"], "the same, as a text message")

    def test_count(self) -> None:
        with serving(ws_replies(lambda n, message: frame(TEXT, counted(message)))) as server:
            run = load_ws(server, "--each", "10", "-c", "2", "--check", "count", "--pipeline", "4")
            self.assertEqual(
                sorted(server.seen), sorted([b'{"c":%d}' % c for c in range(1, 11)] * 2)
            )
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 20))

    def test_counted_replies_may_come_in_any_order(self) -> None:
        def in_pairs(server: Server, connection: socket.socket) -> None:
            shake_hands(connection)
            while (
                (first := read_frame(connection))
                and (second := read_frame(connection))
                and first[0] == TEXT == second[0]
            ):
                connection.sendall(frame(TEXT, counted(second[1])) + frame(TEXT, counted(first[1])))

        with serving(in_pairs) as server:
            run = load_ws(server, "-n", "20", "-c", "1", "--check", "count", "--pipeline", "2")
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 20), run.document["first_error"]
        )

    def test_fragments_pings_and_single_bytes(self) -> None:
        def pieces(server: Server, connection: socket.socket, number: int, message: bytes) -> bool:
            text = (
                frame(TEXT, message[:3], fin=False)
                + frame(PING, b"are you there")
                + frame(0, message[3:])
            )
            for byte in text:
                connection.sendall(bytes([byte]))
            return True

        pongs: list[bytes] = []

        def handle(server: Server, connection: socket.socket) -> None:
            shake_hands(connection)
            while (got := read_frame(connection)) is not None:
                if got[0] == TEXT:
                    pieces(server, connection, server.next_request(), got[1])
                elif got[0] == 10:
                    pongs.append(got[1])

        with serving(handle) as server:
            run = load_ws(server, "-n", "40", "-c", "4", "--message", "in several pieces")
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 40), run.document["first_error"]
        )
        self.assertGreaterEqual(len(pongs), 36)  # the last may still be on its way
        self.assertEqual(set(pongs), {b"are you there"})

    def test_a_pong_waits_for_the_end_of_a_message_half_written(self) -> None:
        seen: list[int] = []

        def handle(server: Server, connection: socket.socket) -> None:
            shake_hands(connection)
            time.sleep(0.3)  # until the sockets are full
            connection.sendall(frame(PING, b"now"))
            time.sleep(0.2)
            while (got := read_frame(connection)) is not None:
                seen.append(got[0])
                if got[0] == TEXT:
                    server.next_request()
                    connection.sendall(frame(TEXT, got[1]))

        with serving(handle) as server:
            run = load_ws(server, "-n", "1", "-c", "1", "--message-size", "16000000")
            self.assertEqual(server.requests, 1)
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 1), run.screen)
        self.assertIn(TEXT, seen)

    def test_the_host_may_be_replaced(self) -> None:
        heads: list[bytes] = []

        def handle(server: Server, connection: socket.socket) -> None:
            heads.append(shake_hands(connection) or b"")
            while (got := read_frame(connection)) is not None:
                connection.sendall(frame(got[0], got[1]))

        with serving(handle) as server:
            run = load_ws(server, "-n", "1", "-c", "1", "-H", "Host: elsewhere:81")
            for name in ("Sec-WebSocket-Key", "sec-websocket-version"):
                url = f"ws://127.0.0.1:{server.port}/"
                refused = wireload("-n", "1", "-H", f"{name}: 1", url)
                self.assertEqual(refused.returncode, 64)
                self.assertIn("wireload sets this field itself", refused.stderr)
        self.assertEqual(run.code, 0, run.screen)
        self.assertEqual(heads[0].lower().count(b"\r\nhost:"), 1)
        self.assertIn(b"\r\nHost: elsewhere:81\r\n", heads[0])

    def test_every_byte_that_leaves_is_counted(self) -> None:
        read = {"handshakes": 0, "messages": 0, "closes": 0}

        def handle(server: Server, connection: socket.socket) -> None:
            request = shake_hands(connection)
            with server.lock:
                read["handshakes"] += len(request or b"")
            while (got := read_frame(connection)) is not None:
                kind = "messages" if got[0] == TEXT else "closes"
                with server.lock:
                    read[kind] += 6 + len(got[1])
                if got[0] == TEXT:
                    connection.sendall(frame(TEXT, got[1]))

        with serving(handle) as server:
            words = ("--each", "3", "-c", "2", "--message", "hi", "--no-keepalive")
            run = load_ws(server, *words)
        self.assertEqual(run.document["requests"]["ok"], 6, run.screen)
        self.assertGreater(read["closes"], 0)
        self.assertEqual(run.document["requests"]["bytes_out"], sum(read.values()))

    def test_a_read_with_the_end_of_one_message_and_half_of_the_next(self) -> None:
        def handle(server: Server, connection: socket.socket) -> None:
            shake_hands(connection)
            while (
                (first := read_frame(connection))
                and (second := read_frame(connection))
                and first[0] == TEXT == second[0]
            ):
                text = frame(TEXT, first[1]) + frame(TEXT, second[1])
                cuts = [0, 5, len(text) // 2 + 5, len(text)]
                for start, end in itertools.pairwise(cuts):
                    connection.sendall(text[start:end])
                    time.sleep(0.02)

        with serving(handle) as server:
            run = load_ws(
                server, "-n", "10", "-c", "1", "--pipeline", "2", "--message", "message {c}"
            )
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 10), run.document["first_error"]
        )

    def test_messages_larger_than_any_buffer(self) -> None:
        with serving(ws_replies(lambda n, message: frame(TEXT, message))) as server:
            run = load_ws(server, "-n", "4", "-c", "2", "--message", "x" * 100_000 + "{c}")
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 4), run.document["first_error"]
        )

    def test_ends_its_sessions_with_a_close_frame(self) -> None:
        ends: list[tuple[int, bytes] | None] = []

        def handle(server: Server, connection: socket.socket) -> None:
            shake_hands(connection)
            while (got := read_frame(connection)) and got[0] == TEXT:
                connection.sendall(frame(TEXT, got[1]))
            ends.append(got)

        with serving(handle) as server:
            load_ws(server, "-n", "4", "-c", "2")
        self.assertEqual(ends, [(CLOSE, b"\x03\xe8")] * 2)

    def test_a_new_connection_for_each_message(self) -> None:
        with serving(ws_replies(lambda n, message: frame(TEXT, message))) as server:
            run = load_ws(server, "-n", "6", "-c", "2", "--no-keepalive")
            self.assertEqual(server.connections, 6)
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 6))


class UsesOfConnections(unittest.TestCase):
    def test_replies_out_of_order(self) -> None:
        """Four in flight, answered backwards: each echo is matched to its own message."""
        for message in ("n={counter}", "{uuid}", "{random:1-1000000000}{c}"):

            def backwards(server: Server, connection: socket.socket) -> None:
                if not shake_hands(connection):
                    return
                while True:
                    held = []
                    for _ in range(4):
                        got = read_frame(connection)
                        if got is None or got[0] != TEXT:
                            return
                        held.append(got[1])
                        server.next_request(got[1])
                    connection.sendall(b"".join(frame(TEXT, m) for m in reversed(held)))

            with self.subTest(message), serving(backwards) as server:
                run = load_ws(
                    server, "-n", "20", "-c", "1", "--pipeline", "4", "--message", message
                )
                self.assertEqual(
                    (run.code, run.document["requests"]["ok"]), (0, 20), run.document["first_error"]
                )
                self.assertEqual(len(set(server.seen)), 20)

    def test_an_echo_twice_is_wrong(self) -> None:
        with serving(
            ws_replies(lambda n, message: frame(TEXT, message if n != 3 else b"n=2"))
        ) as server:
            run = load_ws(server, "-n", "8", "-c", "1", "--message", "n={counter}")
        self.assertEqual((run.errors, run.document["requests"]["ok"]), ({"bad_body": 1}, 7))

    def test_messages_are_held_to_their_content(self) -> None:
        with serving(ws_replies(lambda n, message: frame(TEXT, b'{"n":%d}' % n))) as server:
            right = load_ws(
                server, "-n", "4", "-c", "1", "--expect-match", "^{", "--expect-json", "n"
            )
        self.assertEqual((right.code, right.document["requests"]["ok"]), (0, 4))
        with serving(ws_replies(lambda n, message: frame(TEXT, b'{"n":%d}' % n))) as server:
            wrong = load_ws(
                server, "-n", "4", "-c", "1", "--expect-json", "n=2", "--expect-length", "7"
            )
        self.assertEqual(wrong.errors, {"bad_body": 3})
        self.assertIn("--expect-json", wrong.document["first_error"]["expected"])

    def test_message_size(self) -> None:
        with serving(ws_replies(lambda n, message: frame(TEXT, message))) as server:
            run = load_ws(server, "-n", "3", "-c", "1", "--message-size", "70000")
            self.assertEqual([len(m) for m in server.seen], [70000] * 3)
        self.assertEqual(run.code, 0)

    def test_a_storm_opens_and_closes(self) -> None:
        closes: list[bytes] = []

        def counting(server: Server, connection: socket.socket) -> None:
            if not shake_hands(connection):
                return
            while (got := read_frame(connection)) is not None:
                if got[0] == CLOSE:
                    closes.append(got[1])
                    return
                server.next_request(got[1])
                connection.sendall(frame(TEXT, got[1]))

        with serving(counting) as server:
            run = load_ws(
                server,
                *typed("--each 6 -c 2 --no-keepalive --per-connection 3 --message"),
                "{counter}",
            )
            connections = server.connections
        self.assertEqual(
            (run.code, run.document["requests"]["ok"], connections),
            (0, 12, 4),
            run.document["first_error"],
        )
        self.assertEqual(closes, [(1000).to_bytes(2, "big")] * 4)
        connect = run.document["connect"]
        self.assertEqual((connect["opened"], connect["latency"]["count"]), (4, 4))
        phases = connect["phases"]
        self.assertEqual(
            [phases[name]["count"] for name in ("tcp", "upgrade", "first_byte")], [4, 4, 4]
        )
        self.assertLessEqual(phases["upgrade"]["max_ns"], connect["latency"]["max_ns"])
        self.assertIn("upgrade", run.screen)

    def test_what_opens_in_the_window_was_attempted_for_it(self) -> None:
        """The handshake begins in the warm-up, and is answered in the window."""

        def handle(server: Server, connection: socket.socket) -> None:
            connection.recv(1, socket.MSG_PEEK)
            time.sleep(0.5)
            shake_hands(connection)
            read_frame(connection)
            server.next_request()
            connection.recv(1)  # until it is closed

        words = typed("--no-keepalive -c 1 --warmup 100ms -d 60s --timeout 60s")
        with serving(handle) as server, under_load(server, *words, scheme="ws") as process:
            while server.requests < 1:
                time.sleep(0.001)
            connect = interrupt(process).document["connect"]
        self.assertEqual(
            (connect["attempted"], connect["opened"], connect["latency"]["count"]), (1, 1, 1)
        )

    def test_idle_connections_are_held(self) -> None:
        pongs: list[bytes] = []

        def pinging(server: Server, connection: socket.socket) -> None:
            if not shake_hands(connection):
                return
            number = server.next_request()
            if number == 3:
                time.sleep(0.15)
                return  # closes
            connection.sendall(frame(PING, b"p") + frame(TEXT, b"news"))
            while (got := read_frame(connection)) is not None:
                if got[0] == CLOSE:
                    return
                pongs.append(got[1])

        with serving(pinging) as server:
            run = load_ws(server, "-c", "4", "--idle", "-d", "400ms")
            self.assertEqual(server.connections, 4)
        self.assertEqual(pongs, [b"p"] * 3)
        self.assertEqual(
            run.document["idle"],
            {"opened": 4, "held": 3, "pings": 3, "messages": 3, "server_wake_ups": None},
        )
        self.assertEqual((run.code, run.errors), (1, {"closed_early": 1}))
        self.assertEqual(run.document["first_error"]["expected"], "a connection that stays open")
        self.assertEqual(
            (run.document["plan"]["mode"], run.document["window"]["elapsed_ns"]),
            ("idle", 400_000_000),
        )
        self.assertIn("3 of 4 connections", run.screen)

    def test_an_idle_connection_that_is_lost_while_others_are_opened_is_told(self) -> None:
        lost = threading.Event()

        def handle(server: Server, connection: socket.socket) -> None:
            first = server.next_request() == 1
            if not first:
                lost.wait(10)
            if not shake_hands(connection):
                return
            if first:
                connection.close()
                lost.set()
            else:
                connection.recv(1)

        with serving(handle) as server:
            run = load_ws(server, *typed("-c 4 --idle -d 200ms --fail-if errors>24.9%"))
        self.assertEqual((run.code, run.errors), (3, {"closed_early": 1}))
        self.assertEqual(run.document["idle"]["held"], 3)
        self.assertEqual(run.document["first_error"]["kind"], "closed_early")
        self.assertEqual(run.document["thresholds"][0]["value"], 25)
        self.assertIn("1 (25%), closed_early 1", run.screen)

    def test_idle_connections_take_messages_of_any_length(self) -> None:
        def pushing(server: Server, connection: socket.socket) -> None:
            if not shake_hands(connection):
                return
            connection.sendall(frame(TEXT, b"n" * 200_000))
            while (got := read_frame(connection)) is not None:
                if got[0] == CLOSE:
                    return

        with serving(pushing) as server:
            run = load_ws(server, "-c", "2", "--idle", "-d", "400ms")
        self.assertEqual((run.code, run.errors), (0, {}), run.document["first_error"])
        self.assertEqual((run.document["idle"]["held"], run.document["idle"]["messages"]), (2, 2))

    def test_subprotocols(self) -> None:
        def choosing(choice: str) -> Run:
            def handle(server: Server, connection: socket.socket) -> None:
                chosen = [f"Sec-WebSocket-Protocol: {choice}"] if choice else []
                request = shake_hands(connection, *chosen)
                assert request is not None
                server.next_request(request)
                while (got := read_frame(connection)) is not None and got[0] == TEXT:
                    connection.sendall(frame(TEXT, got[1]))

            with serving(handle) as server:
                run = load_ws(server, "-n", "2", "-c", "1", "--subprotocol", "chat,superchat")
            # Only now has the server's thread surely noted what it answered.
            self.assertIn(b"\r\nSec-WebSocket-Protocol: chat, superchat\r\n", server.seen[0])
            return run

        self.assertEqual(choosing("superchat").code, 0)
        for wrong in ("", "other"):
            with self.subTest(wrong):
                run = choosing(wrong)
                self.assertEqual((run.code, run.errors), (2, {"connect_failed": 1}))


if __name__ == "__main__":
    unittest.main()
