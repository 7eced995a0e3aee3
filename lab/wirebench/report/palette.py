"""Colours. Mid-tones that stand out on white and on near-black, so that one chart serves both themes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

BEST = "#1a9850"
WORST = "#d73027"
NEUTRAL = "#3b82c4"
GREY = "#8a8f98"

MARKS: Mapping[str, str] = {"best": BEST, "worst": WORST, "middle": NEUTRAL, "tie": GREY, "reference": GREY}

_LINES = (
    "#3b82c4",
    "#e07b00",
    "#1f9d73",
    "#c2408f",
    "#8a6fd1",
    "#c7483b",
    "#0fa3b1",
    "#a58419",
    "#6b8e23",
    "#d9738f",
    "#5c7fa8",
    "#b5651d",
)
_DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 2))


def colours(contestants: Iterable[str], *, floors: Iterable[str]) -> dict[str, str]:
    """One for each contestant, the same in all charts of a run; the floor is grey."""
    grey = set(floors)
    found = dict.fromkeys(sorted(grey), GREY)
    others = sorted(set(contestants) - grey)
    return found | {name: _LINES[index % len(_LINES)] for index, name in enumerate(others)}


def dashes(contestants: Iterable[str], *, floors: Iterable[str]) -> dict[str, list[int]]:
    """Solid until the colours repeat; the floor is dotted."""
    grey = set(floors)
    found = {name: list(_DASHES[2]) for name in sorted(grey)}
    others = sorted(set(contestants) - grey)
    return found | {name: list(_DASHES[min(index // len(_LINES), 2)]) for index, name in enumerate(others)}
