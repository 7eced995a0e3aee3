"""Probes of HTTP/1.1 in bulk: one part of a message in many forms, right and wrong."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from wirebench.conformance.asking import (
    SERVED_ALONE,
    answered,
    ends_there,
    framed,
    head,
    not_behind,
    refused,
)
from wirebench.conformance.types import Probe, Target, probe
from wirebench.verify.checks import Mismatch

_probe = partial(probe, "http")
ANY_REFUSAL = tuple(range(400, 600))


def http_sweep_probes() -> Iterator[Probe]:
    yield from _targets()
    yield from _hosts()
    yield from _lengths()
    yield from _codings()
    yield from _chunk_sizes()
    yield from _trailers()


def _request_line(target: Target, line: str) -> bytes:
    """A request with this first line, in which {path} and {authority} stand for the target's."""
    first = line.format(path=target.path, authority=target.authority)
    return f"{first}\r\nHost: {target.authority}\r\n\r\n".encode("latin-1")


# ---- RFC 9112 section 3: request targets and versions ----


def _targets() -> Iterator[Probe]:
    for name, standard, line in (
        ("target_fragment", "9112 3.2 SHOULD", "GET {path}#part HTTP/1.1"),
        ("target_control", "9112 3.2 SHOULD", "GET {path}\x7f HTTP/1.1"),
        ("target_not_ascii", "9112 3.2 SHOULD", "GET {path}\xe9 HTTP/1.1"),
        ("target_relative", "9112 3.2 SHOULD", "GET route HTTP/1.1"),
        ("target_empty", "9112 3.2 SHOULD", "GET  HTTP/1.1"),
        ("target_asterisk_of_get", "9112 3.2.4 SHOULD", "GET * HTTP/1.1"),
        ("target_of_connect", "9112 3.2.3 SHOULD", "CONNECT {path} HTTP/1.1"),
        ("target_empty_host", "9110 4.2.1 MUST", "GET http:///index HTTP/1.1"),
        ("target_user", "9110 4.2.4 SHOULD", "GET http://user:secret@{authority}{path} HTTP/1.1"),
        ("method_not_a_token", "9112 3.1 SHOULD", "G(T {path} HTTP/1.1"),
        ("tab_in_line", "9112 3 MAY", "GET\t{path}\tHTTP/1.1"),
        ("space_behind_version", "9112 3 MAY", "GET {path} HTTP/1.1 "),
        ("version_missing", "9112 3 SHOULD", "GET {path}"),
        ("version_short", "9112 3 SHOULD", "GET {path} HTTP/1"),
        ("version_long", "9112 3 SHOULD", "GET {path} HTTP/1.10"),
        ("version_zeros", "9112 3 SHOULD", "GET {path} HTTP/01.1"),
        ("version_other_name", "9112 3 SHOULD", "GET {path} HTTQ/1.1"),
    ):
        # None: any from 400 to 599.
        statuses = () if name in ("target_of_connect", "method_not_a_token") else (400, 505)
        yield _probe(
            name,
            standard,
            f"the request line {line!r}",
            "400" if statuses else "a status from 400 to 599",
            lambda t, line=line, statuses=statuses: refused(  # type: ignore[misc]
                t, _request_line(t, line), statuses=statuses
            ),
        )
    yield _probe(
        "target_https",
        "9110 7.4 MUST",
        "the request target https://.../ over a connection without TLS",
        "a status from 400 to 599: the resource needs a secured connection",
        lambda t: refused(
            t, _request_line(t, "GET https://{authority}{path} HTTP/1.1"), statuses=()
        ),
    )
    yield _probe(
        "absolute_form_other_host",
        "9112 3.2.2 MUST",
        "the absolute form, and another host in Host",
        "200: Host is ignored",
        lambda t: answered(
            t,
            head(t, "Host: other.example", path=f"http://{t.authority}{t.path}", host=False),
        ),
    )
    yield _probe(
        "absolute_form_no_host_field",
        "9112 3.2 MUST",
        "the absolute form, and no Host",
        "400",
        lambda t: refused(t, head(t, path=f"http://{t.authority}{t.path}", host=False)),
    )
    yield _probe(
        "absolute_form_case",
        "9110 4.2.3 SHOULD",
        "the absolute form with the scheme in capitals",
        "200: schemes are case-insensitive",
        lambda t: answered(t, head(t, path=f"HTTP://{t.authority}{t.path}")),
    )


# ---- RFC 9112 section 3.2: Host ----


def _hosts() -> Iterator[Probe]:
    for name, value in (
        ("user", "user@localhost"),
        ("path", "localhost/path"),
        ("query", "localhost?query"),
        ("fragment", "localhost#part"),
        ("backslash", "localhost\\x"),
        ("scheme", "http://localhost"),
        ("port_word", "localhost:http"),
        ("port_signed", "localhost:-1"),
        ("ports", "localhost:80:80"),
        ("bracket_open", "[::1"),
        ("bracket_inside", "local[host]"),
        ("quote", '"localhost"'),
        ("angle", "<localhost>"),
        ("percent", "local%zzhost"),
        ("not_ascii", "loc\xe4lhost"),
    ):
        yield _probe(
            f"host_{name}",
            "9112 3.2 MUST",
            f"Host: {value}",
            "400",
            lambda t, value=value: refused(t, head(t, f"Host: {value}", host=False)),  # type: ignore[misc]
        )


