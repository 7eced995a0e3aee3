"""wireload in parts: several load one server together. Every count is exact."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from servers import (
    WIRELOAD,
    Handler,
    Server,
    http,
    http_replies,
    load,
    reply,
    serving,
    typed,
    wireload,
)

MS = 1_000_000


def keeping(requests: list[str]) -> Handler:
    """Answers each request, and keeps its first line."""

    def answer(_server: Server, connection: socket.socket, _number: int, request: bytes) -> bool:
        requests.append(request.split(b"\r\n", 1)[0].decode())
        connection.sendall(reply())
        return True

    return http(answer)


@contextmanager
def waiting(
    server: Server, *options: str
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """A wireload that waits to be told its start, and the line that it has printed."""
    command = [WIRELOAD, "--quiet", "--start", "-", "-c", "2", "-t", "1", *options]
    with subprocess.Popen(
        [*command, f"http://127.0.0.1:{server.port}/"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        try:
            yield running, json.loads(running.stdout.readline())
        finally:
            running.kill()


def in_parts(server: Server, parts: int, *options: str) -> list[dict[str, Any]]:
    """That many wireloads at the same time; their documents."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, str(number)) for number in range(parts)]
        running = [
            subprocess.Popen(
                [
                    *(WIRELOAD, "--quiet", "--json", str(file), "-c", "2"),
                    *("--part", f"{number}/{parts}", *options),
                    f"http://127.0.0.1:{server.port}/{{uuid}}",
                ]
            )
            for number, file in enumerate(files, start=1)
        ]
        codes = [one.wait(60) for one in running]
        assert codes == [0] * parts, codes
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def sent(documents: Sequence[dict[str, Any]]) -> list[int]:
    return [document["requests"]["sent"] for document in documents]


class Parts(unittest.TestCase):
    def test_a_count_is_divided(self) -> None:
        requests: list[str] = []
        with serving(keeping(requests)) as server:
            documents = in_parts(server, 3, "-n", "11", "-t", "1")
        self.assertEqual(sent(documents), [4, 4, 3])
        self.assertEqual([one["plan"]["part"]["number"] for one in documents], [1, 2, 3])
        # Random values of all parts differ.
        self.assertEqual(len(set(requests)), 11)

    def test_a_schedule_is_divided(self) -> None:
        """Whatever the arrivals and the threads of each part."""
        for options in (
            "--rate 500 -d 400ms",
            "--rate 2000 -n 200",
            "--rate-ramp 100:900:400ms",
            "--rate 500 --arrivals poisson -n 200 -t 2",
        ):
            with self.subTest(options), serving(keeping([])) as server:
                documents = in_parts(server, 4, *typed(options))
                self.assertEqual(sent(documents), [50] * 4)
                self.assertEqual(server.requests, 200)

    def test_one_part_sends_every_nth(self) -> None:
        """The moments between two requests of a part are N times those of the whole."""
        times: list[float] = []

        def answer(
            _server: Server, connection: socket.socket, _number: int, _request: bytes
        ) -> bool:
            times.append(time.monotonic())
            connection.sendall(reply())
            return True

        with serving(http(answer)) as server:
            run = load(server, *typed("--part 2/4 --rate 40 -n 12 -c 1"))
        self.assertEqual(run.document["requests"]["ok"], 3)
        # Due at 1/40 s, 5/40 s and 9/40 s: 200 ms from the first to the last.
        self.assertGreater(times[-1] - times[0], 0.15)

    def test_wrong_use_is_explained(self) -> None:
        for options, text in (
            (["--part", "2"], "--part: expected K/N"),
            (["--part", "0/2"], "--part: K"),
            (["--part", "3/2"], "--part: K"),
            (["--part", "1/1001"], "--part: N"),
            (["--part", "1/4", "-n", "3"], "fewer than the 4 parts"),
            (["--part", "1/2", "--turns", "1/2"], "--turns has no meaning with --part"),
            (["--part", "1/2", "--idle"], "--idle has no meaning with --part"),
        ):
            with self.subTest(options):
                done = wireload(*options, "http://127.0.0.1:9/")
                self.assertEqual(done.returncode, 64)
                self.assertIn(text, done.stderr)


