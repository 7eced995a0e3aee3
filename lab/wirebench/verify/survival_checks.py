"""That no client can end a server for the others: by a message of ``ws.count`` that is JSON but no
count, by JSON that is nested deeply, by announcing more than any memory holds, or by leaving in the
middle of a request or a frame.

What the server does with that client is free. It must answer the others: one that was connected
before, and one that comes afterwards. Of several processes on one port, the one that ends may have
had neither of them, or another is started in its place; so the processes are counted, too.
"""

from __future__ import annotations

import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import ClassVar

from wirebench.catalog.model import Workload
from wirebench.catalog.workloads import REST_BODY, payload
from wirebench.frames import CLOSE, TEXT, encode_frame
from wirebench.process import interrupt
from wirebench.process.ports import HOST
from wirebench.verify.checks import Check, Mismatch
from wirebench.verify.http import Connection, Peer, PeerError, SilenceError, at, connect
from wirebench.verify.http_checks import Exchange, asked_alone
from wirebench.verify.http_workloads import OCTETS, posting
from wirebench.verify.websocket import WebSocket, open_websocket
from wirebench.verify.websocket_workloads import QUESTIONS, Question

ODD_MESSAGES = (
    ("text", '"x"'),
    ("number", "5"),
    ("null", "null"),
    ("array", "[]"),
    ("no_count", "{}"),
    ("text_count", '{"c":"x"}'),
    ("null_count", '{"c":null}'),
)
"""JSON that is no count. Each meets another error of a JSON library or of what it returns."""

DEPTHS = (30_000, 500_000)
"""A parser that calls itself for each level leaves its stack, which ends the process. Stacks
differ, and so do limits of what is read: the first is below all of these, and enough for one of
2 MiB.
"""
ANNOUNCED = (2**30, 2**63 - 1)
"""Bytes of a body or a frame. Whoever makes room for them before they come runs out of memory, or
computes a room that is too small.
"""
LEAVES = 3
"""How many clients leave in turn: what one does to a server may show after the next is answered."""
_SIZE = 1000
_CUT = 10
_BEGUN_S = 0.01
"""The server has mostly begun to read when the client leaves; it must live either way."""
_UNANSWERED_S = 0.5
"""A server may leave an odd message and its connection unanswered. Nothing then shows when it has
read the message; if that was later, a later check finds what it did.
"""
_ENDING_S = 0.1
"""The kernel closes the files of a process a moment before the process is gone."""

_BEFORE = "a connection opened before: "
_AFTER = "a new connection: "

Offence = Callable[[], str]
"""What one client does; returns what the server replied, in words."""
Connected = Callable[[], AbstractContextManager[Connection]]


def survival_checks(
    peer: Peer,
    workload: Workload,
    pids: Callable[[], Iterable[int]],
    *,
    posts: bool = False,
) -> Iterator[Check]:
    """``pids``: the processes of the server. ``posts``: a server of ``http.payload`` takes bodies,
    too.
    """
    processes = _Processes(pids)
    if not workload.startswith("ws."):
        asked, posted = _requests(workload, posts=posts)
        others = _HttpOthers(processes=processes, peer=peer, asked=asked)
        if workload == "rest":
            for depth in DEPTHS:
                yield others.check(
                    f"rest.deep_json {depth}",
                    f"POST /test with {_nested(depth)}",
                    _post(peer, posting(_deep(depth).encode())),
                )
        connected = _in_http(peer)
        yield from _leaving("http", others, connected, _cut_requests(peer, posted))
        yield from _announcing("http", others, connected, _announced_bodies(peer, posted))
        return
    sockets = _WebSocketOthers(processes=processes, peer=peer, question=QUESTIONS[workload])
    if workload == "ws.count":
        for name, message in ODD_MESSAGES:
            yield sockets.check(
                f"count.odd_json {name}",
                f"text {message}, which is JSON but no count",
                _saying(peer, message),
            )
        for depth in DEPTHS:
            yield sockets.check(
                f"count.deep_json {depth}",
                f"text of {_nested(depth)}",
                _saying(peer, _deep(depth)),
            )
    yield from _leaving("ws", sockets, _in_websocket(peer), _cut_frames())
    yield from _announcing("ws", sockets, _in_websocket(peer), _announced_frames())


