"""websockets as a server: ws.echo, ws.count."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import time
from multiprocessing import Process

from websockets.asyncio.server import ServerConnection, serve

THREADS = int(os.environ.get("WIREBENCH_THREADS") or 1)

logging.disable()  # otherwise a traceback for each connection that just drops


async def echo(websocket: ServerConnection) -> None:
    async for message in websocket:
        await websocket.send(message)


async def count(websocket: ServerConnection) -> None:
    async for message in websocket:
        await websocket.send(json.dumps({"c": json.loads(message)["c"], "ts": int(time.time())}))


async def run() -> None:
    handler = echo if os.environ.get("WIREBENCH_WORKLOAD") == "ws.echo" else count
    host, port = os.environ["WIREBENCH_HOST"], int(os.environ["WIREBENCH_PORT"])
    async with serve(handler, host, port, backlog=4096, reuse_port=THREADS > 1) as server:
        await server.serve_forever()


def work() -> None:
    # A worker does not inherit the parent's handler: SIGTERM ends it at once, open connections or not.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    asyncio.run(run())


if __name__ == "__main__":
    if THREADS == 1:
        work()
    else:
        # Daemonic processes are ended when this one exits.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        workers = [Process(target=work, daemon=True) for _ in range(THREADS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
