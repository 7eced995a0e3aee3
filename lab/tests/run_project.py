"""A small project for runs in processes of their own: Python servers, one short study, and a
generator of a few lines.

Each process of a contestant, and the generator, leaves its pid in a folder, so that a test can see
what outlived a run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

LAB = Path(__file__).resolve().parents[1]

STUDY = """
name = "concurrency"
title = "Few connections"
question = "Does it run?"
role = "server"
workload = "http.hello"

[[cells]]
id = "c2"
title = "2 connections"
kind = "closed"
primary = "throughput_per_s"
connections = 2

[presets.quick]
cells = ["c2"]
warmup = "10ms"
window = "300ms"

[presets.full]
cells = ["c2"]
"""

LANGUAGE = """
title = "Python"
[run]
server = ["{python}", "-B", "{{source}}/server.py"]
"""

MANIFEST = """
library = "http.server"
version = "3"
license = "PSF-2.0"
homepage = "https://docs.python.org/3/library/http.server.html"
tier = "{tier}"
serves = ["http.hello"]
"""

NOTE_PID = """
import os, pathlib
(pathlib.Path({pids!r}) / str(os.getpid())).write_text("{name}")
"""

SERVER = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REPLIES = {"/route_01": b"hello from route_01", "/route_02": b"hello from route_02"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        body = REPLIES.get(self.path, b"no")
        self.send_response(200 if self.path in REPLIES else 404)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 64


Server((os.environ["WIREBENCH_HOST"], int(os.environ["WIREBENCH_PORT"])), Handler).serve_forever()
"""

GENERATOR = """
import json, sys, time, urllib.parse, http.client

arguments = sys.argv[1:]
target = urllib.parse.urlsplit(arguments[-1])
seconds = {seconds}
connection = http.client.HTTPConnection(target.hostname, target.port, timeout=5)
started, count, errors = time.monotonic(), 0, 0
while count + errors == 0 or time.monotonic() - started < seconds:
    connection.request("GET", target.path)
    reply = connection.getresponse()
    body = reply.read()  # or the connection takes no further request
    right = reply.status == 200 and body == b"hello from route_01"
    count, errors = count + right, errors + (not right)
elapsed = int((time.monotonic() - started) * 1e9)
latency = {{"count": count, "min_ns": 1, "mean_ns": 1.0, "stddev_ns": 0.0,
    "max_ns": 1, "percentiles_ns": {{"50": 1}}}}
document = {{
    "schema": "wireload/1", "version": "0", "command": sys.argv,
    "connect": {{"attempted": 1, "opened": 1, "failed": 0, "elapsed_ns": 1}},
    "window": {{"start_unix_ns": time.time_ns() - elapsed, "elapsed_ns": elapsed,
        "stopped_by": "duration"}},
    "requests": {{"sent": count + errors, "ok": count, "errors": errors,
        "rate_per_s": count / elapsed * 1e9}},
    "errors": {{"bad_body": errors}} if errors else {{}}, "first_error": None, "latency": latency,
    "little": None, "generator": {{"cpu_share": 0.1, "involuntary_switches": 0}},
    "server": None, "rounds": None,
}}
pathlib.Path(arguments[arguments.index("--json") + 1]).write_text(json.dumps(document))
sys.exit(1 if errors else 0)
"""


class Project:
    """Files of the project, and runs in it."""

    def __init__(self, root: Path, *, seconds: float = 0.05, own_generator: bool = False) -> None:
        """``own_generator``: use the one here where there is a wireload as well."""
        self.root, self._own_generator = root, own_generator
        self.pids = root / "pids"
        self.temporary = root / "tmp"
        for folder in (self.pids, self.temporary, root / "bin", root / "studies"):
            folder.mkdir(parents=True)
        (root / "studies" / "concurrency.toml").write_text(STUDY)
        generator = root / "bin" / "wireload"
        code = NOTE_PID.format(pids=str(self.pids), name="generator") + GENERATOR.format(
            seconds=seconds
        )
        generator.write_text(f"#!{sys.executable}\n{code}")
        generator.chmod(0o755)
        self.add("floor", tier="floor")
        self.add("plain")

    def add(self, name: str, *, tier: str = "idiomatic", server: str = SERVER) -> None:
        language = self.root / "contestants" / "python"
        folder = language / name
        folder.mkdir(parents=True)
        (language / "language.toml").write_text(LANGUAGE.format(python=sys.executable))
        (folder / "manifest.toml").write_text(MANIFEST.format(tier=tier))
        (folder / "server.py").write_text(NOTE_PID.format(pids=str(self.pids), name=name) + server)

    def use(self, wireload: Path) -> None:
        """In place of the generator of a few lines."""
        shutil.copy2(wireload, self.root / "bin" / "wireload")

    def start(self, *arguments: str, before: Sequence[str] = ()) -> subprocess.Popen[str]:
        """``before``: the words before the command, such as those that enter a namespace."""
        env = {
            **os.environ,
            "WIREBENCH_ROOT": str(self.root),
            "PYTHONPATH": str(LAB),
            "PATH": f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}",
            **({"WIREBENCH_PROGRAMS": str(self.root / "bin")} if self._own_generator else {}),
            "TMPDIR": str(self.temporary),
        }
        return subprocess.Popen(
            [*before, sys.executable, "-m", "wirebench.cli.main", *arguments],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        with self.start(*arguments) as process:
            output, _ = process.communicate(timeout=120)
            return process.returncode, output

    def only_run(self) -> Path:
        (found,) = (
            path
            for path in (self.root / "results").iterdir()
            if path.is_dir() and not path.is_symlink()
        )
        return found

    def started(self) -> list[int]:
        return [int(path.name) for path in self.pids.iterdir()]

    def survivors(self) -> list[int]:
        """Processes of contestants and generators that are still there; those that are ending get a
        moment.
        """
        deadline = time.monotonic() + 10
        while (
            left := [pid for pid in self.started() if alive(pid)]
        ) and time.monotonic() < deadline:
            time.sleep(0.02)
        return left

    def leftovers(self) -> list[Path]:
        return list(self.temporary.iterdir())


def alive(pid: int) -> bool:
    try:
        stat = Path("/proc", str(pid), "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_for(condition: object, process: subprocess.Popen[str]) -> None:
    """Wait until the condition holds; an error with the output if the process ends first."""
    if not callable(condition):
        raise TypeError("wait_for: expected something to call")
    while not condition():
        if process.poll() is not None:
            raise AssertionError(
                f"ended with {process.returncode} too early:"
                f" {process.stdout.read() if process.stdout else ''}"
            )
        time.sleep(0.01)


def lines(path: Path) -> Iterator[str]:
    if path.exists():
        yield from (
            line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")
        )
