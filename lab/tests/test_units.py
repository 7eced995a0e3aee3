"""Counts and shares in words."""

from __future__ import annotations

import pytest

from wirebench.catalog.units import count_of, share_text


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("block",), "0 blocks"),
        (1, ("block",), "1 block"),
        (2, ("valid block",), "2 valid blocks"),
        (10_000, ("connection",), "10,000 connections"),
        (1, ("entry", "entries"), "1 entry"),
        (3, ("entry", "entries"), "3 entries"),
        (0, ("process", "processes"), "0 processes"),
    ],
)
def test_one_is_no_plural(number: int, words: tuple[str, ...], text: str) -> None:
    assert count_of(number, *words) == text


@pytest.mark.parametrize(
    ("share", "digits", "text"),
    [
        (0.0, 1, "0.0%"),
        (1e-7, 1, "<0.1%"),
        (0.0004, 1, "<0.1%"),
        (0.001, 1, "0.1%"),
        (0.5, 1, "50.0%"),
        (0.99996, 1, "99.9%"),
        (0.99996, 2, "99.99%"),
        (1 - 1e-15, 2, "99.99%"),
        (1.0, 1, "100.0%"),
        (1.25, 0, "125%"),
        (0.002, 0, "<1%"),
    ],
)
def test_all_and_nothing_are_only_what_they_are(share: float, digits: int, text: str) -> None:
    assert share_text(share, digits=digits) == text
