"""Shares in words."""

from __future__ import annotations

import pytest

from wirebench.catalog.units import share_text


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
