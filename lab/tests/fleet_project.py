"""A small project whose runs go to workers in processes of their own, each a host on loopback."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from run_project import Project, lines
from wirebench.store.rundir import StoredRun, read_run


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Fleet:
    """The project, its fleet.toml, and the workers that a test starts."""

    def __init__(
        self,
        root: Path,
        names: Sequence[str],
        *,
        seconds: float = 0.05,
        listen: str = "127.0.0.1",
        lost_after_s: float = 30,
        enter: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """``enter``: by host, the words before a command that run it there."""
        self.project = Project(root, seconds=seconds, own_generator=True)
        self.names, self.listen, self.port = names, listen, free_port()
        self.file = root / "fleet.toml"
        self.enter = enter or {}
        hosts = "".join(f"[hosts.{name}]\n" for name in names)
        self.file.write_text(
            f'listen = "{listen}"\nport = {self.port}\nlost_after_s = {lost_after_s}\n{hosts}'
        )
        self.workers: dict[str, subprocess.Popen[str]] = {}
        code, output = self.project.run("fleet", "init", "--fleet", str(self.file))
        assert code == 0, output

    @property
    def scheduler(self) -> str:
        return f"tls://{self.listen}:{self.port}"

    def folder(self, name: str) -> Path:
        return self.project.root / "hosts" / name

    def certificates(self, name: str) -> Path:
        return self.project.root / "fleet-certificates" / name

    def pair(self, name: str, server: str, generator: str, address: str) -> None:
        """Runs that begin from now on go to pairs."""
        with self.file.open("a") as file:
            file.write(
                f'[pairs.{name}]\nserver = "{server}"\ngenerator = "{generator}"\n'
                f'address = "{address}"\n'
            )

    def start_worker(self, name: str, *, certificates: Path | None = None) -> None:
        self.workers[name] = self.project.start(
            "fleet",
            "worker",
            *("--host", name),
            *("--certificates", str(certificates or self.certificates(name))),
            *("--folder", str(self.folder(name))),
            self.scheduler,
            before=self.enter.get(name, ()),
        )

    def start_run(self, *arguments: str) -> subprocess.Popen[str]:
        """The command; it waits for hosts for a minute where ``arguments`` have no other time."""
        return self.project.start(
            *("fleet", "run", "--fleet", str(self.file), "--wait", "60"),
            *arguments,
            before=self.enter.get("command", ()),
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        with self.start_run(*arguments) as process:
            output, _ = process.communicate(timeout=480)
            return process.returncode, output

    def heard(self, process: subprocess.Popen[str], words: str) -> str:
        """What the command says until the line with these words, that included."""
        said = ""
        assert process.stdout is not None
        for line in process.stdout:
            said += line
            if words in line:
                return said
        raise AssertionError(f"{words!r} was not said: {said}")

    def measured_on(self, name: str) -> int:
        """How many trials the host has on its disk."""
        return sum(1 for path in self.folder(name).glob("runs/*/trials.jsonl") for _ in lines(path))

    def stored(self) -> StoredRun:
        return read_run(self.project.only_run())

    def stop(self, name: str, number: signal.Signals = signal.SIGTERM) -> str:
        """Its output."""
        worker = self.workers.pop(name)
        worker.send_signal(number)
        output, _ = worker.communicate(timeout=60)
        return output

    def close(self) -> None:
        for worker in self.workers.values():
            worker.kill()
            worker.communicate(timeout=60)


@contextmanager
def fleet_of(
    root: Path,
    names: Sequence[str],
    *,
    seconds: float = 0.05,
    lost_after_s: float = 30,
    listen: str = "127.0.0.1",
    enter: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Fleet]:
    """With a worker for each host. They are gone afterwards."""
    fleet = Fleet(
        root, names, seconds=seconds, lost_after_s=lost_after_s, listen=listen, enter=enter
    )
    try:
        for name in names:
            fleet.start_worker(name)
        yield fleet
    finally:
        fleet.close()


def check_trials(run: StoredRun, *, blocks: int) -> None:
    """Every trial once, no block of two hosts, and so many blocks that are whole."""
    assert run.plan is not None
    assert max(Counter(one.trial for one in run.trials).values()) == 1
    by_block: dict[tuple[str, int], list[str]] = {}
    for one in run.trials:
        by_block.setdefault((one.cell, one.block), []).append(one.host)
    assert {len(set(hosts)) for hosts in by_block.values()} == {1}
    entries = len(run.plan.cells[0].entries)
    assert sum(1 for hosts in by_block.values() if len(hosts) == entries) >= blocks
    assert {one.status for one in run.trials} == {"ok"}
