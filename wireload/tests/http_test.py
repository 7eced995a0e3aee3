"""wireload against HTTP servers that behave. Every count is exact."""

from __future__ import annotations

import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from collections.abc import Callable
from typing import Any

from servers import (
    Server,
    body_file,
    body_of,
    cut_http_replies,
    echoes_late,
    http,
    http_answers,
    http_replies,
    load,
    read_request,
    reply,
    serving,
    typed,
)


class Starving(unittest.TestCase):
    def test_connections_left_aside_are_counted_and_little_holds(self) -> None:
        """Half of the connections get no answer for longer than the window; the others do every few
        milliseconds.
        """

        def handle(server: Server, connection: socket.socket) -> None:
            quick = server.next_request() % 2 == 0
            held = bytearray()
            while read_request(connection, held) is not None:
                time.sleep(0.003 if quick else 1.5)
                connection.sendall(reply())

        with serving(handle) as server:
            run = load(server, "-c", "10", "-d", "400ms", "--warmup", "300ms")
        unanswered = run.document["window"]["unanswered"]
        self.assertEqual(unanswered["starved"], 5)
        self.assertEqual(unanswered["silent_connections"], 5)
        self.assertGreaterEqual(unanswered["count"], 5)
        self.assertGreaterEqual(unanswered["oldest_ns"], 600_000_000)
        self.assertIn("5 of 10 connections waited for more than half of the window", run.screen)
        # Throughput x mean latency alone would give a half: ten in flight, of which five tell their
        # latency.
        self.assertAlmostEqual(run.document["little"]["ratio"], 1, delta=0.05)

    def test_connections_without_an_answer_are_counted_without_a_warm_up_too(self) -> None:
        """One of four is never answered; one answers once, at the window's beginning."""

        def handle(server: Server, connection: socket.socket) -> None:
            number = server.next_request()
            held = bytearray()
            answers = 0
            while read_request(connection, held) is not None:
                if number == 1 or (number == 2 and answers == 1):
                    time.sleep(1)
                time.sleep(0.003)
                connection.sendall(reply())
                answers += 1

        with serving(handle) as server:
            run = load(server, "-c", "4", "-d", "400ms", "--warmup", "0ms")
        unanswered = run.document["window"]["unanswered"]
        self.assertEqual((unanswered["starved"], unanswered["silent_connections"]), (2, 1))

    def test_a_window_shorter_than_the_latencies_fits_littles_law(self) -> None:
        with serving(
            http_replies(lambda n: reply(b"hello" if n % 5 else b"wrong"), after_s=lambda n: 0.08)
        ) as server:
            run = load(
                server, "-c", "8", "-d", "210ms", "--warmup", "100ms", "--expect-body", "hello"
            )
        self.assertGreater(run.document["requests"]["errors"], 0)
        self.assertAlmostEqual(run.document["little"]["ratio"], 1, delta=0.05)


class Edges(unittest.TestCase):
    def test_the_bytes_of_a_reply_count_where_it_does(self) -> None:
        """Of hundreds of windows, some begin and end while replies are waiting to be read."""
        for engine in ("epoll", "io_uring"):
            with self.subTest(engine), serving(http_replies(lambda n: reply())) as server:
                run = load(server, *typed("--turns 1/1 --turn 2ms -d 700ms -c 8 --engine"), engine)
                requests = run.document["requests"]
                self.assertEqual((run.code, run.document["turns"]["taken"]), (0, 500))
                self.assertEqual(requests["bytes_in"], requests["ok"] * len(reply()))


CUTS = (1, 7, 68, 69, 70, 78, 79, 80, 300, 1 << 20)
"""Sizes of pieces. The replies below have 69 and 79 bytes."""


