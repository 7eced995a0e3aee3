"""What Composer installed for a PHP contestant: by the contestant's own files, or in the folder of
the system where its manifest needs them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wirebench.catalog import Contestant

LOCK_FILE = "composer.lock"
_VENDOR = "vendor"


class ComposerError(Exception):
    """A file of Composer's is not what it should be. The message says which."""


@dataclass(frozen=True, kw_only=True)
class Composed:
    locked: tuple[Mapping[str, Any], ...]
    """The packages of the lock file, without those of its developers. Several contestants may share
    it.
    """
    direct: frozenset[str]
    """The names, in small letters, of those that the contestant asks for."""
    vendor: Path | None
    """Where they are installed. None: where the contestant's build puts them."""


def composed(contestant: Contestant) -> Composed | None:
    """None: it needs no package. Errors: ``ComposerError``."""
    own = contestant.folder / LOCK_FILE
    if own.is_file():
        wanted = _read(contestant.folder / "composer.json").get("require") or {}
        direct = frozenset(str(name).lower() for name in wanted)
        return Composed(locked=_locked(own), direct=direct, vendor=None)
    paths = [Path(one) for one in contestant.needs.files if f"/{_VENDOR}/" in one]
    if not paths:
        return None
    # VENDOR/NAME is two folders, and those of all packages are in one place.
    places = [path.parts.index(_VENDOR) for path in paths]
    folder = Path(*paths[0].parts[: places[0]])
    direct = frozenset(
        "/".join(path.parts[at + 1 : at + 3]).lower()
        for path, at in zip(paths, places, strict=True)
    )
    return Composed(locked=_locked(folder / LOCK_FILE), direct=direct, vendor=folder / _VENDOR)


def _locked(path: Path) -> tuple[Mapping[str, Any], ...]:
    found = _read(path).get("packages")
    if not isinstance(found, list) or not all(
        isinstance(one, dict) and isinstance(one.get("name"), str) for one in found
    ):
        raise ComposerError(f"{path}: expected Composer's lock file with packages, got none")
    return tuple(found)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ComposerError(f"{path}: expected a file of Composer's, got {error}") from error
    if not isinstance(found, dict):
        raise ComposerError(f"{path}: expected an object of JSON, got something else")
    return found
