"""aiohttp as a server: http.hello, rest, ws.echo, ws.count, ws.broadcast."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import time
from multiprocessing import Process

from aiohttp import WSCloseCode, WSMsgType, web

DELAY_S = int(os.environ.get("WIREBENCH_DELAY_MS") or 0) / 1000
THREADS = int(os.environ.get("WIREBENCH_THREADS") or 1)
WORKLOAD = os.environ.get("WIREBENCH_WORKLOAD", "")
# In rest the threads are handlers of one service; under ws.broadcast one process has all sockets.
WORKERS = 1 if WORKLOAD in ("rest", "ws.broadcast") else THREADS
HANDLERS = asyncio.Semaphore(THREADS)


def refuse(constant: str) -> None:
    """NaN and infinities, which are no JSON: Python's default reads and writes them."""
    raise ValueError(f"{constant} is no JSON")


decode = json.JSONDecoder(parse_constant=refuse).decode
encode = json.JSONEncoder(allow_nan=False).encode

logging.disable()  # otherwise a traceback for each connection that just drops
routes = web.RouteTableDef()


@routes.get("/route_01")
async def route_01(request: web.Request) -> web.Response:
    return web.Response(text="hello from route_01")


@routes.get("/route_02")
async def route_02(request: web.Request) -> web.Response:
    return web.Response(text="hello from route_02")


@routes.post("/test")
async def post_test(request: web.Request) -> web.Response:
    body = await request.read()
    try:
        decode(body.decode())
    except ValueError:
        raise web.HTTPBadRequest(text="expected JSON") from None
    if DELAY_S:
        async with HANDLERS:
            await asyncio.sleep(DELAY_S)
    return web.Response(body=b"Sending response: " + body, content_type="text/plain")


@routes.get("/test/status")
async def status(request: web.Request) -> web.Response:
    return web.Response(text="OK")


@routes.get("/test/labels/{label}")
async def label(request: web.Request) -> web.Response:
    return web.Response(text="label: " + request.match_info["label"])


async def echo(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        if message.type is WSMsgType.TEXT:
            await socket.send_str(message.data)
        elif message.type is WSMsgType.BINARY:
            await socket.send_bytes(message.data)
    return socket


async def count(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        if message.type is WSMsgType.TEXT:
            try:
                reply = encode({"c": decode(message.data)["c"], "ts": int(time.time())})
            except ValueError:
                await socket.close(code=WSCloseCode.INVALID_TEXT)
                break
            await socket.send_str(reply)
    return socket


everybody: set[web.WebSocketResponse] = set()


async def broadcast(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    everybody.add(socket)
    try:
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                for one in tuple(everybody):
                    with contextlib.suppress(ConnectionError):  # it is closing
                        await one.send_str(message.data)
    finally:
        everybody.discard(socket)
    return socket


SOCKETS = {
    "ws.echo": [web.get("/", echo)],
    "ws.count": [web.get("/", count)],
    "ws.broadcast": [web.get("/", broadcast)],
}


def serve() -> None:
    # SIGTERM ends it at once, open connections or not.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    app = web.Application()
    app.add_routes(SOCKETS.get(WORKLOAD, routes))
    web.run_app(
        app,
        host=os.environ["WIREBENCH_HOST"],
        port=int(os.environ["WIREBENCH_PORT"]),
        backlog=4096,
        keepalive_timeout=75,
        reuse_port=WORKERS > 1,
        handle_signals=False,
        access_log=None,
        print=None,
    )


if __name__ == "__main__":
    if WORKERS == 1:
        serve()
    else:
        # Held back until every worker is known, then passed on to each.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        workers = [Process(target=serve) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        signal.sigwait([signal.SIGTERM])
        for worker in workers:
            worker.terminate()
