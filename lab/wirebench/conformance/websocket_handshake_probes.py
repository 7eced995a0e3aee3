"""Probes of WebSocket's opening handshake: what a 101 says, and requests in other right forms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from wirebench.conformance.asking import connected, head, send_and_read
from wirebench.conformance.types import NotApplicableError, Probe, Target, probe
from wirebench.conformance.websocket_probes import echoes, shake
from wirebench.frames import TEXT
from wirebench.verify.checks import Mismatch
from wirebench.verify.websocket import UPGRADE, WebSocket, handshake

_probe = partial(probe, "websocket")


def websocket_handshake_probes() -> Iterator[Probe]:
    yield _probe(
        "handshake_fields",
        "6455 4.2.2 MUST",
        "a handshake",
        "101 with Upgrade: websocket and Connection: Upgrade",
        _fields_of_101,
    )
    yield _probe(
        "handshake_no_length",
        "9110 8.6 MUST",
        "a handshake",
        "101 without Content-Length and Transfer-Encoding",
        _no_length,
    )
    yield _probe(
        "handshake_spaces",
        "9112 5.1 MUST",
        "a handshake with spaces and tabs around the values of its fields",
        "101, and an echo",
        lambda t: _opens(t, lines=tuple(line.replace(": ", ": \t ") + " \t" for line in UPGRADE)),
    )
    yield _probe(
        "handshake_absolute_form",
        "9112 3.2.2 MUST",
        "a handshake whose request target is in absolute form",
        "101, and an echo",
        lambda t: _opens(t, path=f"http://{t.authority}{t.websocket_path}"),
    )
    yield _probe(
        "handshake_in_pieces",
        "9112 2.2 MUST",
        "a handshake in pieces of 5 bytes",
        "101, and an echo",
        lambda t: _opens(t, in_pieces=True),
    )
    yield _probe(
        "handshake_behind_request",
        "9112 9.3 SHOULD",
        "a GET, and a handshake on the same connection",
        "200, then 101, and an echo",
        _behind_request,
    )
    yield _probe(
        "handshake_protocols_in_lines",
        "6455 4.2.2 MUST",
        "subprotocols that are unknown, in two fields",
        "101 with none of them or one, and an echo",
        _protocols_in_lines,
    )


def _fields_of_101(target: Target) -> str:
    with connected(target) as connection:
        fields = shake(target, connection, *UPGRADE)
    upgrade, listed = fields.get("upgrade", ""), fields.get("connection", "")
    said = f"Upgrade: {upgrade}, Connection: {listed}"
    options = [one.strip() for one in listed.lower().split(",")]
    if upgrade.lower() != "websocket" or "upgrade" not in options:
        raise Mismatch(expected="Upgrade: websocket, Connection: Upgrade", received=said)
    return said


def _no_length(target: Target) -> str:
    with connected(target) as connection:
        fields = shake(target, connection, *UPGRADE)
    for name in ("content-length", "transfer-encoding"):
        if name in fields:
            raise Mismatch(expected=f"no {name}", received=f"{name}: {fields[name]}")
    return "neither"


def _opens(
    target: Target,
    *,
    lines: Sequence[str] = UPGRADE,
    path: str | None = None,
    in_pieces: bool = False,
) -> str:
    with connected(target) as connection:
        reply = handshake(
            connection,
            *lines,
            path=path or target.websocket_path or "/",
            authority=target.authority,
            in_pieces=in_pieces,
        )
        if reply.status != 101:
            raise Mismatch(expected="101", received=f"{reply.status} {reply.reason}")
        websocket = WebSocket(connection)
        websocket.send_text("hi")
        return f"101, {echoes(websocket, TEXT, b'hi')}"


def _behind_request(target: Target) -> str:
    if target.path is None:
        raise NotApplicableError("no resource that answers GET is known")
    with connected(target) as connection:
        first = send_and_read(connection, head(target))
        if first.status != 200:
            raise Mismatch(expected="200", received=first.describe())
        shake(target, connection, *UPGRADE)
        websocket = WebSocket(connection)
        websocket.send_text("hi")
        return f"200, then 101, {echoes(websocket, TEXT, b'hi')}"


def _protocols_in_lines(target: Target) -> str:
    offered = ("x-one", "x-two", "x-three")
    with connected(target) as connection:
        fields = shake(
            target,
            connection,
            *UPGRADE,
            "Sec-WebSocket-Protocol: x-one",
            "Sec-WebSocket-Protocol: x-two, x-three",
        )
        chosen = fields.get("sec-websocket-protocol")
        if chosen is not None and chosen not in offered:
            raise Mismatch(expected="one of them, or none", received=chosen)
        websocket = WebSocket(connection)
        websocket.send_text("hi")
        return f"{chosen or 'none'}, {echoes(websocket, TEXT, b'hi')}"
