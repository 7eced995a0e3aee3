"""What a report takes from beside its run, and keeps in the run's directory: a report that is
rebuilt later, when versions have changed, still shows what there was of what was measured.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from wirebench.store.jsonl import StoreError, read_whole, write_whole

Kept = TypeVar("Kept")


def remembered(
    path: Path,
    stored: TypeAdapter[dict[str, Kept]],
    find: Callable[[Container[str]], Mapping[str, Kept]],
    document_of: Callable[[Kept], object],
) -> Mapping[str, Kept]:
    """What is in the file, and what ``find`` finds beyond those names, which is written to it."""
    known: dict[str, Kept] = {}
    if path.exists():
        try:
            known = stored.validate_python(read_whole(path))
        except (StoreError, ValidationError):
            known = {}
    found = find(known.keys())
    if found:
        known |= found
        # A run directory that may only be read has its report all the same.
        with contextlib.suppress(OSError):
            write_whole(path, {name: document_of(one) for name, one in sorted(known.items())})
    return known
