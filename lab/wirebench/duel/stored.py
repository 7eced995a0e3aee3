"""What a stored duel or gate compared: A and B are names of that one alone."""

from __future__ import annotations

import shlex

from wirebench.duel.plan import STUDY
from wirebench.store.rundir import StoredRun


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
