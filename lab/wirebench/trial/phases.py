"""How long each phase of a client's operations takes, seen from outside: a proxy between client and
server stamps what passes. In runs of their own: the proxy's time is in every round trip.
"""

from __future__ import annotations

import selectors
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from wirebench.catalog.loads import ClientLoad
from wirebench.catalog.model import Workload
from wirebench.process.ports import HOST
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.trial.calling import CallError, call, serve

PHASES = ("connect", "start", "handshake", "send", "wait", "receive")
"""``connect``: from the last reply's end until the next connection is accepted: giving up the last
one, making what the client needs, looking up the name, connecting. ``start``: until the client's
first byte, from there or, on a kept connection, from the last reply's end. ``handshake``: that of
TLS, until the request begins. ``send``: the request. ``wait``: until the reply begins. ``receive``:
until it has ended.
"""
_APPLICATION_DATA = 23
"""The type of a TLS record (RFC 8446 section 5.1)."""
_STATUS_LINE_BYTES = len("HTTP/1.1 200 OK\r\n")
_CHUNK_BYTES = 256 * 1024
_PATIENCE_S = 10.0


@dataclass(kw_only=True)
class Exchange:
    """Bytes of the client, and what the server sent before more of them came. Times in ns."""

    connection: Connection
    begun_ns: int
    sent_ns: int
    reply_ns: int | None = None
    end_ns: int = 0
    reply_bytes: int = 0


class _Records:
    """The types of TLS records in one direction of a connection, as their first bytes pass."""

    def __init__(self) -> None:
        self._head = b""
        self._left = 0

    def types(self, data: bytes) -> list[int]:
        found = []
        while data:
            if self._left:
                passed = min(self._left, len(data))
                self._left -= passed
                data = data[passed:]
                continue
            wanted = 5 - len(self._head)
            self._head, data = self._head + data[:wanted], data[wanted:]
            if len(self._head) == 5:
                found.append(self._head[0])
                self._left = int.from_bytes(self._head[3:], "big")
                self._head = b""
        return found


class Connection:
    """What passes on one connection, as exchanges; over TLS those after its handshake."""

    def __init__(self, *, accepted_ns: int, tls: bool) -> None:
        self.accepted_ns = accepted_ns
        self.first_ns: int | None = None
        self.exchanges: list[Exchange] = []
        self._records = (_Records(), _Records()) if tls else None
        self._finished = False
        self._server_encrypts = False
        self._open = not tls

    def from_client(self, data: bytes, now_ns: int) -> None:
        self.first_ns = now_ns if self.first_ns is None else self.first_ns
        if not self._open and not self._request_begins(data):
            return
        self._open = True
        last = self.exchanges[-1] if self.exchanges else None
        if last is None or last.reply_ns is not None:
            self.exchanges.append(Exchange(connection=self, begun_ns=now_ns, sent_ns=now_ns))
        else:
            last.sent_ns = now_ns

    def from_server(self, data: bytes, now_ns: int) -> None:
        if self._records is not None and not self._open:
            self._server_encrypts |= _APPLICATION_DATA in self._records[1].types(data)
        if self.exchanges:
            last = self.exchanges[-1]
            last.reply_ns = now_ns if last.reply_ns is None else last.reply_ns
            last.end_ns = now_ns
            last.reply_bytes += len(data)

    def _request_begins(self, data: bytes) -> bool:
        """Whether application data of the client begins here. With TLS 1.3, whose server encrypts
        before the client does, the first record that looks like it ends the handshake.
        """
        if self._records is None:
            return True
        for kind in self._records[0].types(data):
            if kind != _APPLICATION_DATA:
                continue
            if self._finished or not self._server_encrypts:
                return True
            self._finished = True
        return False


@dataclass(eq=False)
class _Side:
    """One socket of a connection; what it receives goes to the other."""

    socket: socket.socket
    note: Callable[[bytes, int], None]
    other: _Side = field(init=False)
    ended: bool = False


@dataclass(kw_only=True)
class Proxy:
    """Use ``proxying()``. ``connections`` may be read when that has ended."""

    port: int
    connections: list[Connection] = field(default_factory=list)


@contextmanager
def proxying(to: int, *, tls: bool) -> Iterator[Proxy]:
    """Pass on what comes to a port of this host, and back, and stamp it."""
    with (
        socket.create_server((HOST, 0)) as listener,
        selectors.DefaultSelector() as selector,
    ):
        proxy = Proxy(port=listener.getsockname()[1])
        waking, wake = socket.socketpair()
        selector.register(listener, selectors.EVENT_READ)
        selector.register(waking, selectors.EVENT_READ)
        relay = _Relay(selector, listener, to=to, tls=tls, proxy=proxy)
        thread = threading.Thread(target=relay.run, args=(waking,), name="wirebench-proxy")
        thread.start()
        try:
            yield proxy
        finally:
            wake.close()
            thread.join()
            waking.close()


