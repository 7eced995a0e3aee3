"""Which programs use this host beside the lab."""

from __future__ import annotations

import time
from dataclasses import dataclass

from wirebench.process import procfs


@dataclass(frozen=True, kw_only=True)
class Bystander:
    """A program that is not the lab's."""

    pid: int
    name: str | None
    """None where this user may not see it."""
    share: float
    """What it and its ended children took, as a share of one core."""


def busy_now(*, seconds: float = 1.0, least: float = 0.01) -> tuple[Bystander, ...]:
    """Those that take at least the share ``least`` of one core, the busiest first. It watches them
    for so many seconds. The kernel tells their time in ticks of 10 ms.
    """
    started_ns, before = time.monotonic_ns(), procfs.other_programs_ns()
    time.sleep(seconds)
    after = procfs.other_programs_ns()
    elapsed_ns = time.monotonic_ns() - started_ns
    found = [
        Bystander(pid=pid, name=procfs.program_name(pid), share=share)
        for pid, taken in after.items()
        if (share := (taken - before.get(pid, 0)) / elapsed_ns) >= least
    ]
    return tuple(sorted(found, key=lambda one: -one.share))
