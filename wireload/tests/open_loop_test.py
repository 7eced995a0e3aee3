"""wireload at a rate: what is due is sent, what waits is charged from the schedule, and every
request is accounted for.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from servers import (
    TEXT,
    WIRELOAD,
    Run,
    Server,
    frame,
    http,
    http_replies,
    interrupt,
    load,
    reply,
    serving,
    typed,
    under_load,
    ws_replies,
)

MS = 1_000_000


class OpenLoop(unittest.TestCase):
    def assert_accounted(self, run: Run) -> None:
        """Every scheduled request is an answer or an error, and each answer has its latencies."""
        open_loop, requests = run.document["open_loop"], run.document["requests"]
        self.assertEqual(open_loop["scheduled"], requests["ok"] + requests["errors"])
        self.assertEqual(open_loop["sent"], requests["sent"])
        self.assertEqual(open_loop["scheduled"], open_loop["sent"] + open_loop["not_sent"])
        self.assertEqual(run.document["latency"]["count"], requests["ok"] + open_loop["late"])
        self.assertEqual(open_loop["service"]["count"], requests["ok"] + open_loop["late"])


class Watched(OpenLoop):
    def test_the_servers_cpu_is_for_the_replies_of_the_window(self) -> None:
        # Twice the rate that the connection carries: half of the replies come after the window.
        replies = http_replies(lambda n: reply(), after_s=lambda n: 0.02)
        with (
            subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy,
            serving(replies) as server,
        ):
            try:
                run = load(server, *typed("--rate 100 -d 500ms -c 1 --watch"), str(busy.pid))
            finally:
                busy.kill()
        requests, used = run.document["requests"], run.document["server"]
        answered = round(requests["rate_per_s"] * 0.5)
        self.assertLess(answered, 0.7 * requests["ok"])
        cpu_ms = (used["cpu_user_ns"] + used["cpu_system_ns"]) / MS / answered
        said = re.search(r"Server +([\d.]+) ms CPU a request", run.screen)
        assert said is not None, run.screen
        self.assertAlmostEqual(float(said[1]), cpu_ms, delta=cpu_ms / 100)
        self.assert_accounted(run)


class Rates(OpenLoop):
    def test_sends_what_the_rate_says(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "--rate", "400", "-d", "500ms", "-c", "4", "--expect-body", "hello")
            self.assertEqual(server.requests, 200)
            self.assertEqual(server.connections, 4)
        self.assertEqual(run.code, 0, run.screen)
        self.assertEqual(run.document["plan"]["mode"], "open")
        self.assertEqual(run.document["open_loop"]["scheduled"], 200)
        self.assertEqual(run.document["open_loop"]["rate"], 400)
        self.assertEqual(
            run.document["window"],
            run.document["window"] | {"stopped_by": "duration", "elapsed_ns": 500 * MS},
        )
        self.assertEqual(run.document["little"]["ratio"], None)
        self.assert_accounted(run)

    def test_a_number_of_requests_ends_it_before_the_time(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            for words in ("--rate 200 -n 20 -d 30s", "--rate 200 -n 20 -d 30s --warmup 50ms -t 2"):
                began = time.monotonic()
                run = load(server, *words.split(), "-c", "4")
                self.assertLess(time.monotonic() - began, 10)
                self.assertEqual(run.document["window"]["stopped_by"], "requests")
                self.assertEqual(run.document["requests"]["ok"], 20)
                self.assertGreater(run.document["requests"]["rate_per_s"], 100)

    def test_what_was_due_a_second_does_not_depend_on_the_servers_time(self) -> None:
        """By count the window ends with the last reply, long after the last request was due."""
        with (
            tempfile.NamedTemporaryFile("w") as recorded,
            serving(http_replies(lambda n: reply(), after_s=lambda n: 0.2)) as server,
        ):
            recorded.write("0\n0.01\n0.03\n0.04\n")
            recorded.flush()
            for words, due, rate in (
                ("--rate 100 -n 10", 10, 100),
                ("--rate 100 -n 1", 1, 100),
                ("--rate 100 -n 10 -d 150ms", 10, 100),
                ("--rate 100 -n 10 --part 1/2", 5, 50),
                ("--rate 50 --arrivals poisson -n 5", 5, 50),
                (f"--arrivals {recorded.name}", 4, 100),
                (f"--arrivals {recorded.name} -n 2", 2, 200),
                (f"--arrivals {recorded.name} -d 100ms", 4, 40),
            ):
                with self.subTest(words):
                    run = load(server, *typed(words), "-c", "10")
                    self.assertEqual(run.document["open_loop"]["rate"], rate)
                    self.assertIn(f"{due} due, {rate}/s;", run.screen)

    def test_answers_that_all_come_too_late_are_measured(self) -> None:
        with serving(http_replies(lambda n: reply(), after_s=lambda n: 0.05)) as server:
            run = load(server, *typed("--rate 100 -d 300ms -c 20 --deadline 10ms"))
        self.assertEqual(run.document["open_loop"]["late"], 30)
        self.assertEqual(run.document["latency"]["count"], 30)
        self.assertNotIn("Nothing measured", run.screen)
        self.assertEqual(run.code, 1, run.screen)

    def test_warm_up_is_at_the_same_rate_and_not_counted(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "--rate", "300", "-d", "200ms", "--warmup", "100ms", "-c", "3")
            self.assertEqual(server.requests, 90)
        self.assertEqual(run.document["open_loop"]["scheduled"], 60)
        self.assertEqual(run.document["requests"]["ok"], 60)
        self.assert_accounted(run)

    def test_replies_to_the_warm_up_that_come_in_the_window_are_counted_nowhere(self) -> None:
        with serving(
            http_replies(
                lambda n: reply(b"hello", "200 OK" if n <= 40 else "201 Created"),
                after_s=lambda n: 0.1,
            )
        ) as server:
            words = (*typed("--rate 200 --warmup 200ms -d 200ms -c 60 --timeout 30s"),)
            run = load(server, *words, f"http://127.0.0.1:{server.port}/other")
        self.assertEqual(run.document["requests"]["ok"], 40)
        self.assertEqual(sum(run.document["status_codes"].values()), 40)
        self.assertEqual(sum(one["right"] + one["wrong"] for one in run.document["rotation"]), 40)
        self.assert_accounted(run)

    def test_a_count_over_several_threads(self) -> None:
        for kind in ("constant", "poisson"):
            with self.subTest(kind), serving(http_replies(lambda n: reply())) as server:
                run = load(
                    server, "--rate", "1000", "--arrivals", kind, *typed("-n 201 -c 6 --threads 3")
                )
                self.assertEqual(server.requests, 201)
                self.assertEqual(run.document["open_loop"]["scheduled"], 201)
                self.assertEqual(run.document["window"]["stopped_by"], "requests")
                self.assertEqual(run.document["plan"]["threads"], 3)
                self.assert_accounted(run)

    def test_steps_ramps_and_recorded_arrivals(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            recorded = Path(folder) / "arrivals.txt"
            recorded.write_text("# three at once, then one\n0.05\n0.05\n0.05\n\n0.25\n")
            for expected, *arguments in (
                (150, "--rate-steps", "500:100ms,0:100ms,1000:100ms"),
                (100, "--rate-ramp", "0:1000:200ms"),
                (4, "--arrivals", str(recorded)),
                (3, "--arrivals", str(recorded), "-d", "200ms"),
                (2, "--arrivals", str(recorded), "-n", "2"),
            ):
                with (
                    self.subTest(arguments=arguments),
                    serving(http_replies(lambda n: reply())) as server,
                ):
                    run = load(server, *arguments, "-c", "5")
                    self.assertEqual(server.requests, expected)
                    self.assertEqual(run.document["open_loop"]["scheduled"], expected)
                    self.assert_accounted(run)

    def test_what_is_sent_together_is_what_was_due(self) -> None:
        """A loop that does not spin sends the requests of 50 us together, and sleeps meanwhile."""
        for engine in ("epoll", "io_uring"):
            with (
                self.subTest(engine=engine),
                serving(http_replies(lambda n: reply())) as server,
            ):
                arguments = ("--spin", "never", "--engine", engine, "-c", "200")
                run = load(server, "--rate", "40000", "-d", "20ms", *arguments)
                self.assertEqual(run.document["open_loop"]["scheduled"], 800)
                self.assertEqual(run.document["open_loop"]["sent"], 800)
                self.assertEqual(server.requests, 800)
                self.assert_accounted(run)

    def test_messages_are_scheduled_as_well(self) -> None:
        with serving(ws_replies(lambda n, message: frame(TEXT, message))) as server:
            run = load(
                server, "--rate", "500", "-d", "200ms", "-c", "3", "--message", "m{c}", scheme="ws"
            )
            self.assertEqual(server.requests, 100)
        self.assertEqual(run.code, 0)
        self.assert_accounted(run)

    def test_a_new_connection_for_each_request(self) -> None:
        def once(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(reply(b"hello", "200 OK", "Connection: close"))
            return False

        with serving(http(once)) as server:
            run = load(server, "--rate", "200", "-d", "200ms", "-c", "5", "--no-keepalive")
            self.assertEqual(server.connections, 40)
        self.assertEqual(run.code, 0)
        self.assert_accounted(run)

    def test_connections_a_second_are_those_of_the_window(self) -> None:
        """The first takes all of it; the other four are opened after its end."""

        def once(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            time.sleep(0.1)
            connection.sendall(reply(b"hello", "200 OK", "Connection: close"))
            return False

        with serving(http(once)) as server:
            run = load(server, *typed("--rate 50 -d 100ms -c 1 --no-keepalive"))
        self.assertRegex(run.screen, r"Connect +5 of 5 open in [^,]*, max [^,]*, 10/s\n")
        self.assert_accounted(run)

    def test_requests_take_the_connections_in_turn(self) -> None:
        counts: dict[int, int] = {}

        def answer(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            with server.lock:
                counts[connection.fileno()] = counts.get(connection.fileno(), 0) + 1
            connection.sendall(reply())
            return True

        with serving(http(answer)) as server:
            load(server, "--rate", "100", "-n", "40", "-c", "4")
        # Slow enough for all to be free: each gets its quarter, give or take what a late answer
        # moves.
        self.assertEqual(len(counts), 4)
        self.assertEqual(sum(counts.values()), 40)


class Waiting(OpenLoop):
    def test_those_who_waited_are_charged_from_the_schedule(self) -> None:
        """One connection and a server that stands still for 300 ms: thirty requests are due
        meanwhile.
        """

        with serving(
            http_replies(lambda n: reply(), after_s=lambda n: 0.3 if n == 11 else 0)
        ) as server:
            run = load(server, "--rate", "100", "-d", "600ms", "-c", "1")
            self.assertEqual(server.requests, 60)
        self.assert_accounted(run)
        latency, service = run.document["latency"], run.document["open_loop"]["service"]
        self.assertGreaterEqual(latency["max_ns"], 300 * MS)
        self.assertGreaterEqual(service["max_ns"], 300 * MS)
        # The answers come at once after the freeze: latencies fall from 300 ms to nothing in steps
        # of 10 ms, which sums to 4.65 s; a closed loop sees the first alone. Service times know of
        # one.
        self.assertGreaterEqual(latency["mean_ns"] * 60, 4_650 * MS)
        self.assertGreaterEqual(latency["percentiles_ns"]["75"], 140 * MS)
        self.assertGreaterEqual(run.document["open_loop"]["backlog_max"], 28)
        self.assertEqual(run.document["open_loop"]["service"]["count"], 60)

    def test_the_generator_charges_nobody_for_its_own_lateness(self) -> None:
        """wireload is stopped for 800 ms: what was due meanwhile leaves late, replies lie unread,
        and neither is latency.
        """
        for engine in ("epoll", "io_uring"):
            with self.subTest(engine=engine):
                self.check_a_stopped_generator(engine)

    def stopped(self, *words: str, code: int) -> Run:
        """wireload is stopped for 800 ms, from the 30th of 100 requests on, which take 20 ms."""
        with (
            serving(http_replies(lambda n: reply(), after_s=lambda n: 0.02)) as server,
            tempfile.TemporaryDirectory() as folder,
        ):
            file = Path(folder) / "json"
            words = (*words, *typed("--rate 50 -d 2s -c 100 --json"), str(file))
            process = subprocess.Popen(
                [WIRELOAD, *words, f"http://127.0.0.1:{server.port}/"],
                stdout=subprocess.PIPE,
                text=True,
            )
            while server.requests < 30:
                time.sleep(0.001)
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.8)
            process.send_signal(signal.SIGCONT)
            screen, _ = process.communicate()
            self.assertEqual(process.returncode, code, screen)
            run = Run(code, json.loads(file.read_text()), screen)
            self.assertEqual(server.requests, run.document["open_loop"]["sent"])
        self.assert_accounted(run)
        self.assertEqual(run.document["open_loop"]["scheduled"], 100)
        return run

    def check_a_stopped_generator(self, engine: str) -> None:
        words = typed("--fail-if max>1h --fail-if errors>0 --engine")
        run = self.stopped(*words, engine, code=3)
        self.assertEqual(run.document["requests"]["ok"], 100)
        self.assertEqual(run.document["plan"]["engine"], engine)
        open_loop, latency = run.document["open_loop"], run.document["latency"]
        self.assertEqual(open_loop["reply_times"], "kernel")
        self.assertGreaterEqual(open_loop["lag"]["max_ns"], 600 * MS)
        self.assertGreaterEqual(latency["min_ns"], 20 * MS)
        self.assertLess(latency["max_ns"], 400 * MS)
        self.assertLess(open_loop["service"]["max_ns"], 400 * MS)
        self.assertIn("sent late", open_loop["void"])
        times, counts = run.document["thresholds"]
        self.assertEqual((times["value"], times["holds"]), (latency["max_ns"], None))
        self.assertIs(counts["holds"], False)

    def test_requests_that_the_generator_lets_expire_are_its_own(self) -> None:
        """All connections are free, and the deadline of most requests passes meanwhile."""
        run = self.stopped(*typed("--deadline 30ms --fail-if errors>99"), code=3)
        open_loop = run.document["open_loop"]
        self.assertGreaterEqual(open_loop["not_sent"], 20)
        self.assertGreaterEqual(open_loop["lag"]["max_ns"], 600 * MS)
        self.assertEqual(open_loop["limited_by"], "generator")
        self.assertIn("could not send more", open_loop["void"])
        self.assertIsNone(run.document["thresholds"][0]["holds"])
        self.assertNotIn("no connection was free", run.document["first_error"]["sent"])
        self.assertNotIn("no connection was free", run.screen)
        self.assertIn("wireload itself let their deadline pass", run.screen)

    def test_requests_that_expire_while_the_server_has_the_connection_are_its(self) -> None:
        with serving(
            http_replies(lambda n: reply(), after_s=lambda n: 0.6 if n == 3 else 0)
        ) as server:
            run = load(server, *typed("--rate 100 -d 800ms -c 1 --deadline 50ms"))
        self.assertGreaterEqual(run.document["open_loop"]["not_sent"], 40)
        self.assertEqual(run.document["open_loop"]["limited_by"], "server")
        self.assertNotIn("let their deadline pass", run.screen)

    def test_says_whether_it_keeps_the_cores_awake(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, "--rate", "100", "-n", "10")
        self.assertEqual(
            run.document["open_loop"]["cores_awake"], os.access("/dev/cpu_dma_latency", os.W_OK)
        )

    def test_a_reply_that_ends_with_the_connection_is_there_at_its_end(self) -> None:
        def answer(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nhello")
            time.sleep(0.1)
            return False

        for engine in ("epoll", "io_uring"):
            with self.subTest(engine), serving(http(answer)) as server:
                words = typed("--rate 50 -n 5 -c 5 --expect-body hello --engine")
                run = load(server, *words, engine)
                self.assertEqual((run.code, run.document["requests"]["ok"]), (0, 5))
                self.assertGreaterEqual(run.document["latency"]["min_ns"], 95 * MS)
                self.assertGreaterEqual(run.document["open_loop"]["service"]["min_ns"], 95 * MS)
                self.assert_accounted(run)

    def test_waits_for_the_tail_after_the_end(self) -> None:
        with serving(http_replies(lambda n: reply(), after_s=lambda n: 0.3)) as server:
            run = load(server, "--rate", "50", "-d", "100ms", "-c", "5")
        self.assertEqual(run.document["requests"]["ok"], 5)
        self.assertEqual(run.code, 0)
        self.assertEqual(run.document["window"]["elapsed_ns"], 100 * MS)
        self.assertGreaterEqual(run.document["open_loop"]["drain_ns"], 250 * MS)
        self.assertEqual(
            run.document["requests"]["rate_per_s"], 0
        )  # none of them came inside the window
        self.assertGreater(run.document["requests"]["bytes_in"], 5 * len(b"hello"))
        self.assertRegex(run.screen, r"Traffic +in \d+ B \(0 B/s\), out \d+ B \([1-9]")
        self.assert_accounted(run)

    def test_no_more_in_flight_than_allowed(self) -> None:
        most = 0
        present = 0
        lock = threading.Lock()

        def answer(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            nonlocal most, present
            with lock:
                present += 1
                most = max(most, present)
            time.sleep(0.02)
            with lock:
                present -= 1
            connection.sendall(reply())
            return True

        with serving(http(answer)) as server:
            run = load(server, "--rate", "1000", "-n", "30", "-c", "10", "--max-in-flight", "3")
        self.assertEqual(most, 3)
        self.assertGreaterEqual(run.document["latency"]["max_ns"], 8 * 20 * MS)
        self.assertGreaterEqual(run.document["open_loop"]["backlog_max"], 15)
        self.assertEqual(run.document["open_loop"]["max_in_flight"], 3)
        self.assert_accounted(run)

    def test_an_interrupted_run_tells_what_was_due_until_then(self) -> None:
        """400 a second are due, and one connection carries 20 of them."""
        with (
            serving(http_replies(lambda n: reply(), after_s=lambda n: 0.05)) as server,
            under_load(server, *typed("--rate 400 -d 60s -c 1")) as process,
        ):
            while server.requests < 10:
                time.sleep(0.01)
            run = interrupt(process)
        open_loop = run.document["open_loop"]
        self.assertEqual(run.document["window"]["stopped_by"], "signal")
        self.assertGreater(open_loop["rate"], 250)
        self.assertGreater(open_loop["scheduled"], 5 * open_loop["sent"])
        self.assertEqual((open_loop["rate_kept"], open_loop["limited_by"]), (False, "server"))
        self.assertIn("the server could not keep up with 1", run.screen)

    def test_a_run_that_is_interrupted_after_its_window_has_all_of_it(self) -> None:
        def silent(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            return True

        with (
            serving(http(silent)) as server,
            under_load(server, *typed("--rate 50 -d 100ms -c 5")) as process,
        ):
            while server.requests < 5:
                time.sleep(0.01)
            time.sleep(0.2)
            run = interrupt(process)
        self.assertEqual(
            run.document["window"],
            run.document["window"] | {"stopped_by": "signal", "elapsed_ns": 100 * MS},
        )
        self.assertEqual(run.document["open_loop"]["rate"], 50)

    def test_a_generator_that_was_interrupted_in_its_warm_up_was_not_the_limit(self) -> None:
        with (
            serving(http_replies(lambda n: reply())) as server,
            under_load(server, *typed("--rate 400 --warmup 60s -d 1s -c 1")) as process,
        ):
            while server.requests < 10:
                time.sleep(0.01)
            run = interrupt(process)
        self.assertEqual((run.code, run.document["window"]["elapsed_ns"]), (2, 0))
        generator = run.document["generator"]
        self.assertEqual((generator["cpu_share"], generator["limited_by"]), (0, None))

    def test_says_when_the_rate_was_not_kept(self) -> None:
        with serving(http_replies(lambda n: reply(), after_s=lambda n: 0.05)) as server:
            run = load(server, "--rate", "100", "-d", "500ms", "-c", "2")
        self.assertFalse(run.document["open_loop"]["rate_kept"])
        self.assertEqual(run.document["open_loop"]["limited_by"], "server")
        self.assertIn("asked 100/s, sent", run.screen)
        self.assertIn("the server could not keep up with 2", run.screen)
        self.assertEqual(run.document["requests"]["ok"], 50)
        self.assert_accounted(run)


class Deadlines(OpenLoop):
    def test_late_answers_are_errors_whose_latency_is_kept(self) -> None:
        with serving(
            http_replies(lambda n: reply(), after_s=lambda n: 0.8 if n == 2 else 0)
        ) as server:
            run = load(server, "--rate", "20", "-n", "4", "-c", "4", "--deadline", "600ms")
        self.assertEqual(run.code, 1)
        self.assertEqual(run.errors, {"deadline": 1})
        self.assertEqual(run.document["open_loop"]["late"], 1)
        self.assertGreaterEqual(run.document["latency"]["max_ns"], 800 * MS)
        self.assertEqual(run.document["first_error"]["kind"], "deadline")
        self.assert_accounted(run)

    def test_late_answers_are_not_of_the_rate(self) -> None:
        """The first 36 of 40 are late, some of them inside the window. The last four are in time,
        after its end.
        """
        with serving(
            http_replies(lambda n: reply(), after_s=lambda n: 0.3 if n <= 36 else 0.1)
        ) as server:
            run = load(server, *typed("--rate 100 -d 400ms -c 40 --deadline 200ms"))
        self.assertGreaterEqual(run.document["open_loop"]["late"], 30)
        self.assertEqual(run.document["requests"]["rate_per_s"], 0)
        self.assert_accounted(run)

    def test_what_cannot_be_sent_in_time_is_not_sent(self) -> None:
        with serving(
            http_replies(lambda n: reply(), after_s=lambda n: 0.5 if n == 1 else 0)
        ) as server:
            run = load(server, "--rate", "100", "-n", "50", "-c", "1", "--deadline", "100ms")
            self.assertEqual(server.requests, run.document["open_loop"]["sent"])
        # The first is late; of the 49 others those due in the last 100 ms before its answer at 500
        # ms are in time.
        self.assertGreaterEqual(run.document["open_loop"]["late"], 1)
        self.assertGreaterEqual(run.document["open_loop"]["not_sent"], 38)
        self.assertGreater(run.document["requests"]["ok"], 0)
        self.assert_accounted(run)

    def test_a_load_that_ends_while_it_sends_ends_once(self) -> None:
        """So many are dropped, with a request to send behind them, that the load's end comes
        between a look at the clock and the sending.
        """
        with serving(http_replies(lambda n: reply())) as server:
            for _ in range(3):
                run = load(
                    server, *typed("--rate 100000000 -d 20ms -c 1 --deadline 1ms --timeout 1ms")
                )
                self.assertEqual(run.document["open_loop"]["scheduled"], 2_000_000)
                self.assert_accounted(run)

    def test_a_server_that_never_answers(self) -> None:
        def silent(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            return True

        with serving(http(silent)) as server:
            run = load(server, "--rate", "100", "-d", "200ms", "-c", "3", "--timeout", "300ms")
        self.assertEqual(run.code, 2)
        self.assertEqual(sum(run.errors.values()), 20)
        self.assert_accounted(run)

    def test_says_what_was_still_unanswered_at_the_end(self) -> None:
        """The second request leaves after the window's end, and gets no reply until the run's."""

        def answer(server: Server, connection: socket.socket, number: int, request: bytes) -> bool:
            if number == 1:
                time.sleep(0.5)
                connection.sendall(reply())
            return True

        with serving(http(answer)) as server:
            run = load(server, *typed("--rate 20 -d 100ms -c 1 --timeout 1s"))
        self.assertEqual((run.code, run.errors), (1, {"read_timeout": 1}))
        self.assertEqual(run.document["first_error"]["kind"], "read_timeout")
        self.assertIn("until the run was over", run.document["first_error"]["received"])
        self.assert_accounted(run)


if __name__ == "__main__":
    unittest.main()
