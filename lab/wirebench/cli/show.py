"""``wirebench show``: a manifest as the lab understands it, the language's defaults included."""

from __future__ import annotations

import datetime
import json
import re
from typing import Annotated, Any

import typer

from wirebench.catalog.manifest import LANGUAGE, MANIFEST, inherit, read_language, read_toml
from wirebench.cli.arguments import open_catalog
from wirebench.host.released import age, json_library


def register(app: typer.Typer) -> None:
    app.command("show")(show)


def show(
    name: Annotated[
        str,
        typer.Argument(metavar="CONTESTANT", help="An identity such as go/net-http, or a name."),
    ],
) -> None:
    """Print a contestant's manifest in its effective form: with what it takes from its language."""
    catalog = open_catalog(warn=False)
    for number, one in enumerate(catalog.select([name])):
        own = read_toml(one.folder / MANIFEST)
        language = read_language(one.folder.parent)
        if number:
            typer.echo()
        typer.echo(
            f"# {one.identity} ({one.language_title}):"
            f" {one.folder.relative_to(catalog.root)}/{MANIFEST}"
        )
        typer.echo(
            f"# keys marked * come from {one.folder.parent.relative_to(catalog.root)}/{LANGUAGE}"
        )
        today = datetime.datetime.now(datetime.UTC).date()
        library = json_library(one)
        said = f"{one.library} {one.version}, {age(one, today)}"
        typer.echo(f"# {said}" + (f"; JSON: {library}" if library is not None else ""))
        typer.echo(_to_toml(inherit(own, language), own))


def _to_toml(effective: dict[str, Any], own: dict[str, Any]) -> str:
    lines = [
        f"{key} = {toml_value(value)}"
        for key, value in effective.items()
        if not isinstance(value, dict)
    ]
    for table, content in effective.items():
        if isinstance(content, dict):
            lines += ["", f"[{table}]"]
            for key, value in content.items():
                inherited = key not in own.get(table, {})
                lines.append(
                    f"{_toml_key(key)} = {toml_value(value)}" + ("  # *" if inherited else "")
                )
    return "\n".join(lines)


def _toml_key(key: str) -> str:
    """Bare where TOML allows that, else quoted: ``HTTP/2`` is a key of ``documented``."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_value(key)


def toml_value(value: Any) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, list):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    if isinstance(value, dict):
        pairs = (f"{_toml_key(key)} = {toml_value(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }"
    # A JSON string, number or boolean is also one of TOML.
    return json.dumps(value, ensure_ascii=False)
