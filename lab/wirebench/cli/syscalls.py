"""``wirebench syscalls``: the system calls that clients make for one operation."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from wirebench.cli.arguments import Jobs, Selectors, check_output, default_jobs
from wirebench.cli.calling import CellName, measure_clients
from wirebench.cli.console import EXIT_FAILED, console

if TYPE_CHECKING:
    from wirebench.trial.system_calls import Calls

_MOST_NAMES = 6


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
    often here than at full speed. Exit code 1: one of them has no count.
    """
    from wirebench.trial.system_calls import count_calls

    check_output("--json", json_file)
    wanted, found, whole = measure_clients(
        selectors, cell, default_jobs(jobs), partial(count_calls, operations=operations)
    )
    if found:
        _print(found, wanted.title)
    if json_file is not None:
        counts = {name: dict(calls.by_name) for name, calls in sorted(found.items())}
        document = {"schema": "wirebench-syscalls/1", "cell": cell, "calls": counts}
        json_file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if not whole:
        raise typer.Exit(EXIT_FAILED)


def _print(found: dict[str, Calls], title: str) -> None:
    out = console()
    out.print(Text(f"System calls for one operation: {title}", style="bold"))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("contestant", no_wrap=True)
    table.add_column("calls", justify="right", no_wrap=True)
    table.add_column("of which", overflow="fold")
    for name, calls in sorted(found.items(), key=lambda one: (one[1].total, one[0])):
        shown = list(calls.by_name.items())
        parts = [f"{call} {count:.1f}" for call, count in shown[:_MOST_NAMES]]
        rest = sum(count for _, count in shown[_MOST_NAMES:])
        parts += [f"others {rest:.1f}"] if rest else []
        table.add_row(Text(name), f"{calls.total:.1f}", Text(", ".join(parts)))
    out.print(table)
