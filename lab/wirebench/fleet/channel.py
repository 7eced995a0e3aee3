"""The connection between the two hosts of a pair, for the time of a block: TLS with the fleet's
certificates, and a JSON document in each line.

Nobody polls: a side that waits is asleep until a line comes. A host that is cut off is noticed by
the kernel: by its probes, or by what was sent and is not acknowledged.
"""

from __future__ import annotations

import json
import selectors
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from wirebench.fleet.certificates import Identity, peer_name
from wirebench.fleet.hosts import Pair
from wirebench.fleet.listening import listen_at
from wirebench.fleet.orders import OrderError, UnreachedError
from wirebench.process import interrupt

MOST_BYTES = 64 * 2**20
"""A longer line is refused. A document with the rounds of a large ramp has some MB."""
ARRIVAL_S = 60.0
"""How long the server's host waits for the generator's."""
_HANDSHAKE_S = 10.0
_MOST_VISITORS = 64
"""Of more that shake hands at once the first one is sent away. Our own choice."""
_PROBE_AFTER_S, _PROBE_EVERY_S, _PROBES = 10, 5, 4
LOST_AFTER_S = _PROBE_AFTER_S + _PROBE_EVERY_S * _PROBES
"""A silent host is lost after half a minute. Our own choice."""


class ChannelError(Exception):
    """The other host is gone, or sent what is no line. The text is for the user."""


class Channel:
    def __init__(self, connection: ssl.SSLSocket) -> None:
        self._connection = connection
        self._buffer = bytearray()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBE_AFTER_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_EVERY_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES)
        # There are no probes while something is under way: that is sent again for a quarter of an
        # hour otherwise (tcp(7)).
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, LOST_AFTER_S * 1000)

    def fileno(self) -> int:
        return self._connection.fileno()

    @property
    def local_address(self) -> str:
        return str(self._connection.getsockname()[0])

    @property
    def has_line(self) -> bool:
        """Whether ``receive()`` has something without looking at the socket."""
        return b"\n" in self._buffer or self._connection.pending() > 0

    def send(self, message: object) -> None:
        self.send_line(json.dumps(message).encode())

    def send_line(self, line: bytes) -> None:
        """``line``: JSON, without a newline."""
        try:
            self._connection.settimeout(LOST_AFTER_S)
            self._connection.sendall(line + b"\n")
        except OSError as error:
            raise ChannelError(f"the other host is gone: {error}") from error

    def receive(self, timeout_s: float | None) -> bytes | None:
        """The next line; None at the timeout. Signals may interrupt the wait."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if len(self._buffer) > MOST_BYTES:
                raise ChannelError(f"the other host sent more than {MOST_BYTES:,} bytes in a line")
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return None
            try:
                self._connection.settimeout(left)
                with interrupt.waiting():
                    part = self._connection.recv(1 << 16)
            except TimeoutError:
                return None
            except OSError as error:
                raise ChannelError(f"the other host is gone: {error}") from error
            if not part:
                raise ChannelError("the other host has ended the connection")
            self._buffer += part
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def close(self) -> None:
        self._connection.close()


@contextmanager
def await_generator(
    pair: Pair, identity: Identity, say: Callable[[int], None], *, patience_s: float = ARRIVAL_S
) -> Iterator[Channel]:
    """On the server's host: the connection of the generator's. ``say`` is told the port. Whoever
    else connects is sent away. ``OrderError`` if the address is none of this host,
    ``UnreachedError`` if its interface is down, or nobody comes.
    """
    context = identity.context(server_side=True)
    with listen_at(pair.address, whose=f"host {pair.server}") as listening:
        say(listening.getsockname()[1])
        channel = _accepted(listening, context, pair, deadline=time.monotonic() + patience_s)
    if channel is None:
        raise UnreachedError(
            f"{pair.address}: expected host {pair.generator} to connect within {patience_s:g} s,"
            " got nobody; is this the address of the server's host that it reaches?"
        )
    try:
        yield channel
    finally:
        channel.close()


def _accepted(
    listening: socket.socket, context: ssl.SSLContext, pair: Pair, *, deadline: float
) -> Channel | None:
    """The generator's host, among those who connect. They shake hands side by side: who connects
    and stays silent keeps nobody waiting.
    """
    listening.setblocking(False)
    with selectors.DefaultSelector() as selector, ExitStack() as visitors:
        selector.register(listening, selectors.EVENT_READ)
        until: dict[ssl.SSLSocket, float] = {}

        def send_away(visitor: ssl.SSLSocket) -> None:
            del until[visitor]
            selector.unregister(visitor)
            visitor.close()

        def send_all_away() -> None:
            for one in list(until):
                send_away(one)

        visitors.callback(send_all_away)
        while (now := time.monotonic()) < deadline:
            for late in [one for one, end in until.items() if end <= now]:
                send_away(late)
            with interrupt.waiting():
                ready = selector.select(min([deadline, *until.values()]) - now)
            for key, _ in ready:
                visitor: ssl.SSLSocket | None = key.data
                if visitor is not None and visitor not in until:
                    continue  # sent away for one that came now
                if visitor is None:
                    visitor = _admitted(listening, context)
                    if visitor is None:
                        continue
                    selector.register(visitor, selectors.EVENT_READ, visitor)
                    until[visitor] = time.monotonic() + _HANDSHAKE_S
                    if len(until) > _MOST_VISITORS:
                        send_away(next(iter(until)))
                try:
                    visitor.do_handshake()
                except ssl.SSLWantReadError:
                    selector.modify(visitor, selectors.EVENT_READ, visitor)
                except ssl.SSLWantWriteError:
                    selector.modify(visitor, selectors.EVENT_WRITE, visitor)
                except OSError:
                    send_away(visitor)
                else:
                    if peer_name(visitor) != pair.generator:
                        send_away(visitor)
                        continue
                    del until[visitor]
                    return Channel(visitor)
    return None


def _admitted(listening: socket.socket, context: ssl.SSLContext) -> ssl.SSLSocket | None:
    """Who connects now; None if that one is gone already."""
    try:
        plain, _ = listening.accept()
    except OSError:
        return None
    plain.setblocking(False)
    try:
        return context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
    except OSError:
        plain.close()
        return None


@contextmanager
def reach_server(pair: Pair, identity: Identity, port: int) -> Iterator[Channel]:
    """On the generator's host. ``UnreachedError`` if the server's host is not there,
    ``OrderError`` if another one is.
    """
    context = identity.context(server_side=False)
    try:
        plain = socket.create_connection((pair.address, port), timeout=_HANDSHAKE_S)
        connection = context.wrap_socket(plain)
    except OSError as error:
        raise UnreachedError(
            f"{pair.address}: expected host {pair.server} at port {port}, got {error}"
        ) from error
    if (name := peer_name(connection)) != pair.server:
        connection.close()
        raise OrderError(f"{pair.address}: expected host {pair.server}, got {name!r}")
    channel = Channel(connection)
    try:
        yield channel
    finally:
        channel.close()
