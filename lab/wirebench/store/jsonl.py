"""Files that survive a kill at any moment: atomic whole-file writes, and line files of which only
the last line can be torn.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path

_ESCAPED = "backslashreplace"
"""What is no UTF-8, such as half of a surrogate pair, becomes an escape that JSON has, too."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""The disk is full, or this user's share of it: a fault of nobody's input."""

_NO_JSON = (ValueError, RecursionError)
"""What the parser raises; the latter for lists in lists in lists."""


class StoreError(Exception):
    """A run directory cannot be read or used. The message says what, where and what to do."""


def write_whole(path: Path, value: object) -> None:
    """Replace the file atomically: a reader, or a kill, sees the old content or the new, never a
    mixture.
    """
    scratch = path.with_name(f".{path.name}.new")
    with scratch.open("w", encoding="utf-8", errors=_ESCAPED) as file:
        json.dump(value, file, indent=1, ensure_ascii=False, allow_nan=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)
    _sync_folder(path.parent)


def read_whole(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(
            f"{path}: expected a file of a run, got none; is {path.parent} a run directory?"
        ) from None
    except OSError as error:
        raise StoreError(f"{path}: not read: {error.strerror}") from error
    except _NO_JSON as error:
        raise StoreError(f"{path}: expected JSON, got {error}") from error


class LineFile:
    """Append JSON lines, each on disk before ``append`` returns. A line torn by a kill is removed
    first.
    """

    def __init__(self, path: Path) -> None:
        existed = path.exists()
        self._file = path.open("ab")
        self._file.truncate(_whole_bytes(path))
        if not existed:
            _sync_folder(path.parent)

    def append(self, *values: object) -> None:
        """A line for each. Together they cost one wait for the disk."""
        for value in values:
            line = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
            self._file.write(line.encode(errors=_ESCAPED) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def read_lines(path: Path) -> Iterator[tuple[int, object]]:
    """Line numbers and values. An incomplete last line is ignored; any other invalid line is an
    error.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{path}: not read: {error.strerror}") from error
    content = content[: content.rfind(b"\n") + 1]
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            yield number, json.loads(line)
        except _NO_JSON as error:
            raise StoreError(f"{path}: line {number}: expected JSON, got {error}") from error


def _whole_bytes(path: Path) -> int:
    """The length of all complete lines in bytes."""
    return path.read_bytes().rfind(b"\n") + 1


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
