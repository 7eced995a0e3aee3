"""A contestant's folder, which it may only read: builds are kept by what is in it, and runs share
it.
"""

from __future__ import annotations

from pathlib import Path

from wirebench.build.cache import files_below
from wirebench.verify.types import CheckResult

Listing = dict[str, tuple[int, int]]
"""Size and time of the last change, by name."""
_SHOWN = 3


def listing(folder: Path) -> Listing:
    """Empty where it is not on this host."""
    found: Listing = {}
    for file in files_below(folder) if folder.is_dir() else ():
        status = file.lstat()
        found[str(file.relative_to(folder))] = (status.st_size, status.st_mtime_ns)
    return found


def unchanged(before: Listing, after: Listing) -> CheckResult:
    names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    more = len(names) - _SHOWN
    shown = ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return CheckResult(
        id="lifecycle.folder",
        passed=not names,
        required=True,
        sent="all of these checks",
        expected="its folder as before: it may write to its working directory and to WIREBENCH_TMP",
        received=f"changed: {shown}" if names else "its folder as before",
    )
