"""How wireload judges HTTP replies that are whole. Every count is exact."""

from __future__ import annotations

import hashlib
import socket
import time
import unittest

from servers import Server, http, http_replies, load, reply, serving


class WrongReplies(unittest.TestCase):
    def test_wrong_bodies(self) -> None:
        with serving(http_replies(lambda n: reply(b"hellO" if n % 3 == 0 else b"hello"))) as server:
            run = load(server, "-n", "30", "-c", "3", "--expect-body", "hello")
        self.assertEqual(run.code, 1)
        self.assertEqual(run.errors, {"bad_body": 10})
        self.assertEqual(
            (run.document["requests"]["ok"], run.document["requests"]["errors"]), (20, 10)
        )
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
            with (
                self.subTest(body=body),
                serving(http_replies(lambda n, body=body: reply(body))) as server,
            ):
                run = load(server, "-n", "4", "-c", "1", "--expect-body", "hello")
                self.assertEqual(run.errors, {"bad_body": 4})

    def test_wrong_statuses(self) -> None:
        with serving(
            http_replies(lambda n: reply(b"no", "404 Not Found") if n % 2 else reply())
        ) as server:
            run = load(server, "-n", "10", "-c", "1")
        self.assertEqual((run.code, run.errors), (1, {"bad_status": 5}))
        self.assertEqual(run.document["status_codes"], {"200": 5, "404": 5})
        self.assertIn("404", run.document["first_error"]["received"])

    def test_statuses_beyond_those_of_http_are_counted_too(self) -> None:
        with serving(
            http_replies(lambda n: reply(b"no", "999 Denied" if n % 2 else "600 Odd"))
        ) as (server):
            run = load(server, "-n", "10", "-c", "1")
        self.assertEqual((run.code, run.errors), (1, {"bad_status": 10}))
        self.assertEqual(run.document["status_codes"], {"600": 5, "999": 5})

    def test_the_report_of_a_reply_that_came_in_parts_has_its_status(self) -> None:
        for head, body, said in (
            (b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\n", b"gone", "gone"),
            (b"HTTP/1.1 404 Not Found\r\n\r\n", b"", "0 bytes of body"),
        ):

            def answer(
                _server: Server,
                connection: socket.socket,
                _number: int,
                _request: bytes,
                head: bytes = head,
                body: bytes = body,
            ) -> bool:
                connection.sendall(head)
                time.sleep(0.05)  # so that the rest is another read
                connection.sendall(body)
                return bool(body)

            with self.subTest(body=body), serving(http(answer)) as server:
                run = load(server, "-n", "1", "-c", "1")
                self.assertEqual(run.errors, {"bad_status": 1})
                received = run.document["first_error"]["received"]
                self.assertIn("status 404", received)
                self.assertIn(said, received)

    def test_nothing_but_wrong_statuses_is_still_a_measurement(self) -> None:
        with serving(http_replies(lambda n: reply(b"no", "404 Not Found"))) as server:
            run = load(server, "-n", "10", "-c", "2")
        self.assertEqual((run.code, run.errors), (1, {"bad_status": 10}))

    def test_the_statuses_that_are_right_can_be_chosen(self) -> None:
        with serving(http_replies(lambda n: reply(b"no", "404 Not Found"))) as server:
            self.assertEqual(load(server, "-n", "3", "-c", "1", "--expect-status", "404").code, 0)
            self.assertEqual(
                load(server, "-n", "3", "-c", "1", "--expect-status", "200,4xx").code, 0
            )
            self.assertEqual(
                load(server, "-n", "3", "-c", "1", "--expect-status", "200").errors,
                {"bad_status": 3},
            )

    def test_one_wrong_reply_among_pipelined_ones(self) -> None:
        with serving(http_replies(lambda n: reply(b"bad" if n == 5 else b"hello"))) as server:
            run = load(server, "-n", "32", "-c", "1", "--pipeline", "8", "--expect-body", "hello")
        self.assertEqual((run.errors, run.document["requests"]["ok"]), ({"bad_body": 1}, 31))


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


if __name__ == "__main__":
    unittest.main()
