"""Runs a duel for the commands that need one: what was asked for, the sides, the measuring."""

from __future__ import annotations

import re
import secrets
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from wirebench import __version__
from wirebench.catalog import CatalogError
from wirebench.catalog.loads import REPLY_TIMEOUT_NS
from wirebench.catalog.units import count_of, parse_duration, rough_duration
from wirebench.cli.arguments import check_finite, check_folder, default_jobs, open_catalog
from wirebench.cli.console import EXIT_FAILED, EXIT_UNAVAILABLE, console, say_error, say_warning
from wirebench.cli.duel_options import check_effects
from wirebench.cli.execute import RESULTS

# Everything of the later stages is imported where it is used: it takes most of a second, and --help
# should not wait for it.
if TYPE_CHECKING:
    from rich.console import Console

    from wirebench.catalog import Catalog
    from wirebench.catalog.model import Contestant, Scheme, Unit
    from wirebench.duel.measure import Duel, Ends
    from wirebench.duel.plan import DuelLoad
    from wirebench.duel.sides import Side
    from wirebench.plan.blocks import PlannedTrial
    from wirebench.run.local import LocalBench
    from wirebench.run.measure import Watcher
    from wirebench.trial.record import TrialRecord
    from wirebench.trial.types import OwnServer

OWN_OPTIONS = frozenset(
    {
        *("-c", "--connections", "-d", "--duration", "-n", "--requests", "--each", "--warmup"),
        *("--rate", "--rate-steps", "--rate-ramp", "--arrivals", "--idle"),
        *("--ramp-rounds", "--ramp-add", "--ramp-messages", "--ramp-pacing", "--turns", "--turn"),
        *("-t", "--threads", "--cpu", "--seed", "--watch", "--fail-if"),
        *("--json", "--csv", "--hdr-log", "--interval", "--no-histogram", "--live", "-q"),
        *("--quiet", "--color", "--print", "--manual", "--completion", "--version", "--help"),
        *("-h", "--engine", "--source", "--correct-omission"),
    }
)
"""Options of wireload that the duel sets itself, or that make no sense in one."""
LOAD_OPTIONS = frozenset({"--pipeline", "--timeout"})
"""Those of the load that may be given: all else of it has an option of the duel."""
FILE_OPTIONS = frozenset(
    {
        *("--body-file", "--requests-file", "--expect-body-file", "--message-file"),
        *("--cacert", "--cert", "--key"),
    }
)
VALUE_OPTIONS = FILE_OPTIONS | {
    *("-m", "--method", "-H", "--header", "-b", "--body", "--message", "--message-size"),
    *("--expect-status", "--expect-body", "--expect-header", "--expect-length"),
    *("--expect-sha256", "--expect-match", "--expect-json", "--check", "--subprotocol"),
    *("--sni", "--tls-session", "--tls-max-version", "--alpn"),
    *("--max-in-flight", "--deadline", "--spin", "--per-connection"),
}
"""Those of the others that take a value, which may look like an option."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """What ``--wireload`` says."""

    options: tuple[str, ...]
    """Of the request and the reply that is right."""
    in_flight: int = 1
    timeout_ns: int = REPLY_TIMEOUT_NS


@dataclass(frozen=True, kw_only=True)
class DuelRequest:
    """A duel as the command line asks for it, checked."""

    command: str
    """Which of wirebench's commands asks."""
    words: tuple[str, ...]
    """Its servers, as they were written."""
    options: tuple[str, ...]
    """As they were given; with the seed, they repeat the duel."""
    path: str
    websocket: bool
    tls: bool
    connections: int
    rate: float | None
    given: Given
    warmup_ns: int
    window_ns: int
    turns: bool
    environment: dict[str, str]
    ready: str | None
    start_timeout_ns: int
    folder: Path
    git: str | None
    build: str | None
    budget_ns: int
    blocks: int | None
    band: float
    floor: bool
    seed: int
    out: Path | None

    @property
    def scheme(self) -> Scheme:
        if self.websocket:
            return "wss" if self.tls else "ws"
        return "https" if self.tls else "http"