class Start(unittest.TestCase):
    def test_it_says_that_it_is_ready_and_begins_when_told(self) -> None:
        for options in ("-n 10", "-d 100ms", "-n 10 --warmup 50ms", "-n 10 --rate 1000"):
            with self.subTest(options), serving(http_replies(lambda n: reply())) as server:
                with waiting(server, "--json", "-", *typed(options)) as (running, ready):
                    self.assertEqual((ready["ready"], ready["opened"]), (True, 2))
                    self.assertLessEqual(ready["steady_ns"], time.monotonic_ns())
                    self.assertEqual(server.requests, 0)
                    start = time.monotonic_ns() + 200 * MS
                    out, errors = running.communicate(f"{start}\n", timeout=30)
                self.assertEqual(running.returncode, 0, errors)
                document = json.loads(out)
                self.assertEqual(document["start"]["asked_steady_ns"], start)
                self.assertGreaterEqual(document["start"]["late_ns"], 0)
                self.assertGreater(document["requests"]["ok"], 0)

    def test_nothing_is_sent_before_the_start(self) -> None:
        times: list[int] = []

        def answer(
            _server: Server, connection: socket.socket, _number: int, _request: bytes
        ) -> bool:
            times.append(time.monotonic_ns())
            connection.sendall(reply())
            return True

        for options in ("-n 4", "-n 4 --rate 1000", "-n 4 --warmup 20ms"):
            times.clear()
            start = time.monotonic_ns() + 400 * MS
            with self.subTest(options), serving(http(answer)) as server:
                run = load(server, "--start", str(start), *typed(options))
                self.assertEqual(run.document["start"]["asked_steady_ns"], start)
                self.assertGreaterEqual(min(times), start)

    def test_what_is_watched_counts_from_the_start_on(self) -> None:
        for options in ("-d 200ms", "-d 200ms --rate 100"):
            with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
                words = ["--watch", str(busy.pid), *typed(options)]
                try:
                    with serving(http_replies(lambda n: reply())) as server:
                        start = time.monotonic_ns() + 2000 * MS
                        usage = load(server, "--start", str(start), *words).document["server"]
                finally:
                    busy.kill()
            self.assertLess(usage["cpu_user_ns"] + usage["cpu_system_ns"], 400 * MS, options)

    def test_a_moment_that_has_passed_is_an_error(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            done = wireload("--start", "5", "-n", "1", f"http://127.0.0.1:{server.port}/")
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"--start: the moment is .+ past")
            self.assertEqual(server.requests, 0)

    def test_what_is_no_moment_is_an_error(self) -> None:
        for line in ("", "now\n", "12s\n", "-5\n", "1" * 80 + "\n", "5"):
            with self.subTest(line), serving(http_replies(lambda n: reply())) as server:
                with waiting(server, "-n", "1") as (running, _):
                    _, errors = running.communicate(line, timeout=30)
                self.assertEqual(running.returncode, 2)
                self.assertIn("standard input gave no moment", errors)
                self.assertEqual(server.requests, 0)

    def test_an_interruption_ends_the_waiting(self) -> None:
        for line in (None, f"{time.monotonic_ns() + 60_000 * MS}\n"):
            with self.subTest(line), serving(http_replies(lambda n: reply())) as server:
                with waiting(server, "-n", "1", "--json", "-") as (running, _):
                    assert running.stdin is not None
                    if line is not None:
                        running.stdin.write(line)
                        running.stdin.flush()
                        time.sleep(0.05)
                    running.send_signal(signal.SIGINT)
                    out, _errors = running.communicate(timeout=30)
                    self.assertEqual(running.returncode, 2)
                self.assertIsNone(json.loads(out)["start"])
                self.assertEqual(server.requests, 0)

    def test_wrong_use_is_explained(self) -> None:
        for options, text in (
            (["--start", "soon"], "--start soon: give a whole number"),
            (["--start", ""], "--start"),
            (["--start", "-", "--turns", "1/2"], "--turns has no meaning with --start"),
            (["--start", "-", "--idle"], "--idle has no meaning with --start"),
        ):
            with self.subTest(options):
                done = wireload(*options, "http://127.0.0.1:9/")
                self.assertEqual(done.returncode, 64)
                self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main()
