"""What wireload prints and writes, its exit codes, and how it ends when it is told to."""

from __future__ import annotations

import csv
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

SCHEMA = json.loads(
    (Path(__file__).parent.parent / "schema" / "wireload-1.schema.json").read_text()
)


def violations(value: Any, schema: dict[str, Any], at: str = "$") -> list[str]:
    """The keywords of JSON Schema that our schema uses, and no others."""
    known = {
        "$schema",
        "$id",
        "$defs",
        "title",
        "description",
        "type",
        "const",
        "enum",
        "anyOf",
        "$ref",
        "required",
    }
    known |= {"properties", "additionalProperties", "items", "minimum", "maximum"}
    found = [
        f"{at}: the schema uses {key}, which this test does not know"
        for key in schema.keys() - known
    ]
    if "$ref" in schema:
        found += violations(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")], at)
    if "anyOf" in schema and all(violations(value, option, at) for option in schema["anyOf"]):
        found.append(f"{at}: none of the alternatives: {value!r}")
    types = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "null": type(None),
        "integer": int,
        "number": (int, float),
    }
    if "type" in schema:
        wrong_bool = isinstance(value, bool) and schema["type"] != "boolean"
        if wrong_bool or not isinstance(value, types[schema["type"]]):
            return [*found, f"{at}: {value!r} is not of type {schema['type']}"]
    if ("const" in schema and value != schema["const"]) or (
        "enum" in schema and value not in schema["enum"]
    ):
        found.append(f"{at}: {value!r} is not allowed")
    if value is not None and (
        ("minimum" in schema and value < schema["minimum"])
        or ("maximum" in schema and value > schema["maximum"])
    ):
        found.append(f"{at}: {value!r} is out of range")
    if isinstance(value, dict) and schema.get("type") == "object":
        properties = schema.get("properties", {})
        found += [
            f"{at}: {key} is missing" for key in schema.get("required", []) if key not in value
        ]
        for key, item in value.items():
            inner = properties.get(key, schema.get("additionalProperties", True))
            if inner is False:
                found.append(f"{at}: {key} is not known to the schema")
            elif isinstance(inner, dict):
                found += violations(item, inner, f"{at}.{key}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            found += violations(item, schema["items"], f"{at}[{i}]")
    return found


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

    def test_slow_rates_have_their_digits(self) -> None:
        with serving(http_replies(lambda n: reply(), after_s=lambda n: 0.4)) as server:
            closed = load(server, *typed("-n 2 -c 1"))
            opened = load(server, *typed("-d 900ms --rate 2.5 -c 4"))
        self.assertRegex(closed.screen, r"2 right in .*: [12]\.\d+/s\n")
        self.assertIn("3 due, 3.33/s; sent 3.33/s", opened.screen)

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
        code, document = self.interrupted([signal.SIGINT], "-d", "60s", "--warmup", "60s")
        self.assertEqual(code, 2)
        self.assertEqual(document["window"]["stopped_by"], "signal")
        self.assertEqual(document["requests"]["ok"], 0)

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
            (["http://no-such-host.invalid/"], "check the name"),
            (["--watch", "/nowhere", "http://127.0.0.1:1/"], "not a process id"),
            (["--json", "/nowhere/x", "http://127.0.0.1:1/"], "cannot write"),
            (["--source", "here", "http://127.0.0.1:1/"], "--source here"),
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

    def test_a_server_that_is_gone_costs_no_earlier_result(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "result")
            file.write_text("earlier")
            done = wireload("--watch", "/nowhere", "--json", str(file), "http://127.0.0.1:1/")
            self.assertEqual((done.returncode, file.read_text()), (64, "earlier"))

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