def request_of(
    command: str,
    words: Sequence[str],
    *,
    options: Sequence[str],
    written: Mapping[str, str],
    path: str,
    websocket: bool,
    tls: bool,
    connections: int,
    rate: float | None,
    request: Sequence[str] | None,
    warmup: str,
    window: str,
    turns: bool,
    cwd: Path | None,
    env: Sequence[str] | None,
    ready: str | None,
    start_timeout: str,
    git: str | None,
    build: str | None,
    budget: str,
    blocks: int | None,
    band: float,
    floor: bool,
    seed: int | None,
    out: Path | None,
) -> DuelRequest:
    """The options of ``duel_options``. ``CatalogError`` where one is wrong or changes nothing.
    ``options``: those of the command line that repeat the duel, but the seed. ``written``: see
    ``given_parameters``.
    """
    from wirebench.duel.sides import address_of, check_schemes, environment_of

    def duration(option: str, text: str) -> int:
        try:
            return parse_duration(text)
        except ValueError as error:
            raise CatalogError(f"{option}: {error}, got {text!r}") from error

    _check_text("COMMAND", words)
    _check_text("--path", (path,))
    _check_text("--wireload", request or ())
    _check_text("--git", (git,) if git is not None else ())
    _check_text("OPTIONS", options)
    if not path.startswith("/"):
        raise CatalogError(f"--path: expected a path that begins with '/', got {path!r}")
    check_finite("--rate", rate)
    if ready is not None and not re.fullmatch(r"/[\x21-\x7e]*", ready):
        raise CatalogError(
            f"--ready: expected a path that begins with '/', of ASCII without blanks, got {ready!r}"
        )
    folder = (cwd or Path.cwd()).resolve()
    if not folder.is_dir():
        raise CatalogError(f"--cwd: expected a folder, got {str(cwd)!r}")
    if build is not None and git is None:
        raise CatalogError("--build: expected --git BASE..HEAD with it, got none")
    check_effects(written, words, turns=turns, rate=rate, blocks=blocks)
    addresses = [word for word in words if address_of(word) is not None]
    if git is not None and addresses:
        raise CatalogError(
            "--git: expected a command that starts the revision's server, got an address:"
            f" {addresses[0]}"
        )
    found = DuelRequest(
        command=command,
        words=tuple(words),
        options=tuple(options),
        path=path,
        websocket=websocket,
        tls=tls,
        connections=connections,
        rate=rate,
        given=given_by(request or ()),
        warmup_ns=duration("--warmup", warmup),
        window_ns=duration("--window", window),
        turns=turns and rate is None,
        environment={"PORT": "{port}", **environment_of(env or ())},
        ready=ready,
        start_timeout_ns=duration("--start-timeout", start_timeout),
        folder=folder,
        git=git,
        build=build,
        budget_ns=duration("--budget", budget),
        blocks=blocks,
        band=band,
        floor=floor,
        seed=seed if seed is not None else secrets.randbelow(2**31),
        out=out,
    )
    check_schemes(found.words, found.scheme)
    for option, text, given in (
        ("--budget", budget, found.budget_ns),
        ("--start-timeout", start_timeout, found.start_timeout_ns),
    ):
        if given == 0:
            raise CatalogError(f"{option}: expected more than 0, got {text!r}")
    if found.window_ns < 50_000_000:
        raise CatalogError(f"--window: expected at least 50ms, got {window!r}")
    return found


def _check_text(option: str, words: Sequence[str]) -> None:
    """``CatalogError`` where a word has bytes that are no text, since results name it."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise CatalogError(f"{option}: expected UTF-8, got {word!r}") from None


class StoppedError(Exception):
    """Raised by ``watch``: the duel ends here, with what it has."""


Watch = Callable[["TrialRecord"], None]
"""Called after each trial. May raise ``StoppedError``."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A duel that has ended."""

    duel: Duel
    path: Path
    """The run's directory."""
    seconds: float
    code: int
    """0, that of an interruption, or that of a full disk."""


def given_by(texts: Sequence[str]) -> Given:
    """The words of ``--wireload``; files by their full path, since the generator runs elsewhere.
    ``--pipeline`` and ``--timeout`` are of the load: what watches and judges it needs them, too.
    """

    found: list[str] = []
    of_load: dict[str, str] = {}
    waiting = ""  # the option whose value is the next word
    for text in texts:
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise CatalogError(f"--wireload: {error}, got {text!r}") from error
        for word in words:
            name, attached = _option_of(word)
            if waiting in LOAD_OPTIONS:
                of_load[waiting], waiting = word, ""
            elif waiting:
                found.append(str(Path(word).resolve()) if waiting in FILE_OPTIONS else word)
                waiting = ""
            elif name in OWN_OPTIONS:
                raise CatalogError(
                    f"--wireload: {name}: expected options for the request and its reply; the duel"
                    " sets this one itself"
                )
            elif attached is not None and name in LOAD_OPTIONS:
                of_load[name] = attached
            elif name in LOAD_OPTIONS:
                waiting = name
            elif attached is not None and name in FILE_OPTIONS:
                found.append(f"{name}={Path(attached).resolve()}")
            else:
                found.append(word)
                waiting = name if attached is None and name in VALUE_OPTIONS else ""
    if waiting in LOAD_OPTIONS:
        raise CatalogError(f"--wireload: {waiting}: expected a value, got none")
    pipeline, timeout = of_load.get("--pipeline", "1"), of_load.get("--timeout")
    if not re.fullmatch(r"[1-9]\d{0,5}", pipeline):
        raise CatalogError(f"--wireload: --pipeline: expected 1 or more, got {pipeline!r}")
    try:
        timeout_ns = REPLY_TIMEOUT_NS if timeout is None else parse_duration(timeout)
    except ValueError as error:
        raise CatalogError(f"--wireload: --timeout: {error}, got {timeout!r}") from error
    if timeout_ns <= 0:
        raise CatalogError(f"--wireload: --timeout: expected more than 0, got {timeout!r}")
    return Given(options=tuple(found), in_flight=int(pipeline), timeout_ns=timeout_ns)


