"""The HTTP clients of Go, Node, Java and Python, and Python's requests and websockets, against
wire's server. Each is a program of its own in programs/, which checks what it gets.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness import HOST, PROGRAMS, Authority, need, run

SYSTEM_PYTHON = "/usr/bin/python3"
"""The one that has Debian's packages."""
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


@pytest.mark.parametrize("library", ["requests", "websockets"])
@pytest.mark.parametrize("tls", [False, True])
def test_a_python_library(
    library: str, tls: bool, server: int, tls_server: int, authority: Authority
) -> None:
    there = [SYSTEM_PYTHON, "-c", f"import {library}"]
    if (
        not Path(SYSTEM_PYTHON).exists()
        or subprocess.run(there, capture_output=True, check=False).returncode != 0
    ):
        pytest.skip(f"{library} is not installed (Debian: python3-{library})")
    base = f"https://localhost:{tls_server}" if tls else f"http://{HOST}:{server}"
    program = str(PROGRAMS / "libraries.py")
    said = run([SYSTEM_PYTHON, program, library, base, str(authority.ca)])
    assert said.decode().strip() == "ok"