class _Relay:
    def __init__(
        self,
        selector: selectors.BaseSelector,
        listener: socket.socket,
        *,
        to: int,
        tls: bool,
        proxy: Proxy,
    ) -> None:
        self._selector = selector
        self._listener = listener
        self._to = to
        self._tls = tls
        self._proxy = proxy

    def run(self, waking: socket.socket) -> None:
        """Until the other end of ``waking`` is closed."""
        while True:
            ready = self._selector.select()
            now_ns = time.perf_counter_ns()
            for key, _ in ready:
                if key.fileobj is waking:
                    self._end_all()
                    return
                if key.data is None:
                    self._accept(now_ns)
                elif not key.data.ended:
                    self._pass_on(key.data)

    def _accept(self, now_ns: int) -> None:
        client, _ = self._listener.accept()
        try:
            server = socket.create_connection((HOST, self._to), timeout=_PATIENCE_S)
        except OSError:
            client.close()
            return
        connection = Connection(accepted_ns=now_ns, tls=self._tls)
        self._proxy.connections.append(connection)
        one, other = _Side(client, connection.from_client), _Side(server, connection.from_server)
        one.other, other.other = other, one
        for side in (one, other):
            side.socket.settimeout(_PATIENCE_S)
            side.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(side.socket, selectors.EVENT_READ, side)

    def _pass_on(self, side: _Side) -> None:
        try:
            data = side.socket.recv(_CHUNK_BYTES)
            if data:
                side.note(data, time.perf_counter_ns())
                side.other.socket.sendall(data)
                return
            side.other.socket.shutdown(socket.SHUT_WR)
        except OSError:  # one of them is gone
            self._end(side.other)
        self._end(side)
        if side.other.ended:
            side.socket.close()
            side.other.socket.close()

    def _end(self, side: _Side) -> None:
        if not side.ended:
            side.ended = True
            self._selector.unregister(side.socket)

    def _end_all(self) -> None:
        sides = [key.data for key in self._selector.get_map().values() if key.data is not None]
        for side in sides:
            side.socket.close()
            side.other.socket.close()


def operations_of(connections: Sequence[Connection], payload_bytes: int) -> list[Exchange]:
    """The exchanges that were operations, in their order: their replies have a status line and the
    payload. What else passes is less: the end of a TLS connection.
    """
    least = _STATUS_LINE_BYTES + payload_bytes
    found = [
        exchange
        for connection in connections
        for exchange in connection.exchanges
        if exchange.reply_bytes >= least
    ]
    return sorted(found, key=lambda one: one.begun_ns)


def phases_of(operations: Sequence[Exchange], *, skip: int) -> dict[str, float]:
    """The median of each phase in ns, without the first ``skip`` operations, which are one at
    least. A phase that no operation has is missing.
    """
    times: dict[str, list[int]] = {phase: [] for phase in PHASES}
    for before, one in zip(operations[skip - 1 :], operations[skip:], strict=False):
        began_ns = one.connection.first_ns
        if one is one.connection.exchanges[0] and began_ns is not None:
            times["connect"].append(one.connection.accepted_ns - before.end_ns)
            times["start"].append(began_ns - one.connection.accepted_ns)
            if one.begun_ns > began_ns:
                times["handshake"].append(one.begun_ns - began_ns)
        else:
            times["start"].append(one.begun_ns - before.end_ns)
        times["send"].append(one.sent_ns - one.begun_ns)
        times["wait"].append((one.reply_ns or one.sent_ns) - one.sent_ns)
        times["receive"].append(one.end_ns - (one.reply_ns or one.end_ns))
    return {phase: statistics.median(found) for phase, found in times.items() if found}


_WARMUP = 50


def measure_phases(
    client: Program,
    server: Program,
    load: ClientLoad,
    workload: Workload,
    supervisor: Supervisor,
    *,
    operations: int,
) -> Mapping[str, float]:
    """The median of each phase, in ns, of a load of http or https. Errors: ``CallError``."""
    asked = replace(load, warmup=_WARMUP, operations=operations)
    with supervisor.scope() as scope:
        served = serve(scope, server, asked, workload)
        with proxying(served.port, tls=asked.tls) as proxy:
            call(scope, client, asked, replace(served, port=proxy.port))
    seen = operations_of(proxy.connections, asked.payload_bytes)
    if len(seen) != _WARMUP + operations:
        raise CallError(
            f"expected {_WARMUP + operations} requests with their replies one after another, saw"
            f" {len(seen)}"
        )
    return phases_of(seen, skip=_WARMUP)
