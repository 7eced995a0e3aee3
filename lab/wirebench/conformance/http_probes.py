"""Probes of HTTP/1.1: messages and connections (RFC 9112), and what RFC 9110 asks of servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from wirebench.conformance.asking import (
    CLOSE_WITHIN_S,
    answered,
    connected,
    framed,
    head,
    is_end,
    plain,
    refusal,
    refused,
    send_and_read,
)
from wirebench.conformance.types import NotApplicableError, Probe, Target, UnspokenError, probe
from wirebench.verify.checks import Mismatch
from wirebench.verify.http import PeerError, show

LONG_TARGET_BYTES = 60_000
LONG_FIELD_BYTES = 200_000
MANY_FIELDS = 5_000
_probe = partial(probe, "http")


def http_probes() -> Iterator[Probe]:
    yield from _request_line()
    yield from _host()
    yield from _fields()
    yield from _framing()
    yield from _chunks()
    yield from _connections()
    yield from _semantics()


def _lines(target: Target, first: str, *lines: str, end: str = "\r\n") -> bytes:
    return end.join([first, f"Host: {target.authority}", *lines, "", ""]).encode("latin-1")


# ---- RFC 9112 sections 2 and 3: the request line ----


def _request_line() -> Iterator[Probe]:
    yield _probe(
        "empty_line_first",
        "9112 2.2 SHOULD",
        "CRLF, then a request",
        "200",
        lambda t: answered(t, b"\r\n" + plain(t)),
    )
    yield _probe(
        "space_before_first_field",
        "9112 2.2 MUST",
        'a line " X: y" between the request line and Host',
        "400, or 200 with that line left out",
        lambda t: _either(
            t, f"GET {t.path} HTTP/1.1\r\n X: y\r\nHost: {t.authority}\r\n\r\n".encode()
        ),
    )
    yield _probe(
        "bare_lf",
        "9112 2.2 MAY",
        "a request whose lines end in LF alone",
        "400 (the laxity is allowed, and what one server takes for a line's end another does not)",
        lambda t: refused(t, _lines(t, f"GET {t.path} HTTP/1.1", end="\n")),
    )
    yield _probe(
        "bare_cr",
        "9112 2.2 MUST",
        "a bare CR inside a field value",
        "400, or 200 with a space in its place",
        lambda t: _either(t, head(t, "X: a\rb")),
    )
    yield _probe(
        "method_missing",
        "9112 3 SHOULD",
        "a request line without a method",
        "400",
        lambda t: refused(t, _lines(t, f"{t.path} HTTP/1.1")),
    )
    yield _probe(
        "space_in_target",
        "9112 3.2 SHOULD",
        "a request target with a space in it",
        "400",
        lambda t: refused(t, _lines(t, f"GET {t.path} x HTTP/1.1"), statuses=(400, 301)),
    )
    yield _probe(
        "garbage",
        "9112 3 SHOULD",
        "a line of random words, then an empty one",
        "400",
        lambda t: refused(t, b"these are no words of HTTP at all\r\n\r\n"),
    )
    yield _probe(
        "target_too_long",
        "9112 3 MUST",
        f"a request target of {LONG_TARGET_BYTES} bytes",
        "414, or 404 from a server that takes so long a one",
        lambda t: refused(t, head(t, path="/" + "a" * LONG_TARGET_BYTES), statuses=(414, 404)),
    )
    yield _probe(
        "absolute_form",
        "9112 3.2.2 MUST",
        "the request target in absolute form",
        "200",
        lambda t: answered(t, head(t, path=f"http://{t.authority}{t.path}")),
    )
    yield _probe(
        "absolute_form_without_host",
        "9110 4.2.1 MUST",
        "the request target http://:80/, whose host is empty",
        "400",
        lambda t: refused(t, head(t, path="http://:80/")),
    )
    yield _probe(
        "encoded_path",
        "9110 4.2.3 SHOULD",
        "a path whose last character is percent-encoded",
        "200, as without the encoding",
        _encoded_path,
    )
    yield _probe(
        "encoding_malformed",
        "9112 3 SHOULD",
        "the request target /%zz",
        "400",
        lambda t: refused(t, head(t, path="/%zz"), statuses=(400, 301)),
    )
    yield _probe(
        "asterisk_form",
        "9112 3.2.4 MAY",
        "OPTIONS * HTTP/1.1",
        "a status below 500, not 400",
        _asterisk,
    )
    yield _probe(
        "version_1_2",
        "9110 2.5 SHOULD",
        "a request of version HTTP/1.2",
        "200, as for HTTP/1.1",
        lambda t: answered(t, _lines(t, f"GET {t.path} HTTP/1.2")),
    )
    yield _probe(
        "version_9_9",
        "9110 15.6.6 SHOULD",
        "a request of version HTTP/9.9",
        "505, or 400",
        lambda t: refused(t, _lines(t, f"GET {t.path} HTTP/9.9"), statuses=(505, 400)),
    )
    yield _probe(
        "version_malformed",
        "9112 2.3 MUST",
        "a request of version http/1.1 (it is case-sensitive)",
        "400, or 505",
        lambda t: refused(t, _lines(t, f"GET {t.path} http/1.1"), statuses=(400, 505)),
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
        return _probe(
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
        yield _probe(name, standard, sent, "400", lambda t, line=line: refused(t, head(t, line)))  # type: ignore[misc]
    yield _probe(
        "folded_field",
        "9112 5.2 MUST",
        "a field folded over two lines",
        "400, or 200 with spaces in its place",
        lambda t: _either(t, head(t, "X: a", " b")),
    )
    yield _probe(
        "nul_in_field",
        "9110 5.5 MUST",
        "a NUL in a field value",
        "400, or 200 with a space in its place",
        lambda t: _either(t, head(t, "X: a\0b")),
    )
    yield _probe(
        "field_spaces",
        "9112 5.1 MUST",
        "spaces and tabs around a field value",
        "200",
        lambda t: answered(t, head(t, "X: \t value \t ")),
    )
    yield _probe(
        "field_name_case",
        "9110 5.1 MUST",
        "HOST: in capitals",
        "200",
        lambda t: answered(t, head(t, f"HOST: {t.authority}", host=False)),
    )
    yield _probe(
        "field_too_large",
        "9110 5.4 MUST",
        f"a field of {LONG_FIELD_BYTES} bytes",
        "a status from 400 to 499, or 200",
        lambda t: _bounded(t, head(t, "X: " + "a" * LONG_FIELD_BYTES)),
    )
    yield _probe(
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


# ---- RFC 9112 section 6: where the body ends ----


def _framing() -> Iterator[Probe]:
    yield _probe(
        "length_and_coding",
        "9112 6.1 MUST",
        "both Content-Length and Transfer-Encoding: chunked",
        "400, or a response after which the connection ends",
        _both_lengths,
    )
    yield _probe(
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
        ("huge", "9" * 40),
    ):
        yield _probe(
            f"length_{name}",
            "9112 6.3 MUST",
            f"Content-Length: {text}",
            "400 (a length beyond all bounds: or 413), then the end",
            lambda t, text=text: refused(  # type: ignore[misc]
                t,
                head(t, f"Content-Length: {text}") + b"hello",
                statuses=(400, 413) if text[0] == "9" else (400,),
                closes=True,
            ),
        )
    yield _probe(
        "coding_unknown",
        "9112 6.1 SHOULD",
        "Transfer-Encoding: frob",
        "501, or 400",
        lambda t: refused(t, head(t, "Transfer-Encoding: frob") + b"hello", statuses=(501, 400)),
    )
    yield _probe(
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
    yield _probe(
        "chunked_twice",
        "9112 7.1 MUST",
        "Transfer-Encoding: chunked, chunked",
        "400, or 501",
        lambda t: refused(
            t, head(t, "Transfer-Encoding: chunked, chunked") + b"0\r\n\r\n", statuses=(400, 501)
        ),
    )
    yield _probe(
        "coding_in_http_1_0",
        "9112 6.1 MUST",
        "Transfer-Encoding: chunked in an HTTP/1.0 request",
        "a response, then the end",
        _coding_in_1_0,
    )
    yield _probe(
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
            _lines(
                target,
                f"GET {target.path} HTTP/1.0",
                "Connection: keep-alive",
                "Transfer-Encoding: chunked",
            )
            + b"0\r\n\r\n"
        )
        connection.send(data)
        received = connection.read_to_end()
        if received.count(b"HTTP/1.") > 1:
            raise Mismatch(expected="one response, then the end", received=show(received))
    return f"{show(received[:40])}..., then the end"


# ---- RFC 9112 section 7: chunks ----


def _chunks() -> Iterator[Probe]:
    def good(name: str, standard: str, what: str, body: bytes) -> Probe:
        return _probe(
            name,
            standard,
            f"GET with a chunked body{what}, then a request",
            "two responses, or a refusal and the end",
            lambda t: framed(t, head(t, "Transfer-Encoding: chunked") + body),
        )

    def bad(name: str, what: str, body: bytes, standard: str = "9112 7.1 MUST") -> Probe:
        return _probe(
            name,
            standard,
            f"a chunked body {what}",
            "a refusal, and the end of the connection",
            lambda t: _bad_chunk(t, head(t, "Transfer-Encoding: chunked") + body),
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


def _bad_chunk(target: Target, data: bytes) -> str:
    """400, the resource's own refusal, or the end; never 200 to something that lies behind."""
    with connected(target) as connection:
        first = refusal(connection, data + head(target, "Connection: close"))
        rest = connection.read_to_end()
        if rest:
            raise Mismatch(
                expected="one response, then the end",
                received=f"{first.describe()}; then {rest[:200]!r}",
            )
        return f"{first.describe()}, then the end"


