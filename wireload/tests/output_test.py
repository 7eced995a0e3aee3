"""What wireload writes: its document, histograms and CSV; and its exit codes by thresholds."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from pathlib import Path
from typing import Any

from document_schema import SCHEMA, violations
from servers import (
    CSV_COLUMNS,
    TEXT,
    WIRELOAD,
    Server,
    frame,
    http,
    http_replies,
    load,
    reply,
    serving,
    typed,
    wireload,
    ws_replies,
)

try:
    from hdrh.histogram import HdrHistogram
    from hdrh.log import HistogramLogReader
except ImportError:
    HdrHistogram = None


class Document(unittest.TestCase):
    def check(self, document: dict[str, Any]) -> None:
        self.assertEqual(violations(document, SCHEMA), [])

    def test_matches_its_schema_in_every_mode(self) -> None:
        with serving(http_replies(lambda n: reply(b"x" if n % 5 else b"y"))) as server:
            self.check(load(server, "-n", "50", "--expect-body", "x").document)
            self.check(
                load(
                    server, "-d", "200ms", "--warmup", "50ms", "--watch", str(os.getpid())
                ).document
            )
            self.check(load(server, "-n", "5", "--no-keepalive", "--no-histogram").document)
            server.stop_listening()
            self.check(load(server, "-n", "5").document)
        with serving(ws_replies(lambda n, message: frame(TEXT, message))) as server:
            self.check(
                load(
                    server,
                    *typed("--ramp-rounds 2 --ramp-add 3 --watch"),
                    str(os.getpid()),
                    scheme="ws",
                ).document
            )

    def test_the_check_itself_finds_faults(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            document = load(server, "-n", "5").document
        for change in (
            {"schema": "wireload/2"},
            {"requests": {**document["requests"], "sent": -1}},
            {"requests": {**document["requests"], "sent": 1.5}},
            {"extra": 1},
            {"rounds": [{}]},
            {"server": {"cpu_user_ns": 1}},
        ):
            self.assertNotEqual(violations({**document, **change}, SCHEMA), [], change)
        del document["little"]
        self.assertNotEqual(violations(document, SCHEMA), [])

    def test_names_the_target_and_the_command(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            document = load(server, "-n", "1", "-c", "1", path="/a?b").document
        self.assertEqual(document["target"]["path"], "/a?b")
        self.assertEqual(document["target"]["port"], server.port)
        self.assertEqual(document["command"][0], WIRELOAD)
        self.assertEqual(document["plan"]["requests"], 1)

    def test_an_error_with_bytes_that_are_no_text(self) -> None:
        with serving(http_replies(lambda n: reply(bytes(range(256)) * 4))) as server:
            first = load(server, "-n", "1", "-c", "1", "--expect-body", "x").document["first_error"]
        self.assertIn("\\x00\\x01", first["received"])
        self.assertIn("bytes in all", first["received"])

    def test_an_error_tells_how_long_what_it_shows_the_beginning_of_is(self) -> None:
        with serving(http_replies(lambda n: b"z" * 3000)) as server:
            first = load(server, *typed("-n 1 -c 1 -b"), "y" * 5000).document["first_error"]
            sent = len(server.seen[0])
        self.assertTrue(first["sent"].endswith(f"yyy... ({sent} bytes in all)"), first)
        self.assertTrue(first["received"].endswith("zzz... (3000 bytes in all)"), first)

    def test_a_watched_server(self) -> None:
        def busy(server: Server, connection: Any, number: int, request: bytes) -> bool:
            end = time.thread_time() + 0.002
            while time.thread_time() < end:
                pass
            connection.sendall(reply())
            return True

        with serving(http(busy)) as server:
            document = load(server, "-n", "30", "-c", "1", "--watch", str(os.getpid())).document
            unwatched = load(server, "-n", "1", "-c", "1").document
        usage, connecting = document["server"], document["connect"]["server"]
        self.assertGreater(connecting["cpu_user_ns"] + connecting["cpu_system_ns"], 0)
        self.assertLess(
            connecting["cpu_user_ns"] + connecting["cpu_system_ns"],
            usage["cpu_user_ns"] + usage["cpu_system_ns"],
            "no request is in it",
        )
        self.assertIsNone(unwatched["connect"]["server"])
        self.assertGreaterEqual(usage["cpu_user_ns"] + usage["cpu_system_ns"], 60_000_000)
        self.assertGreaterEqual(usage["processes"], 1)
        self.assertGreater(usage["rss_bytes"], 1 << 20)
        self.assertIsNone(usage["kernel_bytes"], "a process has no cgroup of its own")
        self.assertIsInstance(usage["host_kernel_growth_bytes"], int)

    def test_what_a_watched_server_began_in_the_warm_up_counts_from_the_window_on(self) -> None:
        # It begins another process with the first request, which works at once and never again.
        server_program = (
            "import os, sys, time\n"
            "sys.stdin.read(1)\n"
            "if os.fork() == 0:\n"
            "    while time.process_time() < 0.3: pass\n"
            "    time.sleep(60)\n"
            "os.wait()\n"
        )
        for words in ("--warmup 2s -d 200ms -c 1", "--warmup 2s -d 200ms -c 1 --rate 50"):
            with subprocess.Popen(
                [sys.executable, "-c", server_program],
                stdin=subprocess.PIPE,
                start_new_session=True,
            ) as watched:

                def answer(
                    _server: Server,
                    connection: Any,
                    number: int,
                    _request: bytes,
                    orders: Any = watched.stdin,
                ) -> bool:
                    if number == 1:
                        orders.write(b"x")
                        orders.flush()
                    time.sleep(0.005)
                    connection.sendall(reply())
                    return True

                try:
                    with serving(http(answer)) as server:
                        run = load(server, *typed(words), "--watch", str(watched.pid))
                finally:
                    os.killpg(watched.pid, signal.SIGKILL)
            usage = run.document["server"]
            self.assertEqual(usage["processes"], 2)
            self.assertLess(usage["cpu_user_ns"] + usage["cpu_system_ns"], 150_000_000, words)

    def test_files_and_standard_output(self) -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(http_replies(lambda n: reply())) as server,
        ):
            path = Path(folder) / "out.json"
            done = wireload(
                "-n", "5", "--json", str(path), "--quiet", f"http://127.0.0.1:{server.port}/"
            )
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual(json.loads(path.read_text())["requests"]["ok"], 5)


class Signals(unittest.TestCase):
    def test_one_while_results_are_written_cuts_none(self) -> None:
        """The CSV, which comes last, goes into a pipe that is full and not read until then."""
        words = typed("-q -c 2 -d 400ms --interval 1ms --threads 1")
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(http_replies(lambda n: reply())) as server,
        ):
            document, log, pipe = (Path(folder) / name for name in ("json", "log", "csv"))
            os.mkfifo(pipe)
            reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            capacity = fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, 4096)
            files = ["--json", str(document), "--hdr-log", str(log), "--csv", str(pipe)]
            with subprocess.Popen(
                [WIRELOAD, *words, *files, f"http://127.0.0.1:{server.port}/"]
            ) as process:
                try:
                    while in_pipe(reading) < capacity:
                        self.assertIsNone(process.poll(), "it ended with the pipe not full")
                        time.sleep(0.01)
                    process.send_signal(signal.SIGTERM)
                    os.set_blocking(reading, True)
                    with os.fdopen(reading, newline="") as rest:
                        rows = list(csv.DictReader(rest))
                    self.assertEqual(process.wait(30), 0)
                finally:
                    process.kill()
            series = json.loads(document.read_text())["series"]
            self.assertEqual([int(row["ok"]) for row in rows], series["ok"])
            intervals = [line for line in log.read_text().splitlines() if line[0].isdigit()]
            self.assertEqual(len(intervals), len(rows))


def in_pipe(reading: int) -> int:
    """Bytes that nobody has read."""
    size = fcntl.ioctl(reading, termios.FIONREAD, b"\0" * 4)
    return int.from_bytes(size, sys.byteorder)


def value_at(values: Any, percent: int) -> int:
    """By definition the rank is rounded up; the package itself rounds it to the nearest."""
    seen = 0
    for item in values.get_recorded_iterator():
        seen += item.count_added_in_this_iter_step
        if seen * 100 >= percent * values.get_total_count():
            return min(item.value_iterated_to, values.get_max_value())
    raise AssertionError("empty")


@unittest.skipIf(HdrHistogram is None, "the PyPI package hdrhistogram is not installed")
class Histograms(unittest.TestCase):
    def test_another_implementation_reads_the_same_figures(self) -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(http_replies(lambda n: reply())) as server,
        ):
            log = Path(folder) / "out.hlog"
            latency = load(
                server, "-d", "400ms", "-c", "3", "--interval", "100ms", "--hdr-log", str(log)
            ).document["latency"]
            decoded = HdrHistogram.decode(latency["histogram"])
            self.assertEqual(decoded.get_total_count(), latency["count"])
            self.assertEqual(
                (decoded.lowest_trackable_value, decoded.highest_trackable_value),
                (1, 3_600_000_000_000),
            )
            for percent in (50, 75, 90):
                self.assertEqual(
                    value_at(decoded, percent), latency["percentiles_ns"][str(percent)]
                )
            self.assertTrue(
                decoded.values_are_equivalent(decoded.get_max_value(), latency["max_ns"])
            )
            self.assertTrue(
                decoded.values_are_equivalent(decoded.get_min_value(), latency["min_ns"])
            )
            self.assertAlmostEqual(
                decoded.get_mean_value(), latency["mean_ns"], delta=latency["mean_ns"] / 1000
            )

            merged = HdrHistogram(1, 3_600_000_000_000, 3)
            reader = HistogramLogReader(str(log), merged)
            intervals = 0
            while (interval := reader.get_next_interval_histogram()) is not None:
                merged.add(interval)
                intervals += 1
            reader.input_file.close()
            self.assertEqual(intervals, 4)
            self.assertEqual(merged.get_total_count(), latency["count"])
            self.assertEqual(value_at(merged, 90), latency["percentiles_ns"]["90"])


class Thresholds(unittest.TestCase):
    def judged(self, *conditions: str, wrong_every: int = 0) -> tuple[int, list[dict[str, Any]]]:
        words = [word for condition in conditions for word in ("--fail-if", condition)]
        with serving(
            http_replies(lambda n: reply(b"y" if wrong_every and n % wrong_every == 0 else b"x"))
        ) as server:
            run = load(server, "-n", "100", "-c", "2", "--expect-body", "x", *words)
        self.assertEqual(violations(run.document, SCHEMA), [])
        return run.code, run.document["thresholds"]

    def test_exit_codes(self) -> None:
        self.assertEqual(self.judged(), (0, []))
        self.assertEqual(self.judged("max>1h", "errors>0", "ok<100", "rate<0.001")[0], 0)
        self.assertEqual(self.judged("max>1h", "min>=1ns")[0], 3)
        # Errors alone are 1; a condition on errors says instead how many are too many.
        self.assertEqual(self.judged("max>1h", wrong_every=10)[0], 1)
        self.assertEqual(self.judged("errors>10", wrong_every=10)[0], 0)
        self.assertEqual(self.judged("errors>10%", wrong_every=10)[0], 0)
        self.assertEqual(self.judged("errors>9.9%", wrong_every=10)[0], 3)
        self.assertEqual(self.judged("ok<91", wrong_every=10)[0], 3)

    def test_what_cannot_be_decided_fails(self) -> None:
        code, (decided, undecided) = self.judged("p90>1h", "p99>1h")
        self.assertEqual(code, 3)
        self.assertIs(decided["holds"], False)
        self.assertGreater(decided["value"], 0)
        self.assertEqual(
            undecided,
            {"text": "p99>1h", "value": None, "limit": 3.6e12, "unit": "ns", "holds": None},
        )

    def test_without_a_summary_it_is_said_what_is_not_decided(self) -> None:
        words = ("-q", "-n", "100", "--fail-if", "p99>1h")
        with serving(http_replies(lambda n: reply())) as server:
            run = load(server, *words, "--fail-if", "max>1h")
        self.assertEqual(run.code, 3)
        said = "wireload: --fail-if 'p99>1h': not decided: 100 samples, it takes 1000\n"
        self.assertEqual(run.screen, said)

    def test_nothing_measured_stays_2(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            server.stop_listening()
            self.assertEqual(load(server, "-n", "5", "--fail-if", "errors>99").code, 2)


class Csv(unittest.TestCase):
    def rows(
        self, *arguments: str, replies: Any, scheme: str = "http"
    ) -> tuple[list[dict[str, str]], dict[str, Any]]:
        with tempfile.TemporaryDirectory() as folder, serving(replies) as server:
            path = Path(folder) / "series.csv"
            document = load(server, "--csv", str(path), *arguments, scheme=scheme).document
            with path.open(newline="") as file:
                reader = csv.DictReader(file)
                self.assertEqual(reader.fieldnames, list(CSV_COLUMNS))
                return list(reader), document

    def test_one_line_for_each_interval(self) -> None:
        words = ("-d", "250ms", "-c", "2", "--interval", "100ms", "--expect-body", "x")
        rows, document = self.rows(
            *words, replies=http_replies(lambda n: reply(b"x" if n % 7 else b"y"))
        )
        self.assertEqual(
            [(row["time_s"], row["length_s"]) for row in rows[:2]],
            [("0.000000", "0.100000"), ("0.100000", "0.100000")],
        )
        self.assertEqual(len(rows), 3)
        for column in ("ok", "errors"):
            self.assertEqual([int(row[column]) for row in rows], document["series"][column])
        self.assertEqual(sum(int(row["ok"]) for row in rows), document["requests"]["ok"])
        self.assertEqual(
            [round(float(row["p50_us"]) * 1000) for row in rows], document["series"]["p50_ns"]
        )
        self.assertEqual(
            [round(float(row["max_us"]) * 1000) for row in rows], document["series"]["max_ns"]
        )
        for row in rows:
            self.assertAlmostEqual(
                float(row["rate_per_s"]), int(row["ok"]) / float(row["length_s"]), delta=0.01
            )

    def test_replies_after_the_window_of_an_open_loop_have_lines_of_their_own(self) -> None:
        words = typed("--rate 100 -d 250ms -c 25 --interval 100ms")
        rows, document = self.rows(
            *words, replies=http_replies(lambda n: reply(), after_s=lambda n: 0.3)
        )
        starts = [float(row["time_s"]) for row in rows]
        self.assertEqual(starts[:5], [0, 0.1, 0.2, 0.3, 0.4])
        self.assertEqual([float(row["length_s"]) for row in rows[:4]], [0.1] * 4)
        self.assertEqual([int(row["ok"]) for row in rows[:3]], [0, 0, 0])
        self.assertEqual(sum(int(row["ok"]) for row in rows), document["requests"]["ok"])

    def test_what_got_no_reply_until_the_end_has_a_line_of_that_time(self) -> None:
        def first_only(server: Server, connection: Any, number: int, request: bytes) -> bool:
            if number == 1:
                connection.sendall(reply())
            return True

        words = typed("--rate 20 -d 200ms -c 1 --interval 100ms --timeout 500ms")
        rows, document = self.rows(*words, replies=http(first_only))
        # The second request times out after 500 ms, and the third is left at the end, at 700 ms.
        self.assertEqual(document["errors"]["read_timeout"], 2)
        self.assertGreaterEqual(document["open_loop"]["drain_ns"], 500_000_000)
        starts = [float(row["time_s"]) for row in rows]
        self.assertEqual(starts, [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        self.assertGreaterEqual(int(rows[-1]["errors"]), 2)

    def test_one_line_for_each_round(self) -> None:
        words = ("--ramp-rounds", "3", "--ramp-add", "2", "--ramp-messages", "4")
        rows, document = self.rows(
            *words, replies=ws_replies(lambda n, message: frame(TEXT, message)), scheme="ws"
        )
        self.assertEqual([int(row["ok"]) for row in rows], [8, 16, 24])
        self.assertEqual([row["p99_us"] for row in rows], ["", "", ""])
        lengths = [round_["elapsed_ns"] / 1e9 for round_ in document["rounds"]]
        for row, length in zip(rows, lengths, strict=True):
            self.assertAlmostEqual(float(row["length_s"]), length, delta=2e-6)

    def test_on_standard_output_the_summary_keeps_away(self) -> None:
        with serving(http_replies(lambda n: reply())) as server:
            done = wireload("-n", "20", "--csv", "-", f"http://127.0.0.1:{server.port}/")
        self.assertTrue(done.stdout.startswith("time_s,"))
        self.assertEqual({line.count(",") for line in done.stdout.splitlines()}, {8})
        self.assertIn("right in", done.stderr)


if __name__ == "__main__":
    unittest.main()
