"""What a stored duel or gate compared, and what was said of it: A and B are names of that one
alone.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from wirebench.catalog.errors import explain_one
from wirebench.duel.plan import STUDY
from wirebench.store.jsonl import StoreError, read_whole
from wirebench.store.rundir import DUEL_FILE, StoredRun


@dataclass(frozen=True, kw_only=True)
class SaidSide:
    name: str
    given: str
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Said:
    """Of the document of a duel what people read."""

    load: str
    sides: tuple[SaidSide, ...]
    sentences: tuple[str, ...]


_SAID = TypeAdapter(Said)


def said_of(run: Path) -> Said:
    """Errors: ``StoreError``."""
    file = run / DUEL_FILE
    try:
        return _SAID.validate_python(read_whole(file))
    except ValidationError as error:
        raise StoreError(explain_one(error.errors()[0], path=file)) from error


def other_servers(first: StoredRun, second: StoredRun) -> str | None:
    """The servers of both, where two stored runs are duels of servers that are not the same; None
    where they can be compared.
    """
    one, other = given_of(first), given_of(second)
    if one == other:
        return None
    return f"{first.info.name} has {_shown(one)}, {second.info.name} has {_shown(other)}"


def given_of(run: StoredRun) -> tuple[str, ...]:
    """The servers of a duel or gate, as they were written; empty for a run of studies."""
    if run.info.selection.studies != (STUDY,) or run.plan is None:
        return ()
    # wirebench, the command, its servers, its options.
    words = run.info.command[2:]
    if "--git" in words:
        return words[:1]
    sides = {
        entry.contestant
        for cell in run.plan.cells
        for entry in cell.entries
        if entry.contestant not in cell.floors
    }
    return words[: len(sides)]


def _shown(given: tuple[str, ...]) -> str:
    return shlex.join(given) or "none"
