"""curl against wire's server."""

from __future__ import annotations

import subprocess
import zlib
from pathlib import Path

import pytest
from harness import BLOCK, GIB, HOST, Authority, need, pattern, run, sum_of_pattern, summed

BODY = pattern(3_000_000)


def curl(*arguments: str, data: bytes = b"") -> bytes:
    return run([need("curl"), "-sS", "--fail", "--max-time", "30", *arguments], data=data)


def said(*arguments: str, data: bytes = b"") -> str:
    """What --verbose tells: the heads, and what curl makes of them."""
    command = [need("curl"), "-sS", "-v", "--max-time", "30", "--stderr", "-", *arguments]
    return run(command, data=data).decode(errors="replace")


@pytest.mark.parametrize("version", ["--http1.0", "--http1.1"])
def test_versions(server: int, version: str) -> None:
    assert curl(version, f"http://{HOST}:{server}/hello") == b"hello\n"


def test_a_body_of_unknown_length_over_http_1_0(server: int) -> None:
    url = f"http://{HOST}:{server}/chunks/300000"
    assert summed(curl("--http1.0", url)) == sum_of_pattern(300_000)


def test_keep_alive(server: int) -> None:
    url = f"http://{HOST}:{server}/hello"
    assert said(url, url, url).count("Re-using existing connection") == 2


@pytest.mark.parametrize("path", ["bytes", "chunks"])
def test_downloads(server: int, path: str) -> None:
    assert summed(curl(f"http://{HOST}:{server}/{path}/3000000")) == summed(BODY)


def test_expect_100_continue(server: int) -> None:
    url = f"http://{HOST}:{server}/sum"
    continued = ("-H", "Expect: 100-continue", "--expect100-timeout", "20", "-T", "-")
    shown = said("-X", "POST", *continued, url, data=BODY)
    assert "< HTTP/1.1 100 Continue" in shown
    assert summed(BODY) in shown


def test_a_chunked_upload(server: int) -> None:
    url = f"http://{HOST}:{server}/sum"
    chunked = ("-X", "POST", "-H", "Transfer-Encoding: chunked", "-T", "-")
    assert curl(*chunked, url, data=BODY).decode() == summed(BODY)


def test_a_body_both_ways_at_once(server: int) -> None:
    body = BODY[:1_000_000]
    assert curl("-X", "POST", "-T", "-", f"http://{HOST}:{server}/echo", data=body) == body


def test_compressed(server: int) -> None:
    url = f"http://{HOST}:{server}/chunks/300000"
    assert summed(curl("--compressed", url)) == sum_of_pattern(300_000)
    assert "< Content-Encoding: " in said("--compressed", "-o", "/dev/null", url)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_each_coding(server: int, coding: str) -> None:
    url = f"http://{HOST}:{server}/chunks/300000"
    asked = ("--compressed", "-H", f"Accept-Encoding: {coding}")
    assert summed(curl(*asked, url)) == sum_of_pattern(300_000)
    assert f"< Content-Encoding: {coding}" in said(*asked, "-o", "/dev/null", url)


def test_head(server: int) -> None:
    url = f"http://{HOST}:{server}/bytes/1000"
    head = curl("--head", url, f"http://{HOST}:{server}/hello").decode()
    assert "Content-Length: 1000\r\n" in head
    assert head.count("HTTP/1.1 200 OK") == 2


def test_a_body_too_large_is_told_while_it_comes(server: int) -> None:
    done = said("-T", "-", f"http://{HOST}:{server}/nowhere", data=BODY)
    assert "< HTTP/1.1 413 " in done
    assert "body too large" in done


def test_early_hints_and_trailers(server: int) -> None:
    url = f"http://{HOST}:{server}/hints"
    shown = curl("--include", "-H", "TE: trailers", "-H", "Connection: TE", url).decode()
    hints, head, body = shown.split("\r\n\r\n")
    assert hints.startswith("HTTP/1.1 103 Early Hints\r\nLink: </style.css>;")
    assert head.startswith("HTTP/1.1 200 OK\r\n")
    text = b"hello trailers\n"
    assert body == f"{text.decode()}X-Checksum: {summed(text)}\r\n"
    # Nobody asked for them.
    assert curl("--include", url).endswith(b"\r\n\r\n" + text)


def test_a_unix_socket(unix_server: Path) -> None:
    to = ("--unix-socket", str(unix_server))
    url = "http://localhost"
    assert curl(*to, f"{url}/client") == b"unix: by nobody"
    assert summed(curl(*to, f"{url}/chunks/3000000")) == summed(BODY)
    assert curl(*to, "-T", "-", f"{url}/sum", data=BODY).decode() == summed(BODY)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_tls(tls_server: int, authority: Authority, version: str) -> None:
    trusted = ("--cacert", str(authority.ca), f"--tlsv{version}", "--tls-max", version)
    url = f"https://localhost:{tls_server}"
    assert curl(*trusted, f"{url}/hello") == b"hello\n"
    assert summed(curl(*trusted, f"{url}/chunks/3000000")) == summed(BODY)
    assert curl(*trusted, "-T", "-", f"{url}/sum", data=BODY).decode() == summed(BODY)


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_a_session_is_resumed(
    tls_server: int, authority: Authority, version: str, tmp_path: Path
) -> None:
    """With openssl's own client: curl keeps its sessions to itself."""
    session = str(tmp_path / "session")
    at = ("-connect", f"{HOST}:{tls_server}", "-servername", "localhost")
    command = [need("openssl"), "s_client", *at, "-CAfile", str(authority.ca), version]
    request = b"GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    quiet = ("-ign_eof",)
    first = run([*command, *quiet, "-sess_out", session], data=request).decode(errors="replace")
    assert "\nhello" in first
    again = run([*command, *quiet, "-sess_in", session], data=request).decode(errors="replace")
    assert "\nhello" in again
    assert "Reused, " in again


@pytest.mark.parametrize("tls", [False, True])
def test_a_gibibyte_each_way(
    server: int, tls_server: int, authority: Authority, tls: bool, tmp_path: Path
) -> None:
    base = f"https://localhost:{tls_server}" if tls else f"http://{HOST}:{server}"
    command = [need("curl"), "-sS", "--fail", "--max-time", "90", "--cacert", str(authority.ca)]
    wanted = sum_of_pattern(GIB)
    with subprocess.Popen([*command, f"{base}/bytes/{GIB}"], stdout=subprocess.PIPE) as down:
        assert down.stdout is not None
        size = checksum = 0
        while piece := down.stdout.read(1 << 20):
            size, checksum = size + len(piece), zlib.crc32(piece, checksum)
    assert f"{size} {checksum}" == wanted
    answer = tmp_path / "answer"
    upload = [*command, "-T", "-", "-o", str(answer), f"{base}/sum"]
    with subprocess.Popen(upload, stdin=subprocess.PIPE) as up:
        assert up.stdin is not None
        for _ in range(GIB // len(BLOCK)):
            up.stdin.write(BLOCK)
    assert up.returncode == 0
    assert answer.read_text() == wanted
