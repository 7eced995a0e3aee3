"""The forms of most probes: a request that must be answered, refused, or end the connection."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from wirebench.conformance.types import Target, UnspokenError
from wirebench.verify.checks import Mismatch
from wirebench.verify.http import Connection, Peer, PeerError, Response, SilenceError

TIMEOUT_S = 1.0
"""Wait no longer than this for a server that expects more bytes."""
CLOSE_WITHIN_S = 2.0
VERSIONS = ("HTTP/1.1", "HTTP/1.0")
"""A server should answer with its highest version (RFC 9110 section 6.2), and need not: some refuse
a request that they could not read with an HTTP/1.0.
"""
STATUS_LINES = re.compile(rb"HTTP/1\.[01] ([1-5])[0-9]{2} ")
FIELD_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*")
"""RFC 9112 section 5: a token, a colon, and text without control characters."""


@contextmanager
def connected(target: Target) -> Iterator[Connection]:
    peer = Peer(port=target.port, host=target.host)
    connection = Connection(peer, timeout_s=TIMEOUT_S, versions=VERSIONS)
    try:
        yield connection
    finally:
        connection.close()


def head(
    target: Target, *lines: str, method: str = "GET", path: str | None = None, host: bool = True
) -> bytes:
    """A request head with these additional lines."""
    first = [f"{method} {path if path is not None else target.path} HTTP/1.1"]
    if host:
        first.append(f"Host: {target.authority}")
    return "\r\n".join([*first, *lines]).encode("latin-1") + b"\r\n\r\n"


def plain(target: Target) -> bytes:
    return head(target)


def send_and_read(connection: Connection, data: bytes) -> Response:
    """Send and ignore errors: a server may refuse before it has read everything."""
    with suppress(PeerError):
        connection.send(data)
    return connection.read_response()


def answered(target: Target, data: bytes, *, status: int = 200) -> str:
    """The request gets this status, and the connection serves another one."""
    with connected(target) as connection:
        response = send_and_read(connection, data)
        if response.status != status:
            raise Mismatch(expected=f"status {status}", received=response.describe())
        connection.send(plain(target))
        following = connection.read_response()
        if following.status != 200:
            raise Mismatch(
                expected="200 to the request behind it",
                received=f"{response.describe()}; then {following.describe()}",
            )
    return f"{response.describe()}; then {following.status}"


def refused(
    target: Target, data: bytes, *, statuses: Sequence[int] = (400,), closes: bool = False
) -> str:
    """The request gets one of the statuses (none given: any of 400 to 599).

    ``closes``: the connection then ends. If it ends without a response, this raises
    ``UnspokenError``.
    """
    wanted = " or ".join(map(str, statuses)) if statuses else "a status from 400 to 599"
    with connected(target) as connection:
        response = refusal(connection, data)
        if response.status not in statuses if statuses else not 400 <= response.status <= 599:
            raise Mismatch(expected=wanted, received=response.describe())
        if closes and not connection.is_closed_by_peer(CLOSE_WITHIN_S):
            raise Mismatch(
                expected=f"{wanted}, then the end of the connection",
                received=f"{response.describe()}; it stays open",
            )
    return response.describe()


def refusal(connection: Connection, data: bytes) -> Response:
    """The response to a request that should be refused."""
    try:
        return send_and_read(connection, data)
    except PeerError as error:
        if is_end(error):
            raise UnspokenError(str(error)) from error
        raise


def is_end(error: PeerError) -> bool:
    """Whether the error is a closed connection."""
    return str(error).startswith("closed") and not isinstance(error, SilenceError)


SERVED_ALONE = "200, then the end of the connection"


def framed(
    target: Target, data: bytes, *, refusals: Sequence[int] = (400, 405, 411, 413, 501)
) -> str:
    """A request whose body ends where the standard says: served together with the request behind
    it, or refused with the connection closed. A server that does not read the body of a request
    that it serves ends the connection as well (RFC 9112 section 9.3).

    No part of the body may be taken for a request.
    """
    with connected(target) as connection:
        first = refusal(connection, data + head(target, "Connection: close"))
        if first.status in refusals:
            second = connection.read_to_end()
            if second.startswith((b"HTTP/1.1 200", b"HTTP/1.0 200")):
                return f"{first.describe()}; then 200 to the request behind it"
            if second:
                raise Mismatch(
                    expected="a refusal, then the end or 200",
                    received=f"{first.describe()}; then {second[:200]!r}",
                )
            return f"{first.describe()}, then the end of the connection"
        if first.status != 200:
            raise Mismatch(expected="200, or a refusal", received=first.describe())
        try:
            following = connection.read_response()
        except PeerError as error:
            if is_end(error) and not connection.read_to_end():
                return SERVED_ALONE
            raise
        if following.status != 200:
            raise Mismatch(
                expected="200 to the request behind the body",
                received=f"200; then {following.describe()}",
            )
        if not connection.is_closed_by_peer(CLOSE_WITHIN_S):
            raise Mismatch(
                expected="two responses, then the end",
                received="two responses, and more or an open connection",
            )
    return "200; then 200 to the request behind the body"


def ends_there(target: Target, data: bytes) -> str:
    """A malformed body: whatever the request gets, nothing behind it is served. The server may have
    answered before it came to the fault; then it ends the connection, or refuses what follows.
    """
    with connected(target) as connection:
        first = refusal(connection, data + head(target, "Connection: close"))
        rest = connection.read_to_end()
    if not rest:
        return f"{first.describe()}, then the end of the connection"
    found = STATUS_LINES.match(rest)
    if first.status < 400 and found is not None and found[1] >= b"4":
        return f"{first.describe()}; then a refusal, and the end"
    raise Mismatch(
        expected="no response to what lies behind",
        received=f"{first.describe()}; then {rest[:200]!r}",
    )


def not_behind(target: Target, data: bytes) -> str:
    """The beginning of a request whose body has no end yet: what is sent behind it is still body,
    and no request. It gets one response, sooner or later, or none.
    """
    found: list[Response] = []
    end = "and it reads on"
    with connected(target) as connection:
        connection.send(data)
        for more in (b"", plain(target), b""):
            try:
                found.append(send_and_read(connection, more))
            except SilenceError:
                continue
            except PeerError as error:
                if not found and is_end(error):
                    raise UnspokenError(str(error)) from error
                end = "then the end"
                break
            if len(found) > 1:
                break
    said = "; ".join(one.describe() for one in found) or "nothing"
    if len(found) > 1:
        raise Mismatch(expected="no response to bytes of the body", received=said)
    return f"{said}, {end}"
