"""Probes of whole messages of HTTP/1.1: bodies in pipelines, half-closed connections, the form of
responses, and conditional requests.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from wirebench.catalog.units import count_of
from wirebench.conformance.asking import (
    FIELD_LINE,
    answered,
    connected,
    head,
    plain,
    refusal,
    send_and_read,
)
from wirebench.conformance.types import NotApplicableError, Probe, Target, probe
from wirebench.verify.checks import Mismatch
from wirebench.verify.http import Connection, PeerError, Response, show

PAUSE_S = 0.001
REFUSALS = (400, 405, 411, 413, 501)
MISSING = "/no/such/resource"
FUTURE = "Thu, 31 Dec 2099 23:59:59 GMT"
PAST = "Thu, 01 Jan 1970 00:00:00 GMT"
STATUS_LINE = re.compile(rb"HTTP/1\.[0-9] [1-5][0-9]{2} [\t -~\x80-\xff]*")
SINGLE_FIELDS = ("content-length", "content-type", "date", "etag", "last-modified", "server")
_probe = partial(probe, "http")


def http_message_probes() -> Iterator[Probe]:
    yield from _bodies()
    yield from _half_closed()
    yield from _forms()
    yield from _conditions()


# ---- bodies in pipelines and in pieces ----


def _bodies() -> Iterator[Probe]:
    yield _probe(
        "pipelined_mixed",
        "9112 9.3.2 MUST",
        "GET with a length, GET with chunks, GET, and a last GET with Connection: close, at once;"
        " both bodies are requests themselves",
        "four responses, or a refusal; nothing for what the bodies hold, and the end",
        _pipelined_mixed,
    )
    yield _probe(
        "cut_anywhere_bodies",
        "9112 2.2 MUST",
        "GET with a length, GET with chunks and a trailer field, and GET in two pieces, cut at each"
        " of their bytes in turn",
        "three responses each time, or a refusal",
        _cut_anywhere,
    )


def _with_bodies(target: Target, body: bytes) -> bytes:
    """Two requests with this body, one by its length and one in chunks."""
    chunks = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\nX: y\r\n\r\n"
    return (
        head(target, f"Content-Length: {len(body)}")
        + body
        + head(target, "Transfer-Encoding: chunked")
        + chunks
    )


def _pipelined_mixed(target: Target) -> str:
    data = _with_bodies(target, head(target, path="/hidden"))
    with connected(target) as connection:
        last = head(target, "Connection: close")
        found = [refusal(connection, data + plain(target) + last).status]
        while len(found) < 4:
            try:
                found.append(connection.read_response().status)
            except PeerError:
                break  # judged below
        rest = connection.read_to_end()
    said = ", ".join(map(str, found))
    if rest:
        raise Mismatch(expected="four responses, and the end", received=f"{said}; {show(rest)}")
    if found != [200] * 4 and not (set(found) - {200}) & set(REFUSALS):
        raise Mismatch(expected="four times 200, or a refusal", received=said)
    return f"{said}, then the end"


def _cut_anywhere(target: Target) -> str:
    data = _with_bodies(target, b"hello") + plain(target)
    with connected(target) as connection:
        for cut in range(1, len(data)):
            connection.send(data[:cut])
            time.sleep(PAUSE_S)
            with suppress(PeerError):  # it may have refused the first
                connection.send(data[cut:])
            for number in range(1, 4):
                response = refusal(connection, b"")
                if response.status in REFUSALS and cut == 1:
                    return response.describe()
                if response.status != 200:
                    raise Mismatch(
                        expected="200",
                        received=f"cut at {cut}, request {number}: {response.describe()}",
                    )
    return f"{len(data) - 1} times three responses"


# ---- clients that have finished sending ----


def _half_closed() -> Iterator[Probe]:
    # No sentence forbids to take the end of what a client sends for the end of the connection.
    for name, sent, count in (("half_closed", "a request", 1), ("half_closed_many", "three", 3)):
        yield _probe(
            name,
            "9112 9.6 MAY",
            f"{sent}, and the end of sending",
            "the responses whole, and the end",
            lambda t, count=count: _finished(t, count),  # type: ignore[misc]
        )
    for what in ("head", "body", "chunk"):
        yield _probe(
            f"half_closed_in_{what}",
            "9112 8 MAY",
            f"half of a {what}, and the end of sending",
            "a refusal or nothing" if what == "head" else "at most one response",
            lambda t, what=what: _cut_short(t, what),  # type: ignore[misc]
        )


def _finished(target: Target, count: int) -> str:
    with connected(target) as connection:
        connection.send(plain(target) * count)
        connection.finish_sending()
        for number in range(1, count + 1):
            response = connection.read_response()
            if response.status != 200:
                raise Mismatch(expected="200", received=f"{number}: {response.describe()}")
        _nothing_more(connection)
    return f"{count} times 200, then the end"


def _cut_short(target: Target, what: str) -> str:
    with connected(target) as connection:
        if what == "head":
            connection.send(head(target, "X: y")[:-4])
        elif what == "body":
            connection.send(head(target, "Content-Length: 10", method="POST") + b"hello")
        else:
            chunked = head(target, "Transfer-Encoding: chunked", method="POST")
            connection.send(chunked + b"a\r\nhello")
        connection.finish_sending()
        try:
            response = connection.read_response()
        except PeerError as error:
            if str(error).startswith("closed"):
                return "the end of the connection"
            raise
        if what == "head" and response.status < 400:
            raise Mismatch(expected="a refusal, or the end", received=response.describe())
        _nothing_more(connection)
    return f"{response.describe()}, then the end"


def _nothing_more(connection: Connection) -> None:
    if rest := connection.read_to_end():
        raise Mismatch(expected="the end of the connection", received=show(rest))


# ---- the form of responses ----


def _forms() -> Iterator[Probe]:
    for name, standard, path, expected in (
        ("status_line_form", "9112 4 MUST", None, "a version, three digits, a space and a reason"),
        ("status_line_form_of_error", "9112 4 MUST", MISSING, "the same of an error"),
        ("field_lines_form", "9112 5 MUST", None, "lines that end in CRLF: a token, a colon, text"),
        ("field_lines_form_of_error", "9112 5 MUST", MISSING, "the same of an error"),
    ):
        check = _status_line if "status" in name else _field_lines
        yield _probe(
            name,
            standard,
            "GET" if path is None else "GET of a resource that is missing",
            expected,
            lambda t, check=check, path=path: check(_raw_head(t, path)),  # type: ignore[misc]
        )
    yield _probe(
        "fields_once",
        "9110 5.3 MUST",
        "GET",
        "fields that are no lists at most once: Content-Length, Content-Type, Date and others",
        _fields_once,
    )
    for name, sent, version, path in (
        ("version_said", "GET of HTTP/1.0", "1.0", None),
        ("version_said_1_1", "GET", "1.1", None),
        ("version_said_of_error", "GET of a resource that is missing", "1.1", MISSING),
    ):
        yield _probe(
            name,
            "9110 6.2 SHOULD",
            sent,
            "HTTP/1.1, the version that the server conforms to",
            lambda t, version=version, path=path: _version_said(t, version, path),  # type: ignore[misc]
        )
    yield _probe(
        "content_type", "9110 8.3 SHOULD", "GET", "a Content-Type with content", _content_type
    )
    yield _probe(
        "head_content_type",
        "9110 9.3.2 SHOULD",
        "HEAD, and GET",
        "the same Content-Type",
        _head_content_type,
    )
    yield _probe(
        "options_allow",
        "9110 9.3.7 SHOULD",
        "OPTIONS",
        "an Allow field, where it is answered with 2xx",
        _options_allow,
    )


def _raw_head(target: Target, path: str | None) -> bytes:
    with connected(target) as connection:
        connection.send(head(target, path=path))
        return connection.read_until(b"\r\n\r\n", "a response head")[:-4]


def _status_line(raw: bytes) -> str:
    line = raw.split(b"\r\n")[0]
    if not STATUS_LINE.fullmatch(line):
        raise Mismatch(expected="a version, three digits, a space, a reason", received=show(line))
    return show(line)


def _field_lines(raw: bytes) -> str:
    lines = raw.split(b"\r\n")[1:]
    for line in lines:
        if not FIELD_LINE.fullmatch(line):
            raise Mismatch(expected="a name, a colon and text, on one line", received=show(line))
    return count_of(len(lines), "field")


def _fields_once(target: Target) -> str:
    counts = Counter(name for name, _ in _get(target).headers)
    twice = [name for name in SINGLE_FIELDS if counts[name] > 1]
    if twice:
        raise Mismatch(expected="each of them once", received=f"twice: {', '.join(twice)}")
    return count_of(len(counts), "name")


def _version_said(target: Target, version: str, path: str | None) -> str:
    with connected(target) as connection:
        request = f"GET {path or target.path} HTTP/{version}\r\nHost: {target.authority}\r\n\r\n"
        connection.send(request.encode("latin-1"))
        said = connection.read_exactly(8, "a status line")
    if said != b"HTTP/1.1":
        raise Mismatch(expected="HTTP/1.1", received=show(said))
    return show(said)


def _get(target: Target, *lines: str, method: str = "GET", path: str | None = None) -> Response:
    with connected(target) as connection:
        return send_and_read(connection, head(target, *lines, method=method, path=path))


def _content_type(target: Target) -> str:
    response = _get(target)
    if not response.body:
        raise NotApplicableError("its resource has no content")
    if response.header("content-type") is None:
        raise Mismatch(expected="a Content-Type field", received=response.describe())
    return f"Content-Type: {response.header('content-type')}"


def _head_of(target: Target, *lines: str) -> tuple[int, dict[str, str]]:
    """The status and fields of the response to HEAD."""
    with connected(target) as connection:
        connection.send(head(target, *lines, method="HEAD"))
        status, _, fields = connection.read_head()
    if status in (405, 501):
        raise NotApplicableError(f"it answers HEAD with {status}")
    return status, dict(fields)


def _head_content_type(target: Target) -> str:
    _, fields = _head_of(target)
    wanted, found = _get(target).header("content-type"), fields.get("content-type")
    if found != wanted:
        raise Mismatch(expected=f"Content-Type: {wanted}", received=f"Content-Type: {found}")
    return f"Content-Type: {found}"


def _options_allow(target: Target) -> str:
    response = _get(target, method="OPTIONS")
    if not 200 <= response.status <= 299:
        raise NotApplicableError(f"it answers OPTIONS with {response.status}")
    if response.header("allow") is None:
        raise Mismatch(expected="an Allow field", received=response.describe())
    return f"Allow: {response.header('allow')}"


# ---- conditional requests and ranges ----


def _conditions() -> Iterator[Probe]:
    for name, section, lines in (
        ("if_modified_since_invalid", "13.1.3", ("If-Modified-Since: yesterday",)),
        (
            "if_modified_since_beside_match",
            "13.1.3",
            ('If-None-Match: "no such tag"', f"If-Modified-Since: {FUTURE}"),
        ),
        ("if_unmodified_since_invalid", "13.1.4", ("If-Unmodified-Since: yesterday",)),
        ("if_unmodified_since_future", "13.1.4", (f"If-Unmodified-Since: {FUTURE}",)),
        ("if_range_alone", "13.1.5", ('If-Range: "no such tag"',)),
    ):
        yield _probe(
            name,
            f"9110 {section} MUST",
            " and ".join(lines),
            "200: it holds" if "future" in name else "200: the field is ignored",
            lambda t, lines=lines: answered(t, head(t, *lines)),  # type: ignore[misc]
        )
    yield _probe(
        "condition_of_missing",
        "9110 13.2.1 MUST",
        "If-None-Match: * of a resource that is missing",
        "the same status as without it",
        _condition_of_missing,
    )
    yield _probe(
        "range_of_head",
        "9110 14.2 MUST",
        "HEAD with Range: bytes=0-0",
        "the status as without it: ranges are of GET only",
        _range_of_head,
    )
    for name, standard, line, status in (
        ("none_match_of_its_tag", "9110 13.1.2 MUST", "If-None-Match: {etag}", 304),
        ("none_match_weak", "9110 13.1.2 MUST", "If-None-Match: W/{bare}", 304),
        ("none_match_list", "9110 13.1.2 MUST", 'If-None-Match: "x", {etag}', 304),
        ("none_match_any", "9110 13.1.2 MUST", "If-None-Match: *", 304),
        ("match_of_another_tag", "9110 13.1.1 MUST", 'If-Match: "no such tag"', 412),
        ("match_any", "9110 13.1.1 MUST", "If-Match: *", 200),
    ):
        yield _probe(
            name,
            standard,
            f"{line.format(etag='its ETag', bare='its ETag')}, where it sends an ETag",
            str(status),
            lambda t, line=line, status=status: _tagged(t, line, status),  # type: ignore[misc]
        )
    for name, standard, line, status in (
        ("modified_since_its_date", "9110 13.1.3 SHOULD", "If-Modified-Since: {date}", 304),
        ("modified_since_future", "9110 13.1.3 SHOULD", f"If-Modified-Since: {FUTURE}", 304),
        ("modified_since_long_ago", "9110 13.1.3 MUST", f"If-Modified-Since: {PAST}", 200),
        ("unmodified_since_its_date", "9110 13.1.4 MUST", "If-Unmodified-Since: {date}", 200),
        ("unmodified_since_long_ago", "9110 13.1.4 MUST", f"If-Unmodified-Since: {PAST}", 412),
    ):
        yield _probe(
            name,
            standard,
            f"{line.format(date='its Last-Modified')}, where it sends one",
            str(status),
            lambda t, line=line, status=status: answered(  # type: ignore[misc]
                t, head(t, line.format(date=_last_modified(t))), status=status
            ),
        )
    yield _probe(
        "range_twice",
        "9110 14.2 MAY",
        "two Range fields: bytes=0-0 and bytes=1-1",
        "200 or a refusal: it is no list, and neither field is taken for all of it",
        _range_twice,
    )
    yield _probe(
        "not_modified_fields",
        "9110 15.4.5 MUST",
        "If-None-Match: its ETag, where it sends an ETag",
        "304 with the ETag, and no content",
        _not_modified_fields,
    )


def _condition_of_missing(target: Target) -> str:
    wanted = _get(target, path=MISSING).status
    if wanted < 300:
        raise NotApplicableError(f"it answers GET {MISSING} with {wanted}")
    found = _get(target, "If-None-Match: *", path=MISSING).status
    if found != wanted:
        raise Mismatch(expected=str(wanted), received=str(found))
    return str(found)


def _range_of_head(target: Target) -> str:
    wanted, _ = _head_of(target)
    found, fields = _head_of(target, "Range: bytes=0-0")
    if found != wanted or "content-range" in fields:
        raise Mismatch(expected=str(wanted), received=f"{found}, {fields.get('content-range')}")
    return str(found)


def _etag(target: Target) -> str:
    etag = _get(target).header("etag")
    if etag is None:
        raise NotApplicableError("its resource has no ETag")
    return etag


def _last_modified(target: Target) -> str:
    value = _get(target).header("last-modified")
    if value is None:
        raise NotApplicableError("its resource has no Last-Modified")
    return value


def _range_twice(target: Target) -> str:
    found = _get(target, "Range: bytes=0-0", "Range: bytes=1-1")
    if found.status not in (200, 400, 416):
        raise Mismatch(expected="200, 400 or 416", received=found.describe())
    return found.describe()


def _tagged(target: Target, line: str, status: int) -> str:
    etag = _etag(target)
    return answered(
        target, head(target, line.format(etag=etag, bare=etag.removeprefix("W/"))), status=status
    )


def _not_modified_fields(target: Target) -> str:
    etag = _etag(target)
    with connected(target) as connection:
        connection.send(head(target, f"If-None-Match: {etag}", "Connection: close"))
        status, _, fields = connection.read_head()
        body = connection.read_to_end()
    if status != 304 or dict(fields).get("etag") != etag or body:
        content = f"{count_of(len(body), 'byte')} of content"
        received = f"{status}, ETag: {dict(fields).get('etag')}, {content}"
        raise Mismatch(expected=f"304, ETag: {etag}, no content", received=received)
    return f"304, ETag: {etag}"