class Comparison(unittest.TestCase):
    """A reply like the last right one is compared, any other is parsed: both tell the same."""

    def counts(self, make: Callable[[int], bytes], size: int, *arguments: str) -> dict[str, Any]:
        with serving(cut_http_replies(make, size)) as server:
            run = load(server, *typed("--each 24 -c 2 --pipeline 8"), *arguments)
        document = run.document
        requests = document["requests"]
        return {
            **{name: requests[name] for name in typed("sent ok errors bytes_in bytes_out")},
            "connections": requests["connections_opened"],
            "errors by kind": run.errors,
            "statuses": document["status_codes"],
            "latencies": document["latency"]["count"],
            "code": run.code,
        }

    def test_both_ways_count_the_same_however_the_stream_is_cut(self) -> None:
        for size in CUTS:
            with self.subTest(size):
                same = self.counts(lambda n: reply(b"hello", "200 OK", "X-N: 000"), size)
                other = self.counts(lambda n: reply(b"hello", "200 OK", f"X-N: {n:03}"), size)
                self.assertEqual(same, other)
                self.assertEqual(
                    (same["ok"], same["bytes_in"]),
                    (48, 48 * len(reply(b"hello", "200 OK", "X-N: 000"))),
                )

    def test_a_reply_that_changes_now_and_then_is_parsed_once(self) -> None:
        """As a Date does."""
        for size in CUTS:
            with self.subTest(size):
                counts = self.counts(lambda n: reply(b"hello", "200 OK", f"X-N: {n // 5:03}"), size)
                self.assertEqual((counts["code"], counts["ok"]), (0, 48))

    def test_one_byte_that_differs_is_caught(self) -> None:
        # From the third in a row on, on each of two connections.
        right = reply(b"hello")
        at = {
            "status": right.replace(b"200", b"500"),
            "body": right.replace(b"hello", b"hellO"),
        }
        for (what, wrong), size in itertools.product(at.items(), CUTS):
            with self.subTest(what=what, size=size):
                counts = self.counts(
                    lambda n, wrong=wrong: wrong if n in (3, 12) else right,
                    size,
                    "--expect-body",
                    "hello",
                )
                kind = "bad_status" if what == "status" else "bad_body"
                self.assertEqual(counts["errors by kind"], {kind: 4})
                self.assertEqual((counts["ok"], counts["latencies"]), (44, 44))
                self.assertEqual(counts["bytes_in"], 48 * len(right))

    def test_more_than_was_asked_for_is_caught(self) -> None:
        with serving(http_replies(lambda n: reply() * (2 if n == 20 else 1))) as server:
            run = load(server, *typed("-n 40 -c 1"))
        self.assertEqual(run.errors, {"protocol": 1})


