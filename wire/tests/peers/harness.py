"""What the tests share: programs that end with their test, a test authority, the bytes that both
ends can make, and a WebSocket client. Standard library only, but for pytest.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "lab"))

from wirebench.frames import TEXT, accept_key, encode_frame, new_key  # noqa: E402

HOST = "127.0.0.1"
PROGRAMS = HERE / "programs"
START_TIMEOUT_S = 60
"""Generous: `go run` and `java File.java` compile first."""
STOP_TIMEOUT_S = 5
BLOCK = bytes((i * 7 + i // 251) % 256 for i in range(64 << 10))
GIB = 1 << 30


def pattern(size: int) -> bytes:
    return (BLOCK * (size // len(BLOCK) + 1))[:size]


def summed(data: bytes) -> str:
    return f"{len(data)} {zlib.crc32(data)}"


def sum_of_pattern(size: int) -> str:
    """Of so many bytes, without making them at once."""
    checksum = 0
    for _ in range(size // len(BLOCK)):
        checksum = zlib.crc32(BLOCK, checksum)
    return f"{size} {zlib.crc32(BLOCK[: size % len(BLOCK)], checksum)}"


def need(command: str, package: str | None = None) -> str:
    """The command's path. Skips the test where it is not installed."""
    found = shutil.which(command) or shutil.which(command, path="/usr/sbin:/usr/local/go/bin")
    if found is None:
        pytest.skip(f"{command} is not installed (Debian: {package or command})")
    return found


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def running(
    command: Sequence[str], at: int | Path, *, folder: Path, env: dict[str, str] | None = None
) -> Iterator[int]:
    """A server and its process id, from when it takes connections at a port or Unix socket until
    the end of the block. Its helpers are in its process group and end with it.
    """
    named = at if isinstance(at, int) else at.name
    log = folder / f"{Path(command[0]).name}-{named}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )
    try:
        give_up = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                _connect(at)
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > give_up:
                    said = log.read_text(errors="replace")[-2000:]
                    pytest.fail(f"{command[0]} takes no connections: {said}")
                time.sleep(0.05)
        yield process.pid
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=STOP_TIMEOUT_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _connect(at: int | Path) -> None:
    if isinstance(at, int):
        socket.create_connection((HOST, at), timeout=1).close()
        return
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1)
        connection.connect(str(at))


def run(
    command: Sequence[str],
    *,
    data: bytes = b"",
    timeout_s: float = 60,
    folder: Path | None = None,
    env: dict[str, str] | None = None,
) -> bytes:
    """What a program printed; fails with its errors where it fails."""
    done = subprocess.run(
        command,
        input=data,
        capture_output=True,
        timeout=timeout_s,
        check=False,
        cwd=folder,
        env={**os.environ, **(env or {})},
    )
    if done.returncode != 0:
        said = (done.stdout[-1000:] + done.stderr[-2000:]).decode(errors="replace")
        pytest.fail(f"{' '.join(command)[:300]}: status {done.returncode}: {said}")
    return done.stdout


@dataclass(frozen=True, kw_only=True)
class Authority:
    """A test authority and a certificate of it for localhost and 127.0.0.1; PEM files."""

    ca: Path
    certificate: Path
    key: Path


def make_authority(folder: Path) -> Authority:
    openssl = need("openssl")

    def run_openssl(*arguments: str) -> None:
        run([openssl, *arguments], folder=folder)

    elliptic = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    named = ("-subj", "/CN=wire test authority", "-days", "2")
    run_openssl("req", "-x509", *elliptic, *usage, *named, "-keyout", "ca.key", "-out", "ca.pem")
    run_openssl("req", *elliptic, "-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "csr.pem")
    (folder / "names").write_text(
        "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n"
    )
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2")
    run_openssl("x509", "-req", "-in", "csr.pem", *signed, "-extfile", "names", "-out", "cert.pem")
    # Servers that leave root behind, like Apache's, read the key before they do.
    return Authority(ca=folder / "ca.pem", certificate=folder / "cert.pem", key=folder / "key.pem")


@dataclass(frozen=True, kw_only=True)
class Wire:
    """wire's own side: the program wire_peer."""

    program: str

    @contextmanager
    def server(self, folder: Path, tls: Authority | None = None, *options: str) -> Iterator[int]:
        port = free_port()
        files = ["--tls", str(tls.certificate), str(tls.key)] if tls else []
        command = [self.program, "server", str(port), *files, *options]
        with running(command, port, folder=folder):
            yield port

    @contextmanager
    def unix_server(self, folder: Path) -> Iterator[Path]:
        path = folder / "wire.sock"
        with running([self.program, "server", "0", "--unix", str(path)], path, folder=folder):
            yield path

    def ask(self, url: str, *options: str, timeout_s: float = 60) -> dict[str, object]:
        """One request, or several of them: the last reply's status, size and checksum."""
        said = run([self.program, "client", url, *options], timeout_s=timeout_s)
        found: dict[str, object] = json.loads(said)
        return found


def websocket_echo(port: int, messages: Sequence[bytes], path: str = "/ws") -> list[bytes]:
    """Opens a WebSocket, sends each message as text, and returns the echoes."""
    with socket.create_connection((HOST, port), timeout=10) as connection:
        stream = connection.makefile("rb")
        key = new_key()
        lines = (
            f"GET {path} HTTP/1.1",
            f"Host: {HOST}:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key}",
        )
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = stream.read(1)
            assert byte, head
            head += byte
        assert head.startswith(b"HTTP/1.1 101 "), head
        assert accept_key(key).encode() in head, head
        echoes = []
        for message in messages:
            connection.sendall(encode_frame(TEXT, message))
            first, size = stream.read(2)
            assert first == 0x80 | TEXT
            if size == 126:
                (size,) = struct.unpack(">H", stream.read(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", stream.read(8))
            echoes.append(stream.read(size))
        return echoes
