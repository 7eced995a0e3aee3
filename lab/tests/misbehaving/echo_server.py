"""A server for ``ws.echo`` and ``ws.count`` that does one thing wrong, or none: ``echo_server.py
FAULT``.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time

from wirebench.frames import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    apply_mask,
    encode_frame,
    switching_protocols,
)

FAULT = sys.argv[1]
COUNTS = os.environ["WIREBENCH_WORKLOAD"] == "ws.count"
kept: dict[bytes, bytes] = {}


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bool, bytes]:
    first, second = await reader.readexactly(2)
    size = second & 0x7F
    if size >= 126:
        size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
    key = await reader.readexactly(4)
    return first & 0x0F, bool(first & 0x80), apply_mask(await reader.readexactly(size), key)


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def reply_to(kind: int, data: bytes) -> bytes:
    if COUNTS:
        stamp = time.time() if FAULT == "none" else int(time.time())
        said = json.dumps({"c": json.loads(data, parse_constant=refuse)["c"], "ts": stamp}).encode()
        data = kept.setdefault(data, said) if FAULT == "keeps_replies" else said
    if FAULT == "cuts_large":
        data = data[:500_000]
    return encode_frame(kind, data, mask=False)


async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    fields = {
        name.lower(): value.strip() for name, _, value in (one.partition(":") for one in head)
    }
    if "sec-websocket-key" not in fields:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        return
    writer.write(switching_protocols(fields["sec-websocket-key"]))
    message, kind = b"", TEXT
    while True:
        opcode, final, data = await read_frame(reader)
        if opcode == CLOSE:
            writer.write(encode_frame(CLOSE, data[:2], mask=False))
            return
        if opcode == PING:
            writer.write(encode_frame(PONG, data, mask=False))
            continue
        if opcode not in (TEXT, BINARY, CONTINUATION):
            continue
        kind = kind if opcode == CONTINUATION else opcode
        if FAULT == "decodes_each_frame" and kind == TEXT:
            data = data.decode(errors="replace").encode()
        message += data
        if FAULT == "refuses_large" and len(message) > 500_000:
            writer.write(encode_frame(CLOSE, (1009).to_bytes(2), mask=False))
            return
        if final:
            writer.write(reply_to(kind, message[-65_536:] if FAULT == "forgets" else message))
            message = b""
        await writer.drain()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await talk(reader, writer)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the client has gone
    except (ValueError, KeyError, TypeError):
        pass  # it was no JSON, or no count
    finally:
        writer.close()


async def main() -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, os._exit, 0)
    address = os.environ["WIREBENCH_HOST"], int(os.environ["WIREBENCH_PORT"])
    await asyncio.start_server(serve, *address, backlog=1024)
    await asyncio.Event().wait()


asyncio.run(main())
