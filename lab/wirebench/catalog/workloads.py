"""The request a server is asked under load for each workload, and the reply that alone counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from wirebench.catalog.model import Workload
from wirebench.catalog.units import count_of

REST_BODY = '{"param1":42,"param2":"test"}'
"""The published comparison's body, made valid JSON."""


@dataclass(frozen=True, kw_only=True)
class HttpRequest:
    method: str
    path: str
    body: str | None
    headers: tuple[str, ...]
    status: int
    reply: str

    @property
    def sent(self) -> str:
        return f"{self.method} {self.path}" + (
            "" if self.body is None else f" with the body {self.body}"
        )

    @property
    def expected(self) -> str:
        return f'{self.status}, body "{self.reply}"'


@dataclass(frozen=True, kw_only=True)
class WebSocketMessage:
    path: str
    text: str
    """``{c}`` stands for a number that the connection counts up."""
    check: Literal["echo", "count", "broadcast"]
    payload_bytes: int | None = None
    """A message of this size instead of the text."""

    @property
    def sent(self) -> str:
        if self.payload_bytes is not None:
            return f"a message of {count_of(self.payload_bytes, 'byte')}"
        return f"the text message {self.text}"

    @property
    def expected(self) -> str:
        return {
            "echo": "the same message",
            "count": '{"c":<the same>,"ts":<unix seconds>}',
            "broadcast": "the same message, once on each connection",
        }[self.check]


@dataclass(frozen=True, kw_only=True)
class GivenRequest:
    """What a user sends to a server of their own, in the options of the generator."""

    path: str
    options: tuple[str, ...]
    """``wireload``'s, with their values: what to send, and which reply is right."""

    @property
    def sent(self) -> str:
        return " ".join((*self.options, self.path))

    @property
    def expected(self) -> str:
        return "the reply that these options call right"


Request = HttpRequest | WebSocketMessage | GivenRequest

_REQUESTS: dict[Workload, HttpRequest | WebSocketMessage] = {
    "http.hello": HttpRequest(
        method="GET",
        path="/route_01",
        body=None,
        headers=(),
        status=200,
        reply="hello from route_01",
    ),
    "http.payload": HttpRequest(
        method="GET",
        path="/payload/16",
        body=None,
        headers=(),
        status=200,
        reply="abcdefghijklmnop",
    ),
    "rest": HttpRequest(
        method="POST",
        path="/test",
        body=REST_BODY,
        headers=("Content-Type: application/json",),
        status=200,
        reply=f"Sending response: {REST_BODY}",
    ),
    "ws.echo": WebSocketMessage(path="/", text="message {c}", check="echo"),
    "ws.count": WebSocketMessage(path="/", text='{"c":{c}}', check="count"),
    "ws.broadcast": WebSocketMessage(path="/", text='{"b":{c}}', check="broadcast"),
}


def request_of(workload: Workload) -> HttpRequest | WebSocketMessage:
    return _REQUESTS[workload]


def payload(size: int) -> bytes:
    """What ``http.payload`` serves and WebSocket clients send: byte i is 'a' + i % 26."""
    alphabet = bytes(range(ord("a"), ord("z") + 1))
    return (alphabet * (size // 26 + 1))[:size]