class RightReplies(unittest.TestCase):
    def test_counts_what_it_asked_for(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "-n", "50", "-c", "4", "--expect-body", "hello")
            self.assertEqual(run.code, 0)
            self.assertEqual((server.requests, server.connections), (50, 4))
        requests = run.document["requests"]
        self.assertEqual(
            (requests["sent"], requests["ok"], requests["errors"], requests["connections_opened"]),
            (50, 50, 0, 4),
        )
        self.assertEqual(run.document["status_codes"], {"200": 50})
        self.assertEqual(run.document["window"]["stopped_by"], "requests")
        self.assertEqual(run.document["latency"]["count"], 50)
        self.assertEqual(requests["bytes_in"], 50 * len(reply()))
        self.assertEqual(requests["bytes_out"], sum(map(len, server.seen)))
        self.assertEqual(run.document["connect"]["opened"], 4)
        self.assertEqual(run.document["connect"]["latency"]["count"], 4)

    def test_each_connection_sends_its_own_count(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "--each", "7", "-c", "3", "--warmup", "50ms")
            # The warm-up is served as well, and not counted.
            self.assertGreaterEqual(server.requests, 21)
        self.assertEqual(run.document["requests"]["ok"], 21)
        self.assertEqual(run.document["requests"]["sent"], 21)
        self.assertEqual(run.document["latency"]["count"], 21)

    def test_a_connection_that_has_sent_its_share_is_closed(self) -> None:
        """A server with one thread for each connection it serves gets to the next one only then."""
        turn = threading.Lock()

        def handle(server: Server, connection: socket.socket) -> None:
            with turn:
                held = bytearray()
                while (request := read_request(connection, held)) is not None:
                    server.next_request(request)
                    connection.sendall(reply())

        with serving(handle) as server:
            run = load(server, "--each", "5", "-c", "4", "--timeout", "20s")
            self.assertEqual(server.requests, 20)
        self.assertEqual(run.errors, {})
        self.assertEqual(run.document["requests"]["connections_opened"], 4)

    def test_several_threads_share_the_count(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "-n", "101", "-c", "6", "--threads", "3")
            self.assertEqual(server.requests, 101)
        self.assertEqual(run.document["requests"]["ok"], 101)
        self.assertEqual(run.document["plan"]["threads"], 3)

    def test_a_new_connection_for_each_request(self) -> None:
        def once(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            assert b"\r\nConnection: close\r\n" in request
            connection.sendall(reply(b"hello", "200 OK", "Connection: close"))
            return False

        with serving(http(once)) as server:
            run = load(server, "-n", "20", "-c", "3", "--no-keepalive", "--expect-body", "hello")
            self.assertEqual(server.connections, 20)
        self.assertEqual(run.code, 0)
        self.assertEqual(run.document["requests"]["connections_opened"], 20)
        self.assertEqual(run.document["connect"]["opened"], 20)
        self.assertEqual(run.document["connect"]["latency"]["count"], 20)

    def test_phases_of_a_connection_for_each_request(self) -> None:
        def slow(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            time.sleep(0.02)
            text = reply(b"hello", "200 OK", "Connection: close")
            connection.sendall(text[:20])
            time.sleep(0.03)
            connection.sendall(text[20:])
            return False

        with serving(http(slow)) as server:
            run = load(server, "-n", "6", "-c", "2", "--no-keepalive")
        phases = run.document["connect"]["phases"]
        self.assertEqual(
            (run.code, phases["tcp"]["count"], phases["first_byte"]["count"]), (0, 6, 6)
        )
        self.assertGreaterEqual(phases["first_byte"]["min_ns"], 20_000_000)
        # The rest of the reply comes at least 30 ms after its first bytes; the histogram keeps
        # three digits.
        self.assertLessEqual(
            phases["first_byte"]["min_ns"], run.document["latency"]["min_ns"] - 25_000_000
        )
        self.assertEqual((phases["upgrade"], phases["tls"]), (None, None))
        self.assertIn("first byte", run.screen)

    def test_several_requests_on_each_of_many_connections(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "-n", "12", "-c", "1", "--no-keepalive", "--per-connection", "4")
            self.assertEqual((server.connections, server.requests), (3, 12))
            self.assertNotIn(b"Connection:", server.seen[0])
        self.assertEqual((run.code, run.document["requests"]["connections_opened"]), (0, 3))

    def test_idle(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "-c", "3", "--idle", "-d", "200ms")
            self.assertEqual((server.connections, server.requests), (3, 0))
        self.assertEqual((run.code, run.document["idle"]["held"]), (0, 3))

    def test_wake_ups_are_not_told_where_a_process_of_the_server_ended(self) -> None:
        """One process is woken all the time; the other may end while connections are held."""
        woken = "import time\nwhile True: time.sleep(0.001)"
        for lasts, held, told in (("60", "1200ms", True), ("2", "2500ms", False)):
            command = f'sleep {lasts} & other=$!; "$0" -c "$1" & echo; wait $other; sleep 60'
            with (
                self.subTest(lasts),
                serving(http_replies(lambda n: reply())) as server,
                subprocess.Popen(
                    ["sh", "-c", command, sys.executable, woken],
                    stdout=subprocess.PIPE,
                    start_new_session=True,
                ) as watched,
            ):
                try:
                    assert watched.stdout is not None
                    watched.stdout.readline()  # both are there
                    words = typed(f"-c 2 --idle -d {held} --watch {watched.pid}")
                    idle = load(server, *words).document["idle"]
                finally:
                    os.killpg(watched.pid, signal.SIGKILL)
                if told:
                    self.assertGreater(idle["server_wake_ups"], 100)
                else:
                    self.assertIsNone(idle["server_wake_ups"])

    def test_reopens_quietly_where_the_server_announces_the_close(self) -> None:
        def every_third(
            server: Server, connection: socket.socket, number: int, request: bytes
        ) -> bool:
            connection.sendall(
                reply(b"x", "200 OK", *(["Connection: close"] if number % 3 == 0 else []))
            )
            return number % 3 != 0

        with serving(http(every_third)) as server:
            run = load(server, "-n", "9", "-c", "1")
        self.assertEqual(run.code, 0)
        self.assertEqual(run.document["requests"]["ok"], 9)
        self.assertEqual(run.document["requests"]["connections_opened"], 3)

    def test_pipelining(self) -> None:
        with serving(http_replies(lambda n: reply(b"%d" % n))) as server:
            run = load(server, "-n", "64", "-c", "1", "--pipeline", "8")
            self.assertEqual(server.requests, 64)
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 64))

    def test_a_full_socket_takes_requests_in_parts(self) -> None:
        body = "".join(f"{n:07}\n" for n in range(1_500))
        with serving(echoes_late) as server:
            run = load(server, *typed("-n 600 -c 2 --pipeline 256 --expect-body"), body, "-b", body)
            self.assertEqual(
                (run.code, run.document["requests"]["ok"]), (0, 600), run.document["first_error"]
            )
            self.assertEqual(run.document["requests"]["bytes_out"], sum(map(len, server.seen)))
            self.assertEqual({body_of(request) for request in server.seen}, {body.encode()})

    def test_every_way_to_frame_a_body(self) -> None:
        ways = {
            "length": reply(b"hello"),
            "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nT: u\r\n\r\n",
            "interim first": b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + reply(b"hello"),
        }
        for name, text in ways.items():
            with self.subTest(name), serving(http_replies(lambda n, text=text: text)) as server:
                run = load(server, "-n", "5", "-c", "1", "--expect-body", "hello")
                self.assertEqual(
                    (run.code, run.document["requests"]["ok"]), (0, 5), run.document["first_error"]
                )

    def test_a_body_that_ends_with_the_connection(self) -> None:
        def until_close(
            server: Server, connection: socket.socket, number: int, request: bytes
        ) -> bool:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nhel")
            connection.sendall(b"lo")
            return False

        with serving(http(until_close)) as server:
            run = load(server, "-n", "4", "-c", "1", "--expect-body", "hello")
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 4), run.document["first_error"]
        )

    def test_replies_in_single_bytes(self) -> None:
        def drip(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            for byte in reply(b"hello"):
                connection.sendall(bytes([byte]))
                time.sleep(0.0002)
            return True

        with serving(http(drip)) as server:
            run = load(server, "-n", "3", "-c", "2", "--expect-body", "hello")
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 3))

    def test_large_bodies_both_ways(self) -> None:
        body = random.Random(1).randbytes(3_000_000).hex()

        echo = http_answers(lambda request: reply(body_of(request)))
        with body_file(body.encode()) as file, serving(echo) as server:
            run = load(server, *typed("-n 6 -c 2 --body-file"), file, "--expect-body-file", file)
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 6), run.document["first_error"]
        )

    def test_sends_what_it_was_told(self) -> None:
        with serving(
            http_replies(
                lambda n: reply(b"", "204 No Content").replace(b"Content-Length: 0\r\n", b"")
            )
        ) as server:
            run = load(
                server,
                *typed("-n 1 -c 1 -m PUT -b"),
                "a b",
                "-H",
                "X-One: 1",
                "-H",
                "X-Two: 2",
                path="/p?q=r",
            )
            self.assertEqual(
                server.seen[0],
                b"PUT /p?q=r HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-One: 1\r\nX-Two: 2\r\n"
                b"Content-Length: 3\r\n\r\na b" % server.port,
            )
        self.assertEqual(run.code, 0)

    def test_head_has_no_body(self) -> None:
        with serving(
            http_replies(lambda n: b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
        ) as server:
            run = load(server, "-n", "4", "-c", "1", "-m", "HEAD")
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 4))

    def test_a_window_by_time(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "-d", "300ms", "--warmup", "100ms", "-c", "2", "--interval", "50ms")
        document = run.document
        self.assertEqual((run.code, document["window"]["stopped_by"]), (0, "duration"))
        self.assertEqual(document["window"]["elapsed_ns"], 300_000_000)
        self.assertEqual(len(document["series"]["ok"]), 6)
        self.assertEqual(sum(document["series"]["ok"]), document["requests"]["ok"])
        self.assertEqual(document["latency"]["count"], document["requests"]["ok"])
        self.assertLess(document["requests"]["ok"], server.requests)

    def test_littles_law_holds_by_its_own_counts(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            little = load(server, "-n", "1000", "-c", "3").document["little"]
        # Three connections at most; what the ratio differs from 1 is the error of some hundred
        # samples.
        self.assertGreater(little["samples"], 10)
        self.assertLessEqual(little["in_flight_mean"], 3)
        self.assertAlmostEqual(little["ratio"], 1, delta=0.2)

    def test_littles_law_holds_where_threads_end_at_different_times(self) -> None:
        def handle(server: Server, connection: socket.socket) -> None:
            pause_s = 0.005 if server.next_request() == 1 else 0.02
            held = bytearray()
            while read_request(connection, held) is not None:
                time.sleep(pause_s)
                connection.sendall(reply())

        with serving(handle) as server:
            run = load(server, "--each", "12", "-c", "2", "--threads", "2")
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 24))
        # Without regard to that it would be 0.63.
        self.assertAlmostEqual(run.document["little"]["ratio"], 1, delta=0.2)

    def test_a_slow_server_is_measured_as_it_is(self) -> None:
        with serving(http_replies(lambda n: reply(), after_s=lambda n: 0.04)) as server:
            run = load(server, "-n", "12", "-c", "3")
        self.assertEqual(run.document["requests"]["ok"], 12)
        self.assertGreaterEqual(run.document["latency"]["min_ns"], 40_000_000)
        # Four rounds of three at once.
        self.assertGreaterEqual(run.document["window"]["elapsed_ns"], 160_000_000)


if __name__ == "__main__":
    unittest.main()
