"""Tables in Markdown, such as for a pull request."""

from __future__ import annotations

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
    """On one line, and without HTML: last words of a server are anything."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
