"""The checks' own HTTP and WebSocket, against bytes written by hand: what is wrong on the wire must
not be read as right.
"""

from __future__ import annotations

import gc
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from wirebench.frames import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    accept_key,
    apply_mask,
    encode_frame,
)
from wirebench.process.ports import HOST
from wirebench.verify import counting_server, http
from wirebench.verify.checks import Mismatch
from wirebench.verify.counting_server import CountingServer, serving
from wirebench.verify.http import (
    Connection,
    Peer,
    PeerError,
    Response,
    connect,
    exchange,
    request,
    show,
)
from wirebench.verify.websocket import Frame, WebSocket, open_websocket
from wirebench.verify.websocket_workloads import QUESTIONS, echo_checks


@contextmanager
def sending(data: bytes, *, then_closes: bool = True) -> Iterator[Peer]:
    """A server that sends this to whoever connects."""
    with socket.create_server((HOST, 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(data)
                if then_closes:
                    connection.shutdown(socket.SHUT_WR)
                connection.settimeout(10)
                try:
                    while connection.recv(4096):
                        pass
                except OSError:
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Peer(port=listener.getsockname()[1])
        finally:
            thread.join()


def read(data: bytes) -> Response:
    with sending(data) as peer, connect(peer) as connection:
        return connection.read_response()


def test_a_response_with_a_length() -> None:
    response = read(
        b"HTTP/1.1 200 OK\r\nContent-Type: Text/Plain; charset=x\r\nContent-Length: 2\r\n\r\nhi"
    )
    assert (response.status, response.reason, response.body) == (200, "OK", b"hi")
    assert response.media_type == "text/plain"
    assert response.describe() == '200 OK, Text/Plain; charset=x: "hi"'


def test_a_chunked_response() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert read(head + b"3\r\nabc\r\n1;x=y\r\nd\r\n0\r\nTrailer: 1\r\n\r\n").body == b"abcd"


def test_a_response_to_the_end_of_the_connection() -> None:
    assert read(b"HTTP/1.1 200 OK\r\n\r\nall of it").body == b"all of it"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "closed in a response head, after nothing"),
        (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "closed in a response head"),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "a status line"),
        (b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", "a status line"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", "closed in a body of 3 bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi", "Content-Length: +2"),
        (b"HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi", "a header line"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\nhi", "a header line"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "both Transfer-Encoding",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "a chunk size"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
            "does not end where its size says",
        ),
    ],
)
def test_what_is_not_http_is_told(data: bytes, message: str) -> None:
    with pytest.raises(PeerError, match=message.replace("+", r"\+").replace("(", r"\(")):
        read(data)


def test_silence_and_an_open_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TIMEOUT_S", 0.1)
    with sending(b"HTTP/1.1 200", then_closes=False) as peer, connect(peer) as connection:
        with pytest.raises(PeerError, match=r"and no more in 0\.1 s"):
            connection.read_response()
        assert not connection.is_closed_by_peer(0.05)
    with sending(b"") as peer, connect(peer) as connection:
        assert connection.is_closed_by_peer(5)


def test_a_connection_that_is_closed_is_told_from_one_that_is_reset() -> None:
    with socket.create_server((HOST, 0)) as listener:
        peer = Peer(port=listener.getsockname()[1])
        closed, reset = Connection(peer), Connection(peer)
        (first, _), (second, _) = listener.accept(), listener.accept()
        with first, second:
            closed.close()
            assert first.recv(1) == b""
            reset.send(b"x")
            reset.reset()
            assert second.recv(1) == b"x"
            with pytest.raises(ConnectionResetError):
                second.recv(1)


def test_a_shorter_wait_ends_with_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TIMEOUT_S", 0.1)
    with sending(b"", then_closes=False) as peer, connect(peer) as connection:
        with connection.waiting_at_most(0.05), pytest.raises(PeerError, match=r"more in 0\.05 s"):
            connection.read_exactly(1, "nothing")
        with pytest.raises(PeerError, match=r"more in 0\.1 s"):
            connection.read_exactly(1, "nothing")


def test_nobody_there() -> None:
    with socket.create_server((HOST, 0)) as listener:
        peer = Peer(port=listener.getsockname()[1])
    with pytest.raises(PeerError, match="no connection"):
        Connection(peer)


