"""Probes of HTTP/1.1: the request line, fields and connections (RFC 9112)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wirebench.catalog.units import count_of
from wirebench.conformance.asking import (
    CLOSE_WITHIN_S,
    answered,
    connected,
    head,
    plain,
    refusal,
    refused,
    send_and_read,
)
from wirebench.conformance.http_asking import (
    LONG_FIELD_BYTES,
    LONG_TARGET_BYTES,
    http_probe,
    request_lines,
)
from wirebench.conformance.http_framing_probes import chunk_probes, framing_probes
from wirebench.conformance.http_semantics_probes import semantics_probes
from wirebench.conformance.types import NotApplicableError, Probe, Target
from wirebench.verify.checks import Mismatch

MANY_FIELDS = 5_000


def http_probes() -> Iterator[Probe]:
    yield from _request_line()
    yield from _host()
    yield from _fields()
    yield from framing_probes()
    yield from chunk_probes()
    yield from _connections()
    yield from semantics_probes()


# ---- RFC 9112 sections 2 and 3: the request line ----


def _request_line() -> Iterator[Probe]:
    yield http_probe(
        "empty_line_first",
        "9112 2.2 SHOULD",
        "CRLF, then a request",
        "200",
        lambda t: answered(t, b"\r\n" + plain(t)),
    )
    yield http_probe(
        "space_before_first_field",
        "9112 2.2 MUST",
        'a line " X: y" between the request line and Host',
        "400, or 200 with that line left out",
        lambda t: _either(
            t, f"GET {t.path} HTTP/1.1\r\n X: y\r\nHost: {t.authority}\r\n\r\n".encode()
        ),
    )
    yield http_probe(
        "bare_lf",
        "9112 2.2 MAY",
        "a request whose lines end in LF alone",
        "400 (the laxity is allowed, and what one server takes for a line's end another does not)",
        lambda t: refused(t, request_lines(t, f"GET {t.path} HTTP/1.1", end="\n")),
    )
    yield http_probe(
        "bare_cr",
        "9112 2.2 MUST",
        "a bare CR inside a field value",
        "400, or 200 with a space in its place",
        lambda t: _either(t, head(t, "X: a\rb")),
    )
    yield http_probe(
        "method_missing",
        "9112 3 SHOULD",
        "a request line without a method",
        "400",
        lambda t: refused(t, request_lines(t, f"{t.path} HTTP/1.1")),
    )
    yield http_probe(
        "space_in_target",
        "9112 3.2 SHOULD",
        "a request target with a space in it",
        "400",
        lambda t: refused(t, request_lines(t, f"GET {t.path} x HTTP/1.1"), statuses=(400, 301)),
    )
    yield http_probe(
        "garbage",
        "9112 3 SHOULD",
        "a line of random words, then an empty one",
        "400",
        lambda t: refused(t, b"these are no words of HTTP at all\r\n\r\n"),
    )
    yield http_probe(
        "target_too_long",
        "9112 3 MUST",
        f"a request target of {LONG_TARGET_BYTES} bytes",
        "414, or from a server that takes so long a one the same as to a short one",
        _target_too_long,
    )
    yield http_probe(
        "absolute_form",
        "9112 3.2.2 MUST",
        "the request target in absolute form",
        "200",
        lambda t: answered(t, head(t, path=f"http://{t.authority}{t.path}")),
    )
    yield http_probe(
        "absolute_form_without_host",
        "9110 4.2.1 MUST",
        "the request target http://:80/, whose host is empty",
        "400",
        lambda t: refused(t, head(t, path="http://:80/")),
    )
    yield http_probe(
        "encoded_path",
        "9110 4.2.3 SHOULD",
        "a path whose last character is percent-encoded",
        "200, as without the encoding",
        _encoded_path,
    )
    yield http_probe(
        "encoding_malformed",
        "9112 3 SHOULD",
        "the request target /%zz",
        "400",
        lambda t: refused(t, head(t, path="/%zz"), statuses=(400, 301)),
    )
    yield http_probe(
        "asterisk_form",
        "9112 3.2.4 MAY",
        "OPTIONS * HTTP/1.1",
        "a status below 500, not 400",
        _asterisk,
    )
    yield http_probe(
        "version_1_2",
        "9110 2.5 SHOULD",
        "a request of version HTTP/1.2",
        "200, as for HTTP/1.1",
        lambda t: answered(t, request_lines(t, f"GET {t.path} HTTP/1.2")),
    )
    yield http_probe(
        "version_9_9",
        "9110 15.6.6 SHOULD",
        "a request of version HTTP/9.9",
        "505, or 400",
        lambda t: refused(t, request_lines(t, f"GET {t.path} HTTP/9.9"), statuses=(505, 400)),
    )
    yield http_probe(
        "version_malformed",
        "9112 2.3 MUST",
        "a request of version http/1.1 (it is case-sensitive)",
        "400, or 505",
        lambda t: refused(t, request_lines(t, f"GET {t.path} http/1.1"), statuses=(400, 505)),
    )


def _either(target: Target, data: bytes) -> str:
    """400, or a right answer with the connection fit for the next request."""
    with connected(target) as connection:
        response = refusal(connection, data)
        if response.status == 400:
            return response.describe()
        if response.status != 200:
            raise Mismatch(expected="400, or 200", received=response.describe())
        connection.send(plain(target))
        following = connection.read_response()
        if following.status != 200:
            raise Mismatch(
                expected="200 to the request behind it",
                received=f"200; then {following.describe()}",
            )
    return response.describe()


def _target_too_long(target: Target) -> str:
    with connected(target) as connection:
        short = send_and_read(connection, head(target, path="/" + "a" * 10)).status
    return refused(target, head(target, path="/" + "a" * LONG_TARGET_BYTES), statuses=(414, short))


def _encoded_path(target: Target) -> str:
    path = target.path or "/"
    if not path[-1].isalnum():
        raise NotApplicableError(f"its path, {path}, ends in no letter or digit")
    return answered(target, head(target, path=f"{path[:-1]}%{ord(path[-1]):02X}"))


def _asterisk(target: Target) -> str:
    with connected(target) as connection:
        response = send_and_read(connection, head(target, method="OPTIONS", path="*"))
        if response.status >= 500 or response.status == 400:
            raise Mismatch(expected="a status below 500, not 400", received=response.describe())
    return response.describe()


# ---- RFC 9112 section 3.2: Host ----


def _host() -> Iterator[Probe]:
    def host(name: str, sent: str, lines: Callable[[Target], tuple[str, ...]]) -> Probe:
        return http_probe(
            name, "9112 3.2 MUST", sent, "400", lambda t: refused(t, head(t, *lines(t), host=False))
        )

    yield host("host_missing", "an HTTP/1.1 request without Host", lambda _: ())
    yield host(
        "host_twice", "two Host fields", lambda t: (f"Host: {t.authority}", "Host: other.example")
    )
    yield host(
        "host_twice_alike",
        "the same Host field twice",
        lambda t: (f"Host: {t.authority}", f"Host: {t.authority}"),
    )
    yield host("host_invalid", "Host: a b/c", lambda _: ("Host: a b/c",))


# ---- RFC 9112 section 5: fields ----


def _fields() -> Iterator[Probe]:
    for name, standard, sent, line in (
        ("space_before_colon", "9112 5.1 MUST", 'a field "X : y"', "X : y"),
        ("field_without_colon", "9112 5 SHOULD", "a field line without a colon", "no colon here"),
        ("field_name_empty", "9112 5 SHOULD", 'a field line ": value"', ": value"),
        (
            "field_name_not_a_token",
            "9110 5.1 SHOULD",
            'a field name with a bracket in it, "X(: y"',
            "X(: y",
        ),
    ):
        yield http_probe(
            name,
            standard,
            sent,
            "400",
            lambda t, line=line: refused(t, head(t, line)),  # type: ignore[misc]
        )
    yield http_probe(
        "folded_field",
        "9112 5.2 MUST",
        "a field folded over two lines",
        "400, or 200 with spaces in its place",
        lambda t: _either(t, head(t, "X: a", " b")),
    )
    yield http_probe(
        "nul_in_field",
        "9110 5.5 MUST",
        "a NUL in a field value",
        "400, or 200 with a space in its place",
        lambda t: _either(t, head(t, "X: a\0b")),
    )
    yield http_probe(
        "field_spaces",
        "9112 5.1 MUST",
        "spaces and tabs around a field value",
        "200",
        lambda t: answered(t, head(t, "X: \t value \t ")),
    )
    yield http_probe(
        "field_name_case",
        "9110 5.1 MUST",
        "HOST: in capitals",
        "200",
        lambda t: answered(t, head(t, f"HOST: {t.authority}", host=False)),
    )
    yield http_probe(
        "field_too_large",
        "9110 5.4 MUST",
        f"a field of {LONG_FIELD_BYTES} bytes",
        "a status from 400 to 499, or 200",
        lambda t: _bounded(t, head(t, "X: " + "a" * LONG_FIELD_BYTES)),
    )
    yield http_probe(
        "too_many_fields",
        "9110 5.4 MUST",
        f"{MANY_FIELDS} fields",
        "a status from 400 to 499, or 200",
        lambda t: _bounded(t, head(t, *(f"X-{i}: y" for i in range(MANY_FIELDS)))),
    )


def _bounded(target: Target, data: bytes) -> str:
    with connected(target) as connection:
        response = refusal(connection, data)
        if response.status != 200 and not 400 <= response.status <= 499:
            raise Mismatch(
                expected="a status from 400 to 499, or 200", received=response.describe()
            )
    return response.describe()


# ---- RFC 9112 section 9: connections ----


def _connections() -> Iterator[Probe]:
    yield http_probe(
        "keep_alive",
        "9112 9.3 SHOULD",
        "two requests one after another",
        "two responses",
        lambda t: answered(t, plain(t)),
    )
    yield http_probe(
        "pipelining",
        "9112 9.3.2 MUST",
        "three requests in one piece",
        "three responses",
        _pipelined,
    )
    yield http_probe(
        "close",
        "9112 9.6 MUST",
        "Connection: close, with a second request behind it",
        "one response, then the end",
        _close,
    )
    yield http_probe(
        "close_in_list",
        "9112 9.6 MUST",
        "Connection: x, CLOSE",
        "a response, then the end",
        _close_in_list,
    )
    yield http_probe(
        "http_1_0", "9112 9.3 MUST", "an HTTP/1.0 request", "a response, then the end", _http_1_0
    )


def _pipelined(target: Target) -> str:
    with connected(target) as connection:
        connection.send(plain(target) * 3)
        for number in range(1, 4):
            response = connection.read_response()
            if response.status != 200:
                raise Mismatch(
                    expected="three times 200", received=f"response {number}: {response.describe()}"
                )
    return "three times 200"


def _close(target: Target) -> str:
    with connected(target) as connection:
        connection.send(head(target, "Connection: close") + plain(target))
        response = connection.read_response()
        rest = connection.read_to_end()
        if rest:
            raise Mismatch(
                expected="nothing after the response",
                received=f"{count_of(len(rest), 'further byte')}: {rest[:100]!r}",
            )
    return f"{response.status}, then the end"


def _close_in_list(target: Target) -> str:
    with connected(target) as connection:
        connection.send(head(target, "Connection: x, CLOSE"))
        response = connection.read_response()
        if not connection.is_closed_by_peer(CLOSE_WITHIN_S):
            raise Mismatch(
                expected="the end of the connection",
                received=f"{response.describe()}; it stays open",
            )
    return f"{response.status}, then the end"


def _http_1_0(target: Target) -> str:
    with connected(target) as connection:
        connection.send(request_lines(target, f"GET {target.path} HTTP/1.0"))
        data = connection.read_to_end()
        if not data.startswith((b"HTTP/1.1 200", b"HTTP/1.0 200")):
            raise Mismatch(expected="200", received=repr(data[:100]))
        if b"\r\ntransfer-encoding:" in data.partition(b"\r\n\r\n")[0].lower():
            raise Mismatch(
                expected="no Transfer-Encoding (RFC 9112 section 6.1)",
                received="a chunked response to HTTP/1.0",
            )
    return "200, then the end"
