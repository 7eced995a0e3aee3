"""The floor of a link between two hosts, before a server is measured over it: how long a byte takes
there and back, and how many bytes a second it carries each way.

One host reflects, the other asks. Only who knows the token gets an answer.
"""

from __future__ import annotations

import select
import socket
import statistics
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from pydantic import TypeAdapter

from wirebench.fleet.listening import listen_at
from wirebench.fleet.orders import UnreachedError

ECHO, SINK, SOURCE = b"e", b"s", b"g"
"""What a connection is for, after the token."""
ROUND_TRIPS, FIRST_TRIPS = 1000, 100
"""The first ones do not count: caches and the link's own power saving. Our own choice."""
STREAM_S = 1.0
_BLOCK = 1 << 20
_PATIENCE_S = 10.0
_MOST_VISITORS = 64
"""Who are answered at once. Our own choice."""
_COUNT = struct.Struct("<Q")


@dataclass(frozen=True, kw_only=True)
class Floor:
    """What no server can beat over this link."""

    round_trip_min_ns: int
    round_trip_p50_ns: int
    """Of one byte, between two programs in Python."""
    out_bytes_per_s: float
    """From the generator to the server."""
    in_bytes_per_s: float


FLOOR = TypeAdapter(Floor)


def reflect(address: str, token: bytes, *, say: Callable[[int], None], ended: int) -> None:
    """Answer those who connect, until ``ended`` (a file descriptor) can be read. ``say`` is told
    the port. ``OrderError`` if the address is none of this host, ``UnreachedError`` if its
    interface is down.

    Each has a thread, which sleeps beside the one that is measured: who connects and stays silent
    keeps nobody waiting.
    """
    room = threading.BoundedSemaphore(_MOST_VISITORS)
    with listen_at(address, whose="this host") as listening:
        say(listening.getsockname()[1])
        while True:
            ready, _, _ = select.select([listening.fileno(), ended], [], [])
            if ended in ready:
                return
            connection, _ = listening.accept()
            if not room.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=_attend, args=(connection, token, room), daemon=True).start()


def measure(address: str, port: int, token: bytes, *, stream_s: float = STREAM_S) -> Floor:
    """``UnreachedError`` where the other host does not answer."""
    try:
        trips = _round_trips(address, port, token)
        return Floor(
            round_trip_min_ns=min(trips),
            round_trip_p50_ns=round(statistics.median(trips)),
            out_bytes_per_s=_sent_per_s(address, port, token, stream_s),
            in_bytes_per_s=_received_per_s(address, port, token, stream_s),
        )
    except OSError as error:
        raise UnreachedError(
            f"{address}: port {port}: expected the other host there, got {error}"
        ) from error


# --- the asking side ------------------------------------------------------------------------------


def _connect(address: str, port: int, token: bytes, purpose: bytes) -> socket.socket:
    connection = socket.create_connection((address, port), timeout=_PATIENCE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(token + purpose)
    return connection


def _round_trips(address: str, port: int, token: bytes) -> list[int]:
    found = []
    with _connect(address, port, token, ECHO) as connection:
        for _ in range(FIRST_TRIPS + ROUND_TRIPS):
            begun = time.monotonic_ns()
            connection.sendall(b"x")
            _read(connection, 1)
            found.append(time.monotonic_ns() - begun)
    return found[FIRST_TRIPS:]


def _sent_per_s(address: str, port: int, token: bytes, stream_s: float) -> float:
    block = bytes(_BLOCK)
    with _connect(address, port, token, SINK) as connection:
        begun = time.monotonic()
        while time.monotonic() - begun < stream_s:
            connection.sendall(block)
        connection.shutdown(socket.SHUT_WR)
        (count,) = _COUNT.unpack(_read(connection, _COUNT.size))
        return float(count) / (time.monotonic() - begun)


def _received_per_s(address: str, port: int, token: bytes, stream_s: float) -> float:
    block, count = memoryview(bytearray(_BLOCK)), 0
    with _connect(address, port, token, SOURCE) as connection:
        begun = time.monotonic()
        while time.monotonic() - begun < stream_s:
            got = connection.recv_into(block)
            if not got:
                raise ConnectionResetError("the end of the stream")
            count += got
        return count / (time.monotonic() - begun)


# --- the reflecting side --------------------------------------------------------------------------


def _attend(connection: socket.socket, token: bytes, room: threading.Semaphore) -> None:
    try:
        with connection, suppress(OSError):
            connection.settimeout(_PATIENCE_S)
            _answer(connection, token)
    finally:
        room.release()


def _answer(connection: socket.socket, token: bytes) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if _read(connection, len(token)) != token:
        return
    purpose = _read(connection, 1)
    block = memoryview(bytearray(_BLOCK))
    if purpose == ECHO:
        while got := connection.recv_into(block):
            connection.sendall(block[:got])
    elif purpose == SINK:
        count = 0
        while got := connection.recv_into(block):
            count += got
        connection.sendall(_COUNT.pack(count))
    elif purpose == SOURCE:
        while True:  # until the other side closes, which is an error here
            connection.sendall(block)


def _read(connection: socket.socket, count: int) -> bytes:
    content = b""
    while len(content) < count:
        got = connection.recv(count - len(content))
        if not got:
            raise ConnectionResetError("the end of the stream")
        content += got
    return content
