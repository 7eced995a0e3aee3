"""@NAME@: ws.echo and ws.count.

The lines to edit are marked EDIT: the library's import, its two handlers, and how it listens. The
lab gives the workload, the address and the number of workers (WIREBENCH_THREADS; one here,
../websockets shows more) in the environment, takes the server for ready when it accepts, and ends
it with SIGTERM.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time

from websockets.asyncio.server import ServerConnection, serve  # EDIT

logging.disable()  # otherwise a traceback for each connection that just drops


async def echo(
    websocket: ServerConnection,
) -> None:  # EDIT: each message back as it came, text or binary
    async for message in websocket:
        await websocket.send(message)


async def count(
    websocket: ServerConnection,
) -> None:  # EDIT: {"c":n} -> {"c":n,"ts":<unix seconds>}
    async for message in websocket:
        await websocket.send(json.dumps({"c": json.loads(message)["c"], "ts": int(time.time())}))


async def main() -> None:
    handler = echo if os.environ["WIREBENCH_WORKLOAD"] == "ws.echo" else count
    host, port = os.environ["WIREBENCH_HOST"], int(os.environ["WIREBENCH_PORT"])
    async with serve(handler, host, port) as server:  # EDIT
        await server.serve_forever()


asyncio.run(main())
