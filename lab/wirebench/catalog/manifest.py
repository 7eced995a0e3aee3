"""``manifest.toml`` and ``language.toml``: their form, and how the one takes defaults from the
other.

One level of inheritance: what a manifest leaves out comes from its language. Scalars and lists
replace, they never merge; the tables ``needs``, ``build``, ``run`` and ``warmup`` are taken key by
key.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from wirebench.catalog.errors import CatalogError, explain
from wirebench.catalog.fields import Duration
from wirebench.catalog.model import Contestant, Disabled, Feature, Needs, Scheme, Tier, Workload

MANIFEST = "manifest.toml"
LANGUAGE = "language.toml"
PLACEHOLDERS = ("source", "build", "root", "jobs", "all_jobs", "target")
_INHERITED = ("needs", "build", "run", "warmup")


def _distinct(values: list[str]) -> list[str]:
    repeated = sorted({value for value in values if values.count(value) > 1})
    if repeated:
        raise ValueError(f"expected values that differ, {', '.join(repeated)} is there twice")
    return values


def _known_placeholders(word: str) -> str:
    for found in re.findall(r"\{(\w+)\}", word):
        if found not in PLACEHOLDERS:
            known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
            raise ValueError(f"expected only the placeholders {known}")
    return word


def _inside_project(folder: str) -> str:
    path = Path(folder)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError("expected a path inside the project, relative to its root")
    return folder


Text = Annotated[str, Field(min_length=1)]
Line = Annotated[str, Field(min_length=1, pattern=r"^[^\n]*$")]
Word = Annotated[str, Field(min_length=1), AfterValidator(_known_placeholders)]
Command = Annotated[list[Word], Field(min_length=1)]
Address = Annotated[str, Field(pattern=r"^https?://\S+$")]
_LOWEST = r"( ?>= ?\d+(\.\d+)*)?$"
# A name that apt-get can take only as a package, never as an option, and perhaps its lowest
# version: "libboost-dev" or "libboost-dev >= 1.74".
PackageName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+.-]+" + _LOWEST)]
# A command that is no path, and perhaps its lowest version: "go" or "go >= 1.22".
CommandName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_+.-]*" + _LOWEST)]
InsideProject = Annotated[str, Field(min_length=1), AfterValidator(_inside_project)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Needs(_Table):
    commands: Annotated[list[CommandName], AfterValidator(_distinct)] = []
    debian: Annotated[list[PackageName], AfterValidator(_distinct)] = []
    files: Annotated[list[Text], AfterValidator(_distinct)] = []


class _Build(_Table):
    steps: list[Command] = []
    inputs: list[InsideProject] = []


class _Run(_Table):
    server: Command | None = None
    client: Command | None = None


class _Warmup(_Table):
    server: Duration = 0
    client: Duration = 0


class _Disabled(_Table):
    reason: Line
    since: datetime.date


class _Manifest(_Table):
    library: Line
    version: Line
    license: Line
    homepage: Address
    tier: Tier
    serves: Annotated[list[Workload], AfterValidator(_distinct)] = []
    calls: Annotated[list[Scheme], AfterValidator(_distinct)] = []
    tls: bool = False
    needs: _Needs = _Needs()
    published: Line | None = None
    released: datetime.date | None = None
    note: Text | None = None
    json_: Annotated[Line | None, Field(alias="json")] = None
    disabled: _Disabled | None = None
    documented: Mapping[Feature, bool] = {}
    checked_with_threads: Annotated[int, Field(ge=2)] | None = None
    processes: bool = False
    open_files: Annotated[int, Field(ge=1)] | None = None
    closes: bool = False
    posts: bool = False
    kept_connections: Annotated[int, Field(ge=1)] = 1
    build: _Build = _Build()
    run: _Run = _Run()
    warmup: _Warmup = _Warmup()


class _Language(_Table):
    title: Line
    example: Line | None = None
    """The contestant that ``wirebench new`` copies."""
    needs: _Needs = _Needs()
    build: _Build = _Build()
    run: _Run = _Run()
    warmup: _Warmup = _Warmup()


Model = TypeVar("Model", bound=BaseModel)


def read_toml(path: Path) -> dict[str, Any]:
    if path.is_fifo():  # which would be waited for
        raise CatalogError(f"{path}: expected a file, got a pipe")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # also of too many digits, or levels
        raise CatalogError(f"{path}: expected TOML, got {error}") from error
    except OSError as error:
        raise CatalogError(f"{path}: expected a readable file, got {error.strerror}") from error


def _validate(model: type[Model], data: Mapping[str, Any], *, path: Path) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise CatalogError(explain(error, path=path)) from error


def read_language(folder: Path) -> dict[str, Any]:
    """The defaults of a language, as written. A language needs no file: then there are none."""
    path = folder / LANGUAGE
    if not path.is_file():
        return {"title": folder.name}
    data = read_toml(path)
    _validate(_Language, data, path=path)
    return data


def inherit(manifest: Mapping[str, Any], language: Mapping[str, Any]) -> dict[str, Any]:
    """The effective manifest: what ``wirebench show`` prints."""
    merged = dict(manifest)
    for key in _INHERITED:
        default, own = language.get(key), manifest.get(key)
        if default is None:
            continue
        merged[key] = (
            {**default, **own} if isinstance(own, dict) else default if own is None else own
        )
    return merged


def read_contestant(folder: Path, *, root: Path) -> Contestant:
    """The contestant of a folder ``contestants/<language>/<name>``. ``CatalogError`` says what is
    wrong with it.
    """
    path = folder / MANIFEST
    language = read_language(folder.parent)
    own = read_toml(path)
    # First alone, so that a mistake in it is not blamed on a file merged with another.
    _validate(_Manifest, own, path=path)
    file = _validate(_Manifest, inherit(own, language), path=path)
    _check_roles(file, path=path)
    for given in file.build.inputs:
        if not (root / given).exists():
            raise CatalogError(
                f"{path}: build.inputs: expected a folder or file of the project, got {given!r}"
            )
    return Contestant(
        identity=f"{folder.parent.name}/{folder.name}",
        language=folder.parent.name,
        language_title=language["title"],
        name=folder.name,
        folder=folder,
        library=file.library,
        version=file.version,
        license=file.license,
        homepage=file.homepage,
        tier=file.tier,
        serves=tuple(file.serves),
        calls=tuple(file.calls),
        tls=file.tls,
        needs=Needs(
            commands=_names(file.needs.commands),
            minimum=_lowest(file.needs.commands),
            debian=_names(file.needs.debian),
            debian_minimum=_lowest(file.needs.debian),
            files=tuple(file.needs.files),
        ),
        published=file.published,
        released=file.released,
        note=file.note,
        json=file.json_,
        build_steps=tuple(tuple(step) for step in file.build.steps),
        build_inputs=tuple(file.build.inputs),
        server_command=tuple(file.run.server) if file.serves and file.run.server else None,
        client_command=tuple(file.run.client) if file.calls and file.run.client else None,
        disabled=Disabled(reason=file.disabled.reason, since=file.disabled.since)
        if file.disabled
        else None,
        documented=file.documented,
        checked_with_threads=file.checked_with_threads,
        processes=file.processes,
        open_files=file.open_files,
        warmup_ns=file.warmup.server,
        client_warmup_ns=file.warmup.client,
        closes=file.closes,
        posts=file.posts,
        kept_connections=file.kept_connections,
    )


def _names(needs: list[str]) -> tuple[str, ...]:
    return tuple(need.partition(">=")[0].rstrip() for need in needs)


def _lowest(needs: list[str]) -> tuple[tuple[str, str], ...]:
    """The lowest version of each need that names one."""
    parts = (need.partition(">=") for need in needs)
    return tuple((name.rstrip(), lowest.lstrip()) for name, _, lowest in parts if lowest)


def _check_roles(file: _Manifest, *, path: Path) -> None:
    if not file.serves and not file.calls:
        raise CatalogError(
            f"{path}: serves: expected at least one workload here, or a scheme in calls, "
            "got nothing"
        )
    if file.serves and file.run.server is None:
        raise CatalogError(
            f"{path}: run.server: expected a command here or in {LANGUAGE}, got nothing"
        )
    if file.posts and not ({"http", "https"} & set(file.calls) or "http.payload" in file.serves):
        raise CatalogError(
            f"{path}: posts: expected http or https in calls, or http.payload in serves, got none"
        )
    if file.calls and file.run.client is None:
        raise CatalogError(
            f"{path}: run.client: expected a command here or in {LANGUAGE}, got nothing"
        )
