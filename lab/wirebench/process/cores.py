"""Which cores the contestant and the generator run on."""

from __future__ import annotations

import os

from wirebench.process.types import Cores


def choose_cores(threads: int = 1, *, allowed: set[int] | None = None) -> Cores:
    """The generator has the last core, the contestant the first, or the first ``threads`` of those
    the generator leaves.

    With one core both share it. The contestant never gets the generator's core where there are two
    or more: what one takes from the other would be in the figures of both.
    """
    cores = sorted(allowed if allowed is not None else os.sched_getaffinity(0))
    if len(cores) == 1:
        return Cores(contestant=(cores[0],), generator=(cores[0],))
    return Cores(contestant=tuple(cores[:-1][: max(1, threads)]), generator=(cores[-1],))
