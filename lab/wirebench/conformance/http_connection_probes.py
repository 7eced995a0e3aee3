"""Probes of HTTP/1.1 connections: pieces, pipelines, ends, other protocols; and of the fields that
RFC 9110 asks of every response.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from wirebench.conformance.asking import (
    CLOSE_WITHIN_S,
    STATUS_LINES,
    answered,
    connected,
    head,
    is_end,
    not_behind,
    plain,
    refusal,
    refused,
    send_and_read,
)
from wirebench.conformance.types import NotApplicableError, Probe, Target, UnspokenError, probe
from wirebench.verify.checks import Mismatch
from wirebench.verify.http import PeerError, Response, show

LARGE_BODY_BYTES = 4 * 1024 * 1024
HUGE = 10**12
PAUSE_S = 0.001
MISSING = "/no/such/resource"
FIXDATE = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r" \d{4} \d\d:\d\d:\d\d GMT"
)
FRAME_HEAD_BYTES, SETTINGS = 9, 4  # RFC 9113 sections 4.1 and 6.5
CLIENT_HELLO = b"\x16\x03\x01\x00\x85\x01\x00\x00\x81\x03\x03" + bytes(range(120))
_probe = partial(probe, "http")


def http_connection_probes() -> Iterator[Probe]:
    yield from _pieces()
    yield from _ends()
    yield from _other_protocols()
    yield from _responses()
    yield from _requests()


# ---- pieces and pipelines ----


def _pieces() -> Iterator[Probe]:
    yield _probe(
        "cut_anywhere",
        "9112 2.2 MUST",
        "a request in two pieces, cut at each of its bytes in turn",
        "200 each time: a message is a sequence of octets",
        _cut_anywhere,
    )
    yield _probe(
        "chunks_bytewise",
        "9112 7.1 MUST",
        "GET with chunks and a trailer field, one byte at a time, then a request",
        "two responses, or a refusal and the end",
        _bytewise,
    )
    yield _probe(
        "bytewise",
        "9112 2.2 MUST",
        "two requests, one byte at a time",
        "two responses",
        _requests_bytewise,
    )
    yield _probe(
        "pipelined_bodies",
        "9112 9.3.2 MUST",
        "GET, HEAD, GET of a resource that is missing, GET, in one piece",
        "their responses in this order",
        _mixed,
    )
    yield _probe(
        "pipelined_many",
        "9112 9.3.2 MUST",
        "a hundred requests in one piece",
        "a hundred responses",
        _hundred,
    )


def _cut_anywhere(target: Target) -> str:
    data = plain(target)
    with connected(target) as connection:
        for cut in range(1, len(data)):
            connection.send(data[:cut])
            time.sleep(PAUSE_S)
            response = send_and_read(connection, data[cut:])
            if response.status != 200:
                raise Mismatch(expected="200", received=f"cut at {cut}: {response.describe()}")
    return f"{len(data) - 1} times 200"


def _bytewise(target: Target) -> str:
    body = b"5;a=b\r\nhello\r\n1\r\nx\r\n0\r\nX: y\r\n\r\n"
    data = head(target, "Transfer-Encoding: chunked") + body
    with connected(target) as connection:
        with suppress(PeerError):  # it may refuse before it has read everything
            connection.send_in_pieces(data)
        first = refusal(connection, b"")
        if first.status != 200:
            if first.status in (400, 405, 411, 413, 501):
                return first.describe()
            raise Mismatch(expected="200, or a refusal", received=first.describe())
        following = send_and_read(connection, plain(target))
        if following.status != 200:
            raise Mismatch(expected="200 to the second", received=following.describe())
    return "200; then 200"


def _requests_bytewise(target: Target) -> str:
    with connected(target) as connection:
        for _ in range(2):
            connection.send_in_pieces(plain(target))
            response = connection.read_response()
            if response.status != 200:
                raise Mismatch(expected="200", received=response.describe())
    return "twice 200"


def _mixed(target: Target) -> str:
    missing = head(target, path=MISSING)
    with connected(target) as connection:
        connection.send(plain(target) + head(target, method="HEAD") + missing + plain(target))
        first = connection.read_response().status
        second, reason, _ = connection.read_head()
        if second in (405, 501):
            raise NotApplicableError(f"it answers HEAD with {second} {reason}")
        third = connection.read_response().status
        fourth = connection.read_response().status
    said = f"{first}, {second}, {third}, {fourth}"
    if (first, second, fourth) != (200, 200, 200) or not 300 <= third <= 499:
        raise Mismatch(expected="200, 200, 404, 200", received=said)
    return said


def _hundred(target: Target) -> str:
    with connected(target) as connection:
        connection.send(plain(target) * 100)
        for number in range(1, 101):
            response = connection.read_response()
            if response.status != 200:
                raise Mismatch(expected="200", received=f"{number}: {response.describe()}")
    return "a hundred times 200"


# ---- ends ----


def _ends() -> Iterator[Probe]:
    yield _probe(
        "close_said",
        "9112 9.6 SHOULD",
        "Connection: close",
        "Connection: close in the response",
        _close_said,
    )
    yield _probe(
        "close_1_0",
        "9112 9.3 MUST",
        "an HTTP/1.0 request with Connection: close, and another behind it",
        "one response, then the end",
        _close_1_0,
    )
    yield _probe(
        "large_body_refused",
        "9112 9.6 MAY",
        f"POST with a body of {LARGE_BODY_BYTES} bytes, all sent before anything is read",
        "a response, not a reset connection",
        _large_body,
    )
    yield _probe(
        "large_chunks_refused",
        "9112 9.6 MAY",
        f"POST with {LARGE_BODY_BYTES} bytes in chunks, all sent before anything is read",
        "a response, not a reset connection",
        _large_chunks,
    )
    yield _probe(
        "refused_before_body",
        "9110 10.1.1 SHOULD",
        f"POST with Expect: 100-continue and Content-Length: {HUGE}, and no body",
        "100; or a final status that says Connection: close, or after which the body is read",
        _refused_before_body,
    )
    yield _probe(
        "length_announced_huge",
        "9112 9.3 MUST",
        f"POST with Content-Length: {HUGE}, then a request as part of its body",
        "no response to a request inside the body: it is read, or the connection ends",
        lambda t: not_behind(t, head(t, f"Content-Length: {HUGE}", method="POST") + b"x"),
    )


def _close_said(target: Target) -> str:
    with connected(target) as connection:
        response = send_and_read(connection, head(target, "Connection: close"))
        value = response.header("connection") or "none"
        if "close" not in value.lower().replace(" ", "").split(","):
            raise Mismatch(expected="Connection: close", received=f"Connection: {value}")
    return f"Connection: {value}"


def _close_1_0(target: Target) -> str:
    request = f"GET {target.path} HTTP/1.0\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    with connected(target) as connection:
        connection.send(request * 2)
        received = connection.read_to_end()
    if len(STATUS_LINES.findall(received)) != 1:
        raise Mismatch(expected="one response", received=show(received))
    return f"{show(received[:20])}..., then the end"


def _large_body(target: Target) -> str:
    with connected(target) as connection:
        lines = (f"Content-Length: {LARGE_BODY_BYTES}",)
        data = head(target, *lines, method="POST") + bytes(LARGE_BODY_BYTES)
        return refusal(connection, data).describe()


def _large_chunks(target: Target) -> str:
    chunk = b"10000\r\n" + bytes(0x10000) + b"\r\n"
    data = head(target, "Transfer-Encoding: chunked", method="POST")
    with connected(target) as connection:
        chunks = chunk * (LARGE_BODY_BYTES // 0x10000)
        return refusal(connection, data + chunks + b"0\r\n\r\n").describe()


def _refused_before_body(target: Target) -> str:
    lines = ("Expect: 100-continue", f"Content-Length: {HUGE}")
    with connected(target) as connection:
        response = refusal(connection, head(target, *lines, method="POST"))
        options = (response.header("connection") or "").lower().replace(" ", "").split(",")
        if response.status == 100 or "close" in options:
            return f"{response.status}, Connection: {response.header('connection')}"
        if connection.is_closed_by_peer(CLOSE_WITHIN_S):
            raise Mismatch(
                expected="Connection: close in the last response",
                received=f"{response.describe()}, then the end",
            )
    return f"{response.describe()}; it stays open"


# ---- bytes of other protocols ----


def _other_protocols() -> Iterator[Probe]:
    yield _probe(
        "http_0_9",
        "9112 3 SHOULD",
        "a request line of HTTP/0.9: GET and a path",
        "400, or 505",
        lambda t: refused(t, f"GET {t.path}\r\n\r\n".encode(), statuses=(400, 505)),
    )
    yield _probe(
        "http_2_preface",
        "9110 15.6.6 SHOULD",
        "the connection preface of HTTP/2",
        "505, or 400 (or HTTP/2)",
        _http_2_preface,
    )
    yield _probe(
        "tls_hello",
        "9112 3 MAY",
        "the beginning of a TLS handshake",
        "400 or the end, not silence",
        _tls_hello,
    )


def _http_2_preface(target: Target) -> str:
    with connected(target) as connection:
        try:
            connection.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            first = connection.read_exactly(FRAME_HEAD_BYTES, "a response")
        except PeerError as error:
            if is_end(error):
                raise UnspokenError(str(error)) from error
            raise
        if first[3] == SETTINGS:
            raise NotApplicableError("it speaks HTTP/2 as well")
        connection.push_back(first)
        response = connection.read_response()
    if response.status not in (505, 400):
        raise Mismatch(expected="505, or 400", received=response.describe())
    return response.describe()


def _tls_hello(target: Target) -> str:
    with connected(target) as connection:
        try:
            response = send_and_read(connection, CLIENT_HELLO)
        except PeerError as error:
            if is_end(error):
                return "the end of the connection"
            raise
        if response.status != 400:
            raise Mismatch(expected="400, or the end", received=response.describe())
    return response.describe()


# ---- RFC 9110: what responses say ----


def _responses() -> Iterator[Probe]:
    yield _probe(
        "date_format",
        "9110 5.6.7 MUST",
        "GET",
        "a Date in the fixed format: Sun, 06 Nov 1994 08:49:37 GMT",
        _date_format,
    )
    yield _probe(
        "date_of_error",
        "9110 6.6.1 MUST",
        "GET of a resource that is missing",
        "a Date field with the 4xx",
        _date_of_error,
    )
    yield _probe(
        "head_length",
        "9110 8.6 MUST",
        "HEAD, and GET",
        "the same Content-Length, or none in the response to HEAD",
        _head_length,
    )
    yield _probe(
        "coding_not_accepted",
        "9110 12.5.3 SHOULD",
        "Accept-Encoding: identity",
        "no Content-Encoding",
        lambda t: _without(t, "content-encoding", "Accept-Encoding: identity"),
    )
    yield _probe(
        "trace_secrets",
        "9110 9.3.8 SHOULD",
        "TRACE with a Cookie",
        "a refusal, or a response without the Cookie",
        _trace,
    )


def _get(target: Target, *lines: str, path: str | None = None) -> Response:
    with connected(target) as connection:
        return send_and_read(connection, head(target, *lines, path=path))


def _date_format(target: Target) -> str:
    value = _get(target).header("date")
    if value is None:
        raise NotApplicableError("it sends no Date")
    if not FIXDATE.fullmatch(value):
        raise Mismatch(expected="Sun, 06 Nov 1994 08:49:37 GMT", received=value)
    return f"Date: {value}"


def _date_of_error(target: Target) -> str:
    response = _get(target, path=MISSING)
    if not 400 <= response.status <= 499:
        raise NotApplicableError(f"it answers GET {MISSING} with {response.status}")
    if response.header("date") is None:
        raise Mismatch(expected="a Date field", received=response.describe())
    return f"{response.status}, Date: {response.header('date')}"


def _head_length(target: Target) -> str:
    with connected(target) as connection:
        connection.send(head(target, method="HEAD"))
        status, _, fields = connection.read_head()
    said = dict(fields).get("content-length")
    if status != 200:
        raise NotApplicableError(f"it answers HEAD with {status}")
    length = len(_get(target).body)
    if said is not None and said != str(length):
        raise Mismatch(expected=f"Content-Length: {length}, or none", received=said)
    return f"Content-Length: {said}"


def _without(target: Target, field: str, *lines: str) -> str:
    response = _get(target, *lines)
    value = response.header(field)
    if value is not None and value.lower() != "identity":
        raise Mismatch(expected=f"no {field}", received=f"{field}: {value}")
    return response.describe()


def _trace(target: Target) -> str:
    with connected(target) as connection:
        data = head(target, "Cookie: secret=1", method="TRACE")
        response = refusal(connection, data)
    if response.status == 200 and b"secret=1" in response.body:
        raise Mismatch(expected="no Cookie in the response", received=response.describe())
    return response.describe()


# ---- RFC 9110: what requests may say ----


def _requests() -> Iterator[Probe]:
    for name, standard, line in (
        ("range_unit_unknown", "9110 14.2 MUST", "Range: furlongs=1-2"),
        ("field_not_ascii", "9110 5.5 SHOULD", "X: caf\xe9"),
        ("field_empty", "9110 5.5 MUST", "X:"),
        ("field_unknown_connection", "9110 7.6.1 MUST", "Connection: x-unheard-of"),
        ("field_te", "9110 10.1.4 MUST", "TE: trailers"),
        ("upgrade_unknown", "9110 7.8 MUST", "Upgrade: x-unheard-of\r\nConnection: Upgrade"),
        ("upgrade_h2c", "9110 7.8 MUST", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings"),
    ):
        yield _probe(
            name,
            standard,
            line.replace("\r\n", " and "),
            "200, as without it",
            lambda t, line=line: answered(t, head(t, line)),  # type: ignore[misc]
        )
    yield _probe(
        "expect_with_body",
        "9110 10.1.1 MUST",
        "Expect: 100-Continue with a chunked body behind it at once, then a request",
        "two final responses, or one and the end",
        _expect_with_body,
    )


def _expect_with_body(target: Target) -> str:
    lines = ("Expect: 100-Continue", "Transfer-Encoding: chunked")
    data = head(target, *lines) + b"5\r\nhello\r\n0\r\n\r\n"
    with connected(target) as connection:
        first = refusal(connection, data + head(target, "Connection: close"))
        while first.status == 100:
            first = connection.read_response()
        if first.status != 200:
            return first.describe()
        try:
            second = connection.read_response()
        except PeerError as error:
            if is_end(error):  # it did not want the body
                return "200, then the end of the connection"
            raise
        if second.status != 200:
            raise Mismatch(expected="200 to the second", received=second.describe())
    return "200; then 200"
