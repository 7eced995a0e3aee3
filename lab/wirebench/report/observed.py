"""What ``wirebench phases`` and ``wirebench syscalls`` saw of clients, as tables: in the terminal
and, of the contestants and cells of a run, in its report, which measures nothing itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from wirebench.catalog.studies import Cell
from wirebench.catalog.units import duration
from wirebench.report.facts import Facts
from wirebench.report.model import TableView
from wirebench.report.remembered import remembered
from wirebench.store.observed import Kind, Observed, document_of, read_all
from wirebench.store.rundir import StoredRun
from wirebench.trial.phases import PHASES

OBSERVED_FILE = "observed.json"
_STORED = TypeAdapter(dict[str, Observed])
_MOST_NAMES = 6

Figures = Mapping[str, Mapping[str, float]]
"""By contestant."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    columns: tuple[str, ...]
    """Without that of the contestant."""
    rows: tuple[tuple[str, ...], ...]
    """The least first. The first of each is the contestant."""


def phase_rows(found: Figures) -> Rows:
    """Medians in ns."""
    shown = [phase for phase in PHASES if any(phase in one for one in found.values())]
    return Rows(
        columns=tuple(shown),
        rows=tuple(
            (name, *(duration(one[phase]) if phase in one else "" for phase in shown))
            for name, one in _least_first(found)
        ),
    )


def call_rows(found: Figures) -> Rows:
    """Calls for one operation, by name."""
    rows = []
    for name, one in _least_first(found):
        calls = sorted(one.items(), key=lambda call: (-call[1], call[0]))
        parts = [f"{call} {count:.1f}" for call, count in calls[:_MOST_NAMES]]
        rest = sum(count for _, count in calls[_MOST_NAMES:])
        parts += [f"others {rest:.1f}"] if rest else []
        rows.append((name, f"{sum(one.values()):.1f}", ", ".join(parts)))
    return Rows(columns=("calls", "of which"), rows=tuple(rows))


def _least_first(found: Figures) -> list[tuple[str, Mapping[str, float]]]:
    return sorted(found.items(), key=lambda one: (sum(one[1].values()), one[0]))


def title_of(kind: Kind, cell: Cell) -> str:
    what = "Phases of one operation" if kind == "phases" else "System calls for one operation"
    return f"{what}: {cell.title}"


_HOW: Mapping[Kind, str] = {
    "phases": "Medians, by a proxy that stamps what passes, in runs of their own. The proxy's time"
    " is in handshake, wait and receive, alike for all; connect, start and send are the client's.",
    "syscalls": "Counted by strace in runs of their own, of which nothing is timed.",
}
_ROWS = {"phases": phase_rows, "syscalls": call_rows}


def observed_of(run: StoredRun, facts: Mapping[str, Facts]) -> tuple[Observed, ...]:
    """Those of the versions that the run measured, on its host."""
    host = str(run.host.get("host_id", ""))

    def find(known: Container[str]) -> Mapping[str, Observed]:
        return {
            key: one
            for one in read_all(run.path.parent)
            if (key := f"{one.kind} {one.cell} {one.contestant}") not in known
            and one.host_id == host
            and one.contestant in facts
            and one.version == facts[one.contestant].version
        }

    return tuple(remembered(run.path / OBSERVED_FILE, _STORED, find, document_of).values())


def observed_tables(
    cells: Iterable[tuple[Cell, Sequence[str]]], observed: Iterable[Observed]
) -> Iterable[TableView]:
    """A table for each kind and cell of which something was seen. ``cells``: with the contestants
    in them.
    """
    seen: dict[tuple[Kind, str], dict[str, Mapping[str, float]]] = {}
    for one in observed:
        seen.setdefault((one.kind, one.cell), {})[one.contestant] = one.figures
    for cell, names in cells:
        for kind, how in _HOW.items():
            found = {
                name: figures
                for name, figures in seen.get((kind, cell.id), {}).items()
                if name in names
            }
            if not found:
                continue
            missing = sorted(set(names) - set(found))
            command = shlex.join(["wirebench", kind, "--cell", cell.id, *missing])
            table = _ROWS[kind](found)
            yield TableView(
                title=title_of(kind, cell),
                how=f"{how} Not seen: {', '.join(missing)} ({command})." if missing else how,
                columns=table.columns,
                rows=table.rows,
            )
