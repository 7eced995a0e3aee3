"""Probes of what RFC 9110 asks of servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from wirebench.catalog.units import count_of
from wirebench.conformance.asking import (
    connected,
    head,
    is_end,
    plain,
    refused,
)
from wirebench.conformance.http_asking import (
    LONG_FIELD_BYTES,
    LONG_TARGET_BYTES,
    http_probe,
    request_lines,
)
from wirebench.conformance.types import NotApplicableError, Probe, Target, UnspokenError
from wirebench.verify.checks import Mismatch
from wirebench.verify.http import PeerError, show

# ---- RFC 9110: what every server does with methods and fields ----


def semantics_probes() -> Iterator[Probe]:
    yield http_probe(
        "head", "9110 9.3.2 MUST", "HEAD", "200 without a body, and the connection goes on", _head
    )
    for name, what, first, *lines in (
        ("host", "without Host", "{path} HTTP/1.1"),
        ("length", "with two lengths", "{path} HTTP/1.1", "Content-Length: 1", "Content-Length: 2"),
        ("version", "of version HTTP/9.9", "{path} HTTP/9.9"),
        ("target", f"of {LONG_TARGET_BYTES} bytes", "/" + "a" * LONG_TARGET_BYTES + " HTTP/1.1"),
        ("field", f"with a field of {LONG_FIELD_BYTES} bytes", "{path} HTTP/1.1", "X: {long}"),
        ("missing", "of a resource that is missing", "/no/such/resource HTTP/1.1"),
        ("encoding", "of /%zz", "/%zz HTTP/1.1"),
        ("secured", "of https://...", "https://{authority}{path} HTTP/1.1"),
        ("host_invalid", "with a second Host", "{path} HTTP/1.1", "Host: a b/c"),
        ("coding", "with an unknown coding", "{path} HTTP/1.1", "Transfer-Encoding: frob"),
        ("expectation", "with Expect: a-miracle", "{path} HTTP/1.1", "Expect: a-miracle"),
    ):
        yield http_probe(
            f"head_refused_{name}",
            "9110 9.3.2 MUST",
            f"HEAD {what}",
            "a response head, and no body",
            partial(_head_refused, first=first, lines=lines, host=name != "host"),
        )
    yield http_probe(
        "connect",
        "9110 9.3.6 MUST",
        "CONNECT to the server itself",
        "no Content-Length nor Transfer-Encoding in a 2xx response",
        _connect,
    )
    for name, port in (("missing", ""), ("invalid", "99999")):
        yield http_probe(
            f"connect_port_{name}",
            "9110 9.3.6 MUST",
            f"CONNECT localhost:{port}",
            "a status from 400 to 599",
            lambda t, port=port: refused(  # type: ignore[misc]
                t, head(t, method="CONNECT", path=f"localhost:{port}"), statuses=()
            ),
        )
    yield http_probe("date", "9110 6.6.1 MUST", "GET", "a Date field", _date)
    yield http_probe(
        "method_unknown",
        "9110 9.1 SHOULD",
        "the method FROB",
        "501, or 405",
        lambda t: refused(t, head(t, method="FROB"), statuses=(501, 405)),
    )
    yield http_probe(
        "allow",
        "9110 15.5.6 MUST",
        "DELETE of a resource that has none",
        "a 405 has an Allow field",
        _allow,
    )
    yield http_probe(
        "method_case",
        "9110 9.1 MUST",
        "the method get, in lower case",
        "no 200: methods are case-sensitive",
        lambda t: refused(t, head(t, method="get"), statuses=()),
    )
    yield http_probe(
        "expect_continue",
        "9110 10.1.1 MUST",
        "POST with Expect: 100-continue and no body yet",
        "100, or a final status, at once",
        _expect_continue,
    )
    yield http_probe(
        "expect_continue_1_0",
        "9110 10.1.1 MUST",
        "Expect: 100-continue in HTTP/1.0",
        "no 100",
        _expect_continue_1_0,
    )
    yield http_probe(
        "expectation_unknown",
        "9110 10.1.1 MAY",
        "Expect: a-miracle",
        "417",
        lambda t: refused(t, head(t, "Expect: a-miracle"), statuses=(417,)),
    )


def _head(target: Target) -> str:
    with connected(target) as connection:
        connection.send(head(target, method="HEAD"))
        status, reason, headers = connection.read_head()
        if status != 200:
            raise Mismatch(expected="200", received=f"{status} {reason}")
        connection.send(plain(target))
        following = connection.read_response()
        if following.status != 200:
            raise Mismatch(expected="200 to the GET behind it", received=following.describe())
    return f"{status} with {count_of(len(headers), 'field')}; then 200"


def _head_refused(target: Target, *, first: str, lines: list[str], host: bool) -> str:
    long = "a" * LONG_FIELD_BYTES
    text = [
        f"HEAD {first}".format(path=target.path, authority=target.authority),
        *([f"Host: {target.authority}"] if host else []),
        *(line.format(long=long) for line in lines),
    ]
    with connected(target) as connection:
        with suppress(PeerError):  # it may refuse before it has read everything
            connection.send("\r\n".join([*text, "", ""]).encode())
        try:
            status, reason, _ = connection.read_head()
        except PeerError as error:
            if is_end(error):
                raise UnspokenError(str(error)) from error
            raise
        try:
            body = connection.read_exactly(1, "a body")
        except PeerError:
            return f"{status} {reason}, and nothing after its head"
    raise Mismatch(
        expected="no body", received=f"{status} {reason}, and a body that begins with {show(body)}"
    )


def _connect(target: Target) -> str:
    with connected(target) as connection:
        connection.send(head(target, method="CONNECT", path=target.authority))
        try:
            status, reason, headers = connection.read_head()
        except PeerError as error:
            if is_end(error):
                raise UnspokenError(str(error)) from error
            raise
    said = f"{status} {reason}"
    for name, value in headers:
        if 200 <= status <= 299 and name in ("content-length", "transfer-encoding"):
            raise Mismatch(expected="neither field", received=f"{said}, {name}: {value}")
    return said


def _date(target: Target) -> str:
    with connected(target) as connection:
        connection.send(plain(target))
        value = connection.read_response().header("date")
        if value is None:
            raise Mismatch(expected="a Date field", received="none")
    return f"Date: {value}"


def _allow(target: Target) -> str:
    with connected(target) as connection:
        connection.send(head(target, "Content-Length: 0", method="DELETE"))
        response = connection.read_response()
        if response.status != 405:
            raise NotApplicableError(f"it answers DELETE with {response.status}, not 405")
        if response.header("allow") is None:
            raise Mismatch(expected="an Allow field with the 405", received="none")
    return f"{response.status}, Allow: {response.header('allow')}"


def _expect_continue(target: Target) -> str:
    with connected(target) as connection:
        connection.send(head(target, "Expect: 100-continue", "Content-Length: 5", method="POST"))
        status, reason, _ = connection.read_head()
        if status != 100 and status < 200:
            raise Mismatch(expected="100, or a final status", received=f"{status} {reason}")
    return f"{status} {reason}"


def _expect_continue_1_0(target: Target) -> str:
    with connected(target) as connection:
        connection.send(
            request_lines(
                target, f"POST {target.path} HTTP/1.0", "Expect: 100-continue", "Content-Length: 5"
            )
        )
        try:
            status, reason, _ = connection.read_head()
        except PeerError:
            status, reason = 0, "nothing, for want of the body"
        if status == 100:
            raise Mismatch(expected="no 100", received=f"{status} {reason}")
    return f"{status or ''} {reason}".strip()
