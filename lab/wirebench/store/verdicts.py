"""``results/verdicts.json``: what the last ``wirebench selftest --verdicts`` of each host found.

Reports of the host's runs print it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from wirebench.store.jsonl import StoreError, read_whole, write_whole

VERDICTS_FILE = "verdicts.json"


@dataclass(frozen=True, kw_only=True)
class CheckedDesign:
    """One design in one world. Gaps are shares (0.05: 5%); null beyond what was searched."""

    presets: tuple[str, ...]
    blocks: int
    repeats: int
    world: str
    tables: int
    false_tables: int
    """Tables with a claim about entries that are within the noise band of each other."""
    wrong_signs: int
    counts: bool
    """False where the design cannot see what the world does, and says so."""
    gap_80: float | None
    """The smallest gap found in 80% of the pairs."""
    gap_95: float | None


@dataclass(frozen=True, kw_only=True)
class CheckedVerdicts:
    host_id: str
    ended_unix_ns: int
    entries: int
    source: str
    """Whose noise was simulated."""
    designs: tuple[CheckedDesign, ...]


_FILE = TypeAdapter(dict[str, CheckedVerdicts])


def read_verdicts(results: Path) -> dict[str, CheckedVerdicts]:
    """By host. Empty when the self-test never ran, or its file cannot be read: a report is complete
    without it.
    """
    path = results / VERDICTS_FILE
    if not path.exists():
        return {}
    try:
        return _FILE.validate_python(read_whole(path))
    except (StoreError, ValidationError):
        return {}


def keep_verdicts(results: Path, found: CheckedVerdicts) -> None:
    results.mkdir(parents=True, exist_ok=True)
    known = read_verdicts(results) | {found.host_id: found}
    write_whole(results / VERDICTS_FILE, _FILE.dump_python(known, mode="json"))


def worst_false_share(designs: Sequence[CheckedDesign]) -> CheckedDesign | None:
    """The design and world with the largest share of tables with a false claim, of those that
    count.
    """
    counted = [one for one in designs if one.counts and one.tables]
    return max(counted, key=lambda one: one.false_tables / one.tables, default=None)
