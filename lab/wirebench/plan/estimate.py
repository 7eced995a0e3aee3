"""Estimate the time of a run from its plan, before anything is measured.

The figures below are our own, from a run of ``quick`` on two cores; only the estimate uses them.
Once trials are done, :class:`Pace` uses their durations.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from wirebench.catalog.loads import (
    PER_CONNECTION_NS,
    REPLY_TIMEOUT_NS,
    BroadcastLoad,
    ClientLoad,
    ClosedLoad,
    EachLoad,
    IdleLoad,
    OpenLoad,
    RampLoad,
    StormLoad,
    most_connections,
    over_tls,
)
from wirebench.catalog.model import Contestant
from wirebench.catalog.studies import Cell
from wirebench.catalog.warmup import lacking_ns, warmup_operations
from wirebench.plan.repeats import repeat_of

MS = 1_000_000

TRIAL_OVERHEAD_NS = 70 * MS
"""Time to start and stop the two processes of a trial and to read their output, without their own
start-up.
"""
START_NS = {"bun": 45 * MS, "java": 1_200 * MS, "node": 205 * MS, "python": 200 * MS}
"""From the start of a contestant's process to its first connection, by language, with what a
just-in-time compiler takes from the first requests.
"""
OTHER_START_NS = 20 * MS
LINK_START_NS = 60 * MS
SLOWNESS = {"go": 1.5, "java": 1.5, "node": 2.0, "python": 3.0, "rust": 1.2}
"""The factor of a language to the figures below, which are for native contestants. 1 for languages
not listed.
"""
CONNECT_NS = 15_000
TLS_CONNECT_NS = 600_000
"""With a full handshake, in which the generator checks the certificate."""
REQUEST_NS = {"reuse": 20_000, "new": 40_000}
RAMP_NS = {
    "bun": (10_500, 450),
    "c": (4_000, 7_000),
    "csharp": (20_000, 90_000),
    "go": (14_000, 6_000),
    "java": (40_000, 5_000),
    "node": (14_000, 8_000),
    "php": (16_000, 7_000),
    "python": (32_000, 24_000),
    "rust": (15_000, 3_500),
}
"""By language, for each burst of messages that a connection sends, and for each message of it. From
ramps whose messages are counted: the mean over the language's libraries of what a message took of
the server's core when it waited for the reply to the one before, and among 2 and 100 back to back.
Libraries differ by more than languages, those of Rust from 0.5 to 7 us for each of 100: one answers
all that it has read by one write, another each message by its own.
"""
OTHER_RAMP_NS = (8_000, 250)
MOVE_NS = 1_500 * MS
"""Time to copy a build, and to check that it works where it is then."""
VERIFY_NS = {"server": 700 * MS, "client": 1_500 * MS}
"""Time to check one workload of one contestant."""
BUILD_NS = {"rust": 90_000 * MS, "cpp": 25_000 * MS, "java": 25_000 * MS, "go": 20_000 * MS}
"""Time of a first build by language, including package downloads."""
OTHER_BUILD_NS = 12_000 * MS


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What earlier runs on this host showed of one contestant in one cell. None: nothing."""

    start_ns: float | None = None
    """From the start of its process to its first connection."""
    connect_ns: float | None = None
    """Until all connections of the cell are open."""
    message_ns: float | None = None
    """For each message of a ramp."""


NOTHING_SEEN = Seen()


@dataclass(frozen=True, kw_only=True)
class Paces:
    """Times of contestants (``language/name``) as earlier runs on this host had them, in
    nanoseconds.
    """

    messages: Mapping[tuple[str, str, str], Mapping[int, float]] = field(default_factory=dict)
    """For each message of a ramp, by how many a connection sends back to back; by contestant,
    workload and pacing.
    """
    starts: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """From the start of the process to its first connection, by contestant and workload."""
    connects: Mapping[tuple[str, str, bool], Mapping[int, float]] = field(default_factory=dict)
    """Until all connections are open, by their number; by contestant, workload and whether they are
    over TLS.
    """

    def of(self, cell: Cell, contestant: str) -> Seen:
        load, workload = cell.load, cell.workload
        ramp = load if isinstance(load, RampLoad) else None
        if isinstance(load, ClientLoad):
            return NOTHING_SEEN  # the process that starts there is no server
        known = self.connects.get((contestant, workload, over_tls(load)), {})
        return Seen(
            start_ns=self.starts.get((contestant, workload)),
            connect_ns=_at(known, most_connections(load)),
            message_ns=(
                _message_at(
                    self.messages.get((contestant, workload, ramp.pacing), {}),
                    ramp.back_to_back,
                    language=contestant.partition("/")[0],
                )
                if ramp is not None
                else None
            ),
        )


NO_PACES = Paces()


def _at(known: Mapping[int, float], connections: int) -> float | None:
    """The time for so many connections, in proportion to the nearest number that is known, as long
    as a trial may take for them.
    """
    if not known:
        return None
    nearest = min(known, key=lambda one: (abs(math.log(connections / one)), one))
    longest = max(known[nearest], connections * PER_CONNECTION_NS)
    return min(known[nearest] * connections / nearest, longest)


def _message_at(known: Mapping[int, float], back_to_back: int, *, language: str) -> float | None:
    """The time of a message among so many, from the nearest number that is known, as the language's
    messages differ by it.
    """
    if not known:
        return None
    nearest = min(known, key=lambda one: (abs(math.log(back_to_back / one)), one))
    guessed = ramp_message_ns(language, back_to_back) / ramp_message_ns(language, nearest)
    return known[nearest] * guessed


