"""The effect of ``WIREBENCH_DELAY_MS`` and ``WIREBENCH_THREADS`` on ``rest``: the delay, and how
many requests run at once.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

from wirebench.catalog.workloads import REST_BODY
from wirebench.process import interrupt
from wirebench.verify import http
from wirebench.verify.checks import ATTEMPTS, Check, Mismatch
from wirebench.verify.http import Connection, Peer, SilenceError, at, connect
from wirebench.verify.http_checks import Exchange
from wirebench.verify.http_workloads import posting

DELAY_MS = 120
THREADS = 4
COARSE_MS = 2.0
"""The timers of some runtimes, such as Node.js, count in whole milliseconds and may end early."""


def delay_checks(peer: Peer, *, limited: bool = True, closes: bool = False) -> Iterator[Check]:
    """Checks for a server started with these two settings; if not ``limited``, with more threads
    than they can occupy. ``closes``: it ends each connection after its reply.
    """
    asked = posting(REST_BODY.encode())
    settings = f"WIREBENCH_DELAY_MS={DELAY_MS}"
    times = 1 if closes else 2
    yield Check(
        id="rest.delay",
        sent=f"{asked.sent}, {times} times on one connection, with {settings}",
        expected=f"each time {asked.expected} after {DELAY_MS} ms or more",
        run=lambda: _delayed(peer, asked, times),
    )
    if not limited:
        return
    settings = f"{settings} WIREBENCH_THREADS={THREADS}"
    yield Check(
        id="rest.threads",
        sent=f"{_numbered(THREADS)[0].sent} and so on, {THREADS} at once, with {settings}",
        expected=f"{THREADS} replies within {2 * DELAY_MS} ms, as each has a handler",
        run=lambda: _sooner(peer),
        # The timing also depends on the machine.
        required=False,
    )
    yield _handlers(peer, THREADS)


def one_handler_check(peer: Peer) -> Check:
    """For a server started with one thread and the delay: one that has as many handlers as it
    likes, whatever it is told, may have the right number by chance.
    """
    return replace(_handlers(peer, 1), id="rest.one_handler")


def _handlers(peer: Peer, threads: int) -> Check:
    settings = f"WIREBENCH_DELAY_MS={DELAY_MS} WIREBENCH_THREADS={threads}"
    return Check(
        id="rest.handlers",
        sent=f"{_numbered(1)[0].sent} and so on, {threads + 1} at once, with {settings}",
        expected=(
            f"each reply after {DELAY_MS} ms or more, and the last after {2 * DELAY_MS} ms or more:"
            " one request waits until a handler is free"
        ),
        run=lambda: _one_waits(peer, threads),
    )


def _delayed(peer: Peer, asked: Exchange, times: int) -> str:
    took_ms: list[float] = []
    with connect(peer) as connection:
        for number in range(1, times + 1):
            began = time.monotonic()
            connection.send(asked.request(peer))
            with at(f"request {number}: "):
                asked.judge(connection.read_response(), where=f"request {number}: ")
            took_ms.append((time.monotonic() - began) * 1000)
            _not_early(took_ms[-1], f"reply {number}")
    return f"replies after {' and '.join(f'{one:.0f}' for one in took_ms)} ms"


def _not_early(took_ms: float, what: str) -> None:
    if took_ms < DELAY_MS - COARSE_MS:
        raise Mismatch(
            expected=f"{what} after {DELAY_MS} ms or more", received=f"it after {took_ms:.0f} ms"
        )


def _sooner(peer: Peer) -> str:
    """Of several attempts: a busy machine makes each of them later, and none sooner."""
    took_ms = min(_at_once(peer, THREADS)[-1] for _ in range(ATTEMPTS))
    if took_ms >= 2 * DELAY_MS:
        raise Mismatch(
            expected=f"all within {2 * DELAY_MS} ms, as each has a handler",
            received=f"all after {took_ms:.0f} ms",
        )
    return f"all after {took_ms:.0f} ms"


def _one_waits(peer: Peer, threads: int) -> str:
    """A delay stands for processing and holds a handler. Otherwise a service that only waits would
    be compared with those that work.
    """
    first_ms, *_, last_ms = _at_once(peer, threads + 1)
    _not_early(first_ms, "each reply")
    if last_ms < 2 * (DELAY_MS - COARSE_MS):
        raise Mismatch(
            expected=f"the last after {2 * DELAY_MS} ms or more",
            received=f"the last after {last_ms:.0f} ms",
        )
    return f"the first after {first_ms:.0f} ms, the last after {last_ms:.0f} ms"


def _numbered(count: int) -> list[Exchange]:
    """A body of its own for each: handlers that share what they should not mix them up."""
    return [posting(f'{{"request":{number}}}'.encode()) for number in range(1, count + 1)]


def _at_once(peer: Peer, count: int) -> list[float]:
    """Send this many requests, each on its own connection; returns the milliseconds until each
    reply was there, in the order in which they came.
    """
    with ExitStack() as stack:
        waiting = stack.enter_context(selectors.DefaultSelector())
        asked: list[tuple[Exchange, Connection]] = []
        for one in _numbered(count):
            connection = Connection(peer)
            stack.callback(connection.close)
            waiting.register(connection, selectors.EVENT_READ, one)
            asked.append((one, connection))
        began = time.monotonic()
        for one, connection in asked:
            # A server with a thread for each connection is free for the next only when one is
            # closed.
            connection.send(one.request(peer, close=True))
        took_ms: list[float] = []
        while waiting.get_map():
            with interrupt.waiting():
                ready = waiting.select(http.TIMEOUT_S)
            if not ready:
                raise SilenceError(
                    f"{len(took_ms)} of {count} replies, and no more in {http.TIMEOUT_S:g} s"
                )
            for key, _ in ready:
                answered = key.fileobj
                assert isinstance(answered, Connection)
                key.data.judge(answered.read_response())
                took_ms.append((time.monotonic() - began) * 1000)
                waiting.unregister(answered)
        return took_ms
