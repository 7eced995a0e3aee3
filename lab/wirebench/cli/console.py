"""Output: results to stdout, everything else to stderr. Rich honours NO_COLOR by itself."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, NoReturn

import typer
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table

from wirebench.process.interrupt import end_as_by

EXIT_OK = 0
EXIT_FAILED = 1
"""A contestant failed, or something is missing."""
EXIT_USAGE = 64
"""Wrong usage or an unknown name (EX_USAGE of sysexits.h)."""
EXIT_UNAVAILABLE = 69
"""What is needed is not there (EX_UNAVAILABLE)."""
EXIT_BUG = 70
EXIT_CLOSED_PIPE = 141
"""Nobody reads the output any more: as by SIGPIPE."""
EXIT_INTERRUPTED = 130
"""By Ctrl-C; ``main`` ends with 128 and the number of another signal."""

_WIDTH_OF_FILES = 200
LEAST_WIDTH = 80
"""Of tables and help."""
_ROOM_FOR_WORDS = 24
_ENDLESS = 10_000


class _Console(Console):
    """Where the reader of a pipe is gone, the command ends as by SIGPIPE, which Python ignores, and
    keeps what is done. Rich would end it with 1, as if a contestant had failed or a gate's
    threshold were broken.
    """

    def on_broken_pipe(self) -> None:
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())
        os.close(nowhere)
        end_as_by(signal.SIGPIPE)


def console(file: IO[str] | None = None) -> Console:
    """A console for stdout, or for another stream. It is wide when it is not a terminal, so that
    pipes get whole tables.
    """
    stream = sys.stdout if file is None else file
    width = None if stream.isatty() or os.environ.get("COLUMNS") else _WIDTH_OF_FILES
    return _Console(file=stream, width=width, highlight=False, emoji=False)


def for_tables(out: Console, *parts: RenderableType) -> Console:
    """The same stream, for tables. Where columns do not fit, rich leaves out signs, ranks and
    remarks, and cuts figures, without a word; a narrower terminal wraps the lines instead.
    ``parts``: the tables among them may need more columns than most.
    """
    tables = [_least_width(one) for one in parts if isinstance(one, Table)]
    least = max([LEAST_WIDTH, *tables])
    if out.width >= least:
        return out
    return _Console(file=out.file, width=least, highlight=False, emoji=False)


def _least_width(table: Table) -> int:
    """With every figure whole, and with room for words in the columns that wrap."""
    endless = Console(width=_ENDLESS)
    total = 0
    for column in table.columns:
        cells = (column.header, *column.cells)
        widest = max(Measurement.get(endless, endless.options, one).maximum for one in cells)
        total += (widest if column.no_wrap else min(widest, _ROOM_FOR_WORDS)) + 2
    return total


def error_console() -> Console:
    return console(sys.stderr)


def say_error(message: str) -> None:
    errors = error_console()
    errors.print("[bold red]error:[/] ", end="")
    errors.print(message, markup=False, soft_wrap=True)


def say_warning(message: str) -> None:
    errors = error_console()
    errors.print("[yellow]warning:[/] ", end="")
    errors.print(message, markup=False, soft_wrap=True)


def write_plainly(path: Path, text: str) -> None:
    """Into a pipe or device, too. What is no UTF-8 becomes an escape, as in the store."""
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_file(
    path: Path, text: str, *, write: Callable[[Path, str], object] = write_plainly
) -> bool:
    """Whether it could be written; it is said where not."""
    try:
        write(path, text)
    except OSError as error:
        say_warning(f"{path}: not written: {error.strerror}")
        return False
    return True


def fail(message: str, *, code: int = EXIT_FAILED) -> NoReturn:
    """End the command with a message."""
    say_error(message)
    raise typer.Exit(code)
