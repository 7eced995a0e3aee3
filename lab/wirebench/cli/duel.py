"""``wirebench duel``: servers of one's own, measured in turn and compared."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wirebench import __version__
from wirebench.catalog import CatalogError
from wirebench.cli.arguments import default_jobs, open_catalog
from wirebench.cli.console import EXIT_FAILED, console, fail, say_warning
from wirebench.cli.execute import RESULTS

# Everything of the later stages is imported where it is used: it takes most of a second, and --help
# should not wait for it.
if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from wirebench.catalog import Catalog
    from wirebench.catalog.model import Contestant, Unit
    from wirebench.duel.measure import Duel
    from wirebench.duel.plan import DuelLoad
    from wirebench.duel.sides import Side
    from wirebench.duel.text import Duelled
    from wirebench.plan.blocks import PlannedTrial
    from wirebench.run.local import LocalBench
    from wirebench.run.measure import Watcher
    from wirebench.trial.record import TrialRecord
    from wirebench.trial.types import OwnServer

LOAD = "Load"
SERVERS = "Servers"
RESULT = "Result"
NOTHING_VALID = 3
OWN_OPTIONS = frozenset(
    {
        *("-c", "--connections", "-d", "--duration", "-n", "--requests", "--each", "--warmup"),
        *("--rate", "--rate-steps", "--rate-ramp", "--arrivals", "--idle"),
        *("--ramp-rounds", "--ramp-add", "--ramp-messages", "--ramp-pacing"),
        *("-t", "--threads", "--cpu", "--seed", "--watch", "--timeout", "--fail-if"),
        *("--json", "--csv", "--hdr-log", "--interval", "--no-histogram", "--live", "-q"),
        *("--quiet", "--color", "--print", "--manual", "--completion", "--version", "--help"),
        *("-h", "--engine", "--source", "--correct-omission"),
    }
)
"""Options of wireload that the duel sets itself, or that make no sense in one."""
FILE_OPTIONS = frozenset(
    {
        *("--body-file", "--requests-file", "--expect-body-file", "--message-file"),
        *("--cacert", "--cert", "--key"),
    }
)


def register(app: typer.Typer) -> None:
    app.command("duel")(duel)


def duel(
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
    path: Annotated[
        str, typer.Option("--path", help="What is asked for.", rich_help_panel=LOAD)
    ] = "/",
    websocket: Annotated[
        bool,
        typer.Option("--ws", help="WebSocket: each message is echoed.", rich_help_panel=LOAD),
    ] = False,
    tls: Annotated[
        bool,
        typer.Option(
            "--tls",
            help="The servers speak TLS. Trust their certificate with --wireload '--cacert FILE'.",
            rich_help_panel=LOAD,
        ),
    ] = False,
    connections: Annotated[
        int,
        typer.Option(
            "--connections", "-c", min=1, help="Connections kept open.", rich_help_panel=LOAD
        ),
    ] = 50,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            min=0.1,
            help=(
                "Requests a second, the same for all: compares latency and CPU at this rate."
                " Default: as fast as each can."
            ),
            rich_help_panel=LOAD,
        ),
    ] = None,
    request: Annotated[
        list[str] | None,
        typer.Option(
            "--wireload",
            metavar="OPTIONS",
            help=(
                "Options of wireload for the request and the reply that is right, such as"
                " '-m POST -b {} --expect-status 201' or '--requests-file FILE'."
            ),
            rich_help_panel=LOAD,
        ),
    ] = None,
    warmup: Annotated[
        str,
        typer.Option("--warmup", help="Load before each window.", rich_help_panel=LOAD),
    ] = "500ms",
    window: Annotated[
        str, typer.Option("--window", help="Measured in each trial.", rich_help_panel=LOAD)
    ] = "1s",
    cwd: Annotated[
        Path | None,
        typer.Option("--cwd", help="Where the commands run.", rich_help_panel=SERVERS),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env",
            metavar="NAME=VALUE",
            help="A variable of the servers; {port} in it is the port.",
            rich_help_panel=SERVERS,
        ),
    ] = None,
    ready: Annotated[
        str | None,
        typer.Option(
            "--ready",
            metavar="PATH",
            help="Ready when a GET of this is answered well. Default: when it accepts.",
            rich_help_panel=SERVERS,
        ),
    ] = None,
    start_timeout: Annotated[
        str,
        typer.Option(
            "--start-timeout", help="How long a server may take.", rich_help_panel=SERVERS
        ),
    ] = "20s",
    git: Annotated[
        str | None,
        typer.Option(
            "--git",
            metavar="BASE..HEAD",
            help="Compare two revisions of this repository, in work trees that are removed.",
            rich_help_panel=SERVERS,
        ),
    ] = None,
    build: Annotated[
        str | None,
        typer.Option(
            "--build", metavar="CMD", help="With --git: builds each.", rich_help_panel=SERVERS
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option("--budget", help="The time for measuring.", rich_help_panel=RESULT)
    ] = "2m",
    blocks: Annotated[
        int | None,
        typer.Option(
            "--blocks",
            min=1,
            help="Exactly this many blocks, instead of --budget.",
            rich_help_panel=RESULT,
        ),
    ] = None,
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
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Of the random order.", rich_help_panel=RESULT),
    ] = None,
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
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The folder for the run's directory.", rich_help_panel=RESULT),
    ] = None,
) -> None:
    """Compare servers of your own: two or more commands, measured in turn.

    Each block starts every server once, in random order, puts the load on it and checks every
    reply. One of them runs twice in each block: what it differs by from itself is noise. The duel
    ends when it is decided, or when its time is over, and says what differs, by how much, and what
    is not decided.

    Exit code 0: measured. 1: a server failed in a trial, or a build. 3: nothing valid was measured.
    64: wrong usage. 130: interrupted; what is known is printed.

    Examples:

      wirebench duel './old --port {port}' './new --port {port}' --path /api

      wirebench duel 'node a.js' 'bun a.js' --rate 5000

      wirebench duel --git main.. --build 'make -j2' './server {port}'
    """
    from wirebench.catalog.studies import parse_duration
    from wirebench.duel.sides import environment_of

    def duration(option: str, text: str) -> int:
        try:
            return parse_duration(text)
        except ValueError as error:
            raise CatalogError(f"{option}: {error}, got {text!r}") from error

    if not path.startswith("/"):
        raise CatalogError(f"--path: expected a path that begins with '/', got {path!r}")
    folder = (cwd or Path.cwd()).resolve()
    if not folder.is_dir():
        raise CatalogError(f"--cwd: expected a folder, got {str(cwd)!r}")
    if build is not None and git is None:
        raise CatalogError("--build: expected --git BASE..HEAD with it, got none")
    for file in (json_file, markdown_file, html_file):
        if file is not None and not file.absolute().parent.is_dir():
            raise CatalogError(f"{file}: expected an existing folder for it")
    request_options = options_of(request or ())
    request_here = _Request(
        path=path,
        websocket=websocket,
        tls=tls,
        connections=connections,
        rate=rate,
        options=request_options,
        warmup_ns=duration("--warmup", warmup),
        window_ns=duration("--window", window),
        environment={"PORT": "{port}", **environment_of(env or ())},
        ready=ready,
        start_timeout_ns=duration("--start-timeout", start_timeout),
        budget_ns=duration("--budget", budget),
        blocks=blocks,
        band=band / 100,
        floor=floor,
        seed=seed if seed is not None else secrets.randbelow(2**31),
        json_file=json_file,
        markdown_file=markdown_file,
        html_file=html_file,
        out=out,
        words=tuple(commands),
    )
    if request_here.window_ns < 50_000_000:
        raise CatalogError(f"--window: expected at least 50ms, got {window!r}")
    raise typer.Exit(_carry_out(request_here, commands, folder=folder, git=git, build=build))


@dataclass(frozen=True, kw_only=True)
class _Request:
    path: str
    websocket: bool
    tls: bool
    connections: int
    rate: float | None
    options: tuple[str, ...]
    warmup_ns: int
    window_ns: int
    environment: dict[str, str]
    ready: str | None
    start_timeout_ns: int
    budget_ns: int
    blocks: int | None
    band: float
    floor: bool
    seed: int
    json_file: Path | None
    markdown_file: Path | None
    html_file: Path | None
    out: Path | None
    words: tuple[str, ...]

    @property
    def scheme(self) -> str:
        return ("ws" if self.websocket else "http") + ("s" if self.tls else "")


def options_of(given: Sequence[str]) -> tuple[str, ...]:
    """The words of ``--wireload``; files by their full path, since the generator runs elsewhere."""
    found: list[str] = []
    is_file = False
    for text in given:
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise CatalogError(f"--wireload: {error}, got {text!r}") from error
        for word in words:
            name, equals, value = word.partition("=")
            if is_file:
                found.append(str(Path(word).resolve()))
            elif name in OWN_OPTIONS:
                raise CatalogError(
                    f"--wireload: {name}: expected options for the request and its reply; the duel"
                    " sets this one itself"
                )
            elif equals and name in FILE_OPTIONS:
                found.append(f"{name}={Path(value).resolve()}")
            else:
                found.append(word)
            is_file = not is_file and word in FILE_OPTIONS
    return tuple(found)


def _carry_out(
    request: _Request, commands: Sequence[str], *, folder: Path, git: str | None, build: str | None
) -> int:
    from wirebench.duel.revisions import BuildError
    from wirebench.process.interrupt import Interrupted, interruptible
    from wirebench.run.local import LocalBench
    from wirebench.store.jsonl import StoreError

    out = console()
    catalog = open_catalog(warn=False)
    try:
        with interruptible(), _sides(commands, folder, git, build, out) as sides:
            _check_options(request, sides)
            with LocalBench(root=catalog.root, jobs=default_jobs(None)) as bench:
                return _measure(request, sides, bench, catalog, out)
    except BuildError as error:
        fail(str(error), code=EXIT_FAILED)
    except StoreError as error:
        raise CatalogError(str(error)) from error
    except Interrupted as interrupted:
        out.print("interrupted before anything was measured", highlight=False)
        return interrupted.exit_code


@contextmanager
def _sides(
    commands: Sequence[str], folder: Path, git: str | None, build: str | None, out: Console
) -> Iterator[tuple[Side, ...]]:
    from wirebench.duel import revisions
    from wirebench.duel.sides import sides_of

    if git is None:
        yield sides_of(commands, folders=[folder])
        return
    if len(commands) != 1:
        raise CatalogError(f"COMMAND: expected one command with --git, got {len(commands)}")
    with revisions.worktrees(revisions.split_range(git), here=folder) as trees:
        for tree in trees:
            if build is not None:
                out.print(f"building {tree.label}", markup=False, highlight=False)
                revisions.build(tree, build)
        yield sides_of(
            [commands[0]] * len(trees),
            folders=[tree.folder for tree in trees],
            labels=[tree.label for tree in trees],
        )


def _check_options(request: _Request, sides: Sequence[Side]) -> None:
    """Ask the generator whether it understands the request, before anything is started."""
    from wirebench.run.local import find_generator

    origin = next((side.url for side in sides if side.url), f"{request.scheme}://127.0.0.1:9")
    done = subprocess.run(
        [
            str(find_generator()),
            *request.options,
            "--print",
            "request",
            f"{origin}{request.path}",
        ],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode == 64:  # wireload's code for wrong usage
        raise CatalogError(f"--wireload: {done.stderr.strip().splitlines()[0]}")


def _measure(
    request: _Request,
    sides: tuple[Side, ...],
    bench: LocalBench,
    catalog: Catalog,
    out: Console,
) -> int:
    from wirebench.duel.measure import Duel
    from wirebench.duel.plan import DuelLoad, plan_of
    from wirebench.process.interrupt import Interrupted, hold
    from wirebench.run.progress import watcher_for
    from wirebench.store.records import RunInfo, Selection
    from wirebench.store.rundir import RunDirectory, point_latest

    load = DuelLoad(
        connections=request.connections,
        rate_per_s=request.rate,
        warmup_ns=request.warmup_ns,
        window_ns=request.window_ns,
        websocket=request.websocket,
    )
    floor = _floor(request, catalog, bench, load, out)
    plan = plan_of(
        sides,
        load,
        floor=floor.identity if floor is not None else None,
        seed=request.seed,
        budget_ns=request.budget_ns,
        blocks=request.blocks,
    )
    for side in sides:
        bench.give(side.name, side.program())
    results = request.out if request.out is not None else catalog.root / RESULTS
    with hold():
        directory = RunDirectory.create(results, label="duel")
        info = RunInfo(
            name=directory.path.name,
            wirebench=__version__,
            status="running",
            command=("wirebench", "duel", *request.words, "--seed", str(request.seed)),
            selection=Selection(studies=("duel",), preset="duel", seed=request.seed),
            started_unix_ns=time.time_ns(),
            notes=bench.notes(),
        )
        directory.write_info(info)
        point_latest(directory.path)
        directory.write_host(bench.host())
        directory.write_plan(plan)
    running = Duel(
        plan=plan,
        sides=sides,
        load=load,
        servers={side.name: _server(request, side) for side in sides},
        floor=floor,
        band=request.band,
        bench=bench,
        directory=directory,
    )
    for line in _announcement(request, sides, load):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    for line in bench.notes():
        say_warning(line)
    began = time.monotonic()
    status, code = "failed", EXIT_FAILED
    try:
        with watcher_for(plan, out) as watcher:
            running.measure(_Known(watcher, running, out))
        status, code = "complete", 0
    except Interrupted as interrupted:
        status, code = "interrupted", interrupted.exit_code
    finally:
        directory.write_info(
            replace(
                info,
                status=status,  # type: ignore[arg-type]
                ended_unix_ns=time.time_ns(),
                exit_code=code,
            )
        )
        directory.close()
    return _conclude(request, running, directory.path, time.monotonic() - began, code, out)


def _floor(
    request: _Request, catalog: Catalog, bench: LocalBench, load: DuelLoad, out: Console
) -> Contestant | None:
    """The floor, built; None where it is not wanted or cannot be built here."""
    floor = next(
        (
            one
            for one in catalog.contestants.values()
            if one.tier == "floor" and load.workload in one.serves
        ),
        None,
    )
    if (
        not request.floor
        or floor is None
        or floor.identity in bench.absent({floor.identity: floor})
    ):
        return None
    if not bench.is_built(floor):
        out.print("building the floor", highlight=False)
    bench.begin_builds([floor])
    built = bench.build(floor)
    if built.failure is not None:
        say_warning(f"without the floor: {built.failure.message}")
        return None
    return floor


def _server(request: _Request, side: Side) -> OwnServer:
    from wirebench.catalog.workloads import GivenRequest
    from wirebench.trial.types import OwnServer

    return OwnServer(
        request=GivenRequest(path=request.path, options=request.options),
        scheme=request.scheme,  # type: ignore[arg-type]
        url=side.url,
        ready_path=request.ready,
        start_timeout_ns=request.start_timeout_ns,
        environment=request.environment,
    )


def _announcement(request: _Request, sides: Sequence[Side], load: DuelLoad) -> Iterator[str]:
    from wirebench.catalog.units import rough_duration

    for side in sides:
        yield f"{side.name}  {side.label + ': ' if side.label else ''}{side.given}"
    how_long = (
        f"{request.blocks} blocks"
        if request.blocks is not None
        else f"at most {rough_duration(request.budget_ns)}"
    )
    yield f"load: {load.cell().title}, {request.scheme} {request.path}; {how_long}"


class _Known:
    """Shows after each block what is known, between two trials."""

    def __init__(self, inner: Watcher, running: Duel, out: Console) -> None:
        self._inner, self._duel, self._out = inner, running, out
        self._shown = 0

    def before(self, trial: PlannedTrial, *, left_ns: int) -> None:
        finished = trial.block - 1
        if finished > self._shown:
            self._shown = finished
            line = known_line(self._duel)
            if line:
                self._out.print(line, markup=False, highlight=False, soft_wrap=True)
        self._inner.before(trial, left_ns=left_ns)

    def after(self, record: TrialRecord, *, left_ns: int) -> None:
        self._inner.after(record, left_ns=left_ns)


def known_line(running: Duel) -> str:
    """What is known so far of the metrics that decide, in one line."""
    from wirebench.duel.text import noun_of
    from wirebench.duel.verdicts import DECIDING

    known = running.known()
    parts = [
        f"{line.side}/{line.against} {noun_of(line.metric, _unit(running.load))} {line.ratio}"
        for line in known.lines
        if line.metric in DECIDING[running.cell.cell.kind] and line.ratio is not None
    ]
    return f"after {known.blocks} blocks: {', '.join(parts)}" if parts else ""


def _unit(load: DuelLoad) -> Unit:
    from wirebench.catalog.model import unit_of

    return unit_of(load.workload)


def _conclude(
    request: _Request, running: Duel, path: Path, seconds: float, code: int, out: Console
) -> int:
    from wirebench.cli.publish import failure_lines
    from wirebench.duel.text import Duelled, document, markdown, page

    result = running.result()
    duelled = Duelled(
        sides=running.sides,
        load=f"{running.cell.cell.title}, {request.scheme} {request.path}",
        unit=_unit(running.load),
        kind=running.cell.cell.kind,
        result=result,
        seconds=seconds,
        run=path.name,
    )
    text = json.dumps(document(duelled), indent=2, ensure_ascii=False) + "\n"
    (path / "duel.json").write_text(text, encoding="utf-8")
    if request.json_file is not None:
        _write(request.json_file, text)
    if request.markdown_file is not None:
        _write(request.markdown_file, markdown(duelled))
    if request.html_file is not None:
        _write(request.html_file, page(duelled))
    measured = any(trial.status == "ok" for trial in running.trials)
    if measured:
        for part in _shown(duelled):
            out.print(part)
    elif code == 0:
        out.print("nothing valid was measured", highlight=False)
        code = NOTHING_VALID
    for line in failure_lines(running.trials):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    if code == 0 and any(result.failed.values()):
        code = EXIT_FAILED
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


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        say_warning(f"{path}: not written: {error.strerror}")
