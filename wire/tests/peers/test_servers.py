"""wire's client against nginx, Apache, Go, Node and gunicorn, and through squid."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import (
    BLOCK,
    GIB,
    HOST,
    PROGRAMS,
    Authority,
    Wire,
    free_port,
    need,
    pattern,
    running,
    sum_of_pattern,
    summed,
)

SIZE = 1_000_000
PROGRAMMED = ("go", "node", "gunicorn")
"""Those that answer as we say: bodies both ways, chunked and not."""
FILES = ("nginx", "apache2")
"""Those that serve a folder."""

NGINX = """
daemon off;
{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 64; }}
http {{
  access_log off;
  sendfile on;
  gzip on;
  gzip_types *;
  client_body_temp_path {folder}/t1;
  proxy_temp_path {folder}/t2;
  fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4;
  scgi_temp_path {folder}/t5;
  server {{
    listen 127.0.0.1:{port};
    listen 127.0.0.1:{tls_port} ssl;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3;
    client_max_body_size 0;
    root {folder}/files;
    location = /redirect {{ return 302 /hello; }}
    location = /post {{ return 200 posted; }}
  }}
}}
"""
APACHE = """
ServerRoot {folder}
ServerName localhost
PidFile {folder}/apache.pid
ErrorLog /dev/stderr
Listen 127.0.0.1:{port}
Listen 127.0.0.1:{tls_port}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule authz_user_module {modules}/mod_authz_user.so
LoadModule authn_core_module {modules}/mod_authn_core.so
LoadModule authn_file_module {modules}/mod_authn_file.so
LoadModule auth_digest_module {modules}/mod_auth_digest.so
LoadModule filter_module {modules}/mod_filter.so
LoadModule deflate_module {modules}/mod_deflate.so
LoadModule alias_module {modules}/mod_alias.so
LoadModule ssl_module {modules}/mod_ssl.so
LoadModule socache_shmcb_module {modules}/mod_socache_shmcb.so
{user}
DocumentRoot {folder}/files
EnableSendfile on
SetOutputFilter DEFLATE
Redirect 302 /redirect /hello
<Location /private>
  AuthType Digest
  AuthName "for few"
  AuthUserFile {folder}/users
  Require valid-user
</Location>
<VirtualHost 127.0.0.1:{tls_port}>
  SSLEngine on
  SSLProtocol -all +TLSv1.2 +TLSv1.3
  SSLCertificateFile {certificate}
  SSLCertificateKeyFile {key}
</VirtualHost>
"""
SQUID = """
http_port 127.0.0.1:{port}
acl SSL_ports port 1-65535
acl CONNECT method CONNECT
http_access allow localhost
http_access deny all
cache deny all
cache_mem 8 MB
access_log none
cache_log /dev/null
cache_store_log none
netdb_filename none
pinger_enable off
pid_filename none
shutdown_lifetime 0 seconds
max_filedescriptors 1024
visible_hostname test
"""


@contextmanager
def programmed(kind: str, folder: Path, tls: Authority | None = None) -> Iterator[int]:
    port = free_port()
    files = [str(tls.certificate), str(tls.key)] if tls else []
    match kind:
        case "go":
            program = PROGRAMS / "server.go"
            command = [need("go", "golang-go"), "run", str(program), str(port), *files]
        case "node":
            command = [need("node", "nodejs"), str(PROGRAMS / "server.mjs"), str(port), *files]
        case _:
            options = ["-b", f"{HOST}:{port}", "--threads", "4", "--chdir", str(PROGRAMS)]
            options += ["--worker-tmp-dir", str(folder), "--keep-alive", "5"]
            secured = [f"--certfile={tls.certificate}", f"--keyfile={tls.key}"] if tls else []
            command = [need("gunicorn"), *options, *secured, "application:application"]
    with running(command, port, folder=folder, env={"PYTHONDONTWRITEBYTECODE": "1"}):
        yield port


@contextmanager
def serving_files(kind: str, folder: Path, tls: Authority) -> Iterator[tuple[int, int]]:
    """The ports without and with TLS."""
    program = need(kind, "nginx-light" if kind == "nginx" else None)
    files = folder / "files"
    files.mkdir()
    (files / "hello").write_text("hello\n")
    (files / "private").write_text("private\n")
    (folder / "users").write_text(f"me:for few:{hashlib.md5(b'me:for few:secret').hexdigest()}\n")
    (files / "bytes").write_bytes(pattern(SIZE))
    with (files / "large").open("wb") as large:
        large.truncate(GIB)
    port, tls_port = free_port(), free_port()
    root = os.geteuid() == 0
    user = "user root;" if kind == "nginx" else "User www-data\nGroup www-data"
    if kind == "apache2" and root:
        for each in (folder, *folder.parents[:2]):  # pytest's own folders are for their owner only
            each.chmod(0o755)
    text = (NGINX if kind == "nginx" else APACHE).format(
        folder=folder,
        port=port,
        tls_port=tls_port,
        user=user if root else "",
        certificate=tls.certificate,
        key=tls.key,
        modules="/usr/lib/apache2/modules",
    )
    configuration = folder / "server.conf"
    configuration.write_text(text)
    if kind == "nginx":
        command = [program, "-p", str(folder), "-e", "stderr", "-c", str(configuration)]
    else:
        command = [program, "-D", "FOREGROUND", "-f", str(configuration)]
    with running(command, port, folder=folder):
        yield port, tls_port


@pytest.fixture(scope="module", params=PROGRAMMED)
def base(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server that answers as we say."""
    with programmed(request.param, tmp_path_factory.mktemp(request.param)) as port:
        yield f"http://{HOST}:{port}"


