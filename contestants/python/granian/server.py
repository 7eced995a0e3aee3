"""Granian for the FastAPI application."""

from __future__ import annotations

import os
from pathlib import Path

from granian import Granian
from granian.constants import Interfaces, Loops

THREADS = int(os.environ.get("WIREBENCH_THREADS") or 1)


def path(variable: str) -> Path | None:
    return Path(os.environ[variable]) if os.environ.get(variable) else None


if __name__ == "__main__":
    Granian(
        "app:app",
        address=os.environ["WIREBENCH_HOST"],
        port=int(os.environ["WIREBENCH_PORT"]),
        interface=Interfaces.ASGI,
        loop=Loops.uvloop,
        # In rest the threads are handlers of one service.
        workers=1 if os.environ.get("WIREBENCH_WORKLOAD") == "rest" else THREADS,
        workers_kill_timeout=1,  # at SIGTERM the trial is over
        backlog=4096,
        backpressure=100_000,  # beyond it (default: the backlog's share) a worker stops accepting
        log_enabled=False,
        ssl_cert=path("WIREBENCH_TLS_CERT"),
        ssl_key=path("WIREBENCH_TLS_KEY"),
    ).serve()
