"""The replies that a server must give for ``http.hello``, ``http.payload`` and ``rest``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wirebench.catalog.workloads import REST_BODY, payload
from wirebench.verify.checks import Check, Mismatch
from wirebench.verify.http import Peer, connect, exchange
from wirebench.verify.http_checks import Exchange, answers, connection_checks, in_turn

TEXT = "text/plain"
OCTETS = "application/octet-stream"
JSON = "application/json"
PAYLOAD_SIZES = (16, 1024, 65_536, 1_048_576)
_PREFIX = b"Sending response: "


def hello_checks(peer: Peer, *, closes: bool = False) -> Iterator[Check]:
    first = Exchange(method="GET", path="/route_01", media_type=TEXT, reply=b"hello from route_01")
    second = replace(first, path="/route_02", reply=b"hello from route_02")
    yield answers("hello.route_01", peer, first)
    yield answers("hello.route_02", peer, second)
    for path in ("/", "/route_03", "/route_011", "/route_01/more"):
        yield answers(
            f"hello.not_found {path}", peer, Exchange(method="GET", path=path, status=404)
        )
    yield answers("hello.query", peer, replace(first, path="/route_01?a=b"), required=False)
    yield from connection_checks(peer, first, [second], concurrent_required=True, closes=closes)


def payload_checks(peer: Peer, *, closes: bool = False) -> Iterator[Check]:
    asked = [
        Exchange(method="GET", path=f"/payload/{size}", media_type=OCTETS, reply=payload(size))
        for size in PAYLOAD_SIZES
    ]
    for one in asked:
        yield answers(f"payload.{one.path.rsplit('/', 1)[1]}", peer, one)
    for path in ("/", "/payload/17", "/payload/", "/payload/x"):
        yield answers(
            f"payload.not_found {path}", peer, Exchange(method="GET", path=path, status=404)
        )
    yield from connection_checks(peer, asked[0], asked[1:], concurrent_required=True, closes=closes)


def posted_payload_checks(peer: Peer) -> Iterator[Check]:
    """Of a server that takes a payload as the body of a POST, and sends it back."""
    for size in PAYLOAD_SIZES:
        body = payload(size)
        post = Exchange(
            method="POST",
            path=f"/payload/{size}",
            body=body,
            content_type=OCTETS,
            media_type=OCTETS,
            reply=body,
        )
        yield answers(f"payload.post_{size}", peer, post)
        other = replace(post, body=body[:-1] + b"!", status=400, media_type=None, reply=None)
        yield answers(f"payload.post_other_{size}", peer, other)


def rest_checks(peer: Peer, *, closes: bool = False) -> Iterator[Check]:
    post = posting(REST_BODY.encode())
    yield answers("rest.post", peer, post)
    # The body goes back as received: spaces, order and characters are not those a JSON library
    # would write.
    yield answers(
        "rest.post_verbatim",
        peer,
        posting('{ "b" : [1, 2.50,null],\n "a":"grün \\u00e9" }'.encode()),
    )
    yield answers("rest.post_large", peer, posting(b'{"text":"' + b"x" * 16_000 + b'"}'))
    yield answers("rest.post_array", peer, posting(b"[]"))
    yield from _route_checks(peer)
    yield from _refusals(peer)
    yield _chunked(peer, post)
    if not closes:
        # Whoever looks at the first body of a connection alone answers this one, too.
        yield in_turn("rest.bad_json_later", peer, [post, _refused_body(_UNQUOTED)])
    # Frameworks with a thread for each connection may answer no more of them at a time than they
    # have threads.
    yield from connection_checks(
        peer,
        post,
        [
            Exchange(method="GET", path="/test/status", reply=b"OK"),
            posting(b'{"param1":43,"param2":"text"}'),
            Exchange(method="GET", path="/test/labels/blue", reply=b"label: blue"),
        ],
        concurrent_required=False,
        closes=closes,
    )


def posting(body: bytes) -> Exchange:
    return Exchange(
        method="POST",
        path="/test",
        body=body,
        content_type=JSON,
        media_type=TEXT,
        reply=_PREFIX + body,
    )


def _route_checks(peer: Peer) -> Iterator[Check]:
    status = Exchange(method="GET", path="/test/status", reply=b"OK")
    yield answers("rest.status", peer, status)
    yield answers("rest.status_type", peer, replace(status, media_type=TEXT), required=False)
    yield answers(
        "rest.label", peer, Exchange(method="GET", path="/test/labels/blue", reply=b"label: blue")
    )
    yield _encoded_label(peer)
    for path in ("/", "/nonesuch", "/test/nonesuch", "/test/labels", "/test/labels/a/b", "/tests"):
        yield answers(f"rest.not_found {path}", peer, Exchange(method="GET", path=path, status=404))
    elsewhere = replace(posting(b"{}"), path="/nonesuch", status=404, media_type=None, reply=None)
    yield answers("rest.not_found POST /nonesuch", peer, elsewhere)


def _encoded_label(peer: Peer) -> Check:
    asked = Exchange(method="GET", path="/test/labels/a%20b")
    allowed = (b"label: a%20b", b"label: a b")

    def run() -> str:
        response = exchange(peer, asked.request(peer))
        if response.status != 200 or response.body not in allowed:
            raise Mismatch(
                expected='200, "label: a%20b" or "label: a b"', received=response.describe()
            )
        return response.describe()

    return Check(
        id="rest.label_encoded",
        sent=asked.sent,
        expected='200, "label: a%20b" or "label: a b"',
        run=run,
    )


def _refusals(peer: Peer) -> Iterator[Check]:
    for method, path in (
        ("GET", "/test"),
        ("DELETE", "/test"),
        ("POST", "/test/status"),
        ("DELETE", "/test/labels/blue"),
    ):
        body = b"{}" if method == "POST" else None
        asked = Exchange(
            method=method, path=path, body=body, content_type=JSON if body else None, status=405
        )
        yield answers(f"rest.wrong_method {method} {path}", peer, asked)
    yield _allow(peer)
    for name, body in (
        ("text", b"no json"),
        ("cut", b'{"param1":42'),
        ("empty", b""),
        ("trailing", b'{"param1":42}x'),
        ("unquoted", _UNQUOTED),
        # Brackets and quotes are paired in the first, and each character of the others is right.
        ("no_comma", b'{"param1":42 "param2":"test"}'),
        ("no_value", b'{"param1":42,"param2":}'),
        ("bracket", b'{"param1":[42,"param2":"test"}'),
        # What some libraries read and write beyond JSON (RFC 8259 section 6).
        ("nan", b'{"param1":NaN}'),
        ("infinity", b'{"param1":-Infinity}'),
    ):
        yield answers(f"rest.bad_json {name}", peer, _refused_body(body))
    # A framework that chooses its parser by the type may have none for these.
    for name, body, content_type in (
        ("of_text", b"no json", TEXT),
        ("of_no_type", b"no json", None),
        ("empty_of_no_type", b"", None),
    ):
        yield _refused_of_type(peer, name, body, content_type)


_UNQUOTED = b'{ param1: 42, param2: "test"}'
"""As long as the right body."""


def _refused_body(body: bytes) -> Exchange:
    return Exchange(method="POST", path="/test", body=body, content_type=JSON, status=400)


def _refused_of_type(peer: Peer, name: str, body: bytes, content_type: str | None) -> Check:
    asked = replace(_refused_body(body), content_type=content_type)
    expected = "400, or 415 for its type"

    def run() -> str:
        response = exchange(peer, asked.request(peer))
        if response.status not in (400, 415):
            raise Mismatch(expected=expected, received=response.describe())
        return response.describe()

    sent = f"{asked.sent}, of type {content_type}" if content_type else f"{asked.sent}, of no type"
    return Check(id=f"rest.bad_json {name}", sent=sent, expected=expected, run=run)


def _allow(peer: Peer) -> Check:
    asked = Exchange(method="GET", path="/test", status=405)

    def run() -> str:
        response = exchange(peer, asked.request(peer))
        allow = response.header("allow")
        if allow is None or "POST" not in allow:
            raise Mismatch(
                expected="Allow: POST (RFC 9110 section 15.5.6)",
                received=f"{response.status}, Allow: {allow}",
            )
        return f"Allow: {allow}"

    return Check(id="rest.allow", sent=asked.sent, expected="Allow: POST", run=run, required=False)


def _chunked(peer: Peer, post: Exchange) -> Check:
    body = post.body or b""
    head = (
        f"POST /test HTTP/1.1\r\nHost: 127.0.0.1:{peer.port}\r\nContent-Type:"
        f" {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    data = (
        head.encode()
        + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:5], body[5:]))
        + b"0\r\n\r\n"
    )

    def run() -> str:
        with connect(peer) as connection:
            connection.send(data)
            return post.judge(connection.read_response())

    return Check(
        id="rest.chunked",
        sent=f"{post.sent}, in two chunks",
        expected=post.expected,
        run=run,
        required=False,
    )
