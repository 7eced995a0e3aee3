"""``wirebench quick``: a small slice of all studies, from nothing to a report."""

from __future__ import annotations

import typer

from wirebench.cli.arguments import Jobs, open_catalog, refuse_beside
from wirebench.cli.console import error_console
from wirebench.cli.execute import Request, execute
from wirebench.cli.run import (
    AS_BEGUN,
    BESIDE_RESUME,
    Blocks,
    Budget,
    Cells,
    DryRun,
    Force,
    Only,
    Out,
    Repeats,
    Resume,
    Seed,
    split_words,
)
from wirebench.host import ensure_libraries


def register(app: typer.Typer) -> None:
    app.command("quick")(quick)


def quick(
    context: typer.Context,
    only: Only = None,
    blocks: Blocks = None,
    cells: Cells = None,
    seed: Seed = None,
    out: Out = None,
    resume: Resume = None,
    budget: Budget = None,
    repeats: Repeats = None,
    dry_run: DryRun = False,
    force: Force = False,
    jobs: Jobs = None,
) -> None:
    """Measure a small slice of all four studies on what is installed, and write the report.

    Leaves close relatives of other contestants to 'wirebench run'. Prints beforehand how long it
    will take: about five minutes of measuring on two cores. Ctrl-C keeps what is done. The exit
    codes are those of 'wirebench run'.
    """
    if resume is not None:
        refuse_beside(context, "--resume", BESIDE_RESUME, why=AS_BEGUN)
    # Cheap packages only: libraries of those whose compilers and runtimes are here. Without root
    # nothing is installed.
    if not dry_run:
        ensure_libraries(open_catalog(warn=False).select(only or ()), say=error_console().print)
    request = Request(
        label="quick",
        studies=(),
        preset="quick",
        only=tuple(only or ()),
        blocks=blocks,
        cells=split_words(cells),
        seed=seed,
        out=out,
        resume=resume,
        budget=budget,
        repeats=repeats,
        dry_run=dry_run,
        force=force,
        jobs=jobs,
    )
    raise typer.Exit(execute(request))
