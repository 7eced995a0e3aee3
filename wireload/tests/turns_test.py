"""wireload in turns: each of several has a server of its own, and one at a time sends."""

from __future__ import annotations

import itertools
import json
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from servers import (
    WIRELOAD,
    Handler,
    Server,
    http,
    http_replies,
    load,
    read_request,
    reply,
    serving,
    typed,
    wireload,
)

MS = 1_000_000


def recording(times: list[float]) -> Handler:
    """Answers each request, and notes when it came."""

    def answer(_server: Server, connection: socket.socket, _number: int, _request: bytes) -> bool:
        times.append(time.monotonic())
        connection.sendall(reply())
        return True

    return http(answer)


def in_turns(servers: Sequence[Server], *options: str) -> list[dict[str, Any]]:
    """One wireload for each server, all at the same time; their documents."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, str(number)) for number in range(len(servers))]
        running = [
            subprocess.Popen(
                [
                    *(WIRELOAD, "--quiet", "--json", str(file), "-c", "2", "-t", "1"),
                    *("--turns", f"{number}/{len(servers)}", *options),
                    f"http://127.0.0.1:{server.port}/",
                ]
            )
            for number, (server, file) in enumerate(zip(servers, files, strict=True), start=1)
        ]
        codes = [one.wait(60) for one in running]
        assert codes == [0] * len(servers), codes
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]


class Turns(unittest.TestCase):
    def test_one_is_under_load_at_a_time(self) -> None:
        first: list[float] = []
        second: list[float] = []
        with serving(recording(first)) as one, serving(recording(second)) as two:
            documents = in_turns((one, two), "--turn", "100ms", "-d", "490ms")
        # Which server was asked, request by request: it changes with the turns only.
        order = [who for _, who in sorted([(at, 1) for at in first] + [(at, 2) for at in second])]
        changes = sum(before != after for before, after in itertools.pairwise(order))
        self.assertLess(changes, 30)
        self.assertGreater(len(order), 10 * changes)
        for document in documents:
            turns, requests = document["turns"], document["requests"]
            self.assertEqual((turns["of"], turns["taken"]), (2, 7))
            self.assertEqual(turns["measured_ns"], 70 * MS)
            self.assertEqual(document["window"]["elapsed_ns"], 7 * 70 * MS)
            self.assertEqual(document["window"]["stopped_by"], "duration")
            self.assertAlmostEqual(requests["rate_per_s"], requests["ok"] / 0.49, delta=0.01)
            self.assertEqual(sum(document["series"]["ok"]), requests["ok"])
            self.assertEqual(len(document["series"]["ok"]), 7)
            self.assertEqual(document["series"]["interval_ns"], 70 * MS)
            self.assertEqual(document["latency"]["count"], requests["ok"])
            self.assertEqual(requests["errors"], 0)
        # A fifth of what is sent lies outside of the measured parts, and counts for CPU time only.
        for document, times in zip(documents, (first, second), strict=True):
            answered = document["turns"]["answered"]
            self.assertEqual(answered, len(times))
            self.assertGreater(answered, document["requests"]["ok"])

    def test_warm_up_is_in_turns_and_not_counted(self) -> None:
        times: list[float] = []
        with serving(recording(times)) as server:
            (document,) = in_turns((server,), "--turn", "20ms", "-d", "28ms", "--warmup", "70ms")
        self.assertEqual(document["turns"]["taken"], 2)
        self.assertEqual(len(document["series"]["ok"]), 2)
        self.assertLess(document["turns"]["answered"], len(times))

    def test_what_goes_wrong_in_the_warm_up_is_not_counted(self) -> None:
        wrong = reply(b"not yet", "503 Service Unavailable")
        with serving(http_replies(lambda n: wrong if n == 1 else reply())) as server:
            run = load(server, *typed("--turns 1/1 --turn 100ms -d 140ms --warmup 140ms -c 1"))
        self.assertEqual((run.code, run.errors), (0, {}), run.screen)
        self.assertIsNone(run.document["first_error"])

    def test_a_late_turn_of_the_warm_up_is_not_counted(self) -> None:
        """The first reply comes long after its turn."""
        with serving(
            http_replies(lambda n: reply(), after_s=lambda n: 0.5 if n == 1 else 0)
        ) as server:
            run = load(server, *typed("--turns 1/1 --turn 200ms -d 140ms --warmup 140ms -c 1"))
        self.assertEqual(run.document["turns"]["taken"], 1)
        self.assertLess(run.document["turns"]["longest_rest_ns"], 300 * MS)

    def test_a_server_that_is_gone_in_the_warm_up_is_told(self) -> None:
        def answer(server: Server, connection: socket.socket, number: int, _request: bytes) -> bool:
            server.stop_listening()
            return False

        with serving(http(answer)) as server:
            run = load(server, *typed("--turns 1/1 -d 60s --warmup 60s -c 1"))
        self.assertEqual((run.code, run.document["window"]["stopped_by"]), (2, "error"))
        self.assertEqual(run.document["first_error"]["kind"], "connect_refused")

    def test_connections_of_all_turns_are_counted(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            (document,) = in_turns((server,), *typed("--turn 20ms -d 1s --no-keepalive"))
        ok = document["requests"]["ok"]
        self.assertGreater(ok, 100)
        self.assertAlmostEqual(document["connect"]["opened"], ok, delta=0.1 * ok)

    def test_replies_after_the_turn_are_told(self) -> None:
        # Of each turn, one reply comes within what is measured, and the next one 10 ms after its
        # end: in some of ten turns also on a busy machine.
        with serving(http_replies(lambda n: reply(), after_s=lambda n: 0.025)) as server:
            run = load(server, "--turns", "1/2", "--turn", "40ms", "-d", "350ms", "-c", "1")
        turns = run.document["turns"]
        self.assertEqual(run.code, 0, run.screen)
        self.assertGreaterEqual(turns["late"], 1)
        self.assertGreater(turns["longest_rest_ns"], 8 * MS)
        self.assertIn("another's turn", run.screen)

    def test_a_time_out_in_the_rest_is_on_time_and_its_pause_not_waited_for(self) -> None:
        """One of two connections gets no answer. Its time-out ends in the rest of the turn, and the
        pause before it would be opened again long after the turn.
        """

        def handle(server: Server, connection: socket.socket) -> None:
            answers = server.next_request() == 1
            held = bytearray()
            while read_request(connection, held) is not None:
                if answers:
                    time.sleep(0.003)
                    connection.sendall(reply())

        with serving(handle) as server:
            run = load(server, *typed("--turns 1/1 --turn 400ms -d 280ms -c 2 --timeout 330ms"))
        self.assertEqual(run.errors, {"read_timeout": 1})
        self.assertEqual((run.document["turns"]["taken"], run.document["turns"]["late"]), (1, 0))

    def test_an_interruption_keeps_what_was_measured(self) -> None:
        with (
            serving(http_replies(lambda n: reply())) as server,
            tempfile.TemporaryDirectory() as folder,
        ):
            file = Path(folder, "out")
            running = subprocess.Popen(
                [
                    *(WIRELOAD, "-q", "--json", str(file), "--turns", "1/2", "-d", "60s"),
                    f"http://127.0.0.1:{server.port}/",
                ]
            )
            while server.requests < 100:
                time.sleep(0.01)
            running.send_signal(signal.SIGINT)
            running.wait(30)
            document = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(document["window"]["stopped_by"], "signal")
        self.assertGreater(document["requests"]["ok"], 0)

    def test_a_server_that_dies_ends_the_run(self) -> None:
        def answer(server: Server, connection: socket.socket, number: int, _request: bytes) -> bool:
            if number == 1000:
                server.stop_listening()
            if number >= 1000:
                return False
            connection.sendall(reply())
            return True

        with serving(http(answer)) as server:
            run = load(server, "--turns", "1/2", "-d", "60s", "-c", "2")
        self.assertEqual(run.code, 1)
        self.assertEqual(run.document["window"]["stopped_by"], "error")

    def test_wrong_use_is_explained(self) -> None:
        for words, said in (
            (["--turns", "2"], "expected K/N"),
            (["--turns", "0/2"], "--turns: K"),
            (["--turns", "3/2"], "--turns: K"),
            (["--turns", "1/65"], "--turns: N"),
            (["--turns", "1/2", "--turn", "1us"], "--turn"),
            (["--turns", "1/2", "--turn", "2m"], "at most 1m"),
            (["--turn", "20ms"], "belongs to --turns"),
            (["--turns", "1/2", "--rate", "5"], "--rate has no meaning in turns"),
            (["--turns", "1/2", "-n", "5"], "--requests has no meaning in turns"),
            (["--turns", "1/2", "--interval", "5ms"], "--interval has no meaning in turns"),
        ):
            with self.subTest(words):
                done = wireload(*words, "http://127.0.0.1:1/")
                self.assertEqual(done.returncode, 64)
                self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
