"""``wirebench setup``: installs what contestants need."""

from __future__ import annotations

from typing import Annotated

import typer

from wirebench.cli.arguments import Selectors, open_catalog
from wirebench.cli.console import EXIT_FAILED, console, fail
from wirebench.host import installable, presences
from wirebench.host.commands import forget_versions
from wirebench.host.debian import has_apt, install, install_line, is_root


def register(app: typer.Typer) -> None:
    app.command("setup")(setup)


def setup(
    selectors: Selectors = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the line.")] = False,
    libraries_only: Annotated[
        bool,
        typer.Option(
            "--libraries-only",
            help="Only for contestants whose compilers and runtimes are here already.",
        ),
    ] = False,
) -> None:
    """Install the Debian packages that contestants need: as root; otherwise print the one line to
    run.
    """
    catalog = open_catalog()
    chosen = catalog.select(selectors or ())
    packages = installable(chosen, toolchain_present=libraries_only)
    out = console()
    if dry_run or (packages and not (is_root() and has_apt())):
        if packages:
            out.print(install_line(packages), markup=False, soft_wrap=True)
        raise typer.Exit(EXIT_FAILED if packages else 0)
    if packages:
        out.print(f"installing {' '.join(packages)}", markup=False, soft_wrap=True)
        lines: list[str] = []
        refused = install(packages, on_line=lines.append)
        forget_versions()
        if refused:
            fail("\n".join([*lines[-15:], f"apt-get could not install {', '.join(refused)}"]))
    for one in chosen:
        found = presences([one])[one.identity]
        if one.disabled is None and not found.complete:
            out.print(
                f"not installed: {one.identity} {found.describe(one)}", markup=False, soft_wrap=True
            )
    out.print("done" if packages else "nothing to install")
