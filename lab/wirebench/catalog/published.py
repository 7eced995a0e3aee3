"""What the original of a study published (``studies/published``): figures beside what of ours they
stand, and explanations with what they lead one to expect of a run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from wirebench.catalog.contestants import STUDIES, load_catalog
from wirebench.catalog.errors import CatalogError, explain
from wirebench.catalog.loads import EachLoad, Load
from wirebench.catalog.manifest import read_toml
from wirebench.catalog.studies import METRICS, Cell, Study
from wirebench.catalog.study_files import load_studies

FOLDER = "published"
"""In the folder of the studies."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Source(_Table):
    title: str = Field(min_length=1)
    author: str = ""
    date: str = ""
    project: str
    """An address."""
    host: str


class PublishedFigure(_Table):
    """One published figure, in its metric's unit."""

    published: str = Field(min_length=1)
    """The name that the original gives the contestant."""
    value: int | float | None = Field(default=None, gt=0)
    said: str = ""
    """How the original puts it, where that is not a figure in this unit."""
    bound: Literal["at least", "at most"] | None = None
    """What the original says of ``value``; None: it is the figure."""
    cell: str | None = None
    contestant: str | None = None
    near: str = ""
    """How our contestant differs from the published one. Empty if it is the same."""
    absent: str = ""
    """Why there is no figure of ours: none at all without cell and contestant, else in a run that
    lacks them.
    """

    @model_validator(mode="after")
    def _mapped_or_absent(self) -> PublishedFigure:
        mapped = self.cell is not None and self.contestant is not None
        partly = self.cell is not None or self.contestant is not None or bool(self.near)
        if not mapped and (partly or not self.absent):
            raise ValueError("expected cell and contestant, or absent with the reason")
        if self.value is None and not self.said:
            raise ValueError("expected a value, or what the original said in its place")
        return self


class Instead(_Table):
    """A cell that stands for another that a run lacks."""

    cell: str
    of: str
    """The cell that it stands for."""
    differs: str = Field(min_length=1)
    times: int = Field(default=1, ge=1)
    """Our figure is multiplied by this: how many times as many messages ``of`` has. It holds for
    times that grow with the messages; what a run pays once is multiplied as well.
    """


class Fallback(_Table):
    """Who stands for a contestant that a run lacks."""

    contestant: str
    near: str = Field(min_length=1)
    """How it differs from the published one."""


class PublishedTable(_Table):
    title: str = Field(min_length=1)
    place: str
    """Where in the original."""
    command: str
    metric: Literal[METRICS]  # type: ignore[valid-type]  # one list of the names, used here and by readers
    unit: str
    instead: tuple[Instead, ...] = Field(default=(), strict=False)
    """Of those for one cell, the nearest first."""
    rows: tuple[PublishedFigure, ...] = Field(strict=False, min_length=1)


class Judged(_Table):
    """What the author thought of a framework, by his own scale from 1 to 5."""

    published: str = Field(min_length=1)
    contestant: str
    licence: str
    including: int = Field(ge=1, le=5)
    """How easy it was to include."""
    using: int = Field(ge=1, le=5)
    """How easy it was to use."""


class Artefact(_Table):
    """Something beside the library that may explain a published figure: two cells, one with it."""

    says: str = Field(min_length=1)
    published: str = Field(min_length=1)
    """The published name."""
    value: int = Field(gt=0)
    """The published mean, in nanoseconds."""
    contestant: str
    off: str
    on: str


class Measure(_Table):
    """Where a prediction is looked up."""

    cells: tuple[str, ...] = Field(strict=False, min_length=1)
    """The first of these that a run has."""
    metric: str
    """The primary metric of all of them: a run has verdicts on pairs by no other."""


class Prediction(_Table):
    """What follows from a claim for two contestants, or for one that is said to stall."""

    at: str
    """The name of a measure."""
    contestant: str
    expect: Literal["better", "not better", "stalls"] = "better"
    than: str | None = None
    """None for one that stalls."""

    @model_validator(mode="after")
    def _compares_or_stalls(self) -> Prediction:
        if (self.expect == "stalls") != (self.than is None):
            raise ValueError("expected than with every prediction but one that something stalls")
        return self

    @property
    def contestants(self) -> tuple[str, ...]:
        return (self.contestant,) if self.than is None else (self.contestant, self.than)


class Claim(_Table):
    """An explanation, and what one would then have to see."""

    says: str = Field(min_length=1)
    """In our words."""
    place: str = ""
    """Where the original says it. Empty: it is our own doubt about the original."""
    predictions: tuple[Prediction, ...] = Field(default=(), strict=False)
    untested: str = ""
    """Why no run can test it. Then there are no predictions."""

    @model_validator(mode="after")
    def _predicts_or_says_why_not(self) -> Claim:
        if bool(self.predictions) == bool(self.untested):
            raise ValueError("expected either predictions, or untested with the reason")
        return self


