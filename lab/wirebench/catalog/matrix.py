"""One ``[[cells]]`` entry of a study as the cells it stands for.

``over = { key = [...] }`` gives one cell for each combination of the listed values. ``rows`` is a
table: the first row names keys, each other row gives their values, and a list in a row stands for
each of its values in turn.

In the id and the title ``{key}`` stands for the cell's value of one of these keys. ``words`` adds
names: with ``words.connection.policy = { reuse = "kept", new = "new" }``, ``{connection}`` stands
for ``kept`` or ``new`` as the cell's policy is.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from wirebench.catalog.errors import CatalogError

_NAMED = ("id", "title")
_OWN = ("over", "rows", "words")


def cells_of(entry: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    """The cells as an entry without ``over``, ``rows`` and ``words`` would have each, in the order
    of the file; the last of several keys varies fastest. ``where`` begins what errors say.
    """
    shared = {key: value for key, value in entry.items() if key not in _OWN}
    for values in _combinations(entry, where):
        cell = {**shared, **values}
        braces = {**values, **_words(entry.get("words", {}), cell, f"{where}.words")}
        for key in _NAMED:
            if braces and isinstance(cell.get(key), str):
                cell[key] = _substitute(cell[key], braces, f"{where}.{key}")
        yield cell


def _combinations(entry: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    if "over" in entry and "rows" in entry:
        raise CatalogError(f"{where}: expected over or rows, got both")
    if "rows" in entry:
        yield from _of_rows(entry["rows"], f"{where}.rows")
    elif "over" in entry:
        yield from _of_axes(entry["over"], f"{where}.over")
    else:
        yield {}


def _of_axes(over: object, where: str) -> Iterator[dict[str, Any]]:
    if not isinstance(over, dict) or not all(
        isinstance(values, list) and values for values in over.values()
    ):
        raise CatalogError(f"{where}: expected a table of lists, got {over!r}")
    yield from _product(over)


def _of_rows(rows: object, where: str) -> Iterator[dict[str, Any]]:
    if not isinstance(rows, list) or len(rows) < 2 or not all(isinstance(r, list) for r in rows):
        raise CatalogError(f"{where}: expected a row of keys and rows of values, got {rows!r}")
    keys, *others = rows
    if not all(isinstance(key, str) for key in keys) or len(set(keys)) < len(keys):
        raise CatalogError(f"{where}.0: expected keys that differ, got {keys!r}")
    for number, row in enumerate(others, 1):
        if len(row) != len(keys) or [] in row:
            raise CatalogError(
                f"{where}.{number}: expected a value for each of {', '.join(keys)}, got {row!r}"
            )
        listed = [value if isinstance(value, list) else [value] for value in row]
        yield from _product(dict(zip(keys, listed, strict=True)))


def _product(axes: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for combination in itertools.product(*axes.values()):
        yield dict(zip(axes, combination, strict=True))


def _words(words: object, cell: Mapping[str, Any], where: str) -> dict[str, str]:
    """What the names in ``words`` stand for in this cell."""
    if not isinstance(words, dict):
        raise CatalogError(f"{where}: expected a table, got {words!r}")
    found: dict[str, str] = {}
    for name, by_key in words.items():
        if not isinstance(by_key, dict) or len(by_key) != 1:
            raise CatalogError(f"{where}.{name}: expected a table of one key, got {by_key!r}")
        ((key, texts),) = by_key.items()
        if key not in cell:
            raise CatalogError(f"{where}.{name}: expected a key of the cell, got {key!r}")
        text = texts.get(str(cell[key])) if isinstance(texts, dict) else None
        if not isinstance(text, str):
            raise CatalogError(
                f"{where}.{name}.{key}: expected a text for {cell[key]!r}, got {texts!r}"
            )
        found[name] = text
    return found


def _substitute(text: str, values: Mapping[str, object], where: str) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise CatalogError(
                f"{where}: expected one of {', '.join(values)} in braces, got {match[1]!r}"
            )
        return str(values[match[1]])

    return re.sub(r"\{(\w+)\}", value, text)
