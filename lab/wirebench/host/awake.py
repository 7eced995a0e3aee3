"""Keep idle cores awake while something is measured.

An idle core sleeps, and takes from a few microseconds to, in a virtual machine, tens of them to
wake up. Every round trip then contains two wake-ups. They belong to the machine, hide the
differences between libraries, and vary more than these do.

The kernel keeps all cores awake while a process holds a 0 us PM QoS latency request open on
``/dev/cpu_dma_latency`` (Documentation/admin-guide/pm/cpuidle.rst; cyclictest of rt-tests does the
same). That takes write access, as a rule root's. The request ends with the process, however the
process ends.
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
    """Keep the cores awake where that is allowed. Elsewhere they sleep as usual, and the host's
    fingerprint records it.
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
