"""Counts and shares in words."""

from __future__ import annotations

import pytest

from wirebench.catalog.units import count_of, parse_duration, share_text


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


@pytest.mark.parametrize("text", ["87600h", "5256000m", "0.5ms"])
def test_a_time_may_be_ten_years(text: str) -> None:
    assert parse_duration(text) > 0


@pytest.mark.parametrize("text", ["87601h", "9999999999h"])
def test_a_longer_time_is_said_to_be_too_long(text: str) -> None:
    with pytest.raises(ValueError, match="expected ten years at most"):
        parse_duration(text)