class Published(_Table):
    study: str
    source: Source
    pictures: str = ""
    """What the original shows without figures."""
    tables: tuple[PublishedTable, ...] = Field(strict=False, min_length=1)
    artefacts: tuple[Artefact, ...] = Field(default=(), strict=False)
    judged: tuple[Judged, ...] = Field(default=(), strict=False)
    fallbacks: Mapping[str, Fallback] = Field(default_factory=dict)
    """By contestant, in figures and explanations alike."""
    measures: Mapping[str, Measure] = Field(default_factory=dict)
    claims: tuple[Claim, ...] = Field(default=(), strict=False)


def published_studies(root: Path) -> list[str]:
    """The studies of the project that have published figures."""
    return sorted(path.stem for path in (root / STUDIES / FOLDER).glob("*.toml"))


def published_of(root: Path, study: str) -> Published:
    """The published figures of a study of the project."""
    return read_published(
        root / STUDIES / FOLDER / f"{study}.toml",
        cells=cells_of(load_studies(root / STUDIES)[study]),
        contestants=set(load_catalog(root).contestants),
    )


def cells_of(study: Study) -> dict[str, Cell]:
    """Every cell that a preset of the study has, by its id."""
    return {cell.id: cell for preset in study.presets.values() for cell in preset.cells}


def read_published(
    path: Path, *, cells: Mapping[str, Cell], contestants: Collection[str]
) -> Published:
    """The published figures in a file, each of which maps to one of the given cells and contestants
    or says why not.
    """
    try:
        found = Published.model_validate(read_toml(path))
    except ValidationError as error:
        raise CatalogError(explain(error, path=path)) from error
    if found.study != path.stem:
        raise CatalogError(f"{path}: study: expected {path.stem!r}, got {found.study!r}")
    for known, name, where in (
        *((cells, *one) for one in _cells_named(found)),
        *((contestants, *one) for one in _contestants_named(found)),
        *((found.measures, *one) for one in _measures_named(found)),
    ):
        if name not in known:
            expected = ", ".join(sorted(known))
            raise CatalogError(f"{path}: {where}: expected one of {expected}, got {name!r}")
    for number, table in enumerate(found.tables):
        for index, one in enumerate(table.instead):
            expected_times = _times(table.metric, cells[one.of].load, cells[one.cell].load)
            if one.times != expected_times:
                raise CatalogError(
                    f"{path}: tables.{number}.instead.{index}.times: expected {expected_times:g},"
                    f" got {one.times}"
                )
    for key, measure in found.measures.items():
        for name in measure.cells:
            if cells[name].primary != measure.metric:
                raise CatalogError(
                    f"{path}: measures.{key}.metric: expected {cells[name].primary!r}, the primary"
                    f" metric of {name}, got {measure.metric!r}"
                )
    return found


def _times(metric: str, of: Load, load: Load) -> float:
    """How many times as long ``of`` takes: a makespan grows with the messages, and nothing else
    does.
    """
    if metric not in ("makespan_ns", "service_makespan_ns"):
        return 1
    if not isinstance(of, EachLoad) or not isinstance(load, EachLoad):
        return 1
    return of.messages / load.messages


Named = Iterator[tuple[str, str]]
"""A name, and where it stands."""


def _cells_named(found: Published) -> Named:
    for number, table in enumerate(found.tables):
        for index, one in enumerate(table.instead):
            yield one.cell, f"tables.{number}.instead.{index}.cell"
            yield one.of, f"tables.{number}.instead.{index}.of"
        for index, row in enumerate(table.rows):
            if row.cell is not None:
                yield row.cell, f"tables.{number}.rows.{index}.cell"
    for number, artefact in enumerate(found.artefacts):
        yield artefact.off, f"artefacts.{number}.off"
        yield artefact.on, f"artefacts.{number}.on"
    for key, measure in found.measures.items():
        for name in measure.cells:
            yield name, f"measures.{key}.cells"


def _contestants_named(found: Published) -> Named:
    for number, table in enumerate(found.tables):
        for index, row in enumerate(table.rows):
            if row.contestant is not None:
                yield row.contestant, f"tables.{number}.rows.{index}.contestant"
    for number, artefact in enumerate(found.artefacts):
        yield artefact.contestant, f"artefacts.{number}.contestant"
    for name, fallback in found.fallbacks.items():
        yield name, "fallbacks"
        yield fallback.contestant, f"fallbacks.{name}.contestant"
    for number, judged in enumerate(found.judged):
        yield judged.contestant, f"judged.{number}.contestant"
    for number, claim in enumerate(found.claims):
        for index, one in enumerate(claim.predictions):
            for key, name in zip(("contestant", "than"), one.contestants, strict=False):
                yield name, f"claims.{number}.predictions.{index}.{key}"


def _measures_named(found: Published) -> Named:
    for number, claim in enumerate(found.claims):
        for index, one in enumerate(claim.predictions):
            yield one.at, f"claims.{number}.predictions.{index}.at"
