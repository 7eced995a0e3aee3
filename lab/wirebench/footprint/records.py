"""The footprints that are kept: one file for each contestant, below ``results/footprint``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from wirebench.footprint.model import Footprint
from wirebench.store.jsonl import StoreError, read_whole, write_whole

FOLDER = "footprint"
_ADAPTER = TypeAdapter(Footprint)


def path_of(results: Path, contestant: str) -> Path:
    return results / FOLDER / f"{contestant}.json"


def write(results: Path, footprint: Footprint) -> None:
    path = path_of(results, footprint.contestant)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, document_of(footprint))


def document_of(footprint: Footprint) -> dict[str, object]:
    document = asdict(footprint)
    released = footprint.released
    document["released"] = released.isoformat() if released is not None else None
    return document


def read(results: Path, contestant: str) -> Footprint | None:
    """None: there is none, or it is of another version of the lab."""
    path = path_of(results, contestant)
    if not path.is_file():
        return None
    try:
        return _ADAPTER.validate_python(read_whole(path))
    except (StoreError, ValidationError):
        return None


def read_all(results: Path) -> Mapping[str, Footprint]:
    """By contestant."""
    folder = results / FOLDER
    names = sorted(
        path.relative_to(folder).with_suffix("").as_posix() for path in folder.glob("*/*.json")
    )
    found = {name: read(results, name) for name in names}
    return {name: one for name, one in found.items() if one is not None}
