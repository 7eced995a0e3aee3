"""A run as wide as runs get: a cell of every kind of all four studies, the contestants with the
longest names, something wrong with some of them, and all that a report shows beside a run.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from synthetic_footprint import footprint
from synthetic_run import write_run
from synthetic_world import FLOOR, ROOT, World, studies
from wirebench.catalog import load_catalog
from wirebench.catalog.model import FEATURES
from wirebench.catalog.studies import Cell, Study
from wirebench.footprint import records
from wirebench.footprint.model import Advisory, Audit, Spoken, Using
from wirebench.report.facts import facts_of
from wirebench.store import observed
from wirebench.store.rundir import read_run
from wirebench.trial.phases import PHASES

CONTESTANTS = 20
SEEN: Mapping[observed.Kind, tuple[str, ...]] = {
    "syscalls": ("epoll_wait", "recvfrom", "sendto", "futex", "clock_gettime", "timerfd_settime"),
    "phases": PHASES,
}


def write_crowded_run(results: Path) -> Path:
    """Its path."""
    names = longest_names()
    costs = {name: 1.0 + 0.35 * place for place, name in enumerate((FLOOR, *names))}
    known = studies()
    path = write_run(
        results,
        World(
            cells={name: of_every_kind(study) for name, study in known.items()},
            costs=dict.fromkeys(known, costs),
            failing=names[1:3],
            samples=40,
            generator_per_s=40_000,
        ),
    )
    _beside(results, path)
    return path


def longest_names() -> tuple[str, ...]:
    known = load_catalog(ROOT).contestants
    by_length = sorted(set(known) - {FLOOR}, key=lambda name: (-len(name), name))
    return tuple(sorted(by_length[: CONTESTANTS - 1]))


def of_every_kind(study: Study) -> tuple[Cell, ...]:
    """The study's cells that differ by more than an amount, in the order of its presets; and the
    cells that those are shares of.
    """
    cells = {cell.id: cell for preset in study.presets.values() for cell in preset.cells}
    found: dict[tuple[object, ...], Cell] = {}
    for cell in cells.values():
        found.setdefault(_kind_of(cell), cell)
    wanted = {cell.id for cell in found.values()}
    wanted |= {str(getattr(cell.load, "of", None)) for cell in found.values()}
    ordered = [cell for cell in cells.values() if cell.id in wanted]
    return tuple(sorted(ordered, key=lambda cell: getattr(cell.load, "of", None) is not None))


def _kind_of(cell: Cell) -> tuple[object, ...]:
    """What is not a number of the load; of a share of a capacity, the share too."""
    values = {one.name: getattr(cell.load, one.name) for one in fields(cell.load)}
    said = (
        (name, str(value))
        for name, value in values.items()
        if name == "share" or isinstance(value, bool) or not isinstance(value, int | float)
    )
    return (cell.kind, cell.workload, cell.primary, *said)


def _beside(results: Path, path: Path) -> None:
    """Footprints, and what was seen of clients outside trials."""
    run = read_run(path)
    assert run.plan is not None
    facts = facts_of(run)
    for name in facts:
        one = footprint(
            name,
            version=facts[name].version,
            features=tuple(
                Spoken(feature=feature, has=place % 3 == 0, probed=place % 2 == 0)
                for place, feature in enumerate(FEATURES)
            ),
            using=Using(
                includes=("a_library/with/folders/server.hpp", "a_library/router.hpp"),
                links=("a_library", "another_library", "ssl", "crypto"),
                standard="C++20",
            ),
            audit=Audit(
                snapshot="2026-01-30",
                found=(Advisory(id="CVE-2026-0001", package="a", version="1.0"),),
                unchecked=("b",),
            ),
            released=datetime.date(2019, 5, 1),
        )
        records.write(results, one)
    cell = next(cell for cell in run.plan.cells if cell.role == "client")
    for name in facts:
        for kind, of_what in SEEN.items():
            observed.write(
                results,
                observed.Observed(
                    kind=kind,
                    cell=cell.cell.id,
                    contestant=name,
                    version=facts[name].version,
                    host_id=str(run.host["host_id"]),
                    operations=200,
                    figures=dict.fromkeys(of_what, 12345.0),
                ),
            )