# ---- RFC 9112 section 6: Content-Length and Transfer-Encoding ----


def _lengths() -> Iterator[Probe]:
    for name, value in (
        ("empty", ""),
        ("fraction", "5.0"),
        ("exponent", "5e0"),
        ("two_words", "5 5"),
        ("parameter", "5;x=y"),
        ("minus_zero", "-0"),
        ("underscore", "1_0"),
        ("quoted", '"5"'),
        ("superscript", "\xb2"),
    ):
        yield _probe(
            f"length_{name}",
            "9112 6.3 MUST",
            f"Content-Length: {value}",
            "400, then the end",
            lambda t, value=value: refused(  # type: ignore[misc]
                t, head(t, f"Content-Length: {value}") + b"hello", closes=True
            ),
        )
    for name, value in (
        ("beyond_64_bits", "18446744073709551621"),  # 2^64 + 5
        ("huge", "9" * 40),
    ):
        yield _probe(
            f"length_{name}",
            "9110 8.6 MUST",
            f"GET with Content-Length: {value}, 5 bytes, then a request as part of its body",
            "a refusal, or a response; none to a request inside the body",
            lambda t, value=value: not_behind(  # type: ignore[misc]
                t, head(t, f"Content-Length: {value}") + b"hello"
            ),
        )
    for name, lines in (
        ("zeros", ("Content-Length: 0005",)),
        ("twice_alike", ("Content-Length: 5", "Content-Length: 5")),
        ("list_alike", ("Content-Length: 5, 5",)),
        # Empty elements of lists are to be ignored (RFC 9110 section 5.6.1).
        ("list_end", ("Content-Length: 5,",)),
    ):
        yield _probe(
            f"length_{name}",
            "9112 6.3 MUST",
            f"GET with {' and '.join(lines)} and a body of 5 bytes, then a request",
            "two responses, or a refusal and the end",
            lambda t, lines=lines: framed(t, head(t, *lines) + b"hello"),  # type: ignore[misc]
        )
    for method in ("POST", "DELETE", "PATCH", "FROB"):
        yield _probe(
            f"body_like_a_request_{method.lower()}",
            "9112 9.3 MUST",
            f"{method} whose body is a request itself, then a request",
            "the body is read or the connection ends: at most two responses",
            lambda t, method=method: _hidden(t, method),  # type: ignore[misc]
        )


def _hidden(target: Target, method: str) -> str:
    body = head(target, path="/hidden")
    data = head(target, f"Content-Length: {len(body)}", method=method) + body
    return framed(target, data, refusals=ANY_REFUSAL)


def _codings() -> Iterator[Probe]:
    chunks = b"5\r\nhello\r\n0\r\n\r\n"
    for name, value in (
        ("case", "cHuNkEd"),
        ("empty_element", ", chunked"),
        ("spaces", " \t chunked \t "),
    ):
        yield _probe(
            f"coding_{name}",
            "9112 7 MUST",
            f"GET with Transfer-Encoding: {value!r} and chunks, then a request",
            "two responses, or a refusal and the end",
            lambda t, value=value: framed(  # type: ignore[misc]
                t, head(t, f"Transfer-Encoding: {value}") + chunks
            ),
        )
    for name, value in (
        ("prefixed", "xchunked"),
        ("suffixed", "chunkedx"),
        ("quoted", '"chunked"'),
        ("identity", "identity"),
        ("control", "chunked\x0b"),
        ("semicolon", "chunked;"),
        ("dash", "-chunked"),
        ("two_words", "chun ked"),
    ):
        yield _probe(
            f"coding_{name}",
            "9112 6.3 MUST",
            f"Transfer-Encoding: {value!r}, and chunks",
            "400 or 501, then the end",
            lambda t, value=value: refused(  # type: ignore[misc]
                t,
                head(t, f"Transfer-Encoding: {value}") + chunks,
                statuses=(400, 501),
                closes=True,
            ),
        )
    for name, standard, lines in (
        (
            "then_identity",
            "9112 6.3 MUST",
            ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
        ),
        # Only senders are bound to apply it once.
        (
            "in_two_lines",
            "9112 6.1 MAY",
            ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        ),
        ("space", "9112 5.1 MUST", ("Transfer-Encoding : chunked",)),
    ):
        yield _probe(
            f"coding_{name}",
            standard,
            " and ".join(lines),
            "400 or 501",
            lambda t, lines=lines: refused(  # type: ignore[misc]
                t, head(t, *lines) + chunks, statuses=(400, 501)
            ),
        )


# ---- RFC 9112 section 7: chunks ----


def _chunked(target: Target, body: bytes) -> bytes:
    return head(target, "Transfer-Encoding: chunked") + body


