"""What keeps Dask still while something is measured."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from wirebench.catalog.errors import CatalogError

if TYPE_CHECKING:
    from distributed.core import Server

QUIET_S = 10.0
"""No periodic work of Dask's is more frequent."""

NO_PAGES = "127.0.0.1:0"
"""Where Dask's HTTP server, which has no page here, listens: it cannot be left out."""

SETTINGS: dict[str, Any] = {
    "distributed.scheduler.allowed-failures": 0,  # a trial may never run twice
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.system-monitor.interval": f"{QUIET_S:g}s",
    "distributed.admin.tick.interval": f"{QUIET_S:g}s",
    "distributed.admin.tick.cycle": f"{QUIET_S:g}s",
    "distributed.admin.tick.limit": "1h",
    "distributed.client.scheduler-info-interval": f"{QUIET_S:g}s",
    "distributed.comm.retry.count": 0,
    # No pages: what is to be seen of a fleet, its command prints.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # What is sent is code by reference, and text.
    "distributed.comm.compression": False,
}


def make_quiet(*, lost_after_s: float | None = None) -> None:
    """Set Dask up for this process. ``CatalogError`` where it is not installed.

    ``lost_after_s``: after so many seconds without a word a worker counts as lost.
    """
    try:
        import dask

        dask.config.set(SETTINGS)  # some are read when it is imported
        import distributed  # noqa: F401
    except ImportError as error:
        raise CatalogError(
            f"wirebench fleet: expected the packages of the extra 'fleet', got {error}; install"
            f" them with: {sys.executable} -m pip install asyncssh distributed"
        ) from error
    for name in logging.root.manager.loggerDict:
        if name.split(".")[0] in ("distributed", "asyncssh"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # the commands say what happens
    if lost_after_s is not None:
        dask.config.set({"distributed.scheduler.worker-ttl": f"{lost_after_s:g}s"})


def slow_down(server: Server) -> None:
    """Nothing that it does from time to time is more frequent than every ``QUIET_S``."""
    for callback in server.periodic_callbacks.values():
        callback.callback_time = max(callback.callback_time, QUIET_S * 1000)
