"""Arguments that several commands share."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from wirebench.catalog import Catalog, CatalogError, find_root, load_catalog
from wirebench.cli.console import say_warning

SELECTOR_HELP = (
    "Contestants: an identity (go/net-http), a name, a language, a tier (floor) or a glob ('go/*'),"
    " separated by commas or spaces. Default: all."
)

Selectors = Annotated[
    list[str] | None, typer.Argument(metavar="[CONTESTANT]...", help=SELECTOR_HELP)
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Parallel build jobs. Default: the number of cores."),
]


MAX_CONNECTIONS = 1_000_000
MAX_RATE = 1e9
"""Requests a second. Both as wireload has it: a larger one fails every trial."""
MAX_BLOCKS = 1_000_000
"""Of a cell, and of repeats: the years that more of them take are no plan."""


def open_catalog(*, warn: bool = True) -> Catalog:
    """The catalog of the current project. Invalid manifests are reported; the others stay."""
    catalog = load_catalog(find_root())
    if warn:
        for error in catalog.errors:
            say_warning(f"{error.identity} is left out: {error.message}")
    if not catalog.contestants and not catalog.errors:
        raise CatalogError(
            f"{catalog.root}: expected contestants (contestants/LANG/NAME/manifest.toml), got none"
        )
    return catalog


def say_left_out(
    catalog: Catalog, selectors: Sequence[str] | None, taken: Collection[str], *, why: str
) -> None:
    """Warn of each selector none of whose contestants is ``taken``: the others have results, and
    nothing else would say that this one has none.
    """
    for part in (one.strip() for text in selectors or () for one in text.split(",")):
        found = catalog.select([part]) if part else ()
        if not found or any(one.identity in taken for one in found):
            continue
        disabled = found[0].disabled
        say_warning(f"{part} is left out: {why if disabled is None else disabled.reason}")


def check_known(name: str, given: str, known: Sequence[str], *, nothing: str) -> None:
    """``CatalogError`` with all that is known, where the given is none of it. ``nothing``: why
    nothing is known.
    """
    if given not in known:
        expected = ", ".join(dict.fromkeys(known)) or f"nothing: {nothing}"
        raise CatalogError(f"{name}: expected one of {expected}, got {given!r}")


def check_finite(option: str, number: float | None) -> None:
    """``CatalogError`` for an infinite number, which is above every least value of an option."""
    if number is not None and not math.isfinite(number):
        raise CatalogError(f"{option}: expected a finite number, got {number}")


def default_jobs(given: int | None) -> int:
    return given if given is not None else len(os.sched_getaffinity(0))


def given_parameters(context: typer.Context) -> dict[str, str]:
    """What the command line gives, by the parameter's name: how it is written there, in the order
    of the command's parameters. A default is not given; the same value written out is.
    """
    found = {}
    for one in context.command.params:
        source = context.get_parameter_source(one.name)
        if source is None or source.name != "COMMANDLINE":
            continue
        if one.param_type_name == "argument":
            found[one.name] = one.metavar or one.name
            continue
        switched_off = context.params.get(one.name) is False and bool(one.secondary_opts)
        names = one.secondary_opts if switched_off else one.opts
        found[one.name] = next(name for name in names if name.startswith("--"))
    return found


def options_given(context: typer.Context, *, without: Collection[str]) -> tuple[str, ...]:
    """What the command line gives but the parameters ``without``, as words that give it again.
    ``without``: the arguments among others.
    """
    words: list[str] = []
    for name, written in given_parameters(context).items():
        value = context.params[name]
        if name in without:
            continue
        if isinstance(value, bool):
            words.append(written)
            continue
        for one in value if isinstance(value, list | tuple) else (value,):
            words += [written, str(one)]
    return tuple(words)


def refuse_beside(
    context: typer.Context, option: str, allowed: Collection[str], *, why: str
) -> None:
    """``CatalogError`` where more was given than the parameters ``allowed``, which are the option
    itself and those that have a meaning beside it.
    """
    asked = [written for name, written in given_parameters(context).items() if name not in allowed]
    if asked:
        raise CatalogError(f"{option}: expected no {', '.join(asked)} with it: {why}")


def check_output(option: str, file: Path | None) -> None:
    """``CatalogError`` where a file of results could not be written, before it takes time to have
    them.
    """
    if file is None:
        return
    try:
        if not file.absolute().parent.is_dir():
            raise CatalogError(f"{option}: expected a file in a folder that exists, got {file}")
        if file.is_dir():
            raise CatalogError(f"{option}: expected a file, got the folder {file}")
        written = file if file.exists() else file.absolute().parent
        if not os.access(written, os.W_OK):
            raise CatalogError(f"{option}: expected a file that can be written, got {file}")
    except OSError as error:
        raise CatalogError(f"{option}: {file}: {error.strerror}") from error


def check_outputs(files: Mapping[str, Path | None]) -> None:
    """The same for several, by option. ``CatalogError`` also where two are one file, of which only
    the result that is written last would be left.
    """
    taken: dict[Path, str] = {}
    for option, file in files.items():
        check_output(option, file)
        # Several results may go to one device or pipe, such as /dev/stdout.
        if file is None or (file.exists() and not file.is_file()):
            continue
        first = taken.setdefault(file.resolve(), option)
        if first != option:
            raise CatalogError(f"{option}: expected another file than that of {first}, got {file}")


def check_folder(option: str, folder: Path | None) -> None:
    """The same for a folder, which is made where it is not there."""
    if folder is None:
        return
    try:
        there = folder.absolute()
        while not there.exists():
            there = there.parent
        if not there.is_dir():
            raise CatalogError(f"{option}: expected a folder, got {folder}")
        if not os.access(there, os.W_OK | os.X_OK):
            raise CatalogError(f"{option}: expected a folder that can be written, got {folder}")
    except OSError as error:
        raise CatalogError(f"{option}: {folder}: {error.strerror}") from error
