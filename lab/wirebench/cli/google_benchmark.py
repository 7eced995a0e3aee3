"""``wirebench google-benchmark``: the C++ clients as a published comparison ran them."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from wirebench.catalog import CatalogError
from wirebench.catalog.model import CALLED
from wirebench.cli.arguments import (
    Jobs,
    Selectors,
    check_finite,
    check_folder,
    check_output,
    default_jobs,
    open_catalog,
    say_left_out,
)
from wirebench.cli.calling import NoServerError, server_for
from wirebench.cli.console import EXIT_FAILED, console, error_console, say_warning
from wirebench.cli.report import RESULTS

FOLDER = "google-benchmark"
"""Below the results."""
_SHOWN = ("mean", "median", "stddev")


def register(app: typer.Typer) -> None:
    app.command("google-benchmark")(google_benchmark)


def google_benchmark(
    selectors: Selectors = None,
    repeats: Annotated[
        int, typer.Option("--repeats", min=2, help="Repeats of each row; the article's are 20.")
    ] = 20,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.001, help="The least that a repeat lasts.")
    ] = 0.1,
    policy: Annotated[
        str, typer.Option("--policy", metavar="POLICY,...", help="Some of reuse, new, cold.")
    ] = "reuse,cold",
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            help="google-benchmark's document goes here. Default: a new file in"
            f" {RESULTS}/{FOLDER}.",
        ),
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Run the C++ clients under google-benchmark, as the article behind 'roundtrip' did.

    Prints rows under the article's names, in microseconds of wall and CPU time for one operation,
    and writes google-benchmark's own document, which its compare.py reads. There is no floor beside
    them, no random order and no interval: for verdicts there is 'wirebench run roundtrip'. Exit
    code 1: one of them did not run.
    """
    from wirebench.build import build
    from wirebench.process.interrupt import interruptible
    from wirebench.process.supervise import Supervisor
    from wirebench.trial.google_benchmark import POLICIES, BenchmarkError, benchmark

    policies = policy.split(",")
    if not policies or not set(policies) <= set(POLICIES):
        raise CatalogError(f"--policy: expected some of {','.join(POLICIES)}, got {policy!r}")
    check_finite("--seconds", seconds)
    check_output("--json", json_file)
    catalog = open_catalog()
    if json_file is None:
        check_folder(RESULTS, catalog.root / RESULTS / FOLDER)
    chosen = [
        one
        for one in catalog.select(selectors or ())
        if one.language == "cpp" and one.calls and one.disabled is None
    ]
    if not chosen:
        raise CatalogError("CONTESTANT: expected a C++ client, got none")
    say_left_out(catalog, selectors, {one.identity for one in chosen}, why="no C++ client")
    found: list[dict[str, Any]] = []
    failed = False
    workers = default_jobs(jobs)
    with interruptible(), Supervisor() as supervisor, error_console().status("") as status:
        for one in chosen:
            status.update(f"{one.identity}: building")
            built = build(one, catalog.root, jobs=workers)
            if built.folder is None:
                say_warning(f"{one.identity}: {built.message}")
                failed = True
                continue
            for scheme in one.calls:
                status.update(f"{one.identity}: {scheme}")
                try:
                    found.append(
                        benchmark(
                            one,
                            scheme,
                            built.folder,
                            server_for(catalog, CALLED[scheme], scheme, jobs=workers),
                            supervisor,
                            policies=policies,
                            repeats=repeats,
                            seconds=seconds,
                        )
                    )
                except (BenchmarkError, NoServerError) as error:
                    say_warning(f"{one.identity}, {scheme}: {error}")
                    failed = True
    if found:
        rows = [row for one in found for row in one["benchmarks"]]
        _print(rows)
        path = json_file if json_file is not None else _new_file(catalog.root / RESULTS)
        path.write_text(json.dumps({**found[0], "benchmarks": rows}, indent=1) + "\n")
        console().print(Text(f"written: {path}", style="dim"), soft_wrap=True)
    if failed:
        raise typer.Exit(EXIT_FAILED)


def _print(rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("Benchmark", no_wrap=True)
    for title in ("Time", "CPU", "Iterations"):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        if row.get("aggregate_name") in _SHOWN:
            wall, cpu = (f"{row[key]:.1f} {row['time_unit']}" for key in ("real_time", "cpu_time"))
            table.add_row(row["name"], wall, cpu, str(row["iterations"]))
    console().print(table)


def _new_file(results: Path) -> Path:
    folder = results / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d-%H%M%S}.json"
