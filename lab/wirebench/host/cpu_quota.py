"""The CPU quota of this process: what cgroups, a container's or a service's, let it use.

A quota is a time in each period, for a group together with all groups below it: cgroup v2
``cpu.max`` (Linux Documentation/admin-guide/cgroup-v2.rst), v1 ``cpu.cfs_quota_us`` over
``cpu.cfs_period_us`` (Documentation/scheduler/sched-bwc.rst).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath


def cpu_quota(root: Path = Path("/")) -> float | None:
    """The smallest quota of the own groups and those above, in CPUs. None if none is known; from
    inside a container, groups above its own are most often not seen.

    ``root``: what /proc and /sys are below of; tests have their own.
    """
    quotas = [_quota(folder, v2=v2) for folder, v2 in _folders(root)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _folders(root: Path) -> Iterator[tuple[Path, bool]]:
    """Of each group, with whether it is of cgroup v2."""
    mounts = list(_mounts(_text(root / "proc/self/mountinfo")))
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not path.startswith("/") or ".." in path.split("/"):
            continue  # outside of this cgroup namespace
        v2 = not controllers
        if not v2 and "cpu" not in controllers.split(","):
            continue
        for shown, point in (mount[1:] for mount in mounts if mount[0] == v2):
            with suppress(ValueError):
                inner = PurePosixPath(path).relative_to(shown)
                for group in (inner, *inner.parents):
                    yield root / point.lstrip("/") / group, v2


def _mounts(text: str) -> Iterator[tuple[bool, str, str]]:
    """Of each mount that may have quotas: whether it is of cgroup v2, the group that it shows, and
    where (proc_pid_mountinfo(5)).
    """
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), [*after.split(" "), "", "", ""]
        v1 = kind[0] == "cgroup" and "cpu" in kind[2].split(",")
        if len(fields) > 4 and (v1 or kind[0] == "cgroup2"):
            yield not v1, _unescaped(fields[3]), _unescaped(fields[4])


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), text)


def _quota(folder: Path, *, v2: bool) -> float | None:
    names = ("cpu.max",) if v2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    words = " ".join(_text(folder / name) for name in names).split()
    if len(words) != 2 or not all(word.isdecimal() and int(word) > 0 for word in words):
        return None  # "max 100000", or -1 in v1, is none
    return int(words[0]) / int(words[1])


def _text(path: Path) -> str:
    """Empty where this kernel lacks it, or forbids to read it."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
