"""``wirebench syscalls``: the system calls that clients make for one operation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from wirebench.catalog import CatalogError
from wirebench.catalog.contestants import STUDIES
from wirebench.catalog.published import cells_of
from wirebench.catalog.studies import ClientLoad, load_studies
from wirebench.cli.arguments import Jobs, Selectors, check_output, default_jobs, open_catalog
from wirebench.cli.calling import STUDY, NoServerError, server_for
from wirebench.cli.console import EXIT_FAILED, console, error_console, say_warning
from wirebench.plan.choose import takes_part

if TYPE_CHECKING:
    from wirebench.trial.system_calls import Calls

_MOST_NAMES = 6


def register(app: typer.Typer) -> None:
    app.command("syscalls")(syscalls)


def syscalls(
    selectors: Selectors = None,
    cell: Annotated[
        str, typer.Option("--cell", metavar="CELL", help="A cell of roundtrip: what is asked for.")
    ] = "http-reuse-1024",
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
    from wirebench.build import build, resolve_command
    from wirebench.process.interrupt import interruptible
    from wirebench.process.supervise import Supervisor
    from wirebench.process.types import Program
    from wirebench.trial.system_calls import CountError, count_calls

    check_output("--json", json_file)
    catalog = open_catalog()
    known = cells_of(load_studies(catalog.root / STUDIES)[STUDY])
    wanted = known.get(cell)
    if wanted is None or not isinstance(wanted.load, ClientLoad):
        raise CatalogError(f"--cell: expected one of {', '.join(known)}, got {cell!r}")
    load = wanted.load
    chosen = [
        one
        for one in catalog.select(selectors or ())
        if takes_part(one, wanted) and one.disabled is None
    ]
    if not chosen:
        raise CatalogError(
            f"CONTESTANT: expected a client of {load.scheme} that sends {load.method}, got none"
        )
    found: dict[str, Calls] = {}
    failed = False
    workers = default_jobs(jobs)
    with interruptible(), Supervisor() as supervisor, error_console().status("") as status:
        for one in chosen:
            status.update(one.identity)
            built = build(one, catalog.root, jobs=workers)
            if built.folder is None:
                say_warning(f"{one.identity}: {built.message}")
                failed = True
                continue
            argv = tuple(resolve_command(one, built.folder, "client"))
            try:
                found[one.identity] = count_calls(
                    Program(argv=argv, folder=built.folder),
                    server_for(
                        catalog, wanted.workload, load.scheme, jobs=workers, name=load.server
                    ),
                    load,
                    wanted.workload,
                    supervisor,
                    operations=operations,
                )
            except (CountError, NoServerError) as error:
                say_warning(f"{one.identity}: {error}")
                failed = True
    if found:
        _print(found, wanted.title)
    if json_file is not None:
        counts = {name: dict(calls.by_name) for name, calls in sorted(found.items())}
        document = {"schema": "wirebench-syscalls/1", "cell": cell, "calls": counts}
        json_file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if failed:
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
