"""The client contract for Python's blocking clients: a contestant says how to open a client and
what one operation is.

    @contextmanager
    def session():            # the client object, and with policy reuse its connection
        ...
        yield operation       # one operation: returns the body or message, or raises

    contract.measure(session)

Policy cold enters and leaves ``session`` for each operation, inside the timed part.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import ssl
import sys
import time
from array import array
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

URL = os.environ["WIREBENCH_URL"]
POLICY = os.environ["WIREBENCH_POLICY"]
METHOD = os.environ.get("WIREBENCH_METHOD", "GET")
CA_FILE = os.environ["WIREBENCH_CA_FILE"] or None
EXPECTED = (b"abcdefghijklmnopqrstuvwxyz" * (int(os.environ["WIREBENCH_PAYLOAD_BYTES"]) // 26 + 1))[
    : int(os.environ["WIREBENCH_PAYLOAD_BYTES"])
]
MESSAGE = EXPECTED.decode()
# What a request carries besides its method: a POST brings what is expected back.
BODY = EXPECTED if METHOD == "POST" else None
HEADERS = {"Content-Type": "application/octet-stream"} if METHOD == "POST" else {}
WARMUP = int(os.environ["WIREBENCH_WARMUP"])
OPERATIONS = int(os.environ["WIREBENCH_OPERATIONS"])

Operation = Callable[[], bytes | str]
Session = Callable[[], AbstractContextManager[Operation]]

_connections = 0


_connect = socket.socket.connect


def _counted(connection: socket.socket, address: tuple) -> None:
    global _connections
    _connect(connection, address)  # raises where the address refuses: that is no connection
    _connections += 1


def tls_context() -> ssl.SSLContext | None:
    """For https and wss."""
    return ssl.create_default_context(cafile=CA_FILE) if URL.startswith(("https", "wss")) else None


def measure(session: Session) -> None:
    """Run the operations, write the samples, print the JSON line, and exit."""
    # Whatever the library does, it connects by this.
    socket.socket.connect = _counted
    if POLICY == "cold":
        errors = _run(lambda: _once(session))
    else:
        with session() as operation:
            errors = _run(operation)
    sys.exit(1 if errors else 0)


def _once(session: Session) -> bytes | str:
    with session() as operation:
        return operation()


def _run(operation: Operation) -> int:
    expected = EXPECTED if URL.startswith("http") else MESSAGE
    samples = array("Q", bytes(8 * OPERATIONS))
    errors = 0
    for i in range(-WARMUP, OPERATIONS):
        if i == 0:
            before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter_ns()
        start = time.perf_counter_ns()
        try:
            ok = operation() == expected
        except Exception as error:  # each library has exceptions of its own
            ok = False
            if errors == 0:
                print(f"first error: {error!r}", file=sys.stderr)
        if i >= 0:
            samples[i] = time.perf_counter_ns() - start
        errors += not ok
    wall, after = time.perf_counter_ns() - began, resource.getrusage(resource.RUSAGE_SELF)
    if sys.byteorder == "big":
        samples.byteswap()
    with Path(os.environ["WIREBENCH_SAMPLES"]).open("wb") as file:
        samples.tofile(file)
    print(
        json.dumps(
            {
                "operations": OPERATIONS,
                "errors": errors,
                "connections": _connections,
                "wall_ns": wall,
                "cpu_user_ns": round((after.ru_utime - before.ru_utime) * 1e9),
                "cpu_system_ns": round((after.ru_stime - before.ru_stime) * 1e9),
            }
        )
    )
    return errors
