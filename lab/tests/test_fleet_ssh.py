"""A worker that is started over ssh, by an ssh server in this process."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from fleet_project import free_port
from wirebench.fleet import ssh as ssh_module
from wirebench.fleet.certificates import make_certificates
from wirebench.fleet.hosts import Host
from wirebench.fleet.ssh import REMOTE_FOLDER, SshWorker
from wirebench.fleet.worker import reason

NOTE = """\
import os, sys, time
out = open({note!r}, "a")
print(*sys.argv[1:], file=out, flush=True)
sys.stdin.read()
print("ended", file=out, flush=True)
"""


async def serve(
    home: Path, key: asyncssh.SSHKey, user_key: asyncssh.SSHKey
) -> asyncssh.SSHAcceptor:
    """An ssh server that runs what it is asked to, at home in this folder."""

    async def run(process: asyncssh.SSHServerProcess[bytes]) -> None:
        child = await asyncio.create_subprocess_shell(
            process.command or "true",
            cwd=home,
            env={**os.environ, "HOME": str(home)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        feeding = asyncio.ensure_future(feed(process, child))
        assert child.stderr is not None
        said = await child.stderr.read()
        status = await child.wait()
        feeding.cancel()
        child._transport.close()  # type: ignore[attr-defined]  # or its end warns after the loop's
        with suppress(asyncssh.ConnectionLost, OSError):
            process.stderr.write(said)
            process.exit(status)

    async def feed(
        process: asyncssh.SSHServerProcess[bytes], child: asyncio.subprocess.Process
    ) -> None:
        assert child.stdin is not None
        with suppress(asyncssh.ConnectionLost, BrokenPipeError, ConnectionResetError):
            while data := await process.stdin.read(65_536):
                child.stdin.write(data)
                await child.stdin.drain()
        child.stdin.close()

    allowed = asyncssh.import_authorized_keys(user_key.export_public_key().decode())
    return await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[key],
        authorized_client_keys=allowed,
        process_factory=run,
        encoding=None,
    )


@asynccontextmanager
async def known_server(home: Path) -> AsyncIterator[tuple[int, dict[str, Any]]]:
    """The port of such a server, and the options of a client that knows it and is let in."""
    key, user_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    server = await serve(home, key, user_key)
    port = server.get_port()
    known = asyncssh.import_known_hosts(f"[127.0.0.1]:{port} {key.export_public_key().decode()}")
    yield port, {"known_hosts": known, "client_keys": [user_key]}
    server.close()
    await server.wait_closed()
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others)


def test_a_worker_gets_its_certificate_and_ends_with_the_connection(tmp_path: Path) -> None:
    make_certificates(tmp_path / "certificates", ["alpha"])
    home, note = tmp_path / "home", tmp_path / "note"
    home.mkdir()
    script = home / "wirebench.py"
    script.write_text(NOTE.format(note=str(note)))

    async def run() -> None:
        async with known_server(home) as (port, known):
            worker = SshWorker(
                "tls://127.0.0.1:8786",
                host=Host(
                    name="alpha",
                    ssh=f"me@127.0.0.1:{port}",
                    command=f"{sys.executable} {script}",
                ),
                certificates=tmp_path / "certificates" / "alpha",
                connect_options=known,
            )
            await worker.start()
            await until(lambda: note.exists() and "tls://" in note.read_text())
            await worker.close()
            await until(lambda: "ended" in note.read_text())

    asyncio.run(run())
    folder = home / REMOTE_FOLDER / "alpha"
    assert {path.name for path in folder.iterdir()} == {"ca.pem", "certificate.pem", "key.pem"}
    assert {path.stat().st_mode & 0o077 for path in folder.iterdir()} == {0}
    first = note.read_text().splitlines()[0]
    assert first == (
        f"fleet worker --attached --host alpha --certificates {REMOTE_FOLDER}/alpha"
        " tls://127.0.0.1:8786"
    )


def test_an_unknown_host_key_is_refused(tmp_path: Path) -> None:
    make_certificates(tmp_path / "certificates", ["alpha"])

    async def run() -> None:
        key, user_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
        server = await serve(tmp_path, key, user_key)
        other = asyncssh.generate_private_key("ssh-ed25519")
        known = asyncssh.import_known_hosts(
            f"[127.0.0.1]:{server.get_port()} {other.export_public_key().decode()}"
        )
        worker = SshWorker(
            "tls://127.0.0.1:8786",
            host=Host(name="alpha", ssh=f"127.0.0.1:{server.get_port()}", command="true"),
            certificates=tmp_path / "certificates" / "alpha",
            connect_options={"known_hosts": known, "client_keys": [user_key]},
        )
        with pytest.raises(
            OSError, match=r"host alpha: expected ssh to reach 127\.0\.0\.1:\d+"
        ) as why:
            await worker.start()
        assert reason(why.value).startswith("host alpha: "), "it is what the user reads"
        assert "Host key" in str(why.value)
        port = server.get_port()
        hint = f"; 'ssh -p {port} 127.0.0.1' must work from here without a question"
        assert str(why.value).endswith(hint)
        server.close()
        await server.wait_closed()

    asyncio.run(run())
    assert not (tmp_path / REMOTE_FOLDER).exists()


def test_a_host_that_cannot_be_reached_keeps_no_other_from_its_worker(tmp_path: Path) -> None:
    failures: dict[str, str] = {}

    async def run() -> None:
        # Nobody listens at port 1, and the name is for that (RFC 6761).
        for name, ssh in (("alpha", "me@127.0.0.1:1"), ("beta", "beta.invalid")):
            worker = SshWorker(
                "tls://127.0.0.1:8786",
                host=Host(name=name, ssh=ssh, command="true"),
                certificates=tmp_path,
                failures=failures,
            )
            await worker
            await worker.close()

    asyncio.run(run())
    assert failures["alpha"].startswith("host alpha: expected ssh to reach me@127.0.0.1:1, got ")
    assert failures["beta"].startswith("host beta: expected ssh to reach beta.invalid, got ")


def test_a_host_that_does_not_answer_is_not_waited_for_by_the_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_module, "CONNECT_S", 0.2)
    failures: dict[str, str] = {}

    async def run(port: int) -> None:
        worker = SshWorker(
            "tls://127.0.0.1:8786",
            host=Host(name="alpha", ssh=f"127.0.0.1:{port}", command="true"),
            certificates=tmp_path,
            failures=failures,
        )
        await worker
        await worker.close()

    with socket.create_server(("127.0.0.1", 0)) as silent:
        asyncio.run(run(silent.getsockname()[1]))
    assert failures["alpha"].endswith(", got no answer in 0.2 s")


def test_a_worker_that_does_not_start_says_why(tmp_path: Path) -> None:
    make_certificates(tmp_path / "certificates", ["alpha"])
    failures: dict[str, str] = {}

    async def run() -> None:
        async with known_server(tmp_path) as (port, known):
            worker = SshWorker(
                "tls://127.0.0.1:8786",
                host=Host(name="alpha", ssh=f"127.0.0.1:{port}", command="no-such-wirebench"),
                certificates=tmp_path / "certificates" / "alpha",
                connect_options=known,
                failures=failures,
            )
            await worker
            await until(lambda: failures)
            await worker.close()

    asyncio.run(run())
    assert failures["alpha"].startswith(
        "host alpha: expected 'no-such-wirebench' to start its worker, got exit code 127: "
    )
    assert "no-such-wirebench" in failures["alpha"].partition("127: ")[2]


def test_check_says_who_is_not_reached_and_why(tmp_path: Path) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text(
        f'listen = "127.0.0.1"\nport = {free_port()}\n[hosts.alpha]\nssh = "127.0.0.1:1"\n'
    )
    make_certificates(tmp_path / "fleet-certificates", ["alpha"])
    command = [sys.executable, "-m", "wirebench.cli.main", "fleet"]
    done = subprocess.run(
        [*command, "check", "--fleet", str(file), "--wait", "60"],
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == 69, done.stderr
    assert "error: host alpha: expected ssh to reach 127.0.0.1:1, got " in done.stderr
    done = subprocess.run(
        [*command, "run", "rest", "--fleet", str(file), "--wait", "60"],
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == 69, done.stderr
    assert "got none; 'wirebench fleet init' says how" in done.stderr


async def until(condition: object) -> None:
    assert callable(condition)
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come")