def ramp_message_ns(language: str, back_to_back: int) -> float:
    """The time of a message of a ramp, whose connections each send so many back to back. What a
    server does for each time that it wakes up for a connection, and for each read and write of it,
    is shared by all messages that it then finds.
    """
    burst, message = RAMP_NS.get(language, OTHER_RAMP_NS)
    return burst / back_to_back + message


def warming_ns(contestant: Contestant, cell: Cell) -> int:
    """Estimated time that the contestant's runtime needs before each trial of this cell, beyond the
    warm-up that the cell has for all.
    """
    load = cell.load
    if not isinstance(load, ClientLoad):
        return lacking_ns(contestant, load)
    more = warmup_operations(contestant, load) - load.warmup
    return round(more * load.typical_ns * SLOWNESS.get(contestant.language, 1.0))


def trial_ns(cell: Cell, *, language: str, hardware_threads: int, seen: Seen = NOTHING_SEEN) -> int:
    """Estimated time of one trial of this cell, from the start of its processes to their end,
    without ``warming_ns()``. What is not ``seen`` is taken by language.
    """
    starting = seen.start_ns
    if starting is None:
        starting = START_NS.get(language, OTHER_START_NS)
    start = TRIAL_OVERHEAD_NS + round(starting)
    slowness = SLOWNESS.get(language, 1.0)

    connect_ns = TLS_CONNECT_NS if over_tls(cell.load) else CONNECT_NS

    def connecting(connections: int, each_ns: float = connect_ns) -> int:
        return round(connections * each_ns if seen.connect_ns is None else seen.connect_ns)

    match cell.load:
        case BroadcastLoad() as load:
            return start + load.warmup_ns + load.window_ns + connecting(load.connections)
        case ClosedLoad() | OpenLoad() as load:
            loaded = load.warmup_ns + load.window_ns + _last_replies_ns(load)
            return start + loaded + connecting(load.connections)
        case EachLoad() as load:
            threads = load.threads or hardware_threads
            turns = max(1.0, load.producers / threads)
            waiting = load.messages * (load.delay_ms * MS * turns + load.request_rtt_ns)
            if load.link is not None:
                # A link of its own. Half of the servers hold a thread for as long as a request is
                # on its way, and some pay for more round trips.
                start += LINK_START_NS
                waiting += load.messages * load.request_rtt_ns * (turns - 1) / 2
            serving = load.producers * load.messages * REQUEST_NS[load.policy] * slowness
            return start + round(waiting + serving)
        case RampLoad() as load:
            each = seen.message_ns
            if each is None:
                each = ramp_message_ns(language, load.back_to_back)
            loaded = round(load.total_messages * each)
            return start + connecting(load.rounds * load.add) + loaded
        case IdleLoad() as load:
            return start + load.window_ns + connecting(load.connections)
        case StormLoad() as load:
            again = start + connecting(load.connections) if load.restart else 0
            serving = round(load.connections * REQUEST_NS["reuse"] * slowness)
            return start + connecting(load.connections, CONNECT_NS * slowness) + serving + again
        case ClientLoad() as load:
            operations = load.warmup + load.operations
            return start + OTHER_START_NS + round(operations * load.typical_ns * slowness)


def _last_replies_ns(load: ClosedLoad | OpenLoad) -> int:
    """How long an overload's queue takes after the window, as far as the generator waits for it."""
    if not isinstance(load, OpenLoad) or load.share is None:
        return 0
    queued = max(0.0, load.share - 1) * (load.warmup_ns + load.window_ns)
    return min(round(queued), REPLY_TIMEOUT_NS)


def trial_of_ns(
    cell: Cell, contestant: Contestant, *, hardware_threads: int, paces: Paces = NO_PACES
) -> int:
    """Estimated time of one trial of this contestant."""
    return warming_ns(contestant, cell) + trial_ns(
        cell,
        language=contestant.language,
        hardware_threads=hardware_threads,
        seen=paces.of(cell, contestant.identity),
    )


def block_ns(
    cell: Cell,
    contestants: Iterable[Contestant],
    *,
    hardware_threads: int,
    paces: Paces = NO_PACES,
) -> int:
    """Estimated time of one block of these contestants, with the twin's twice among them."""
    return sum(
        trial_of_ns(cell, one, hardware_threads=hardware_threads, paces=paces)
        for one in contestants
    )


def moving_ns(contestants: int, *, min_blocks: int, repeats: int) -> int:
    """Estimated time to move the builds of the contestants for each repeat of the mandatory blocks
    but the first.
    """
    last = repeat_of(min_blocks, min_blocks=min_blocks, repeats=repeats)
    return (last - 1) * contestants * MOVE_NS


def build_ns(contestants: Iterable[str]) -> int:
    """Estimated time to build these contestants, which are not in the cache."""
    return sum(BUILD_NS.get(name.split("/")[0], OTHER_BUILD_NS) for name in contestants)


@dataclass(kw_only=True)
class Pace:
    """The time of a trial, from its estimate and the durations of trials already done."""

    estimated: dict[tuple[str, str], int]
    """Estimated nanoseconds of one trial by cell (``study.cell``) and entry."""
    _seen: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def add(self, cell: str, entry: str, elapsed_ns: int) -> None:
        self._seen.setdefault((cell, entry), []).append(elapsed_ns)

    def trial(self, cell: str, entry: str) -> int:
        """The mean of this entry's trials in the cell. Before its first trial: its estimate, scaled
        by the error of the others' estimates.
        """
        own = self._seen.get((cell, entry))
        if own:
            return sum(own) // len(own)
        estimate = self.estimated[cell, entry]
        seen = [
            (key, value)
            for key, values in self._seen.items()
            for value in values
            if key in self.estimated
        ]
        expected = sum(self.estimated[key] for key, _ in seen)
        return (
            round(estimate * sum(value for _, value in seen) / expected) if expected else estimate
        )
