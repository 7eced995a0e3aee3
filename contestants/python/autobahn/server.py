"""autobahn on asyncio as a server: ws.echo, ws.count."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import time
from multiprocessing import Process

import txaio
from autobahn.asyncio.websocket import WebSocketServerFactory, WebSocketServerProtocol

HOST, PORT = os.environ["WIREBENCH_HOST"], int(os.environ["WIREBENCH_PORT"])
THREADS = int(os.environ.get("WIREBENCH_THREADS") or 1)

txaio.use_asyncio()
logging.disable()  # otherwise a traceback for each connection beyond the open files


def refuse(constant: str) -> None:
    """NaN and infinities, which are no JSON: Python's default reads and writes them."""
    raise ValueError(f"{constant} is no JSON")


decode = json.JSONDecoder(parse_constant=refuse).decode
encode = json.JSONEncoder(allow_nan=False).encode


class Echo(WebSocketServerProtocol):
    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        self.sendMessage(payload, isBinary)


class Count(WebSocketServerProtocol):
    def onMessage(self, payload: bytes, isBinary: bool) -> None:
        # What this raises ends the connection.
        reply = encode({"c": decode(payload.decode())["c"], "ts": int(time.time())})
        self.sendMessage(reply.encode())


async def run() -> None:
    factory = WebSocketServerFactory(f"ws://{HOST}:{PORT}")
    factory.setProtocolOptions(maxMessagePayloadSize=16 * 1024 * 1024)  # no limit by default
    factory.protocol = Echo if os.environ.get("WIREBENCH_WORKLOAD") == "ws.echo" else Count
    loop = asyncio.get_running_loop()
    server = await loop.create_server(factory, HOST, PORT, backlog=4096, reuse_port=THREADS > 1)
    await server.serve_forever()


def work() -> None:
    # SIGTERM ends it at once, open connections or not.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    asyncio.run(run())


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
