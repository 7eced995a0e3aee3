"""Checks for every HTTP server; the workloads add their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from wirebench.catalog.units import count_of
from wirebench.verify.checks import Check, Mismatch
from wirebench.verify.http import Connection, Peer, Response, at, connect, request, show

MANY_REQUESTS = 1_100
"""More requests than servers allow on a connection by default (100 and 1000). Under load, a server
that closes then would be measured reconnecting.
"""
MANY_CONNECTIONS = 50
PIPELINED = 3
_CLOSE_WITHIN_S = 2.0
_ADVICE_TIMEOUT_S = 2.0
"""Optional checks wait less."""
_REST_WITHIN_S = 0.002
"""How soon after a reply, on this host, what belongs to it and is not counted in its length comes.
"""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A request and its only right reply."""

    method: str
    path: str
    body: bytes | None = None
    content_type: str | None = None
    status: int = 200
    media_type: str | None = None
    """None: any, or none."""
    reply: bytes | None = None
    """None: any."""

    def request(self, peer: Peer, *, close: bool = False) -> bytes:
        return request(
            self.method,
            self.path,
            port=peer.port,
            body=self.body,
            content_type=self.content_type,
            close=close,
        )

    @property
    def sent(self) -> str:
        with_body = ""
        if self.body is not None:
            shown = self.body[:100].decode(errors="replace")
            with_body = f" with {count_of(len(self.body), 'byte')}: {shown}"
        return f"{self.method} {self.path}{with_body}"

    @property
    def expected(self) -> str:
        words = [str(self.status)]
        if self.media_type is not None:
            words.append(self.media_type)
        if self.reply is not None:
            text = self.reply[:100].decode(errors="replace")
            words.append(
                f'"{text}"' if len(self.reply) <= 100 else f'"{text}"... ({len(self.reply)} bytes)'
            )
        return ", ".join(words)

    def judge(self, response: Response, *, where: str = "") -> str:
        """Returns what was received. Raises ``Mismatch`` if that is wrong."""
        right = (
            response.status == self.status
            and (self.media_type is None or response.media_type == self.media_type)
            and (self.reply is None or response.body == self.reply)
        )
        if not right:
            raise Mismatch(
                expected=f"{where}{self.expected}", received=f"{where}{response.describe()}"
            )
        return response.describe()


def asked_alone(peer: Peer, asked: Exchange, *, where: str = "") -> str:
    """One request on its own connection. Bytes behind its reply would be taken for the next one."""
    with connect(peer) as connection:
        connection.send(asked.request(peer))
        received = asked.judge(connection.read_response(), where=where)
        if rest := connection.read_rest(_REST_WITHIN_S):
            raise Mismatch(
                expected=f"{where}{asked.expected}, and nothing behind it",
                received=f"{where}{received}, and behind its end {show(rest)}",
            )
        return received


def answers(id_: str, peer: Peer, asked: Exchange, *, required: bool = True) -> Check:
    """The reply to one request on its own connection."""

    def run() -> str:
        return asked_alone(peer, asked)

    return Check(id=id_, sent=asked.sent, expected=asked.expected, run=run, required=required)


def connection_checks(
    peer: Peer,
    asked: Exchange,
    others: Sequence[Exchange],
    *,
    concurrent_required: bool,
    closes: bool,
) -> Iterator[Check]:
    """How the server handles connections, tested with requests whose replies are known. ``closes``:
    its manifest says that it ends each connection.
    """

    def check(
        name: str, what: str, expected: str, run: Callable[[], str], *, required: bool = True
    ) -> Check:
        return Check(
            id=name, sent=f"{asked.sent}, {what}", expected=expected, run=run, required=required
        )

    right = f"each time {asked.expected}"
    if closes:
        yield check(
            "http.closes",
            f"on {MANY_CONNECTIONS} connections in turn",
            f"each time {asked.expected} with Connection: close, then the connection's end",
            lambda: _closes(peer, asked),
        )
    else:
        yield check(
            "http.keep_alive",
            f"{MANY_REQUESTS} times on one connection",
            right,
            lambda: _keep_alive(peer, asked),
        )
        yield in_turn("http.in_turn", peer, (*others, asked, *others))
    yield check(
        "http.connection_close",
        "with Connection: close",
        f"{asked.expected}, then the end of the connection within {_CLOSE_WITHIN_S:g} s",
        lambda: _connection_close(peer, asked),
    )
    yield check(
        "http.split_reads", "one byte at a time", asked.expected, lambda: _split(peer, asked)
    )
    yield check(
        "http.many_connections",
        f"on {MANY_CONNECTIONS} connections in turn",
        right,
        lambda: _many_connections(peer, asked),
    )
    yield check(
        "http.concurrent",
        f"on {MANY_CONNECTIONS} connections that are all open",
        right,
        lambda: _concurrent(
            peer, asked, timeout_s=None if concurrent_required else _ADVICE_TIMEOUT_S
        ),
        required=concurrent_required,
    )
    yield check(
        "http.pipelining",
        f"{PIPELINED} times in one piece on one connection",
        f"{PIPELINED} times {asked.expected}",
        lambda: _pipelined(peer, asked),
        required=False,
    )


