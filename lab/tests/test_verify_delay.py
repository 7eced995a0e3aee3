"""The checks of ``rest`` with a delay, against servers that hold to their handlers and servers that
do not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from wirebench.verify.checks import run_checks
from wirebench.verify.delay_checks import DELAY_MS, THREADS, delay_checks
from wirebench.verify.http import Peer


@contextmanager
def serving(
    handlers: AbstractContextManager[object],
    *,
    delay_ms: float = DELAY_MS,
    mixes_up: bool = False,
) -> Iterator[Peer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        last = b""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            Handler.last = body
            with handlers:
                time.sleep(delay_ms / 1000)
            reply = b"Sending response: " + (Handler.last if mixes_up else body)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Peer(port=server.server_address[1])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def failed(peer: Peer) -> list[str]:
    return [
        result.id
        for result in run_checks(delay_checks(peer), alive=lambda: True)
        if result.required and not result.passed
    ]


def test_one_that_stands_still_with_few_threads_is_not_held_to_their_number() -> None:
    with serving(nullcontext()) as peer:
        assert [check.id for check in delay_checks(peer, limited=False)] == ["rest.delay"]
        results = run_checks(delay_checks(peer, limited=False), alive=lambda: True)
        assert all(result.passed for result in results)


def test_as_many_handlers_as_threads_pass() -> None:
    with serving(threading.Semaphore(THREADS)) as peer:
        assert failed(peer) == []


def test_waiting_without_a_handler_is_found() -> None:
    with serving(nullcontext()) as peer:
        assert failed(peer) == ["rest.handlers"]


def test_replies_to_other_requests_are_found() -> None:
    with serving(threading.Semaphore(THREADS), mixes_up=True) as peer:
        assert failed(peer) == ["rest.handlers"]


def test_a_reply_before_the_delay_is_found() -> None:
    with serving(threading.Semaphore(THREADS), delay_ms=1) as peer:
        assert failed(peer) == ["rest.delay", "rest.handlers"]
