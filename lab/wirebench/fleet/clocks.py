"""How far the steady clock of another host is from this one's: the exchange with the least round
trip of several says it best (Cristian 1989; RFC 5905, section 10, calls it the clock filter).

A host answers with its clock. The reading was made somewhere between our question and its answer,
so half of the round trip is the most that the offset can be wrong by, whichever way takes longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

EXCHANGES = 20
"""Our own choice."""


@dataclass(frozen=True, kw_only=True)
class Clock:
    """The steady clock of a host beside this one's, at one moment."""

    offset_ns: int
    """Its reading less ours."""
    round_trip_ns: int

    @property
    def uncertainty_ns(self) -> int:
        """The offset is wrong by at most this."""
        return (self.round_trip_ns + 1) // 2

    def there(self, here_ns: int) -> int:
        """What the host's clock shows when ours shows this."""
        return here_ns + self.offset_ns


@dataclass(frozen=True, kw_only=True)
class Exchange:
    asked_ns: int
    """By our clock."""
    there_ns: int
    """By the host's."""
    answered_ns: int

    @property
    def clock(self) -> Clock:
        round_trip = self.answered_ns - self.asked_ns
        return Clock(
            offset_ns=self.there_ns - (self.asked_ns + round_trip // 2), round_trip_ns=round_trip
        )


def best_of(exchanges: Iterable[Exchange]) -> Clock:
    """``ValueError`` without any."""
    return min((one.clock for one in exchanges), key=lambda clock: clock.round_trip_ns)


def compare_clocks(
    ask: Callable[[], int],
    *,
    count: int = EXCHANGES,
    clock_ns: Callable[[], int] = time.monotonic_ns,
) -> Clock:
    """``ask`` returns the other clock's reading."""
    found = []
    for _ in range(count):
        asked = clock_ns()
        there = ask()
        found.append(Exchange(asked_ns=asked, there_ns=there, answered_ns=clock_ns()))
    return best_of(found)
