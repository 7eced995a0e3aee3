"""Bytes on disk."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path


def size_of(path: Path, *, without: Collection[str] = ()) -> int | None:
    """The bytes of a file, or of all files below a folder. Links count as themselves. ``without``:
    names of folders that are left out. None: there is no such path.
    """
    if path.is_symlink() or path.is_file():
        return path.lstat().st_size
    if not path.is_dir():
        return None
    total = 0
    for folder, folders, files in os.walk(path):
        folders[:] = [name for name in folders if name not in without]
        total += sum(Path(folder, name).lstat().st_size for name in files)
    return total
