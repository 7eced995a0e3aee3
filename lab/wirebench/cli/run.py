"""``wirebench run``: measures a study, stores the trials and reports them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from wirebench.catalog import CatalogError
from wirebench.catalog.selection import RampSize
from wirebench.cli.arguments import (
    MAX_BLOCKS,
    MAX_CONNECTIONS,
    SELECTOR_HELP,
    Jobs,
    refuse_beside,
)
from wirebench.cli.execute import Request, execute

MAX_SEED = 2**31
MAX_ROUNDS = 100_000
MAX_MESSAGES = 65_536
"""Of a ramp, as wireload has it."""
ALL = "all"
AS_BEGUN = "a run is completed as it was begun"
"""Why ``--resume`` takes no options that say what to measure."""
BESIDE_RESUME = ("resume", "out", "dry_run", "force", "jobs")
"""The parameters that it takes."""

Only = Annotated[
    list[str] | None, typer.Option("--only", metavar="CONTESTANTS", help=SELECTOR_HELP)
]
Blocks = Annotated[
    int | None,
    typer.Option(
        "--blocks",
        min=1,
        max=MAX_BLOCKS,
        help=(
            "Exactly this many blocks of each cell, as far as a --budget holds them. Fewer than 6"
            " give figures but no verdicts."
        ),
    ),
]
Cells = Annotated[
    list[str] | None,
    typer.Option("--cells", metavar="IDS", help="Only these cells, separated by commas."),
]
RAMP_HELP = "a ramp of this size instead of the preset's cells (websocket). Not given: 100."
Rounds = Annotated[
    int | None,
    typer.Option("--rounds", min=1, max=MAX_ROUNDS, metavar="R", help=f"Rounds of {RAMP_HELP}"),
]
Add = Annotated[
    int | None,
    typer.Option(
        "--add",
        min=1,
        max=MAX_CONNECTIONS,
        metavar="A",
        help=f"Connections that each round adds in {RAMP_HELP}",
    ),
]
Messages = Annotated[
    int | None,
    typer.Option(
        "--messages",
        min=1,
        max=MAX_MESSAGES,
        metavar="Q",
        help=f"Messages of each connection in each round of {RAMP_HELP}",
    ),
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
        help=(
            "Time for measuring, such as 30m: first the mandatory blocks of as many cells as fit,"
            " then blocks of what is still undecided. No block starts that would exceed it."
        ),
    ),
]
Repeats = Annotated[
    int | None,
    typer.Option(
        "--repeats",
        min=1,
        max=MAX_BLOCKS,
        metavar="K",
        help=(
            "Spread the blocks over K repeats, which differ in what should not matter. Default: as"
            " the preset has it, 1 or 3."
        ),
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print cells, entries, blocks, their time and the end by the clock; measure nothing.",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Resume even if the host or the builds have changed."),
]


def register(app: typer.Typer) -> None:
    app.command("run")(run_study)


def run_study(
    context: typer.Context,
    studies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STUDY",
            help="roundtrip, concurrency, rest, websocket; or all of them: all.",
        ),
    ] = None,
    only: Only = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use the preset 'quick': a small slice.")
    ] = False,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            help=(
                "quick, hour, evening (4 hours), published, full, or another of the study."
                " Default: 'full'."
            ),
        ),
    ] = None,
    blocks: Blocks = None,
    cells: Cells = None,
    rounds: Rounds = None,
    add: Add = None,
    messages: Messages = None,
    seed: Seed = None,
    out: Out = None,
    resume: Resume = None,
    budget: Budget = None,
    repeats: Repeats = None,
    dry_run: DryRun = False,
    force: Force = False,
    jobs: Jobs = None,
) -> None:
    """Measure one or more studies in interleaved blocks and write the report.

    Builds what is not built, checks every contestant's replies, then measures. A preset's time is
    that of the run: several studies share it. Where it does not hold six blocks of every cell, the
    study that takes most of it loses its last cell, until the rest fits.

    Exit code 0: all measured. 1: a contestant failed (named at the end; the others' results stand).
    3: nothing valid was measured. 64: wrong usage. 69: it cannot go on now, such as on a full disk.
    130, 143: interrupted; every finished trial is kept, and --resume completes the run. A
    contestant that is not installed is listed and does not change the exit code.
    """
    if quick and preset not in (None, "quick"):
        raise CatalogError(f"--quick: expected no other --preset with it, got {preset!r}")
    if resume is None and not studies:
        raise CatalogError(
            "STUDY: expected a study or --resume RUN, got neither; 'wirebench run --help' shows"
            " both"
        )
    if resume is not None:
        refuse_beside(context, "--resume", BESIDE_RESUME, why=AS_BEGUN)
    request = Request(
        label=label_of(studies or ()),
        studies=() if ALL in (studies or ()) else tuple(dict.fromkeys(studies or ())),
        preset="quick" if quick else preset or "full",
        only=tuple(only or ()),
        blocks=blocks,
        cells=split_words(cells),
        ramp=ramp_of(rounds, add, messages),
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


def ramp_of(rounds: int | None, add: int | None, messages: int | None) -> RampSize | None:
    """The size asked for; None if none was. ``CatalogError`` where it ends at more connections than
    wireload opens.
    """
    given = {"rounds": rounds, "add": add, "messages": messages}
    asked = {name: value for name, value in given.items() if value is not None}
    size = RampSize(**asked) if asked else None
    if size is not None and size.rounds * size.add > MAX_CONNECTIONS:
        raise CatalogError(
            f"--rounds, --add: expected {MAX_CONNECTIONS:,} connections in the last round at most,"
            f" got {size.rounds:,} x {size.add:,}"
        )
    return size


def label_of(studies: Sequence[str]) -> str:
    """What the run's directory is called after its time."""
    return ALL if ALL in studies else "-".join(dict.fromkeys(studies)) or "resumed"


def split_words(values: Sequence[str] | None) -> tuple[str, ...]:
    """Split values that were repeated or separated by commas."""
    return tuple(
        part.strip() for value in values or () for part in value.split(",") if part.strip()
    )
