"""The CPU time that control groups allow, which containers and services often have less of than
their cores could give (Linux Documentation/scheduler/sched-bwc.rst, admin-guide/cgroup-v2.rst).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_PROC = Path("/proc/self")


def cpu_quota(proc: Path = _PROC) -> float | None:
    """How many cores' time the groups of this process allow it; the least of all groups that it is
    in. None: they set no limit.
    """
    groups = _lines(proc / "cgroup")
    quotas = [
        quota
        for mount in _lines(proc / "mountinfo")
        for folder in _folders(mount, groups)
        if (quota := _quota_v2(folder) or _quota_v1(folder)) is not None
    ]
    return min(quotas, default=None)


def _folders(mount: str, groups: list[str]) -> Iterator[Path]:
    """The folders of our groups in this mount, the innermost first: a line of mountinfo (proc(5)),
    and those of /proc/self/cgroup (cgroups(7)).
    """
    before, _, after = mount.partition(" - ")
    fields, kind = before.split(), after.split()
    if len(fields) < 5 or len(kind) < 3 or kind[0] not in ("cgroup", "cgroup2"):
        return
    if kind[0] == "cgroup" and "cpu" not in kind[2].split(","):
        return
    root, point = (PurePosixPath(_unescaped(one)) for one in fields[3:5])
    for line in groups:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" if kind[0] == "cgroup2" else "cpu" in controllers.split(","):
            # In a container without a namespace of its own for groups, the mount shows only ours.
            own = PurePosixPath(path)
            below = own.relative_to(root) if own.is_relative_to(root) else PurePosixPath()
            if ".." in below.parts:
                below = PurePosixPath()
            yield from (Path(point, one) for one in (below, *below.parents))


def _quota_v2(folder: Path) -> float | None:
    words = " ".join(_lines(folder / "cpu.max")).split()
    return _cores(words[0], words[1]) if len(words) == 2 else None


def _quota_v1(folder: Path) -> float | None:
    quota, period = (
        " ".join(_lines(folder / f"cpu.cfs_{name}_us")) for name in ("quota", "period")
    )
    return _cores(quota, period)


def _cores(quota: str, period: str) -> float | None:
    """``max`` and -1 mean no limit."""
    if not quota.isdigit() or not period.isdigit() or int(period) == 0:
        return None
    return int(quota) / int(period)


def _unescaped(path: str) -> str:
    """mountinfo writes blanks as octal numbers."""
    return path.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
