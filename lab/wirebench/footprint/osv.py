"""Known vulnerabilities of packages, by a snapshot of OSV entries in a folder: JSON files, or zip
archives of them as OSV publishes for each ecosystem (ossf.github.io/osv-schema).
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cmp_to_key
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from wirebench.footprint.model import Advisory, Audit, FootprintError, Package

Entry = Mapping[str, Any]
Rank = Callable[[str], Any]
"""A version as something that can be ordered. Errors: ``ValueError``."""


def read_snapshot(folder: Path) -> tuple[Entry, ...]:
    """Errors: ``FootprintError``."""
    found = tuple(_entries(folder))
    if not found:
        raise FootprintError(f"{folder}: expected OSV entries (*.json, or *.zip of them), got none")
    return found


def _entries(folder: Path) -> Iterator[Entry]:
    for path in sorted(folder.rglob("*.json")):
        yield _entry(path.read_bytes(), str(path))
    for path in sorted(folder.rglob("*.zip")):
        try:
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if name.endswith(".json"):
                        yield _entry(archive.read(name), f"{path}: {name}")
        except zipfile.BadZipFile as error:
            raise FootprintError(f"{path}: expected a zip archive, got {error}") from error


def _entry(data: bytes, where: str) -> Entry:
    try:
        entry = json.loads(data)
    except ValueError as error:
        raise FootprintError(f"{where}: expected an OSV entry, got {error}") from error
    if not isinstance(entry, dict) or "id" not in entry or "modified" not in entry:
        raise FootprintError(f"{where}: expected an OSV entry with id and modified, got neither")
    return entry


Index = Mapping[tuple[str, str], tuple[tuple[str, Mapping[str, Any]], ...]]
"""By ecosystem and name, the id of each entry and what it says is affected."""


def index_of(entries: Iterable[Entry]) -> Index:
    found: dict[tuple[str, str], list[tuple[str, Mapping[str, Any]]]] = {}
    for entry in entries:
        if entry.get("withdrawn"):
            continue
        for affected in entry.get("affected") or ():
            package = affected.get("package")
            if not package:  # only commits of a repository are named
                continue
            key = str(package.get("ecosystem", "")), str(package.get("name", ""))
            found.setdefault(_canonical(*key), []).append((str(entry["id"]), affected))
    return {key: tuple(values) for key, values in found.items()}


def audit(packages: Iterable[Package], index: Index, *, snapshot: str) -> Audit:
    """What the snapshot says of the packages."""
    covered = {ecosystem for ecosystem, _ in index}
    found: dict[Advisory, None] = {}
    unchecked = []
    for one in packages:
        if one.ecosystem not in covered:
            unchecked.append(one.name)
            continue
        version = one.audited_version or one.version
        known = index.get(_canonical(one.ecosystem, one.audited or one.name), ())
        # Several Debian packages are of one source.
        name = one.audited or one.name
        judged = True
        for id_, affected in known:
            try:
                if is_affected(version, affected, one.ecosystem):
                    found[Advisory(id=id_, package=name, version=version)] = None
            except ValueError:
                judged = False
        if not judged:
            unchecked.append(one.name)
    return Audit(snapshot=snapshot, found=tuple(found), unchecked=tuple(sorted(unchecked)))


def date_of(entries: Iterable[Entry]) -> str:
    """The day of the newest entry."""
    return max(str(one["modified"]) for one in entries)[:10]


def _canonical(ecosystem: str, name: str) -> tuple[str, str]:
    return ecosystem, str(canonicalize_name(name)) if ecosystem == "PyPI" else name


def is_affected(version: str, affected: Mapping[str, Any], ecosystem: str) -> bool:
    """Whether the version is listed, or in a range. Errors: ``ValueError``, where versions cannot
    be put in order.
    """
    if version in (affected.get("versions") or ()):
        return True
    ranges = [one for one in affected.get("ranges") or () if one.get("type") != "GIT"]
    if not ranges:
        return False
    rank = _RANKS.get(ecosystem.partition(":")[0])
    if rank is None:
        # Where the versions are listed too, the list is enough.
        if affected.get("versions"):
            return False
        raise ValueError(f"no order of versions is known for {ecosystem}")
    own = rank(version)
    return any(_in_range(own, one.get("events") or (), rank) for one in ranges)


def _in_range(own: Any, events: Iterable[Mapping[str, str]], rank: Rank) -> bool:
    """An introduction at or before the version, and no end between the two. The events may come in
    any order, and "0" is before all versions (OSV schema, section "Evaluation").
    """
    found = [
        ((version != "0", rank(version)), kind)
        for event in events
        for kind, version in event.items()
        if kind in ("introduced", "fixed", "last_affected")
    ]
    here, inside = (True, own), False
    for place, kind in sorted(found, key=lambda one: one[0]):
        if kind == "last_affected":
            inside = inside and place >= here
        elif place <= here:
            inside = kind == "introduced"
    return inside


def _semantic(text: str) -> tuple[Any, ...]:
    """semver.org, section 11."""
    match = re.fullmatch(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([^+]*))?(?:\+.*)?", text)
    if match is None:
        raise ValueError(f"expected a semantic version, got {text!r}")
    numbers = tuple(int(match[index] or 0) for index in (1, 2, 3))
    if match[4] is None:
        return (*numbers, 1, ())
    parts = tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in match[4].split(".")
    )
    return (*numbers, 0, parts)


def _python(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion as error:
        raise ValueError(str(error)) from error


def compare_debian(one: str, other: str) -> int:
    """Debian Policy 5.6.12: below zero where ``one`` is older."""
    for left, right in zip(_debian_parts(one), _debian_parts(other), strict=True):
        found = _compare_part(left, right)
        if found:
            return found
    return 0


def _debian_parts(text: str) -> tuple[str, str, str]:
    epoch, colon, rest = text.partition(":")
    if not colon:
        epoch, rest = "0", text
    upstream, dash, revision = rest.rpartition("-")
    return (epoch, upstream, revision) if dash else (epoch, rest, "0")


def _compare_part(one: str, other: str) -> int:
    """Turns of what is no digit, in which a tilde sorts before the end and letters before other
    characters, and of numbers.
    """
    left, right = re.findall(r"(\D*)(\d*)", one), re.findall(r"(\D*)(\d*)", other)
    for index in range(max(len(left), len(right))):
        own_text, own_digits = left[index] if index < len(left) else ("", "")
        its_text, its_digits = right[index] if index < len(right) else ("", "")
        own_key = [*map(_weight, own_text), 0]
        its_key = [*map(_weight, its_text), 0]
        if own_key != its_key:
            return -1 if own_key < its_key else 1
        difference = int(own_digits or 0) - int(its_digits or 0)
        if difference:
            return -1 if difference < 0 else 1
    return 0


def _weight(character: str) -> int:
    if character == "~":
        return -1
    return ord(character) if character.isalpha() else ord(character) + 256


_RANKS: Mapping[str, Rank] = {
    "Debian": cmp_to_key(compare_debian),
    "Go": _semantic,
    "PyPI": _python,
    "Ubuntu": cmp_to_key(compare_debian),
    "crates.io": _semantic,
    "npm": _semantic,
}