@dataclass(frozen=True, kw_only=True)
class _Others(ABC):
    """Those who have to be answered whatever one client does."""

    processes: _Processes
    peer: Peer
    answered: ClassVar[str]

    @abstractmethod
    def waiting(self) -> AbstractContextManager[Callable[[], None]]:
        """Entered before the client does it; what it yields asks them afterwards."""

    def check(self, id_: str, sent: str, offend: Offence, *, times: int = 1) -> Check:
        def run() -> str:
            try:
                for _ in range(times):
                    with self.waiting() as ask:
                        self.processes.settle()
                        said = offend()
                        ask()
                self.processes.all_there()
            except (Mismatch, PeerError):
                self.processes.look_again()
                raise
            return f"{said}; then {self.answered}"

        return Check(id=id_, sent=sent, expected=f"anything; then {self.answered}", run=run)


@dataclass(frozen=True, kw_only=True)
class _WebSocketOthers(_Others):
    question: Question
    answered = "right replies on a connection that was open before and on a new one"

    @contextmanager
    def waiting(self) -> Iterator[Callable[[], None]]:
        with ExitStack() as stack:
            with at(_BEFORE):
                before = stack.enter_context(open_websocket(self.peer))
                self.question.ask(before, 1, _BEFORE)

            def ask() -> None:
                with at(_BEFORE):
                    self.question.ask(before, 2, _BEFORE)
                with at(_AFTER), open_websocket(self.peer) as after:
                    self.question.ask(after, 3, _AFTER)

            yield ask


@dataclass(frozen=True, kw_only=True)
class _HttpOthers(_Others):
    """None stays connected: where each connection takes a thread, it could have the only one."""

    asked: Exchange
    answered = "the right reply on a new connection"

    @contextmanager
    def waiting(self) -> Iterator[Callable[[], None]]:
        self._ask(_BEFORE)
        yield lambda: self._ask(_AFTER)

    def _ask(self, where: str) -> None:
        with at(where):
            asked_alone(self.peer, self.asked, where=where)


class _Processes:
    """The processes that the server had before."""

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self._pids = pids
        self._there = set(pids())
        self._is_settled = False

    def look_again(self) -> None:
        """After a check that failed: what ended in it is not held against the next."""
        with interrupt.waiting():
            time.sleep(_ENDING_S)
        self._there = set(self._pids())

    def settle(self) -> None:
        """Helpers of its start that have ended by themselves do not count."""
        if not self._is_settled:
            self._there &= set(self._pids())
            self._is_settled = True

    def all_there(self) -> None:
        if len(self._there) < 2:
            return  # whose end ends the server
        deadline = time.monotonic() + _ENDING_S
        with interrupt.waiting():
            while not (gone := self._there - set(self._pids())) and time.monotonic() < deadline:
                time.sleep(0.02)
        if gone:
            raise Mismatch(
                expected=f"the {len(self._there)} processes of the server as before",
                received=f"{len(gone)} of its {len(self._there)} processes ended",
            )


def _saying(peer: Peer, message: str) -> Offence:
    question, number = QUESTIONS["ws.count"], 13

    def offend() -> str:
        with open_websocket(peer) as websocket:
            # The reply to the second shows that the server is done with the first.
            try:
                websocket.send_many([message, question.asking(number)])
            except PeerError as error:  # refused before all of it was sent
                return str(error)
            with websocket.connection.waiting_at_most(_UNANSWERED_S):
                return _reply_before(question, websocket, number)

    return offend


def _reply_before(question: Question, websocket: WebSocket, number: int) -> str:
    """What comes before the reply to this number, which may not come."""
    said = "nothing"
    for _ in range(2):
        try:
            got = websocket.read_message()
        except SilenceError:
            return said
        except PeerError as error:
            return str(error)
        if got.opcode == CLOSE:
            return got.describe()
        with suppress(Mismatch):
            question.judge(got, number, "")
            return said
        said = got.describe()
    return said


def _nested(depth: int) -> str:
    return f"JSON that is nested {depth:,} levels deep"


def _deep(depth: int) -> str:
    return "[" * depth + "]" * depth


def _post(peer: Peer, asked: Exchange) -> Offence:
    def offend() -> str:
        with connect(peer) as connection:
            try:
                connection.send(asked.request(peer))
                return connection.read_response().describe()
            except PeerError as error:
                return str(error)

    return offend


def _announcing(
    scheme: str, others: _Others, connected: Connected, begun: Iterator[tuple[int, str, bytes]]
) -> Iterator[Check]:
    for size, what, data in begun:
        yield others.check(
            f"{scheme}.announced {size}",
            f"{what}, of which {_CUT} come; then the connection is closed",
            _announce(connected, data),
        )


