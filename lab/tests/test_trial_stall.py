"""Trials of servers that stand still, crash or answer wrongly in the middle of a load: a failure
with the state of the server, and nothing of it in the others' trials.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from misbehaving.support import HERE, program, spec
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import EachLoad
from wirebench.process import procfs
from wirebench.process.stall import server_state
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.run.local import find_generator
from wirebench.trial.record import TrialRecord
from wirebench.trial.trial import run_trial

LOAD = EachLoad(producers=4, messages=300, delay_ms=0, policy="reuse", threads=2)


def serve(
    one: Program,
    supervisor: Supervisor,
    tmp_path: Path,
    *,
    load: EachLoad = LOAD,
    timeout_ns: int = 2_000_000_000,
) -> TrialRecord:
    try:
        wireload = find_generator()
    except CatalogError:
        pytest.skip("wireload is neither beside this Python nor in PATH: ./test installs it")
    return run_trial(
        replace(spec("one", tmp_path, load=load), timeout_ns=timeout_ns),
        program=one,
        supervisor=supervisor,
        wireload=wireload,
    )


# Two threads that each wait for a lock that nobody gives back, from the 20th request on; four
# connections, so that two are not even accepted.
STALLS = Program(argv=(sys.executable, "-B", str(HERE / "stalling.py")), folder=HERE)


def test_a_stall_is_a_failure_with_the_state_of_the_server(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    record = serve(STALLS, supervisor, tmp_path, timeout_ns=1_000_000_000)
    assert record.status == "failed"
    assert record.failure is not None
    assert record.failure.kind == "hung"
    state = record.failure.state
    assert state is not None
    # The main thread waits for the others, and they for the lock.
    assert "threads" in state
    assert "established" in state
    assert "not yet accepted" in state
    if os.geteuid() == 0 and Path("/proc/self/syscall").exists():
        assert "futex" in state


def test_a_stall_is_not_waited_for_to_the_end(supervisor: Supervisor, tmp_path: Path) -> None:
    """A thousand replies that each time out would take hours."""
    load = replace(LOAD, messages=100_000)
    record = serve(STALLS, supervisor, tmp_path, load=load, timeout_ns=500_000_000)
    assert record.failure is not None
    assert record.failure.kind == "hung"
    assert "did nothing for" in record.failure.message
    # The limit of this load is 810 s.
    assert record.elapsed_ns < 300_000_000_000


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("crashes_under_load", "crashed"), ("wrong_later", "wrong_reply"), ("hangs", "hung")],
)
def test_the_rest_of_a_block_is_intact(
    fault: str, kind: str, supervisor: Supervisor, tmp_path: Path
) -> None:
    load = replace(LOAD, messages=100)
    kinds = []
    for one in ("none", fault, "none"):
        timeout_ns = 300_000_000 if one == "hangs" else 10_000_000_000
        record = serve(
            program("server.py", one), supervisor, tmp_path, load=load, timeout_ns=timeout_ns
        )
        kinds.append(record.failure.kind if record.failure is not None else record.status)
        if one == "none":
            assert record.load is not None
            assert record.load["requests"]["ok"] == 400
    assert kinds == ["ok", kind, "ok"]


def test_the_state_counts_connections_and_what_is_in_their_queues() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=8) as listener:
        port = listener.getsockname()[1]
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        accepted, _ = listener.accept()
        for client in clients:
            client.sendall(b"x" * 10)
        try:
            found = list(procfs.tcp_sockets(port))
            assert len(found) == 4
            # On a busy machine the kernel delivers a moment later.
            wanted = "3 established; 3 with unread bytes (30 B), 0 B unsent; 2 not yet"
            deadline = time.monotonic() + 10
            while wanted not in (state := server_state([os.getpid()], port)):
                assert time.monotonic() < deadline, state
                time.sleep(0.01)
            assert "thread" in state
        finally:
            for one in (*clients, accepted):
                one.close()
    assert server_state([], 1) == (
        "no thread is left; connections: none; 0 with unread bytes (0 B), 0 B unsent; no listening"
        " socket"
    )


def test_the_state_says_where_threads_wait() -> None:
    stop = threading.Event()
    waiting = threading.Thread(target=stop.wait)
    waiting.start()
    try:
        state = server_state([os.getpid()], 1)
    finally:
        stop.set()
        waiting.join()
    assert "running" in state, "the one that asks"
