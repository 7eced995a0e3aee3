"""Probes of HTTP clients: what RFC 9110 and 9112 ask of those that read responses. The client calls
a server of ours, which answers with the probe's bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from wirebench.conformance.answers import (
    BODY,
    BODY_BYTES,
    Answer,
    Asked,
    Call,
    Called,
    chunked,
    response,
    run_client,
)
from wirebench.conformance.asking import FIELD_LINE
from wirebench.conformance.types import Probe, Target, probe
from wirebench.process.ports import HOST
from wirebench.verify.checks import Mismatch
from wirebench.verify.http import show

MANY_INTERIM = 200_000
REQUEST_LINE = re.compile(rb"GET /[!-~]* HTTP/1\.1")
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n" + BODY
WRONG = b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n" + b"!" * BODY_BYTES
"""What an operation that takes it for its response reports as an error."""
_probe = partial(probe, "client")


def client_probes(call: Call) -> Iterator[Probe]:
    yield from _taken(call)
    yield from _refused(call)
    yield from _not_mixed_up(call)
    yield from _requests(call)


# ---- responses to take ----


def _taken(call: Call) -> Iterator[Probe]:
    length = f"Content-Length: {BODY_BYTES}"
    head, tail = BODY[:10], BODY[10:]
    chunks = b"A;x=y\r\n" + head + b'\r\n006;z="\\""\r\n' + tail + b"\r\n0\r\n\r\n"
    for name, standard, sent, answer in (
        ("length", "9112 6.3 MUST", "a body with Content-Length", Answer(data=GOOD)),
        (
            "length_zeros",
            "9112 6.3 MUST",
            "Content-Length: 0016",
            Answer(data=response("Content-Length: 0016", body=BODY)),
        ),
        (
            "until_close",
            "9112 6.3 MUST",
            "a body without length that ends with the connection",
            Answer(data=response(body=BODY), closes=True),
        ),
        (
            "chunked",
            "9112 7.1 MUST",
            "a chunked body",
            Answer(data=chunked(b"10\r\n" + BODY + b"\r\n0\r\n\r\n")),
        ),
        (
            "chunk_extensions",
            "9112 7.1.1 MUST",
            "chunks with extensions, zeros before a size and a capital in another",
            Answer(data=chunked(chunks)),
        ),
        (
            "trailers",
            "9112 7.1.2 MUST",
            "a chunked body with trailer fields",
            Answer(data=chunked(b"10\r\n" + BODY + b"\r\n0\r\nX: y\r\nZ: z\r\n\r\n")),
        ),
        (
            "coding_case",
            "9112 7 MUST",
            "Transfer-Encoding: Chunked, in another case",
            Answer(
                data=response(
                    "Transfer-Encoding: Chunked", body=b"10\r\n" + BODY + b"\r\n0\r\n\r\n"
                )
            ),
        ),
        (
            "names_and_spaces",
            "9110 5.1 MUST",
            "field names in capitals, spaces and tabs around values",
            Answer(data=response(f"CONTENT-LENGTH: \t {BODY_BYTES} \t", body=BODY)),
        ),
        (
            "interim_100",
            "9110 15.2 MUST",
            "100 before 200",
            Answer(data=b"HTTP/1.1 100 Continue\r\n\r\n" + GOOD),
        ),
        (
            "interim_several",
            "9110 15.2 MUST",
            "102, 103 with a field, and 199 before 200",
            Answer(
                data=b"HTTP/1.1 102 Processing\r\n\r\n"
                b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
                b"HTTP/1.1 199 Unheard Of\r\n\r\n" + GOOD
            ),
        ),
        (
            "reason_empty",
            "9112 4 SHOULD",
            "a status line without a reason: HTTP/1.1 200 and a space",
            Answer(data=response(length, body=BODY, status="HTTP/1.1 200 ")),
        ),
        (
            "reason_other",
            "9112 4 SHOULD",
            "the status 200 with the reason Not Found",
            Answer(data=response(length, body=BODY, status="HTTP/1.1 200 Not Found")),
        ),
        (
            "version_1_0",
            "9110 2.5 MUST",
            "a response of HTTP/1.0",
            Answer(data=response(length, body=BODY, status="HTTP/1.0 200 OK"), closes=True),
        ),
        (
            "field_unknown",
            "9110 5.1 SHOULD",
            "an unknown field in the response",
            Answer(data=response(length, "X-Unheard-Of: y", body=BODY)),
        ),
        (
            "bytewise",
            "9112 2.2 MUST",
            "100 and 200 with chunks and a trailer, one byte at a time",
            Answer(
                data=b"HTTP/1.1 100 Continue\r\n\r\n"
                + chunked(b"a\r\n" + head + b"\r\n6\r\n" + tail + b"\r\n0\r\nX: y\r\n\r\n"),
                bytewise=True,
            ),
        ),
        (
            "close_said",
            "9112 9.6 MUST",
            "Connection: close with each response",
            Answer(data=response(length, "Connection: close", body=BODY), closes=True),
        ),
        (
            "folded",
            "9112 5.2 MUST",
            "a field folded over two lines",
            Answer(data=response("X: a", " b", length, body=BODY)),
        ),
        (
            "lengths_alike",
            "9112 6.3 MAY",
            "Content-Length: 16, 16",
            Answer(data=response("Content-Length: 16, 16", body=BODY)),
        ),
    ):
        yield _probe(
            name,
            standard,
            sent,
            "two operations that succeed",
            lambda _, answer=answer: run_client(call, [answer], 2, [0]),  # type: ignore[misc]
        )


# ---- responses to refuse ----


def _refused(call: Call) -> Iterator[Probe]:
    bodies = b"10\r\n" + BODY + b"\r\n"
    for name, standard, sent, data in (
        ("nothing", "9112 8 MUST", "nothing, and the end", b""),
        ("head_cut", "9112 8 MUST", "half a head, and the end", GOOD[:30]),
        (
            "body_cut",
            "9112 8 MUST",
            "16 bytes where 17 are announced, and the end",
            response("Content-Length: 17", body=BODY),
        ),
        (
            "last_chunk_missing",
            "9112 8 MUST",
            "chunks without the last, and the end",
            chunked(bodies),
        ),
        (
            "chunk_cut",
            "9112 8 MUST",
            "a chunk that is cut, and the end",
            chunked(b"11\r\n" + BODY),
        ),
        (
            "trailer_cut",
            "9112 8 MUST",
            "the last chunk without the end of the trailer section",
            chunked(bodies + b"0\r\n"),
        ),
        (
            "lengths_differ",
            "9112 6.3 MUST",
            "Content-Length: 16 and Content-Length: 17",
            response("Content-Length: 16", "Content-Length: 17", body=BODY),
        ),
        (
            "lengths_differ_list",
            "9112 6.3 MUST",
            "Content-Length: 16, 17",
            response("Content-Length: 16, 17", body=BODY),
        ),
        *(
            (
                f"length_{what}",
                "9112 6.3 MUST",
                f"Content-Length: {value}",
                response(f"Content-Length: {value}", body=BODY),
            )
            for what, value in (
                ("negative", "-16"),
                ("signed", "+16"),
                ("word", "16 bytes"),
                ("fraction", "16.0"),
                ("overflow", "18446744073709551632"),
            )
        ),
        (
            "length_beside_coding",
            "9112 6.3 MUST",
            "Transfer-Encoding: chunked with Content-Length: 16 and 16 bytes that are no chunks",
            response("Content-Length: 16", "Transfer-Encoding: chunked", body=BODY),
        ),
        (
            "chunk_overflow",
            "9112 7.1 MUST",
            "a chunk of the size 2^64 + 16",
            chunked(b"10000000000000010\r\n" + BODY + b"\r\n0\r\n\r\n"),
        ),
        *(
            (
                f"chunk_{what}",
                "9112 7.1 MUST",
                f"a chunk of the size {size.decode()!r}",
                chunked(size + b"\r\n" + BODY + b"\r\n0\r\n\r\n"),
            )
            for what, size in (
                ("word", b"xyz"),
                ("negative", b"-10"),
                ("prefixed", b"0x10"),
                ("empty", b""),
            )
        ),
        (
            "chunk_long",
            "9112 7.1 MUST",
            "a chunk longer than its size",
            chunked(b"0F\r\n" + BODY + b"\r\n0\r\n\r\n"),
        ),
        (
            # Servers must not; a client may ignore interim responses that it did not expect.
            "switched_unasked",
            "9110 15.2 MAY",
            "101 to a request without Upgrade, then 200",
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n" + GOOD,
        ),
        (
            "status_short",
            "9112 4 MAY",
            "the status line HTTP/1.1 20 OK",
            GOOD.replace(b"200", b"20"),
        ),
        (
            "status_long",
            "9112 4 MAY",
            "the status line HTTP/1.1 2000 OK",
            GOOD.replace(b"200", b"2000"),
        ),
        (
            "name_other",
            "9112 2.3 MAY",
            "the status line HTTQ/1.1 200 OK",
            GOOD.replace(b"HTTP", b"HTTQ"),
        ),
        (
            "version_2",
            "9112 2.3 MAY",
            "the status line HTTP/2.0 200 OK",
            GOOD.replace(b"/1.1", b"/2.0"),
        ),
        ("http_0_9", "9112 4 MAY", "a body without a head", BODY),
    ):
        yield _probe(
            name,
            standard,
            sent,
            "an operation that fails",
            lambda _, data=data: run_client(call, [Answer(data=data, closes=True)], 1, [1]),  # type: ignore[misc]
        )
    loop = response("Location: /payload/16", "Content-Length: 0", status="HTTP/1.1 302 Found")
    yield _probe(
        "redirect_loop",
        "9110 15.4 SHOULD",
        "302 to the same resource, each time",
        "an operation that fails: loops are detected",
        lambda _: run_client(call, [Answer(data=loop)], 1, [1]),
    )
    fields = b"HTTP/1.1 200 OK\r\n" + (b"X: " + b"y" * 1019 + b"\r\n") * 1024
    yield _probe(
        "head_endless",
        "9110 5.4 MAY",
        "a MiB of fields without an end, again and again",
        "an operation that fails: heads have a limit",
        lambda _: run_client(
            call, [Answer(data=fields[17:], before=fields[:17], repeat=64)], 1, [1]
        ),
    )
    yield _probe(
        "interim_endless",
        "9110 15.2 MAY",
        f"{MANY_INTERIM:,} times 100, without a final response",
        "an operation that fails",
        lambda _: run_client(
            call,
            [
                Answer(
                    data=b"HTTP/1.1 100 Continue\r\n\r\n" * 100,
                    repeat=MANY_INTERIM // 100,
                    closes=True,
                )
            ],
            1,
            [1],
        ),
    )


# ---- responses that must not be taken for one another ----


def _not_mixed_up(call: Call) -> Iterator[Probe]:
    for name, standard, sent, first, errors in (
        (
            "unasked_response",
            "9112 9.2 MUST",
            "a second response behind the first, which nobody asked for",
            GOOD + WRONG,
            [0],
        ),
        (
            "body_of_204",
            "9112 6.3 MUST",
            "204 with Content-Length and a body that is a response",
            response(f"Content-Length: {len(WRONG)}", body=WRONG, status="HTTP/1.1 204 No Content"),
            [1],
        ),
        (
            "body_of_304",
            "9112 6.3 MUST",
            "304 with Content-Length and no body",
            response("Content-Length: 16", status="HTTP/1.1 304 Not Modified"),
            [1],
        ),
        (
            "behind_failure",
            "9112 6.3 MUST",
            "two lengths, and a response behind the body",
            response("Content-Length: 16", "Content-Length: 0", body=BODY + WRONG),
            [1],
        ),
    ):
        yield _probe(
            name,
            standard,
            f"{sent}; then a right response to the second request",
            f"{errors[0]} of two operations fails",
            lambda _, first=first, errors=errors: run_client(  # type: ignore[misc]
                call, [Answer(data=first), Answer(data=GOOD)], 2, errors
            ),
        )


# ---- what a client sends ----


def _requests(call: Call) -> Iterator[Probe]:
    kept = response(f"Content-Length: {BODY_BYTES}", "Connection: close", body=BODY)
    for name, standard, expected, answer, check in (
        ("request_line", "9112 3.2.1 MUST", "GET, a path and HTTP/1.1", GOOD, _line_is_right),
        (
            "request_host",
            "9110 7.2 MUST",
            "one Host field, the URL's authority",
            GOOD,
            _host_is_url,
        ),
        ("request_fields", "9112 5 MUST", "names, colons and text, on a line each", GOOD, _fields),
        (
            "request_without_body",
            "9110 8.6 SHOULD",
            "no Content-Length nor Transfer-Encoding with a GET",
            GOOD,
            _no_body,
        ),
        (
            "close_said_and_not_done",
            "9112 9.6 MUST",
            "the second on another connection, though the first stays open",
            kept,
            _connections_differ,
        ),
    ):
        yield _probe(
            name,
            standard,
            "a right response" + (" with Connection: close" if answer == kept else ""),
            f"two operations that succeed; {expected}",
            lambda _, answer=answer, check=check: run_client(  # type: ignore[misc]
                call, [Answer(data=answer)], 2, [0], check
            ),
        )


def _line_is_right(asked: Sequence[Asked], _port: int) -> None:
    for one in asked:
        line = one.head.split(b"\r\n")[0]
        if not REQUEST_LINE.fullmatch(line):
            raise Mismatch(expected="GET /... HTTP/1.1", received=show(line))


def _host_is_url(asked: Sequence[Asked], port: int) -> None:
    wanted = [f"{HOST}:{port}".encode()]
    for one in asked:
        if (found := _values(one, b"host")) != wanted:
            raise Mismatch(expected=f"Host: {HOST}:{port}", received=f"Host: {found}")


def _fields(asked: Sequence[Asked], _port: int) -> None:
    for one in asked:
        for line in one.head.split(b"\r\n")[1:]:
            if not FIELD_LINE.fullmatch(line):
                raise Mismatch(expected="a name, a colon and text", received=show(line))


def _no_body(asked: Sequence[Asked], _port: int) -> None:
    for one in asked:
        if found := [*_values(one, b"content-length"), *_values(one, b"transfer-encoding")]:
            raise Mismatch(expected="neither", received=str(found))


def _connections_differ(asked: Sequence[Asked], _port: int) -> None:
    if len(asked) > 1 and len({one.client_port for one in asked}) == 1:
        raise Mismatch(expected="two connections", received="one")


def _values(one: Asked, name: bytes) -> list[bytes]:
    fields = (line.partition(b":") for line in one.head.split(b"\r\n")[1:])
    return [value.strip() for key, _, value in fields if key.lower() == name]


def every_client_probe() -> Iterator[Probe]:
    """For lists: they cannot be run."""

    def none(port: int, operations: int) -> Called:
        raise NotImplementedError(f"no client for {port} and {operations} operations")

    return client_probes(none)


NOWHERE = Target(host=HOST, port=0)
"""What the probes of clients are run with: they make their own server."""
