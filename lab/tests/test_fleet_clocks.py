"""The offset of another host's clock, with clocks and ways that are known."""

from __future__ import annotations

import pytest

from wirebench.fleet.clocks import Clock, Exchange, best_of, compare_clocks

OFFSET = 5_000_000_000


class Far:
    """A host whose clock is ``OFFSET`` ahead; each exchange takes so long there and back."""

    def __init__(self, *ways: tuple[int, int]) -> None:
        self.now, self._ways = 1_000, list(ways)

    def clock_ns(self) -> int:
        return self.now

    def ask(self) -> int:
        there, back = self._ways.pop(0)
        self.now += there
        read = self.now + OFFSET
        self.now += back
        return read


def test_the_quickest_exchange_counts() -> None:
    far = Far((900, 100), (60, 40), (5_000, 10))
    clock = compare_clocks(far.ask, count=3, clock_ns=far.clock_ns)
    assert clock == Clock(offset_ns=OFFSET + 10, round_trip_ns=100)


@pytest.mark.parametrize("ways", [(100, 0), (0, 100), (50, 50), (33, 68)])
def test_the_offset_is_wrong_by_half_of_the_round_trip_at_most(ways: tuple[int, int]) -> None:
    far = Far(ways)
    clock = compare_clocks(far.ask, count=1, clock_ns=far.clock_ns)
    assert abs(clock.offset_ns - OFFSET) <= clock.uncertainty_ns


def test_a_moment_here_is_told_by_the_clock_there() -> None:
    clock = Exchange(asked_ns=10, there_ns=110, answered_ns=10).clock
    assert clock.there(1_000) == 1_100
    assert clock.uncertainty_ns == 0


def test_without_an_exchange_nothing_is_known() -> None:
    with pytest.raises(ValueError, match="empty"):
        best_of([])
