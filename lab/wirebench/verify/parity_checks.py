"""What must be alike for all servers and shows from outside: small replies that leave at once, one
handler for one thread, a listen queue that holds a crowd, and a limit for a request head that never
ends.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack

from wirebench.catalog.model import Workload
from wirebench.catalog.units import count_of
from wirebench.process import interrupt
from wirebench.process.nodelay import UnreadableError, has_nodelay
from wirebench.process.ports import HOST
from wirebench.verify.checks import ATTEMPTS, Check, Mismatch, Unchecked
from wirebench.verify.http import Connection, Peer, connect, request
from wirebench.verify.websocket import shake_hands

CROWD = 256
"""Connections asked for at once: fewer than any configured listen queue, more than the smallest
defaults.
"""
_CROWD_WITHIN_S = 0.9
"""A full queue drops the SYN, and a client asks again after 1 s (RFC 6298)."""
BEGUN = 16
"""Requests whose heads do not end: more than a pool of handlers holds that nobody has asked for."""
_ANSWERED_WITHIN_S = 1.0
_TAKEN_S = 0.05
"""A server has mostly taken the begun requests by then; it must have taken them before the next."""
HEAD_WITHIN_S = 75.0
"""The rule is 60 s, as nginx's client_header_timeout; the timers of some libraries are coarse."""

QUIET_BYTES = 16_384
"""Less than a line for each of the requests of a check, more than a banner and some warnings."""

_GETS: Mapping[Workload, str] = {
    "http.hello": "/route_01",
    "http.payload": "/payload/16",
    "rest": "/test/status",
}
_MESSAGE = '{"c":1}'
"""Every workload of WebSocket answers it."""


def nodelay_check(
    peer: Peer, workload: Workload, pids: Callable[[], Iterable[int]], *, closes: bool = False
) -> Check:
    """``pids``: the processes of the server. ``closes``: it ends each connection after its reply,
    and is looked at before that.
    """
    path = _GETS.get(workload)
    expected = "TCP_NODELAY on: a small reply waits for no acknowledgement of the one before it"

    def run() -> str:
        with connect(peer) as connection:
            if path is None:
                _converse(connection)
            else:
                _ask(connection, path, all_but_the_end=closes)
            try:
                on = has_nodelay(pids, port=peer.port, client_port=connection.local_port)
            except UnreadableError as reason:
                raise Unchecked(str(reason)) from reason
        if not on:
            raise Mismatch(expected=expected, received="TCP_NODELAY off")
        return "TCP_NODELAY on"

    return Check(
        id="parity.nodelay",
        sent=f"text {_MESSAGE}" if path is None else f"GET {path}",
        expected=expected,
        run=run,
        # A library may have no means to set it.
        required=False,
    )


def _ask(connection: Connection, path: str, *, all_but_the_end: bool) -> None:
    """Two requests, since a server may set the option when it keeps a connection, as nginx does."""
    data = request("GET", path, port=connection.peer.port)
    if all_but_the_end:
        connection.send(data[:-1])
        return
    for _ in range(2):
        connection.send(data)
        connection.read_response()


def _converse(connection: Connection) -> None:
    websocket = shake_hands(connection)
    websocket.send_text(_MESSAGE)
    websocket.read_message()


def handlers_check(peer: Peer, workload: Workload) -> Check:
    """For a server started with one thread, of a workload without a delay.

    Where the thread that handles a request also reads its head, heads that do not end hold the
    handlers, and so show their number. Where they hold none, it does not show; nor is the rule
    meant for a library that has a thread for each connection.
    """
    path = _GETS[workload]
    expected = "an answer beside all of them, or none beside one of them"

    def run() -> str:
        for _ in range(ATTEMPTS):
            if _answers_beside(peer, path, BEGUN):
                return f"an answer beside {BEGUN} of them: they hold no handler"
            if not _answers_beside(peer, path, 1):
                return "no answer beside one of them: there is one handler"
        raise Mismatch(
            expected=expected,
            received=f"an answer beside one of them, and none beside {BEGUN}: a pool of handlers",
        )

    return Check(
        id="parity.handlers",
        sent=f"GET {path}, while heads of {BEGUN} other requests do not end, or of one",
        expected=expected,
        run=run,
    )


def _answers_beside(peer: Peer, path: str, begun: int) -> bool:
    head = request("GET", path, port=peer.port)[:-2]
    with ExitStack() as stack:
        for _ in range(begun):
            stack.enter_context(connect(peer)).send(head)
        with interrupt.waiting():
            time.sleep(_TAKEN_S)
        asking = stack.enter_context(connect(peer))
        asking.send(request("GET", path, port=peer.port))
        return asking.answers_or_closes(_ANSWERED_WITHIN_S)


def crowd_check(peer: Peer) -> Check:
    return Check(
        id="parity.backlog",
        sent=f"{CROWD} connections at once",
        expected=f"all of them within {_CROWD_WITHIN_S:g} s, so that no SYN is sent twice",
        run=lambda: _crowd(peer),
        # net.core.somaxconn limits it too, which is the host's.
        required=False,
    )


def _crowd(peer: Peer) -> str:
    with selectors.DefaultSelector() as waiting, interrupt.waiting():
        opened: list[socket.socket] = []
        try:
            began = time.monotonic()
            for _ in range(CROWD):
                one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
                opened.append(one)
                one.setblocking(False)
                one.connect_ex((peer.host, peer.port))
                waiting.register(one, selectors.EVENT_WRITE)
            held = _held(waiting, began + _CROWD_WITHIN_S)
        finally:
            for one in opened:
                one.close()
    if held < CROWD:
        raise Mismatch(
            expected=f"{CROWD} connections within {_CROWD_WITHIN_S:g} s",
            received=f"{held} of {CROWD}; a queue that is full makes the others ask again",
        )
    return f"{CROWD} connections"


def _held(waiting: selectors.BaseSelector, until: float) -> int:
    """How many of the connections stand before the deadline."""
    held = 0
    while waiting.get_map() and (left := until - time.monotonic()) > 0:
        for key, _ in waiting.select(left):
            one = key.fileobj
            assert isinstance(one, socket.socket)
            waiting.unregister(one)
            held += one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    return held


def quiet_check(printed: Callable[[], int]) -> Check:
    """``printed``: how many bytes the server has printed so far, through all the other checks."""
    expected = f"no log: at most {QUIET_BYTES:,} bytes of output"

    def run() -> str:
        count = printed()
        if count > QUIET_BYTES:
            raise Mismatch(expected=expected, received=f"{count:,} bytes")
        return count_of(count, "byte")

    return Check(
        id="parity.quiet",
        sent="all requests until here",
        expected=expected,
        run=run,
        # A library may print what nobody can turn off.
        required=False,
    )


def slow_head_check(peer: Peer, *, within_s: float = HEAD_WITHIN_S) -> Check:
    """Takes as long as the server's own limit: only for those who ask for it."""
    expected = f"the end of the connection, or a refusal, within {within_s:g} s"

    def run() -> str:
        with connect(peer, timeout_s=within_s) as connection:
            connection.send(f"GET / HTTP/1.1\r\nHost: {HOST}:{peer.port}\r\nX-Slow: ".encode())
            began = time.monotonic()
            ended = connection.answers_or_closes(within_s)
            took_s = time.monotonic() - began
        if not ended:
            raise Mismatch(expected=expected, received=f"an open connection after {took_s:.0f} s")
        return f"ended after {took_s:.0f} s"

    return Check(
        id="parity.slow_head",
        sent="a request head that never ends",
        expected=expected,
        run=run,
        required=False,
    )
