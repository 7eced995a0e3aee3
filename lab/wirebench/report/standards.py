"""How well each contestant follows the standards: a table of probe results, for contestants that
were probed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from wirebench.store.records import VerifyRecord

COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("http", "MUST", "HTTP, MUST"),
    ("http", "SHOULD", "HTTP, SHOULD"),
    ("websocket", "MUST", "WebSocket, MUST"),
    ("websocket", "SHOULD", "WebSocket, SHOULD"),
    ("deflate", "MUST", "compression, MUST"),
)
"""Part, level and heading. Optional behaviour (MAY) is no merit, so it is left out."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    text: str
    """Such as ``16 of 47``; empty where no probe applies."""
    whole: bool
    note: str


@dataclass(frozen=True, kw_only=True)
class StandardsRow:
    contestant: str
    fields: tuple[Kept, ...]
    broken: tuple[str, ...]
    """The MUSTs that do not hold, each with its section and what was received."""


@dataclass(frozen=True, kw_only=True)
class Standards:
    columns: tuple[str, ...]
    rows: tuple[StandardsRow, ...]


def standards(records: Iterable[VerifyRecord]) -> Standards | None:
    """None: no contestant of the run was ever probed."""
    probes: dict[str, dict[tuple[str, str], Mapping[str, Any]]] = {}
    for record in records:
        for probe in record.probes:
            probes.setdefault(record.contestant, {})[probe["part"], probe["id"]] = probe
    if not probes:
        return None
    used = [
        column
        for column in COLUMNS
        if any(_counted(found.values(), column) for found in probes.values())
    ]
    rows = [
        StandardsRow(
            contestant=name,
            fields=tuple(_kept(found.values(), column) for column in used),
            broken=tuple(
                _broken(one)
                for one in found.values()
                if one["level"] == "MUST" and one["outcome"] == "failed"
            ),
        )
        for name, found in sorted(probes.items())
    ]
    return Standards(columns=tuple(heading for _, _, heading in used), rows=tuple(rows))


def _counted(
    probes: Iterable[Mapping[str, Any]], column: tuple[str, str, str]
) -> list[Mapping[str, Any]]:
    part, level, _ = column
    return [
        one
        for one in probes
        if one["part"] == part and one["level"] == level and one["outcome"] != "not_applicable"
    ]


def _kept(probes: Iterable[Mapping[str, Any]], column: tuple[str, str, str]) -> Kept:
    counted = _counted(probes, column)
    if not counted:
        return Kept(text="", whole=False, note="")
    passed = sum(one["outcome"] == "passed" for one in counted)
    closed = sum(one["outcome"] == "closed" for one in counted)
    return Kept(
        text=f"{passed} of {len(counted)}",
        whole=passed == len(counted),
        note=f"{closed} more refused by closing" if closed else "",
    )


def _broken(probe: Mapping[str, Any]) -> str:
    place = f"{probe['document']} section {probe['section']}"
    return f"{place}: to {probe['sent']}, {probe['expected']} is due; it gave {probe['received']}"