# ---- RFC 9112 section 9: connections ----


def _connections() -> Iterator[Probe]:
    yield _probe(
        "keep_alive",
        "9112 9.3 SHOULD",
        "two requests one after another",
        "two responses",
        lambda t: answered(t, plain(t)),
    )
    yield _probe(
        "pipelining",
        "9112 9.3.2 MUST",
        "three requests in one piece",
        "three responses",
        _pipelined,
    )
    yield _probe(
        "close",
        "9112 9.6 MUST",
        "Connection: close, with a second request behind it",
        "one response, then the end",
        _close,
    )
    yield _probe(
        "close_in_list",
        "9112 9.6 MUST",
        "Connection: x, CLOSE",
        "a response, then the end",
        _close_in_list,
    )
    yield _probe(
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
                received=f"{len(rest)} further bytes: {rest[:100]!r}",
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
        connection.send(_lines(target, f"GET {target.path} HTTP/1.0"))
        data = connection.read_to_end()
        if not data.startswith((b"HTTP/1.1 200", b"HTTP/1.0 200")):
            raise Mismatch(expected="200", received=repr(data[:100]))
        if b"\r\ntransfer-encoding:" in data.partition(b"\r\n\r\n")[0].lower():
            raise Mismatch(
                expected="no Transfer-Encoding (RFC 9112 section 6.1)",
                received="a chunked response to HTTP/1.0",
            )
    return "200, then the end"


# ---- RFC 9110: what every server does with methods and fields ----


def _semantics() -> Iterator[Probe]:
    yield _probe(
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
        yield _probe(
            f"head_refused_{name}",
            "9110 9.3.2 MUST",
            f"HEAD {what}",
            "a response head, and no body",
            partial(_head_refused, first=first, lines=lines, host=name != "host"),
        )
    yield _probe(
        "connect",
        "9110 9.3.6 MUST",
        "CONNECT to the server itself",
        "no Content-Length nor Transfer-Encoding in a 2xx response",
        _connect,
    )
    for name, port in (("missing", ""), ("invalid", "99999")):
        yield _probe(
            f"connect_port_{name}",
            "9110 9.3.6 MUST",
            f"CONNECT localhost:{port}",
            "a status from 400 to 599",
            lambda t, port=port: refused(  # type: ignore[misc]
                t, head(t, method="CONNECT", path=f"localhost:{port}"), statuses=()
            ),
        )
    yield _probe("date", "9110 6.6.1 MUST", "GET", "a Date field", _date)
    yield _probe(
        "method_unknown",
        "9110 9.1 SHOULD",
        "the method FROB",
        "501, or 405",
        lambda t: refused(t, head(t, method="FROB"), statuses=(501, 405)),
    )
    yield _probe(
        "allow",
        "9110 15.5.6 MUST",
        "DELETE of a resource that has none",
        "a 405 has an Allow field",
        _allow,
    )
    yield _probe(
        "method_case",
        "9110 9.1 MUST",
        "the method get, in lower case",
        "no 200: methods are case-sensitive",
        lambda t: refused(t, head(t, method="get"), statuses=()),
    )
    yield _probe(
        "expect_continue",
        "9110 10.1.1 MUST",
        "POST with Expect: 100-continue and no body yet",
        "100, or a final status, at once",
        _expect_continue,
    )
    yield _probe(
        "expect_continue_1_0",
        "9110 10.1.1 MUST",
        "Expect: 100-continue in HTTP/1.0",
        "no 100",
        _expect_continue_1_0,
    )
    yield _probe(
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
    return f"{status} with {len(headers)} fields; then 200"


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
            _lines(
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
