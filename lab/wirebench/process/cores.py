"""The cores that the contestant and the generator run on."""

from __future__ import annotations

import os

from wirebench.process.types import Cores


def choose_cores(threads: int = 1, *, allowed: set[int] | None = None) -> Cores:
    """Give the generator the last core, and the contestant the first ``threads`` of the others.

    On one core they share it. Otherwise the contestant never gets the generator's core: each would
    slow the other and distort both figures.
    """
    cores = sorted(allowed if allowed is not None else os.sched_getaffinity(0))
    if len(cores) == 1:
        return Cores(contestant=(cores[0],), generator=(cores[0],))
    return Cores(contestant=tuple(cores[:-1][: max(1, threads)]), generator=(cores[-1],))
