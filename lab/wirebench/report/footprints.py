"""What depending on the contestants costs, as the page shows it: from stored footprints; a report
measures nothing.

The first report of a run copies them to ``footprint.json`` in its directory, so that a report
rebuilt later, when versions have changed, still shows those of what was measured.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterable, Mapping

from pydantic import TypeAdapter, ValidationError

from wirebench.footprint import records
from wirebench.footprint.model import Footprint
from wirebench.footprint.table import (
    BUILDING,
    DEPENDING,
    HOW,
    NOT_KNOWN,
    columns_of,
    field,
    reasons,
    warnings,
)
from wirebench.report.facts import Facts
from wirebench.report.model import FootprintRow, FootprintsView
from wirebench.store.jsonl import StoreError, read_whole, write_whole
from wirebench.store.rundir import StoredRun

FOOTPRINT_FILE = "footprint.json"
_STORED = TypeAdapter(dict[str, Footprint])


def footprints_of(run: StoredRun, facts: Mapping[str, Facts]) -> Mapping[str, Footprint]:
    """By contestant: those of the versions that the run measured."""
    path = run.path / FOOTPRINT_FILE
    known: dict[str, Footprint] = {}
    if path.exists():
        try:
            known = _STORED.validate_python(read_whole(path))
        except (StoreError, ValidationError):
            known = {}
    kept = (records.read(run.path.parent, name) for name in facts if name not in known)
    found = {
        one.contestant: one
        for one in kept
        if one is not None and one.version == facts[one.contestant].version
    }
    if found:
        known |= found
        # A run directory that may only be read has its report all the same.
        with contextlib.suppress(OSError):
            texts = {name: records.document_of(one) for name, one in sorted(known.items())}
            write_whole(path, texts)
    return known


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
                version=one.version,
                fields=tuple(
                    (text, text != NOT_KNOWN)
                    for column in columns
                    for text in (field(one, column, day),)
                ),
            )
            for one in found
        ),
        how=HOW,
        warnings=tuple((one.contestant, line) for one in found for line in warnings(one)),
        reasons=tuple(reasons(found, (*DEPENDING, *BUILDING), day)),
        audited=tuple(sorted({one.audit.snapshot for one in found if one.audit is not None})),
        missing=missing,
        command=f"wirebench footprint {','.join(missing)}" if missing else "",
    )
