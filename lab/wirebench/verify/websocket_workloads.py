"""The messages that a server must send for ``ws.echo``, ``ws.count`` and ``ws.broadcast``."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from wirebench.catalog.model import Workload
from wirebench.catalog.workloads import payload
from wirebench.frames import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, encode_frame
from wirebench.process import interrupt
from wirebench.verify.checks import Check, Mismatch
from wirebench.verify.http import (
    Connection,
    Peer,
    PeerError,
    SilenceError,
    at,
    exchange,
    request,
    show,
)
from wirebench.verify.websocket import (
    HANDSHAKE_PIECE_BYTES,
    Frame,
    WebSocket,
    open_websocket,
    shake_hands,
)

SOME_MESSAGES = 100
MANY_MESSAGES = 1_000
MANY_CONNECTIONS = 50
SUBSCRIBERS = 20
CLOCK_TOLERANCE_S = 5.0
_STAMPED = 21
_STAMP_ADVANCES_S = 2.0
"""A stamp may be in whole seconds, and of a clock that is read once a second."""
_CLOSE_WITHIN_S = 2.0
_NORMAL = 1000  # RFC 6455 section 7.4.1

# Lengths around the steps of the frame's length field (RFC 6455 section 5.2).
_LENGTHS = (0, 125, 126, 65_535, 65_536)
_LARGE = 1_048_576
"""The largest that is measured. A server may have a lower limit; then it is in no cell of these."""
_LARGE_WITHIN_S = 20.0
"""Some take seconds for it on a busy host, and are right."""

Talk = Callable[[WebSocket], str]


def _on_connection(peer: Peer, talk: Talk, *, timeout_s: float | None = None) -> Callable[[], str]:
    def run() -> str:
        with open_websocket(peer, timeout_s=timeout_s) as websocket:
            return talk(websocket)

    return run


def echo_checks(peer: Peer) -> Iterator[Check]:
    yield _handshake(peer)
    yield _echo(peer, "text", TEXT, b"hello")
    yield _echo(peer, "text_utf8", TEXT, "grün, 水, 🙂".encode())
    yield _echo(peer, "binary", BINARY, bytes(range(256)))
    for length in _LENGTHS:
        yield _echo(peer, f"text_{length}", TEXT, payload(length))
        yield _echo(peer, f"binary_{length}", BINARY, payload(length))
    for name, opcode in (("text", TEXT), ("binary", BINARY)):
        yield _echo_or_refusal(peer, f"{name}_{_LARGE}_or_none", opcode, payload(_LARGE))
        yield _echo(peer, f"{name}_{_LARGE}", opcode, payload(_LARGE), required=False)
    yield _fragments(peer, "fragments", TEXT, (b"a", b"b", b"c"))
    yield _fragments(peer, "fragments_binary", BINARY, (b"\xff", b"\x00", b"\xfe"))
    # The second and the third begin inside a character.
    yield _fragments(peer, "fragments_utf8", TEXT, (b"\xf0\x9f", b"\x99\x82\xe6", b"\xb0\xb4"))
    third = payload(20_000)  # together no more than the largest message that all must take
    yield _fragments(peer, "fragments_large", BINARY, (third, third[::-1], third))
    yield from _session_checks(peer, asking=_message, judge=_judge_echo)
    yield _concurrent_check(peer, asking=_message, judge=_judge_echo)


def count_checks(peer: Peer) -> Iterator[Check]:
    stamps: list[tuple[float, float]] = []
    yield _handshake(peer)
    for number in (0, 1, 1_000_000):
        yield _count(peer, f"count.{number}", f'{{"c":{number}}}', number)
    yield _stamped(peer, stamps)
    yield _count(peer, "count.2147483648", '{"c":2147483648}', 2_147_483_648, required=False)
    yield _count(peer, "count.spaces", '{ "c" :\n 7 }', 7)
    yield _count(peer, "count.other_keys", '{"x":{"c":1},"c":8}', 8)
    yield _count(peer, "count.escaped_key", '{"\\u0063":9}', 9)
    yield _count(peer, "count.negative", '{"c":-12}', -12)
    # Types of the languages differ in which of these are integers.
    yield _count(peer, "count.exponent", '{"c":7e0}', 7, required=False)
    yield _count(peer, "count.key_order", '{"z":"}","a":{"c":[1,{"c":2}]},"c":10}', 10)
    # Whoever looks only for the number answers these as well.
    yield _refused_count(peer, "count.bad_json", '{"c":11,}')
    yield _refused_count(peer, "count.trailing", '{"c":12}x')
    # What some libraries read and write beyond JSON (RFC 8259 section 6).
    yield _refused_count(peer, "count.nan", '{"c":NaN}')
    yield _refused_count(peer, "count.infinity", '{"c":13,"x":-Infinity}')
    yield from _session_checks(peer, asking=_number, judge=_judge_count)
    yield _concurrent_check(peer, asking=_number, judge=_judge_count)
    yield _stamped_anew(peer, stamps)


def broadcast_checks(peer: Peer) -> Iterator[Check]:
    """One who is alone gets back what it sends, so that connections are held to the same rules as
    under ``ws.echo``. A burst is shorter: a server may give up those who are some hundreds of
    messages behind.
    """
    yield _handshake(peer)
    texts = ("hello", "grün, 水, 🙂", *(payload(length).decode() for length in (126, 65_536)))
    for name, text in zip(("text", "text_utf8", "text_126", "text_65536"), texts, strict=True):
        yield _to_all(peer, name, [text])
    yield _to_all(peer, "in_order", [_message(number) for number in range(SOME_MESSAGES)])
    yield Check(
        id="broadcast.senders",
        sent=f"a text message from each of {SUBSCRIBERS} connections, one after another",
        expected=f"each of them on each of {SUBSCRIBERS} connections, in this order",
        run=lambda: _each_to_all(peer),
    )
    yield Check(
        id="broadcast.joined",
        sent='text "before", then a connection is opened, then text "after"',
        expected='only text "after" on that connection',
        run=lambda: _joined(peer),
    )
    yield Check(
        id="broadcast.left",
        sent="a text message after two connections ended, one of them without a close frame",
        expected="the message on each connection that is open",
        run=lambda: _left(peer),
    )
    yield from _session_checks(peer, asking=_message, judge=_judge_echo, in_a_burst=SOME_MESSAGES)


def _message(number: int) -> str:
    return f"message {number}"


def _number(number: int) -> str:
    return f'{{"c":{number}}}'


@contextmanager
def _subscribers(peer: Peer, count: int) -> Iterator[list[WebSocket]]:
    """Connections that the server has taken in: the handshake's reply may come before that."""
    with ExitStack() as stack:
        opened: list[WebSocket] = []
        for number in range(count):
            where = f"connection {number + 1} of {count}: "
            connection = Connection(peer)
            stack.callback(connection.close)
            with at(where):
                one = shake_hands(connection)
            opened.append(one)
            one.send_text(f"joined {number}")
            _read_all(opened, [f"joined {number}"])
        yield opened


