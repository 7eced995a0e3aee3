"""Chromium against wire's server: fetch and WebSocket from a page, without TLS and with it."""

from __future__ import annotations

import base64
import hashlib
import sys
from pathlib import Path

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


def fingerprint(authority: Authority) -> str:
    """The SHA-256 of the certificate's public key, as Chromium wants it."""
    openssl = need("openssl")
    pem = run([openssl, "x509", "-in", str(authority.certificate), "-pubkey", "-noout"])
    key = run([openssl, "pkey", "-pubin", "-outform", "der"], data=pem)
    return base64.b64encode(hashlib.sha256(key).digest()).decode()


@pytest.mark.parametrize("tls", [False, True])
def test_a_page(
    server: int, tls_server: int, authority: Authority, tls: bool, tmp_path: Path
) -> None:
    if browser.find_chromium() is None:
        pytest.skip("chromium is not installed (Debian: chromium)")
    base = f"https://{HOST}:{tls_server}" if tls else f"http://{HOST}:{server}"
    trusted = f"--ignore-certificate-errors-spki-list={fingerprint(authority)}"
    with browser.chromium(tmp_path / "profile", network=True, flags=(trusted,)) as page:
        page.call("Page.navigate", url=f"{base}/hello")
        page.wait_for("document.readyState === 'complete' && location.protocol !== 'about:'")
        said, coding, size, summed, missing, head, of_head = page.value(
            FETCH.replace("SIZE", str(SIZE))
        )
        assert said == ["hello\n"] * 5
        assert coding in ("gzip", "br", "zstd")
        assert (size, summed) == (SIZE, sum_of_pattern(SIZE))
        assert (missing, head, of_head) == (404, 200, 0)
        echoed, code, clean, extension = page.value(WEBSOCKET)
        assert echoed == [True] * 3
        assert (code, clean, extension) == (3000, True, "permessage-deflate")
