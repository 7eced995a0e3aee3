"""Process groups by cgroup v2, where this user may create one: exact CPU time, and a kill that no
process escapes.

No controller is needed: ``cpu.stat`` has usage, user and system time and ``cgroup.kill`` works in
any group (Linux Documentation/admin-guide/cgroup-v2.rst).
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def parent_folder() -> Path | None:
    """The folder below which this process may create groups and move its children there. None if
    there is none.
    """
    mount = _mount_point()
    if mount is None:
        return None
    own = _own_group()
    candidates = [mount / own.lstrip("/")] if own is not None else []
    if mount not in candidates:
        candidates.append(mount)
    return next((folder for folder in candidates if _works(folder)), None)


def _mount_point() -> Path | None:
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            if after.split()[0] == "cgroup2":
                return Path(before.split()[4])
    return None


def _own_group() -> str | None:
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                return line[3:]
    return None


def _works(folder: Path) -> bool:
    """Try it with a process that exits at once. Rights and delegation have too many cases to
    deduce.
    """
    probe = folder / f"wirebench-probe-{os.getpid()}"
    try:
        probe.mkdir()
    except OSError:
        return False
    try:
        if not (probe / "cpu.stat").exists():
            return False
        done = subprocess.run(
            ["/bin/sh", "-c", 'echo $$ >"$0/cgroup.procs"', str(probe)],
            stderr=subprocess.DEVNULL,
            check=False,
        )
        return done.returncode == 0
    finally:
        remove(probe)


def members(folder: Path) -> Iterator[int]:
    """The living processes of the group and of the groups below it."""
    for group in (folder, *_below(folder)):
        with suppress(OSError):
            for line in (group / "cgroup.procs").read_text().split():
                # 0 is a process outside this pid namespace.
                if line != "0":
                    yield int(line)


def _below(folder: Path) -> list[Path]:
    with suppress(OSError):
        return [path for path in folder.rglob("*") if path.is_dir()]
    return []


def cpu_ns(folder: Path) -> tuple[int, int]:
    """The user and the system time of the group and those below, ended processes included. Zeros
    when it is gone.
    """
    found = {"user_usec": 0, "system_usec": 0}
    with suppress(OSError):
        for line in (folder / "cpu.stat").read_text().splitlines():
            key, _, value = line.partition(" ")
            if key in found:
                found[key] = int(value) * 1000
    return found["user_usec"], found["system_usec"]


def kill(folder: Path) -> None:
    """Send SIGKILL to every process of the group, including those being forked.

    Kernels before 5.14 have no ``cgroup.kill``; there each process gets its own signal.
    """
    try:
        (folder / "cgroup.kill").write_text("1")
    except OSError:
        for pid in members(folder):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def remove(folder: Path, *, patience_s: float = 2.0) -> bool:
    """Remove the group and those below. The kernel releases a killed process a moment after the
    kill.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            for group in sorted(_below(folder), reverse=True):
                group.rmdir()
            folder.rmdir()
            return True
        except FileNotFoundError:
            return True
        except OSError:
            if time.monotonic() > deadline:
                return False
            kill(folder)
            time.sleep(0.002)
