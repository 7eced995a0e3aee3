"""Where the project's own native programs are."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

PROGRAMS_VARIABLE = "WIREBENCH_PROGRAMS"
"""A folder that is looked into first: for programs that were built apart."""


def find_native(name: str) -> Path | None:
    """The program: in the folder that ``WIREBENCH_PROGRAMS`` names, else beside the Python that
    runs this, where the package installs it, else in PATH. None if it is in none of them.
    """
    given = os.environ.get(PROGRAMS_VARIABLE)
    folders = [Path(given)] if given else []
    for folder in (*folders, Path(sys.executable).parent):
        if os.access(folder / name, os.X_OK):
            return folder / name
    found = shutil.which(name)
    return Path(found) if found is not None else None


def missing_native(name: str) -> str:
    """What to say where it is missing."""
    return (
        f"{Path(sys.executable).parent / name}: expected a program, got none there or in PATH;"
        " './wirebench doctor' builds it"
    )