def _read_all(subscribers: Sequence[WebSocket], texts: Sequence[str]) -> None:
    for number, one in enumerate(subscribers):
        for position, text in enumerate(texts):
            where = f"connection {number + 1} of {len(subscribers)}, message {position + 1}: "
            with at(where):
                _same(one.read_message(), TEXT, text.encode(), where)


def _to_all(peer: Peer, name: str, texts: Sequence[str]) -> Check:
    what = Frame(opcode=TEXT, payload=texts[0].encode()).describe()
    if len(texts) > 1:
        what = f"{len(texts)} messages like {what}, in one piece"

    def run() -> str:
        with _subscribers(peer, SUBSCRIBERS) as opened:
            opened[1].send_many(texts)
            _read_all(opened, texts)
            # Whoever sends twice has sent something before this.
            opened[0].send_text("the end")
            _read_all(opened, ["the end"])
        return f"the same on each of {SUBSCRIBERS} connections, once and in order"

    return Check(
        id=f"broadcast.{name}",
        sent=f"{what}, from one of {SUBSCRIBERS} connections",
        expected=f"the same on each of {SUBSCRIBERS} connections, once and in order",
        run=run,
    )


def _each_to_all(peer: Peer) -> str:
    with _subscribers(peer, SUBSCRIBERS) as opened:
        for number, one in enumerate(opened):
            one.send_text(_message(number))
            _read_all(opened, [_message(number)])
    return f"{SUBSCRIBERS} messages on each of {SUBSCRIBERS} connections"


def _joined(peer: Peer) -> str:
    with _subscribers(peer, 1) as (first,):
        first.send_text("before")
        _read_all([first], ["before"])
        with open_websocket(peer) as second:
            second.send_text("after")
            _read_all([first, second], ["after"])
    return 'text "after"'


