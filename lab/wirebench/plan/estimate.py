"""How long a run will take, summed over its plan, before anything is measured.

The figures below are our own, read on two cores; only the estimate uses them. Once trials are done, :class:`Pace` uses
their own durations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from wirebench.catalog.studies import Cell, ClientLoad, ClosedLoad, EachLoad, RampLoad

MS = 1_000_000

SERVER_TRIAL_OVERHEAD_NS = 450 * MS
"""Start the server, wait until it accepts, start the generator, stop both."""
CLIENT_TRIAL_OVERHEAD_NS = 450 * MS
CONNECT_NS = 60_000
REQUEST_NS = {"reuse": 60_000, "new": 250_000}
RAMP_MESSAGE_NS = 30_000
VERIFY_NS = 1_200 * MS
"""The conformance check of one workload of one contestant."""
BUILD_NS = {"rust": 90_000 * MS, "cpp": 25_000 * MS, "java": 25_000 * MS, "go": 20_000 * MS}
"""A first build by language, with the packages to fetch."""
OTHER_BUILD_NS = 12_000 * MS


def trial_ns(cell: Cell, *, hardware_threads: int) -> int:
    """About how long one trial of this cell takes, from the start of its processes to their end."""
    match cell.load:
        case ClosedLoad() as load:
            return SERVER_TRIAL_OVERHEAD_NS + load.warmup_ns + load.window_ns + load.connections * CONNECT_NS
        case EachLoad() as load:
            threads = load.threads or hardware_threads
            waiting = load.messages * load.delay_ms * MS * max(1.0, load.producers / threads)
            serving = load.producers * load.messages * REQUEST_NS[load.policy]
            return SERVER_TRIAL_OVERHEAD_NS + round(waiting) + serving
        case RampLoad() as load:
            connecting = load.rounds * load.add * CONNECT_NS
            return SERVER_TRIAL_OVERHEAD_NS + connecting + load.total_messages * RAMP_MESSAGE_NS
        case ClientLoad() as load:
            return CLIENT_TRIAL_OVERHEAD_NS + (load.warmup + load.operations) * load.typical_ns


def block_ns(cell: Cell, entries: int, *, hardware_threads: int) -> int:
    return entries * trial_ns(cell, hardware_threads=hardware_threads)


def build_ns(contestants: Iterable[str]) -> int:
    """About how long it takes to build these contestants (those whose build is not in the cache)."""
    return sum(BUILD_NS.get(name.split("/")[0], OTHER_BUILD_NS) for name in contestants)


@dataclass(kw_only=True)
class Pace:
    """What is left of a run, from the estimate of each trial and the durations of those that are done."""

    estimated: dict[str, int]
    """Estimated nanoseconds of one trial by cell (``study.cell``)."""
    _seen: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def add(self, cell: str, entry: str, elapsed_ns: int) -> None:
        self._seen.setdefault((cell, entry), []).append(elapsed_ns)

    def trial(self, cell: str, entry: str) -> int:
        """The mean of this entry's trials in the cell, else of the cell's, else the estimate."""
        own = self._seen.get((cell, entry))
        if own:
            return sum(own) // len(own)
        others = [value for (key, _), values in self._seen.items() if key == cell for value in values]
        return sum(others) // len(others) if others else self.estimated[cell]
