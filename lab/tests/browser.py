"""A headless Chromium with its network off, driven over a pipe (the DevTools protocol; no port, no
further package).
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DEADLINE_S = 240.0
"""Generous: it only ends a test that would never end."""

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)


NO_NAMES = "MAP * ~NOTFOUND"


def find_chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


@dataclass(kw_only=True)
class Page:
    """One tab, with what it said."""

    _read: int
    _write: int
    _session: str = ""
    _number: int = 0
    _rest: bytes = b""
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        wanted = self._number
        while True:
            answer = self._next()
            if answer.get("id") == wanted:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + DEADLINE_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            more = os.read(self._read, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self._rest += more
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        self._notice(message.get("method", ""), message.get("params", {}))
        return message

    def _notice(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.problems.append(
                " ".join(str(one.get("value", one.get("description"))) for one in params["args"])
            )
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def attach(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def window(
        self, width: int, height: int, *, phone: bool, dark: bool = False, paper: bool = False
    ) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        scheme = "dark" if dark else "light"
        self.call(
            "Emulation.setEmulatedMedia",
            media="print" if paper else "",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def open(self, path: Path) -> None:
        self.problems.clear()
        self.requests.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")

    def open_url(self, url: str) -> None:
        """A page that a server of this host gives; its address is the wanted one when it is
        there.
        """
        self.problems.clear()
        self.requests.clear()
        self.call("Page.navigate", url=url)
        self.wait_for(f"document.readyState === 'complete' && location.href === {json.dumps(url)}")

    def value(self, expression: str) -> Any:
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """A key such as ``ArrowRight``, for what has the focus."""
        codes = {"ArrowRight": 39, "ArrowLeft": 37}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=codes[key],
            )

    def wait_for(self, expression: str) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not self.value(expression):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true: {expression}; the page said: {self.problems}")
            time.sleep(0.05)

    def screenshot(
        self, path: Path, *, clip: tuple[float, float, float, float] | None = None
    ) -> None:
        params: dict[str, Any] = {"captureBeyondViewport": True}
        if clip is not None:
            params["clip"] = dict(zip(("x", "y", "width", "height"), clip, strict=True)) | {
                "scale": 1
            }
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **params)["data"]))


@contextmanager
def chromium(profile: Path, *, network: bool = False, flags: Sequence[str] = ()) -> Iterator[Page]:
    """Without any network interface where a namespace may be had; without name lookup everywhere.
    ``network``: it reaches 127.0.0.1. ``flags``: further ones of its command line.
    """
    program = find_chromium()
    assert program is not None
    rules = f"--host-resolver-rules={NO_NAMES}{', EXCLUDE 127.0.0.1' if network else ''}"
    command = [program, *FLAGS, rules, *flags, f"--user-data-dir={profile}", "about:blank"]
    alone = ["unshare", "-n" if os.geteuid() == 0 else "-rn"]
    if (
        not network
        and subprocess.run([*alone, "true"], capture_output=True, check=False).returncode == 0
    ):
        command = [*alone, *command]
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    # The browser speaks the protocol on its descriptors 3 and 4. The copies are out of the way of
    # both.
    ours, theirs = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to_read, from_write))

    def place() -> None:
        os.dup2(ours, 3)
        os.dup2(theirs, 4)

    environment = {
        **os.environ,
        "HOME": str(profile),
        "XDG_CONFIG_HOME": str(profile),
        "XDG_CACHE_HOME": str(profile),
    }
    process = subprocess.Popen(
        command,
        pass_fds=(3, 4),
        preexec_fn=place,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    for end in (to_read, from_write, ours, theirs):
        os.close(end)
    try:
        page = Page(_read=from_read, _write=to_write)
        page.attach()
        yield page
    finally:
        os.close(to_write)
        os.close(from_read)
        # Its end of the pipe is closed, so the browser ends; its helpers are in its group and may
        # outlive it.
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