def in_turn(id_: str, peer: Peer, several: Sequence[Exchange]) -> Check:
    """Requests that differ, on one connection: each gets its own reply, not that of one before."""

    def run() -> str:
        with connect(peer) as connection:
            for number, one in enumerate(several, start=1):
                where = f"request {number}, {one.sent}: "
                with at(where):
                    connection.send(one.request(peer))
                    one.judge(connection.read_response(), where=where)
        return count_of(len(several), "right reply", "right replies")

    return Check(
        id=id_,
        sent=f"on one connection, one after another: {'; '.join(one.sent for one in several)}",
        expected="to each its own reply",
        run=run,
    )


def _keep_alive(peer: Peer, asked: Exchange) -> str:
    with connect(peer) as connection:
        for number in range(1, MANY_REQUESTS + 1):
            where = f"request {number}: "
            with at(where):
                connection.send(asked.request(peer))
                asked.judge(connection.read_response(), where=where)
    return f"{MANY_REQUESTS} right replies"


def _closes(peer: Peer, asked: Exchange) -> str:
    """A reply that does not announce the end may lose the client's next request."""
    for number in range(1, MANY_CONNECTIONS + 1):
        with connect(peer) as connection:
            connection.send(asked.request(peer))
            response = connection.read_response()
            asked.judge(response, where=f"connection {number}: ")
            announced = (response.header("connection") or "").lower() == "close"
            if not announced or not connection.is_closed_by_peer(_CLOSE_WITHIN_S):
                raise Mismatch(
                    expected="Connection: close, and the end of the connection",
                    received=(
                        f"Connection: {response.header('connection')}, and the connection "
                        f"{'stays open' if announced else 'may end unannounced'}"
                    ),
                )
    return f"{MANY_CONNECTIONS} right replies, each the last of its connection"


def _connection_close(peer: Peer, asked: Exchange) -> str:
    with connect(peer) as connection:
        connection.send(asked.request(peer, close=True))
        response = connection.read_response()
        asked.judge(response)
        if not connection.is_closed_by_peer(_CLOSE_WITHIN_S):
            raise Mismatch(
                expected=f"the end of the connection within {_CLOSE_WITHIN_S:g} s of the reply",
                received=(
                    f"Connection: {response.header('connection')}, and the connection stays open"
                ),
            )
    return "the reply, then the end of the connection"


def _split(peer: Peer, asked: Exchange) -> str:
    with connect(peer) as connection:
        connection.send_in_pieces(asked.request(peer))
        return asked.judge(connection.read_response())


def _many_connections(peer: Peer, asked: Exchange) -> str:
    for number in range(1, MANY_CONNECTIONS + 1):
        asked_alone(peer, asked, where=f"connection {number}: ")
    return f"{MANY_CONNECTIONS} right replies"


def _concurrent(peer: Peer, asked: Exchange, *, timeout_s: float | None) -> str:
    with ExitStack() as stack:
        connections: list[Connection] = []
        for _ in range(MANY_CONNECTIONS):
            connection = Connection(peer, timeout_s=timeout_s)
            stack.callback(connection.close)
            connections.append(connection)
        for connection in connections:
            connection.send(asked.request(peer))
        for number, connection in enumerate(connections, start=1):
            where = f"connection {number} of {MANY_CONNECTIONS}: "
            with at(where):
                asked.judge(connection.read_response(), where=where)
    return f"{MANY_CONNECTIONS} right replies"


def _pipelined(peer: Peer, asked: Exchange) -> str:
    with connect(peer, timeout_s=_ADVICE_TIMEOUT_S) as connection:
        connection.send(asked.request(peer) * PIPELINED)
        for number in range(1, PIPELINED + 1):
            asked.judge(connection.read_response(), where=f"reply {number}: ")
    return f"{PIPELINED} right replies"
