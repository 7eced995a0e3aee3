"""A server for ``http.hello`` and ``ws.count`` that does one thing wrong: ``server.py FAULT``.
Standard library only.

FAULT ``none`` does everything right, and shows that a test that finds a fault does not find it in
everything;
``payload`` serves ``/payload/N`` as well.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

ROUTES = {"/route_01": b"hello from route_01", "/route_02": b"hello from route_02"}
CRASH_AFTER = 200
CLOSE_AFTER = 100


class Server:
    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.requests = 0
        self.mute = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.talk(reader, writer)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        finally:
            writer.close()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served = 0
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lines = head.split("\r\n")
            path = lines[0].split(" ")[1].partition("?")[0]
            headers = {}
            for line in lines[1:-2]:
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            if self.fault == "hangs":
                await asyncio.sleep(3600)
            if headers.get("upgrade", "").lower() == "websocket":
                await self.websocket(reader, writer, headers["sec-websocket-key"])
                return
            served += 1
            self.requests += 1
            if self.fault == "crashes_under_load" and self.requests > CRASH_AFTER:
                print("the cat sat on the keyboard", flush=True)
                os._exit(7)
            closes = (
                headers.get("connection", "").lower() == "close" and self.fault != "ignores_close"
            )
            closes = (
                closes
                or self.fault == "closes_each"
                or (self.fault == "closes_at_100" and served >= CLOSE_AFTER)
            )
            writer.write(self.reply(path))
            await writer.drain()
            if closes:
                return

    def reply(self, path: str) -> bytes:
        status, body, kind = "404 Not Found", b"no", "text/plain"
        size = path.removeprefix("/payload/")
        if size.isdigit() and self.fault in ("payload", "crashes_under_load"):
            status, kind = "200 OK", "application/octet-stream"
            body = bytes(ord("a") + i % 26 for i in range(int(size)))
        if path in ROUTES and self.fault != "not_found":
            status, body = "200 OK", ROUTES[path]
        if self.fault == "found_everywhere":
            status, body = (
                "200 OK",
                ROUTES["/route_01"] if path != "/route_02" else ROUTES["/route_02"],
            )
        if self.fault == "wrong_body":
            body = body.replace(b"hello", b"hallo")
        if self.fault == "wrong_later" and self.requests > CRASH_AFTER:
            body = body.replace(b"hello", b"hallo")
        if self.fault == "wrong_type":
            kind = "text/html"
        line_end = "\n" if self.fault == "bare_line_feeds" else "\r\n"
        version = "HTTP/1.0" if self.fault == "old_version" else "HTTP/1.1"
        lines = [
            f"{version} {status}",
            f"Content-Type: {kind}; charset=utf-8",
            f"Content-Length: {len(body)}",
            "",
            "",
        ]
        return line_end.join(lines).encode() + body

    async def websocket(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str
    ) -> None:
        guid = (
            "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" if self.fault != "wrong_accept" else "258EAFA5"
        )
        accept = base64.b64encode(hashlib.sha1((key + guid).encode()).digest()).decode()
        writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept.encode() + b"\r\n\r\n"
        )
        while True:
            first, second = await reader.readexactly(2)
            size = second & 0x7F
            if size >= 126:
                size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
            key_bytes = await reader.readexactly(4)
            data = bytes(b ^ key_bytes[i % 4] for i, b in enumerate(await reader.readexactly(size)))
            opcode = first & 0x0F
            if opcode == 0x8:
                if self.fault != "never_closes":
                    writer.write(frame(0x8, data[:2]))
                    await writer.drain()
                    return
            elif opcode == 0x9:
                if self.fault != "no_pong":
                    writer.write(frame(0xA, data))
            else:
                self.requests += 1
                if self.fault == "crashes_under_load" and self.requests > CRASH_AFTER:
                    os._exit(7)
                if self.fault == "mute_later" and self.requests > CRASH_AFTER:
                    continue
                count = json.loads(data)["c"]
                stamp: object = time.time()
                if self.fault == "milliseconds":
                    stamp = time.time() * 1000
                if self.fault == "text_stamp":
                    stamp = str(time.time())
                if self.fault == "off_by_one":
                    count += 1
                kind = 0x2 if self.fault == "binary_replies" else 0x1
                writer.write(
                    frame(
                        kind,
                        json.dumps({"c": count, "ts": stamp}).encode(),
                        masked=self.fault == "masks",
                    )
                )
            await writer.drain()


def frame(opcode: int, payload: bytes, *, masked: bool = False) -> bytes:
    bit = 0x80 if masked else 0
    size = (
        bytes([bit | len(payload)])
        if len(payload) < 126
        else bytes([bit | 126]) + len(payload).to_bytes(2, "big")
    )
    return bytes([0x80 | opcode]) + size + (b"\0\0\0\0" if masked else b"") + payload


def main() -> None:
    fault = sys.argv[1]
    address = os.environ["WIREBENCH_HOST"], int(os.environ["WIREBENCH_PORT"])
    if fault == "crashes_at_start":
        print("no such table: users", file=sys.stderr)
        sys.exit(3)
    if fault == "never_listens":
        print("still thinking", flush=True)
        time.sleep(3600)
    if fault in ("ignores_sigterm", "leaves_children"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True
        )
    if fault == "leaves_children":
        # It ends at once; its child, in a session of its own and deaf to SIGTERM, does not.
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    if fault == "never_accepts":
        # The kernel takes connections for it until the backlog is full.
        with socket.create_server(address, backlog=4096):
            time.sleep(3600)
    asyncio.run(run(fault, address))


async def run(fault: str, address: tuple[str, int]) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    if fault not in ("ignores_sigterm", "leaves_children"):
        loop.add_signal_handler(signal.SIGTERM, stopped.set)
    # asyncio sets SO_REUSEADDR unless told not to: without it a port with lingering connections
    # cannot be had again.
    server = await asyncio.start_server(
        Server(fault).serve, *address, backlog=1024, reuse_address=fault != "never_reuses_its_port"
    )
    async with server:
        await stopped.wait()
    # Python 3.12 and newer would wait for connections that are still open.
    os._exit(0)


main()
