"""What a wrong manifest, study or name is reported as."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

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
    return "\n".join(explain_one(item, path=path) for item in error.errors())


def explain_one(item: ErrorDetails, *, path: Path | str) -> str:
    """One of ``ValidationError.errors()``."""
    key = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"{path}: {key}: expected no such key, got {item['input']!r}"
    got = "nothing" if item["type"] == "missing" else repr(item["input"])
    return f"{path}: {key}: expected {_expected(item)}, got {got}"


def _expected(item: ErrorDetails) -> str:
    if item["type"] == "string_pattern_mismatch":
        return f"text that matches {item['ctx']['pattern']}"
    # Such as "List should have at least 1 item after validation, not 0".
    said = re.sub(r" after validation, not \d+$", "", item["msg"].removeprefix("Value error, "))
    said = re.sub(r"^(\w+ should (be|have) |expected )", "", said)
    return _IN_WORDS.get(item["type"], said)
