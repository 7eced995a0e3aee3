"""wireload --broadcast against a server that sends each message to all, or plants one fault. Every
count is exact.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import socket
import struct
import subprocess
import threading
import time
import unittest
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hostile import WS, Behaviour
from servers import (
    BINARY,
    CLOSE,
    MOST_MEMORY,
    PING,
    PONG,
    TEXT,
    WIRELOAD,
    Run,
    Server,
    frame,
    load,
    read_frame,
    serving,
    shake_hands,
    typed,
    wireload,
)

TRUTH_SERVER = os.environ.get("TRUTH_SERVER", "")

Deliveries = Sequence[tuple[int, bytes]]
"""Which subscriber, by its number from 0, gets which bytes, in this order."""


@dataclass
class Hub:
    """Sends what ``plan(number of the message from 1, subscribers, message)`` says."""

    plan: Callable[[int, int, bytes], Deliveries]
    members: list[socket.socket] = field(default_factory=list)
    published: list[bytes] = field(default_factory=list)
    sender: int = -1
    """Of the present message."""
    pongs: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, _server: Server, connection: socket.socket) -> None:
        with self.lock:
            # Under the lock, so that nobody publishes before the handshake is answered.
            shake_hands(connection)
            self.members.append(connection)
            me = len(self.members) - 1
        while (got := read_frame(connection)) is not None and got[0] != CLOSE:
            with self.lock:
                if got[0] == PONG:
                    self.pongs += 1
                    continue
                self.published.append(got[1])
                self.sender = me
                for who, data in self.plan(len(self.published), len(self.members), got[1]):
                    with contextlib.suppress(OSError):  # it has gone
                        self.members[who].sendall(data)


def to_all(_number: int, subscribers: int, message: bytes) -> Deliveries:
    return [(who, frame(TEXT, message)) for who in range(subscribers)]


@contextmanager
def hub(plan: Callable[[int, int, bytes], Deliveries] = to_all) -> Iterator[tuple[Server, Hub]]:
    one = Hub(plan)
    with serving(one) as server:
        yield server, one


def broadcast(server: Server, *arguments: str) -> Run:
    return load(server, "--broadcast", *arguments, scheme="ws")


class Counted(unittest.TestCase):
    def assert_counts(self, run: Run, **expected: int) -> None:
        counts = {key: value for key, value in run.document["broadcast"].items() if key in expected}
        self.assertEqual(counts, expected, run.document["first_error"])


class Broadcast(Counted):
    def test_each_message_goes_to_all(self) -> None:
        for engine in ("epoll", "io_uring"):
            with self.subTest(engine=engine), hub() as (server, sent):
                run = broadcast(server, "-c", "7", "-n", "20", "--engine", engine)
                self.assertEqual((run.code, run.errors), (0, {}), run.screen)
                self.assertEqual(sent.published, [b'{"b":%d}' % n for n in range(1, 21)])
                self.assert_counts(
                    run, subscribers=7, messages=20, complete=20, lost=0, doubled=0, reordered=0
                )
                self.assertEqual(
                    (run.document["requests"]["ok"], run.document["requests"]["sent"]), (140, 140)
                )
                self.assertEqual(run.document["latency"]["count"], 140)
                self.assertEqual(run.document["broadcast"]["last"]["count"], 20)
                self.assertEqual(run.document["plan"]["mode"], "broadcast")
                self.assertEqual(run.document["plan"]["engine"], engine)

    def test_one_subscriber(self) -> None:
        with hub() as (server, _):
            run = broadcast(server, "-c", "1", "-n", "5")
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 5), run.screen)

    def test_messages_in_flight(self) -> None:
        with hub() as (server, sent):
            run = broadcast(server, "-c", "3", "-n", "50", "--pipeline", "4")
        self.assertEqual((run.code, run.errors, len(sent.published)), (0, {}, 50))
        self.assert_counts(run, messages=50, complete=50)

    def test_the_next_message_waits_for_the_last_subscriber(self) -> None:
        moments: list[float] = []

        def late(number: int, subscribers: int, message: bytes) -> Deliveries:
            moments.append(time.monotonic())
            deliveries = to_all(number, subscribers, message)
            for who, data in deliveries[:-1]:
                sent.members[who].sendall(data)
            time.sleep(0.05)
            return deliveries[-1:]

        with hub(late) as (server, sent):
            run = broadcast(server, "-c", "4", "-n", "6")
        self.assertEqual(run.code, 0, run.screen)
        steps = [after - before for before, after in itertools.pairwise(moments)]
        self.assertGreaterEqual(min(steps), 0.05)
        # Of six messages each: three subscribers at once, one 50 ms later.
        self.assertGreaterEqual(run.document["broadcast"]["last"]["min_ns"], 50_000_000)
        self.assertGreaterEqual(run.document["latency"]["max_ns"], 50_000_000)
        self.assertLess(run.document["latency"]["percentiles_ns"]["50"], 50_000_000)

    def test_by_time_with_a_warm_up(self) -> None:
        with hub() as (server, sent):
            run = broadcast(server, "-c", "3", "-d", "300ms", "--warmup", "200ms")
        counts = run.document["broadcast"]
        self.assertEqual((run.code, run.document["window"]["stopped_by"]), (0, "duration"))
        self.assertGreater(counts["messages"], 0)
        self.assertLess(counts["messages"], len(sent.published))  # the warm-up's are left out
        self.assertLessEqual(abs(counts["messages"] - counts["complete"]), 1)
        self.assertEqual(counts["last"]["count"], counts["complete"])

    def test_a_count_with_a_warm_up(self) -> None:
        with hub() as (server, _):
            run = broadcast(server, "-c", "3", "-n", "9", "--warmup", "100ms")
        self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 27), run.screen)
        self.assert_counts(run, messages=9, complete=9)

    def test_binary_and_a_text_of_ones_own(self) -> None:
        with hub(lambda n, many, text: [(who, frame(BINARY, text)) for who in range(many)]) as (
            server,
            sent,
        ):
            run = broadcast(server, "-c", "2", "-n", "3", "--binary", "--message", "no. {c} {uuid}")
            self.assertEqual((run.code, run.errors), (0, {}), run.screen)
            self.assertTrue(sent.published[2].startswith(b"no. 3 "))
            # The same bytes as text are another message.
            run = broadcast(server, "-c", "2", "-n", "1")
        self.assertEqual((run.code, run.errors), (1, {"bad_body": 2}))
        self.assertEqual(run.document["first_error"]["expected"], "the same, as a text message")


class Faults(Counted):
    """Each is planted on message 3 of 5, to the second of four subscribers."""

    def run_with(
        self, fault: Callable[[bytes], list[bytes]], *arguments: str
    ) -> tuple[Run, list[bytes]]:
        def plan(number: int, subscribers: int, message: bytes) -> Deliveries:
            deliveries = []
            for who in range(subscribers):
                texts = fault(message) if (number, who) == (3, 1) else [message]
                deliveries += [(who, frame(TEXT, text)) for text in texts]
            return deliveries

        with hub(plan) as (server, sent):
            run = broadcast(server, "-c", "4", "-n", "5", *arguments)
        return run, sent.published

    def test_a_lost_delivery(self) -> None:
        run, published = self.run_with(lambda _: [], "--timeout", "300ms")
        self.assertEqual((run.code, run.errors), (1, {"read_timeout": 1}))
        # The subscriber is given up; the others get the rest.
        self.assert_counts(run, messages=5, complete=4, lost=1, subscribers=3)
        self.assertEqual(
            (run.document["requests"]["ok"], len(published)), (3 * 4 + 1 + 2 + 1 + 1, 5)
        )

    def test_a_doubled_delivery(self) -> None:
        run, _ = self.run_with(lambda message: [message, message])
        self.assertEqual((run.code, run.errors), (1, {"bad_body": 1}))
        self.assert_counts(run, messages=5, complete=5, doubled=1, lost=0, subscribers=4)
        self.assertEqual(run.document["requests"]["ok"], 20)
        self.assertEqual(run.document["first_error"]["expected"], "each message once")

    def test_wrong_bytes(self) -> None:
        run, _ = self.run_with(lambda message: [message.replace(b"b", b"B")])
        self.assertEqual((run.code, run.errors), (1, {"bad_body": 1}))
        self.assert_counts(run, messages=5, complete=4, lost=0, doubled=0)
        self.assertEqual(run.document["requests"]["ok"], 19)
        self.assertEqual(run.document["first_error"]["received"], '{"B":3}')

    def test_a_message_that_was_never_sent(self) -> None:
        run, _ = self.run_with(lambda message: [message, b'{"b":99}'])
        self.assertEqual((run.code, run.errors), (1, {"bad_body": 1}))
        self.assert_counts(run, messages=5, complete=5, doubled=0)

    def test_a_number_that_is_written_otherwise(self) -> None:
        run, _ = self.run_with(lambda message: [message.replace(b"3", b"03")])
        self.assertEqual((run.code, run.errors), (1, {"bad_body": 1}))

    def test_two_in_the_wrong_order(self) -> None:
        held: list[bytes] = []

        def plan(number: int, subscribers: int, message: bytes) -> Deliveries:
            deliveries = []
            for who in range(subscribers):
                if who == 1 and number == 3:
                    held.append(frame(TEXT, message))
                    continue
                deliveries.append((who, frame(TEXT, message)))
                if who == 1 and number == 4:
                    deliveries.append((who, held[0]))
            return deliveries

        with hub(plan) as (server, _):
            run = broadcast(server, "-c", "4", "-n", "6", "--pipeline", "2")
        self.assertEqual((run.code, run.errors), (1, {"bad_body": 1}))
        self.assert_counts(run, messages=6, complete=5, reordered=1, doubled=0, lost=0)
        self.assertEqual(run.document["requests"]["ok"], 23)
        self.assertEqual(run.document["first_error"]["received"], '{"b":4}')

    def test_the_sender_is_left_out(self) -> None:
        def others(_number: int, subscribers: int, message: bytes) -> Deliveries:
            return [d for d in to_all(0, subscribers, message) if d[0] != sent.sender]

        with hub(others) as (server, sent):
            run = broadcast(server, "-c", "3", "-n", "1", "--timeout", "200ms")
        self.assertEqual((run.code, run.errors), (1, {"read_timeout": 1}))
        self.assertEqual(run.document["requests"]["ok"], 2)

    def test_a_connection_that_is_closed(self) -> None:
        def plan(number: int, subscribers: int, message: bytes) -> Deliveries:
            if number == 3:
                sent.members[2].shutdown(socket.SHUT_RDWR)
            return to_all(number, subscribers, message)

        with hub(plan) as (server, sent):
            run = broadcast(server, "-c", "4", "-n", "5")
        self.assertEqual((run.code, run.errors), (1, {"closed_early": 1}))
        self.assert_counts(run, messages=5, complete=4, subscribers=3)

    def test_the_sender_is_lost_with_a_message(self) -> None:
        """wireload stands still while a delivery comes and a reset behind it, so that it meets the
        reset with its next message.
        """
        begun = threading.Event()

        def plan(number: int, subscribers: int, message: bytes) -> Deliveries:
            if number != 3:
                return to_all(number, subscribers, message)
            begun.wait(30)
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            for who, data in to_all(number, subscribers, message):
                sent.members[who].sendall(data)
            lost = sent.members[sent.sender]
            lost.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            lost.close()
            process.send_signal(signal.SIGCONT)
            return []

        with hub(plan) as (server, sent):
            command = [WIRELOAD, *typed("-q --json - --threads 1 --broadcast -c 3 -n 6")]
            with subprocess.Popen(
                [*command, f"ws://127.0.0.1:{server.port}/"], stdout=subprocess.PIPE
            ) as process:
                begun.set()
                out, _ = process.communicate(timeout=30)
        run = Run(process.returncode, json.loads(out), "")
        self.assertEqual((run.code, run.errors), (1, {"closed_early": 1}))
        self.assert_counts(run, messages=6, complete=6, subscribers=2)

    def test_all_are_closed(self) -> None:
        def plan(number: int, subscribers: int, message: bytes) -> Deliveries:
            if number < 3:
                return to_all(number, subscribers, message)
            for member in sent.members:
                member.shutdown(socket.SHUT_RDWR)
            return []

        with hub(plan) as (server, sent):
            run = broadcast(server, "-c", "4", "-d", "30s")
        self.assertEqual((run.code, run.errors), (1, {"closed_early": 4}))
        self.assertEqual(run.document["window"]["stopped_by"], "error")

    def test_a_flood_costs_no_memory(self) -> None:
        def plan(number: int, subscribers: int, message: bytes) -> Deliveries:
            deliveries = list(to_all(number, subscribers, message))
            return deliveries + [(0, frame(TEXT, b"x" * 1000) * 100)] * 200

        with hub(plan) as (server, _):
            run = broadcast(server, "-c", "2", "-n", "3")
        self.assertEqual(run.document["requests"]["ok"] + run.errors["bad_body"] >= 6, True)
        self.assertGreater(run.errors["bad_body"], 20_000)
        self.assertLess(run.document["generator"]["rss_peak_bytes"], MOST_MEMORY)

    def test_a_message_that_is_too_long(self) -> None:
        run, _ = self.run_with(lambda _: [b"y" * 200_000])
        self.assertEqual((run.code, run.errors), (1, {"protocol": 1}))

    def test_pings_are_answered(self) -> None:
        def plan(number: int, subscribers: int, message: bytes) -> Deliveries:
            return [(0, frame(PING, b"?")), *to_all(number, subscribers, message)]

        with hub(plan) as (server, sent):
            run = broadcast(server, "-c", "2", "-n", "10")
            self.assertEqual((run.code, run.errors), (0, {}), run.screen)
            self.assertGreaterEqual(sent.pongs, 8)  # the last may still be on their way


class Hostile(unittest.TestCase):
    """The sender gets anything, every other time; the others get the messages."""

    def test_each_behaviour(self) -> None:
        for name, behaviour in WS.items():
            chance = random.Random(1)

            def plan(
                number: int,
                subscribers: int,
                message: bytes,
                behaviour: Behaviour = behaviour,
                chance: random.Random = chance,
            ) -> Deliveries:
                deliveries = list(to_all(number, subscribers, message))
                if number % 2 == 0:
                    deliveries = [d for d in deliveries if d[0] != one.sender]
                    if not behaviour.act(chance, one.members[one.sender], message):
                        one.members[one.sender].shutdown(socket.SHUT_RDWR)
                return deliveries

            with self.subTest(name), hub(plan) as (server, one):
                run = broadcast(server, "-c", "4", "-n", "6", "--timeout", "300ms")
                requests = run.document["requests"]
                self.assertEqual(run.code, 1, run.screen)
                # A message that nobody sent is an error beside its delivery.
                self.assertGreaterEqual(requests["ok"] + requests["errors"], requests["sent"])
                self.assertLessEqual(requests["ok"], requests["sent"])
                self.assertGreater(requests["ok"], 0)
                self.assertLessEqual(
                    set(run.errors), behaviour.kinds | {"bad_body", "read_timeout", "closed_early"}
                )
                self.assertEqual(requests["ok"], run.document["latency"]["count"])
                self.assertLess(run.document["generator"]["rss_peak_bytes"], MOST_MEMORY)


@unittest.skipUnless(TRUTH_SERVER, "TRUTH_SERVER names no program")
class Truth(unittest.TestCase):
    """What wireload reports is what a server of its own says that it did."""

    def against(self, *faults: str, run: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        with subprocess.Popen(
            [TRUTH_SERVER, *faults, "broadcast", "10ms"], stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            port = server.stdout.readline().split()[1]
            done = wireload("--json", "-", "--broadcast", *run, f"ws://127.0.0.1:{port}/")
            server.terminate()
            truth = json.loads(server.stdout.read())
        return json.loads(done.stdout), truth

    def test_nothing_is_wrong(self) -> None:
        for engine in ("epoll", "io_uring"):
            with self.subTest(engine=engine):
                seen, truth = self.against(run=("-c", "50", "-n", "20", "--engine", engine))
                self.assertEqual(truth["deliveries"], 1000)
                self.assertEqual(seen["requests"]["ok"], 1000)
                self.assertEqual(seen["broadcast"]["messages"], truth["messages"])
                # No delivery is seen before the server made it.
                self.assertGreaterEqual(seen["latency"]["min_ns"], truth["delay_ns"])
                last = seen["broadcast"]["last"]
                self.assertEqual(last["count"], 20)
                self.assertGreaterEqual(last["max_ns"], truth["longest_ns"])

    def test_faults(self) -> None:
        load = ("-c", "9", "-n", "30", "--timeout", "400ms")
        cases: tuple[tuple[str, str, tuple[str, ...]], ...] = (
            ("--twice", "doubled", load),
            ("--wrong", "wrong", load),
            ("--lose", "lost", (*load[:2], "-n", "4", *load[4:])),
            # None of the last message's deliveries is kept back for a next one.
            ("--swap", "reordered", ("-c", "5", "-n", "32", "--pipeline", "4")),
        )
        for fault, name, run in cases:
            with self.subTest(fault=fault):
                seen, truth = self.against(fault, "7", run=run)
                self.assertGreater(truth[name], 0)
                if name != "wrong":
                    self.assertEqual(seen["broadcast"][name], truth[name])
                others = {"lost", "doubled", "reordered"} - {name}
                self.assertEqual({seen["broadcast"][one] for one in others}, {0})
                self.assertEqual(seen["requests"]["errors"], truth[name])
                planted = truth[name] if name != "doubled" else 0
                self.assertEqual(seen["requests"]["ok"], truth["deliveries"] - planted)


class Refusals(unittest.TestCase):
    def refused(self, *arguments: str, scheme: str = "ws") -> str:
        done = wireload("--broadcast", *arguments, f"{scheme}://127.0.0.1:9/")
        self.assertEqual(done.returncode, 64)
        return done.stderr

    def test_what_does_not_go_with_it(self) -> None:
        for arguments in (
            ("--rate", "10"),
            ("--each", "3"),
            ("--deflate",),
            ("--check", "echo"),
            ("--idle",),
            ("--ramp-rounds", "2"),
            ("--message-size", "10"),
            ("--no-keepalive",),
        ):
            with self.subTest(arguments=arguments):
                self.assertIn(arguments[0], self.refused(*arguments))
        self.assertIn("ws URLs", self.refused(scheme="http"))
        self.assertIn("one thread", self.refused("--threads", "2"))
        self.assertIn("one URL", self.refused("ws://127.0.0.1:10/"))
        self.assertIn("counter", self.refused("--message", "always the same"))
        self.assertIn("counter", self.refused("--message", "{c}{random}"))


if __name__ == "__main__":
    unittest.main()
