"""wireload by itself: the wheel, and the archive with one static program."""

from __future__ import annotations

import http.server
import json
import os
import platform
import shutil
import socketserver
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Dist, install, run


@pytest.fixture(scope="module")
def unpacked(dist: Dist, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive's only folder."""
    folder = tmp_path_factory.mktemp("archive")
    with tarfile.open(dist.one("wireload-*.tar.gz")) as archive:
        archive.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    return top


class Hello(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Hello) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def replies(document: str) -> int:
    counted: int = json.loads(document)["requests"]["ok"]
    return counted


def test_the_wheel_puts_the_program_on_the_path(dist: Dist, tmp_path: Path, port: int) -> None:
    programs = install(dist.one("wireload-*.whl"), tmp_path / "venv")
    said = run(["wireload", "--version"], env={"PATH": str(programs)})
    assert said.startswith("wireload ")
    url = f"http://127.0.0.1:{port}/"
    document = run([programs / "wireload", "-n", "20", "-c", "2", "-q", "--json", "-", url])
    assert replies(document) == 20
    share = tmp_path / "venv" / "share"
    assert (share / "man/man1/wireload.1").read_text(encoding="utf-8").count(".SH") > 3
    assert (share / "bash-completion/completions/wireload").is_file()
    licences = (share / "doc/wireload/copyright").read_text(encoding="utf-8")
    assert "MIT License" in licences
    assert "--- libssl-dev" in licences


@pytest.mark.parametrize("pattern", ["wireload-*.whl", "wirebench_lab-*.whl"])
def test_a_wheel_runs_on_every_linux_of_its_tag(dist: Dist, pattern: str) -> None:
    wheel = dist.one(pattern)
    said = run([sys.executable, "-m", "auditwheel", "show", wheel])
    assert f"manylinux_2_17_{platform.machine()}" in said.replace("\n", " ") or (
        f"manylinux_2_5_{platform.machine()}" in said
    )


def test_the_program_needs_no_library(unpacked: Path) -> None:
    headers = run(["readelf", "-lW", unpacked / "bin" / "wireload"])
    assert "INTERP" not in headers
    assert "NEEDED" not in run(["readelf", "-dW", unpacked / "bin" / "wireload"])


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_names_are_found_where_there_is_only_the_program(
    unpacked: Path, tmp_path: Path, port: int
) -> None:
    shutil.copy(unpacked / "bin" / "wireload", tmp_path / "wireload")
    ask = ["chroot", str(tmp_path), "/wireload", "-n", "5", "-c", "1", "-q", "--json", "-"]
    assert replies(run([*ask, f"http://127.0.0.1:{port}/"])) == 5
    unknown = subprocess.run(
        [*ask, f"http://only.here:{port}/"], capture_output=True, text=True, check=False
    )
    assert unknown.returncode != 0
    assert 'cannot resolve "only.here"' in unknown.stderr
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hosts").write_text("127.0.0.1 only.here\n", encoding="utf-8")
    # A module that is not there, and that a static program could not load if it were.
    (tmp_path / "etc/nsswitch.conf").write_text("hosts: resolve mymachines\n", encoding="utf-8")
    assert replies(run([*ask, f"http://only.here:{port}/"])) == 5
