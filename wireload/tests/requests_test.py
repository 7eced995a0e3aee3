"""What wireload sends over HTTP: requests in rotation, and values in them. Every count is exact."""

from __future__ import annotations

import json
import re
import socket
import tempfile
import unittest

from servers import (
    Run,
    Server,
    body_file,
    body_of,
    http,
    http_answers,
    http_replies,
    load,
    reply,
    serving,
    typed,
    wireload,
)


def line_and_body(request: bytes) -> bytes:
    """The request line and body back, as JSON."""
    line = request.split(b"\r\n")[0].decode()
    body = body_of(request).decode()
    return reply(json.dumps({"line": line, "body": body, "list": [{"n": 1.0}]}).encode())


echo_line = http_answers(line_and_body)


class Rotation(unittest.TestCase):
    def test_urls_take_turns(self) -> None:
        with serving(echo_line) as server:
            run = load(
                server,
                *typed("-n 9 -c 1"),
                f"http://127.0.0.1:{server.port}/a",
                f"http://127.0.0.1:{server.port}/b",
                path="/c",
            )
            lines = [seen.split(b" ")[1] for seen in server.seen]
        self.assertEqual(run.code, 0)
        self.assertEqual(lines, [b"/a", b"/b", b"/c"] * 3)
        self.assertEqual([(r["right"], r["wrong"]) for r in run.document["rotation"]], [(3, 0)] * 3)
        self.assertEqual(len(run.document["targets"]), 1)

    def test_a_server_that_gets_no_connection_is_told(self) -> None:
        with serving(echo_line) as one, serving(echo_line) as two:
            other = f"http://127.0.0.1:{two.port}/x"
            run = load(one, "-n", "4", "-c", "1", other)
            self.assertEqual(two.connections + one.connections, 1)
            self.assertEqual([to["connections"] for to in run.document["targets"]], [1, 0])
            words = " ".join(run.screen.split())
            self.assertIn("1 of 2 servers got no connection, and so no request", words)
            self.assertIn(f"127.0.0.1:{two.port} and 1 more", words)
            run = load(one, "-n", "4", "-c", "3", other)
            self.assertEqual([to["connections"] for to in run.document["targets"]], [2, 1])
            self.assertNotIn("got no connection", run.screen)
            run = load(one, *typed("--ramp-rounds 1 --ramp-add 1 --ramp-messages 2"), other)
            words = " ".join(run.screen.split())
            self.assertIn("so no request: give more (--ramp-rounds, --ramp-add)", words)

    def test_of_several_servers_a_slow_one_does_not_starve_anybody(self) -> None:
        slow = http_replies(lambda n: reply(), after_s=lambda n: 0.8)
        quick = http_replies(lambda n: reply(), after_s=lambda n: 0.003)
        with serving(slow) as far, serving(quick) as near:
            run = load(
                near, *typed("-c 4 -d 300ms --warmup 300ms"), f"http://127.0.0.1:{far.port}/"
            )
        self.assertGreater(run.document["window"]["unanswered"]["starved"], 0)
        words = " ".join(run.screen.split())
        self.assertNotIn("starves", words)
        self.assertIn("a server or a request that is slow beside the others", words)

    def test_connections_are_spread_over_servers(self) -> None:
        with serving(echo_line) as one, serving(echo_line) as two:
            run = load(one, "--each", "5", "-c", "6", f"http://127.0.0.1:{two.port}/x")
            self.assertEqual((one.connections, two.connections), (3, 3))
            self.assertEqual((one.requests, two.requests), (15, 15))
            self.assertEqual({seen.split(b" ")[1] for seen in two.seen}, {b"/x"})
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 30))
        self.assertEqual(
            [t["address"] for t in run.document["targets"]],
            [f"127.0.0.1:{two.port}", f"127.0.0.1:{one.port}"],
        )

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
        # The second is answered with its body as a text, so its check fails: a text is not an
        # object.
        with serving(echo_line) as server:
            run = self.run_file(server, requests, "-n", "40", "-c", "2")
            methods = [seen.split(b" ")[0] for seen in server.seen]
        self.assertEqual((methods.count(b"GET"), methods.count(b"PATCH")), (30, 10))
        self.assertEqual((run.code, run.errors), (1, {"bad_body": 10}))
        self.assertEqual(
            [(r["weight"], r["right"], r["wrong"]) for r in run.document["rotation"]],
            [(3, 30, 0), (1, 0, 10)],
        )
        self.assertIn("--expect-json", run.document["first_error"]["expected"])
        self.assertTrue(run.document["first_error"]["sent"].startswith("PATCH /b "))

    def test_the_server_of_the_command_line_stands_before_those_of_the_file(self) -> None:
        with serving(echo_line) as one, serving(echo_line) as two:
            requests: list[dict[str, object]] = [
                {"url": f"http://127.0.0.1:{two.port}/a"},
                {"path": "/b"},
            ]
            run = self.run_file(one, requests, "-n", "4", "-c", "2")
            self.assertEqual({seen.split(b" ")[1] for seen in one.seen}, {b"/b"})
            self.assertEqual({seen.split(b" ")[1] for seen in two.seen}, {b"/a"})
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 4))
        target = run.document["target"]
        self.assertEqual(target["url"], f"http://127.0.0.1:{one.port}/")
        self.assertEqual((target["port"], target["address"]), (one.port, f"127.0.0.1:{one.port}"))
        self.assertEqual(
            [to["address"] for to in run.document["targets"]],
            [f"127.0.0.1:{one.port}", f"127.0.0.1:{two.port}"],
        )

    def test_each_reply_is_held_to_its_own_request(self) -> None:
        # The same bytes are right for one request and wrong for the other, also when they were seen
        # before.
        requests: list[dict[str, object]] = [
            {"path": "/a", "expect": {"body": "hello"}},
            {"path": "/b", "expect": {"body": "other"}},
        ]
        with serving(http_replies(lambda n: reply())) as server:
            run = self.run_file(server, requests, "-n", "40", "-c", "1", "--pipeline", "4")
        self.assertEqual((run.document["requests"]["ok"], run.errors), (20, {"bad_body": 20}))

    def test_head_among_others(self) -> None:
        requests: list[dict[str, object]] = [
            {"path": "/a", "method": "HEAD"},
            {"path": "/b", "expect": {"length": 5}},
        ]

        def answer(request: bytes) -> bytes:
            if request.startswith(b"GET"):
                return reply()
            return b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"

        with serving(http_answers(answer)) as server:
            run = self.run_file(server, requests, "-n", "12", "-c", "1", "--pipeline", "3")
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 12))


