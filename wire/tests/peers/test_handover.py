"""Listening sockets that come from systemd-socket-activate, and that one process of wire's server
hands over to the next.
"""

from __future__ import annotations

import json
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


def replace(port: int, process: int) -> int:
    """Makes the server at the port hand over; the process that serves then."""
    os.kill(process, signal.SIGUSR2)
    while (now := process_at(port)) == process:
        time.sleep(0.01)
    return now


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
                replaced.append(replace(port, replaced[-1]))
        assert (curl_one.returncode, curl_two.returncode) == (0, 0)
        for name in ("one", "two"):
            answered = [int(line) for line in (tmp_path / name).read_text().split()]
            assert len(answered) == REQUESTS
            assert set(answered) <= set(replaced)
            assert len(set(answered)) > 1


def test_wireload_sees_no_error_in_a_handover(wire: Wire, tmp_path: Path) -> None:
    """Its connections always have a request on the way."""
    program = os.environ.get("WIRELOAD")
    if program is None:
        pytest.skip("WIRELOAD: not the path of the program wireload")
    port = free_port()
    with running([wire.program, "server", str(port)], port, folder=tmp_path) as process:
        report = tmp_path / "report.json"
        load = [program, "-c", "16", "-d", "2s", "--json", str(report)]
        with subprocess.Popen(
            [*load, f"http://{HOST}:{port}/hello"], stdout=subprocess.DEVNULL
        ) as p:
            for _ in range(3):
                time.sleep(0.4)
                process = replace(port, process)
        requests = json.loads(report.read_text())["requests"]
    assert p.returncode == 0
    assert requests["errors"] == 0
    assert requests["connections_opened"] == 4 * 16
