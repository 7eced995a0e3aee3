"""The effect of ``WIREBENCH_DELAY_MS`` and ``WIREBENCH_THREADS`` on ``rest``: the delay, and how
many requests run at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

from wirebench.catalog.workloads import REST_BODY
from wirebench.verify.checks import Check, Mismatch
from wirebench.verify.http import Connection, Peer, exchange
from wirebench.verify.http_checks import Exchange
from wirebench.verify.http_workloads import posting

DELAY_MS = 120
THREADS = 4


def delay_checks(peer: Peer, *, limited: bool = True) -> Iterator[Check]:
    """Checks for a server started with these two settings; if not ``limited``, with more threads
    than they can occupy.
    """
    asked = posting(REST_BODY.encode())
    what = f"{asked.sent}, with WIREBENCH_DELAY_MS={DELAY_MS}"
    settings = f"WIREBENCH_DELAY_MS={DELAY_MS} WIREBENCH_THREADS={THREADS}"

    def delayed() -> str:
        began = time.monotonic()
        asked.judge(exchange(peer, asked.request(peer)))
        took_ms = (time.monotonic() - began) * 1000
        if took_ms < DELAY_MS:
            raise Mismatch(
                expected=f"the reply after {DELAY_MS} ms or more",
                received=f"the reply after {took_ms:.0f} ms",
            )
        return f"the reply after {took_ms:.0f} ms"

    yield Check(
        id="rest.delay",
        sent=what,
        expected=f"{asked.expected} after {DELAY_MS} ms or more",
        run=delayed,
    )
    if not limited:
        return
    yield Check(
        id="rest.threads",
        sent=f"{_numbered(THREADS)[0].sent} and so on, {THREADS} at once, with {settings}",
        expected=f"{THREADS} replies sooner than {THREADS} delays one after another",
        run=lambda: _sooner(peer),
        # The timing also depends on the machine.
        required=False,
    )
    yield Check(
        id="rest.handlers",
        sent=f"{_numbered(THREADS)[0].sent} and so on, {THREADS + 1} at once, with {settings}",
        expected=(
            f"the last reply after {2 * DELAY_MS} ms or more: one request waits until a handler is"
            " free"
        ),
        run=lambda: _one_waits(peer),
    )


def _sooner(peer: Peer) -> str:
    took_ms = _at_once(peer, THREADS)
    if took_ms >= THREADS * DELAY_MS:
        raise Mismatch(
            expected=f"all within {THREADS * DELAY_MS} ms", received=f"all after {took_ms:.0f} ms"
        )
    return f"all after {took_ms:.0f} ms"


def _one_waits(peer: Peer) -> str:
    """A delay stands for processing and holds a handler. Otherwise a service that only waits would
    be compared with those that work.
    """
    took_ms = _at_once(peer, THREADS + 1)
    if took_ms < 2 * DELAY_MS:
        raise Mismatch(
            expected=f"the last after {2 * DELAY_MS} ms or more",
            received=f"the last after {took_ms:.0f} ms",
        )
    return f"the last after {took_ms:.0f} ms"


def _numbered(count: int) -> list[Exchange]:
    """A body of its own for each: handlers that share what they should not mix them up."""
    return [posting(f'{{"request":{number}}}'.encode()) for number in range(1, count + 1)]


def _at_once(peer: Peer, count: int) -> float:
    """Send this many requests, each on its own connection; returns milliseconds until the last
    reply.
    """
    asked = _numbered(count)
    with ExitStack() as stack:
        connections = []
        for _ in range(count):
            connection = Connection(peer)
            stack.callback(connection.close)
            connections.append(connection)
        began = time.monotonic()
        for connection, one in zip(connections, asked, strict=True):
            # A server with a thread for each connection is free for the next only when one is
            # closed.
            connection.send(one.request(peer, close=True))
        for connection, one in zip(connections, asked, strict=True):
            one.judge(connection.read_response())
        return (time.monotonic() - began) * 1000