def _left(peer: Peer) -> str:
    with _subscribers(peer, 4) as (first, second, closing, dropping):
        dropping.connection.close()
        closing.send(CLOSE, struct.pack(">H", _NORMAL))
        for number in range(3):
            first.send_text(_message(number))
            _read_all([first, second], [_message(number)])
    return "3 messages on each of 2 connections"


def _echo(peer: Peer, name: str, opcode: int, data: bytes, *, required: bool = True) -> Check:
    what = Frame(opcode=opcode, payload=data).describe()

    def talk(websocket: WebSocket) -> str:
        websocket.send(opcode, data)
        return _same(websocket.read_message(), opcode, data)

    return Check(
        id=f"echo.{name}",
        sent=what,
        expected=what,
        run=_on_connection(peer, talk),
        required=required,
    )


def _echo_or_refusal(peer: Peer, name: str, opcode: int, data: bytes) -> Check:
    """Required of those that take no message as large, too: it is whole, or refused."""

    def talk(websocket: WebSocket) -> str:
        try:
            websocket.send(opcode, data)
            got = websocket.read_message()
        except SilenceError:
            raise
        except PeerError as error:
            return f"a refusal: {error}"
        return got.describe() if got.opcode == CLOSE else _same(got, opcode, data)

    what = Frame(opcode=opcode, payload=data).describe()
    return Check(
        id=f"echo.{name}",
        sent=what,
        expected=f"{what}, or a close frame, or the end of the connection",
        run=_on_connection(peer, talk, timeout_s=_LARGE_WITHIN_S),
    )


def _same(got: Frame, opcode: int, data: bytes, where: str = "") -> str:
    if got.opcode != opcode or got.payload != data:
        wanted = Frame(opcode=opcode, payload=data)
        raise Mismatch(expected=f"{where}{wanted.describe()}", received=f"{where}{got.describe()}")
    return got.describe()


def _judge_echo(got: Frame, number: int, where: str) -> str:
    return _same(got, TEXT, f"message {number}".encode(), where)


def _judge_count(got: Frame, number: int, where: str) -> str:
    _stamp_of(got, number, where)
    return got.describe()


def _no_number(text: str) -> float:
    """NaN and its like, which Python reads though they are no JSON (RFC 8259 section 6)."""
    raise ValueError(f"{text} is no number")


def _stamp_of(got: Frame, number: int, where: str) -> float:
    expected = f'{where}text {{"c":{number},"ts":<unix seconds>}}'
    wrong = Mismatch(expected=expected, received=f"{where}{got.describe()}")
    try:
        reply = json.loads(got.payload, parse_constant=_no_number)
    except (ValueError, RecursionError):  # also of too many digits, or levels
        raise wrong from None
    if got.opcode != TEXT or not isinstance(reply, dict) or set(reply) != {"c", "ts"}:
        raise wrong
    count, stamp = reply["c"], reply["ts"]
    # In Python bool is an int; in JSON true is not a number.
    if (
        isinstance(count, bool)
        or isinstance(stamp, bool)
        or not isinstance(stamp, int | float)
        or count != number
    ):
        raise wrong
    now = time.time()
    # Compared and not subtracted: there are integers that are no float.
    if not now - CLOCK_TOLERANCE_S <= stamp <= now + CLOCK_TOLERANCE_S:
        raise Mismatch(expected=f"{where}ts near {now:.0f}", received=f"{where}{got.describe()}")
    return stamp


def _stamped(peer: Peer, stamps: list[tuple[float, float]]) -> Check:
    """Notes the stamp, and when it came."""

    def talk(websocket: WebSocket) -> str:
        websocket.send_text(_number(_STAMPED))
        got = websocket.read_message()
        stamps.append((_stamp_of(got, _STAMPED, ""), time.monotonic()))
        return got.describe()

    return Check(
        id="count.stamp",
        sent=f"text {_number(_STAMPED)}",
        expected=f'text {{"c":{_STAMPED},"ts":<unix seconds>}}',
        run=_on_connection(peer, talk),
    )