def test_shown_bytes_are_text_and_cut() -> None:
    assert show(b'a\r\n\xff"') == '"a\\r\\n\\\\xff""'
    assert show(b"x" * 1000).endswith("... (1000 bytes)")


# --- WebSocket ------------------------------------------------------------------------------------


def test_the_accept_key_of_the_rfc() -> None:
    assert (
        accept_key("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    )  # RFC 6455 section 1.3


def test_frames_of_the_rfc() -> None:
    # RFC 6455 section 5.7.
    assert encode_frame(TEXT, b"Hello", mask=False) == bytes.fromhex("810548656c6c6f")
    assert encode_frame(TEXT, b"Hello", key=bytes.fromhex("37fa213d")) == bytes.fromhex(
        "818537fa213d7f9f4d5158"
    )
    assert encode_frame(TEXT, b"Hel", fin=False, mask=False) == bytes.fromhex("010348656c")
    assert encode_frame(BINARY, bytes(256), mask=False)[:4] == bytes.fromhex("827e0100")
    assert encode_frame(BINARY, bytes(65536), mask=False)[:10] == bytes.fromhex(
        "827f0000000000010000"
    )


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 1000])
def test_masking_twice_is_the_same(size: int) -> None:
    data = bytes(i % 251 for i in range(size))
    masked = apply_mask(data, b"\x01\x80\x00\xff")
    assert len(masked) == size
    assert masked == bytes(b ^ b"\x01\x80\x00\xff"[i % 4] for i, b in enumerate(data))
    assert apply_mask(masked, b"\x01\x80\x00\xff") == data


def message(data: bytes) -> Frame:
    with sending(data) as peer, connect(peer) as connection:
        return WebSocket(connection).read_message()


def test_fragments_with_a_ping_between_are_one_message() -> None:
    parts = [
        (TEXT, b"a", False),
        (PING, b"!", True),
        (CONTINUATION, b"b", False),
        (CONTINUATION, b"c", True),
    ]
    data = b"".join(encode_frame(opcode, text, fin=fin, mask=False) for opcode, text, fin in parts)
    assert message(data) == Frame(opcode=TEXT, payload=b"abc")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (encode_frame(TEXT, b"x", mask=True, key=bytes(4)), "a masked frame"),
        (b"\xc1\x01x", "reserved bits"),
        (b"\x83\x01x", "unknown opcode 0x3"),
        (encode_frame(CONTINUATION, b"x", mask=False), "continuation frame outside"),
        (encode_frame(TEXT, b"x", fin=False, mask=False) * 2, "text frame inside"),
        (b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", "a frame of 92"),
        (b"\x81\x05He", "closed in a frame of 5 bytes"),
    ],
)
def test_what_is_not_websocket_is_told(data: bytes, words: str) -> None:
    with pytest.raises(PeerError, match=words):
        message(data)


# --- the counting server --------------------------------------------------------------------------


def test_it_counts_what_clients_do() -> None:
    with serving() as server:
        for _ in range(2):
            with connect(Peer(port=server.port)) as connection:
                for _ in range(3):
                    connection.send(request("GET", "/payload/30", port=server.port))
                    assert connection.read_response().body == b"abcdefghijklmnopqrstuvwxyzabcd"
        assert (
            exchange(Peer(port=server.port), request("GET", "/nonesuch", port=server.port)).status
            == 404
        )
    assert (server.counts.connections, server.counts.requests, server.counts.problems) == (3, 7, [])


def test_it_echoes_and_counts_messages() -> None:
    with serving() as server, open_websocket(Peer(port=server.port)) as websocket:
        websocket.send_text("one")
        assert websocket.read_message() == Frame(opcode=TEXT, payload=b"one")
        websocket.send(BINARY, bytes(70_000))
        assert websocket.read_message() == Frame(opcode=BINARY, payload=bytes(70_000))
        websocket.send(PING, b"p")
        assert websocket.read_message() == Frame(opcode=PONG, payload=b"p")
        websocket.send(CLOSE, b"\x03\xe8")
        assert websocket.read_message() == Frame(opcode=CLOSE, payload=b"\x03\xe8")
        assert websocket.connection.is_closed_by_peer(5)
    assert (server.counts.connections, server.counts.handshakes, server.counts.requests) == (
        1,
        1,
        2,
    )


