"""A server for ``http.hello``, ``ws.count`` and ``ws.broadcast`` that does one thing wrong:
``server.py FAULT``.

FAULT ``none`` does everything right, and shows that a test that finds a fault does not find it in
everything; with the ending ``_over_tls`` it does so plain, and the fault over TLS;
with ``_with_threads`` it does so with one thread, and the fault with several;
with ``_in_workers`` likewise, and it has a process for each of its threads, which all listen;
with ``_respawned`` its only worker is started again whenever it has ended;
``payload`` serves ``/payload/N`` as well;
``counts`` does, too, and keeps the number of its connections as ``cpp/floor`` does;
``workers`` has a process for each of its threads, of which one serves.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

from wirebench.frames import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    TEXT,
    apply_mask,
    encode_frame,
    new_key,
    switching_protocols,
)

ROUTES = {"/route_01": b"hello from route_01", "/route_02": b"hello from route_02"}
CRASH_AFTER = 200
CLOSE_AFTER = 100
COLD_REQUESTS = 20


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


class Server:
    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.requests = 0
        self.accepted = 0
        self.mute = False
        self.broadcasts = os.environ.get("WIREBENCH_WORKLOAD") == "ws.broadcast"
        self.subscribers: list[asyncio.StreamWriter] = []
        self.before = b""
        self.listening: asyncio.Server | None = None
        self.helper: subprocess.Popen[bytes] | None = None
        if fault == "loses_a_process":
            self.helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.fault == "counts":
            self.accepted += 1
            count = self.accepted.to_bytes(8, sys.byteorder)
            Path(os.environ["WIREBENCH_ACCEPTED"]).write_bytes(count)
        if self.fault == "holds_back":
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        try:
            await self.talk(reader, writer)
        except asyncio.IncompleteReadError as error:
            if self.fault == "ends_in_head" and error.partial:
                os._exit(7)
        except (asyncio.LimitOverrunError, ConnectionError):
            pass
        except (ValueError, RecursionError):  # no JSON, or too deep
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
            if self.fault == "logs":
                print(f"127.0.0.1 {lines[0]} 200", flush=True)
            if self.fault == "crashes_under_load" and self.requests > CRASH_AFTER:
                print("the cat sat on the keyboard", flush=True)
                os._exit(7)
            closes = (
                headers.get("connection", "").lower() == "close" and self.fault != "ignores_close"
            )
            closes = (
                closes
                or self.fault in ("closes_each", "announces_close")
                or (self.fault in ("closes_at_100", "ends_at_100") and served >= CLOSE_AFTER)
            )
            announced = self.fault in ("announces_close", "keeps_in_spite") or (
                self.fault == "ends_at_100" and closes
            )
            writer.write(self.reply(path, announced=announced))
            await writer.drain()
            if closes:
                return

    def reply(self, path: str, *, announced: bool) -> bytes:
        status, body, kind = "404 Not Found", b"no", "text/plain"
        size = path.removeprefix("/payload/")
        if size.isdigit() and self.fault in ("payload", "counts", "crashes_under_load"):
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
        if self.fault == "wrong_at_first" and self.requests <= COLD_REQUESTS:
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
            *(["Connection: close"] if announced else []),
            "",
            "",
        ]
        return line_end.join(lines).encode() + body

    async def websocket(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str
    ) -> None:
        writer.write(switching_protocols(new_key() if self.fault == "wrong_accept" else key))
        self.subscribers.append(writer)
        if self.fault == "remembers" and self.before:
            writer.write(self.before)
        try:
            await self.messages(reader, writer)
        except asyncio.IncompleteReadError as error:
            cut = {2: "ends_in_frame_head", 1000: "ends_in_payload"}.get(error.expected or 0)
            if error.partial and self.fault == cut:
                os._exit(7)
        except ConnectionResetError:
            if self.fault == "ends_at_reset":
                os._exit(7)
        finally:
            if self.fault != "keeps_the_gone":
                self.subscribers.remove(writer)

    def send_to_all(self, sender: asyncio.StreamWriter, data: bytes) -> None:
        message = encode_frame(TEXT, data, mask=False)
        last = self.subscribers[-1]
        for one in self.subscribers:
            if one.is_closing():
                if self.fault == "keeps_the_gone":
                    return  # the others get nothing
                continue
            if self.fault == "leaves_out_the_sender" and one is sender:
                continue
            if self.fault == "leaves_out_the_last" and one is last and one is not sender:
                continue
            if self.fault == "shouts" and one is last:
                one.write(encode_frame(TEXT, data.upper(), mask=False))
                continue
            if self.fault == "swaps" and one is last and data == b"message 7":
                continue
            one.write(message)
            if self.fault == "swaps" and one is last and data == b"message 8":
                one.write(self.before)
            if self.fault == "doubles" and one is last:
                one.write(message)
        self.before = message

    async def messages(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            first, second = await reader.readexactly(2)
            size = second & 0x7F
            if size >= 126:
                size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
            if self.fault == "ends_at_length" and size == 2**30:
                os._exit(7)
            if self.fault == "ends_at_sign" and size == 2**63 - 1:
                os._exit(7)
            masking_key = await reader.readexactly(4)
            data = apply_mask(await reader.readexactly(size), masking_key)
            opcode = first & 0x0F
            if opcode == CLOSE:
                if self.fault != "never_closes":
                    writer.write(encode_frame(CLOSE, data[:2], mask=False))
                    await writer.drain()
                    return
            elif opcode == PING:
                if self.fault != "no_pong":
                    writer.write(encode_frame(PONG, data, mask=False))
            else:
                self.requests += 1
                if self.fault == "crashes_under_load" and self.requests > CRASH_AFTER:
                    os._exit(7)
                if self.fault == "mute_later" and self.requests > CRASH_AFTER:
                    continue
                if self.broadcasts:
                    self.send_to_all(writer, data)
                    continue
                if self.fault == "forgives_commas":
                    data = data.replace(b",}", b"}")
                if self.fault == "forgives_what_follows":
                    data = data[: data.rindex(b"}") + 1]
                if self.fault == "ends_at_depth" and data.startswith(b"[["):
                    os._exit(7)
                constant = float if self.fault == "reads_nan" else refuse
                request = json.loads(data, parse_constant=constant)
                count = request.get("c") if isinstance(request, dict) else None
                if not isinstance(count, int | float):
                    if await self.refuse(request, writer):
                        return
                    continue
                stamp: object = time.time()
                if self.fault == "milliseconds":
                    stamp = time.time() * 1000
                if self.fault == "text_stamp":
                    stamp = str(time.time())
                if self.fault == "off_by_one":
                    count += 1
                kind = BINARY if self.fault == "binary_replies" else TEXT
                writer.write(
                    encode_frame(
                        kind,
                        json.dumps({"c": count, "ts": stamp}).encode(),
                        mask=self.fault == "masks",
                    )
                )
            await writer.drain()

    async def refuse(self, request: object, writer: asyncio.StreamWriter) -> bool:
        """What is JSON but no count. Whether that ends the connection."""
        if self.fault == "ends_at_no_object" and not isinstance(request, dict):
            os._exit(7)
        if self.fault == "ends_at_no_count" and request == {}:
            os._exit(7)
        if self.fault == "stops_at_no_count" and request == {}:
            time.sleep(3600)
        if self.fault == "takes_others_along":
            for one in self.subscribers:
                one.transport.abort()
        if self.fault == "listens_no_more" and self.listening is not None:
            self.listening.close()
        if self.helper is not None:
            self.helper.kill()
            self.helper.wait()
        if self.fault == "falls_silent":
            await asyncio.sleep(3600)
        if self.fault == "names_what_is_wrong":
            writer.write(encode_frame(TEXT, b'{"error":"expected a count"}', mask=False))
        return self.fault not in ("skips_what_is_wrong", "names_what_is_wrong")


def main() -> None:
    fault = sys.argv[1]
    if fault.endswith("_over_tls"):
        fault = fault.removesuffix("_over_tls") if os.environ["WIREBENCH_TLS_CERT"] else "none"
    if fault.endswith("_with_threads"):
        several = int(os.environ["WIREBENCH_THREADS"]) > 1
        fault = fault.removesuffix("_with_threads") if several else "none"
    in_workers = fault.endswith("_in_workers") and int(os.environ["WIREBENCH_THREADS"]) > 1
    if fault.endswith("_in_workers"):
        fault = fault.removesuffix("_in_workers") if in_workers else "none"
    address = os.environ["WIREBENCH_HOST"], int(os.environ["WIREBENCH_PORT"])
    if fault.endswith("_respawned"):
        respawn(fault.removesuffix("_respawned"), address)
    if fault == "crashes_at_start":
        print("no such table: users", file=sys.stderr)
        sys.exit(3)
    if fault == "never_listens":
        print("still thinking", flush=True)
        time.sleep(3600)
    if fault == "workers":
        for _ in range(int(os.environ["WIREBENCH_THREADS"]) - 1):
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
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
    for _ in range(int(os.environ["WIREBENCH_THREADS"]) - 1 if in_workers else 0):
        if os.fork() == 0:
            break
    asyncio.run(run(fault, address, share=in_workers))


def respawn(fault: str, address: tuple[str, int]) -> None:
    """The first process has the socket, so that the port takes connections between two workers."""
    with socket.create_server(address, backlog=1024) as listener:
        while (worker := os.fork()) != 0:
            os.waitpid(worker, 0)
        asyncio.run(run(fault, address, listener=listener))


def tls_context(fault: str) -> ssl.SSLContext | None:
    certificate, key = os.environ["WIREBENCH_TLS_CERT"], os.environ["WIREBENCH_TLS_KEY"]
    if not certificate or fault == "speaks_no_tls":
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if fault == "shows_another_certificate":
        from wirebench.process.certificates import issue

        other = issue(Path(os.environ["WIREBENCH_TMP"]), signed_by="stranger")
        context.load_cert_chain(other.certificate_file, other.key_file)
    else:
        context.load_cert_chain(certificate, key)
    return context


async def run(
    fault: str,
    address: tuple[str, int],
    *,
    share: bool = False,
    listener: socket.socket | None = None,
) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    if fault not in ("ignores_sigterm", "leaves_children"):
        loop.add_signal_handler(signal.SIGTERM, stopped.set)
    # asyncio sets SO_REUSEADDR unless told not to: without it a port with lingering connections
    # cannot be had again.
    served, tls = Server(fault), tls_context(fault)
    if listener is not None:
        server = await asyncio.start_server(served.serve, sock=listener, backlog=1024, ssl=tls)
    else:
        server = await asyncio.start_server(
            served.serve,
            *address,
            backlog=1024,
            reuse_address=fault != "never_reuses_its_port",
            reuse_port=share,
            ssl=tls,
        )
    served.listening = server
    async with server:
        await stopped.wait()
    # Python 3.12 and newer would wait for connections that are still open.
    os._exit(0)


main()
