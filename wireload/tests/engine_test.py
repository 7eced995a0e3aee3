"""Which engine carries a load. Left out where the host forbids io_uring."""

from __future__ import annotations

import unittest

from servers import http_replies, load, reply, serving, typed, wireload


def setUpModule() -> None:
    with serving(http_replies(lambda n: reply())) as server:
        done = wireload("--engine", "io_uring", "-n", "1", f"http://127.0.0.1:{server.port}/")
    if done.returncode != 0 and "io_uring" in done.stderr:
        raise unittest.SkipTest(done.stderr.strip())


class Engine(unittest.TestCase):
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


if __name__ == "__main__":
    unittest.main()
