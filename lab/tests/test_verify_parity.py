"""What must be alike for all servers: replies that leave at once, handlers, the listen queue, and
the limit of a request head.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from wirebench.process import nodelay, procfs
from wirebench.process.nodelay import UnreadableError, has_nodelay
from wirebench.process.ports import HOST
from wirebench.verify import parity_checks
from wirebench.verify.checks import Mismatch, Unchecked
from wirebench.verify.http import Peer
from wirebench.verify.parity_checks import (
    BEGUN,
    crowd_check,
    handlers_check,
    nodelay_check,
    slow_head_check,
)


@contextmanager
def listening(backlog: int) -> Iterator[socket.socket]:
    with socket.create_server((HOST, 0), backlog=backlog) as listener:
        yield listener


def own() -> list[int]:
    return [os.getpid()]


@contextmanager
def accepted(host: str = HOST, *, nodelay: bool) -> Iterator[tuple[int, int]]:
    """The port of a listener, and that of the client of its only connection."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with (
        socket.create_server((host, 0), family=family, dualstack_ipv6=":" in host) as listener,
        socket.create_connection((HOST, listener.getsockname()[1])) as client,
    ):
        # The option of the client's own end, which this process has too, is the other one.
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not nodelay)
        server, _ = listener.accept()
        with server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
            yield listener.getsockname()[1], client.getsockname()[1]


@pytest.mark.parametrize("host", [HOST, "::"])
@pytest.mark.parametrize("on", [True, False])
def test_the_option_of_a_server_s_socket_is_read(host: str, on: bool) -> None:
    with accepted(host, nodelay=on) as (port, client_port):
        before = procfs.open_files(own())
        assert has_nodelay(own, port=port, client_port=client_port) is on
        assert procfs.open_files(own()) == before, "the duplicate is closed"


def test_a_socket_of_another_process_is_not_the_server_s() -> None:
    with (
        accepted(nodelay=True) as (port, client_port),
        pytest.raises(UnreadableError, match="no process of the server"),
    ):
        has_nodelay(list, port=port, client_port=client_port, within_s=0.05)


def test_a_connection_that_is_not_accepted_has_no_option() -> None:
    with (
        listening(5) as listener,
        socket.create_connection(listener.getsockname()) as client,
        pytest.raises(UnreadableError, match="no process of the server"),
    ):
        has_nodelay(
            own,
            port=listener.getsockname()[1],
            client_port=client.getsockname()[1],
            within_s=0.05,
        )


def test_a_host_without_the_system_call_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodelay, "_PIDFD_GETFD", 1_000_000)
    with (
        accepted(nodelay=True) as (port, client_port),
        pytest.raises(UnreadableError, match="pidfd_getfd: Function not implemented"),
    ):
        has_nodelay(own, port=port, client_port=client_port)


def test_what_cannot_be_read_is_not_checked() -> None:
    with listening(5) as listener:
        thread = threading.Thread(target=answer_twice, args=(listener,))
        thread.start()
        check = nodelay_check(Peer(port=listener.getsockname()[1]), "http.hello", list)
        with pytest.raises(Unchecked, match="no process of the server"):
            check.run()
        thread.join()


@pytest.mark.parametrize("on", [True, False])
def test_an_option_that_is_set_after_the_first_reply_counts(on: bool) -> None:
    with listening(5) as listener:
        thread = threading.Thread(target=answer_twice, args=(listener, on))
        thread.start()
        check = nodelay_check(Peer(port=listener.getsockname()[1]), "http.hello", own)
        if on:
            assert check.run() == "TCP_NODELAY on"
        else:
            with pytest.raises(Mismatch) as found:
                check.run()
            assert found.value.received == "TCP_NODELAY off"
        thread.join()


def answer_twice(listener: socket.socket, nodelay: bool = False) -> None:
    """As nginx, which sets the option when it keeps a connection."""
    connection, _ = listener.accept()
    with connection:
        for _ in range(2):
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
        connection.recv(1000)


@contextmanager
def handling(handlers: int) -> Iterator[Peer]:
    """Threads that each take a connection, read its head to the end and answer."""

    def handle() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                head = b""
                while not head.endswith(b"\r\n\r\n") and (more := connection.recv(1000)):
                    head += more
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with listening(1024) as listener:
        threads = [threading.Thread(target=handle) for _ in range(handlers)]
        for thread in threads:
            thread.start()
        try:
            yield Peer(port=listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # ends accept()
            for thread in threads:
                thread.join()


def test_several_handlers_of_one_thread_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parity_checks, "_ANSWERED_WITHIN_S", 0.2)
    with handling(4) as peer, pytest.raises(Mismatch) as found:
        handlers_check(peer, "http.hello").run()
    assert found.value.received.endswith("a pool of handlers")


@pytest.mark.parametrize(
    ("handlers", "said"), [(1, "there is one handler"), (BEGUN + 1, "they hold no handler")]
)
def test_one_handler_is_right_and_so_is_one_for_each_connection(
    handlers: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parity_checks, "_ANSWERED_WITHIN_S", 0.2)
    with handling(handlers) as peer:
        assert handlers_check(peer, "http.payload").run().endswith(said)


def test_a_queue_for_all_holds_a_crowd_that_nobody_accepts() -> None:
    with listening(1024) as listener:
        assert crowd_check(Peer(port=listener.getsockname()[1])).run() == "256 connections"


def test_a_short_queue_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parity_checks, "_CROWD_WITHIN_S", 0.3)
    with listening(5) as listener, pytest.raises(Mismatch) as found:
        crowd_check(Peer(port=listener.getsockname()[1])).run()
    assert found.value.received.startswith("6 of 256;")


def test_a_head_without_an_end_that_nobody_gives_up_shows() -> None:
    with listening(5) as listener, pytest.raises(Mismatch) as found:
        slow_head_check(Peer(port=listener.getsockname()[1]), within_s=0.2).run()
    assert "an open connection" in found.value.received


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 408 Request Timeout\r\n\r\n"])
def test_a_head_without_an_end_may_be_refused_or_dropped(answer: bytes) -> None:
    with listening(5) as listener:

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(100)
                connection.sendall(answer)

        thread = threading.Thread(target=refuse)
        thread.start()
        said = slow_head_check(Peer(port=listener.getsockname()[1]), within_s=5).run()
        thread.join()
    assert said.startswith("ended after")


def test_all_but_the_handlers_are_advice() -> None:
    assert handlers_check(Peer(port=1), "http.hello").required
    assert not nodelay_check(Peer(port=1), "ws.echo", list).required
    assert not crowd_check(Peer(port=1)).required
    assert not slow_head_check(Peer(port=1)).required
