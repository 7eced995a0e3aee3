"""Workers that are started over ssh, with asyncssh, as Dask's ``SSHCluster`` does."""

from __future__ import annotations

import io
import shlex
import tarfile
from pathlib import Path
from typing import Any

from distributed.deploy.spec import ProcessInterface

from wirebench.fleet.hosts import Host

REMOTE_FOLDER = ".config/wirebench/fleet"
"""Below the home folder of the ssh user: the host's certificate and key."""


def split_address(text: str) -> tuple[str | None, str, int | None]:
    """``[user@]name[:port]`` as user, name and port."""
    user, _, where = text.rpartition("@")
    name, colon, port = where.rpartition(":")
    if colon and port.isdigit() and ":" not in name:
        return user or None, name, int(port)
    return user or None, where, None


class SshWorker(ProcessInterface):
    """One host's worker. It ends when the connection does."""

    def __init__(
        self,
        scheduler: str,
        *,
        host: Host,
        certificates: Path,
        connect_options: dict[str, Any] | None = None,
        name: str | None = None,
        **_options: Any,
    ) -> None:
        super().__init__(scheduler=scheduler, name=name or host.name)
        self._scheduler, self._host, self._certificates = scheduler, host, certificates
        self._connect_options = connect_options or {}
        self._connection: Any = None
        self._process: Any = None

    async def start(self) -> None:
        import asyncssh

        assert self._host.ssh is not None
        user, name, port = split_address(self._host.ssh)
        # Host keys are checked against the user's known_hosts, as ssh does.
        options = {"username": user, "port": port, **self._connect_options}
        try:
            self._connection = await asyncssh.connect(
                name, **{key: value for key, value in options.items() if value is not None}
            )
        except (OSError, asyncssh.Error) as error:
            raise OSError(
                f"host {self._host.name}: expected ssh to reach {self._host.ssh}, got {error}"
            ) from None
        folder = f"{REMOTE_FOLDER}/{self._host.name}"
        placed = await self._connection.run(
            f"umask 077 && mkdir -p {shlex.quote(folder)} && tar -x -C {shlex.quote(folder)}",
            input=_archive(self._certificates),
            encoding=None,
        )
        if placed.exit_status != 0:
            why = (placed.stderr or b"").decode(errors="replace").strip()
            raise OSError(f"host {self._host.name}: cannot place its certificate: {why}")
        words = ["fleet", "worker", "--attached", "--host", self._host.name]
        words += ["--certificates", folder, self._scheduler]
        self._process = await self._connection.create_process(
            f"exec {self._host.command} {shlex.join(words)}"
        )
        await super().start()

    async def close(self, **options: Any) -> None:
        if self._process is not None:
            self._process.stdin.write_eof()
        if self._connection is not None:
            self._connection.close()
            await self._connection.wait_closed()
        await super().close(**options)


def _archive(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name)
    return buffer.getvalue()
