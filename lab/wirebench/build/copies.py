"""Copies of builds at other paths, for the repeats of a run (``wirebench.plan.repeats``).

A copy lies at a path of another length, which moves what a process keeps above its stack, and its
files lie in other pages of memory. Only copies of the latest two repeats exist at a time. All are
gone when the lab ends; those of a killed lab go when the next one makes copies.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from wirebench.process.supervise import owner_id, owner_is_gone

FOLDER = "copies"
MOST_BYTES = 512 * 2**20
"""A larger build is not copied. Our own choice."""
_OWNED = re.compile(r"\d+-\d+-\d+")


class CannotCopyError(Exception):
    """A build that cannot be moved, and why."""


class Copies:
    """The copies that one lab makes below ``ROOT/build/copies``."""

    def __init__(self, root: Path) -> None:
        self._parent = root.resolve() / "build" / FOLDER
        self._own = self._parent / owner_id()
        self._swept = False

    def copy(self, folder: Path, *, repeat: int, filler: int) -> Path:
        """A copy of the build folder, at a path that is longer by ``filler`` bytes.
        ``CannotCopyError`` if it cannot be moved.
        """
        size = _check(folder)
        self._sweep()
        self._remove_before(repeat - 1)
        place = self._own / f"{repeat}-{'x' * filler}" / folder.parent.name / folder.name
        if size > shutil.disk_usage(folder).free // 2:
            raise CannotCopyError("the disk has too little room for a copy")
        self.remove(place)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(folder, place, symlinks=True)
        except (OSError, shutil.Error) as error:
            shutil.rmtree(place, ignore_errors=True)
            raise CannotCopyError(f"it could not be copied: {error}") from error
        _forget_pages(place)
        return place

    def remove(self, place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)

    def close(self) -> None:
        shutil.rmtree(self._own, ignore_errors=True)
        with suppress(OSError):  # not empty: another lab's
            self._parent.rmdir()

    def _sweep(self) -> None:
        """Remove what killed labs left behind, once."""
        if self._swept or not self._parent.is_dir():
            return
        self._swept = True
        for folder in self._parent.iterdir():
            if _OWNED.fullmatch(folder.name) and owner_is_gone(folder.name):
                shutil.rmtree(folder, ignore_errors=True)

    def _remove_before(self, repeat: int) -> None:
        for folder in self._own.iterdir() if self._own.is_dir() else ():
            if int(folder.name.partition("-")[0]) < repeat:
                shutil.rmtree(folder, ignore_errors=True)


def _check(folder: Path) -> int:
    """The bytes to copy. ``CannotCopyError`` for what is certain not to work elsewhere."""
    size = 0
    for path in folder.rglob("*"):
        if path.is_symlink():
            target = path.readlink()
            if target.is_absolute() and target.is_relative_to(folder):
                raise CannotCopyError(f"{path.relative_to(folder)} is a link to {target}")
        elif path.is_file():
            size += path.stat().st_size
    if size > MOST_BYTES:
        raise CannotCopyError(
            f"its build has {size >> 20} MiB; at most {MOST_BYTES >> 20} are copied"
        )
    return size


def _forget_pages(folder: Path) -> None:
    """Write the files to disk, and drop them from the page cache (posix_fadvise(2)): the copy is
    read into other pages, and nothing is written any more when a window opens.
    """
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            with suppress(OSError):
                handle = os.open(path, os.O_RDONLY)
                try:
                    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
                finally:
                    os.close(handle)
