"""FastAPI: http.hello, rest, ws.echo, ws.count."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time

from fastapi import FastAPI, HTTPException, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import PlainTextResponse
from starlette.status import WS_1007_INVALID_FRAME_PAYLOAD_DATA

DELAY_S = int(os.environ.get("WIREBENCH_DELAY_MS") or 0) / 1000
HANDLERS = asyncio.Semaphore(int(os.environ.get("WIREBENCH_THREADS") or 1))
WORKLOAD = os.environ.get("WIREBENCH_WORKLOAD", "")


def refuse(constant: str) -> None:
    """NaN and infinities, which are no JSON: Python's default reads and writes them."""
    raise ValueError(f"{constant} is no JSON")


decode = json.JSONDecoder(parse_constant=refuse).decode
encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode

app = FastAPI(
    default_response_class=PlainTextResponse,
    openapi_url=None,
    max_body_size=16 * 1024 * 1024,  # no limit by default
)


@app.get("/route_01")
async def route_01() -> str:
    return "hello from route_01"


@app.get("/route_02")
async def route_02() -> str:
    return "hello from route_02"


@app.post("/test")
async def post_test(request: Request) -> PlainTextResponse:
    body = await request.body()
    try:
        decode(body.decode())
    except ValueError:
        raise HTTPException(status_code=400, detail="expected JSON") from None
    if DELAY_S:
        async with HANDLERS:
            await asyncio.sleep(DELAY_S)
    return PlainTextResponse(b"Sending response: " + body)


@app.get("/test/status")
async def status() -> str:
    return "OK"


@app.get("/test/labels/{label}")
async def label(label: str) -> str:
    return "label: " + label


async def echo(socket: WebSocket) -> None:
    while (message := await socket.receive())["type"] == "websocket.receive":
        if message.get("text") is not None:
            await socket.send_text(message["text"])
        else:
            await socket.send_bytes(message["bytes"])


async def count(socket: WebSocket) -> None:
    while True:
        text = await socket.receive_text()
        try:
            reply = encode({"c": decode(text)["c"], "ts": int(time.time())})
        except ValueError:
            await socket.close(WS_1007_INVALID_FRAME_PAYLOAD_DATA)
            return
        await socket.send_text(reply)


@app.websocket("/")
async def serve(socket: WebSocket) -> None:
    await socket.accept()
    with contextlib.suppress(WebSocketDisconnect):
        await (echo(socket) if WORKLOAD == "ws.echo" else count(socket))
