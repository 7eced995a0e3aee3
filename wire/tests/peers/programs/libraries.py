"""Python's requests and websockets against wire's server: libraries.py LIBRARY BASE CA. Prints
"ok". Runs with the system's Python, for which Debian has both.
"""

from __future__ import annotations

import asyncio
import ssl
import sys

LIBRARY, BASE, CA = sys.argv[1:4]


def with_requests() -> None:
    import requests

    with requests.Session() as session:
        session.trust_env = False
        session.verify = CA
        peer = session.get(f"{BASE}/peer", timeout=10).text
        assert all(session.get(f"{BASE}/peer", timeout=10).text == peer for _ in range(10))
        body = session.get(f"{BASE}/chunks/300000", timeout=10)
        assert body.headers["Content-Encoding"] in ("gzip", "br", "zstd")
        assert len(body.content) == 300_000
        chunked = session.post(f"{BASE}/echo", data=iter([b"one ", b"two"]), timeout=10)
        assert chunked.content == b"one two"
        posted = session.post(f"{BASE}/whole", data=body.content, timeout=10)
        assert posted.content == body.content


async def with_websockets() -> None:
    import websockets

    url = f"ws{BASE.removeprefix('http')}/ws"
    trusted = ssl.create_default_context(cafile=CA) if url.startswith("wss") else None
    numbers = " ".join(map(str, range(20_000)))
    async with websockets.connect(url, ssl=trusted) as socket:
        for message in ("hello", numbers, b"\x00\xff"):
            await socket.send(message)
            assert await socket.recv() == message
        await (await socket.ping())
        await socket.send(["frag", "ments"])
        assert await socket.recv() == "fragments"


if LIBRARY == "requests":
    with_requests()
else:
    asyncio.run(with_websockets())
print("ok")
