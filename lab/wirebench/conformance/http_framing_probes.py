"""Probes of how the bodies of requests are framed (RFC 9112, sections 6 and 7)."""

from __future__ import annotations

from collections.abc import Iterator

from wirebench.conformance.asking import (
    CLOSE_WITHIN_S,
    STATUS_LINES,
    connected,
    ends_there,
    framed,
    head,
    refusal,
    refused,
)
from wirebench.conformance.http_asking import http_probe, request_lines
from wirebench.conformance.types import Probe, Target
from wirebench.verify.checks import Mismatch
from wirebench.verify.http import show

# ---- RFC 9112 section 6: where the body ends ----


def framing_probes() -> Iterator[Probe]:
    yield http_probe(
        "length_and_coding",
        "9112 6.1 MUST",
        "both Content-Length and Transfer-Encoding: chunked",
        "400, or a response after which the connection ends",
        _both_lengths,
    )
    yield http_probe(
        "lengths_differ",
        "9112 6.3 MUST",
        "Content-Length: 5 and Content-Length: 6",
        "400, then the end",
        lambda t: refused(
            t, head(t, "Content-Length: 5", "Content-Length: 6") + b"hello!", closes=True
        ),
    )
    for name, text in (
        ("negative", "-1"),
        ("signed", "+5"),
        ("hexadecimal", "0x5"),
        ("word", "five"),
        ("list", "5, 6"),
    ):
        yield http_probe(
            f"length_{name}",
            "9112 6.3 MUST",
            f"Content-Length: {text}",
            "400, then the end",
            lambda t, text=text: refused(  # type: ignore[misc]
                t, head(t, f"Content-Length: {text}") + b"hello", closes=True
            ),
        )
    yield http_probe(
        "coding_unknown",
        "9112 6.1 SHOULD",
        "Transfer-Encoding: frob",
        "501, or 400",
        lambda t: refused(t, head(t, "Transfer-Encoding: frob") + b"hello", statuses=(501, 400)),
    )
    yield http_probe(
        "chunked_not_last",
        "9112 6.3 MUST",
        "Transfer-Encoding: chunked, gzip",
        "400 (or 501), then the end",
        lambda t: refused(
            t,
            head(t, "Transfer-Encoding: chunked, gzip") + b"0\r\n\r\n",
            statuses=(400, 501),
            closes=True,
        ),
    )
    yield http_probe(
        "chunked_twice",
        "9112 6.1 MAY",
        "Transfer-Encoding: chunked, chunked",
        "400, or 501 (only senders are bound to apply it once)",
        lambda t: refused(
            t, head(t, "Transfer-Encoding: chunked, chunked") + b"0\r\n\r\n", statuses=(400, 501)
        ),
    )
    yield http_probe(
        "coding_in_http_1_0",
        "9112 6.1 MUST",
        "Transfer-Encoding: chunked in an HTTP/1.0 request",
        "a response, then the end",
        _coding_in_1_0,
    )
    yield http_probe(
        "body_of_get",
        "9112 6 MUST",
        "GET with Content-Length: 5 and its body, then a request",
        "two responses, or a refusal and the end",
        lambda t: framed(t, head(t, "Content-Length: 5") + b"hello"),
    )


def _both_lengths(target: Target) -> str:
    with connected(target) as connection:
        data = head(target, "Content-Length: 4", "Transfer-Encoding: chunked") + b"0\r\n\r\n"
        response = refusal(connection, data)
        if response.status not in (200, 400, 405, 413, 501):
            raise Mismatch(expected="400, or the resource", received=response.describe())
        if not connection.is_closed_by_peer(CLOSE_WITHIN_S):
            raise Mismatch(
                expected="the end of the connection after the response",
                received=f"{response.describe()}; it stays open",
            )
    return f"{response.describe()}, then the end"


def _coding_in_1_0(target: Target) -> str:
    with connected(target) as connection:
        data = (
            request_lines(
                target,
                f"GET {target.path} HTTP/1.0",
                "Connection: keep-alive",
                "Transfer-Encoding: chunked",
            )
            + b"0\r\n\r\n"
        )
        connection.send(data)
        received = connection.read_to_end()
        if len(STATUS_LINES.findall(received)) > 1:
            raise Mismatch(expected="one response, then the end", received=show(received))
    return f"{show(received[:40])}..., then the end"


# ---- RFC 9112 section 7: chunks ----


def chunk_probes() -> Iterator[Probe]:
    def good(name: str, standard: str, what: str, body: bytes) -> Probe:
        return http_probe(
            name,
            standard,
            f"GET with a chunked body{what}, then a request",
            "two responses, or a refusal and the end",
            lambda t: framed(t, head(t, "Transfer-Encoding: chunked") + body),
        )

    def bad(name: str, what: str, body: bytes, standard: str = "9112 7.1 MUST") -> Probe:
        return http_probe(
            name,
            standard,
            f"a chunked body {what}",
            "a refusal or a response, then the end: nothing behind the body is served",
            lambda t: ends_there(t, head(t, "Transfer-Encoding: chunked") + body),
        )

    yield good("chunked", "9112 7.1 MUST", "", b"5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n")
    yield good(
        "chunk_extension",
        "9112 7.1.1 MUST",
        " with extensions",
        b'5;a=b;c="d;e"\r\nhello\r\n0;last\r\n\r\n',
    )
    yield good(
        "chunk_zeros",
        "9112 7.1 MUST",
        " whose size has leading zeros",
        b"00005\r\nhello\r\n000\r\n\r\n",
    )
    yield good(
        "trailers",
        "9112 7.1.2 MUST",
        " with trailer fields",
        b"5\r\nhello\r\n0\r\nX: y\r\nZ: z\r\n\r\n",
    )
    yield bad("chunk_size_word", 'of size "xyz"', b"xyz\r\nhello\r\n0\r\n\r\n")
    yield bad("chunk_size_negative", "of size -1", b"-1\r\nhello\r\n0\r\n\r\n")
    yield bad("chunk_size_prefixed", "of size 0x5", b"0x5\r\nhello\r\n0\r\n\r\n")
    yield bad("chunk_size_overflow", "of size 2^64 + 5", b"10000000000000005\r\nhello\r\n0\r\n\r\n")
    for name, extension in (
        ("unnamed", ";=b"),
        ("empty", ";"),
        ("quote_open", ';a="b'),
        ("control", ";a=\x01"),
    ):
        # Extensions that are not known are to be ignored; no sentence says so of malformed ones.
        yield bad(
            f"chunk_extension_{name}",
            f"whose extension breaks the grammar: {extension!r}",
            f"5{extension}\r\nhello\r\n0\r\n\r\n".encode(),
            "9112 7.1.1 MAY",
        )
    yield bad("chunk_end_missing", "whose chunk is longer than its size", b"5\r\nhelloXX0\r\n\r\n")
