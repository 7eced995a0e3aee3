"""``wirebench run``: measures a study, stores the trials and reports them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from wirebench.catalog import CatalogError
from wirebench.cli.arguments import SELECTOR_HELP, Jobs
from wirebench.cli.execute import Request, execute

MAX_SEED = 2**31

Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="CONTESTANTS", help=SELECTOR_HELP)
]
Blocks = Annotated[
    int | None,
    typer.Option(
        "--blocks",
        min=1,
        help="Exactly this many blocks of each cell. Fewer than 6 give figures but no verdicts.",
    ),
]
Cells = Annotated[
    list[str] | None,
    typer.Option("--cells", metavar="IDS", help="Only these cells, separated by commas."),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        max=MAX_SEED,
        help="Seed of the random order. Default: drawn, and recorded.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="The folder for the run's directory. Default: 'results'."),
]
Resume = Annotated[
    str | None,
    typer.Option(
        "--resume", metavar="RUN", help="Complete this run: its directory or name, or 'latest'."
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="Time budget, such as 5m: start no block that would exceed it.",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Resume even if the host or the builds have changed."),
]


def register(app: typer.Typer) -> None:
    app.command("run")(run_study)


def run_study(
    study: Annotated[
        str | None,
        typer.Argument(metavar="STUDY", help="roundtrip, concurrency, rest or websocket."),
    ] = None,
    only: Only = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use the preset 'quick': a small slice.")
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option("--preset", help="The preset of the study. Default: 'full'."),
    ] = None,
    blocks: Blocks = None,
    cells: Cells = None,
    seed: Seed = None,
    out: Out = None,
    resume: Resume = None,
    budget: Budget = None,
    force: Force = False,
    jobs: Jobs = None,
) -> None:
    """Measure one study in interleaved blocks and write its report.

    Builds what is not built, checks every contestant's replies, then measures.

    Exit code 0: all measured. 1: a contestant failed (named at the end; the others' results stand).
    3: nothing valid was measured. 64: wrong usage. 130, 143: interrupted; every finished trial is
    kept, and --resume completes the run. A contestant that is not installed is listed and does not
    change the exit code.
    """
    if quick and preset not in (None, "quick"):
        raise CatalogError(f"--quick: expected no other --preset with it, got {preset!r}")
    if resume is None and study is None:
        raise CatalogError(
            "STUDY: expected a study or --resume RUN, got neither; 'wirebench run --help' shows"
            " both"
        )
    request = Request(
        label=study or "resumed",
        studies=(study,) if study is not None else (),
        preset="quick" if quick else preset or "full",
        only=tuple(only or ()),
        blocks=blocks,
        cells=split_words(cells),
        seed=seed,
        out=out,
        resume=resume,
        budget=budget,
        force=force,
        jobs=jobs,
    )
    raise typer.Exit(execute(request))


def split_words(values: Sequence[str] | None) -> tuple[str, ...]:
    """Split values that were repeated or separated by commas."""
    return tuple(
        part.strip() for value in values or () for part in value.split(",") if part.strip()
    )
