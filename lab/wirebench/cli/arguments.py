"""Arguments that several commands share."""

from __future__ import annotations

import os
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


def default_jobs(given: int | None) -> int:
    return given if given is not None else len(os.sched_getaffinity(0))