def _chunk_sizes() -> Iterator[Probe]:
    for name, standard, body in (
        ("upper_case", "9112 7.1 MUST", b"A\r\nhellohello\r\n0\r\n\r\n"),
        ("lower_case", "9112 7.1 MUST", b"a\r\nhellohello\r\n0\r\n\r\n"),
        ("many_chunks", "9112 7.1 MUST", b"1\r\nx\r\n" * 300 + b"0\r\n\r\n"),
        ("extension_escape", "9112 7.1.1 MUST", b'5;a="b\\"c"\r\nhello\r\n0\r\n\r\n'),
        ("extension_spaces", "9110 5.6.3 MUST", b"5 ; a = b\r\nhello\r\n0\r\n\r\n"),
        ("like_a_request", "9112 7.1 MUST", b"12\r\nGET / HTTP/1.1\r\n\r\n\r\n0\r\n\r\n"),
    ):
        yield _probe(
            f"chunk_{name}",
            standard,
            f"GET with the chunks {_short(body)}, then a request",
            "two responses, or a refusal and the end",
            lambda t, body=body: framed(t, _chunked(t, body)),  # type: ignore[misc]
        )
    for name, level, body in (
        ("size_empty", "MUST", b"\r\nhello\r\n0\r\n\r\n"),
        ("size_signed", "MUST", b"+5\r\nhello\r\n0\r\n\r\n"),
        ("size_space_before", "MUST", b" 5\r\nhello\r\n0\r\n\r\n"),
        ("size_space_behind", "MAY", b"5 \r\nhello\r\n0\r\n\r\n"),
        ("size_underscore", "MUST", b"0_5\r\nhello\r\n0\r\n\r\n"),
        ("size_dot", "MUST", b"5.0\r\nhello\r\n0\r\n\r\n"),
        ("size_not_ascii", "MUST", b"\xb2\r\nhello\r\n0\r\n\r\n"),
        ("size_control", "MUST", b"5\x00\r\nhello\r\n0\r\n\r\n"),
        ("size_line_feed", "MAY", b"5\nhello\r\n0\r\n\r\n"),
        ("data_line_feed", "MAY", b"5\r\nhello\n0\r\n\r\n"),
        ("data_no_end", "MUST", b"5\r\nhello0\r\n\r\n"),
        # Not of 6 bytes: what is left then would be a line feed, which some take for a line's end.
        ("data_short", "MUST", b"7\r\nhello\r\n0\r\n\r\n"),
        ("extension_bare_cr", "MUST", b"5;a\rb\r\nhello\r\n0\r\n\r\n"),
        ("extension_line_feed", "MAY", b"5;a\nhello\r\n0\r\n\r\n"),
    ):
        section = "2.2" if "bare_cr" in name else "7.1"
        yield _probe(
            f"chunk_{name}",
            f"9112 {section} {level}",
            f"the chunks {_short(body)}",
            "a refusal or a response, then the end: nothing behind the body is served",
            lambda t, body=body: ends_there(t, _chunked(t, body)),  # type: ignore[misc]
        )


def _trailers() -> Iterator[Probe]:
    for name, field in (
        ("length", b"Content-Length: 900"),
        ("coding", b"Transfer-Encoding: chunked"),
        ("host", b"Host: other.example"),
        ("close", b"Connection: close"),
    ):
        yield _probe(
            f"trailer_{name}",
            "9110 6.5.1 MUST",
            f"GET with chunks and the trailer field {field.decode()}, then a request",
            "two responses (the field is not taken for one of the head), or a refusal and the end",
            lambda t, field=field: _with_trailer(t, field),  # type: ignore[misc]
        )
    # A recipient may discard the trailer section (section 7.1.2), and need not look into it.
    for name, standard, field in (
        ("space_before_colon", "9112 7.1.2 MAY", b"X : y"),
        ("no_colon", "9112 7.1.2 MAY", b"no colon here"),
        ("name_empty", "9112 7.1.2 MAY", b": value"),
    ):
        yield _probe(
            f"trailer_{name}",
            standard,
            f"chunks and the trailer line {field.decode()!r}",
            "a refusal or a response, then the end: nothing behind the body is served",
            lambda t, field=field: ends_there(  # type: ignore[misc]
                t, _chunked(t, b"0\r\n" + field + b"\r\n\r\n")
            ),
        )


def _with_trailer(target: Target, field: bytes) -> str:
    chunks = b"5\r\nhello\r\n0\r\n"
    try:
        said = framed(target, _chunked(target, chunks + field + b"\r\n\r\n"))
        if said == SERVED_ALONE and framed(target, _chunked(target, chunks + b"\r\n")) != said:
            raise Mismatch(
                expected="the response to the request behind it, as without the field",
                received=said,
            )
        return said
    except Mismatch as mismatch:
        # A server that had answered may still refuse the trailer section.
        if mismatch.received.startswith(("200; then 4", "200; then 5")):
            return mismatch.received
        raise


def _short(data: bytes) -> str:
    return repr(data[:40])[1:] + ("..." if len(data) > 40 else "")
