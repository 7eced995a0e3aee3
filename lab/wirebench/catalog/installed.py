"""The project that an installed package brings, for where there is no checkout.

Nothing is written beside the package. What it brings (contestants and studies) is copied to
``$XDG_DATA_HOME/wirebench`` (``~/.local/share/wirebench``), which then is a project like a
checkout: ``build/`` and ``results/`` come to lie there too. Another package, such as a newer one,
replaces what the last one brought, and leaves the rest.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wirebench.catalog.errors import CatalogError

BROUGHT = Path(__file__).resolve().parents[1] / "project"
_STAMP = ".brought-by-the-package.json"
"""Which package was copied, and the files that it brought."""


def installed_project(brought: Path = BROUGHT) -> Path | None:
    """The user's folder, with what the package brings in it; None if it brings nothing, as in a
    checkout. ``CatalogError`` where the folder cannot be written.
    """
    if not brought.is_dir():
        return None
    folder = _data_home() / "wirebench"
    wanted = {"package": str(brought), "installed_ns": brought.stat().st_mtime_ns}
    if _is_from(_read_stamp(folder), wanted):
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".copying.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            before = _read_stamp(folder)
            if not _is_from(before, wanted):
                _copy(brought, folder, before.get("files", ()), wanted)
    except OSError as error:
        raise CatalogError(
            f"{folder}: expected a folder that can be written, for contestants, builds and "
            f"results, got: {error}; set XDG_DATA_HOME to another"
        ) from error
    return folder


def _data_home() -> Path:
    """By the XDG Base Directory Specification, which says to ignore relative paths."""
    given = os.environ.get("XDG_DATA_HOME", "")
    return Path(given) if given.startswith("/") else Path.home() / ".local" / "share"


def _read_stamp(folder: Path) -> dict[str, Any]:
    try:
        stamp = json.loads((folder / _STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def _is_from(stamp: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(stamp.get(key) == value for key, value in wanted.items())


def _copy(brought: Path, folder: Path, before: list[str], wanted: Mapping[str, Any]) -> None:
    files = sorted(str(path.relative_to(brought)) for path in brought.rglob("*") if path.is_file())
    for name in {*before} - {*files}:
        (folder / name).unlink(missing_ok=True)
    for name in files:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        # A program that runs cannot be written over.
        partial = target.with_name(f".{target.name}.new")
        shutil.copy(brought / name, partial)
        partial.replace(target)
    text = json.dumps({**wanted, "files": files})
    (folder / _STAMP).write_text(text, encoding="utf-8")
