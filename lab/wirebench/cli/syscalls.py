"""``wirebench syscalls``: the system calls that clients make for one operation."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.arguments import Jobs, Selectors, check_output, default_jobs
from wirebench.cli.calling import CellName, check_kept, keep, measure_clients, show
from wirebench.cli.console import EXIT_FAILED


def register(app: typer.Typer) -> None:
    app.command("syscalls")(syscalls)


def syscalls(
    selectors: Selectors = None,
    cell: CellName = "http-reuse-1024",
    operations: Annotated[
        int,
        typer.Option(
            "--operations", min=10, help="A run of so many operations, and one of twice as many."
        ),
    ] = 200,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write the counts here.")
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Count the system calls that clients make for one operation, by 'strace -c'.

    In runs of their own, of which nothing is timed. What a client calls to start and to end cancels
    out: it is the difference of two runs. A library with threads or an event loop may call more
    often here than at full speed. Reports of runs with that cell show the counts. Exit code 1: one
    of them has no count.
    """
    from wirebench.report.observed import call_rows, title_of
    from wirebench.trial.system_calls import count_calls

    check_output("--json", json_file)
    check_kept("syscalls")
    wanted, found, whole = measure_clients(
        selectors, cell, default_jobs(jobs), partial(count_calls, operations=operations)
    )
    counts = {name: dict(calls.by_name) for name, calls in sorted(found.items())}
    if counts:
        show(title_of("syscalls", wanted), call_rows(counts))
        keep("syscalls", wanted, operations, counts)
    if json_file is not None:
        document = {"schema": "wirebench-syscalls/1", "cell": cell, "calls": counts}
        json_file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if not whole:
        raise typer.Exit(EXIT_FAILED)