def test_get(wire: Wire, base: str) -> None:
    for path in ("bytes", "chunks"):
        reply = wire.ask(f"{base}/{path}/{SIZE}", "--repeat", "3")
        assert (reply["status"], reply["sum"]) == (200, sum_of_pattern(SIZE))


def test_connections_are_kept(wire: Wire, base: str) -> None:
    reply = wire.ask(f"{base}/hello", "--repeat", "20")
    assert (reply["sum"], reply["connections"]) == (summed(b"hello\n"), 1)


def test_post(wire: Wire, base: str) -> None:
    wanted = summed(sum_of_pattern(SIZE).encode())
    for form in ((), ("--chunked",), ("--expect",)):
        options = ("--method", "POST", "--body", str(SIZE), "--repeat", "2")
        assert wire.ask(f"{base}/sum", *options, *form)["sum"] == wanted


def test_compressed(wire: Wire, base: str) -> None:
    reply = wire.ask(f"{base}/packed/{SIZE}", "--decompress")
    assert (reply["sum"], reply["decoded"]) == (sum_of_pattern(SIZE), True)


def test_redirects(wire: Wire, base: str) -> None:
    reply = wire.ask(f"{base}/redirect")
    assert (reply["status"], reply["sum"]) == (200, summed(b"hello\n"))
    assert reply["redirects"] == 1


def test_head(wire: Wire, base: str) -> None:
    reply = wire.ask(f"{base}/bytes/{SIZE}", "--method", "HEAD", "--repeat", "3")
    assert (reply["status"], reply["sum"], reply["connections"]) == (200, "0 0", 1)


@pytest.mark.parametrize("kind", PROGRAMMED)
def test_tls(wire: Wire, authority: Authority, tmp_path: Path, kind: str) -> None:
    with programmed(kind, tmp_path, authority) as port:
        for version in ("1.2", "1.3"):
            trusted = ("--ca", str(authority.ca), "--tls", version)
            url = f"https://localhost:{port}"
            reply = wire.ask(f"{url}/chunks/{SIZE}", *trusted, "--repeat", "2")
            assert reply["sum"] == sum_of_pattern(SIZE)
            posted = wire.ask(f"{url}/sum", *trusted, "--method", "POST", "--body", str(SIZE))
            assert posted["sum"] == summed(sum_of_pattern(SIZE).encode())


