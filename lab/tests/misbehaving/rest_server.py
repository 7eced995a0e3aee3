"""A server for ``rest`` that does one thing wrong, or none: ``rest_server.py FAULT``."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FAULT = sys.argv[1]
DELAY_S = float(os.environ["WIREBENCH_DELAY_MS"]) / 1000
THREADS = {"always_four_handlers": 4, "any_handlers": 100}.get(
    FAULT, int(os.environ["WIREBENCH_THREADS"])
)
handlers = threading.Semaphore(THREADS)
replies: dict[int, bytes] = {}


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def is_json(body: bytes) -> bool:
    if FAULT == "pairs_brackets":
        text = body.decode()
        braces = text.count("{") == text.count("}") and text.count("[") == text.count("]")
        return text.endswith(("}", "]")) and braces and "{ param1" not in text
    if FAULT == "ends_at_depth" and body.startswith(b"[["):
        os._exit(7)
    try:
        json.loads(body, parse_constant=float if FAULT == "reads_nan" else refuse)
    except (ValueError, RecursionError):
        return False
    return True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    posted = 0
    first = b""

    def do_GET(self) -> None:
        if self.path == "/test/status":
            self.say(200, b"OK")
        elif self.path.startswith("/test/labels/") and self.path.count("/") == 3:
            self.say(200, b"label: " + self.path.rpartition("/")[2].encode())
        elif self.path == "/test":
            self.say(405, b"", Allow="POST")
        else:
            self.say(404, b"no such thing")

    def do_DELETE(self) -> None:
        self.say(405, b"")

    def do_POST(self) -> None:
        body = self.read_body()
        self.posted += 1
        if self.path == "/test/status":
            self.say(405, b"")
        elif self.path != "/test" and FAULT != "posts_anywhere":
            self.say(404, b"no such thing")
        elif not self.leaves_unchecked(body) and not is_json(body):
            self.say(400, b"no JSON")
        else:
            self.process(b"Sending response: " + body)

    def leaves_unchecked(self, body: bytes) -> bool:
        content_type = self.headers["Content-Type"]
        return (
            (FAULT == "checks_the_first" and self.posted > 1)
            or (FAULT == "takes_any_text" and content_type == "text/plain")
            or (FAULT == "needs_a_type" and content_type is None)
            or (FAULT == "skips_nothing_untyped" and content_type is None and not body)
        )

    def read_body(self) -> bytes:
        size = int(self.headers["Content-Length"] or 0)
        if FAULT == "ends_in_chunk" and "Transfer-Encoding" in self.headers:
            size = -1  # to the end of the connection
        if FAULT == "ends_at_length" and size == 2**30:
            os._exit(7)
        if FAULT == "ends_at_sign" and size == 2**63 - 1:
            os._exit(7)
        try:
            body = self.rfile.read(size)
        except ConnectionResetError:
            if FAULT == "ends_at_reset":
                os._exit(7)
            raise
        if FAULT == "ends_in_body" and len(body) < size:
            os._exit(7)
        if size < 0 and not body.endswith(b"0\r\n\r\n"):
            os._exit(7)
        return body

    def process(self, reply: bytes) -> None:
        if FAULT == "caches_by_length":
            reply = replies.setdefault(len(reply), reply)
        if FAULT == "repeats_itself":
            reply = self.first = self.first or reply
        if not (FAULT == "delays_the_first" and self.posted > 1):
            with handlers:
                time.sleep(0 if FAULT == "never_delays" else DELAY_S)
        self.say(200, reply)

    def say(self, status: int, body: bytes, **fields: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        cut = FAULT == "counts_short" and status == 404
        self.send_header("Content-Length", str(len(body) - cut))
        if FAULT == "two_lengths":
            self.send_header("Content-Length", str(len(body) + 1))
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Says nothing."""


class Server(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True


if FAULT == "writes_a_log":
    Path(os.environ["SOURCE"], "server.log").write_text("a line")
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
Server((os.environ["WIREBENCH_HOST"], int(os.environ["WIREBENCH_PORT"])), Handler).serve_forever()
