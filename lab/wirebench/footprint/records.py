"""The footprints that are kept: one file for each role of each contestant, below
``results/footprint``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from wirebench.catalog.model import Role
from wirebench.footprint.model import Footprint
from wirebench.store.jsonl import StoreError, read_whole, write_whole

FOLDER = "footprint"
_ADAPTER = TypeAdapter(Footprint)


def path_of(results: Path, contestant: str, role: Role) -> Path:
    return results / FOLDER / f"{contestant}.{role}.json"


def write(results: Path, footprint: Footprint) -> None:
    path = path_of(results, footprint.contestant, footprint.role)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, document_of(footprint))


def document_of(footprint: Footprint) -> dict[str, object]:
    document = asdict(footprint)
    released = footprint.released
    document["released"] = released.isoformat() if released is not None else None
    return document


def read(results: Path, contestant: str, role: Role) -> Footprint | None:
    """None: there is none, or it is of another version of the lab."""
    path = path_of(results, contestant, role)
    if not path.is_file():
        return None
    try:
        return _ADAPTER.validate_python(read_whole(path))
    except (StoreError, ValidationError):
        return None


def read_either(results: Path, contestant: str, role: Role) -> Footprint | None:
    """That of the role, else of the other, which has the same packages."""
    other: Role = "client" if role == "server" else "server"
    found = read(results, contestant, role)
    return found if found is not None else read(results, contestant, other)


def read_all(results: Path, role: Role) -> Mapping[str, Footprint]:
    """By contestant, those of ``read_either``."""
    folder = results / FOLDER
    names = {
        path.relative_to(folder).as_posix().removesuffix(f".{one}.json")
        for one in get_args(Role)
        for path in folder.glob(f"*/*.{one}.json")
    }
    found = {name: read_either(results, name, role) for name in sorted(names)}
    return {name: one for name, one in found.items() if one is not None}