@pytest.mark.parametrize("kind", FILES)
def test_files(wire: Wire, authority: Authority, tmp_path: Path, kind: str) -> None:
    with serving_files(kind, tmp_path, authority) as (port, tls_port):
        plain = (f"http://{HOST}:{port}",)
        secure = tuple(
            (f"https://localhost:{tls_port}", "--ca", str(authority.ca), "--tls", version)
            for version in ("1.2", "1.3")
        )
        for url, *options in (plain, *secure):
            whole = wire.ask(f"{url}/bytes", *options, "--repeat", "5")
            assert (whole["sum"], whole["connections"]) == (sum_of_pattern(SIZE), 1)
            packed = wire.ask(f"{url}/bytes", *options, "--decompress")
            assert (packed["sum"], packed["decoded"]) == (sum_of_pattern(SIZE), True)
            assert wire.ask(f"{url}/redirect", *options)["redirects"] == 1
            assert wire.ask(f"{url}/bytes", *options, "--method", "HEAD")["sum"] == "0 0"
            assert wire.ask(f"{url}/nowhere", *options)["status"] == 404
        if kind == "nginx":
            posting = ("--method", "POST", "--body", str(SIZE), "--chunked")
            assert wire.ask(f"{plain[0]}/post", *posting)["sum"] == summed(b"posted")
        zeros = sum_of_zeros(GIB)
        assert wire.ask(f"{plain[0]}/large", timeout_s=90)["sum"] == zeros


def sum_of_zeros(size: int) -> str:
    checksum, zeros = 0, bytes(len(BLOCK))
    for _ in range(size // len(zeros)):
        checksum = zlib.crc32(zeros, checksum)
    return f"{size} {checksum}"


@contextmanager
def squid(folder: Path) -> Iterator[int]:
    program = need("squid")
    port = free_port()
    configuration = folder / "squid.conf"
    configuration.write_text(SQUID.format(port=port))
    with running([program, "-N", "-f", str(configuration)], port, folder=folder):
        yield port


def test_a_forward_proxy(wire: Wire, authority: Authority, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("plain", "secure", "proxy")]
    for folder in folders:
        folder.mkdir()
    with (
        programmed("go", folders[0]) as origin,
        programmed("go", folders[1], authority) as secure,
        squid(folders[2]) as proxy,
    ):
        through = ("--proxy", f"http://{HOST}:{proxy}", "--ca", str(authority.ca))
        for url in (f"http://{HOST}:{origin}", f"https://localhost:{secure}"):
            reply = wire.ask(f"{url}/chunks/{SIZE}", *through, "--repeat", "3")
            assert (reply["sum"], reply["connections"]) == (sum_of_pattern(SIZE), 1)
            for form in ((), ("--chunked",)):
                posting = ("--method", "POST", "--body", str(SIZE))
                reply = wire.ask(f"{url}/sum", *through, *posting, *form)
                assert reply["sum"] == summed(sum_of_pattern(SIZE).encode())
            assert wire.ask(f"{url}/redirect", *through)["redirects"] == 1
            assert wire.ask(f"{url}/bytes/9", *through, "--method", "HEAD")["sum"] == "0 0"


def test_digest_authentication(wire: Wire, authority: Authority, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("server", "proxy")]
    for folder in folders:
        folder.mkdir()
    with serving_files("apache2", folders[0], authority) as (port, _), squid(folders[1]) as proxy:
        url = f"http://{HOST}:{port}"
        for through in ((), ("--proxy", f"http://{HOST}:{proxy}")):
            known = ("--digest", url, "me", "secret")
            reply = wire.ask(f"{url}/private?a=%22", *through, *known, "--repeat", "3")
            assert (reply["status"], reply["sum"]) == (200, summed(b"private\n"))
            assert reply["connections"] == 1
            wrong = ("--digest", url, "me", "wrong")
            assert wire.ask(f"{url}/private", *through, *wrong)["status"] == 401
            assert wire.ask(f"{url}/private", *through)["status"] == 401


def test_a_gibibyte_each_way(wire: Wire, authority: Authority, tmp_path: Path) -> None:
    wanted = sum_of_pattern(GIB)
    with programmed("go", tmp_path, authority) as port:
        url, trusted = f"https://localhost:{port}", ("--ca", str(authority.ca))
        assert wire.ask(f"{url}/chunks/{GIB}", *trusted, timeout_s=90)["sum"] == wanted
        posting = ("--method", "POST", "--body", str(GIB), "--chunked")
        reply = wire.ask(f"{url}/sum", *trusted, *posting, timeout_s=90)
        assert reply["sum"] == summed(wanted.encode())
