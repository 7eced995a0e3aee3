"""The floor of a link, over loopback: figures, and who gets none."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator

import pytest

from wirebench.fleet.link import ECHO, measure, reflect
from wirebench.fleet.orders import OrderError, UnreachedError

TOKEN = b"0123456789abcdef"


@pytest.fixture(params=["127.0.0.1", "::1"])
def reflected(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """Where a reflector listens."""
    address = str(request.param)
    ended, end = os.pipe()
    port: list[int] = []
    known = threading.Event()

    def say(number: int) -> None:
        port.append(number)
        known.set()

    thread = threading.Thread(
        target=reflect, args=(address, TOKEN), kwargs={"say": say, "ended": ended}
    )
    thread.start()
    assert known.wait(10)
    yield address, port[0]
    os.close(end)
    thread.join(30)
    os.close(ended)
    assert not thread.is_alive(), "it ends with its standard input"


def test_a_link_has_a_round_trip_and_a_bandwidth_each_way(reflected: tuple[str, int]) -> None:
    floor = measure(*reflected, TOKEN, stream_s=0.05)
    assert 0 < floor.round_trip_min_ns <= floor.round_trip_p50_ns
    assert floor.out_bytes_per_s > 0
    assert floor.in_bytes_per_s > 0
    # And it answers the next one.
    assert measure(*reflected, TOKEN, stream_s=0.01).round_trip_min_ns > 0


def test_a_stranger_gets_nothing(reflected: tuple[str, int]) -> None:
    with pytest.raises(UnreachedError, match="expected the other host there, got"):
        measure(*reflected, b"x" * len(TOKEN), stream_s=0.01)
    with socket.create_connection(reflected, timeout=10) as connection:
        connection.sendall(TOKEN[:5])
    assert measure(*reflected, TOKEN, stream_s=0.01).round_trip_min_ns > 0


def test_silent_strangers_keep_nobody_waiting(reflected: tuple[str, int]) -> None:
    """Each would have the whole time that the other host is waited for."""
    with (
        socket.create_connection(reflected, timeout=10),
        socket.create_connection(reflected, timeout=10),
    ):
        assert measure(*reflected, TOKEN, stream_s=0.01).round_trip_min_ns > 0


def test_an_unknown_purpose_is_closed(reflected: tuple[str, int]) -> None:
    with socket.create_connection(reflected, timeout=10) as connection:
        connection.sendall(TOKEN + b"?")
        assert connection.recv(1) == b""
    with socket.create_connection(reflected, timeout=10) as connection:
        connection.sendall(TOKEN + ECHO + b"abc")
        assert connection.recv(3) == b"abc"


def test_where_nobody_listens_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(
        UnreachedError, match=f"127.0.0.1: port {port}: expected the other host there"
    ):
        measure("127.0.0.1", port, TOKEN)


def test_an_address_of_another_host_cannot_be_reflected_from() -> None:
    with pytest.raises(OrderError, match=r"192\.0\.2\.1: expected an address of this host") as why:
        reflect("192.0.2.1", TOKEN, say=lambda _: None, ended=0)
    assert not isinstance(why.value, UnreachedError), "no waiting makes it one"
