"""The same loads through io_uring. Left out where the host forbids it."""

from __future__ import annotations

import socket
import unittest

from servers import (
    TEXT,
    Server,
    body_of,
    echoes_late,
    frame,
    http,
    http_answers,
    http_replies,
    load,
    reply,
    serving,
    typed,
    wireload,
    ws_replies,
)

URING = ("--engine", "io_uring")


def setUpModule() -> None:
    with serving(http_replies(lambda n: reply())) as server:
        done = wireload(*URING, "-n", "1", f"http://127.0.0.1:{server.port}/")
    if done.returncode != 0 and "io_uring" in done.stderr:
        raise unittest.SkipTest(done.stderr.strip())


class Http(unittest.TestCase):
    def test_counts_what_it_asked_for(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "-n", "200", "-c", "7", "--expect-body", "hello", *URING)
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 200), run.document["first_error"]
        )
        self.assertEqual(run.document["plan"]["engine"], "io_uring")
        self.assertEqual((server.connections, server.requests), (7, 200))

    def test_is_chosen_where_it_costs_less_and_the_report_says_why(self) -> None:
        why = "costs less from 32 connections a thread on"
        for words, expected in (
            ("-c 32 -n 64", ("io_uring", why)),
            ("-c 32 -n 64 --no-keepalive", ("io_uring", why)),
            ("-c 31 -n 62", ("epoll", None)),
            ("-c 32 -n 64 --rate 10000", ("epoll", None)),
            ("-c 32 -n 64 --engine epoll", ("epoll", None)),
            ("-c 32 -n 64 --engine io_uring", ("io_uring", None)),
        ):
            with self.subTest(words), serving(http_replies(lambda n: reply())) as server:
                run = load(server, *typed(words))
                self.assertEqual(run.code, 0, run.document["first_error"])
                plan = run.document["plan"]
                self.assertEqual((plan["engine"], plan["engine_why"]), expected)
                if plan["engine_why"]:
                    said = " ".join(run.screen.split())
                    self.assertIn(f"io_uring ({why})", said)

    def test_pipelined_in_pieces(self) -> None:
        def answer(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            for byte in reply(b"%d" % number):
                connection.sendall(bytes([byte]))
            return True

        with serving(http(answer)) as server:
            run = load(server, *typed("-n 24 -c 2 --pipeline 4 --expect-match ^[0-9]+$"), *URING)
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 24), run.document["first_error"]
        )

    def test_a_full_socket_takes_requests_in_parts(self) -> None:
        body = "".join(f"{n:07}\n" for n in range(1_500))
        with serving(echoes_late) as server:
            run = load(
                server, *typed("-n 600 -c 2 --pipeline 256 --expect-body"), body, "-b", body, *URING
            )
            self.assertEqual(
                (run.code, run.document["requests"]["ok"]), (0, 600), run.document["first_error"]
            )
            self.assertEqual(run.document["requests"]["bytes_out"], sum(map(len, server.seen)))
            self.assertEqual({body_of(request) for request in server.seen}, {body.encode()})

    def test_large_bodies_both_ways(self) -> None:
        body = "x" * 300_000
        with serving(http_answers(lambda request: reply(body_of(request)))) as server:
            run = load(
                server, *typed("-n 9 -c 3 -b"), body[:100_000], "--expect-length", "100000", *URING
            )
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 9), run.document["first_error"]
        )

    def test_a_new_connection_for_each_request(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "-n", "20", "-c", "3", "--no-keepalive", *URING)
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 20), run.document["first_error"]
        )
        self.assertEqual(server.connections, 20)

    def test_lost_connections_are_counted_and_replaced(self) -> None:
        def answer(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            if number % 5 == 0:
                return False
            connection.sendall(reply())
            return True

        with serving(http(answer)) as server:
            run = load(server, "-n", "50", "-c", "1", *URING)
        self.assertEqual((run.errors, run.document["requests"]["ok"]), ({"closed_early": 10}, 40))
        self.assertEqual(server.connections, 10)

    def test_no_latency_is_shorter_than_the_servers_delay(self) -> None:
        with serving(http_replies(lambda n: reply(), after_s=lambda n: 0.01)) as server:
            run = load(server, *typed("--each 3 -c 40"), *URING)
        self.assertEqual((run.code, run.document["latency"]["count"]), (0, 120))
        self.assertGreaterEqual(run.document["latency"]["min_ns"], 10_000_000)

    def test_nobody_listens(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            done = wireload(
                "-n", "4", "-c", "2", *URING, f"http://127.0.0.1:{taken.getsockname()[1]}/"
            )
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("refused", done.stdout + done.stderr)

    def test_an_open_loop(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "--rate", "300", "-n", "90", "-c", "4", "--timeout", "30s", *URING)
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 90), run.document["first_error"]
        )


class WebSocket(unittest.TestCase):
    def test_every_echo_is_matched(self) -> None:
        with serving(
            ws_replies(lambda n, message: frame(TEXT, b"other" if n == 6 else message))
        ) as server:
            run = load(
                server, "-n", "30", "-c", "3", "--message", "message {counter}", *URING, scheme="ws"
            )
        self.assertEqual(
            (run.errors, run.document["requests"]["ok"]),
            ({"bad_body": 1}, 29),
            run.document["first_error"],
        )


if __name__ == "__main__":
    unittest.main()
