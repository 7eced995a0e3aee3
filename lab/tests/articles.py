"""The published figures of the project, and what they are measured by."""

from __future__ import annotations

from pathlib import Path

from wirebench.catalog.contestants import load_catalog
from wirebench.catalog.published import Published, cells_of, read_published
from wirebench.catalog.studies import Study
from wirebench.catalog.study_files import load_studies
from wirebench.report.published import BesideRow, BesideTable
from wirebench.stats.types import FailureCount

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "studies" / "published"


def study_of(name: str) -> Study:
    return load_studies(ROOT / "studies")[name]


def read(path: Path) -> Published:
    return read_published(
        path,
        cells=cells_of(study_of(path.stem)),
        contestants=set(load_catalog(ROOT).contestants),
    )


def row_of(table: BesideTable, published: str) -> BesideRow:
    return next(row for row in table.rows if row.published.startswith(published))


STOOD_STILL = FailureCount(
    kind="timeout",
    phase="load",
    message="no reply for 10 s",
    sent=None,
    expected=None,
    received=None,
    state="4 threads in futex",
    count=3,
    blocks=(1, 2, 3),
)
