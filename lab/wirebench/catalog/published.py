"""What the original of a study published (``studies/published``), beside what of ours it stands."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from wirebench.catalog.errors import CatalogError, explain
from wirebench.catalog.manifest import read_toml


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Source(_Table):
    title: str = Field(min_length=1)
    project: str
    host: str


class PublishedFigure(_Table):
    """One published figure, in its table's unit."""

    published: str = Field(min_length=1)
    """The name that the original gives the contestant."""
    value: int | float = Field(gt=0)
    cell: str | None = None
    contestant: str | None = None
    near: str = ""
    """How our contestant differs from the published one. Empty if it is the same."""
    absent: str = ""
    """Why there is no figure of ours. Then cell and contestant are None."""

    @model_validator(mode="after")
    def _mapped_or_absent(self) -> PublishedFigure:
        mapped = self.cell is not None and self.contestant is not None
        partly = self.cell is not None or self.contestant is not None or bool(self.near)
        if mapped == bool(self.absent) or (self.absent and partly):
            raise ValueError("expected either cell and contestant, or absent with the reason")
        return self


class PublishedTable(_Table):
    title: str = Field(min_length=1)
    command: str
    metric: str
    unit: str
    rows: tuple[PublishedFigure, ...] = Field(strict=False, min_length=1)


class Published(_Table):
    study: str
    source: Source
    tables: tuple[PublishedTable, ...] = Field(strict=False, min_length=1)


def read_published(
    path: Path, *, cells: Collection[str], contestants: Collection[str], metrics: Collection[str]
) -> Published:
    """The published figures in a file, each of which maps to one of the given names or says why
    not.
    """
    try:
        found = Published.model_validate(read_toml(path))
    except ValidationError as error:
        raise CatalogError(explain(error, path=path)) from error
    if found.study != path.stem:
        raise CatalogError(f"{path}: study: expected {path.stem!r}, got {found.study!r}")
    for number, table in enumerate(found.tables):
        _expect(metrics, table.metric, f"{path}: tables.{number}.metric")
        for index, row in enumerate(table.rows):
            where = f"{path}: tables.{number}.rows.{index}"
            if row.cell is not None and row.contestant is not None:
                _expect(cells, row.cell, f"{where}.cell")
                _expect(contestants, row.contestant, f"{where}.contestant")
    return found


def _expect(known: Collection[str], name: str, where: str) -> None:
    if name not in known:
        raise CatalogError(f"{where}: expected one of {', '.join(sorted(known))}, got {name!r}")
