"""wireload at a rate: servers that fail, the estimate of a closed loop, and options that contradict
each other.
"""

from __future__ import annotations

import socket
import tempfile
import time
import unittest

from open_loop_test import MS, OpenLoop
from servers import (
    TEXT,
    Server,
    frame,
    http,
    http_replies,
    load,
    read_request,
    reply,
    serving,
    typed,
    wireload,
    ws_replies,
)


class Failures(OpenLoop):
    def test_closed_connections_are_opened_again_and_cost_what_they_carried(self) -> None:
        def answer(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            if number % 10 == 0:
                return False
            connection.sendall(reply())
            return True

        with serving(http(answer)) as server:
            run = load(server, "--rate", "500", "-n", "100", "-c", "4")
            self.assertEqual(server.requests, 100)
        self.assertEqual(run.errors, {"closed_early": 10})
        self.assertEqual(run.document["requests"]["ok"], 90)
        self.assert_accounted(run)

    def test_an_idle_connection_may_be_closed(self) -> None:
        def answer(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(reply())
            return number % 5 != 0  # closes afterwards, with nothing in flight

        with serving(http(answer)) as server:
            run = load(server, "--rate", "50", "-n", "25", "-c", "2")
        self.assertEqual(run.errors, {})
        self.assertGreaterEqual(run.document["requests"]["connections_opened"], 6)
        self.assert_accounted(run)

    def test_a_server_that_closes_idle_connections_again_and_again_works(self) -> None:
        """It does so after little more than a second, and nothing is due for sixteen."""

        def handle(server: Server, connection: socket.socket) -> None:
            connection.settimeout(1.1)
            held = bytearray()
            while (request := read_request(connection, held)) is not None:
                server.next_request(request)
                connection.sendall(reply())

        with serving(handle) as server:
            run = load(server, *typed("--rate-steps 50:100ms,0:16s,50:100ms -c 2"))
        self.assertEqual((run.code, run.errors), (0, {}))
        self.assertEqual(run.document["window"]["stopped_by"], "duration")
        self.assertEqual(run.document["requests"]["ok"], 10)
        self.assertGreater(run.document["requests"]["connections_opened"], 10)
        self.assert_accounted(run)

    def test_what_answers_no_request_is_an_error_more(self) -> None:
        """Every reply comes twice, long before the next request is due."""
        for scheme, kind, handler in (
            ("http", "protocol", http_replies(lambda n: reply() * 2)),
            ("ws", "bad_body", ws_replies(lambda n, message: frame(TEXT, message) * 2)),
        ):
            with self.subTest(scheme), serving(handler) as server:
                run = load(server, *typed("--rate 20 -n 4 -c 1"), scheme=scheme)
                self.assertEqual((run.code, run.errors), (1, {kind: 4}))
                self.assertEqual(run.document["first_error"]["kind"], kind)
                requests = run.document["requests"]
                self.assertEqual((requests["sent"], requests["ok"]), (4, 4))

    def test_a_server_may_say_that_it_closes_an_idle_connection(self) -> None:
        """As Node.js and HAProxy do when no request comes."""

        def answer(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(reply())
            if number % 5 != 0:
                return True
            time.sleep(0.01)
            connection.sendall(reply(b"", "408 Request Timeout", "Connection: close"))
            return False

        with serving(http(answer)) as server:
            run = load(server, *typed("--rate 10 -n 12 -c 1"))
        self.assertEqual((run.code, run.errors), (0, {}))
        self.assertEqual(run.document["requests"]["connections_opened"], 3)
        self.assert_accounted(run)

    def test_wrong_replies_are_counted(self) -> None:
        with serving(http_replies(lambda n: reply(b"wrong" if n % 4 == 0 else b"hello"))) as server:
            run = load(server, "--rate", "1000", "-n", "40", "-c", "4", "--expect-body", "hello")
        self.assertEqual(run.errors, {"bad_body": 10})
        self.assert_accounted(run)

    def test_pipelined_and_large_requests(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, *typed("--rate 400 -n 40 -c 2 --pipeline 4 -b"), "x" * 100_000)
            self.assertEqual({len(text) for text in server.seen}, {len(server.seen[0])})
            self.assertEqual(server.requests, 40)
        self.assertEqual(run.code, 0)
        self.assert_accounted(run)


class Omission(unittest.TestCase):
    def test_an_estimate_where_asked_for_and_labelled(self) -> None:
        with serving(
            http_replies(lambda n: reply(), after_s=lambda n: 0.5 if n == 30 else 0)
        ) as server:
            run = load(server, "-c", "1", "-n", "50", "--correct-omission", "10ms")
        self.assertEqual(run.document["latency"]["count"], 50)
        estimate = run.document["latency_estimate"]
        self.assertEqual(estimate["expected_interval_ns"], 10 * MS)
        self.assertGreaterEqual(estimate["latency"]["count"], 50 + 49)
        self.assertGreaterEqual(estimate["latency"]["percentiles_ns"]["75"], 100 * MS)
        self.assertIn("ESTIMATE, not measured", run.screen)

    def test_none_where_not_asked_for(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "-n", "5")
        self.assertIsNone(run.document["latency_estimate"])
        self.assertNotIn("ESTIMATE", run.screen)


class Options(unittest.TestCase):
    def test_contradictions_are_refused_with_advice(self) -> None:
        url = "http://127.0.0.1:1/"
        for expected, *arguments in (
            ("--rate", "--rate", "fast"),
            ("--rate 0", "--rate", "0"),
            ("step 2", "--rate-steps", "1:1s,2"),
            ("FROM:TO:TIME", "--rate-ramp", "1:2"),
            ("three ways", "--rate", "5", "--rate-ramp", "1:2:3s"),
            ("add --rate", "--arrivals", "poisson"),
            ("cannot open", "--arrivals", "/no/such/file"),
            ("leave out the rate", "--arrivals", "/no/such/file", "--rate", "5"),
            ("--each", "--rate", "5", "--each", "3"),
            ("open loop", "--deadline", "5s"),
            ("open loop", "--max-in-flight", "5"),
            ("--max-in-flight", "--rate", "5", "--max-in-flight", "0"),
            ("--deadline", "--rate", "5", "--deadline", "5"),
            ("time of its own", "--rate-steps", "1:1s", "-d", "5s"),
            ("rounds", "--rate", "5", "--ramp-rounds", "2"),
            ("guesses", "--rate", "5", "--correct-omission", "10ms"),
            ("--correct-omission", "--correct-omission", "0"),
            ("--spin", "--rate", "5", "--spin", "maybe"),
        ):
            with self.subTest(arguments=arguments):
                done = wireload(*arguments, url)
                self.assertEqual(done.returncode, 64, done.stderr)
                self.assertIn(expected, done.stderr)

    def test_a_recorded_file_is_checked_by_line(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("0\n1\n0.5\n")
            file.flush()
            done = wireload("--arrivals", file.name, "http://127.0.0.1:1/")
        self.assertEqual(done.returncode, 64)
        self.assertIn("line 3", done.stderr)


if __name__ == "__main__":
    unittest.main()
