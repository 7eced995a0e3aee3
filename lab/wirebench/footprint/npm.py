"""npm packages, by the lock file, node_modules and npm's cache. Bun's contestants use npm too."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wirebench.footprint.graph import json_apart, with_parts
from wirebench.footprint.model import Bill, FootprintError, Package, Piece, Site
from wirebench.footprint.sizes import size_of

compiled: tuple[str, ...] = ()

_MODULES = "node_modules/"
_MAY_BE_MISSING = ("optional", "devOptional", "peer")
_RUNTIME = ("bun", "@oven")
"""Bun's own package, and the scope of those with its programs: the language's runtime."""


def read(site: Site) -> Bill:
    path = site.contestant.folder / "package-lock.json"
    try:
        lock = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FootprintError(f"{path}: expected npm's lock file, got {error}") from error
    # Where it is may be said in a variable or in one of several files.
    cache = site.ask(["npm", "config", "get", "cache"]).strip()
    store = Path(cache) / "_cacache" / "content-v2"
    packages = packages_of(
        lock,
        installed=lambda place: size_of(site.build / place, without=("node_modules",)),
        downloaded=lambda integrity: archive_bytes(store, integrity),
    )
    found = tuple(
        replace(one, part="baseline") if one.name.partition("/")[0] in _RUNTIME else one
        for one in with_parts(packages, json=json_apart(site.contestant))
    )
    return Bill(manager="npm", packages=found)


def offline(_site: Site) -> Mapping[str, str]:
    return {"npm_config_offline": "true"}


def pieces(site: Site) -> tuple[Piece, ...]:
    own = size_of(site.contestant.folder, without=("node_modules",))
    modules = site.build / "node_modules"
    runtime = sum(size_of(modules / name) or 0 for name in _RUNTIME)
    return (
        Piece(name="node_modules", bytes=(size_of(modules) or 0) - runtime),
        Piece(name="the contestant's own files", bytes=own or 0),
    )


def archive_bytes(store: Path, integrity: str) -> int | None:
    """The size of an archive in npm's cache. There may be several digests, with blanks between, of
    which the cache knows one (Subresource Integrity, section 3.5).
    """
    sizes = (size_of(store / path) for path in map(_content_path, integrity.split()) if path)
    return next((size for size in sizes if size is not None), None)


def _content_path(digest: str) -> Path | None:
    """Where the archive with this digest is kept (cacache, lib/content/path.js). None: it is no
    digest.
    """
    algorithm, _, value = digest.partition("?")[0].partition("-")
    try:
        text = base64.b64decode(value, validate=True).hex()
    except binascii.Error:
        text = ""
    return Path(algorithm, text[:2], text[2:4], text[4:]) if len(text) > 4 else None


def packages_of(
    lock: Mapping[str, Any],
    *,
    installed: Callable[[str], int | None],
    downloaded: Callable[[str], int | None],
) -> tuple[Package, ...]:
    """The packages of a lock file (version 2 or 3) that are installed here. ``installed``: bytes of
    a place such as ``node_modules/ws``; ``downloaded``: those of the archive with this digest.
    Errors: ``FootprintError``.
    """
    if "packages" not in lock:
        raise FootprintError(
            "package-lock.json: expected version 2 or 3, got an older one that lists no packages;"
            " 'npm install --package-lock-only' writes a new one"
        )
    places: Mapping[str, Mapping[str, Any]] = lock["packages"]
    direct = set(_needs("", places.get("", {}), places))
    found = []
    for place, one in places.items():
        if not place or one.get("dev") or one.get("link"):
            continue
        size = installed(place)
        if size is None and any(one.get(kind) for kind in _MAY_BE_MISSING):
            continue
        licence = one.get("license")
        found.append(
            Package(
                key=place,
                name=str(one.get("name") or place.rpartition(_MODULES)[2]),
                version=str(one.get("version", "")),
                requires=tuple(_needs(place, one, places)),
                direct=place in direct,
                licence=licence if isinstance(licence, str) else None,
                download_bytes=0
                if one.get("inBundle")  # in the archive of another
                else downloaded(str(one.get("integrity", ""))),
                installed_bytes=size,
                ecosystem="npm",
            )
        )
    return tuple(found)


def _needs(
    place: str, one: Mapping[str, Any], places: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    for kind in ("dependencies", "optionalDependencies", "peerDependencies"):
        for name in one.get(kind) or ():
            target = _resolve(place, name, places)
            if target is not None:
                yield target


def _resolve(place: str, name: str, places: Mapping[str, Mapping[str, Any]]) -> str | None:
    """As Node looks for it: in the package's own node_modules, then in those above."""
    above = place
    while True:
        candidate = f"{above}/{_MODULES}{name}" if above else f"{_MODULES}{name}"
        if candidate in places:
            return candidate
        if not above:
            return None
        above = above.rpartition(f"/{_MODULES}")[0]
