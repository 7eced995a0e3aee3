"""Python's http.client against wire's server: client.py BASE [CA]. Prints "ok"."""

from __future__ import annotations

import http.client
import ssl
import sys
import urllib.parse
import zlib

base = urllib.parse.urlsplit(sys.argv[1])
if base.scheme == "https":
    context = ssl.create_default_context(cafile=sys.argv[2])
    connection: http.client.HTTPConnection = http.client.HTTPSConnection(
        base.netloc, timeout=10, context=context
    )
else:
    connection = http.client.HTTPConnection(base.netloc, timeout=10)


def ask(method: str, path: str, **more: object) -> bytes:
    connection.request(method, path, **more)  # type: ignore[arg-type]
    response = connection.getresponse()
    assert response.status == 200, (method, path, response.status)
    return response.read()


assert ask("GET", "/hello") == b"hello\n"
peer = ask("GET", "/peer")
assert all(ask("GET", "/peer") == peer for _ in range(20))
body = ask("GET", "/chunks/300000")
assert len(body) == 300_000
summed = f"{len(body)} {zlib.crc32(body)}".encode()
assert ask("POST", "/sum", body=body) == summed
assert ask("POST", "/sum", body=iter([body[:7], body[7:]]), encode_chunked=True) == summed
packed = ask("GET", "/chunks/300000", headers={"Accept-Encoding": "gzip"})
assert zlib.decompress(packed, 31) == body
assert ask("HEAD", "/bytes/1000") == b""
assert ask("GET", "/peer") == peer
connection.close()
print("ok")
