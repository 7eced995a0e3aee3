"""What depending on the contestants costs, as the page shows it: from stored footprints; a report
measures nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Container, Iterable, Mapping

from pydantic import TypeAdapter

from wirebench.footprint import records
from wirebench.footprint.model import Footprint
from wirebench.footprint.table import (
    HOW,
    columns_of,
    field,
    reasons,
    warnings,
)
from wirebench.report.facts import Facts
from wirebench.report.model import FootprintField, FootprintRow, FootprintsView
from wirebench.report.remembered import remembered
from wirebench.store.rundir import StoredRun

FOOTPRINT_FILE = "footprint.json"
_STORED = TypeAdapter(dict[str, Footprint])


def footprints_of(run: StoredRun, facts: Mapping[str, Facts]) -> Mapping[str, Footprint]:
    """By contestant: those of the versions that the run measured, of its role there if known."""
    served = {
        entry.contestant
        for cell in (run.plan.cells if run.plan is not None else ())
        if cell.role == "server"
        for entry in cell.entries
    }

    def find(known: Container[str]) -> Mapping[str, Footprint]:
        kept = (
            records.read_either(run.path.parent, name, "server" if name in served else "client")
            for name in facts
            if name not in known
        )
        return {
            one.contestant: one
            for one in kept
            if one is not None and one.version == facts[one.contestant].version
        }

    return remembered(run.path / FOOTPRINT_FILE, _STORED, find, records.document_of)


def footprints_view(
    names: Iterable[str], known: Mapping[str, Footprint], day: datetime.date
) -> FootprintsView:
    """``day``: ages are those of that day."""
    wanted = sorted(names)
    found = [known[name] for name in wanted if name in known]
    missing = tuple(name for name in wanted if name not in known)
    columns = columns_of(found)
    return FootprintsView(
        columns=tuple(one.title for one in columns),
        rows=tuple(
            FootprintRow(
                contestant=one.contestant,
                version=f"{one.version}, as a {one.role}",
                fields=tuple(
                    FootprintField(text=field(one, column, day), value=column.value(one, day))
                    for column in columns
                ),
            )
            for one in found
        ),
        how=HOW,
        warnings=tuple((one.contestant, line) for one in found for line in warnings(one)),
        reasons=tuple(reasons(found, columns, day)),
        audited=tuple(sorted({one.audit.snapshot for one in found if one.audit is not None})),
        missing=missing,
        command=f"wirebench footprint {','.join(missing)}" if missing else "",
    )
