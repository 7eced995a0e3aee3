"""How many connections a reference server accepted, by its own count."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from wirebench.process import ports

FILE = "accepted-connections"
_PATH = "/accepted"
_PROBES = 1
"""``start_server`` connects once, to see whether the server is ready."""
_STUB_STATUS = re.compile(rb"server accepts handled requests\s+(\d+) ")
"""https://nginx.org/en/docs/http/ngx_http_stub_status_module.html"""


def accepted_connections(file: Path, port: int, *, tls: bool) -> int | None:
    """Those of the server's clients so far, without the lab's own. None: the server does not count.

    ``cpp/floor`` keeps the number in the file, as 8 bytes in this machine's order. ``c/nginx``
    answers ``GET /accepted`` with its stub_status. Connections are accepted in their order, so all
    that a client has used are counted when it has ended.
    """
    try:
        return int.from_bytes(file.read_bytes(), sys.byteorder) - _PROBES
    except OSError:
        pass
    reply = ports.get(port, _PATH, tls=tls)
    found = _STUB_STATUS.search(reply[1]) if reply is not None and reply[0] == 200 else None
    own = 1  # the connection that asks
    return int(found[1]) - _PROBES - own if found is not None else None
