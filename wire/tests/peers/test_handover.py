"""Listening sockets that come from systemd-socket-activate, and that one process of wire's server
hands over to the next.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from harness import HOST, Wire, free_port, need, run, running

REQUESTS = 2000


def process_at(port: int) -> int:
    """The process that answers a new connection."""
    url = f"http://{HOST}:{port}/process"
    return int(run([need("curl"), "-sS", "--fail", "--max-time", "30", url]))


def test_socket_activation(wire: Wire, tmp_path: Path) -> None:
    port = free_port()
    activate = need("systemd-socket-activate", "systemd")
    # The connection that sees whether it listens starts the server, and waits in the queue.
    command = [activate, "-l", f"{HOST}:{port}", wire.program, "activated"]
    with running(command, port, folder=tmp_path) as process:
        assert process_at(port) == process  # which became the server
        assert process_at(port) == process


@pytest.mark.parametrize("connections", ["kept", "new"])
def test_no_request_is_lost_in_a_handover(wire: Wire, tmp_path: Path, connections: str) -> None:
    port = free_port()
    with running([wire.program, "server", str(port)], port, folder=tmp_path) as first:
        new = ("-H", "Connection: close") if connections == "new" else ()
        url = f"http://{HOST}:{port}/process?[1-{REQUESTS}]"
        command = [need("curl"), "-sS", "--fail", "--max-time", "60", *new, url]
        with (
            (tmp_path / "one").open("wb") as one,
            (tmp_path / "two").open("wb") as two,
            subprocess.Popen(command, stdout=one) as curl_one,
            subprocess.Popen(command, stdout=two) as curl_two,
        ):
            replaced = [first]
            while curl_one.poll() is None and curl_two.poll() is None and len(replaced) < 4:
                time.sleep(0.1)
                os.kill(replaced[-1], signal.SIGUSR2)
                while (now := process_at(port)) in replaced:
                    time.sleep(0.01)
                replaced.append(now)
        assert (curl_one.returncode, curl_two.returncode) == (0, 0)
        for name in ("one", "two"):
            answered = [int(line) for line in (tmp_path / name).read_text().split()]
            assert len(answered) == REQUESTS
            assert set(answered) <= set(replaced)
            assert len(set(answered)) > 1
