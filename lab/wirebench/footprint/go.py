"""Go modules, by ``go list`` and the module cache: those from which something is compiled."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from wirebench.footprint import native
from wirebench.footprint.graph import json_apart, with_parts
from wirebench.footprint.licence_names import in_folder
from wirebench.footprint.model import Bill, Package, Piece, Site
from wirebench.footprint.sizes import size_of

compiled: tuple[str, ...] = (".go",)


def read(site: Site) -> Bill:
    fields = "-json=ImportPath,Imports,Module,Standard"
    source = str(site.contestant.folder)
    text = site.ask(["go", "list", "-C", source, "-mod=readonly", "-deps", fields, "./..."])
    cache = Path(site.ask(["go", "env", "GOMODCACHE"]).strip())
    packages = packages_of(documents(text), cache=cache)
    return Bill(
        manager="Go modules", packages=with_parts(packages, json=json_apart(site.contestant))
    )


def offline(site: Site) -> Mapping[str, str]:
    """With a build cache that holds the standard library only, which is compiled before."""
    version = site.ask(["go", "env", "GOVERSION"]).strip()
    kept = site.cache / "go" / version
    if not (kept / ".whole").exists():
        site.ask(["env", f"GOCACHE={kept}", "go", "build", "-trimpath", "-o", "/dev/null", "std"])
        (kept / ".whole").touch()
    own = site.cache / "go" / "build"
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(kept, own)
    return {"GOPROXY": "off", "GOCACHE": str(own)}


def pieces(site: Site) -> tuple[Piece, ...]:
    return native.pieces(site)


def documents(text: str) -> Iterator[Mapping[str, Any]]:
    """JSON values one after another, as go prints them."""
    decoder, at = json.JSONDecoder(), 0
    while (start := re.compile(r"\S").search(text, at)) is not None:
        value, at = decoder.raw_decode(text, start.start())
        yield value


def packages_of(listed: Iterable[Mapping[str, Any]], *, cache: Path) -> tuple[Package, ...]:
    """By the Go packages of a build and the modules that they are in."""
    known = list(listed)
    module_of = {
        one["ImportPath"]: one["Module"]["Path"]
        for one in known
        if not one.get("Standard") and "Module" in one
    }
    modules = {one["Module"]["Path"]: one["Module"] for one in known if "Module" in one}
    requires: dict[str, dict[str, None]] = {path: {} for path in modules}
    for one in known:
        own = module_of.get(one["ImportPath"])
        for imported in one.get("Imports") or ():
            other = module_of.get(imported)
            if own is not None and other is not None and other != own:
                requires[own][other] = None
    main = {path for path, one in modules.items() if one.get("Main")}
    direct = {other for path in main for other in requires[path]}
    return tuple(
        _package(one, requires=tuple(requires[path]), direct=path in direct, cache=cache)
        for path, one in modules.items()
        if path not in main
    )


def _package(
    module: Mapping[str, Any], *, requires: tuple[str, ...], direct: bool, cache: Path
) -> Package:
    """What is compiled counts: the module that replaces another, or the sources of a folder."""
    path, used = module["Path"], module.get("Replace") or module
    folder = Path(module["Dir"]) if "Dir" in module else None
    # Modules do not state it, but by convention hold its text (pkg.go.dev/license-policy).
    licence = in_folder(folder) if folder is not None else None
    size = size_of(folder) if folder is not None else None
    version = used.get("Version")
    if version is None:
        return Package(
            key=path,
            name=f"{path} (source)",
            version=module.get("Version", ""),
            requires=requires,
            direct=direct,
            licence=licence,
            download_bytes=size,
            installed_bytes=size,
        )
    return Package(
        key=path,
        name=used["Path"],
        version=version,
        requires=requires,
        direct=direct,
        licence=licence,
        download_bytes=size_of(archive(cache, used["Path"], version)),
        installed_bytes=size,
        ecosystem="Go",
        audited_version=version.removeprefix("v"),
    )


def archive(cache: Path, path: str, version: str) -> Path:
    """The module's archive. Capitals are escaped (go.dev/ref/mod, "Module cache")."""
    escaped, known_as = (
        re.sub(r"[A-Z]", lambda match: f"!{match[0].lower()}", text) for text in (path, version)
    )
    return cache / "cache/download" / escaped / "@v" / f"{known_as}.zip"