def _option_of(word: str) -> tuple[str, str | None]:
    """The option that a word names, and the value in the same word: ``-c10``, ``--check=none``."""
    if word.startswith("-") and not word.startswith("--"):
        return word[:2], word[2:] or None
    name, equals, value = word.partition("=")
    return name, value if equals else None


def run_duel(
    request: DuelRequest, *, ends: Ends | None = None, watch: Watch | None = None
) -> Measured:
    """Build what is to be built, and measure. ``ends`` and ``watch``: what ends it, other than that
    it is decided (see ``Duel.ends``), and who hears of each trial.

    ``CatalogError`` for wrong usage, ``BuildError`` where a revision cannot be built,
    ``Interrupted`` before anything was measured. Nothing that it started is left at its end.
    """
    from wirebench.process.interrupt import interruptible
    from wirebench.run.local import LocalBench
    from wirebench.store.jsonl import StoreError

    out = console()
    catalog = open_catalog(warn=False)
    check_folder("--out", request.out if request.out is not None else catalog.root / RESULTS)
    _check_options(request)
    try:
        bench = LocalBench(root=catalog.root, jobs=default_jobs(None))
        with interruptible(), _sides(request, out) as sides, bench:
            return _measure(request, sides, bench, catalog, out, ends, watch)
    except StoreError as error:
        raise CatalogError(str(error)) from error


@contextmanager
def _sides(request: DuelRequest, out: Console) -> Iterator[tuple[Side, ...]]:
    from wirebench.duel import revisions
    from wirebench.duel.sides import sides_of

    commands = request.words
    if request.git is None:
        yield sides_of(commands, folders=[request.folder])
        return
    if len(commands) != 1:
        raise CatalogError(f"COMMAND: expected one command with --git, got {len(commands)}")
    wanted = revisions.split_range(request.git)
    if "HEAD" in wanted and revisions.has_changes(request.folder):
        say_warning("--git: uncommitted changes are not measured; HEAD is the last commit")
    with revisions.worktrees(wanted, here=request.folder) as trees:
        if len({tree.commit for tree in trees}) == 1:
            say_warning(f"--git: {' and '.join(wanted)} are the same commit; there is no change")
        for tree in trees:
            if request.build is not None:
                out.print(f"building {tree.label}", markup=False, highlight=False)
                revisions.build(tree, request.build)
        yield sides_of(
            [commands[0]] * len(trees),
            folders=[tree.folder for tree in trees],
            labels=[tree.label for tree in trees],
        )


