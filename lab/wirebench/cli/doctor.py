"""``wirebench doctor``: what is missing on this host, why it matters, and the command that fixes
it.
"""

from __future__ import annotations

from collections.abc import Iterable

import typer

from wirebench.catalog.units import count_of
from wirebench.cli.arguments import open_catalog
from wirebench.cli.console import EXIT_FAILED, console
from wirebench.host import Problem, capture, diagnose, installable
from wirebench.host.debian import install_line
from wirebench.process.bystanders import busy_now
from wirebench.stats.settings import DEFAULT

_MOST = 3
"""Programs that are named."""
_STYLES = {"missing": "bold red", "warning": "yellow", "note": "dim"}


def register(app: typer.Typer) -> None:
    app.command("doctor")(doctor)


def doctor() -> None:
    """Show what is missing on this host or harms its figures, and how to fix it.

    Exit code 1: a Debian package that a contestant needs is missing, or a manifest is wrong.
    Warnings and notes leave it at 0.
    """
    catalog = open_catalog(warn=False)
    host = capture()
    out = console()
    memory = host.memory_bytes / 2**30
    cores = count_of(host.cores, "core")
    out.print(
        f"{host.cpu_model}, {cores}, {memory:.0f} GiB, {host.distribution}, Linux {host.kernel}",
        markup=False,
    )
    problems = [*diagnose(catalog, fingerprint=host), *_busy()]
    for problem in problems:
        _print(problem)
    missing = [problem for problem in problems if problem.severity == "missing"]
    packages = installable(catalog.contestants.values())
    if packages:
        out.print("\neverything at once: [bold]wirebench setup[/], which runs")
        out.print(f"  {install_line(packages)}", markup=False, soft_wrap=True)
    if not missing:
        out.print("[green]nothing to install[/]")
    else:
        raise typer.Exit(EXIT_FAILED)


def _busy() -> Iterable[Problem]:
    """The programs that would disturb a measurement now."""
    found = busy_now()
    share = sum(one.share for one in found)
    if share <= DEFAULT.other_programs_share:
        return
    most = ", ".join(f"{one.name or '?'} (pid {one.pid}) {one.share:.0%}" for one in found[:_MOST])
    yield Problem(
        severity="warning",
        what=f"other programs use {share:.0%} of a core now: {most}",
        why="they take it from servers and generator: figures get worse, and intervals wider",
        fix=None,
    )


def _print(problem: Problem) -> None:
    out = console()
    out.print(f"[{_STYLES[problem.severity]}]{problem.severity}[/]: ", end="")
    out.print(problem.what, markup=False, soft_wrap=True)
    out.print(f"  why: {problem.why}", markup=False, soft_wrap=True)
    if problem.fix is not None:
        out.print(f"  fix: {problem.fix}", markup=False, soft_wrap=True)
