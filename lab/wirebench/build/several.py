"""Several builds at once: linkers, and sources of a single file, keep one core busy."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from pathlib import Path

from wirebench.build.builder import BuildResult, build
from wirebench.catalog import Contestant, Role

AT_ONCE = 3
"""At most. They share the jobs, and compilers of C++ take up to 1 GiB each."""
_LOOK_S = 0.2
"""How often the main thread looks for a signal while it waits. Python runs handlers between
instructions: a wait without an end that begins just after a signal came would sleep through it.
"""


class Builds:
    """Builds contestants in threads. ``close()`` ends those that are under way, and all they
    started.
    """

    def __init__(self, root: Path, *, jobs: int) -> None:
        self._workers = min(jobs, AT_ONCE)
        self._root = root
        self._all_jobs = jobs
        self._jobs = -(-jobs // self._workers)
        self._cancelled = threading.Event()
        # Contestants that are built are checked meanwhile. In Linux each thread has a niceness of
        # its own, which what it starts inherits. Where the kernel groups processes by session
        # (sched(7), autogroup) it has little effect.
        self._pool = ThreadPoolExecutor(
            self._workers,
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
                    all_jobs=self._all_jobs,
                    roles=roles.get(one.identity) if roles is not None else None,
                    cancelled=self._cancelled,
                )

    def wait(self, contestant: Contestant) -> BuildResult:
        """The result, when it is there. Signals are let through meanwhile."""
        return self._begun[self.first_ended([contestant]).identity].result()

    def first_ended(self, contestants: Sequence[Contestant]) -> Contestant:
        """The first of these whose build has ended, when one has. Signals are let through
        meanwhile.
        """
        self.begin(contestants)
        builds = {one.identity: self._begun[one.identity] for one in contestants}
        while not wait_for(builds.values(), _LOOK_S, FIRST_COMPLETED).done:
            pass
        return next(one for one in contestants if builds[one.identity].done())

    def running(self) -> tuple[str, ...]:
        """The contestants that are being built. Empty when all builds that were begun have
        ended.
        """
        unfinished = [name for name, one in self._begun.items() if not one.done()]
        return tuple(unfinished[: self._workers])  # they are taken in the order in which they began

    def close(self) -> None:
        self._cancelled.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