def _stamped_anew(peer: Peer, stamps: list[tuple[float, float]]) -> Check:
    """Whoever keeps replies instead of making them answers with the stamp of before."""

    def talk(websocket: WebSocket) -> str:
        before, came = stamps[-1] if stamps else (0.0, 0.0)
        with interrupt.waiting():
            time.sleep(max(0.0, came + _STAMP_ADVANCES_S - time.monotonic()))
        websocket.send_text(_number(_STAMPED))
        got = websocket.read_message()
        if _stamp_of(got, _STAMPED, "") <= before:
            raise Mismatch(expected=f"ts above {before}", received=got.describe())
        return got.describe()

    return Check(
        id="count.stamp_anew",
        sent=f"text {_number(_STAMPED)}, {_STAMP_ADVANCES_S:g} s after it was first sent",
        expected="a later ts",
        run=_on_connection(peer, talk),
    )


def _count(peer: Peer, id_: str, message: str, number: int, *, required: bool = True) -> Check:
    def talk(websocket: WebSocket) -> str:
        websocket.send_text(message)
        return _judge_count(websocket.read_message(), number, "")

    expected = f'text {{"c":{number},"ts":<unix seconds>}}'
    return Check(
        id=id_,
        sent=f"text {message}",
        expected=expected,
        run=_on_connection(peer, talk),
        required=required,
    )


def _refused_count(peer: Peer, id_: str, message: str) -> Check:
    def talk(websocket: WebSocket) -> str:
        websocket.send_text(message)
        try:
            got = websocket.read_message()
        except SilenceError:
            return "nothing"
        except PeerError:
            return "the end of the connection"
        if got.opcode == TEXT and b'"ts"' in got.payload:
            raise Mismatch(expected="no count", received=got.describe())
        return got.describe()

    return Check(
        id=id_,
        sent=f"text {message}, which is not JSON",
        expected="no count: a close frame, the end of the connection or another message",
        run=_on_connection(peer, talk),
    )


def _handshake(peer: Peer) -> Check:
    def talk(_: WebSocket) -> str:
        return "101 with the right Sec-WebSocket-Accept"

    return Check(
        id="ws.handshake",
        sent="GET / with Upgrade: websocket and a random Sec-WebSocket-Key",
        expected=(
            "101, Upgrade: websocket, Connection: Upgrade, the right Sec-WebSocket-Accept, no"
            " extension"
        ),
        run=_on_connection(peer, talk),
    )


def _fragments(peer: Peer, name: str, opcode: int, parts: tuple[bytes, bytes, bytes]) -> Check:
    whole = Frame(opcode=opcode, payload=b"".join(parts))
    expected = f'pong "p" and {whole.describe()}'

    def talk(websocket: WebSocket) -> str:
        websocket.send(opcode, parts[0], fin=False)
        websocket.send(CONTINUATION, parts[1], fin=False)
        websocket.send(PING, b"p")
        websocket.send(CONTINUATION, parts[2])
        # A pong may come before the message is whole or, where a server answers in its own time,
        # after it.
        got = {one.opcode: one for one in (websocket.read_message(), websocket.read_message())}
        if got != {opcode: whole, PONG: Frame(opcode=PONG, payload=b"p")}:
            described = ", ".join(frame.describe() for frame in got.values())
            raise Mismatch(expected=expected, received=described)
        return expected

    return Check(
        id=f"echo.{name}",
        sent=f'{whole.describe()} in three frames, with a ping "p" between them',
        expected=expected,
        run=_on_connection(peer, talk),
    )


