"""nginx and HAProxy in front of wire's server: as HTTP proxies, over TCP and Unix sockets, and as
balancers of connections with the PROXY protocol.
"""

from __future__ import annotations

import http.client
import os
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import (
    HOST,
    Authority,
    Wire,
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
{user}
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
  upstream wire {{ server {wire}; keepalive 8; }}
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
# Both hand connections on as they are, and say whose they are by the PROXY protocol. nginx knows
# version 1 only.
NGINX_STREAM = """
load_module {modules}/ngx_stream_module.so;
daemon off;
{{user}}
worker_processes 1;
pid {{folder}}/nginx.pid;
error_log stderr;
events {{{{ worker_connections 64; }}}}
stream {{{{
  server {{{{
    listen 127.0.0.1:{{port}};
    proxy_pass {{wire}};
    proxy_protocol on;
  }}}}
}}}}
"""
HAPROXY_TCP = """
global
  maxconn 64
defaults
  mode tcp
  timeout connect 5s
  timeout client 20s
  timeout server 20s
frontend in
  bind 127.0.0.1:{{port}}
  default_backend wire
backend wire
  server wire {{wire}} {option}
"""
HAPROXY = """
global
  maxconn 64
  nbthread 1  # each keeps connections of its own
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
  server wire {wire}
"""


@contextmanager
def in_front(name: str, template: str, wire: str, folder: Path) -> Iterator[int]:
    """The port of a proxy in front of wire's address."""
    program = need(name, "nginx-light" if name == "nginx" else None)
    port = free_port()
    configuration = folder / "proxy.conf"
    # Its workers are to reach the Unix socket in our folder.
    user = "user root;" if os.geteuid() == 0 else ""
    configuration.write_text(template.format(folder=folder, port=port, wire=wire, user=user))
    if name == "nginx":
        command = [program, "-p", str(folder), "-e", "stderr", "-c", str(configuration)]
    else:
        command = [program, "-db", "-f", str(configuration)]
    with running(command, port, folder=folder):
        yield port


@pytest.fixture(
    params=["nginx", "haproxy", "nginx over a Unix socket", "haproxy over a Unix socket"]
)
def proxy(
    request: pytest.FixtureRequest, server: int, unix_server: Path, tmp_path: Path
) -> Iterator[int]:
    """The proxy's port."""
    name, _, unix = request.param.partition(" ")
    prefix = "unix:" if name == "nginx" else "unix@"
    address = f"{prefix}{unix_server}" if unix else f"{HOST}:{server}"
    with in_front(name, NGINX if name == "nginx" else HAPROXY, address, tmp_path) as port:
        yield port


def test_connections_to_wire_are_kept(proxy: int) -> None:
    """Each client's connection is its own; the proxy's to wire are few. (Those over a Unix socket
    cannot be told apart.)
    """
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
    # The client reads nothing before it has sent all: more than this waits forever where the
    # buffers between the four are those of a Unix socket.
    body = pattern(100_000)
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


# ---- PROXY protocol ----


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("front", ["nginx", "haproxy send-proxy", "haproxy send-proxy-v2"])
def test_proxy_protocol(
    front: str, tls: bool, wire: Wire, authority: Authority, tmp_path: Path
) -> None:
    name, _, option = front.partition(" ")
    if name == "nginx":
        modules = Path("/usr/lib/nginx/modules")
        if not (modules / "ngx_stream_module.so").exists():
            pytest.skip("nginx has no stream module (Debian: libnginx-mod-stream)")
        template = NGINX_STREAM.format(modules=modules)
    else:
        template = HAPROXY_TCP.format(option=option)
    with (
        wire.server(tmp_path, authority if tls else None, "--proxied") as server,
        in_front(name, template, f"{HOST}:{server}", tmp_path) as port,
    ):
        context = ssl.create_default_context(cafile=str(authority.ca))
        for client in ("127.0.0.2", "127.0.0.3"):
            source = (client, 0)
            connection = (
                http.client.HTTPSConnection(
                    HOST, port, timeout=10, source_address=source, context=context
                )
                if tls
                else http.client.HTTPConnection(HOST, port, timeout=10, source_address=source)
            )
            for _ in range(2):  # of one connection
                connection.request("GET", "/client")
                assert connection.sock is not None
                ours = connection.sock.getsockname()[1]
                said = connection.getresponse().read().decode()
                assert said == f"{client}:{ours} by {HOST}"
            connection.close()


def test_without_its_header_a_connection_is_closed(wire: Wire, tmp_path: Path) -> None:
    with wire.server(tmp_path, None, "--proxied") as port:
        done = subprocess.run(
            [need("curl"), "-sS", "--max-time", "10", f"http://{HOST}:{port}/hello"],
            capture_output=True,
            check=False,
        )
    assert done.returncode in (52, 56), done.stderr  # no reply; reset
    assert done.stdout == b""
