"""What is seen of clients outside timed trials and kept for reports: one file for each kind, cell
and contestant, below ``results/observed``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from pydantic import TypeAdapter, ValidationError

from wirebench.store.jsonl import StoreError, read_whole, write_whole

FOLDER = "observed"

Kind = Literal["phases", "syscalls"]
"""``phases``: medians in ns. ``syscalls``: calls for one operation, by name."""


@dataclass(frozen=True, kw_only=True)
class Observed:
    kind: Kind
    cell: str
    contestant: str
    version: str
    """Of the library."""
    host_id: str
    operations: int
    figures: Mapping[str, float]


ADAPTER = TypeAdapter(Observed)


def write(results: Path, one: Observed) -> None:
    """Replaces what was seen before."""
    path = results / FOLDER / one.kind / one.cell / f"{one.contestant}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, document_of(one))


def document_of(one: Observed) -> dict[str, object]:
    return asdict(one)


def read_all(results: Path) -> tuple[Observed, ...]:
    """Those that this version of the lab can read."""
    found = []
    for kind in get_args(Kind):
        for path in sorted((results / FOLDER / kind).glob("*/*/*.json")):
            try:
                found.append(ADAPTER.validate_python(read_whole(path)))
            except (StoreError, ValidationError):
                continue
    return tuple(found)