class Values(unittest.TestCase):
    def test_in_path_field_and_body(self) -> None:
        with serving(echo_line) as server:
            run = load(
                server,
                *typed("-n 12 -c 1 -b"),
                '{"n":{counter},"r":{random:1-3}}',
                *("-H", "X-Id: {uuid}"),
                path="/items/{counter}?q={{counter}",
            )
            seen = list(server.seen)
        self.assertEqual(run.code, 0, run.document["first_error"])
        ids = set()
        for number, request in enumerate(seen, 1):
            head, _, body = request.partition(b"\r\n\r\n")
            self.assertTrue(
                head.startswith(b"POST /items/%d?q={counter} HTTP/1.1\r\n" % number), head
            )
            self.assertEqual(json.loads(body)["n"], number)
            self.assertIn(json.loads(body)["r"], (1, 2, 3))
            self.assertIn(b"\r\nContent-Length: %d" % len(body), head)
            ids.add(re.search(rb"X-Id: ([0-9a-f-]{36})\r\n", head))
        self.assertEqual(len(ids), 12)

    def test_replies_are_held_to_the_values_of_their_requests(self) -> None:
        """Pipelined, so that replies come several to a read; one in ten repeats what was right for
        the request before.
        """
        earlier: dict[int, bytes] = {}

        def echo(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            head, _, body = request.partition(b"\r\n\r\n")
            path = head.split(b" ")[1]
            line = path + b" " + body
            before = earlier.get(id(connection), b"")
            earlier[id(connection)] = line
            connection.sendall(reply(before if number % 10 == 0 else line))
            return True

        wanted = "/{random}/{uuid} {counter} {random}"
        words = (
            *typed("-n 60 -c 1 --pipeline 4 -b"),
            "{counter} {random:1-1000000}",
            "--expect-body",
            wanted,
        )
        with serving(http(echo)) as server:
            run = load(server, *words, path="/{random}/{uuid}")
        self.assertEqual(
            (run.errors, run.document["requests"]["ok"]),
            ({"bad_body": 6}, 54),
            run.document["first_error"],
        )
        # The tenth was sent the ninth's, and the report says what would have been right.
        self.assertIn(" 10 ", run.document["first_error"]["expected"])

    def test_values_that_no_request_has_are_refused(self) -> None:
        done = wireload("-n", "1", "--expect-body", "{uuid}", "http://127.0.0.1:9/{random}")
        self.assertEqual(done.returncode, 64)
        self.assertIn("--expect-body", done.stderr)

    def test_the_seed_repeats_a_run(self) -> None:
        def sent(seed: str) -> list[bytes]:
            with serving(echo_line) as server:
                load(server, "-n", "8", "-c", "1", "--seed", seed, path="/{random}/{uuid}")
                return [request.split(b" ")[1] for request in server.seen]

        self.assertEqual(sent("3"), sent("3"))
        self.assertNotEqual(sent("3"), sent("4"))

    def test_large_bodies_leave_in_pieces(self) -> None:
        body = "{counter}" + "x" * 100_000 + "{random:100-999}"

        measure = http_answers(lambda request: reply(b"%d" % len(body_of(request))))
        with body_file(body.encode()) as file, serving(measure) as server:
            run = load(server, *typed("-n 9 -c 1 --body-file"), file, "--expect-body", str(100_004))
        self.assertEqual(
            (run.code, run.document["requests"]["ok"]), (0, 9), run.document["first_error"]
        )


if __name__ == "__main__":
    unittest.main()