def _announce(connected: Connected, data: bytes) -> Offence:
    def offend() -> str:
        with connected() as connection:
            connection.send(data)
            ended = connection.answers_or_closes(_UNANSWERED_S)
        return "a refusal" if ended else "nothing"

    return offend


def _leaving(
    scheme: str, others: _Others, connected: Connected, cuts: Iterator[tuple[str, str, bytes]]
) -> Iterator[Check]:
    for name, what, data in cuts:
        for verb, end in (("left", "is closed"), ("reset", "is reset")):
            yield others.check(
                f"{scheme}.{verb}_in_{name}",
                f"{what}; then the connection {end}, {LEAVES} times",
                _leave(connected, data, resets=verb == "reset"),
                times=LEAVES,
            )


def _leave(connected: Connected, data: bytes, *, resets: bool) -> Offence:
    def offend() -> str:
        with connected() as connection:
            connection.send(data)
            with interrupt.waiting():
                time.sleep(_BEGUN_S)
            if resets:
                connection.reset()
        return "nothing"

    return offend


def _in_http(peer: Peer) -> Connected:
    return lambda: connect(peer)


def _in_websocket(peer: Peer) -> Connected:
    @contextmanager
    def connected() -> Iterator[Connection]:
        with open_websocket(peer) as websocket:
            yield websocket.connection

    return connected


def _cut_frames() -> Iterator[tuple[str, str, bytes]]:
    """Name, description and bytes of each."""
    frame = encode_frame(TEXT, payload(_SIZE))
    head = len(frame) - _SIZE
    yield "frame_head", f"a frame of {_SIZE} bytes, cut in its length", frame[:3]
    yield "payload", f"a frame of {_SIZE} bytes, cut after {_CUT}", frame[: head + _CUT]


def _announced_frames() -> Iterator[tuple[int, str, bytes]]:
    """Size, description and bytes of each."""
    for size in ANNOUNCED:
        head = bytes([0x80 | TEXT, 0x80 | 127]) + struct.pack(">Q", size)
        yield size, f"a frame of {size} bytes", head + bytes(4) + payload(_CUT)


def _announced_bodies(peer: Peer, posted: Exchange | None) -> Iterator[tuple[int, str, bytes]]:
    """As of frames."""
    if posted is None or posted.body is None:
        return
    for size in ANNOUNCED:
        lines = (
            f"{posted.method} {posted.path} HTTP/1.1",
            f"Host: {HOST}:{peer.port}",
            f"Content-Type: {posted.content_type}",
            f"Content-Length: {size}",
        )
        data = "\r\n".join(lines).encode() + b"\r\n\r\n" + posted.body[:_CUT]
        yield size, f"{posted.method} {posted.path} with {size} bytes", data


def _requests(workload: Workload, *, posts: bool) -> tuple[Exchange, Exchange | None]:
    """What the others ask, and what is begun and left: None where the server takes no bodies."""
    if workload == "rest":
        body = b'{"text":"' + b"x" * (_SIZE - 11) + b'"}'
        return posting(REST_BODY.encode()), posting(body)
    if workload == "http.hello":
        return Exchange(method="GET", path="/route_01", reply=b"hello from route_01"), None
    asked = Exchange(method="GET", path="/payload/16", reply=payload(16))
    posted = Exchange(method="POST", path="/payload/1024", body=payload(1024), content_type=OCTETS)
    return asked, posted if posts else None


def _cut_requests(peer: Peer, posted: Exchange | None) -> Iterator[tuple[str, str, bytes]]:
    """As of frames."""
    host = f"Host: {HOST}:{peer.port}"
    yield "head", "a request head that is cut", f"GET / HTTP/1.1\r\n{host}\r\nX-Left: ".encode()
    if posted is None or posted.body is None:
        return
    whole, size = posted.request(peer), len(posted.body)
    begun = f"{posted.method} {posted.path} with"
    yield "body", f"{begun} {size} bytes, cut after {_CUT}", whole[: _CUT - size]
    lines = (
        f"{posted.method} {posted.path} HTTP/1.1",
        host,
        f"Content-Type: {posted.content_type}",
        "Transfer-Encoding: chunked",
    )
    chunks = b"%x\r\n%s\r\n%x\r\n" % (_CUT, posted.body[:_CUT], size - _CUT)
    data = "\r\n".join(lines).encode() + b"\r\n\r\n" + chunks + posted.body[_CUT : 2 * _CUT]
    yield "chunk", f"{begun} two chunks, cut after {_CUT} bytes of the second", data
