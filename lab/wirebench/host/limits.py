"""What this host allows: open files, ports, io_uring, control groups, network namespaces."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path

from wirebench.host.cpu_quota import cpu_quota

_IO_URING_SETUP = 425
"""The same number on every architecture (since Linux 5.1)."""
_IO_URING_PARAMS_BYTES = 120


@dataclass(frozen=True, kw_only=True)
class Limits:
    nofile_soft: int
    nofile_hard: int
    somaxconn: int | None
    port_range: tuple[int, int] | None
    io_uring: bool
    cgroup: Path | None
    """A cgroup v2 folder in which the lab may create groups."""
    user_namespaces: bool
    """Whether ``unshare -rn`` works: a network namespace without root."""
    tun: bool
    netem: bool | None
    """Whether the kernel can delay packets by itself (netem). None without ``tc`` to ask."""
    cpu_quota: float | None
    """How many CPUs cgroups let this process use. None if there is no quota."""


def read_limits() -> Limits:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    namespaces = _succeeds(["unshare", "-rn", "true"])
    return Limits(
        nofile_soft=soft,
        nofile_hard=hard,
        somaxconn=_integer(Path("/proc/sys/net/core/somaxconn")),
        port_range=_port_range(),
        io_uring=io_uring_allowed(),
        cgroup=writable_cgroup(),
        user_namespaces=namespaces,
        tun=_opens(Path("/dev/net/tun")),
        netem=_netem() if namespaces else None,
        cpu_quota=cpu_quota(),
    )


def read_text(path: Path) -> str | None:
    """The content of a file in /proc or /sys. None if this kernel lacks it or forbids
    reading it.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _integer(path: Path) -> int | None:
    text = read_text(path)
    return int(text) if text and text.isdigit() else None


def _port_range() -> tuple[int, int] | None:
    words = (read_text(Path("/proc/sys/net/ipv4/ip_local_port_range")) or "").split()
    return (int(words[0]), int(words[1])) if len(words) == 2 else None


def io_uring_allowed() -> bool:
    """Ask the kernel for the smallest ring. Containers and the sysctl io_uring_disabled may refuse
    it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(_IO_URING_PARAMS_BYTES)
    descriptor = int(libc.syscall(_IO_URING_SETUP, 1, parameters))
    if descriptor < 0:
        return False
    os.close(descriptor)
    return True


def writable_cgroup() -> Path | None:
    """The folder of our own cgroup v2 group, if it is writable."""
    for mount in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")):
        if not (mount / "cgroup.controllers").exists():
            continue
        own = [
            line.removeprefix("0::")
            for line in (read_text(Path("/proc/self/cgroup")) or "").splitlines()
        ]
        relative = next((line for line in own if line.startswith("/")), "/")
        for folder in (mount / relative.lstrip("/"), mount):
            probe = folder / f"wirebench-probe-{uuid.uuid4().hex[:8]}"
            try:
                probe.mkdir()
            except OSError:
                continue
            usable = (probe / "cpu.stat").exists() and (probe / "cgroup.procs").exists()
            probe.rmdir()
            if usable:
                return folder
    return None


def _opens(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_RDWR))
    except OSError:
        return False
    return True


def _succeeds(command: list[str]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    try:
        return (
            subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def _netem() -> bool | None:
    if shutil.which("tc") is None:
        return None
    # In a namespace of its own, so that no interface of the host is touched.
    return _succeeds(
        ["unshare", "-rn", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
    )
