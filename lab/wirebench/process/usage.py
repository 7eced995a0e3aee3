"""What the processes of a server have used so far, read while they run."""

from __future__ import annotations

import time
from dataclasses import dataclass

from wirebench.process import cgroup, procfs
from wirebench.process.process import Process


@dataclass(frozen=True, kw_only=True)
class Usage:
    """The CPU time since the start, and the memory at that moment."""

    at_ns: int
    """By the steady clock: the middle of the time that reading the CPU time took."""
    cpu_user_ns: int
    cpu_system_ns: int
    rss_bytes: int

    @property
    def cpu_ns(self) -> int:
        return self.cpu_user_ns + self.cpu_system_ns


class UsageReader:
    """Without a cgroup, processes that start later are not seen, and those that end keep what they
    had used when they were read last.
    """

    def __init__(self, process: Process) -> None:
        self._group = process.group
        self._pids = process.pids()
        self._used: dict[int, tuple[int, int]] = {}

    def read(self) -> Usage:
        """CPU time first: what the rest of the reading takes is not in between."""
        before = time.monotonic_ns()
        user, system = self._cpu_ns()
        after = time.monotonic_ns()
        pids = self._pids if self._group is None else set(cgroup.members(self._group))
        return Usage(
            at_ns=(before + after) // 2,
            cpu_user_ns=user,
            cpu_system_ns=system,
            rss_bytes=procfs.resident_bytes(pids),
        )

    def _cpu_ns(self) -> tuple[int, int]:
        if self._group is not None:
            return cgroup.cpu_ns(self._group)
        self._used |= {pid: used for pid in self._pids if (used := procfs.cpu_ns(pid)) is not None}
        return sum(user for user, _ in self._used.values()), sum(
            system for _, system in self._used.values()
        )
