"""``wirebench report``: rebuilds the page and charts of a run from its stored trials."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wirebench.catalog import CatalogError, find_root
from wirebench.catalog.units import count_of
from wirebench.cli.arguments import check_folder, check_output
from wirebench.cli.console import console

if TYPE_CHECKING:
    from wirebench.store.rundir import StoredRun

RESULTS = "results"
LATEST = "latest"

RUN_HELP = "A run's directory, or its name in 'results'. Default: the latest."
Run = Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)]


def register(app: typer.Typer) -> None:
    app.command("report")(report)


def report(
    run: Run = LATEST,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write it to this file instead of the run's directory."),
    ] = None,
    charts: Annotated[
        Path | None,
        typer.Option(
            "--charts",
            metavar="DIR",
            help="Also write every chart as PNG and SVG into this folder.",
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="DIR",
            help=(
                "Also write the rounds of every ramp (websocket) into this folder: a CSV file in"
                " the columns of the article's client, times in ms, and one with all figures of a"
                " round (.all.csv): percentiles, server CPU and memory, in ns and bytes."
            ),
        ),
    ] = None,
) -> None:
    """Rebuild a run's report from its stored trials: verdicts, tables and charts in one offline
    HTML file.
    """
    from wirebench.report import export_charts, export_rounds, write_report
    from wirebench.store.jsonl import StoreError
    from wirebench.store.rundir import REPORT_FILE

    path = find_run(run)
    check_output("--out", out if out is not None else path / REPORT_FILE)
    check_folder("--charts", charts)
    check_folder("--csv", csv)
    try:
        page = write_report(path, out=out)
        files = export_charts(path, charts) if charts is not None else []
        tables = export_rounds(path, csv) if csv is not None else []
    except StoreError as error:
        raise CatalogError(str(error)) from error
    said = console()
    said.print(f"report: {page}", markup=False, soft_wrap=True)
    if charts is not None:
        written = count_of(len(files), "file")
        said.print(f"charts: {written} in {charts}", markup=False, soft_wrap=True)
    if csv is not None:
        none = "" if tables else "; the run has no ramp"
        written = count_of(len(tables), "file")
        said.print(f"rounds: {written} in {csv}{none}", markup=False, soft_wrap=True)
    if open_:
        webbrowser.open(page.resolve().as_uri())


def two_runs(first: str, second: str, option: str) -> tuple[StoredRun, StoredRun]:
    """Two runs that are compared. ``CatalogError`` where both are the same one, of which nothing
    could differ; ``option`` names the first. Errors: ``StoreError``.
    """
    from wirebench.store.rundir import read_run

    paths = [find_run(name) for name in (first, second)]
    if paths[0] == paths[1]:
        raise CatalogError(f"{option}: expected two runs, got the same one twice: {paths[0]}")
    return read_run(paths[0]), read_run(paths[1])


def find_run(name: str) -> Path:
    """The directory of a run, given by its path or by its name in the project's results."""
    from wirebench.store.rundir import has_run

    given = Path(name)
    if has_run(given):
        return given.resolve()
    results = find_root() / RESULTS
    path = results / name
    if has_run(path):
        return path.resolve()
    runs = sorted(one.name for one in results.iterdir() if has_run(one)) if results.is_dir() else []
    known = (
        f"one of {', '.join(runs[-5:])}"
        if runs
        else "a run; there is none yet, 'wirebench quick' makes one"
    )
    raise CatalogError(f"RUN: expected {known}, got {name!r}")
