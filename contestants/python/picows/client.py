"""picows as a client: ws and wss."""

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

import uvloop
from picows import WSCloseCode, WSError, WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

URL = os.environ["WIREBENCH_URL"]
POLICY = os.environ["WIREBENCH_POLICY"]
PAYLOAD_BYTES = int(os.environ["WIREBENCH_PAYLOAD_BYTES"])
MESSAGE = (b"abcdefghijklmnopqrstuvwxyz" * (PAYLOAD_BYTES // 26 + 1))[:PAYLOAD_BYTES]
WARMUP = int(os.environ["WIREBENCH_WARMUP"])
OPERATIONS = int(os.environ["WIREBENCH_OPERATIONS"])

connections = 0


class Replies(WSListener):
    """Puts messages together, which come as frames, and wakes who waits for one."""

    def __init__(self) -> None:
        self.parts = bytearray()
        self.reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.CLOSE:
            transport.send_close(frame.get_close_code(), frame.get_close_message())
            transport.disconnect()
        elif frame.msg_type in (WSMsgType.TEXT, WSMsgType.CONTINUATION):
            if frame.fin and not self.parts:
                self.reply.set_result(frame.get_payload_as_bytes())
                return
            self.parts += frame.get_payload_as_memoryview()
            if frame.fin:
                self.reply.set_result(bytes(self.parts))
                self.parts.clear()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        if not self.reply.done():
            self.reply.set_exception(ConnectionError("disconnected"))

    async def exchange(self, transport: WSTransport) -> bool:
        transport.send(WSMsgType.TEXT, MESSAGE)
        reply = await self.reply
        self.reply = asyncio.get_running_loop().create_future()
        return reply == MESSAGE


def new_context() -> ssl.SSLContext | None:
    """What connections to one server share, and so what policy cold makes anew."""
    if not URL.startswith("wss"):
        return None
    return ssl.create_default_context(cafile=os.environ["WIREBENCH_CA_FILE"] or None)


async def connect(context: ssl.SSLContext | None) -> tuple[WSTransport, Replies]:
    global connections
    transport, replies = await ws_connect(Replies, URL, ssl_context=context)
    connections += 1
    return transport, replies


async def exchange_once(context: ssl.SSLContext | None) -> bool:
    transport, replies = await connect(context)
    right = await replies.exchange(transport)
    replies.reply.cancel()  # nothing more is expected
    transport.send_close(WSCloseCode.OK)
    await transport.wait_disconnected()
    return right


async def measure(operation: Callable[[], Awaitable[bool]]) -> int:
    samples = array("Q", bytes(8 * OPERATIONS))
    errors = 0
    for i in range(-WARMUP, OPERATIONS):
        if i == 0:
            before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter_ns()
        start = time.perf_counter_ns()
        try:
            ok = await operation()
        except (WSError, OSError):
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
    if POLICY == "cold":
        return await measure(lambda: exchange_once(new_context()))
    context = new_context()
    if POLICY == "new":
        return await measure(lambda: exchange_once(context))
    transport, replies = await connect(context)
    return await measure(lambda: replies.exchange(transport))


sys.exit(1 if uvloop.run(main()) else 0)
