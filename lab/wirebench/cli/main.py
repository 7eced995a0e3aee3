"""The entry point. It runs the app and turns errors into one clear line and an exit code."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import typer

from wirebench.catalog import CatalogError, UnavailableError
from wirebench.catalog.contestants import find_root
from wirebench.cli.app import make_app
from wirebench.cli.console import (
    EXIT_BUG,
    EXIT_CLOSED_PIPE,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_UNAVAILABLE,
    EXIT_USAGE,
    LEAST_WIDTH,
    say_error,
)
from wirebench.process.interrupt import ended_by, interruptible
from wirebench.store.jsonl import no_room


def run_app(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    _widen_help()
    try:
        code = typer.main.get_command(make_app()).main(
            list(arguments), prog_name="wirebench", standalone_mode=False
        )
    except UnavailableError as error:
        say_error(str(error))
        return EXIT_UNAVAILABLE
    except CatalogError as error:
        say_error(str(error))
        return EXIT_USAGE
    except typer.TyperException as error:
        # With standalone_mode off these are only what the user typed: an unknown command, option or
        # value.
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "wirebench"
        # A command without arguments has no message: its help was printed instead.
        if message := _one_line(error.format_message()):
            say_error(f"{message}; see '{path} --help'")
        return EXIT_USAGE
    except (typer.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except SystemExit as error:
        # Typer's own output: its help, and the scripts for completion, which end so as well.
        if isinstance(error.__context__, BrokenPipeError):
            return EXIT_CLOSED_PIPE
        raise
    except Exception as error:  # the last resort: report it as our bug
        if (full := no_room(error)) is not None:
            say_error(full)
            return EXIT_UNAVAILABLE
        if (theirs := _of_another_user(error)) is not None:
            say_error(theirs)
            return EXIT_BUG
        traceback.print_exc()
        say_error("this is a bug in wirebench; please report the lines above")
        return EXIT_BUG
    return code if isinstance(code, int) else EXIT_OK


def _of_another_user(error: Exception) -> str | None:
    """The sentence about a build or result that another user made, as root does in a first start
    with sudo; None where that is not what the error is about.
    """
    if not isinstance(error, PermissionError) or not isinstance(error.filename, str):
        return None
    try:
        root = find_root()
    except CatalogError:
        return None
    path = Path(error.filename).absolute()
    for folder in (root / "build", root / "results"):
        there = [one for one in (path, *path.parents) if os.access(one, os.F_OK)]
        if path.is_relative_to(folder) and there[0].stat().st_uid != os.geteuid():
            owner = there[0].stat().st_uid
            by = "root, as after a start with sudo" if owner == 0 else f"user {owner}"
            return (
                f"{path}: expected a file of yours, got one of {by}; take it over with:"
                f" sudo chown -R $(id -u):$(id -g) {shlex.quote(str(folder))}"
            )
    return None


def _one_line(message: str) -> str:
    return " ".join(message.split()).rstrip(".")


def _widen_help() -> None:
    """Help in boxes that are too narrow cuts the names of options. As with tables, a narrower
    terminal wraps the lines instead.
    """
    if shutil.get_terminal_size().columns < LEAST_WIDTH:
        from typer import rich_utils

        rich_utils.MAX_WIDTH = LEAST_WIDTH


def _mend_streams() -> None:
    """Give output that was closed a place to go, which the next file that is opened would take
    otherwise. What a terminal cannot show becomes a question mark: results are no reason to fail.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def main() -> NoReturn:
    _mend_streams()
    # Every ``finally`` then runs and stops what was started, whatever signal asks us to stop.
    with interruptible():
        code = run_app(sys.argv[1:])
    if code == EXIT_INTERRUPTED:
        # Typer makes 130 of every signal.
        signum = ended_by()
        code = 128 + signum if signum is not None else code
        if code != EXIT_CLOSED_PIPE:
            say_error("interrupted")
    sys.exit(code)


if __name__ == "__main__":
    main()
