"""websocket-client as a client: ws, wss."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import websocket

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

import contract


@contextmanager
def session() -> Iterator[contract.Operation]:
    # What is kept between connections; a WebSocket object is one connection.
    options = {"context": contract.tls_context()} if contract.URL.startswith("wss") else {}

    def connect() -> websocket.WebSocket:
        return websocket.create_connection(contract.URL, timeout=10, sslopt=options)

    def exchange(socket: websocket.WebSocket) -> str:
        socket.send(contract.MESSAGE)
        return socket.recv()

    def exchange_once() -> str:
        with closing(connect()) as socket:
            return exchange(socket)

    if contract.POLICY != "reuse":
        yield exchange_once
        return
    with closing(connect()) as kept:
        yield lambda: exchange(kept)


contract.measure(session)