def _check_options(request: DuelRequest) -> None:
    """Ask the generator whether it understands the request, before anything is built or started."""
    from wirebench.run.local import find_generator

    done = subprocess.run(
        [
            str(find_generator()),
            *request.given.options,
            "--print",
            "request",
            f"{request.scheme}://127.0.0.1:9{request.path}",
        ],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode == 64:  # wireload's code for wrong usage
        raise CatalogError(f"--wireload: {done.stderr.strip().splitlines()[0]}")


def _measure(
    request: DuelRequest,
    sides: tuple[Side, ...],
    bench: LocalBench,
    catalog: Catalog,
    out: Console,
    ends: Ends | None,
    watch: Watch | None,
) -> Measured:
    from wirebench.duel.measure import Duel
    from wirebench.duel.plan import DuelLoad, plan_of
    from wirebench.process.interrupt import Interrupted, hold
    from wirebench.run.progress import watcher_for
    from wirebench.store.jsonl import no_room
    from wirebench.store.records import RunInfo, Selection
    from wirebench.store.rundir import RunDirectory, point_latest

    load = DuelLoad(
        connections=request.connections,
        rate_per_s=request.rate,
        warmup_ns=request.warmup_ns,
        window_ns=request.window_ns,
        websocket=request.websocket,
        in_flight=request.given.in_flight,
        timeout_ns=request.given.timeout_ns,
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
    for line in _announcement(request, sides, load):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    notes = bench.notes()
    for line in notes:
        say_warning(line)
    host = bench.host()
    results = request.out if request.out is not None else catalog.root / RESULTS
    with hold():
        directory = RunDirectory.create(results, label=request.command)
        info = RunInfo(
            name=directory.path.name,
            wirebench=__version__,
            status="running",
            command=_repeated(request),
            selection=Selection(studies=("duel",), preset="duel", seed=request.seed),
            started_unix_ns=time.time_ns(),
            notes=notes,
        )
        directory.write_info(info)
        point_latest(directory.path)
        directory.write_host(host)
        directory.write_plan(plan)
    running = Duel(
        plan=plan,
        sides=sides,
        load=load,
        servers={side.name: _server(request, side, catalog) for side in sides},
        floor=floor,
        band=request.band,
        bench=bench,
        directory=directory,
        ends=ends,
    )
    began = time.monotonic()
    status, code, full = "failed", EXIT_FAILED, None
    try:
        if request.turns:
            running.choose_turns()
            out.print(_turns_text(running), highlight=False)
        with watcher_for(running.plan, out) as watcher:
            running.measure(_Known(watcher, running, out, watch))
        status, code = "complete", 0
    except StoppedError:
        status, code = "complete", 0
    except Interrupted as interrupted:
        status, code = "interrupted", interrupted.exit_code
    except OSError as error:
        if (full := no_room(error)) is None:
            raise
        code = EXIT_UNAVAILABLE
    finally:
        try:
            directory.write_info(
                replace(
                    info,
                    status=status,  # type: ignore[arg-type]
                    ended_unix_ns=time.time_ns(),
                    exit_code=code,
                )
            )
        except OSError as error:
            if (full := full or no_room(error)) is None:
                raise
            code = EXIT_UNAVAILABLE
        directory.close()
    if full is not None:
        say_error(full)
    return Measured(duel=running, path=directory.path, seconds=time.monotonic() - began, code=code)


def _repeated(request: DuelRequest) -> tuple[str, ...]:
    """The arguments that repeat the duel, with its seed even if that was drawn."""
    words = ("wirebench", request.command, *request.words, *request.options)
    return (*words, "--seed", str(request.seed))


def _floor(
    request: DuelRequest, catalog: Catalog, bench: LocalBench, load: DuelLoad, out: Console
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


def _server(request: DuelRequest, side: Side, catalog: Catalog) -> OwnServer:
    from wirebench.catalog.workloads import GivenRequest
    from wirebench.trial.types import OwnServer

    return OwnServer(
        request=GivenRequest(path=request.path, options=request.given.options),
        scheme=request.scheme,
        url=side.url,
        ready_path=request.ready,
        start_timeout_ns=request.start_timeout_ns,
        environment=request.environment,
        runtimes={
            Path(one.server_command[0]).name: one.warmup_ns
            for one in catalog.contestants.values()
            if one.server_command and one.warmup_ns > 0
        },
    )


def _announcement(request: DuelRequest, sides: Sequence[Side], load: DuelLoad) -> Iterator[str]:
    for side in sides:
        yield f"{side.name}  {side.label + ': ' if side.label else ''}{side.given}"
    how_long = (
        count_of(request.blocks, "block")
        if request.blocks is not None
        else f"at most {rough_duration(request.budget_ns)}"
    )
    yield f"load: {load.cell().title}, {request.scheme} {request.path}; {how_long}"


def _turns_text(running: Duel) -> str:
    from wirebench.catalog.units import exact_duration

    if running.turn_ns is None:
        return "one server after another: they answer too slowly for short turns"
    return f"in turns of {exact_duration(running.turn_ns)}"


class _Known:
    """Shows after each block what is known, between two trials."""

    def __init__(self, inner: Watcher, running: Duel, out: Console, watch: Watch | None) -> None:
        self._inner, self._duel, self._out, self._watch = inner, running, out, watch
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
        if self._watch is not None:
            self._watch(record)


def known_line(running: Duel) -> str:
    """What is known so far of the metrics that decide, in one line."""
    from wirebench.duel.text import noun_of
    from wirebench.duel.verdicts import DECIDING

    known, unit = running.known(), unit_of_load(running.load)
    parts = [
        f"{line.side}/{line.against} {noun_of(line.metric, unit)} {line.ratio}"
        for line in known.lines
        if line.metric in DECIDING[running.cell.cell.kind] and line.ratio is not None
    ]
    return f"after {count_of(known.blocks, 'block')}: {', '.join(parts)}" if parts else ""


def unit_of_load(load: DuelLoad) -> Unit:
    from wirebench.catalog.model import unit_of

    return unit_of(load.workload)