def test_fragments_must_come_back_as_what_they_were_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def as_text(opcode: int, data: bytes, *, mask: bool) -> bytes:
        return encode_frame(TEXT if opcode == BINARY else opcode, data, mask=mask)

    with serving() as server:
        asked = {check.id: check for check in echo_checks(Peer(port=server.port))}
        assert asked["echo.fragments"].run() == 'pong "p" and text "abc"'
        assert asked["echo.fragments_binary"].run().startswith('pong "p" and binary')
        monkeypatch.setattr(counting_server, "encode_frame", as_text)
        with pytest.raises(Mismatch, match=r"got .*text"):
            asked["echo.fragments_binary"].run()


@pytest.mark.parametrize(
    ("misbehaviour", "status", "body"),
    [("wrong_body", 200, b"abcd!"), ("short_body", 200, b"abcd"), ("not_found", 404, b"not found")],
)
def test_it_misbehaves_as_it_is_told(misbehaviour: str, status: int, body: bytes) -> None:
    with serving(misbehaviour) as server:  # type: ignore[arg-type]
        response = exchange(Peer(port=server.port), request("GET", "/payload/5", port=server.port))
    assert (response.status, response.body) == (status, body)


def test_it_closes_after_each_reply() -> None:
    with serving("close_each") as server, connect(Peer(port=server.port)) as connection:
        connection.send(request("GET", "/payload/5", port=server.port))
        assert connection.read_response().body == b"abcde"
        assert connection.is_closed_by_peer(5)


def _without_mask(peer: Peer) -> None:
    with open_websocket(peer) as websocket:
        websocket.connection.send(encode_frame(TEXT, b"x", mask=False))
        assert websocket.connection.is_closed_by_peer(5)


def _without_host(peer: Peer) -> None:
    with connect(peer) as connection:
        connection.send(b"GET /payload/5 HTTP/1.1\r\n\r\n")
        assert connection.is_closed_by_peer(5)


def _at_another_path(peer: Peer) -> None:
    with connect(peer) as connection:
        connection.send(
            b"GET // HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert connection.is_closed_by_peer(5)


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (_without_mask, "without a mask"),
        (_without_host, "without Host"),
        (_at_another_path, "a WebSocket handshake for //"),
    ],
)
def test_it_says_what_no_client_may_do(break_it: Callable[[Peer], None], words: str) -> None:
    with serving() as server:
        break_it(Peer(port=server.port))
    assert len(server.counts.problems) == 1
    assert words in server.counts.problems[0]


def test_it_ends_silently_and_at_once_whatever_its_connections_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = CountingServer()
    server.start()
    with ExitStack() as stack:
        idle, half, deaf = (stack.enter_context(connect(Peer(port=server.port))) for _ in range(3))
        idle.send(request("GET", "/payload/5", port=server.port))
        assert idle.read_response().body == b"abcde"
        half.send(b"GET /payload/5 HT")
        # A reply that no socket buffer holds, of which nothing is read.
        deaf.send(request("GET", "/payload/50000000", port=server.port, close=True))
        while server.counts.requests < 2:
            time.sleep(0.01)
        for _ in range(20):
            stack.enter_context(connect(Peer(port=server.port)))
        stopping = threading.Thread(target=server.stop, daemon=True)
        stopping.start()
        stopping.join(10)
        assert not stopping.is_alive()
    gc.collect()
    assert [record for record in caplog.records if record.name == "asyncio"] == []


@pytest.mark.parametrize(
    "stamp", ["NaN", "Infinity", "9" * 400, "9" * 5000, "[" * 20_000, "true", '"now"', "1e400"]
)
def test_a_stamp_that_is_no_time_is_a_wrong_reply(stamp: str) -> None:
    reply = Frame(opcode=TEXT, fin=True, payload=f'{{"c":7,"ts":{stamp}}}'.encode())
    with pytest.raises(Mismatch, match="ts"):
        QUESTIONS["ws.count"].judge(reply, 7, "")
