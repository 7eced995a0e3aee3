"""A WSGI application for wire's client, which gunicorn serves."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator

BLOCK = bytes((i * 7 + i // 251) % 256 for i in range(64 << 10))


def blocks(size: int) -> Iterator[bytes]:
    for left in range(size, 0, -len(BLOCK)):
        yield BLOCK[: min(left, len(BLOCK))]


def application(environ: dict[str, object], start: Callable[..., object]) -> Iterable[bytes]:
    _, name, *rest = str(environ["PATH_INFO"]).split("/")
    if name == "redirect":
        start("302 Found", [("Location", "/hello"), ("Content-Length", "0")])
        return []
    if name == "hello":
        start("200 OK", [("Content-Length", "6")])
        return [b"hello\n"]
    if name == "sum":
        count = checksum = 0
        while piece := environ["wsgi.input"].read(1 << 16):  # type: ignore[attr-defined]
            count, checksum = count + len(piece), zlib.crc32(piece, checksum)
        answer = f"{count} {checksum}".encode()
        start("200 OK", [("Content-Length", str(len(answer)))])
        return [answer]
    size = int(rest[0])
    if name == "packed":
        start("200 OK", [("Content-Encoding", "gzip")])
        return [gzip.compress(b"".join(blocks(size)))]
    start("200 OK", [("Content-Length", str(size))] if name == "bytes" else [])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else blocks(size)
