"""Real-time priority keeps ordinary programs off the measured cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_PRIORITY = 1
"""The lowest real-time priority, which already precedes every ordinary program."""


@contextmanager
def realtime() -> Iterator[None]:
    """For this thread and the programs that it starts; ``PermissionError`` where that is not
    allowed.

    The lab itself is among equals then and does not interrupt them either. A host may still take a
    virtual machine's cores away. Linux before 6.8 stops a program that is busy all the time for 50
    ms in every second (sched_rt_runtime_us); later ones only while others wait for the core.
    """
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)
