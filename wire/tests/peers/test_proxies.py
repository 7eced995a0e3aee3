"""nginx and HAProxy in front of wire's server."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import (
    HOST,
    free_port,
    need,
    pattern,
    run,
    running,
    sum_of_pattern,
    summed,
    websocket_echo,
)

NGINX = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  map $http_upgrade $connection_out {{ default upgrade; '' ''; }}
  upstream wire {{ server 127.0.0.1:{wire}; keepalive 8; }}
  server {{
    listen 127.0.0.1:{port};
    client_max_body_size 0;
    location / {{
      proxy_pass http://wire;
      proxy_http_version 1.1;
      proxy_set_header Connection $connection_out;
      proxy_set_header Upgrade $http_upgrade;
      proxy_request_buffering off;
      proxy_buffering off;
    }}
  }}
}}
"""
HAPROXY = """
global
  maxconn 64
defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
  timeout tunnel 20s
  http-reuse always
frontend in
  bind 127.0.0.1:{port}
  default_backend wire
backend wire
  server wire 127.0.0.1:{wire}
"""


@pytest.fixture(params=["nginx", "haproxy"])
def proxy(request: pytest.FixtureRequest, server: int, tmp_path: Path) -> Iterator[int]:
    """The proxy's port."""
    program = need(request.param, "nginx-light" if request.param == "nginx" else None)
    port = free_port()
    text = NGINX if request.param == "nginx" else HAPROXY
    configuration = tmp_path / "proxy.conf"
    configuration.write_text(text.format(folder=tmp_path, port=port, wire=server))
    if request.param == "nginx":
        command = [program, "-p", str(tmp_path), "-e", "stderr", "-c", str(configuration)]
    else:
        command = [program, "-db", "-f", str(configuration)]
    with running(command, port, folder=tmp_path):
        yield port


def test_connections_to_wire_are_kept(proxy: int) -> None:
    """Each client's connection is its own; the proxy's to wire are few."""
    seen = set()
    for _ in range(10):
        connection = http.client.HTTPConnection(HOST, proxy, timeout=10)
        connection.request("GET", "/peer")
        seen.add(connection.getresponse().read())
        connection.close()
    # One that has not come back to the proxy's pool yet makes another.
    assert len(seen) <= 3


@pytest.mark.parametrize("path", ["bytes", "chunks"])
def test_downloads(proxy: int, path: str) -> None:
    connection = http.client.HTTPConnection(HOST, proxy, timeout=10)
    for _ in range(3):
        connection.request("GET", f"/{path}/1000000")
        assert summed(connection.getresponse().read()) == sum_of_pattern(1_000_000)
    connection.close()


def test_chunked_both_ways(proxy: int) -> None:
    body = pattern(500_000)
    connection = http.client.HTTPConnection(HOST, proxy, timeout=10)
    pieces = (body[at : at + 10_000] for at in range(0, len(body), 10_000))
    connection.request("POST", "/echo", body=pieces, encode_chunked=True)
    assert connection.getresponse().read() == body
    connection.request("POST", "/sum", body=body)
    assert connection.getresponse().read().decode() == summed(body)
    connection.close()


def test_head_and_errors(proxy: int) -> None:
    connection = http.client.HTTPConnection(HOST, proxy, timeout=10)
    for method, path, status in (
        ("HEAD", "/bytes/1000", 200),
        ("GET", "/nowhere", 404),
        ("DELETE", "/hello", 405),
        ("GET", "/hello", 200),
    ):
        connection.request(method, path)
        response = connection.getresponse()
        response.read()
        assert response.status == status
    connection.close()


def test_expect_100_continue(proxy: int) -> None:
    body = pattern(2_000_000)
    continued = ("-H", "Expect: 100-continue", "--expect100-timeout", "20", "-T", "-")
    command = [need("curl"), "-sS", "--fail", "--max-time", "30", *continued]
    assert run([*command, f"http://{HOST}:{proxy}/sum"], data=body).decode() == summed(body)


def test_websocket(proxy: int) -> None:
    messages = [b"hello", b"x" * 1_000, b"y" * 100_000]
    assert websocket_echo(proxy, messages) == messages
