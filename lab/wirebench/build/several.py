"""Several builds at once: linkers, and sources of a single file, keep one core busy."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from wirebench.build.builder import BuildResult, build
from wirebench.catalog import Contestant, Role

AT_ONCE = 3
"""At most. They share the jobs, and compilers of C++ take up to 1 GiB each."""


class Builds:
    """Builds contestants in threads. ``close()`` ends those that are under way, and all they
    started.
    """

    def __init__(self, root: Path, *, jobs: int) -> None:
        workers = min(jobs, AT_ONCE)
        self._root = root
        self._jobs = -(-jobs // workers)
        self._cancelled = threading.Event()
        # Contestants that are built are checked meanwhile. In Linux each thread has a niceness of
        # its own, which what it starts inherits. Where the kernel groups processes by session
        # (sched(7), autogroup) it has little effect.
        self._pool = ThreadPoolExecutor(
            workers,
            thread_name_prefix="wirebench-build",
            initializer=os.nice,
            initargs=(10,),
        )
        self._begun: dict[str, Future[BuildResult]] = {}

    def begin(
        self,
        contestants: Iterable[Contestant],
        *,
        roles: Mapping[str, Collection[Role]] | None = None,
    ) -> None:
        """Build these, in this order, each for the roles given under its name. Returns at once."""
        for one in contestants:
            if one.identity not in self._begun:
                self._begun[one.identity] = self._pool.submit(
                    build,
                    one,
                    self._root,
                    jobs=self._jobs,
                    roles=roles.get(one.identity) if roles is not None else None,
                    cancelled=self._cancelled,
                )

    def wait(self, contestant: Contestant) -> BuildResult:
        """The result, when it is there. Signals are let through meanwhile."""
        self.begin([contestant])
        return self._begun[contestant.identity].result()

    def running(self) -> bool:
        """Whether a build that was begun has not ended."""
        return not all(one.done() for one in self._begun.values())

    def close(self) -> None:
        self._cancelled.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
