"""``wirebench duel``: servers of one's own, measured in turn and compared."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wirebench.cli.arguments import check_outputs, given_parameters, options_given
from wirebench.cli.console import (
    EXIT_FAILED,
    EXIT_UNAVAILABLE,
    console,
    fail,
    for_tables,
    write_file,
)
from wirebench.cli.duel_options import (
    RESULT,
    Blocks,
    Budget,
    Build,
    Connections,
    Cwd,
    Env,
    Git,
    Out,
    Rate,
    Ready,
    Seed,
    StartTimeout,
    Tls,
    Turns,
    UrlPath,
    Warmup,
    WebSocket,
    Window,
    Wireload,
)
from wirebench.cli.duel_run import request_of, run_duel, unit_of_load

if TYPE_CHECKING:
    from rich.console import RenderableType

    from wirebench.cli.duel_run import DuelRequest, Measured
    from wirebench.duel.text import Duelled

NOTHING_VALID = 3


def register(app: typer.Typer) -> None:
    app.command("duel")(duel)


def duel(
    context: typer.Context,
    commands: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND...",
            help=(
                "Shell commands that start a server each ({port}, or PORT in the environment, is"
                " where it must listen on 127.0.0.1), or addresses of servers that run already"
                " (http://host:port). With --git, one command."
            ),
        ),
    ],
    path: UrlPath = "/",
    websocket: WebSocket = False,
    tls: Tls = False,
    connections: Connections = 50,
    rate: Rate = None,
    request: Wireload = None,
    warmup: Warmup = "500ms",
    window: Window = "1s",
    turns: Turns = True,
    cwd: Cwd = None,
    env: Env = None,
    ready: Ready = None,
    start_timeout: StartTimeout = "20s",
    git: Git = None,
    build: Build = None,
    budget: Budget = "2m",
    blocks: Blocks = None,
    band: Annotated[
        float,
        typer.Option(
            "--band",
            min=0.1,
            max=50.0,
            help="Differences below this percentage count for nothing.",
            rich_help_panel=RESULT,
        ),
    ] = 1.0,
    floor: Annotated[
        bool,
        typer.Option(
            "--floor/--no-floor",
            help="Measure a hand-written server of raw sockets beside them.",
            rich_help_panel=RESULT,
        ),
    ] = True,
    seed: Seed = None,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Write the result here.", rich_help_panel=RESULT
        ),
    ] = None,
    markdown_file: Annotated[
        Path | None,
        typer.Option(
            "--markdown", metavar="FILE", help="For a pull request.", rich_help_panel=RESULT
        ),
    ] = None,
    html_file: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="One offline page.", rich_help_panel=RESULT),
    ] = None,
    out: Out = None,
) -> None:
    """Compare servers of your own: two or more commands, measured in turn.

    Each block starts every server once, in random order, puts the load on it and checks every
    reply. One of them runs twice in each block: what it differs by from itself is noise. The duel
    ends when it is decided, or when its time is over, and says what differs, by how much, and what
    is not decided.

    Exit code 0: measured. 1: a server failed in a trial, or a build. 3: nothing valid was measured.
    64: wrong usage. 69: the disk is full, or a file could not be written; what is known is printed.
    130, 143: interrupted, likewise.

    Examples:

      wirebench duel './old --port {port}' './new --port {port}' --path /api

      wirebench duel 'node a.js' 'bun a.js' --rate 5000

      wirebench duel --git main.. --build 'make -j2' './server {port}'
    """
    from wirebench.duel.revisions import BuildError
    from wirebench.process.interrupt import Interrupted

    # Values of variables may be secret, and runs are shown.
    unrepeated = ("commands", "env", "seed", "json_file", "markdown_file", "html_file", "out")
    asked = request_of(
        "duel",
        commands,
        options=options_given(context, without=unrepeated),
        written=given_parameters(context),
        path=path,
        websocket=websocket,
        tls=tls,
        connections=connections,
        rate=rate,
        request=request,
        warmup=warmup,
        window=window,
        turns=turns,
        cwd=cwd,
        env=env,
        ready=ready,
        start_timeout=start_timeout,
        git=git,
        build=build,
        budget=budget,
        blocks=blocks,
        band=band / 100,
        floor=floor,
        seed=seed,
        out=out,
    )
    check_outputs({"--json": json_file, "--markdown": markdown_file, "--html": html_file})
    try:
        measured = run_duel(asked)
    except BuildError as error:
        fail(str(error), code=EXIT_FAILED)
    except Interrupted as interrupted:
        console().print("interrupted before anything was measured", highlight=False)
        raise typer.Exit(interrupted.exit_code) from None
    raise typer.Exit(
        _conclude(
            asked,
            measured,
            json_file=json_file,
            markdown_file=markdown_file,
            html_file=html_file,
        )
    )


def _conclude(
    request: DuelRequest,
    measured: Measured,
    *,
    json_file: Path | None,
    markdown_file: Path | None,
    html_file: Path | None,
) -> int:
    from wirebench.cli.publish import failure_lines
    from wirebench.duel.text import Duelled, document, markdown, page
    from wirebench.stats import counted_trials
    from wirebench.store.jsonl import write_whole_text
    from wirebench.store.rundir import DUEL_FILE

    out, running, path, code = console(), measured.duel, measured.path, measured.code
    result = running.result()
    duelled = Duelled(
        sides=running.sides,
        load=f"{running.cell.cell.title}, {request.scheme} {request.path}",
        unit=unit_of_load(running.load),
        kind=running.cell.cell.kind,
        result=result,
        seconds=measured.seconds,
        run=path.name,
        blocks=request.blocks,
        tls=request.tls,
    )
    text = json.dumps(document(duelled), indent=2, ensure_ascii=False) + "\n"
    written = [write_file(path / DUEL_FILE, text, write=write_whole_text)]
    if json_file is not None:
        written.append(write_file(json_file, text))
    if markdown_file is not None:
        written.append(write_file(markdown_file, markdown(duelled)))
    if html_file is not None:
        written.append(write_file(html_file, page(duelled)))
    sides = {side.name for side in running.sides}
    if any(trial.status == "ok" and trial.contestant in sides for trial in running.trials):
        for part in _shown(duelled):
            for_tables(out, part).print(part)
    elif code != 0:
        out.print("ended before anything was measured", highlight=False)
    if code == 0 and not any(result.figures.get(side) for side in sides):
        out.print("nothing valid was measured", highlight=False)
        code = NOTHING_VALID
    for line in failure_lines(counted_trials(running.trials)):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    if code == 0 and any(result.failed.values()):
        code = EXIT_FAILED
    if code == 0 and not all(written):
        code = EXIT_UNAVAILABLE
    out.print(f"stored in {os.path.relpath(path)}", markup=False, highlight=False, soft_wrap=True)
    return code


def _shown(duelled: Duelled) -> Iterator[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    from wirebench.duel.text import headings, notes, rows, sentences

    for side in duelled.sides[1:]:
        table = Table(box=None, padding=(0, 1), header_style="bold", show_edge=False)
        for place, title in enumerate(headings(duelled, side.name)):
            table.add_column(title, justify="right" if 0 < place < 4 else "left", no_wrap=place < 4)
        for row in rows(duelled, side.name):
            style = {"better": "green", "worse": "red"}.get(row[-1], "")
            table.add_row(*(Text(word) for word in row), style=style)
        yield Text("")
        yield table
    yield Text("")
    for line in sentences(duelled):
        yield Text(line, style="bold")
    for line in notes(duelled):
        yield Text(f"  {line}", style="bright_black")
