"""Pages of ``wirebench serve`` without a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from wsgiref.util import setup_testing_defaults

from synthetic_world import World
from wirebench.serve.application import Application

WORLD = World(studies=("concurrency",), samples=60)
HOST = "127.0.0.1:8088"


@dataclass(frozen=True, kw_only=True)
class Reply:
    status: int
    fields: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def ask(application: Application, path: str, *, method: str = "GET", **more: str) -> Reply:
    """What the application answers. ``more``: further parts of the WSGI environment."""
    path, _, query = path.partition("?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "HTTP_HOST": HOST,
        **more,
    }
    setup_testing_defaults(environ)
    said: list[Any] = []

    def start_response(status: str, fields: list[tuple[str, str]], *_: Any) -> Any:
        said.extend((status, fields))

    parts = application(environ, start_response)
    body = b"".join(parts)
    if hasattr(parts, "close"):
        parts.close()
    fields = dict(said[1])
    assert len(fields) == len(said[1]), "no field twice"
    if method != "HEAD":
        assert int(fields["Content-Length"]) == len(body)
    return Reply(status=int(said[0].split()[0]), fields=fields, body=body)
