"""Durations and sizes as text. The lab keeps integers of nanoseconds and bytes everywhere else."""

from __future__ import annotations

import re
from collections.abc import Sequence

Units = Sequence[tuple[float, str]]
"""The size of each unit and its sign, the largest first."""

BYTES: Units = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
TIMES: Units = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))


def scaled(value: float, units: Units) -> str:
    """Three digits in the largest unit that leaves at least 1."""
    for size, unit in units:
        if abs(value) >= size * 0.9995:
            return f"{value / size:.{_digits(value / size)}f} {unit}"
    return f"{value / units[-1][0]:.3g} {units[-1][1]}"


def scaled_with_interval(value: float, low: float, high: float, units: Units) -> str:
    """``12.3 [11.9, 12.8] µs``: all three in the unit of the largest, with its digits."""
    largest = max(abs(value), abs(low), abs(high))
    size, unit = next((one for one in units if largest >= one[0] * 0.9995), units[-1])
    digits = _digits(largest / size)
    text, low_text, high_text = (f"{one / size:z.{digits}f}" for one in (value, low, high))
    return f"{text} [{low_text}, {high_text}] {unit}"


def _digits(number: float) -> int:
    """How many after the point leave three digits."""
    return 0 if abs(number) >= 99.95 else 1 if abs(number) >= 9.995 else 2


def duration(ns: float) -> str:
    """A measured time: ``18.9 µs``."""
    return scaled(ns, TIMES)


def rough_duration(ns: int) -> str:
    """An estimate, or the time of a whole run: ``45 s``, ``3 min 05 s``, ``2 h 10 min``."""
    seconds = max(0, round(ns / 1e9))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60:02d} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"


def exact_duration(ns: int) -> str:
    """As a command takes it, in the largest unit that is exact; cut to microseconds."""
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000)):
        if ns % size == 0:
            return f"{ns // size}{unit}"
    return f"{ns // 1000}us"


_WRITTEN = {
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}


_DURATION = r"(\d{1,10}(?:\.\d+)?)(us|ms|s|m|h)"
_LONGEST_NS = 10 * 365 * 24 * 3_600_000_000_000
"""Ten years, as wireload has it: what is longer fails every trial."""


def parse_duration(text: object) -> int:
    """``500ms``, ``10s``, ``5m`` as integer nanoseconds."""
    match = re.fullmatch(_DURATION, text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("expected a duration such as '500ms', '10s' or '5m'")
    ns = round(float(match[1]) * _WRITTEN[match[2]])
    if ns > _LONGEST_NS:
        raise ValueError("expected ten years at most")
    return ns


def share_text(share: float, *, digits: int = 1) -> str:
    """A share as a percentage. What is short of all is not rounded to 100%, and what is more than
    nothing not to 0%: "99.9%", "<0.1%".
    """
    least = 10.0 ** -(digits + 2)
    if 0 < share < least / 2:
        return f"<{least:.{digits}%}"
    return f"{min(share, 1 - least) if share < 1 else share:.{digits}%}"


def count_of(number: int, what: str, several: str | None = None) -> str:
    """Such as "1 block" or "2,000 blocks"; ``what`` in the singular. ``several``: its plural, where
    that is not an s more.
    """
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"
