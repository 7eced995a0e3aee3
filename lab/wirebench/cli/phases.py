"""``wirebench phases``: where the time of a client's operations goes, seen from outside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from wirebench.catalog import CatalogError
from wirebench.catalog.units import duration
from wirebench.cli.arguments import Jobs, Selectors, check_output, default_jobs, open_catalog
from wirebench.cli.calling import CellName, find_cell, measure_clients
from wirebench.cli.console import EXIT_FAILED, console


def register(app: typer.Typer) -> None:
    app.command("phases")(phases)


def phases(
    selectors: Selectors = None,
    cell: CellName = "https-new-1024",
    operations: Annotated[
        int, typer.Option("--operations", min=10, help="How many operations of each client.")
    ] = 500,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write the medians here.")
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Show how long each phase of a client's operations takes, by a proxy that stamps what passes.

    connect: from the last reply to the new connection, with the look-up of the name. start: to the
    client's first byte. handshake: that of TLS. send: the request. wait: for the reply to begin.
    receive: the reply. Medians, of http and https, in runs of their own. The proxy's time is in
    handshake, wait and receive, so these tell clients apart and are slower than in a run. Exit code
    1: one of them has no figures.
    """
    from wirebench.trial.phases import PHASES, measure_phases

    check_output("--json", json_file)
    if (asked := find_cell(open_catalog(), cell)).workload != "http.payload":
        raise CatalogError(f"--cell: expected one of http or https, got {asked.id!r}")
    wanted, found, whole = measure_clients(
        selectors, cell, default_jobs(jobs), partial(measure_phases, operations=operations)
    )
    if found:
        _print(found, wanted.title, PHASES)
    if json_file is not None:
        document = {"schema": "wirebench-phases/1", "cell": cell, "median_ns": found}
        json_file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if not whole:
        raise typer.Exit(EXIT_FAILED)


def _print(found: Mapping[str, Mapping[str, float]], title: str, phases: tuple[str, ...]) -> None:
    out = console()
    out.print(Text(f"Phases of one operation: {title}", style="bold"))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("contestant", no_wrap=True)
    shown = [phase for phase in phases if any(phase in one for one in found.values())]
    for phase in shown:
        table.add_column(phase, justify="right", no_wrap=True)
    for name, medians in sorted(found.items(), key=lambda one: (sum(one[1].values()), one[0])):
        cells = [duration(medians[phase]) if phase in medians else "" for phase in shown]
        table.add_row(Text(name), *cells)
    out.print(table)
