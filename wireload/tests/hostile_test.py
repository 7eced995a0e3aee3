"""Servers that answer with anything: wireload ends, counts each request once and by kind, and its
memory stays bounded.

Run by ctest against the wireload of its build, under sanitizers too; or by hand: WIRELOAD=path
python3 hostile_test.py
"""

from __future__ import annotations

import random
import socket
import threading
import unittest

from hostile import HTTP, WS, Behaviour
from servers import (
    MOST_MEMORY,
    TEXT,
    Handler,
    Run,
    Server,
    frame,
    http,
    load,
    reply,
    serving,
    typed,
    websocket,
)

PATIENCE = ("--timeout", "150ms")


def patience_with(behaviour: Behaviour) -> tuple[str, str]:
    """Short where waiting in vain is what is tested; else so long that a busy machine's right
    replies are in time.
    """
    return PATIENCE if "read_timeout" in behaviour.kinds else ("--timeout", "20s")


def allowed(kinds: frozenset[str]) -> frozenset[str]:
    """A busy machine may be late with a connection where little patience is had."""
    return kinds | {"connect_timeout"} if "read_timeout" in kinds else kinds


def answering(
    behaviours: list[Behaviour], seed: int, right: float, make_right: bytes | None
) -> Handler:
    """Answers rightly with this probability, else with one of the behaviours; which is decided by
    the seed alone.
    """
    chance = random.Random(seed)
    lock = threading.Lock()

    def answer(_server: Server, connection: socket.socket, _number: int, asked: bytes) -> bool:
        with lock:
            behaviour = None if chance.random() < right else chance.choice(behaviours)
            own = random.Random(chance.getrandbits(64))
        if behaviour is not None:
            return behaviour.act(own, connection, asked)
        connection.sendall(frame(TEXT, asked) if make_right is None else make_right)
        return True

    return http(answer) if make_right is not None else websocket(answer)


class Hostile(unittest.TestCase):
    def check(self, run: Run, kinds: frozenset[str]) -> None:
        requests = run.document["requests"]
        self.assertEqual(run.code, 1, run.screen)
        self.assertEqual(requests["sent"], requests["ok"] + requests["errors"])
        self.assertEqual(sum(run.document["errors"].values()), requests["errors"])
        self.assertLessEqual(set(run.errors), allowed(kinds))
        self.assertGreater(requests["errors"], 0)
        self.assertEqual(requests["ok"], run.document["latency"]["count"])
        self.assertLess(run.document["generator"]["rss_peak_bytes"], MOST_MEMORY)

    def test_each_http_behaviour(self) -> None:
        for name, behaviour in HTTP.items():
            # Half of the replies are right, so that there is a run to count in.
            with (
                self.subTest(name),
                serving(answering([behaviour], 1, 0.5, reply(b"hello"))) as server,
            ):
                run = load(
                    server,
                    *typed("-n 16 -c 4"),
                    *patience_with(behaviour),
                    "--expect-body",
                    "hello",
                )
                self.check(run, behaviour.kinds)

    def test_each_websocket_behaviour(self) -> None:
        for name, behaviour in WS.items():
            with self.subTest(name), serving(answering([behaviour], 1, 0.5, None)) as server:
                run = load(
                    server,
                    *typed("-n 16 -c 4"),
                    *patience_with(behaviour),
                    "--message",
                    "hello",
                    scheme="ws",
                )
                self.check(run, behaviour.kinds)

    def test_all_http_behaviours_together(self) -> None:
        every = frozenset().union(*(one.kinds for one in HTTP.values()))
        for seed in range(2):
            with (
                self.subTest(seed=seed),
                serving(answering(list(HTTP.values()), seed, 0.6, reply(b"hello"))) as server,
            ):
                run = load(server, "-n", "400", "-c", "40", *PATIENCE, "--expect-body", "hello")
                self.check(run, every)
                self.assertGreaterEqual(len(run.errors), 4)

    def test_all_websocket_behaviours_together(self) -> None:
        every = frozenset().union(*(one.kinds for one in WS.values()))
        for seed in range(2):
            with (
                self.subTest(seed=seed),
                serving(answering(list(WS.values()), seed, 0.6, None)) as server,
            ):
                run = load(
                    server, "-n", "400", "-c", "40", *PATIENCE, "--message", "hello", scheme="ws"
                )
                self.check(run, every)
                self.assertGreaterEqual(len(run.errors), 4)

    def test_pipelined(self) -> None:
        every = frozenset().union(*(one.kinds for one in HTTP.values()))
        with serving(answering(list(HTTP.values()), 9, 0.7, reply(b"hello"))) as server:
            run = load(
                server, *typed("-n 400 -c 10 --pipeline 4"), *PATIENCE, "--expect-body", "hello"
            )
        self.check(run, every)

    def test_by_time(self) -> None:
        every = frozenset().union(*(one.kinds for one in HTTP.values()))
        with serving(answering(list(HTTP.values()), 4, 0.5, reply(b"hello"))) as server:
            run = load(server, "-d", "1s", "-c", "20", *PATIENCE, "--expect-body", "hello")
        self.assertEqual(run.code, 1)
        self.assertLessEqual(set(run.errors), allowed(every))
        self.assertLess(run.document["generator"]["rss_peak_bytes"], MOST_MEMORY)

    def test_nothing_but_noise(self) -> None:
        for scheme, behaviour in (("http", HTTP["random bytes"]), ("ws", WS["random bytes"])):
            right = reply(b"hello") if scheme == "http" else None
            with self.subTest(scheme), serving(answering([behaviour], 2, 0.0, right)) as server:
                run = load(server, "-n", "40", "-c", "4", *PATIENCE, scheme=scheme)
                # Not one right reply: nothing was measured, and it says so.
                self.assertEqual((run.code, run.document["requests"]["ok"]), (2, 0))
                self.assertGreater(run.document["requests"]["errors"], 0)

    def test_noise_instead_of_a_handshake(self) -> None:
        def noise(_server: Server, connection: socket.socket) -> None:
            connection.recv(65536)
            for behaviour in (HTTP["a mutated reply"], HTTP["endless fields"]):
                behaviour.act(random.Random(3), connection, b"")

        with serving(noise) as server:
            run = load(server, "-c", "5", "-d", "10s", *PATIENCE, scheme="ws")
        self.assertEqual(run.code, 2)
        self.assertEqual(sum(run.errors.values()), 5)
        self.assertLessEqual(set(run.errors), {"connect_failed", "connect_timeout"})


if __name__ == "__main__":
    unittest.main()
