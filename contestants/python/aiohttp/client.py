"""aiohttp as a client: http, https, ws and wss."""

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
from typing import Any

import aiohttp

URL = os.environ["WIREBENCH_URL"]
POLICY = os.environ["WIREBENCH_POLICY"]
METHOD = os.environ.get("WIREBENCH_METHOD", "GET")
EXPECTED = (b"abcdefghijklmnopqrstuvwxyz" * (int(os.environ["WIREBENCH_PAYLOAD_BYTES"]) // 26 + 1))[
    : int(os.environ["WIREBENCH_PAYLOAD_BYTES"])
]
MESSAGE = EXPECTED.decode()
BODY = EXPECTED if METHOD == "POST" else None
HEADERS = {"Content-Type": "application/octet-stream"} if METHOD == "POST" else None
WARMUP = int(os.environ["WIREBENCH_WARMUP"])
OPERATIONS = int(os.environ["WIREBENCH_OPERATIONS"])

connections = 0


class CountingConnector(aiohttp.TCPConnector):
    """Counts connections, not attempts: its public hook is asked for a socket for each address."""

    async def _wrap_create_connection(self, *args: Any, **kwargs: Any) -> Any:
        global connections
        made = await super()._wrap_create_connection(*args, **kwargs)
        connections += 1
        return made


def new_session() -> aiohttp.ClientSession:
    context = None
    if URL.startswith(("https", "wss")):
        context = ssl.create_default_context(cafile=os.environ["WIREBENCH_CA_FILE"] or None)
    return aiohttp.ClientSession(
        connector=CountingConnector(ssl=context or True, force_close=POLICY == "new")
    )


async def ask(session: aiohttp.ClientSession) -> bool:
    async with session.request(METHOD, URL, data=BODY, headers=HEADERS) as response:
        return await response.read() == EXPECTED and response.status == 200


async def exchange(ws: aiohttp.ClientWebSocketResponse) -> bool:
    await ws.send_str(MESSAGE)
    return await ws.receive_str() == MESSAGE


async def exchange_once(session: aiohttp.ClientSession) -> bool:
    async with session.ws_connect(URL) as ws:
        return await exchange(ws)


async def with_new_session(operation: Callable[[aiohttp.ClientSession], Awaitable[bool]]) -> bool:
    async with new_session() as session:
        return await operation(session)


async def measure(operation: Callable[[], Awaitable[bool]]) -> int:
    samples = array("Q", bytes(8 * OPERATIONS))
    errors = 0
    for i in range(-WARMUP, OPERATIONS):
        if i == 0:
            before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter_ns()
        start = time.perf_counter_ns()
        try:
            ok = await operation()
        except (aiohttp.ClientError, OSError, TypeError):  # TypeError: receive_str got a close
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
    operation = ask if URL.startswith("http") else exchange_once
    if POLICY == "cold":
        return await measure(lambda: with_new_session(operation))
    async with new_session() as session:
        if POLICY == "reuse" and operation is exchange_once:
            async with session.ws_connect(URL) as ws:
                return await measure(lambda: exchange(ws))
        return await measure(lambda: operation(session))


sys.exit(1 if asyncio.run(main()) else 0)
