"""``wirebench conformance`` and addresses at which there is no server to judge."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from probed_servers import GOOD
from wirebench.cli.main import run_app
from wirebench.process.ports import HOST


@pytest.mark.parametrize("path", ["/a b", "/\u2192", "/\udcff"])
def test_a_path_that_no_request_line_can_hold_is_said(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["conformance", f"http://127.0.0.1:1{path}"]) == 64
    assert "expected a path of ASCII without blanks" in capsys.readouterr().err


@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_where_nobody_listens_no_server_is_judged(
    scheme: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "found.json"
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    url = f"{scheme}://{HOST}:{port}/"
    assert run_app(["conformance", url, "--json", str(file)]) == 69
    said = capsys.readouterr()
    assert f"{url}: expected a running server, got no connection: " in said.err
    assert said.out == ""
    assert not file.exists()


def test_a_server_that_ends_at_a_harmless_probe_has_not_passed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its listener is gone with the first probe, whatever that one's level."""
    listener = socket.create_server((HOST, 0))
    port = listener.getsockname()[1]

    def serve() -> None:
        first, _ = listener.accept()
        with listener, first:
            first.recv(65_536)
            first.sendall(GOOD)
            asked, _ = listener.accept()
            asked.close()

    thread = threading.Thread(target=serve)
    thread.start()
    code = run_app(["conformance", f"http://{HOST}:{port}/"])
    thread.join()
    said = capsys.readouterr()
    assert code == 1
    assert said.out.count("Connection refused") <= 1
    assert "the server ended" in said.out
    assert " probes not sent" in said.err
