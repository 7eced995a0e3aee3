"""wireload against HTTP servers that behave and that do not. Every count is exact."""

from __future__ import annotations

import hashlib
import json
import random
import re
import socket
import tempfile
import threading
import time
import unittest

from servers import Run, Server, http, http_replies, load, read_request, reply, serving, wireload


class Starving(unittest.TestCase):
    def test_connections_left_aside_are_counted_and_little_holds(self) -> None:
        """Half of the connections get no answer for longer than the window; the others do every few milliseconds."""

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
        self.assertGreaterEqual(unanswered["count"], 5)
        self.assertGreaterEqual(unanswered["oldest_ns"], 600_000_000)
        self.assertIn("5 of 10 connections waited for more than half of the window", run.screen)
        # Throughput x mean latency alone would give a half: ten in flight, of which five tell their latency.
        self.assertAlmostEqual(run.document["little"]["ratio"], 1, delta=0.05)

    def test_a_window_shorter_than_the_latencies_fits_littles_law(self) -> None:
        def answer(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            time.sleep(0.08)
            connection.sendall(reply(b"hello" if number % 5 else b"wrong"))
            return True

        with serving(http(answer)) as server:
            run = load(server, "-c", "8", "-d", "210ms", "--warmup", "100ms", "--expect-body", "hello")
        self.assertGreater(run.document["requests"]["errors"], 0)
        self.assertAlmostEqual(run.document["little"]["ratio"], 1, delta=0.05)


class RightReplies(unittest.TestCase):
    def test_counts_what_it_asked_for(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "-n", "50", "-c", "4", "--expect-body", "hello")
            self.assertEqual(run.code, 0)
            self.assertEqual((server.requests, server.connections), (50, 4))
        requests = run.document["requests"]
        self.assertEqual((requests["sent"], requests["ok"], requests["errors"], requests["connections_opened"]), (50, 50, 0, 4))
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
        self.assertEqual((run.code, phases["tcp"]["count"], phases["first_byte"]["count"]), (0, 6, 6))
        self.assertGreaterEqual(phases["first_byte"]["min_ns"], 20_000_000)
        # The rest of the reply comes at least 30 ms after its first bytes; the histogram keeps three digits.
        self.assertLessEqual(phases["first_byte"]["min_ns"], run.document["latency"]["min_ns"] - 25_000_000)
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

    def test_reopens_quietly_where_the_server_announces_the_close(self) -> None:
        def every_third(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(reply(b"x", "200 OK", *(["Connection: close"] if number % 3 == 0 else [])))
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

    def test_every_way_to_frame_a_body(self) -> None:
        ways = {
            "length": reply(b"hello"),
            "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nT: u\r\n\r\n",
            "interim first": b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + reply(b"hello"),
        }
        for name, text in ways.items():
            with self.subTest(name), serving(http_replies(lambda n, text=text: text)) as server:
                run = load(server, "-n", "5", "-c", "1", "--expect-body", "hello")
                self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 5), run.document["first_error"])

    def test_a_body_that_ends_with_the_connection(self) -> None:
        def until_close(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nhel")
            connection.sendall(b"lo")
            return False

        with serving(http(until_close)) as server:
            run = load(server, "-n", "4", "-c", "1", "--expect-body", "hello")
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 4), run.document["first_error"])

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

        def echo(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(reply(request.partition(b"\r\n\r\n")[2]))
            return True

        with tempfile.NamedTemporaryFile("w") as file, serving(http(echo)) as server:
            file.write(body)
            file.flush()
            run = load(server, "-n", "6", "-c", "2", "--body-file", file.name, "--expect-body-file", file.name)
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 6), run.document["first_error"])

    def test_sends_what_it_was_told(self) -> None:
        with serving(http_replies(lambda n: reply(b"", "204 No Content").replace(b"Content-Length: 0\r\n", b""))) as server:
            run = load(
                server, "-n", "1", "-c", "1", "-m", "PUT", "-b", "a b", "-H", "X-One: 1", "-H", "X-Two: 2", path="/p?q=r"
            )
            self.assertEqual(
                server.seen[0],
                b"PUT /p?q=r HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-One: 1\r\nX-Two: 2\r\nContent-Length: 3\r\n\r\na b"
                % server.port,
            )
        self.assertEqual(run.code, 0)

    def test_head_has_no_body(self) -> None:
        with serving(http_replies(lambda n: b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")) as server:
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
        # Three connections at most; what the ratio differs from 1 is the error of some hundred samples.
        self.assertGreater(little["samples"], 10)
        self.assertLessEqual(little["in_flight_mean"], 3)
        self.assertAlmostEqual(little["ratio"], 1, delta=0.2)

    def test_a_slow_server_is_measured_as_it_is(self) -> None:
        def slow(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            time.sleep(0.04)
            connection.sendall(reply())
            return True

        with serving(http(slow)) as server:
            run = load(server, "-n", "12", "-c", "3")
        self.assertEqual(run.document["requests"]["ok"], 12)
        self.assertGreaterEqual(run.document["latency"]["min_ns"], 40_000_000)
        # Four rounds of three at once.
        self.assertGreaterEqual(run.document["window"]["elapsed_ns"], 160_000_000)


class WrongReplies(unittest.TestCase):
    def test_wrong_bodies(self) -> None:
        with serving(http_replies(lambda n: reply(b"hellO" if n % 3 == 0 else b"hello"))) as server:
            run = load(server, "-n", "30", "-c", "3", "--expect-body", "hello")
        self.assertEqual(run.code, 1)
        self.assertEqual(run.errors, {"bad_body": 10})
        self.assertEqual((run.document["requests"]["ok"], run.document["requests"]["errors"]), (20, 10))
        self.assertEqual(run.document["latency"]["count"], 20)
        first = run.document["first_error"]
        self.assertEqual(first["kind"], "bad_body")
        self.assertTrue(first["sent"].startswith("GET / HTTP/1.1\\r\\n"))
        self.assertIn('"hello" (5 bytes)', first["expected"])
        self.assertTrue(first["received"].endswith("hellO"))
        # Wrong, but in order: the connections go on.
        self.assertEqual(run.document["requests"]["connections_opened"], 3)

    def test_bodies_too_short_and_too_long(self) -> None:
        for body in (b"hell", b"hello!", b""):
            with self.subTest(body=body), serving(http_replies(lambda n, body=body: reply(body))) as server:
                run = load(server, "-n", "4", "-c", "1", "--expect-body", "hello")
                self.assertEqual(run.errors, {"bad_body": 4})

    def test_wrong_statuses(self) -> None:
        with serving(http_replies(lambda n: reply(b"no", "404 Not Found") if n % 2 else reply())) as server:
            run = load(server, "-n", "10", "-c", "1")
        self.assertEqual((run.code, run.errors), (1, {"bad_status": 5}))
        self.assertEqual(run.document["status_codes"], {"200": 5, "404": 5})
        self.assertIn("404", run.document["first_error"]["received"])

    def test_nothing_but_wrong_statuses_is_still_a_measurement(self) -> None:
        with serving(http_replies(lambda n: reply(b"no", "404 Not Found"))) as server:
            run = load(server, "-n", "10", "-c", "2")
        self.assertEqual((run.code, run.errors), (1, {"bad_status": 10}))

    def test_the_statuses_that_are_right_can_be_chosen(self) -> None:
        with serving(http_replies(lambda n: reply(b"no", "404 Not Found"))) as server:
            self.assertEqual(load(server, "-n", "3", "-c", "1", "--expect-status", "404").code, 0)
            self.assertEqual(load(server, "-n", "3", "-c", "1", "--expect-status", "200,4xx").code, 0)
            self.assertEqual(load(server, "-n", "3", "-c", "1", "--expect-status", "200").errors, {"bad_status": 3})

    def test_one_wrong_reply_among_pipelined_ones(self) -> None:
        with serving(http_replies(lambda n: reply(b"bad" if n == 5 else b"hello"))) as server:
            run = load(server, "-n", "32", "-c", "1", "--pipeline", "8", "--expect-body", "hello")
        self.assertEqual((run.errors, run.document["requests"]["ok"]), ({"bad_body": 1}, 31))


def echo_line(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
    """The request line and body back, as JSON."""
    head, _, body = request.partition(b"\r\n\r\n")
    line = head.split(b"\r\n")[0].decode()
    connection.sendall(reply(json.dumps({"line": line, "body": body.decode(), "list": [{"n": 1.0}]}).encode()))
    return True


class Rotation(unittest.TestCase):
    def test_urls_take_turns(self) -> None:
        with serving(http(echo_line)) as server:
            run = load(
                server,
                "-n",
                "9",
                "-c",
                "1",
                f"http://127.0.0.1:{server.port}/a",
                f"http://127.0.0.1:{server.port}/b",
                path="/c",
            )
            lines = [seen.split(b" ")[1] for seen in server.seen]
        self.assertEqual(run.code, 0)
        self.assertEqual(lines, [b"/a", b"/b", b"/c"] * 3)
        self.assertEqual([(r["right"], r["wrong"]) for r in run.document["rotation"]], [(3, 0)] * 3)
        self.assertEqual(len(run.document["targets"]), 1)

    def test_connections_are_spread_over_servers(self) -> None:
        with serving(http(echo_line)) as one, serving(http(echo_line)) as two:
            run = load(one, "--each", "5", "-c", "6", f"http://127.0.0.1:{two.port}/x")
            self.assertEqual((one.connections, two.connections), (3, 3))
            self.assertEqual((one.requests, two.requests), (15, 15))
            self.assertEqual({seen.split(b" ")[1] for seen in two.seen}, {b"/x"})
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 30))
        self.assertEqual([t["address"] for t in run.document["targets"]], [f"127.0.0.1:{two.port}", f"127.0.0.1:{one.port}"])

    def run_file(self, server: Server, requests: list[dict[str, object]], *arguments: str) -> Run:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(requests, file)
            file.flush()
            return load(server, "--requests-file", file.name, *arguments)

    def test_a_file_of_requests_with_weights(self) -> None:
        requests: list[dict[str, object]] = [
            {"path": "/a", "weight": 3, "expect": {"json": {"line": "GET /a HTTP/1.1"}}},
            {"path": "/b", "method": "PATCH", "body": {"n": 1}, "expect": {"json": 'body={"n":1}'}},
        ]
        # The second is answered with its body as a text, so its check fails: a text is not an object.
        with serving(http(echo_line)) as server:
            run = self.run_file(server, requests, "-n", "40", "-c", "2")
            methods = [seen.split(b" ")[0] for seen in server.seen]
        self.assertEqual((methods.count(b"GET"), methods.count(b"PATCH")), (30, 10))
        self.assertEqual((run.code, run.errors), (1, {"bad_body": 10}))
        self.assertEqual([(r["weight"], r["right"], r["wrong"]) for r in run.document["rotation"]], [(3, 30, 0), (1, 0, 10)])
        self.assertIn("--expect-json", run.document["first_error"]["expected"])
        self.assertTrue(run.document["first_error"]["sent"].startswith("PATCH /b "))

    def test_each_reply_is_held_to_its_own_request(self) -> None:
        # The same bytes are right for one request and wrong for the other, also when they were seen before.
        requests: list[dict[str, object]] = [
            {"path": "/a", "expect": {"body": "hello"}},
            {"path": "/b", "expect": {"body": "other"}},
        ]
        with serving(http_replies(lambda n: reply())) as server:
            run = self.run_file(server, requests, "-n", "40", "-c", "1", "--pipeline", "4")
        self.assertEqual((run.document["requests"]["ok"], run.errors), (20, {"bad_body": 20}))

    def test_head_among_others(self) -> None:
        requests: list[dict[str, object]] = [{"path": "/a", "method": "HEAD"}, {"path": "/b", "expect": {"length": 5}}]

        def answer(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(reply() if request.startswith(b"GET") else b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
            return True

        with serving(http(answer)) as server:
            run = self.run_file(server, requests, "-n", "12", "-c", "1", "--pipeline", "3")
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 12))


class Values(unittest.TestCase):
    def test_in_path_field_and_body(self) -> None:
        with serving(http(echo_line)) as server:
            run = load(
                server, "-n", "12", "-c", "1", "-b", '{"n":{counter},"r":{random:1-3}}', "-H", "X-Id: {uuid}",
                path="/items/{counter}?q={{counter}",
            )  # fmt: skip
            seen = list(server.seen)
        self.assertEqual(run.code, 0, run.document["first_error"])
        ids = set()
        for number, request in enumerate(seen, 1):
            head, _, body = request.partition(b"\r\n\r\n")
            self.assertTrue(head.startswith(b"POST /items/%d?q={counter} HTTP/1.1\r\n" % number), head)
            self.assertEqual(json.loads(body)["n"], number)
            self.assertIn(json.loads(body)["r"], (1, 2, 3))
            self.assertIn(b"\r\nContent-Length: %d" % len(body), head)
            ids.add(re.search(rb"X-Id: ([0-9a-f-]{36})\r\n", head))
        self.assertEqual(len(ids), 12)

    def test_the_seed_repeats_a_run(self) -> None:
        def sent(seed: str) -> list[bytes]:
            with serving(http(echo_line)) as server:
                load(server, "-n", "8", "-c", "1", "--seed", seed, path="/{random}/{uuid}")
                return [request.split(b" ")[1] for request in server.seen]

        self.assertEqual(sent("3"), sent("3"))
        self.assertNotEqual(sent("3"), sent("4"))

    def test_large_bodies_leave_in_pieces(self) -> None:
        body = "{counter}" + "x" * 100_000 + "{random:100-999}"

        def check(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            got = request.partition(b"\r\n\r\n")[2]
            connection.sendall(reply(b"%d" % len(got)))
            return True

        with tempfile.NamedTemporaryFile("w") as file, serving(http(check)) as server:
            file.write(body)
            file.flush()
            run = load(server, "-n", "9", "-c", "1", "--body-file", file.name, "--expect-body", str(100_004))
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 9), run.document["first_error"])


class ContentChecks(unittest.TestCase):
    def outcome(self, body: bytes, *arguments: str) -> dict[str, int]:
        with serving(http_replies(lambda n: reply(body, "200 OK", "X-One: 1"))) as server:
            run = load(server, "-n", "4", "-c", "1", *arguments)
        self.assertEqual(run.document["requests"]["ok"] + run.document["requests"]["errors"], 4)
        if run.errors:
            self.assertIn(arguments[0], run.document["first_error"]["expected"])
        return run.errors

    def test_each_passes_and_fails(self) -> None:
        text = b'{"a":{"b":[1,{"c":"x"}]}}'
        digest = hashlib.sha256(text).hexdigest()
        wrong = {"bad_body": 4}
        for right, bad in (
            (("--expect-length", str(len(text))), ("--expect-length", "3")),
            (("--expect-sha256", digest), ("--expect-sha256", "0" * 64)),
            (("--expect-match", '"c":"[a-z]"'), ("--expect-match", "^x")),
            (("--expect-json", "a.b[1].c=x"), ("--expect-json", "a.b[1].c=y")),
            (("--expect-json", "/a/b/0=1"), ("--expect-json", "/a/b/7")),
            (("--expect-header", "x-one: 1"), ("--expect-header", "X-Two")),
        ):
            with self.subTest(right):
                self.assertEqual(self.outcome(text, *right), {})
                self.assertEqual(self.outcome(text, *bad), wrong)

    def test_a_wrong_reply_among_many(self) -> None:
        with serving(http_replies(lambda n: reply(b'{"n":%d}' % (n if n != 7 else 0)))) as server:
            run = load(server, "-n", "20", "-c", "2", "--expect-match", '"n":[1-9]')
        self.assertEqual((run.errors, run.document["requests"]["ok"]), ({"bad_body": 1}, 19))


class BrokenServers(unittest.TestCase):
    def test_refuses(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            server.stop_listening()
            started = time.monotonic()
            run = load(server, "-c", "5", "-d", "20s")
            self.assertLess(time.monotonic() - started, 10, "it should not wait for the end of the window")
        self.assertEqual(run.code, 2)
        self.assertEqual(run.errors, {"connect_refused": 5})
        self.assertEqual(run.document["connect"]["failed"], 5)
        self.assertEqual(run.document["window"]["stopped_by"], "error")
        self.assertEqual(run.document["first_error"]["kind"], "connect_refused")
        self.assertIn("Nothing measured", run.screen)

    def test_closes_after_each_reply_without_a_word(self) -> None:
        def once(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(reply())
            return False

        with serving(http(once)) as server:
            run = load(server, "-n", "10", "-c", "1", "--expect-body", "hello")
        # Every second request goes to a connection that is closing.
        self.assertEqual((run.code, run.errors), (1, {"closed_early": 5}))
        self.assertEqual(run.document["requests"]["ok"], 5)
        self.assertEqual(run.document["requests"]["connections_opened"], 5)

    def test_closes_instead_of_replying(self) -> None:
        with serving(http(lambda *_: False)) as server:
            run = load(server, "-n", "6", "-c", "2")
        self.assertEqual((run.code, run.errors), (2, {"closed_early": 6}))
        self.assertEqual(run.document["requests"]["ok"], 0)

    def test_a_server_that_always_closes_is_not_asked_in_a_busy_loop(self) -> None:
        with serving(http(lambda *_: False)) as server:
            run = load(server, "-d", "500ms", "-c", "4")
            # 10, 20, 40, 80, 160, 320 ms: at most seven requests on each connection in half a second.
            self.assertLessEqual(server.connections, 4 * 8)
        self.assertEqual(run.code, 2)

    def test_gives_up_when_nothing_works_any_more(self) -> None:
        def few(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            if number == 3:
                server.stop_listening()
                return False
            connection.sendall(reply())
            return True

        with serving(http(few)) as server:
            run = load(server, "-n", "1000", "-c", "1")
        self.assertEqual(run.code, 1)
        self.assertEqual(run.document["requests"]["ok"], 2)
        self.assertEqual(run.document["window"]["stopped_by"], "error")
        self.assertEqual(run.document["errors"]["closed_early"], 1)
        # One close and then refusals, ten failures in a row in all.
        self.assertEqual(run.document["errors"]["connect_refused"], 9)

    def test_truncated_replies(self) -> None:
        def cut(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            text = reply(b"x" * 100)
            connection.sendall(text if number > 4 else text[: (len(text) - 10, 40, 5, len(text) - 1)[number - 1]])
            return number > 4

        with serving(http(cut)) as server:
            run = load(server, "-n", "10", "-c", "1")
        self.assertEqual((run.code, run.errors), (1, {"closed_early": 4}))
        self.assertEqual(run.document["requests"]["ok"], 6)
        self.assertIn("90 bytes of body", run.document["first_error"]["received"])

    def test_random_bytes(self) -> None:
        noise = random.Random(7)
        with serving(http_replies(lambda n: noise.randbytes(300) if n % 2 else reply())) as server:
            run = load(server, "-n", "10", "-c", "1")
        self.assertEqual((run.code, run.errors), (1, {"protocol": 5}))
        self.assertEqual(run.document["requests"]["ok"], 5)

    def test_fuzzed_replies_are_counted_and_never_crash_it(self) -> None:
        noise = random.Random(5)
        whole = reply(b"hello" * 5)
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"

        def mutate(n: int) -> bytes:
            data = bytearray(noise.choice((whole, chunked)))
            if noise.random() < 0.5:
                for _ in range(noise.randint(1, 4)):
                    data[noise.randrange(len(data))] = noise.randrange(256)
            if noise.random() < 0.1:
                del data[noise.randrange(len(data)) :]
            if noise.random() < 0.1:
                data += noise.randbytes(noise.randrange(100))
            return bytes(data)

        with serving(http_replies(mutate)) as server:
            run = load(server, "-n", "300", "-c", "6", "--timeout", "100ms")
        requests = run.document["requests"]
        self.assertEqual(run.code, 1)
        self.assertEqual(requests["sent"], requests["ok"] + requests["errors"])
        self.assertGreater(requests["ok"], 50)
        self.assertGreater(requests["errors"], 50)

    def test_replies_that_are_nearly_http(self) -> None:
        wrong = [
            b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            b"HTTP/1.1 20 OK\r\n\r\n",
            b"HTTP/2 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\nname : value\r\n\r\n",
        ]
        with serving(http_replies(lambda n: wrong[n - 1])) as server:
            run = load(server, "-n", str(len(wrong)), "-c", "1")
        self.assertEqual(run.errors, {"protocol": len(wrong)})

    def test_an_endless_head_is_cut_off(self) -> None:
        def flood(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            while True:
                connection.sendall(b"X-Filler: " + b"y" * 1000 + b"\r\n")

        with serving(http(flood)) as server:
            run = load(server, "-n", "3", "-c", "1")
        self.assertEqual(run.errors, {"protocol": 3})
        self.assertLess(run.document["generator"]["rss_peak_bytes"], 64 << 20)

    def test_more_than_was_asked_for(self) -> None:
        with serving(http_replies(lambda n: reply() + (reply() if n == 2 else b""))) as server:
            run = load(server, "-n", "4", "-c", "1")
        # The second reply is right; what follows it poisons the request that was about to leave.
        self.assertEqual((run.errors, run.document["requests"]["ok"]), ({"protocol": 1}, 3))

    def test_never_answers(self) -> None:
        def silent(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            if number == 1:
                connection.sendall(reply())
            return True

        with serving(http(silent)) as server:
            run = load(server, "-n", "4", "-c", "1", "--timeout", "100ms")
        self.assertEqual((run.code, run.errors), (1, {"read_timeout": 3}))
        self.assertEqual(run.document["requests"]["ok"], 1)
        self.assertGreaterEqual(run.document["window"]["elapsed_ns"], 300_000_000)

    def test_never_finishes(self) -> None:
        def half(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Le")
            return True

        with serving(http(half)) as server:
            run = load(server, "-n", "2", "-c", "2", "--timeout", "100ms")
        self.assertEqual((run.code, run.errors), (2, {"read_timeout": 2}))

    def test_never_accepts(self) -> None:
        # A listen queue of one that nobody empties: further connections are not answered at all.
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
            port = listener.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port)):
                done = wireload("-c", "3", "-d", "5s", "--timeout", "200ms", f"http://127.0.0.1:{port}/")
        self.assertEqual(done.returncode, 2)
        self.assertIn("connect_timeout 3", done.stdout)


if __name__ == "__main__":
    unittest.main()