def _session_checks(
    peer: Peer,
    *,
    asking: Callable[[int], str],
    judge: Callable[[Frame, int, str], str],
    in_a_burst: int = MANY_MESSAGES,
) -> Iterator[Check]:
    """How the server handles connections, tested with messages whose replies are known."""

    def ping(websocket: WebSocket) -> str:
        websocket.send(PING, b"are you there")
        return _same(websocket.read_message(), PONG, b"are you there")

    def read(websocket: WebSocket, number: int) -> None:
        where = f"reply {number + 1}: "
        with at(where):
            judge(websocket.read_message(), number, where)

    def burst(websocket: WebSocket) -> str:
        websocket.send_many([asking(number) for number in range(in_a_burst)])
        for number in range(in_a_burst):
            read(websocket, number)
        return f"{in_a_burst} right replies, in order"

    def in_turn(count: int) -> Talk:
        def talk(websocket: WebSocket) -> str:
            for number in range(count):
                websocket.send_text(asking(number))
                read(websocket, number)
            return f"{count} right replies"

        return talk

    def split() -> str:
        with open_websocket(peer, in_pieces=True) as websocket:
            websocket.connection.send_in_pieces(encode_frame(TEXT, asking(5).encode()))
            return judge(websocket.read_message(), 5, "")

    def check(
        name: str, sent: str, expected: str, run: Callable[[], str], *, required: bool = True
    ) -> Check:
        return Check(id=f"ws.{name}", sent=sent, expected=expected, run=run, required=required)

    def in_turn_check(name: str, count: int, *, required: bool) -> Check:
        sent = f"{count} messages like {asking(5)}, each after the reply to the last"
        return check(
            name,
            sent,
            "a right reply to each",
            _on_connection(peer, in_turn(count)),
            required=required,
        )

    one, many = f"text {asking(5)}", f"{in_a_burst} messages like {asking(5)}"
    yield check("ping", 'ping "are you there"', 'pong "are you there"', _on_connection(peer, ping))
    yield check(
        "split_reads",
        f"the handshake by {HANDSHAKE_PIECE_BYTES} bytes, {one} byte by byte",
        "the right reply",
        split,
    )
    yield in_turn_check("in_turn", SOME_MESSAGES, required=True)
    # A reply that is lost once in a thousand is for the trials to count: they check every one.
    yield in_turn_check("in_turn_many", MANY_MESSAGES, required=False)
    yield check(
        "burst",
        f"{many} in one piece",
        "a right reply to each, in order",
        _on_connection(peer, burst),
    )
    yield check(
        "close",
        f"close {_NORMAL}",
        f"close {_NORMAL}, then the end of the connection within {_CLOSE_WITHIN_S:g} s",
        _on_connection(peer, _close),
    )
    yield check(
        "plain_http",
        "GET / without Upgrade",
        "a status of 400 or more",
        lambda: _plain(peer),
        required=False,
    )


def _concurrent_check(
    peer: Peer, *, asking: Callable[[int], str], judge: Callable[[Frame, int, str], str]
) -> Check:
    return Check(
        id="ws.concurrent",
        sent=f"text {asking(5)} on {MANY_CONNECTIONS} connections that are all open",
        expected="a right reply on each",
        run=lambda: _concurrent(peer, asking, judge),
    )


def _concurrent(
    peer: Peer, asking: Callable[[int], str], judge: Callable[[Frame, int, str], str]
) -> str:
    with ExitStack() as stack:
        websockets = []
        for number in range(MANY_CONNECTIONS):
            connection = Connection(peer)
            stack.callback(connection.close)
            with at(f"connection {number + 1} of {MANY_CONNECTIONS}: "):
                websockets.append(shake_hands(connection))
        for number, websocket in enumerate(websockets):
            websocket.send_text(asking(number))
        for number, websocket in enumerate(websockets):
            where = f"connection {number + 1} of {MANY_CONNECTIONS}: "
            with at(where):
                judge(websocket.read_message(), number, where)
    return f"{MANY_CONNECTIONS} right replies"


def _close(websocket: WebSocket) -> str:
    websocket.send(CLOSE, struct.pack(">H", _NORMAL))
    got = websocket.read_message()
    # A server may leave the code out (RFC 6455 section 5.5.1: it typically echoes it).
    if got.opcode != CLOSE or got.payload[:2] not in (b"", struct.pack(">H", _NORMAL)):
        raise Mismatch(expected=f"close {_NORMAL}", received=got.describe())
    if not websocket.connection.is_closed_by_peer(_CLOSE_WITHIN_S):
        raise Mismatch(
            expected=(
                f"the end of the connection within {_CLOSE_WITHIN_S:g} s (RFC 6455 section 7.1.1)"
            ),
            received=f"close {show(got.payload)}, and the connection stays open",
        )
    return "a close frame, then the end of the connection"


def _plain(peer: Peer) -> str:
    response = exchange(peer, request("GET", "/", port=peer.port))
    if response.status < 400:
        raise Mismatch(expected="a status of 400 or more", received=response.describe())
    return response.describe()


@dataclass(frozen=True, kw_only=True)
class Question:
    """Messages by number, each with only one right reply."""

    asking: Callable[[int], str]
    judge: Callable[[Frame, int, str], str]

    def ask(self, websocket: WebSocket, number: int, where: str = "") -> None:
        """Raises ``Mismatch`` if the reply is wrong."""
        websocket.send_text(self.asking(number))
        self.judge(websocket.read_message(), number, where)


_ECHOED = Question(asking=_message, judge=_judge_echo)
QUESTIONS: Mapping[Workload, Question] = {
    "ws.echo": _ECHOED,
    "ws.count": Question(asking=_number, judge=_judge_count),
    "ws.broadcast": _ECHOED,  # to one who is alone
}
