"""websockets as a client: ws and wss."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import ssl
import sys
import time
from array import array
from collections.abc import Awaitable, Callable
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

URL = os.environ["WIREBENCH_URL"]
POLICY = os.environ["WIREBENCH_POLICY"]
PAYLOAD_BYTES = int(os.environ["WIREBENCH_PAYLOAD_BYTES"])
MESSAGE = ("abcdefghijklmnopqrstuvwxyz" * (PAYLOAD_BYTES // 26 + 1))[:PAYLOAD_BYTES]
WARMUP = int(os.environ["WIREBENCH_WARMUP"])
OPERATIONS = int(os.environ["WIREBENCH_OPERATIONS"])

connections = 0


def new_context() -> ssl.SSLContext | None:
    """What connections to one server share, and so what policy cold makes anew."""
    if not URL.startswith("wss"):
        return None
    return ssl.create_default_context(cafile=os.environ["WIREBENCH_CA_FILE"] or None)


async def exchange(websocket: ClientConnection) -> bool:
    await websocket.send(MESSAGE)
    return await websocket.recv() == MESSAGE


async def exchange_once(context: ssl.SSLContext | None) -> bool:
    global connections
    async with connect(URL, ssl=context) as websocket:
        connections += 1
        return await exchange(websocket)


async def measure(operation: Callable[[], Awaitable[bool]]) -> int:
    samples = array("Q", bytes(8 * OPERATIONS))
    errors = 0
    for i in range(-WARMUP, OPERATIONS):
        if i == 0:
            before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter_ns()
        start = time.perf_counter_ns()
        try:
            ok = await operation()
        except (WebSocketException, OSError):
            ok = False
        if i >= 0:
            samples[i] = time.perf_counter_ns() - start
        errors += not ok
    wall, after = time.perf_counter_ns() - began, resource.getrusage(resource.RUSAGE_SELF)
    if sys.byteorder == "big":
        samples.byteswap()
    with Path(os.environ["WIREBENCH_SAMPLES"]).open("wb") as file:
        samples.tofile(file)
    print(
        json.dumps(
            {
                "operations": OPERATIONS,
                "errors": errors,
                "connections": connections,
                "wall_ns": wall,
                "cpu_user_ns": round((after.ru_utime - before.ru_utime) * 1e9),
                "cpu_system_ns": round((after.ru_stime - before.ru_stime) * 1e9),
            }
        )
    )
    return errors


async def main() -> int:
    global connections
    if POLICY == "cold":
        return await measure(lambda: exchange_once(new_context()))
    context = new_context()
    if POLICY == "new":
        return await measure(lambda: exchange_once(context))
    async with connect(URL, ssl=context) as websocket:
        connections = 1
        return await measure(lambda: exchange(websocket))


sys.exit(1 if asyncio.run(main()) else 0)
