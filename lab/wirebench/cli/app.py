"""The Typer app, assembled from the command files."""

from __future__ import annotations

import importlib
from typing import Annotated

import typer

from wirebench import __version__

COMMANDS = (
    "quick",
    "run",
    "list_",
    "show",
    "new",
    "doctor",
    "setup",
    "build",
    "verify",
    "conformance",
    "report",
    "compare",
    "published",
    "duel",
    "gate",
    "history",
    "serve",
    "fleet",
    "decide",
    "footprint",
    "google_benchmark",
    "syscalls",
    "phases",
    "selftest",
)
"""Modules of this package, in the order in which ``--help`` shows their commands."""


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wirebench {__version__}")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Test HTTP and WebSocket libraries before you depend on them."""


def make_app() -> typer.Typer:
    app = typer.Typer(
        name="wirebench",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    for name in COMMANDS:
        importlib.import_module(f"wirebench.cli.{name}").register(app)
    return app
