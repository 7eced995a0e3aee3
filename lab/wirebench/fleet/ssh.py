"""Workers that are started over ssh, with asyncssh, as Dask's ``SSHCluster`` does."""

from __future__ import annotations

import asyncio
import io
import shlex
import tarfile
from pathlib import Path
from typing import Any

from distributed.deploy.spec import ProcessInterface

from wirebench.fleet.hosts import Host, split_address

REMOTE_FOLDER = ".config/wirebench/fleet"
"""Below the home folder of the ssh user: the host's certificate and key."""


CONNECT_S = 30.0
"""How long a host may take until a command can be run there. Our own choice: the kernel alone
would try for two minutes.
"""


class SshWorker(ProcessInterface):
    """One host's worker. It ends when the connection does."""

    def __init__(
        self,
        scheduler: str,
        *,
        host: Host,
        certificates: Path,
        connect_options: dict[str, Any] | None = None,
        failures: dict[str, str] | None = None,
        name: str | None = None,
        **_options: Any,
    ) -> None:
        """``failures``: gets, by host, why there is no worker, so that others are not kept from
        theirs. None: ``start()`` raises ``OSError``, and nobody hears of a worker that ends.
        """
        super().__init__(scheduler=scheduler, name=name or host.name)
        self._scheduler, self._host, self._certificates = scheduler, host, certificates
        self._connect_options = connect_options or {}
        self._failures = failures
        self._connection: Any = None
        self._process: Any = None
        self._ending: asyncio.Task[None] | None = None

    async def start(self) -> None:
        try:
            await self._start()
        except OSError as error:
            if self._failures is None:
                raise
            self._failures[self._host.name] = str(error)
        await super().start()

    async def _start(self) -> None:
        import asyncssh

        assert self._host.ssh is not None
        user, name, port = split_address(self._host.ssh)
        # Host keys are checked against the user's known_hosts, as ssh does.
        options = {"username": user, "port": port, **self._connect_options}
        try:
            self._connection = await asyncio.wait_for(
                asyncssh.connect(
                    name, **{key: value for key, value in options.items() if value is not None}
                ),
                CONNECT_S,
            )
        except (OSError, asyncssh.Error) as error:
            words = [f"-p {port}"] * (port is not None) + [f"{user}@{name}" if user else name]
            hint = f"; 'ssh {' '.join(words)}' must work from here without a question"
            raise OSError(
                f"host {self._host.name}: expected ssh to reach {self._host.ssh}, got"
                f" {str(error) or f'no answer in {CONNECT_S:g} s'}"
                + (hint if isinstance(error, asyncssh.Error) else "")
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
            f"exec {self._host.command} {shlex.join(words)}", errors="replace"
        )
        if self._failures is not None:
            self._ending = asyncio.ensure_future(self._note_end(self._failures))

    async def _note_end(self, failures: dict[str, str]) -> None:
        """Of a worker that was to go on: what it says last is why."""
        ended = await self._process.wait()
        said = f"{ended.stdout}{ended.stderr}".split("\n")
        last = next((line.strip() for line in reversed(said) if line.strip()), "it said nothing")
        code = ended.exit_status
        how = f"exit code {code}" if code is not None else "no exit code"
        failures[self._host.name] = (
            f"host {self._host.name}: expected '{self._host.command}' to start its worker, got"
            f" {how}: {last}"
        )

    async def close(self, **options: Any) -> None:
        if self._ending is not None:
            self._ending.cancel()
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
