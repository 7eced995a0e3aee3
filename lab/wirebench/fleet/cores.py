"""The core that Dask's worker stays on, outside those of the trials."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class HostCores:
    housekeeping: int
    """The worker's, and no trial's."""
    measured: tuple[int, ...]
    """The others. On one or two cores the trials have all of them: the worker is on the
    generator's then, which knows when it was held up.
    """


def share_cores(allowed: set[int] | None = None) -> HostCores:
    cores = sorted(allowed if allowed is not None else os.sched_getaffinity(0))
    if len(cores) <= 2:
        return HostCores(housekeeping=cores[-1], measured=tuple(cores))
    return HostCores(housekeeping=cores[0], measured=tuple(cores[1:]))
