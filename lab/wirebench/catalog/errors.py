"""What a wrong manifest, study or name is reported as."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError


class CatalogError(Exception):
    """A mistake in a file or a name the user wrote. The text is for the user: ``path: key: expected
    ..., got ...``.
    """


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
        got = "nothing" if item["type"] == "missing" else repr(item["input"])
        if item["type"] == "missing":
            expected = "a value"
        lines.append(f"{path}: {key}: expected {expected}, got {got}")
    return "\n".join(lines)
