"""The emulated wide-area link: a ``wirelink`` process with a network namespace at each end.

The namespaces and devices belong to that process and the two it starts, and are gone with them.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from wirebench.catalog.link import Link
from wirebench.process import interrupt
from wirebench.process.network import Network
from wirebench.process.process import Process
from wirebench.process.start import describe_end, tail_of
from wirebench.process.supervise import Scope, Supervisor

START_TIMEOUT_S = 10.0
_PAUSE_S = 0.001


class LinkError(Exception):
    """There is no link on this host. The message says what would allow it."""


class _End(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    pid: int
    address: str


class _Opened(BaseModel):
    """The first line that wirelink prints."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    # ``schema`` is a method of the base.
    server: _End
    client: _End
    emulator: Literal["netem", "tun"]
    recorded: bool
    realtime: bool


@dataclass(frozen=True, kw_only=True)
class OpenLink:
    """A link that carries packets until its scope ends."""

    process: Process
    server: Network
    client: Network
    emulator: Literal["netem", "tun"]
    """Who delays the packets: the kernel, or wirelink between two TUN devices."""
    realtime: bool
    """Whether wirelink has real-time scheduling, and does not wait behind other programs."""
    record: Path | None = None
    """The headers of its first packets, once it has ended; netem keeps none."""

    @property
    def holders(self) -> tuple[int, int]:
        """A process in the server's namespace, and one in the client's."""
        assert self.server.holder is not None  # as open_link() made it
        assert self.client.holder is not None
        return self.server.holder, self.client.holder


def link_command(wirelink: Path, link: Link, *, seed: int, record: Path | None = None) -> list[str]:
    return [
        str(wirelink),
        f"--rtt-ms={link.rtt_ms:g}",
        f"--jitter-ms={link.jitter_ms:g}",
        f"--loss-percent={link.loss_percent:g}",
        f"--rate-mbit={link.rate_mbit:g}",
        f"--seed={seed}",
        *([f"--record={record}"] if record is not None else []),
    ]


def open_link(
    scope: Scope,
    wirelink: Path,
    link: Link,
    *,
    seed: int = 1,
    cores: tuple[int, ...] = (),
    record: Path | None = None,
) -> OpenLink:
    """Start a link in the scope. ``LinkError`` if this host allows none.

    ``record``: where it writes the headers of its first packets as it ends; None for nowhere.
    """
    process = scope.start(
        link_command(wirelink, link, seed=seed, record=record),
        name="link",
        cwd=scope.folder,
        env={},
        cores=cores,
        merge_output=False,
    )
    opened = _wait_open(process)
    return OpenLink(
        process=process,
        server=_network(process, opened, "server"),
        client=_network(process, opened, "client"),
        emulator=opened.emulator,
        realtime=opened.realtime,
        record=record if opened.recorded else None,
    )


def _wait_open(process: Process) -> _Opened:
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        first, newline, _ = process.output.text().partition("\n")
        if newline:
            return _parse(first)
        if process.exit_code() is not None:
            process.stop()
            raise LinkError(tail_of(process).removeprefix("wirelink: "))
        if time.monotonic() > deadline:
            process.stop()
            raise LinkError(f"wirelink {describe_end(process)}, but opened no link")
        with interrupt.waiting():
            time.sleep(_PAUSE_S)


def _parse(line: str) -> _Opened:
    try:
        data = json.loads(line)
        if data.get("schema") != "wirelink/1":
            raise LinkError(f"wirelink: schema: expected 'wirelink/1', got {data.get('schema')!r}")
        return _Opened.model_validate(data)
    except (ValueError, AttributeError, ValidationError) as error:
        raise LinkError(f"wirelink: expected a line that names both ends, got {line!r}") from error


def _network(process: Process, opened: _Opened, which: Literal["server", "client"]) -> Network:
    end = opened.server if which == "server" else opened.client
    if end.pid not in process.pids():
        raise LinkError(f"wirelink: expected a process of its own at the {which}'s end")
    # wirelink makes a user namespace of its own where the user is not root.
    user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
    return Network(
        address=end.address,
        enter=("nsenter", *user, "--net", "--target", str(end.pid), "--"),
        holder=end.pid,
    )


def refusal(supervisor: Supervisor, wirelink: Path | None) -> str | None:
    """Why this host has no emulated link, with what would allow it; None if it has."""
    if wirelink is None:
        return "wirelink is neither beside this Python nor in PATH: './wirebench doctor' builds it"
    with supervisor.scope() as scope:
        try:
            open_link(scope, wirelink, Link(rtt_ms=1.0))
        except LinkError as error:
            return str(error)
    return None
