"""A run as wide as runs get: a cell of every kind of all four studies, the contestants with the
longest names, something wrong with some of them, and all that a report shows beside a run.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path

from synthetic_footprint import footprint
from synthetic_run import write_run
from synthetic_world import FLOOR, ROOT, World, studies
from wirebench.catalog import load_catalog
from wirebench.catalog.loads import OpenLoad, link_of, over_tls
from wirebench.catalog.model import FEATURES
from wirebench.catalog.studies import Cell, Study
from wirebench.footprint import records
from wirebench.footprint.model import Advisory, Audit, Spoken, Using
from wirebench.report.facts import facts_of
from wirebench.store import observed
from wirebench.store.rundir import read_run
from wirebench.trial.phases import PHASES

MANY, FEW = 18, 4
"""Contestants of the study with the widest tables, and of the others: the analysis compares all
pairs.
"""
WIDEST = "websocket"
SEEN: Mapping[observed.Kind, tuple[str, ...]] = {
    "syscalls": ("epoll_wait", "recvfrom", "sendto", "futex", "clock_gettime", "timerfd_settime"),
    "phases": PHASES,
}


def write_crowded_run(results: Path) -> Path:
    """Its path."""
    names = longest_names()
    known = studies()
    path = write_run(
        results,
        World(
            cells={name: of_every_kind(study) for name, study in known.items()},
            costs={name: _costs(names if name == WIDEST else names[:FEW]) for name in known},
            failing=names[1:3],
            samples=40,
            generator_per_s=40_000,
        ),
    )
    _beside(results, path)
    return path


def _costs(names: Sequence[str]) -> Mapping[str, float]:
    return {name: 1.0 + 0.35 * place for place, name in enumerate((FLOOR, *names))}


def longest_names() -> tuple[str, ...]:
    known = load_catalog(ROOT).contestants
    by_length = sorted(set(known) - {FLOOR}, key=lambda name: (-len(name), name))
    return tuple(sorted(by_length[:MANY]))


def of_every_kind(study: Study) -> tuple[Cell, ...]:
    """One of the study's cells of each kind, and those that they are shares of, in an order in
    which a capacity comes before its shares.
    """
    cells = {cell.id: cell for preset in study.presets.values() for cell in preset.cells}
    found: dict[tuple[object, ...], Cell] = {}
    for cell in cells.values():
        found.setdefault(_kind_of(cell), cell)
    wanted = {cell.id for cell in found.values()}
    wanted |= {of for cell in found.values() if (of := _capacity_of(cell)) is not None}
    ordered = [cell for cell in cells.values() if cell.id in wanted]
    return tuple(sorted(ordered, key=lambda cell: _capacity_of(cell) is not None))


def _capacity_of(cell: Cell) -> str | None:
    return cell.load.of if isinstance(cell.load, OpenLoad) else None


def _kind_of(cell: Cell) -> tuple[object, ...]:
    """What a table or a chart of the cell may depend on: which figures there are, and of what."""
    load = cell.load
    said = [value for name in _SAID if (value := getattr(load, name, None)) is not None]
    overload = isinstance(load, OpenLoad) and load.overload
    return (cell.kind, cell.primary, link_of(load) is not None, over_tls(load), overload, *said)


_SAID = ("cores", "restart", "policy", "method", "host", "server", "resumption", "pacing")


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
