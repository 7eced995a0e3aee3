"""Whose cost each package is: a walk over the dependencies."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from wirebench.catalog.model import Contestant
from wirebench.footprint.model import Package


def reachable(roots: Iterable[str], requires: Mapping[str, Iterable[str]]) -> set[str]:
    """All that the roots need, themselves included. Names without an entry are left out."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in requires and name not in found:
            found.add(name)
            waiting.extend(requires[name])
    return found


def with_parts(
    packages: Collection[Package], *, json: str | None, baseline: Collection[str] = ()
) -> tuple[Package, ...]:
    """The packages that the direct ones need, each with whose cost it is, sorted by name.

    What only the JSON library needs is its part, though the library's users may choose another. A
    direct dependency is never baseline.
    """
    requires = {one.key: one.requires for one in packages}
    roots = [one for one in packages if one.direct]
    of_json = {one.key for one in roots if json is not None and names_json(one.name, json)}
    needed = reachable((one.key for one in roots if one.key not in of_json), requires)
    beside = reachable(of_json, requires)
    found = []
    for one in packages:
        if one.key not in needed and one.key not in beside:
            continue
        if one.key in baseline and not one.direct:
            found.append(replace(one, part="baseline"))
        else:
            found.append(replace(one, part="library" if one.key in needed else "json"))
    return tuple(sorted(found, key=lambda one: (one.name, one.version)))


def json_apart(contestant: Contestant) -> str | None:
    """The JSON library of the workloads; None where it is the library itself, whose packages are
    its own cost.
    """
    json = contestant.json
    return None if json is None or _plain(json) in _plain(contestant.library) else json


def names_json(name: str, json: str) -> bool:
    """Whether a package is the JSON library that a manifest names: nlohmann-json3-dev is
    nlohmann/json.
    """
    return _plain(json) in _plain(name)


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
