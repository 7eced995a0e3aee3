"""A server's trial whose generator runs on another host: what the trial asks of that host, and how
it reads what the server used, which the generator cannot see.
"""

from __future__ import annotations

import bisect
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol

from wirebench.catalog.loads import BroadcastLoad, ClosedLoad, EachLoad, IdleLoad, Load, OpenLoad
from wirebench.process.network import Network
from wirebench.process.process import Process
from wirebench.process.start import Observed
from wirebench.process.usage import Usage, UsageReader
from wirebench.trial.wireload import Aim, Measured, ServerLoad, ServerUse

READINGS = 200
"""In a window: what happens between two readings is known to half a hundredth of it. Our own
choice.
"""
_SHORTEST_NS, _LONGEST_NS = 5_000_000, 100_000_000
"""Between two readings, each of which takes some 0.1 ms."""
_UNKNOWN_NS = 4_000_000_000
"""What counts as the window of a load that has no length given."""
_SUMMED = ("steal_ns", "psi_cpu_some_us", "retransmits")


class GeneratorLostError(Exception):
    """The other host is not there any more, or answers something else. There is no result: it says
    nothing about the server. The text is for the user.
    """


@dataclass(frozen=True, kw_only=True)
class Told:
    """What the other host tells of a load that has ended."""

    host: str
    window: tuple[int, int] | None
    """When it began and ended, by the steady clock here. None: the load has no single window."""
    uncertainty_ns: int
    """Both are wrong by this at most, in the same direction."""
    covariates: Mapping[str, int | None]
    """What else happened there (``HostWatch.covariates``)."""


class GeneratorProcess(Observed, Protocol):
    """A generator that was started, here or on another host."""

    @property
    def argv(self) -> tuple[str, ...]: ...

    def wait(self, timeout_s: float) -> int | None: ...

    def signal(self, number: signal.Signals, /) -> None: ...

    def stop(self) -> bool: ...


class GeneratorElsewhere(GeneratorProcess, Protocol):
    @property
    def told(self) -> Told:
        """Once it has ended."""
        ...


class GeneratorHost(Protocol):
    """The other host. Its methods raise ``GeneratorLostError``."""

    @property
    def network(self) -> Network:
        """Where a server listens, so that the generator reaches it."""
        ...

    def launch(self, load: ServerLoad, aim: Aim, *, limit_ns: int) -> GeneratorElsewhere:
        """Start the generator. Its document is in ``aim.json_file`` when it has ended; of the cores
        in ``aim``, and of what to watch, it knows nothing.
        """
        ...


def refusal(load: Load) -> str | None:
    """Why such a load cannot come from another host; None if it can."""
    if isinstance(load, IdleLoad):
        return "the memory of idle connections is read by a generator beside the server"
    if isinstance(load, EachLoad) and load.link is not None:
        return "a link between two hosts is not emulated"
    return None


def has_window(load: Load) -> bool:
    """Whether its requests are counted in one window. Those of rounds are in one for each."""
    return isinstance(load, ClosedLoad | OpenLoad | EachLoad | BroadcastLoad)


class ServerWatch:
    """Reads what a server uses, again and again, in a thread on these cores, for the time of the
    ``with`` block.
    """

    def __init__(self, server: Process, load: ServerLoad, *, cores: Sequence[int]) -> None:
        self._reader = UsageReader(server)
        self._every_s = _pause_ns(load) / 1e9
        self._cores = cores
        self._ended = threading.Event()
        self._readings: list[Usage] = []
        self._thread = threading.Thread(target=self._read, name="wirebench-usage", daemon=True)

    def __enter__(self) -> ServerWatch:
        self._thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _read(self) -> None:
        os.sched_setaffinity(0, self._cores)  # of this thread
        while True:
            self._readings.append(self._reader.read())
            if self._ended.wait(self._every_s):
                self._readings.append(self._reader.read())
                return

    @property
    def readings(self) -> tuple[Usage, ...]:
        return tuple(self._readings)


def _pause_ns(load: ServerLoad) -> int:
    window_ns = (
        load.window_ns if isinstance(load, ClosedLoad | OpenLoad | BroadcastLoad) else _UNKNOWN_NS
    )
    return min(_LONGEST_NS, max(_SHORTEST_NS, window_ns // READINGS))


@dataclass(frozen=True, kw_only=True)
class WindowUse:
    """What a server used within a window."""

    use: ServerUse
    uncertainty_ns: int
    """The CPU time is wrong by this at most."""


def use_of(
    readings: Sequence[Usage], window: tuple[int, int], *, uncertainty_ns: int
) -> WindowUse | None:
    """From readings in the order of their time. Between two of them the CPU time is taken to grow
    evenly; at each edge it may be wrong by what it grew between the readings around. Memory is that
    of the last reading before the end: after it, connections are closed. None where the readings
    do not reach beyond both edges.
    """
    times = [one.at_ns for one in readings]
    first, last = window
    if not times or first >= last or times[0] > first - uncertainty_ns:
        return None
    if times[-1] < last + uncertainty_ns:
        return None

    def around(edge: int) -> int:
        low = readings[bisect.bisect_right(times, edge - uncertainty_ns) - 1]
        high = readings[bisect.bisect_left(times, edge + uncertainty_ns)]
        return high.cpu_ns - low.cpu_ns

    def at(edge: int) -> tuple[float, float]:
        index = bisect.bisect_right(times, edge) - 1
        low, high = readings[index], readings[min(index + 1, len(times) - 1)]
        share = (edge - low.at_ns) / (high.at_ns - low.at_ns) if high.at_ns > low.at_ns else 0.0
        return (
            low.cpu_user_ns + share * (high.cpu_user_ns - low.cpu_user_ns),
            low.cpu_system_ns + share * (high.cpu_system_ns - low.cpu_system_ns),
        )

    (user, system), (user_after, system_after) = at(first), at(last)
    inside = readings[bisect.bisect_left(times, first) : bisect.bisect_right(times, last)]
    before_end = inside or [readings[bisect.bisect_right(times, last) - 1]]
    return WindowUse(
        use=ServerUse(
            cpu_user_ns=round(user_after - user),
            cpu_system_ns=round(system_after - system),
            rss_bytes=before_end[-1].rss_bytes,
            rss_peak_bytes=max(one.rss_bytes for one in before_end),
        ),
        uncertainty_ns=around(first) + around(last),
    )


def with_server(measured: Measured, readings: Sequence[Usage], told: Told) -> Measured:
    """The generator's document with what the server used, and how well that is known. Without
    figures where the load has no single window, or they are not known.
    """
    found = (
        use_of(readings, told.window, uncertainty_ns=told.uncertainty_ns)
        if told.window is not None
        else None
    )
    use = found.use if found is not None else None
    raw = {
        **measured.raw,
        "server": use.model_dump() if use is not None else None,
        "apart": {
            "generator": told.host,
            "clock_uncertainty_ns": told.uncertainty_ns,
            "server_cpu_uncertainty_ns": found.uncertainty_ns if found is not None else None,
        },
    }
    return Measured(document=measured.document.model_copy(update={"server": use}), raw=raw)


def of_both_hosts(
    here: Mapping[str, int | None], there: Mapping[str, int | None]
) -> dict[str, int | None]:
    """The covariates of a trial: what either host had counts. Unknown where both do not know.

    What other programs took is unknown: where the two hosts are namespaces of one machine, the
    server and the generator are other programs to each other.
    """
    both = {
        key: value
        if key not in _SUMMED or there.get(key) is None
        else (value or 0) + (there[key] or 0)
        for key, value in here.items()
    }
    return {**both, "other_programs_ns": None}
