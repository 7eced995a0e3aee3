"""What wireload shows on a screen, and how it ends when it is told to."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import resource
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from document_schema import SCHEMA, violations
from servers import (
    TEXT,
    WIRELOAD,
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
    wireload,
    ws_replies,
)


class Screen(unittest.TestCase):
    def test_fits_one_screen_and_has_no_colour_in_a_pipe(self) -> None:
        # Long enough for the number in flight to be sampled, which Little's law needs.
        replies = http_replies(lambda n: reply(b"x" if n % 9 else b"y"), after_s=lambda n: 0.001)
        with serving(replies) as server:
            words = [
                *typed("-n 200 --expect-body x --watch"),
                str(os.getpid()),
                *typed("--fail-if p99>1h --fail-if ok<1"),
            ]
            words.append(f"http://127.0.0.1:{server.port}/")
            done = wireload(*words, environment={"LC_ALL": "C.UTF-8"})
            plain = wireload(*words, environment={"LC_ALL": "C"})
        self.assertEqual(done.returncode, 3)
        for text, signs in ((done.stdout, "█✗✓≤"), (plain.stdout, "#")):
            self.assertNotIn("\x1b", text)
            lines = text.splitlines()
            self.assertLessEqual(len(lines), 40)
            self.assertLessEqual(max(map(len, lines)), 80, text)
            for word in (
                "p50",
                "p99",
                "right in",
                "200 x ",
                *signs,
                "Server",
                "Generator",
                "Little",
                "bad_body 22",
                "expected",
                "received",
            ):
                self.assertIn(word, text)
            self.assertRegex(text, r"p99>1h +not decided: 178 samples, it takes 1000")
            self.assertRegex(text, r"ok<1 +178\n")
        self.assertTrue(plain.stdout.isascii())

    def test_long_warnings_are_wrapped(self) -> None:
        # One connection and a rate that it cannot carry: the warning about the rate is long.
        with serving(http_replies(lambda n: reply(), after_s=lambda n: 0.02)) as server:
            done = wireload(
                *typed("-c 1 -d 300ms --rate 500 --timeout 1s"), f"http://127.0.0.1:{server.port}/"
            )
        self.assertIn("Warning    ", done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80, done.stdout)

    def test_no_line_is_longer_than_80_columns(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            url = f"http://127.0.0.1:{server.port}/"
            for words in (
                "-n 20 --correct-omission 1ms",
                "--rate-steps 0:20ms,500:100ms --arrivals poisson --no-keepalive --warmup 50ms",
                "-n 20 --no-keepalive --per-connection 3 --part 1/2 --engine epoll --warmup 1ms",
                "-c 3 --rate 500 -d 200ms --expect-body no --expect-status 2xx,500 --deadline 1us",
            ):
                done = wireload(*typed(words), url)
                self.assertLessEqual(max(map(len, done.stdout.splitlines())), 80, done.stdout)

    def test_many_statuses_take_several_lines(self) -> None:
        with serving(http_replies(lambda n: reply(b"x", f"{210 + n} Odd"))) as server:
            run = load(server, *typed("-n 40 -c 1"))
        self.assertEqual(len(run.document["status_codes"]), 40)
        self.assertLessEqual(max(map(len, run.screen.splitlines())), 80, run.screen)
        self.assertIn(", ".join(f"{status} x 1" for status in range(211, 218)), run.screen)
        self.assertRegex(run.screen, r",\n {11}\d+ x 1, ")

    def test_a_long_url_and_several_servers_take_two_lines(self) -> None:
        with serving(http_replies(lambda n: reply())) as one, serving(one.handler) as two:
            urls = [f"http://127.0.0.1:{server.port}/{'x' * 60}" for server in (one, two)]
            done = wireload("-n", "4", "-c", "2", *urls)
        lines = done.stdout.splitlines()
        self.assertTrue(lines[0].endswith("x..."), done.stdout)
        self.assertEqual(lines[1], f"127.0.0.1:{one.port} and 1 more")
        self.assertLessEqual(max(map(len, lines)), 80, done.stdout)

    def test_slow_rates_have_their_digits(self) -> None:
        with serving(http_replies(lambda n: reply(), after_s=lambda n: 0.4)) as server:
            closed = load(server, *typed("-n 2 -c 1"))
            opened = load(server, *typed("-d 900ms --rate 2.5 -c 4"))
        self.assertRegex(closed.screen, r"2 right in .*: [12]\.\d+/s\n")
        self.assertIn("3 due, 3.33/s; sent 3.33/s", opened.screen)

    def test_a_share_that_is_not_all_is_not_100(self) -> None:
        with serving(ws_replies(lambda n, message: frame(TEXT, message if n > 1 else b""))) as one:
            ramp = load(
                one,
                *typed("--ramp-rounds 1 --ramp-add 1 --ramp-messages 25000 --ramp-pacing burst"),
                scheme="ws",
            )
        self.assertEqual(ramp.document["rounds"][0]["success_ratio"], 0.99996)
        self.assertIn(" >99.99% ", ramp.screen)
        self.assertNotIn("100.00%", ramp.screen)
        with serving(http_replies(lambda n: reply(b"y" if n > 1 else b"x"))) as server:
            words = ["-n", "2500", "--expect-body", "x", "--fail-if", "errors>=100%"]
            run = load(server, *words)
        self.assertEqual(run.code, 0, run.screen)
        self.assertIn("2,499 (99.96%)", run.screen)
        self.assertRegex(run.screen, r"errors>=100% +99\.96%\n")

    def test_who_closed_what_was_opened_again(self) -> None:
        def closes(server: Server, connection: Any, number: int, request: bytes) -> bool:
            connection.sendall(reply(b"x", "200 OK", "Connection: close"))
            return False

        with serving(http(closes)) as server:
            run = load(server, "-n", "9", "-c", "1")
        self.assertIn("8 connections opened again: the server closes", run.screen)
        # Here it is wireload that closes: what does not end cannot be gone on with.
        with serving(http_replies(lambda n: reply() if n % 2 else b"noise")) as server:
            run = load(server, "-n", "9", "-c", "1", "--timeout", "100ms")
        self.assertIn("4 connections opened again: after errors", run.screen)

    def test_colour_in_a_pipe_when_asked_for(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            command = ("-n", "5", "--color", "always", f"http://127.0.0.1:{server.port}/")
            self.assertIn("\x1b[1m", wireload(*command, environment={"NO_COLOR": "1"}).stdout)

    def test_a_long_ramp_fits_as_well(self) -> None:
        with serving(ws_replies(lambda n, message: frame(TEXT, message))) as server:
            done = wireload(
                *typed("--ramp-rounds 30 --ramp-add 1 --ramp-messages 2"),
                f"ws://127.0.0.1:{server.port}/",
            )
        self.assertEqual(done.returncode, 0)
        self.assertLessEqual(len(done.stdout.splitlines()), 36)
        self.assertRegex(done.stdout, r"\n +30 +30 +30 ")
        self.assertIn("ramp, 30 rounds of 1 more connection, 2 messages on each", done.stdout)

    def on_a_terminal(
        self, environment: dict[str, str], *arguments: str, interrupt_after: float | None = None
    ) -> str:
        """All that is written to a terminal of 60 columns."""
        with serving(http_replies(lambda n: reply())) as server:
            ours, theirs = pty.openpty()
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
            command = [WIRELOAD, *(arguments or ("-n", "50")), f"http://127.0.0.1:{server.port}/"]
            environment = {**os.environ, "TERM": "xterm", **environment}
            with subprocess.Popen(
                command, stdout=theirs, stderr=theirs, env=environment
            ) as process:
                os.close(theirs)
                text = b""
                try:
                    while piece := os.read(ours, 65536):
                        text += piece
                        if (
                            interrupt_after is not None
                            and server.requests > interrupt_after
                            and b"last second" in text
                        ):
                            process.send_signal(signal.SIGINT)
                            interrupt_after = None
                except OSError:
                    pass  # the end of a terminal whose other side is closed
                self.assertEqual(process.wait(30), 0, text)
            os.close(ours)
            return text.decode()

    def test_colours_on_a_terminal_unless_told_not_to(self) -> None:
        self.assertIn("\x1b[1m", self.on_a_terminal({"NO_COLOR": ""}))
        self.assertNotIn(
            "\x1b", self.on_a_terminal({"NO_COLOR": "1"}, "-n", "50", "--live", "never")
        )
        self.assertNotIn("\x1b", self.on_a_terminal({"TERM": "dumb"}))
        self.assertNotIn(
            "\x1b", self.on_a_terminal({}, "-n", "50", "--live", "never", "--color", "never")
        )

    def check_live(self, text: str) -> None:
        """The view was there, and is taken away before the summary comes."""
        self.assertEqual(text.count("\x1b[?25l"), 1)
        self.assertEqual(text.count("\x1b[?25h"), 1)
        view, summary = text.split("\x1b[?25h")
        self.assertRegex(view.rsplit("\x1b[?25l")[-1], r"\x1b\[\d+A\r\x1b\[J$")
        self.assertIn("right in", summary)
        self.assertNotIn("\x1b[K", summary)
        for screen in view.split("\x1b[J"):
            for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen).splitlines():
                self.assertLess(len(line), 60)
        for word in (
            "connecting",
            "measuring",
            "requests/s",
            "last second  p50",
            "errors 0",
            "s left",
        ):
            self.assertIn(word, view)

    def test_a_live_view(self) -> None:
        self.check_live(
            self.on_a_terminal({"LC_ALL": "C.UTF-8"}, "--live", "always", "-d", "900ms", "-c", "2")
        )

    def test_a_live_view_leaves_the_terminal_as_it_was_after_a_signal(self) -> None:
        text = self.on_a_terminal(
            {"NO_COLOR": "1"}, "--live", "always", "-d", "60s", "-c", "2", interrupt_after=1
        )
        self.check_live(text)
        self.assertIn("interrupted", text)

    def test_a_live_view_needs_a_terminal_and_a_free_cpu(self) -> None:
        done = wireload("--live", "always", "http://127.0.0.1:1/", environment={"TERM": "xterm"})
        self.assertEqual(done.returncode, 64)
        self.assertIn("not a terminal", done.stderr)
        cpu = str(min(os.sched_getaffinity(0)))
        text = self.on_a_terminal({}, "--cpu", cpu, "-n", "50")
        self.assertIn("no live view", text)
        self.assertNotIn("\x1b[?25l", text)


class Endings(unittest.TestCase):
    def interrupted(
        self, signals: Sequence[signal.Signals], *arguments: str, after: int = 20
    ) -> tuple[int, dict[str, Any]]:
        """Sends the signals when the server has seen so many requests. The process is stopped
        meanwhile, so that all of them are there when it looks.
        """
        with serving(http_replies(lambda n: reply())) as server:
            command = [
                WIRELOAD,
                *typed("-q --json - -c 2"),
                *arguments,
                f"http://127.0.0.1:{server.port}/",
            ]
            with subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as process:
                while server.requests < after:
                    time.sleep(0.01)
                process.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, process.pid, os.WSTOPPED)
                for number in (*signals, signal.SIGCONT):
                    process.send_signal(number)
                out, _ = process.communicate(timeout=30)
            return process.returncode, json.loads(out)

    def test_a_signal_ends_it_and_what_was_measured_is_written(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            for words in (["-d", "60s"], ["-n", "100000000"], ["--each", "100000000"]):
                with self.subTest(number.name, words=words):
                    code, document = self.interrupted([number], *words)
                    self.assertEqual(code, 0)
                    self.assertEqual(document["window"]["stopped_by"], "signal")
                    self.assertGreater(document["requests"]["ok"], 0)
                    self.assertEqual(violations(document, SCHEMA), [])

    def test_a_second_signal_does_not_lose_what_was_measured(self) -> None:
        code, document = self.interrupted([signal.SIGINT, signal.SIGTERM], "-d", "60s")
        self.assertEqual(code, 0)
        self.assertEqual(document["window"]["stopped_by"], "signal")

    def test_a_signal_in_the_warm_up(self) -> None:
        for words in ("", "--rate 500", "--turns 1/1"):
            with self.subTest(words):
                code, document = self.interrupted(
                    [signal.SIGINT], *typed(f"-d 60s --warmup 60s {words}")
                )
                self.assertEqual(code, 2)
                self.assertEqual(document["window"]["stopped_by"], "signal")
                self.assertEqual(document["window"]["start_unix_ns"], 0)
                self.assertEqual(document["requests"]["ok"], 0)
                self.assertEqual(violations(document, SCHEMA), [])

    def test_it_does_not_say_that_no_reply_came_in_the_warm_up(self) -> None:
        with (
            serving(http_replies(lambda n: reply())) as server,
            under_load(server, *typed("-c 2 -d 60s --warmup 60s")) as process,
        ):
            while server.requests < 20:
                time.sleep(0.01)
            run = interrupt(process)
        self.assertEqual(run.code, 2)
        self.assertIn("Nothing measured: the run ended before its window (signal).", run.screen)

    def test_a_signal_while_connecting(self) -> None:
        # The server takes connections and says nothing: the handshakes never end.
        with serving(
            lambda server, connection: connection.recv(65536) and connection.recv(65536)
        ) as server:
            command = [
                WIRELOAD,
                *typed("-q --json - -c 2 --timeout 60s"),
                f"ws://127.0.0.1:{server.port}/",
            ]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                while server.connections < 2:
                    time.sleep(0.01)
                process.send_signal(signal.SIGTERM)
                out, _ = process.communicate(timeout=10)
        self.assertEqual(process.returncode, 2)
        self.assertEqual(json.loads(out)["window"]["stopped_by"], "signal")

    def test_wrong_command_lines(self) -> None:
        for words, said in (
            (["--duratoin", "1s", "http://127.0.0.1/"], "did you mean --duration?"),
            ([], "give a URL"),
            (["http://127.0.0.1:1/%zz z"], "a URL looks like"),
            (["--watch", "/nowhere", "http://127.0.0.1:1/"], "not a process id"),
            (["--json", "/nowhere/x", "http://127.0.0.1:1/"], "cannot write"),
            (["--source", "here", "http://127.0.0.1:1/"], "--source here"),
            (["--source", "::1", "http://127.0.0.1:1/"], "as the server, 127.0.0.1:1"),
            (
                ["--source", "127.0.0.7", "http://127.0.0.1:1/", "http://[::1]:1/"],
                "as the server, [::1]:1",
            ),
            (["ws://127.0.0.1:1/room/{random:1-9}"], "not in a WebSocket's path"),
            (["-H", "X-Id: {uuid}", "ws://127.0.0.1:1/"], "-H 'X-Id'"),
            (["--cpu", "4000", "-n", "1", "http://127.0.0.1:1/"], "--cpu"),
        ):
            with self.subTest(words):
                done = wireload(*words)
                self.assertEqual((done.returncode, done.stdout), (64, ""))
                self.assertTrue(done.stderr.startswith("wireload: "), done.stderr)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_name_without_an_address_is_no_wrong_command_line(self) -> None:
        """It ends like a server that refuses: either may be there later."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "result")
            for url in ("http://no-such-host.invalid/", "wss://no-such-host.invalid/room"):
                file.write_text("earlier")
                done = wireload("--json", str(file), "--fail-if", "errors>0", url)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("check the name", done.stderr)
                self.assertEqual(done.stderr.count("no-such-host.invalid"), 1, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertEqual(file.read_text(), "earlier")
        # What is wrong with the command line comes first.
        for words in (["--expect-body", "{uuid}"], ["--cacert", "/nowhere"], ["--cpu", "4000"]):
            done = wireload(*words, "https://no-such-host.invalid/")
            self.assertEqual(done.returncode, 64, done.stderr)

    def test_a_server_that_is_gone_costs_no_earlier_result(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "result")
            file.write_text("earlier")
            done = wireload("--watch", "/nowhere", "--json", str(file), "http://127.0.0.1:1/")
            self.assertEqual((done.returncode, file.read_text()), (64, "earlier"))

    def test_a_name_that_cannot_be_written_costs_no_earlier_result(self) -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(http_replies(lambda n: reply())) as server,
        ):
            file = Path(folder, "result")
            file.write_text("earlier" * 10_000)
            url = f"http://127.0.0.1:{server.port}/"
            done = wireload("--json", str(file), "--csv", "/nowhere/x", url)
            self.assertEqual((done.returncode, file.read_text()), (64, "earlier" * 10_000))
            self.assertIn("--csv /nowhere/x: cannot write this file", done.stderr)
            self.assertEqual(server.connections, 0)
            done = wireload("-q", "-n", "3", "--json", str(file), url)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(file.read_text())["requests"]["ok"], 3)

    def test_a_reader_of_standard_output_that_leaves_costs_no_file(self) -> None:
        reads, writes = os.pipe()
        os.close(reads)
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(http_replies(lambda n: reply())) as server,
        ):
            rows, log = Path(folder) / "s.csv", Path(folder) / "s.hlog"
            words = ["-d", "300ms", "-c", "2", "--interval", "50ms", "--csv", str(rows)]
            words += ["--hdr-log", str(log), f"http://127.0.0.1:{server.port}/"]
            done = subprocess.run(
                [WIRELOAD, *words], stdout=writes, stderr=subprocess.PIPE, timeout=60, check=False
            )
            os.close(writes)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(len(rows.read_text().splitlines()), 7)
            self.assertTrue(rows.read_text().endswith("\n"))
            self.assertTrue(log.read_text().endswith("\n"))

    def test_nothing_is_printed_into_a_file_where_a_standard_stream_is_closed(self) -> None:
        with (
            serving(http_replies(lambda n: reply())) as server,
            tempfile.TemporaryDirectory() as at,
        ):
            file = Path(at) / "out.json"
            asked = typed(f"-n 3 -c 1 --json {file} --csv - http://127.0.0.1:{server.port}/")
            for closed, code in (("2>&-", 0), (">&-", 2), ("<&- >&- 2>&-", 2)):
                done = subprocess.run(
                    ["/bin/sh", "-c", f'exec "$0" "$@" {closed}', WIRELOAD, *asked],
                    capture_output=True,
                    timeout=60,
                    check=False,
                )
                self.assertEqual(json.loads(file.read_bytes())["requests"]["ok"], 3, closed)
                self.assertEqual(done.returncode, code, closed)

    def test_what_standard_output_did_not_take_is_an_error(self) -> None:
        """Also what is larger than any buffer, of which nothing is left for the last flush."""
        with serving(http_replies(lambda n: reply())) as server:
            url = f"http://127.0.0.1:{server.port}/"
            long_field = "X-Long: " + "x" * 20_000
            for words in (
                ["-q", "--json", "-", "-n", "5", "-H", long_field, url],
                ["-n", "5", url],
                ["--print", "request", "-H", long_field, url],
                ["--manual"],
            ):
                with self.subTest(words[:3]), Path("/dev/full").open("w") as full:
                    done = subprocess.run(
                        [WIRELOAD, *words],
                        stdout=full,
                        stderr=subprocess.PIPE,
                        text=True,
                        timeout=60,
                        check=False,
                    )
                    self.assertEqual(done.returncode, 2)
                    self.assertIn("could not be written whole", done.stderr)

    def test_the_limit_of_open_files_is_explained(self) -> None:
        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))

        done = subprocess.run(
            [WIRELOAD, "--engine", "epoll", "-c", "500", "http://127.0.0.1:1/"],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
            preexec_fn=limit,
        )
        self.assertEqual(done.returncode, 64)
        self.assertIn("500 connections need", done.stderr)
        self.assertIn("ulimit -n", done.stderr)

    def test_the_soft_limit_is_raised(self) -> None:
        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (20, 1000))

        with serving(http_replies(lambda n: reply())) as server:
            command = [
                WIRELOAD,
                *typed("-c 40 -n 80 -t 1"),
                f"http://127.0.0.1:{server.port}/",
            ]
            self.assertEqual(
                subprocess.run(
                    command, capture_output=True, check=False, timeout=30, preexec_fn=limit
                ).returncode,
                0,
            )

    def test_source_addresses(self) -> None:
        peers: set[str] = set()

        def answer(server: Server, connection: Any, number: int, request: bytes) -> bool:
            peers.add(connection.getpeername()[0])
            connection.sendall(reply())
            return True

        with serving(http(answer)) as server:
            load(server, "-n", "8", "-c", "4", "--source", "127.0.0.7,127.0.0.8")
        self.assertEqual(peers, {"127.0.0.7", "127.0.0.8"})


if __name__ == "__main__":
    unittest.main()
