"""``wirebench gate``: thresholds in continuous integration, with an exit code."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wirebench.catalog import CatalogError
from wirebench.cli.arguments import (
    check_outputs,
    given_parameters,
    options_given,
    refuse_beside,
)
from wirebench.cli.console import EXIT_UNAVAILABLE, console, for_tables, say_warning, write_file
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
from wirebench.cli.duel_run import (
    DuelRequest,
    StoppedError,
    request_of,
    run_duel,
)
from wirebench.cli.report import two_runs

if TYPE_CHECKING:
    from wirebench.gate.thresholds import Threshold
    from wirebench.gate.types import Found
    from wirebench.plan.model import PlannedCell
    from wirebench.trial.record import TrialRecord

STORED = "Stored runs"
BESIDE_BASELINE = (
    *("commands", "thresholds_file", "baseline", "contestant", "cell"),
    *("junit_file", "markdown_file"),
)
"""The parameters that ``--baseline`` takes."""


def register(app: typer.Typer) -> None:
    app.command("gate")(gate)


def gate(
    context: typer.Context,
    commands: Annotated[
        list[str],
        typer.Argument(
            metavar="BASE HEAD",
            help=(
                "Two shell commands that start a server each ({port}, or PORT in the environment,"
                " is where it must listen on 127.0.0.1), or two addresses. With --git, one command."
                " With --baseline, one stored run: its directory, or its name in 'results'."
            ),
        ),
    ],
    thresholds_file: Annotated[
        Path,
        typer.Option(
            "--thresholds",
            "-t",
            metavar="FILE",
            help='TOML with lines such as p99 = "+5%" or errors = 0.',
        ),
    ] = Path("gate.toml"),
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
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="RUN",
            help="Judge a stored run against this one, of the same host. Nothing is measured.",
            rich_help_panel=STORED,
        ),
    ] = None,
    contestant: Annotated[
        list[str] | None,
        typer.Option(
            "--contestant",
            help="With --baseline: only this one. Default: all that both have.",
            rich_help_panel=STORED,
        ),
    ] = None,
    cell: Annotated[
        list[str] | None,
        typer.Option(
            "--cell",
            help="With --baseline: only this one. Default: all that both have.",
            rich_help_panel=STORED,
        ),
    ] = None,
    budget: Budget = "2m",
    blocks: Blocks = None,
    seed: Seed = None,
    junit_file: Annotated[
        Path | None,
        typer.Option(
            "--junit",
            metavar="FILE",
            help="A test case for each threshold.",
            rich_help_panel=RESULT,
        ),
    ] = None,
    markdown_file: Annotated[
        Path | None,
        typer.Option(
            "--markdown", metavar="FILE", help="For a pull request.", rich_help_panel=RESULT
        ),
    ] = None,
    out: Out = None,
) -> None:
    """Check that a change keeps within thresholds: base and head are measured in turn, as 'duel'
    does, and each threshold is judged by an interval.

    A threshold is regressed only when the whole 95% interval lies beyond it, and holds only when
    the whole interval lies within it. The gate ends as soon as one is regressed, or all hold, or
    when its time is over.

    Exit code 0: all hold. 1: regressed. 2: not decided; what it would take is printed. 3: invalid,
    such as a server that died or a baseline of another host. 64: wrong usage. 69: the disk is full,
    or all hold and a file could not be written. 130, 143: interrupted.

    Examples:

      wirebench gate './old --port {port}' './new --port {port}' --rate 2000

      wirebench gate --git main.. --build 'make -j2' './server {port}' --junit gate.xml

      wirebench gate --baseline stored/main latest
    """
    from wirebench.gate.thresholds import read_thresholds

    check_outputs({"--junit": junit_file, "--markdown": markdown_file})
    thresholds = read_thresholds(thresholds_file)
    _say_never_holds(thresholds, thresholds_file)
    began = time.monotonic()
    if baseline is not None:
        if len(commands) != 1:
            raise CatalogError(f"RUN: expected one stored run with --baseline, got {len(commands)}")
        refuse_beside(context, "--baseline", BESIDE_BASELINE, why="nothing is measured")
        found, code = _over_runs(baseline, commands[0], thresholds, contestant, cell), None
    else:
        if contestant or cell:
            raise CatalogError("--contestant, --cell: expected --baseline with it, got none")
        # Values of variables may be secret, and runs are shown.
        unrepeated = ("commands", "env", "seed", "junit_file", "markdown_file", "out")
        asked = request_of(
            "gate",
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
            band=0.01,
            floor=False,
            seed=seed,
            out=out,
        )
        if git is None and len(commands) != 2:
            raise CatalogError(f"BASE HEAD: expected two commands, got {len(commands)}")
        _refuse_unknown(commands, thresholds, thresholds_file)
        found, code = _over_duel(asked, thresholds)
    _print(found)
    code = found.exit_code if code is None else code
    if not _write(found, junit_file, markdown_file, seconds=time.monotonic() - began) and code == 0:
        code = EXIT_UNAVAILABLE
    raise typer.Exit(code)


def _write(
    found: Found, junit_file: Path | None, markdown_file: Path | None, *, seconds: float
) -> bool:
    """Whether all that was asked for could be written."""
    from wirebench.gate.text import junit, markdown

    written = []
    if junit_file is not None:
        written.append(write_file(junit_file, junit(found, seconds=seconds)))
    if markdown_file is not None:
        written.append(write_file(markdown_file, markdown(found)))
    return all(written)


def _say_never_holds(thresholds: Sequence[Threshold], file: Path) -> None:
    from wirebench.gate.thresholds import LEAST_NOISE

    for one in thresholds:
        if one.never_holds:
            say_warning(
                f"{file}: {one}: can be regressed or not decided, but never hold: equal servers are"
                f" taken to differ by {LEAST_NOISE:.1%} at least"
            )


def _refuse_unknown(commands: Sequence[str], thresholds: Sequence[Threshold], file: Path) -> None:
    """A threshold needs figures of the head, and of the base where it is a change."""
    from wirebench.duel.sides import address_of
    from wirebench.gate.thresholds import OF_PROCESSES

    for one in thresholds:
        sides = commands if one.kind == "change" else commands[1:]
        address = next((word for word in sides if address_of(word) is not None), None)
        if one.name in OF_PROCESSES and address is not None:
            raise CatalogError(
                f"{file}: {one.name}: not known of a server that runs already ({address}); give its"
                " command"
            )


def _over_runs(
    baseline: str,
    run: str,
    thresholds: Sequence[Threshold],
    contestants: Sequence[str] | None,
    cells: Sequence[str] | None,
) -> Found:
    from wirebench.gate.over_runs import UnlikeError, check_alike, over_runs
    from wirebench.gate.types import Found
    from wirebench.stats import load_history
    from wirebench.store.jsonl import StoreError

    try:
        base, head = two_runs(baseline, run, "--baseline")
        check_alike(base, head)
        history = load_history(
            head.path.parent,
            host_id=str(head.host.get("host_id", "")),
            before_unix_ns=max(base.info.started_unix_ns, head.info.started_unix_ns) + 1,
        )
        return over_runs(
            base, head, thresholds, history, contestants=contestants or (), cells=cells or ()
        )
    except StoreError as error:
        raise CatalogError(str(error)) from error
    except UnlikeError as error:
        return Found(rows=(), blocks=0, invalid=(str(error),))


class _Judge:
    """Says when a gate is over, and remembers what it said."""

    def __init__(self, thresholds: Sequence[Threshold]) -> None:
        self._thresholds = thresholds
        self._errors = min(one.limit for one in thresholds if one.kind == "errors")
        self._trials: list[TrialRecord] = []
        self._looked: Found | None = None

    def ends(self, cell: PlannedCell, trials: Sequence[TrialRecord], level: float) -> bool:
        self._looked = self._judged(cell, trials, level)
        return self._looked.state != "undecided"

    def result(self, cell: PlannedCell, trials: Sequence[TrialRecord], level: float) -> Found:
        """That of the look that ended the gate, or of a last one with what is left of the level."""
        if self._looked is not None and self._looked.state != "undecided":
            return self._looked
        return self._judged(cell, trials, level)

    def _judged(self, cell: PlannedCell, trials: Sequence[TrialRecord], level: float) -> Found:
        from wirebench.gate.over_duel import over_duel

        found = over_duel(cell, trials, self._thresholds, level=level)
        return found.keeping(self._looked)

    def watch(self, record: TrialRecord) -> None:
        """No more blocks can change the result of a server that died or answered wrongly."""
        from wirebench.gate.failures import dead
        from wirebench.gate.over_duel import BASE, HEAD
        from wirebench.trial.wrong_replies import errors_of

        self._trials.append(record)
        if any(dead(self._trials, base=BASE)) or errors_of(self._trials, HEAD) > self._errors:
            raise StoppedError


def _over_duel(asked: DuelRequest, thresholds: Sequence[Threshold]) -> tuple[Found, int | None]:
    """What was found, and the exit code if it is not what was found that decides it."""
    from wirebench.duel.revisions import BuildError
    from wirebench.gate.types import Found
    from wirebench.process.interrupt import Interrupted

    judge = _Judge(thresholds)
    try:
        measured = run_duel(asked, ends=judge.ends, watch=judge.watch)
    except BuildError as error:
        return Found(rows=(), blocks=0, invalid=(str(error),)), None
    except Interrupted as interrupted:
        console().print("interrupted before anything was measured", highlight=False)
        raise typer.Exit(interrupted.exit_code) from None
    duel = measured.duel
    found = judge.result(duel.cell, duel.trials, duel.level_left)
    console().print(
        f"stored in {os.path.relpath(measured.path)}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    blocks = max((one.block for one in duel.trials), default=0)
    return (
        replace(
            found,
            block_seconds=measured.seconds / blocks if blocks else None,
            exactly=asked.blocks is not None,
        ),
        measured.code or None,
    )


def _print(found: Found) -> None:
    from rich.table import Table
    from rich.text import Text

    from wirebench.gate.text import HEADINGS, cells, headline

    out = console()
    if found.rows:
        table = Table(box=None, padding=(0, 1), header_style="bold", show_edge=False)
        for place, title in enumerate(HEADINGS):
            table.add_column(title, justify="right" if 0 < place < 4 else "left", no_wrap=place < 4)
        styles = {"holds": "green", "regressed": "red", "invalid": "red"}
        for row in found.rows:
            table.add_row(*(Text(one) for one in cells(row)), style=styles.get(row.state, ""))
        for_tables(out, table).print(table)
    for note in found.notes:
        out.print(Text(f"  {note}", style="bright_black"))
    out.print(Text(headline(found), style="bold"), soft_wrap=True)
