"""A stand-in for the load generator: same command line (what the lab uses of it), same document,
one connection at a time.

For http, closed loop by time or count. It checks every reply and tells errors apart as the real one
does.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import sys
import time
import urllib.parse
from collections import Counter
from pathlib import Path

KINDS = (
    "connect_refused",
    "connect_timeout",
    "connect_failed",
    "tls",
    "closed_early",
    "read_timeout",
    "bad_status",
    "bad_body",
    "protocol",
)


class WrongError(Exception):
    pass


class StoppedError(Exception):
    pass


def seconds(text: str) -> float:
    for unit, size in (("ms", 1e-3), ("us", 1e-6), ("s", 1.0)):
        if text.endswith(unit):
            return float(text[: -len(unit)]) * size
    raise ValueError(text)


def stop(*_: object) -> None:
    raise StoppedError


class Load:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.target = urllib.parse.urlsplit(options.url)
        body = (options.body or "").encode()
        head = f"{options.method} {self.target.path} HTTP/1.1\r\nHost: {self.target.netloc}\r\n"
        self.request = (
            head + (f"Content-Length: {len(body)}\r\n" if body else "") + "\r\n"
        ).encode() + body
        self.connection: socket.socket | None = None
        self.connect = Counter[str]()
        self.errors = Counter[str]()
        self.first: dict[str, str] | None = None
        self.times: list[int] = []

    def one(self) -> None:
        start = time.perf_counter_ns()
        try:
            self.exchange()
            self.times.append(time.perf_counter_ns() - start)
        except WrongError as wrong:
            kind, received = wrong.args
            self.errors[kind] += 1
            if self.first is None:
                expected = f"{self.options.expect_status} {self.options.expect_body}"
                self.first = {
                    "kind": kind,
                    "sent": self.request.decode(),
                    "expected": expected,
                    "received": received,
                }
            if self.connection is not None:
                self.connection.close()
                self.connection = None

    def exchange(self) -> None:
        if self.connection is None:
            self.connect["attempted"] += 1
            try:
                self.connection = socket.create_connection(
                    (self.target.hostname, self.target.port), timeout=seconds(self.options.timeout)
                )
            except OSError as error:
                self.connect["failed"] += 1
                raise WrongError("connect_refused", str(error)) from error
            self.connect["opened"] += 1
        try:
            self.connection.sendall(self.request)
            data = b""
            while b"\r\n\r\n" not in data:
                data += self.receive()
            head, _, body = data.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split()[0])
            while len(body) < length:
                body += self.receive()
        except TimeoutError as error:
            raise WrongError("read_timeout", "nothing") from error
        except OSError as error:
            raise WrongError("closed_early", f"closed: {error}") from error
        if int(head.split()[1]) != self.options.expect_status:
            raise WrongError("bad_status", head.decode())
        if body.decode() != self.options.expect_body:
            raise WrongError("bad_body", body.decode())
        if self.options.no_keepalive:
            self.connection.close()
            self.connection = None

    def receive(self) -> bytes:
        assert self.connection is not None
        data = self.connection.recv(65536)
        if not data:
            raise ConnectionError("closed")
        return data


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    for name in (
        "--json",
        "--threads",
        "--cpu",
        "--watch",
        "--timeout",
        "--seed",
        "--pipeline",
        "--interval",
        "--body",
    ):
        parser.add_argument(name)
    parser.add_argument("--method", default="GET")
    parser.add_argument("--header", action="append")
    parser.add_argument("--expect-status", type=int)
    parser.add_argument("--expect-body")
    parser.add_argument("--warmup", default="0s")
    parser.add_argument("-d", dest="duration")
    parser.add_argument("-c", dest="connections", type=int)
    parser.add_argument("--each", type=int)
    parser.add_argument("--no-keepalive", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    load = Load(options)
    signal.signal(signal.SIGTERM, stop)
    began, stopped_by = time.monotonic(), "duration" if options.duration else "requests"
    try:
        if options.duration:
            while time.monotonic() - began < seconds(options.duration):
                load.one()
        else:
            for _ in range(options.each * options.connections):
                load.one()
    except StoppedError:
        stopped_by = "signal"
    elapsed = round((time.monotonic() - began) * 1e9)
    times, errors = sorted(load.times), sum(load.errors.values())
    document = {
        "schema": "wireload/1",
        "version": "0",
        "command": sys.argv,
        "connect": {
            **dict.fromkeys(("attempted", "opened", "failed"), 0),
            **load.connect,
            "elapsed_ns": 1000,
        },
        "window": {"start_unix_ns": 1, "elapsed_ns": elapsed, "stopped_by": stopped_by},
        "requests": {
            "sent": len(times) + errors,
            "ok": len(times),
            "errors": errors,
            "rate_per_s": len(times) / elapsed * 1e9,
            "connections_opened": load.connect["opened"],
        },
        "errors": {kind: load.errors[kind] for kind in KINDS},
        "first_error": load.first,
        "status_codes": {},
        "latency": {
            "count": len(times),
            "min_ns": times[0] if times else None,
            "mean_ns": sum(times) / len(times) if times else None,
            "max_ns": times[-1] if times else None,
            "percentiles_ns": {"50": times[len(times) // 2] if len(times) > 20 else None},
            "histogram": "none",
        },
        "little": {"in_flight_mean": 1.0, "samples": 10, "ratio": 1.0},
        "generator": {
            "cpu_user_ns": 1,
            "cpu_system_ns": 1,
            "cpu_share": 0.5,
            "involuntary_switches": 0,
        },
        "server": {
            "cpu_user_ns": 1000,
            "cpu_system_ns": 1000,
            "rss_bytes": 1,
            "rss_peak_bytes": 2,
            "pss_bytes": None,
            "processes": 1,
        },
        "series": {
            "interval_ns": 100,
            "ok": [len(times)],
            "errors": [errors],
            "p50_ns": [1],
            "max_ns": [1],
        },
        "rounds": None,
    }
    Path(options.json).write_text(json.dumps(document))
    if not times:
        return 2
    return 1 if errors else 0


sys.exit(main())
