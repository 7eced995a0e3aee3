"""Tables in Markdown, such as for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, figures: Iterable[int]
) -> Iterator[str]:
    """The lines of a table; ``figures`` are the columns that are set to the right."""
    right = set(figures)
    yield row(heads)
    yield row(["---:" if place in right else "---" for place in range(len(heads))])
    yield from map(row, rows)


def row(words: Iterable[str]) -> str:
    return "| " + " | ".join(one_line(one).replace("|", "\\|") for one in words) + " |"


def one_line(text: str) -> str:
    """On one line, and with nothing that Markdown or HTML would make something else of: last words
    of a server are anything, and a star stands before a footnote.
    """
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"[\\`*~]|(?<![^\W_])_|_(?![^\W_])|(?<=\])\(", r"\\\g<0>", plain)
