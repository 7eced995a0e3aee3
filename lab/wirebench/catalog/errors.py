"""What a wrong manifest, study or name is reported as."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

_IN_WORDS = {
    "missing": "a value",
    "ip_v4_address": "an IPv4 address",
    "model_type": "a table",
}
"""What is expected, by pydantic's types of errors, where its own words are about the lab's code or
no part of a sentence.
"""


class CatalogError(Exception):
    """A mistake in a file or a name the user wrote. The text is for the user: ``path: key: expected
    ..., got ...``.
    """


class UnavailableError(CatalogError):
    """What the user wrote is right, and what it names is not there now."""


def explain(error: ValidationError, *, path: Path | str) -> str:
    """The errors of a file, one line each, in the form all of the lab's messages have."""
    lines = []
    for item in error.errors():
        key = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            lines.append(f"{path}: {key}: expected no such key, got {item['input']!r}")
            continue
        expected = item["msg"].removeprefix("Value error, ")
        expected = expected.removeprefix("Input should be ").removeprefix("expected ")
        expected = _IN_WORDS.get(item["type"], expected)
        got = "nothing" if item["type"] == "missing" else repr(item["input"])
        lines.append(f"{path}: {key}: expected {expected}, got {got}")
    return "\n".join(lines)
