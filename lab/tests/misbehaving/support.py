"""Runs of the misbehaving contestants, and a look at what is left behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wirebench.catalog import Contestant, Role
from wirebench.catalog.loads import ClientLoad, ClosedLoad, Load
from wirebench.process import cgroup, ports, procfs
from wirebench.process.supervise import OWNER, Supervisor
from wirebench.process.types import Program
from wirebench.trial.types import TrialSpec

HERE = Path(__file__).resolve().parent


def program(script: str, fault: str = "none") -> Program:
    return Program(argv=(sys.executable, "-B", str(HERE / script), fault), folder=HERE)


def generator(folder: Path) -> Path:
    """The stand-in for the load generator as one executable file."""
    file = folder / "generator"
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -B "{HERE / "generator.py"}" "$@"\n')
    file.chmod(0o755)
    return file


def contestant(name: str, folder: Path, *, role: Role = "server") -> Contestant:
    return Contestant(
        identity=f"fake/{name}",
        language="fake",
        language_title="Fake",
        name=name,
        folder=folder,
        library=name,
        version="1",
        license="MIT",
        homepage="https://example.org/",
        tier="idiomatic",
        serves=("http.hello",) if role == "server" else (),
        calls=("http",) if role == "client" else (),
    )


CLOSED = ClosedLoad(connections=1, warmup_ns=0, window_ns=300_000_000)
CALLS = ClientLoad(
    scheme="http", policy="reuse", payload_bytes=64, warmup=5, operations=50, typical_ns=1_000_000
)

PORT_SEED = 1000 * os.getpid()
"""Where to begin to look for a port. Tests run beside this one in other processes, and a server
that is started again looks at the next seed.
"""


def spec(
    name: str,
    folder: Path,
    *,
    role: Role = "server",
    load: Load = CLOSED,
    timeout_ns: int = 1_000_000_000,
) -> TrialSpec:
    one = contestant(name, folder, role=role)
    return TrialSpec(
        trial=f"study.cell.b01.fake.{name}",
        study="study",
        cell="cell",
        block=1,
        position=1,
        entry=one.identity,
        contestant=one,
        role=role,
        workload="http.hello" if role == "server" else "http.payload",
        load=load,
        server=contestant("server", folder) if role == "client" else None,
        environment_bytes=100,
        port_seed=PORT_SEED,
        load_seed=2,
        seed=1,
        timeout_ns=timeout_ns,
    )


def processes_of(supervisor: Supervisor) -> list[str]:
    """Everything alive that this supervisor's lab started, whoever its parent is now."""
    marker = f"{OWNER}={supervisor.owner}"
    return [
        f"{pid} {procfs.command_line(pid)}"
        for pid in procfs.pids()
        if pid != os.getpid()
        and procfs.has_environment(pid, marker)
        and (found := procfs.stat(pid)) is not None
        and found.state not in "ZX"
    ]


@contextmanager
def leaves_nothing(scratch: Path) -> Iterator[Supervisor]:
    """A supervisor; at the end no process, no group and no folder of it may be there, nor a child
    unreaped.
    """
    parent = cgroup.parent_folder()
    with Supervisor(scratch_parent=scratch) as supervisor:
        yield supervisor
        assert processes_of(supervisor) == []
        folders = [path for path in scratch.rglob("*") if path.name[0].isdigit()]
        assert folders == [], "a scope's folder is still there"
    assert list(scratch.iterdir()) == []
    if parent is not None:
        assert [path for path in parent.glob("wirebench-*") if supervisor.owner in path.name] == []
    zombies = [
        pid
        for pid in procfs.pids()
        if (found := procfs.stat(pid)) and found.parent == os.getpid() and found.state == "Z"
    ]
    assert zombies == []


def assert_free(port: int | None) -> None:
    assert port is not None
    assert ports.is_free(port)
    assert procfs.listener_inodes(port) == set()
