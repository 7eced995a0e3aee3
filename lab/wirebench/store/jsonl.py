"""Files that survive a kill at any moment: atomic whole-file writes, and line files of which only
the last line can be torn.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_ESCAPED = "backslashreplace"
"""What is no UTF-8, such as half of a surrogate pair, becomes an escape that JSON has, too."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""The disk is full, or this user's share of it: a fault of nobody's input."""


def no_room(error: BaseException) -> str | None:
    """The sentence about a full disk; None where that is not what the error is about."""
    if not isinstance(error, OSError) or error.errno not in NO_ROOM:
        return None
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror}; what was stored before is kept"


_NO_JSON = (ValueError, RecursionError)
"""What the parser raises; the latter for lists in lists in lists."""


class StoreError(Exception):
    """A run directory cannot be read or used. The message says what, where and what to do."""


def write_whole(path: Path, value: object) -> None:
    """Replace the file atomically: a reader, or a kill, sees the old content or the new, never a
    mixture.
    """
    write_whole_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def write_whole_text(path: Path, text: str) -> None:
    """The same for any text. What is no file of its own, such as ``/dev/stdout``, stays what it is,
    and is written into.
    """
    content = text.encode(errors=_ESCAPED)
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_bytes(content)
    else:
        write_whole_bytes(path, content)


def write_whole_bytes(path: Path, content: bytes) -> None:
    """Put ``content`` on disk under this name, all of it or nothing. ``OSError`` if that fails; the
    file that was there then stays.
    """
    scratch = path.with_name(f".{path.name}.new")
    try:
        with scratch.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except OSError:
        with suppress(OSError):
            scratch.unlink()
        raise
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
        # Without a buffer, which would try again at the end what did not fit on the disk.
        self._file = path.open("ab", buffering=0)
        self._file.truncate(_whole_bytes(path))
        if not existed:
            _sync_folder(path.parent)

    def append(self, *values: object) -> None:
        """A line for each. Together they cost one wait for the disk. All of them are stored, or,
        where that raises ``OSError``, none.
        """
        lines = (
            json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"
            for value in values
        )
        left = memoryview("".join(lines).encode(errors=_ESCAPED))
        before = os.fstat(self._file.fileno()).st_size
        try:
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError:
            with suppress(OSError):
                self._file.truncate(before)
            raise

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
