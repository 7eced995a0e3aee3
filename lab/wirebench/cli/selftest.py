"""``wirebench selftest``: are wireload's percentiles true?"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from wirebench.catalog import CatalogError
from wirebench.cli.console import EXIT_OK, console, error_console, say_warning

_CASES = "constant, slow, freeze, bimodal, drift, drops, wrong"
_MODES = "closed, constant, poisson"


def register(app: typer.Typer) -> None:
    app.command("selftest")(selftest)


def selftest(
    quick: Annotated[
        bool, typer.Option("--quick", help="Short runs at the lowest rate: half a minute instead of a quarter of an hour.")
    ] = False,
    peers: Annotated[
        bool,
        typer.Option(
            "--peers", help="Also run the other load generators that are installed, and print what they say beside it."
        ),
    ] = False,
    case: Annotated[
        list[str] | None, typer.Option("--case", metavar="CASE", help=f"Only this one; may be repeated: {_CASES}.")
    ] = None,
    mode: Annotated[
        list[str] | None, typer.Option("--mode", metavar="MODE", help=f"Only this one; may be repeated: {_MODES}.")
    ] = None,
    rate: Annotated[
        list[int] | None,
        typer.Option("--rate", metavar="N", min=1, help="Only this many requests per second; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of random arrivals.")] = 1,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all results there.")] = None,
    wireload: Annotated[
        Path | None, typer.Option("--wireload", metavar="FILE", help="Test this one, not the installed one.")
    ] = None,
    truth_server: Annotated[
        Path | None, typer.Option("--truth-server", metavar="FILE", help="Test with this one, not the installed one.")
    ] = None,
) -> None:
    """Compare wireload's percentiles and error counts with the truth, on servers whose delays are known exactly.

    Wants a quiet machine with two cores. Exit code 0: all that could be judged is right. 1: something is wrong.
    3: nothing could be judged.
    """
    from wirebench.selftest import table
    from wirebench.selftest.cases import FULL, QUICK, cases
    from wirebench.selftest.judge import exit_code
    from wirebench.selftest.laws import MODES
    from wirebench.selftest.peers import installed
    from wirebench.selftest.suite import Programs, Suite, Wanted, distinct
    from wirebench.trial.cores import choose_cores
    from wirebench.trial.interrupt import interruptible
    from wirebench.trial.supervise import Supervisor

    size = QUICK if quick else FULL
    known = cases(size)
    try:
        names = distinct(case or (), [one.name for one in known], "--case")
        modes = distinct(mode or (), MODES, "--mode")
    except ValueError as error:
        raise CatalogError(str(error)) from error
    programs = Programs(
        wireload=_program(wireload, "wireload", "--wireload"),
        truth_server=_program(truth_server, "truth_server", "--truth-server"),
        peers=installed() if peers else (),
    )
    wanted = Wanted(
        cases=tuple(one for one in known if one.name in names),
        modes=tuple(one for one in MODES if one in modes),
        rates=tuple(rate) if rate else size.rates,
        seed=seed,
    )
    if peers and not programs.peers:
        say_warning("--peers: none of those known is installed")
    cores = choose_cores()
    if cores.shared:
        say_warning("server and generator share one core: what one takes is in the latencies of the other")

    out = console()
    with interruptible(), Supervisor() as supervisor, error_console().status("") as status:
        suite = Suite(programs=programs, supervisor=supervisor, cores=cores, say=status.update)
        suite.run(wanted, size)
    bases = {(str(one), per_s): base for (one, per_s), base in suite.bases.items()}
    out.print(table.percentile_table(suite.results))
    out.print(table.error_table(suite.results))
    if programs.peers:
        out.print(table.peer_table(suite.peer_rows, suite.results))
    out.print(table.footer(bases, suite.unrecorded), markup=False, soft_wrap=True)
    out.print(table.summary(suite.results), markup=False, soft_wrap=True)
    if json_file is not None:
        json_file.write_text(
            json.dumps(table.to_json(suite.results, suite.peer_rows, bases), indent=2) + "\n", encoding="utf-8"
        )
    code = exit_code(suite.results)
    if code != EXIT_OK:
        raise typer.Exit(code)


def _program(given: Path | None, name: str, option: str) -> Path:
    """Beside the Python that runs this, where the package puts it, or in PATH."""
    if given is not None:
        if not os.access(given, os.X_OK):
            raise CatalogError(f"{option}: expected a program, got {given}")
        return given.resolve()
    beside = Path(sys.executable).parent / name
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(name)
    if found is None:
        raise CatalogError(f"{beside}: expected a program, got none there or in PATH; './wirebench doctor' builds it")
    return Path(found)
