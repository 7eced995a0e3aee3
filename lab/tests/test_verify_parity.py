"""What must be alike for all servers: the listen queue, and the limit of a request head."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from wirebench.process.ports import HOST
from wirebench.verify import parity_checks
from wirebench.verify.checks import Mismatch
from wirebench.verify.http import Peer
from wirebench.verify.parity_checks import crowd_check, slow_head_check


@contextmanager
def listening(backlog: int) -> Iterator[socket.socket]:
    with socket.create_server((HOST, 0), backlog=backlog) as listener:
        yield listener


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


def test_both_are_advice() -> None:
    assert not crowd_check(Peer(port=1)).required
    assert not slow_head_check(Peer(port=1)).required
