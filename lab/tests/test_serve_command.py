"""``wirebench serve`` as a command, asked over a socket and by a real browser."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from asked_pages import WORLD
from browser import Page, chromium, find_chromium
from synthetic_run import write_run
from test_serve import under_way
from wirebench.cli.console import EXIT_OK, EXIT_USAGE
from wirebench.cli.main import run_app
from wirebench.report import write_report
from wirebench.store.rundir import (
    TRIALS_FILE,
)

LISTENING = "0A"
"""A state in /proc/net/tcp."""


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("results")
    write_report(write_run(results, WORLD))
    return results


@pytest.fixture
def results(one_run: Path, tmp_path: Path) -> Path:
    shutil.copytree(one_run, tmp_path, dirs_exist_ok=True)
    return tmp_path


def run_of(results: Path) -> Path:
    (found,) = (one for one in results.iterdir() if one.is_dir())
    return found


# These tests are long: at idle priority, a server waits for minutes beside a build.


@contextmanager
def served(
    results: Path, *options: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-m", "wirebench.cli.main", "serve", "--port", "0", *options]
    process = subprocess.Popen(
        [*command, "--results", str(results)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", address)
        assert found is not None, address + process.communicate()[1]
        yield process, int(found[1])
    finally:
        process.kill()
        process.communicate()


def raw(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request)
        received = b""
        # What a server that refuses has not read makes the kernel reset the connection, after its
        # answer.
        with suppress(ConnectionResetError):
            while more := connection.recv(65536):
                received += more
    return received


@pytest.mark.long
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_told_to_end(results: Path, ending: signal.Signals) -> None:
    with served(results) as (process, port):
        host = f"Host: 127.0.0.1:{port}\r\nConnection: close\r\n".encode()
        page = raw(port, b"GET / HTTP/1.1\r\n" + host + b"\r\n")
        assert page.startswith(b"HTTP/1.1 200 ")
        assert b"Runs on this host" in page
        assert b"\r\nserver:" not in page.lower()
        body = b"Content-Length: 3\r\n\r\nx=1"
        assert raw(port, b"POST / HTTP/1.1\r\n" + host + body).startswith(b"HTTP/1.1 405 ")
        other = b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        assert raw(port, other).startswith(b"HTTP/1.1 421 ")
        large = b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n" + host + b"\r\n"
        assert b" 431 " in raw(port, large[:16_500])[:20]
        # Only this host reaches it.
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
        local = {line.split()[1] for line in lines if line.split()[3] == LISTENING}
        assert {one for one in local if one.endswith(f":{port:04X}")} == {f"0100007F:{port:04X}"}
        policies = {os.sched_getscheduler(int(one.name)) for one in tasks(process.pid)}
        assert policies == {os.SCHED_IDLE}
        process.send_signal(ending)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == EXIT_OK
        assert errors == ""


def tasks(pid: int) -> list[Path]:
    """The threads of a process, without those of libraries that were started before it served."""
    return [
        one
        for one in Path(f"/proc/{pid}/task").iterdir()
        if one.name == str(pid) or "waitress" in (one / "comm").read_text()
    ]


@pytest.mark.long
def test_the_browser_has_the_usual_priority(results: Path, tmp_path: Path) -> None:
    said = tmp_path / "said"
    browser = tmp_path / "browser"
    browser.write_text(
        f"#!{sys.executable}\nimport os, pathlib, sys\n"
        f"told = pathlib.Path({str(said)!r})\n"
        "told.with_suffix('.new').write_text(f'{os.sched_getscheduler(0)} {sys.argv[1]}')\n"
        "told.with_suffix('.new').rename(told)\n"
    )
    browser.chmod(0o755)
    with served(results, "--open", BROWSER=str(browser)) as (_process, port):
        until = time.monotonic() + 60
        while not said.exists() and time.monotonic() < until:
            time.sleep(0.05)
    assert said.read_text() == f"{os.sched_getscheduler(0)} http://127.0.0.1:{port}/"


@pytest.mark.long
def test_a_taken_port_and_a_missing_folder_are_said(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "wirebench.cli.main", "serve", "--port", port]
        answer = subprocess.run(
            [*command, "--results", str(results)], capture_output=True, text=True, check=False
        )
    assert answer.returncode == EXIT_USAGE
    assert f"--port: {port} cannot be had (Address already in use); choose another" in answer.stderr
    assert run_app(["serve", "--results", str(results / "none")]) == EXIT_USAGE
    assert "--results: expected a folder" in capsys.readouterr().err


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("profile"), network=True) as opened:
        yield opened


@pytest.mark.long
@pytest.mark.skipif(
    find_chromium() is None, reason="chromium is not installed: apt-get install chromium"
)
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1440, False)])
def test_a_browser_complains_of_nothing(page: Page, results: Path, width: int, dark: bool) -> None:
    run = run_of(results).name
    page.window(width, 900, phone=width < 600, dark=dark)
    with under_way(results, stored=40) as (running, rest), served(results) as (_process, port):
        base = f"http://127.0.0.1:{port}/"
        for path in (
            "",
            "history",
            "history?metric=throughput_per_s&cell=concurrency.c50",
            "decide?what=server+of+http.hello&throughput=30000",
            f"runs/{run}/",
            f"runs/{run}/report.html",
            f"runs/{running.name}/",
        ):
            page.open_url(base + path)
            assert page.value("document.scrollingElement.scrollWidth") <= width, path
            assert page.value("document.images.length") == page.value(
                "[...document.images].filter(one => one.naturalWidth > 0).length"
            )
            assert page.problems == [], path
            local = [url for url in page.requests if not url.startswith((base, "data:"))]
            assert local == [], path
        # The page over the run under way renews itself, without scripts.
        before = page.value("document.querySelector('progress').value")
        with (running / TRIALS_FILE).open("ab") as file:
            file.write(b"".join(rest[:3]))
        page.wait_for(f"document.querySelector('progress')?.value === {before + 3}")
        assert page.problems == []
        page.open_url(f"{base}runs/{run}/run.json")
        assert '"schema"' in page.value("document.body.innerText"), "the browser shows files, too"
        page.open_url("about:blank")
