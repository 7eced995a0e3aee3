"""``wirebench selftest``: checks wireload's percentiles, or the verdicts, against a known truth."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wirebench.catalog import CatalogError
from wirebench.catalog.units import count_of
from wirebench.cli.arguments import check_output, given_parameters, refuse_beside
from wirebench.cli.console import EXIT_OK, console, error_console, for_tables, say_warning
from wirebench.process.native import find_native, missing_native

if TYPE_CHECKING:
    from wirebench.selftest.beside import Peer

_LAB = Path(__file__).resolve().parents[2]
"""In a checkout the folder ``lab``, else where packages are installed."""
_CASES = "constant, slow, freeze, bimodal, drift, drops, wrong"
_MODES = "closed, constant, poisson"
_ENGINES = ("epoll", "io_uring")
_WORLDS = "calm, tails, 'two speeds', correlated, 'run effect'"


_OF_VERDICTS = ("tables", "entries", "preset", "world", "standard")
"""The parameters that mean something with --verdicts alone."""
_OF_BOTH = ("seed", "json_file")


def register(app: typer.Typer) -> None:
    app.command("selftest")(selftest)


def selftest(
    context: typer.Context,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help=(
                "One short run of each case at the lowest rate: a minute instead of a quarter of an"
                " hour or more."
            ),
        ),
    ] = False,
    peers: Annotated[
        bool,
        typer.Option(
            "--peers",
            help="In a checkout: also run the other load generators that are installed, and print "
            "what they say beside it.",
        ),
    ] = False,
    case: Annotated[
        list[str] | None,
        typer.Option("--case", metavar="CASE", help=f"Run only this case; repeatable: {_CASES}."),
    ] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option("--mode", metavar="MODE", help=f"Run only this mode; repeatable: {_MODES}."),
    ] = None,
    rate: Annotated[
        list[int] | None,
        typer.Option(
            "--rate",
            metavar="N",
            min=1,
            help="Run only at this many requests per second; repeatable.",
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeats",
            metavar="N",
            min=1,
            help="Runs of each case; the median counts. An odd number. Default: 5, with --quick 1.",
        ),
    ] = None,
    real_time: Annotated[
        bool,
        typer.Option(
            "--realtime",
            help=(
                "Keep other programs off the cores by real-time priority. The machine hardly"
                " responds meanwhile."
            ),
        ),
    ] = False,
    parts: Annotated[
        int,
        typer.Option(
            "--parts",
            metavar="N",
            min=1,
            max=16,
            help="Put each load on the server by N wireloads at once, and their results together.",
        ),
    ] = 1,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="NAME",
            help="wireload's engine: epoll or io_uring. Default: the one that it chooses.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of random arrivals.")] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write all results to this file.")
    ] = None,
    wireload: Annotated[
        Path | None,
        typer.Option(
            "--wireload", metavar="FILE", help="Test this wireload instead of the installed one."
        ),
    ] = None,
    truth_server: Annotated[
        Path | None,
        typer.Option(
            "--truth-server",
            metavar="FILE",
            help="Use this truth server instead of the installed one.",
        ),
    ] = None,
    verdicts: Annotated[
        bool,
        typer.Option(
            "--verdicts", help="Simulate tables to see how often verdicts would be false instead."
        ),
    ] = False,
    tables: Annotated[
        int,
        typer.Option(
            "--tables", metavar="N", min=2, help="With --verdicts: tables of each preset and world."
        ),
    ] = 60,
    entries: Annotated[
        int,
        typer.Option("--entries", metavar="N", min=2, help="With --verdicts: entries of a table."),
    ] = 12,
    preset: Annotated[
        list[str] | None,
        typer.Option(
            "--preset", metavar="NAME", help="With --verdicts: only this preset; repeatable."
        ),
    ] = None,
    world: Annotated[
        list[str] | None,
        typer.Option(
            "--world",
            metavar="NAME",
            help=f"With --verdicts: only this world; repeatable: {_WORLDS}.",
        ),
    ] = None,
    standard: Annotated[
        bool,
        typer.Option(
            "--standard", help="With --verdicts: normal noise of 2% instead of this host's own."
        ),
    ] = False,
) -> None:
    """Check the checkers: wireload against servers whose delays are known exactly, or with
    --verdicts the statistics against simulated tables whose truth is known.

    Each case runs several times under each load, in rounds over all of them. A percentile is right
    if the median of its differences from the truth, or from the server's own record, is within 1%
    or 50 us. Error counts must be exact in every run.

    Needs a quiet machine with two cores. One mode takes a quarter of an hour; the command prints
    the time it will take. Ctrl-C judges the runs that are done. Exit code 0: everything that could
    be judged is right. 1: something is wrong. 3: nothing could be judged. 130, 143: interrupted.

    With --verdicts nothing is measured. Whole tables are simulated with the noise of this host's
    own stored trials, in worlds that are calm, heavy-tailed, of two speeds, correlated and with an
    effect of each repeat. Printed for each preset: the share of tables with a false claim, wrong
    signs, coverage of the intervals, the smallest gap found, and what 'compare' says of two runs of
    one truth. Of the options --seed, --json and those that name --verdicts apply. Exit code 0: at
    most 5% of the tables have a false claim (and two Monte Carlo standard errors of that) and no
    sign is wrong. 1: otherwise.
    """
    from rich.live import Live
    from rich.text import Text

    from wirebench.catalog.units import rough_duration
    from wirebench.cli.selftest_verdicts import Request, check_verdicts
    from wirebench.host import can_keep_awake, cores_awake
    from wirebench.process.cores import choose_cores
    from wirebench.process.interrupt import Interrupted, interruptible
    from wirebench.process.supervise import Supervisor
    from wirebench.selftest import table
    from wirebench.selftest.cases import FULL, QUICK, cases
    from wirebench.selftest.judge import exit_code
    from wirebench.selftest.laws import MODES, S
    from wirebench.selftest.suite import Programs, Suite, Wanted, distinct, estimate_s, runs

    check_output("--json", json_file)
    _check_effects(context, verdicts=verdicts)
    if verdicts:
        request = Request(
            tables=tables,
            entries=entries,
            presets=preset or (),
            worlds=world or (),
            standard=standard,
            seed=seed,
            json_file=json_file,
        )
        raise typer.Exit(check_verdicts(request))
    size = QUICK if quick else FULL
    repeats = size.repeats if repeats is None else repeats
    if repeats % 2 == 0:
        raise CatalogError(
            "--repeats: expected an odd number, so that there is a run in the middle, got"
            f" {repeats}"
        )
    if engine is not None and engine not in _ENGINES:
        raise CatalogError(f"--engine: expected one of {', '.join(_ENGINES)}, got {engine!r}")
    known = cases(size)
    try:
        names = distinct(case or (), [one.name for one in known], "--case")
        modes = distinct(mode or (), MODES, "--mode")
    except ValueError as error:
        raise CatalogError(str(error)) from error
    others = _peers() if peers else ()
    programs = Programs(
        wireload=_program(wireload, "wireload", "--wireload"),
        truth_server=_program(truth_server, "truth_server", "--truth-server"),
        peers=others,
    )
    wanted = Wanted(
        cases=tuple(one for one in known if one.name in names),
        modes=tuple(one for one in MODES if one in modes),
        rates=tuple(rate) if rate else size.rates,
        repeats=repeats,
        seed=seed,
        parts=parts,
        engine=engine,
    )
    if peers and not others:
        say_warning("--peers: none of those known is installed")
    cores = choose_cores()
    awake = can_keep_awake()
    if not awake:
        say_warning(
            "idle cores may sleep, and their wake-up time is part of the latencies; './wirebench"
            " doctor' shows how to keep them awake"
        )
    if cores.shared:
        say_warning("server and generator share one core: each adds to the other's latencies")

    out = for_tables(console())
    each = len(list(runs(wanted, size)))
    takes = rough_duration(round(estimate_s(wanted, size) * S))
    also = (
        f"{' and the peers' if programs.peers else ''}{', real-time priority' if real_time else ''}"
    )
    out.print(f"{repeats} x {count_of(each, 'run')}, some {takes}{also}", highlight=False)
    code = None
    # Drawn between runs only: a picture that moves wakes up a dozen times a second, on the core of
    # what is measured.
    with (
        _priority(real_time),
        cores_awake(),
        interruptible(),
        Supervisor() as supervisor,
        Live(console=error_console(), auto_refresh=False, transient=True) as live,
    ):

        def say(text: str) -> None:
            live.update(Text(text), refresh=True)

        suite = Suite(wanted, size, programs=programs, supervisor=supervisor, cores=cores, say=say)
        try:
            suite.run()
        except Interrupted as interrupted:
            code = 128 + interrupted.signum
    groups = suite.groups
    results = [row for group in groups for row in group.results()]
    out.print(table.percentile_table(results))
    out.print(table.error_table(results))
    if programs.peers:
        out.print(table.peer_table(suite.peer_rows, results))
    out.print(table.footer(suite.bases), markup=False, soft_wrap=True)
    for line in table.missing_lines(groups, suite.missing):
        out.print(line, markup=False, soft_wrap=True)
    out.print(table.engine_line(groups, engine), markup=False, soft_wrap=True)
    out.print(table.summary(results, groups), markup=False, soft_wrap=True)
    if json_file is not None:
        document = table.to_json(
            results,
            groups,
            suite.peer_rows,
            suite.bases,
            suite.missing,
            realtime=real_time,
            cores_awake=awake,
            engine=engine,
        )
        json_file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    code = exit_code(results) if code is None else code
    if code != EXIT_OK:
        raise typer.Exit(code)


@contextmanager
def _priority(real_time: bool) -> Iterator[None]:
    from wirebench.selftest.realtime import realtime

    with ExitStack() as stack:
        if real_time:
            try:
                stack.enter_context(realtime())
            except PermissionError as error:
                raise CatalogError(
                    "--realtime: expected the right to real-time priority (CAP_SYS_NICE, or ulimit"
                    " -r), got none"
                ) from error
        yield


def _peers() -> tuple[Peer, ...]:
    """Those that are installed. How they are run and read is for developers of wireload, and is not
    installed with the lab.
    """
    if not (_LAB / "developer").is_dir():
        raise CatalogError(
            f"--peers: expected a checkout of wirebench, got the package installed in {_LAB}; "
            "run './wirebench selftest --peers' in a checkout"
        )
    sys.path.append(str(_LAB))
    from developer.peers import installed

    return installed()


def _program(given: Path | None, name: str, option: str) -> Path:
    if given is not None:
        if not os.access(given, os.X_OK):
            raise CatalogError(f"{option}: expected a program, got {given}")
        return given.resolve()
    found = find_native(name)
    if found is None:
        raise CatalogError(missing_native(name))
    return found


def _check_effects(context: typer.Context, *, verdicts: bool) -> None:
    """``CatalogError`` for an option that would change nothing."""
    if verdicts:
        allowed = ("verdicts", *_OF_VERDICTS, *_OF_BOTH)
        refuse_beside(context, "--verdicts", allowed, why="nothing is measured")
        return
    written = given_parameters(context)
    if alone := [written[name] for name in _OF_VERDICTS if name in written]:
        raise CatalogError(f"{', '.join(alone)}: expected --verdicts with it, got none")
