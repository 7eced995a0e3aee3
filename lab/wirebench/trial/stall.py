"""Watches a server under a load, and remembers in what state it stood still."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from wirebench.process import procfs
from wirebench.process.process import Process

IDLE_SHARE = 0.05
"""Below this share of a core between two looks the server is not busy: to look at its threads then
disturbs nothing. Our own choice.
"""
QUIET_SHARE = 0.0002
"""Below this share of a core nothing is answered at all: one request in two seconds takes more. Our
own choice.
"""
LOOKS_PER_TIMEOUT = 3
"""How often it looks while one reply may take its time: a stall is then seen before its first reply
times out.
"""
QUIET_TIMEOUTS = 2
"""After this many times the longest that a reply may take without a sign of life the load is ended:
nothing will come of the rest.
"""


@dataclass(kw_only=True)
class StallWatch:
    """Looks every third of ``timeout_ns``, the longest that a reply may take, or never: not while a
    window of full load is open.
    """

    server: Process
    timeout_ns: int
    looks: bool
    """Whether it looks before the end of the load."""
    describe: Callable[[], str]
    """The state of the server in words. Takes some milliseconds of a core that is not the
    server's.
    """
    state: str | None = None
    """As last seen while the server was not busy."""
    quiet_ns: int = 0
    """For how long it has not run at all."""
    _ran_ns: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.looks:
            self._ran_ns = procfs.run_time_ns(self.server.pids())

    @property
    def pause_ns(self) -> int:
        return self.timeout_ns // LOOKS_PER_TIMEOUT

    @property
    def stands_still(self) -> bool:
        return self.quiet_ns >= QUIET_TIMEOUTS * self.timeout_ns

    def look_at_last(self) -> None:
        """When the load is over, or ended. What was seen of a stall stays."""
        if self.state is None or not self.quiet_ns:
            self.state = self.describe()

    def look(self) -> None:
        """Once every ``pause_ns``."""
        ran, before = procfs.run_time_ns(self.server.pids()), self._ran_ns
        self._ran_ns = ran
        # Threads that ended took their time with them.
        grown = ran - before if ran is not None and before is not None and ran >= before else None
        quiet = grown is not None and grown < QUIET_SHARE * self.pause_ns
        self.quiet_ns = self.quiet_ns + self.pause_ns if quiet else 0
        # Of a stall the first look tells most: later ones come after the generator gave up its
        # connections.
        first = self.quiet_ns <= self.pause_ns
        if first and grown is not None and grown < IDLE_SHARE * self.pause_ns:
            self.state = self.describe()
