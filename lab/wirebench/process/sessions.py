"""TLS sessions that a reference server issued: how many connections resumed one."""

from __future__ import annotations

from pathlib import Path

FILE = "tls-sessions.txt"


def resumed_connections(file: Path) -> int | None:
    """By what the server wrote: a line ``CONNECTION r`` for each request on a connection that
    resumed a session, ``CONNECTION .`` on another. None: it wrote nothing.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    notes = [line.partition(" ") for line in lines]
    return len({connection for connection, _, how in notes if how == "r"}) if notes else None
