"""websockets as a server: ws.echo, ws.count, ws.broadcast."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import time
from multiprocessing import Process

from websockets.asyncio.server import ServerConnection, broadcast, serve
from websockets.frames import CloseCode

WORKLOAD = os.environ.get("WIREBENCH_WORKLOAD")
# Under ws.broadcast one process has all connections.
THREADS = 1 if WORKLOAD == "ws.broadcast" else int(os.environ.get("WIREBENCH_THREADS") or 1)


def refuse(constant: str) -> None:
    """NaN and infinities, which are no JSON: Python's default reads and writes them."""
    raise ValueError(f"{constant} is no JSON")


decode = json.JSONDecoder(parse_constant=refuse).decode
encode = json.JSONEncoder(allow_nan=False).encode

logging.disable()  # otherwise a traceback for each connection that just drops


async def echo(websocket: ServerConnection) -> None:
    async for message in websocket:
        await websocket.send(message)


async def count(websocket: ServerConnection) -> None:
    async for message in websocket:
        try:
            reply = encode({"c": decode(message)["c"], "ts": int(time.time())})
        except ValueError:
            await websocket.close(CloseCode.INVALID_DATA)
            return
        await websocket.send(reply)


everybody: set[ServerConnection] = set()


async def to_all(websocket: ServerConnection) -> None:
    everybody.add(websocket)
    try:
        async for message in websocket:
            broadcast(everybody, message)
    finally:
        everybody.remove(websocket)


async def run() -> None:
    handler = {"ws.echo": echo, "ws.count": count, "ws.broadcast": to_all}[WORKLOAD or "ws.count"]
    host, port = os.environ["WIREBENCH_HOST"], int(os.environ["WIREBENCH_PORT"])
    async with serve(handler, host, port, backlog=4096, reuse_port=THREADS > 1) as server:
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
