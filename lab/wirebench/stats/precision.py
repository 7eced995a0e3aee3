"""How precise the intervals of a cell are, and how precise they will probably be.

``results/precision.jsonl`` keeps the widest interval of each cell of each complete run, so that the
next run on this host can say beforehand what its blocks will probably give.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from wirebench.stats.types import CellAnalysis, RunAnalysis
from wirebench.store.kept import append_records, read_records
from wirebench.store.rundir import StoredRun

PRECISION_FILE = "precision.jsonl"


@dataclass(frozen=True, kw_only=True)
class Precision:
    """The widest interval of a cell: of which entry, and from how many blocks."""

    entry: str
    half_width: float
    """Half of the interval of the logarithm of the ratio to the floor, as a share: 0.02 is +/- 2%.
    """
    blocks: int


@dataclass(frozen=True, kw_only=True)
class PrecisionRecord:
    """The precision that one cell of a complete run had on this host."""

    run: str
    started_unix_ns: int
    host_id: str
    study: str
    cell: str
    preset: str
    entry: str
    half_width: float
    blocks: int


_RECORD = TypeAdapter(PrecisionRecord)


def precision_of(cell: CellAnalysis) -> Precision | None:
    """The widest interval of the ranked entries; None without any."""
    found = [
        Precision(
            entry=entry.entry,
            half_width=math.sqrt(ratio.high / ratio.low) - 1,
            blocks=ratio.blocks,
        )
        for entry in cell.entries
        if entry.unranked is None
        and (ratio := entry.standing.ratio) is not None
        and ratio.low is not None
        and ratio.high is not None
        and ratio.low > 0
    ]
    return max(found, key=lambda one: one.half_width, default=None)


def expected_half_width(
    records: Iterable[PrecisionRecord],
    *,
    host_id: str,
    study: str,
    cell: str,
    preset: str,
    blocks: int,
) -> float | None:
    """The half width that this many blocks will probably give, from this host's latest run of the
    same cell and preset: it shrinks as 1 / sqrt(blocks). None if there is none.
    """
    key = (host_id, study, cell, preset)
    known = [one for one in records if (one.host_id, one.study, one.cell, one.preset) == key]
    if not known:
        return None
    latest = max(known, key=lambda one: one.started_unix_ns)
    return latest.half_width * math.sqrt(latest.blocks / max(1, blocks))


def precision_records(run: StoredRun, analysis: RunAnalysis) -> list[PrecisionRecord]:
    presets = {study.name: study.preset for study in run.plan.studies} if run.plan else {}
    return [
        PrecisionRecord(
            run=run.info.name,
            started_unix_ns=run.info.started_unix_ns,
            host_id=str(run.host.get("host_id", "")),
            study=cell.study,
            cell=cell.cell,
            preset=presets[cell.study],
            entry=found.entry,
            half_width=found.half_width,
            blocks=found.blocks,
        )
        for cell in analysis.cells
        if (found := precision_of(cell)) is not None
    ]


def remember(results: Path, records: Sequence[PrecisionRecord]) -> None:
    """Append the records of a run, unless they are there."""
    known = {one.run for one in remembered(results)}
    append_records(results / PRECISION_FILE, [one for one in records if one.run not in known])


def remembered(results: Path) -> list[PrecisionRecord]:
    """What earlier runs had."""
    return read_records(results / PRECISION_FILE, _RECORD)
