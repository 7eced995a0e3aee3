"""What probes of HTTP share."""

from __future__ import annotations

from functools import partial

from wirebench.conformance.types import Target, probe

LONG_TARGET_BYTES = 60_000
LONG_FIELD_BYTES = 200_000
http_probe = partial(probe, "http")


def request_lines(target: Target, first: str, *lines: str, end: str = "\r\n") -> bytes:
    return end.join([first, f"Host: {target.authority}", *lines, "", ""]).encode("latin-1")
