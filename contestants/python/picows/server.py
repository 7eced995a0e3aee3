"""picows as a server: ws.echo, ws.count, ws.broadcast."""

from __future__ import annotations

import json
import logging
import os
import signal
import time
from multiprocessing import Process

import uvloop
from picows import (
    WSCloseCode,
    WSFrame,
    WSListener,
    WSMsgType,
    WSTransport,
    WSUpgradeRequest,
    ws_create_server,
)

WORKLOAD = os.environ.get("WIREBENCH_WORKLOAD")
# Under ws.broadcast one process has all connections.
THREADS = 1 if WORKLOAD == "ws.broadcast" else int(os.environ.get("WIREBENCH_THREADS") or 1)
MAX_MESSAGE_BYTES = 16 * 1024 * 1024

logging.disable()  # otherwise a traceback for each connection beyond the open files


def refuse(constant: str) -> None:
    """NaN and infinities, which are no JSON: Python's default reads and writes them."""
    raise ValueError(f"{constant} is no JSON")


decode = json.JSONDecoder(parse_constant=refuse).decode
encode = json.JSONEncoder(allow_nan=False).encode


class Messages(WSListener):
    """Puts messages together; picows hands out frames."""

    def __init__(self) -> None:
        self.kind = WSMsgType.TEXT
        self.parts = bytearray()

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.CLOSE:
            transport.send_close(frame.get_close_code(), frame.get_close_message())
            transport.disconnect()
        elif frame.msg_type in (WSMsgType.TEXT, WSMsgType.BINARY, WSMsgType.CONTINUATION):
            if frame.msg_type != WSMsgType.CONTINUATION:
                self.kind = frame.msg_type
                if frame.fin:
                    self.on_message(transport, frame.get_payload_as_memoryview())
                    return
            payload = frame.get_payload_as_memoryview()
            if len(self.parts) + len(payload) > MAX_MESSAGE_BYTES:
                transport.send_close(WSCloseCode.MESSAGE_TOO_BIG)
                transport.disconnect()
                return
            self.parts += payload
            if frame.fin:
                self.on_message(transport, self.parts)
                self.parts = bytearray()


class Echo(Messages):
    def on_message(self, transport: WSTransport, message: bytes) -> None:
        transport.send(self.kind, message)


class Count(Messages):
    def on_message(self, transport: WSTransport, message: bytes) -> None:
        try:
            reply = encode({"c": decode(bytes(message).decode())["c"], "ts": int(time.time())})
        except ValueError:
            transport.send_close(WSCloseCode.INVALID_TEXT)
            transport.disconnect()
            return
        transport.send(WSMsgType.TEXT, reply.encode())


everybody: set[WSTransport] = set()


class Broadcast(Messages):
    def on_ws_connected(self, transport: WSTransport) -> None:
        everybody.add(transport)

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        everybody.discard(transport)

    def on_message(self, transport: WSTransport, message: bytes) -> None:
        for one in everybody:
            one.send(self.kind, message)


LISTENERS = {"ws.echo": Echo, "ws.count": Count, "ws.broadcast": Broadcast}


async def run() -> None:
    listener = LISTENERS[WORKLOAD or "ws.count"]

    def accept(request: WSUpgradeRequest) -> WSListener:
        return listener()

    server = await ws_create_server(
        accept,
        os.environ["WIREBENCH_HOST"],
        int(os.environ["WIREBENCH_PORT"]),
        backlog=4096,
        reuse_port=THREADS > 1,
    )
    await server.serve_forever()


def work() -> None:
    # SIGTERM ends it at once, open connections or not.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    uvloop.run(run())


if __name__ == "__main__":
    if THREADS == 1:
        work()
    else:
        # Held back until every worker is known, then passed on to each.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        workers = [Process(target=work) for _ in range(THREADS)]
        for worker in workers:
            worker.start()
        signal.sigwait([signal.SIGTERM])
        for worker in workers:
            worker.terminate()
