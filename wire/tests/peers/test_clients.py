"""The HTTP clients of Go, Node, Java and Python, and Python's requests and websockets, against
wire's server. Each is a program of its own in programs/, which checks what it gets.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import HOST, PROGRAMS, Authority, need, run

LANGUAGES = ("go", "node", "java", "python3")


def command_of(language: str) -> list[str]:
    match language:
        case "go":
            return [need("go", "golang-go"), "run", str(PROGRAMS / "client.go")]
        case "node":
            return [
                need("node", "nodejs"),
                "--no-warnings",
                "--experimental-websocket",
                str(PROGRAMS / "client.mjs"),
            ]
        case "java":
            return [need("java", "default-jdk-headless"), str(PROGRAMS / "Client.java")]
        case _:
            return [need("python3"), str(PROGRAMS / "client.py")]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("tls", [False, True])
def test_a_client(
    language: str,
    tls: bool,
    server: int,
    tls_server: int,
    authority: Authority,
    tmp_path: Path,
) -> None:
    base = f"https://localhost:{tls_server}" if tls else f"http://{HOST}:{server}"
    arguments = [base, *([str(authority.ca)] if tls and language != "node" else [])]
    trusted = {"NODE_EXTRA_CA_CERTS": str(authority.ca)} if tls else {}
    said = run([*command_of(language), *arguments], folder=tmp_path, env=trusted)
    assert said.decode().strip() == "ok"


def test_requests(server: int, tls_server: int, authority: Authority) -> None:
    requests = pytest.importorskip("requests")
    with requests.Session() as session:
        session.trust_env = False
        for base in (f"http://{HOST}:{server}", f"https://localhost:{tls_server}"):
            session.verify = str(authority.ca)
            body = session.get(f"{base}/chunks/300000", timeout=10)
            assert body.headers["Content-Encoding"] == "gzip"
            assert len(body.content) == 300_000
            echoed = session.post(f"{base}/echo", data=iter([b"one ", b"two"]), timeout=10)
            assert echoed.content == b"one two"


def test_websockets(server: int) -> None:
    client = pytest.importorskip("websockets.sync.client")
    with client.connect(f"ws://{HOST}:{server}/ws", proxy=None) as socket:
        for message in ("hello", "x" * 100_000, b"\x00\xff"):
            socket.send(message)
            assert socket.recv(timeout=10) == message
