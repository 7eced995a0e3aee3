"""``wirebench list``: the contestants and whether they can run here."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from wirebench.catalog import Contestant
from wirebench.cli.arguments import Selectors, open_catalog
from wirebench.cli.console import EXIT_FAILED, console, error_console, for_tables
from wirebench.host import Presence, presences

_STYLES = {"ready": "green", "not_installed": "yellow", "disabled": "dim", "bad_manifest": "red"}


def register(app: typer.Typer) -> None:
    app.command("list")(list_contestants)


def list_contestants(
    selectors: Selectors = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document instead of a table.")
    ] = False,
) -> None:
    """List the contestants: library, version, tier, workloads, and whether each can run here."""
    catalog = open_catalog()
    chosen = catalog.select(selectors or ())
    found = presences(chosen)
    rows = [_row(one, found[one.identity]) for one in chosen]
    if not selectors:
        rows += [_bad_row(error.identity, error.message) for error in catalog.errors]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    else:
        _print_table(rows)
        if any(row["missing"] for row in rows):
            error_console().print(
                "'wirebench doctor' shows how to install what is missing", highlight=False
            )
    if any(row["status"] == "bad_manifest" for row in rows):
        raise typer.Exit(EXIT_FAILED)


def _row(one: Contestant, found: Presence) -> dict[str, Any]:
    status, detail = "ready", ""
    missing: list[str] = []
    if one.disabled is not None:
        status, detail = (
            "disabled",
            f"{one.disabled.reason} (since {one.disabled.since.isoformat()})",
        )
    elif not found.complete:
        status, detail = "not_installed", found.describe(one)
        missing = list(found.missing)
    return {
        "contestant": one.identity,
        "library": one.library,
        "version": one.version,
        "license": one.license,
        "tier": one.tier,
        "serves": list(one.serves),
        "calls": list(one.calls),
        "tls": one.tls,
        "status": status,
        "missing": missing,
        "detail": detail,
    }


def _bad_row(identity: str, message: str) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(("library", "version", "license", "tier"), "")
    return {
        "contestant": identity,
        **empty,
        "serves": [],
        "calls": [],
        "tls": False,
        "status": "bad_manifest",
        "missing": [],
        "detail": message,
    }


def _print_table(rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("contestant", "library", "version", "tier", "workloads", "status"):
        table.add_column(title, overflow="fold")
    for row in rows:
        workloads = [*row["serves"], *(f"calls {scheme}" for scheme in row["calls"])]
        status = Text(row["status"].replace("_", " "), style=_STYLES[row["status"]])
        if row["status"] == "disabled":
            status.append(f": {row['detail']}", style="default")
        elif row["missing"]:
            status.append(f": {' '.join(row['missing'])}", style="default")
        cells = (
            row["contestant"],
            row["library"],
            row["version"],
            row["tier"],
            " ".join(workloads),
        )
        table.add_row(*(Text(cell) for cell in cells), status)
    for_tables(console()).print(table)
