"""``wirebench phases``: where the time of a client's operations goes, seen from outside."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.arguments import Jobs, Selectors, check_output, default_jobs, open_catalog
from wirebench.cli.calling import CellName, check_kept, find_cell, keep, measure_clients, show
from wirebench.cli.console import EXIT_FAILED


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
    handshake, wait and receive, so these tell clients apart and are slower than in a run. Reports
    of runs with that cell show them. Exit code 1: one of them has no figures.
    """
    from wirebench.report.observed import phase_rows, title_of
    from wirebench.trial.phases import measure_phases

    check_output("--json", json_file)
    check_kept("phases")
    find_cell(open_catalog(), cell, workload="http.payload")
    wanted, found, whole = measure_clients(
        selectors, cell, default_jobs(jobs), partial(measure_phases, operations=operations)
    )
    if found:
        show(title_of("phases", wanted), phase_rows(found))
        keep("phases", wanted, operations, found)
    if json_file is not None:
        document = {"schema": "wirebench-phases/1", "cell": cell, "median_ns": found}
        json_file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if not whole:
        raise typer.Exit(EXIT_FAILED)
