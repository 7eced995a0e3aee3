"""Chromium against wire's server: fetch, WebSocket and EventSource from a page, without TLS and
with it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Iterator

import pytest
from harness import HERE, HOST, Authority, need, run, sum_of_pattern

sys.path.insert(0, str(HERE.parents[2] / "lab" / "tests"))

import browser

SIZE = 300_000
# A page of the server's own origin: /hello. Each step returns what is compared below.
FETCH = """(async () => {
  const said = [];
  for (let i = 0; i < 5; i += 1) said.push(await (await fetch('/hello')).text());
  const packed = await fetch('/chunks/SIZE');
  const body = await packed.arrayBuffer();
  const sum = await (await fetch('/sum', { method: 'POST', body })).text();
  const missing = await fetch('/nowhere');
  const head = await fetch('/hello', { method: 'HEAD' });
  return [said, packed.headers.get('content-encoding'), body.byteLength, sum, missing.status,
          head.status, (await head.text()).length];
})()"""
WEBSOCKET = """new Promise((resolve, reject) => {
  const socket = new WebSocket(location.origin.replace(/^http/, 'ws') + '/ws');
  // Not one letter over and over: wire takes what expands two hundred times for an attack.
  const sent = ['hello', [...Array(20000).keys()].join(' '), 'κόσμε'];
  const got = [];
  socket.onopen = () => sent.forEach((message) => socket.send(message));
  socket.onmessage = (event) => {
    got.push(event.data === sent[got.length]);
    if (got.length === sent.length) socket.close(3000, 'done');
  };
  socket.onerror = () => reject(new Error('WebSocket'));
  socket.onclose = (event) =>
    resolve([got, event.code, event.wasClean, socket.extensions.split(';')[0]]);
})"""
# Opens a WebSocket with these subprotocols: what was agreed on and said, or how it failed.
SUBPROTOCOL = """new Promise((resolve) => {
  const url = location.origin.replace(/^http/, 'ws') + 'PATH';
  const socket = new WebSocket(url, OFFERED);
  socket.onmessage = (event) => resolve([socket.protocol, event.data]);
  socket.onclose = (event) => resolve([event.code]);
})"""
# Comes back with Last-Event-ID until it is told to stay away.
EVENTS = """new Promise((resolve) => {
  const source = new EventSource('/events');
  const got = [];
  let opened = 0;
  source.onopen = () => { opened += 1; };
  source.onmessage = (event) => got.push([event.data, event.lastEventId]);
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) resolve([got, opened]);
  };
})"""


def fingerprint(authority: Authority) -> str:
    """The SHA-256 of the certificate's public key, as Chromium wants it."""
    openssl = need("openssl")
    pem = run([openssl, "x509", "-in", str(authority.certificate), "-pubkey", "-noout"])
    key = run([openssl, "pkey", "-pubin", "-outform", "der"], data=pem)
    return base64.b64encode(hashlib.sha256(key).digest()).decode()


@pytest.fixture(scope="module", params=["http", "https"])
def page(
    request: pytest.FixtureRequest,
    server: int,
    tls_server: int,
    authority: Authority,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[browser.Page]:
    """A page of the server's own origin."""
    if browser.find_chromium() is None:
        pytest.skip("chromium is not installed (Debian: chromium)")
    port = tls_server if request.param == "https" else server
    trusted = f"--ignore-certificate-errors-spki-list={fingerprint(authority)}"
    profile = tmp_path_factory.mktemp("chromium") / "profile"
    with browser.chromium(profile, network=True, flags=(trusted,)) as opened:
        opened.call("Page.navigate", url=f"{request.param}://{HOST}:{port}/hello")
        opened.wait_for("document.readyState === 'complete' && location.protocol !== 'about:'")
        yield opened


def test_fetch(page: browser.Page) -> None:
    said, coding, size, summed, missing, head, of_head = page.value(
        FETCH.replace("SIZE", str(SIZE))
    )
    assert said == ["hello\n"] * 5
    assert coding in ("gzip", "br", "zstd")
    assert (size, summed) == (SIZE, sum_of_pattern(SIZE))
    assert (missing, head, of_head) == (404, 200, 0)


def test_websocket(page: browser.Page) -> None:
    echoed, code, clean, extension = page.value(WEBSOCKET)
    assert echoed == [True] * 3
    assert (code, clean, extension) == (3000, True, "permessage-deflate")


@pytest.mark.parametrize(
    ("path", "offered", "found"),
    [
        ("/graphql", ["graphql-transport-ws"], ["graphql-transport-ws"] * 2),
        ("/graphql", ["other", "graphql-ws"], ["graphql-ws"] * 2),
        ("/graphql", [], ["", "no subprotocol"]),
        # A browser that offered some and is given none fails, whatever the server thinks of it.
        ("/graphql", ["other"], [1006]),
        ("/graphql/only", ["graphql-transport-ws"], ["graphql-transport-ws"] * 2),
        ("/graphql/only", ["other"], [1006]),
        ("/graphql/only", [], [1006]),
    ],
)
def test_subprotocols(page: browser.Page, path: str, offered: list[str], found: object) -> None:
    script = SUBPROTOCOL.replace("PATH", path).replace("OFFERED", json.dumps(offered))
    assert page.value(script) == found


def test_event_source(page: browser.Page) -> None:
    got, opened = page.value(EVENTS)
    assert got == [[f"event\n{number}", str(number)] for number in range(1, 10)]
    assert opened == 3
