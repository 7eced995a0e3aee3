"""Of a host's runs, which stands beside which part of an article."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from wirebench.catalog.published import Artefact, Claim, Published, PublishedTable
from wirebench.catalog.studies import Study
from wirebench.store.jsonl import StoreError
from wirebench.store.rundir import complete_runs, read_plan

PRESETS = ("hour", "evening", "published", "quick", "full")
"""Where a run that would test a claim is looked for, in this order."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What one figure needs of a run."""

    cells: tuple[str, ...]
    """Any of these, the nearest first."""
    contestants: tuple[str, ...]
    """Any of these."""


Has = Mapping[str, AbstractSet[str]]
"""The contestants of each cell that a run has of the study."""


def of_table(published: Published, table: PublishedTable) -> list[Wanted]:
    return [
        Wanted(
            cells=(row.cell, *(one.cell for one in table.instead if one.of == row.cell)),
            contestants=_with_fallback(published, row.contestant),
        )
        for row in table.rows
        if row.cell is not None and row.contestant is not None
    ]


def of_artefact(artefact: Artefact) -> list[Wanted]:
    return [
        Wanted(cells=(cell,), contestants=(artefact.contestant,))
        for cell in (artefact.off, artefact.on)
    ]


def of_claim(published: Published, claim: Claim) -> list[Wanted]:
    return [
        Wanted(
            cells=published.measures[one.at].cells,
            contestants=_with_fallback(published, contestant),
        )
        for one in claim.predictions
        for contestant in one.contestants
    ]


def _with_fallback(published: Published, contestant: str) -> tuple[str, ...]:
    fallback = published.fallbacks.get(contestant)
    return (contestant,) if fallback is None else (contestant, fallback.contestant)


def runs_of(results: Path, study: str) -> list[tuple[Path, Has]]:
    """The complete runs with cells of the study, the newest first, of the host of the newest. Runs
    that cannot be read are passed over.
    """
    found: list[tuple[Path, Has]] = []
    known = ""
    for path, host in complete_runs(results):
        if known and host != known:
            continue
        try:
            plan = read_plan(path)
        except StoreError:
            continue
        has = {
            cell.cell.id: {entry.contestant for entry in cell.entries}
            for cell in (plan.cells if plan is not None else ())
            if cell.study == study
        }
        if has:
            known = host
            found.append((path, has))
    return found


def best(runs: Sequence[tuple[Path, Has]], wanted: Sequence[Wanted]) -> Path | None:
    """The run with most figures in their nearest cell, then with most figures at all, then the
    newest. None: no run has any. ``runs``: the newest first.
    """
    scored = [(score(has, wanted), path) for path, has in runs]
    (_, figures), path = max(scored, key=lambda one: one[0], default=((0, 0), None))
    return path if figures else None


def score(has: Has, wanted: Sequence[Wanted]) -> tuple[int, int]:
    """How many figures the run has in their nearest cell, and how many at all."""

    def shows(cell: str, contestants: Sequence[str]) -> bool:
        return not has.get(cell, frozenset()).isdisjoint(contestants)

    return (
        sum(shows(one.cells[0], one.contestants) for one in wanted),
        sum(any(shows(cell, one.contestants) for cell in one.cells) for one in wanted),
    )


def command_for(wanted: Sequence[Wanted], study: Study) -> str:
    """A run of most of these figures, rather by the preset that is the article's, and by ``full``,
    which takes days, only where no other has as many.
    """
    names = dict.fromkeys(("published", *PRESETS, *study.presets))
    del names["full"]
    known = [study.presets[name] for name in (*names, "full") if name in study.presets]

    def figures(cells: AbstractSet[str]) -> int:
        return sum(not cells.isdisjoint(one.cells) for one in wanted)

    preset = max(known, key=lambda one: figures({cell.id for cell in one.cells}))
    command = f"wirebench run {study.name} --preset {preset.name}"
    if preset.name != "full":
        return command
    cells = dict.fromkeys(_first(one, {cell.id for cell in preset.cells}) for one in wanted)
    contestants = dict.fromkeys(name for one in wanted for name in one.contestants)
    return f"{command} --cells {','.join(filter(None, cells))} --only {','.join(contestants)}"


def _first(wanted: Wanted, cells: AbstractSet[str]) -> str:
    return next((one for one in wanted.cells if one in cells), "")
