"""Cores that do not sleep while something is measured.

A core with nothing to do sleeps, and waking up takes it from a few microseconds to, in a virtual
machine, tens of them. Every round trip then has two such wake-ups in it, which are the machine's:
they hide what libraries do and vary more than it does. The kernel keeps all cores awake for as long
as a process holds ``/dev/cpu_dma_latency`` open with a wish of 0 us
(Documentation/admin-guide/pm/cpuidle.rst; cyclictest of rt-tests does the same). It takes the right
to write there, root's as a rule, and ends with the process, however that ends.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEVICE = Path("/dev/cpu_dma_latency")


def can_keep_awake(device: Path = DEVICE) -> bool:
    return os.access(device, os.W_OK)


@contextmanager
def cores_awake(device: Path = DEVICE) -> Iterator[None]:
    """Keeps the cores awake where that is allowed; elsewhere they sleep as ever, and the host's
    fingerprint says so.
    """
    if not can_keep_awake(device):
        yield
        return
    handle = os.open(device, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, struct.pack("=i", 0))
        yield
    finally:
        os.close(handle)
