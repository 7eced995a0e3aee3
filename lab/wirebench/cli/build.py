"""``wirebench build``: builds each contestant into its own folder, unless nothing changed."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from typing import Annotated

import typer

from wirebench.build import BuildResult, Builds
from wirebench.cli.arguments import Jobs, Selectors, default_jobs, open_catalog
from wirebench.cli.console import EXIT_FAILED, console, error_console

_STYLES = {"ok": "green", "failed": "bold red", "not_installed": "yellow", "disabled": "dim"}
_WORDS = {
    "ok": "built",
    "failed": "failed",
    "not_installed": "not installed",
    "disabled": "disabled",
}


def register(app: typer.Typer) -> None:
    app.command("build")(build_contestants)


def build_contestants(
    selectors: Selectors = None,
    jobs: Jobs = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON line for each contestant.")
    ] = False,
) -> None:
    """Build contestants, several at once. A contestant is rebuilt only when its sources or tools
    changed.

    Exit code 1 if a build failed (the others are still built) or if none could be built.
    """
    catalog = open_catalog()
    chosen = catalog.select(selectors or ())
    counts: Counter[str] = Counter()
    words = error_console() if as_json else console()
    with (
        words.status("") as status,
        closing(Builds(catalog.root, jobs=default_jobs(jobs))) as builds,
    ):
        builds.begin(chosen)
        for one in chosen:
            status.update(one.identity)
            result = builds.wait(one)
            counts[result.status] += 1
            if as_json:
                typer.echo(json.dumps(_to_json(result)))
            words.print(
                f"[{_STYLES[result.status]}]{_WORDS[result.status]}[/]"
                f" {one.identity}{_detail(result)}",
                soft_wrap=True,
            )
            if result.message:
                words.print(f"  {result.message}", markup=False, soft_wrap=True)
            for line in result.log_tail.splitlines():
                words.print(f"  | {line}", markup=False, soft_wrap=True)
    words.print(
        ", ".join(f"{counts[status]} {word}" for status, word in _WORDS.items() if counts[status])
    )
    if counts["failed"] or not counts["ok"] or (catalog.errors and not selectors):
        raise typer.Exit(EXIT_FAILED)


def _detail(result: BuildResult) -> str:
    if result.status != "ok":
        return ""
    return " (as before)" if result.cached else f" in {result.seconds:.1f} s"


def _to_json(result: BuildResult) -> dict[str, object]:
    return {
        "contestant": result.contestant.identity,
        "status": result.status,
        "folder": None if result.folder is None else str(result.folder),
        "message": result.message,
        "cached": result.cached,
        "seconds": result.seconds,
    }
