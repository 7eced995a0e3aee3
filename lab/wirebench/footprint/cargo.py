"""Rust crates, by ``cargo metadata``, ``cargo tree`` and cargo's registry folder."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from wirebench.footprint import native
from wirebench.footprint.graph import json_apart, with_parts
from wirebench.footprint.model import Bill, FootprintError, Package, Piece, Site
from wirebench.footprint.sizes import size_of

compiled: tuple[str, ...] = (".rs",)


def read(site: Site) -> Bill:
    told = site.ask(["rustc", "-vV"])
    host = re.search(r"(?m)^host: (\S+)$", told)
    if host is None:
        raise FootprintError(f"rustc -vV: expected a line with its host, got {told!r}")
    manifest = str(site.contestant.folder / "Cargo.toml")
    own = ["--locked", "--offline", "--manifest-path", manifest]
    text = site.ask(
        ["cargo", "metadata", "--format-version", "1", "--filter-platform", host[1], *own]
    )
    edges = ["--edges", "normal,build", "--prefix", "none"]
    tree = site.ask(["cargo", "tree", *edges, "--target", host[1], *own])
    packages = packages_of(json.loads(text), built=in_tree(tree))
    return Bill(manager="cargo", packages=with_parts(packages, json=json_apart(site.contestant)))


def offline(_site: Site) -> Mapping[str, str]:
    return {"CARGO_NET_OFFLINE": "true"}


def pieces(site: Site) -> tuple[Piece, ...]:
    return native.pieces(site)


def in_tree(text: str) -> set[tuple[str, str]]:
    """Name and version of each package that ``cargo tree`` prints."""
    return set(re.findall(r"(?m)^(\S+) v(\S+)", text))


def packages_of(
    metadata: Mapping[str, Any], *, built: Collection[tuple[str, str]]
) -> tuple[Package, ...]:
    """All that is built, build scripts and macros too, without what only tests need.

    ``built``: by ``cargo tree``. ``cargo metadata`` also names what a feature such as ``x?/std``
    would need if something else asked for the optional x (Cargo book, "Features").
    """
    nodes = {
        node["id"]: tuple(
            dep["pkg"]
            for dep in node["deps"]
            if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])
        )
        for node in metadata["resolve"]["nodes"]
    }
    root = metadata["resolve"]["root"]
    if root is None:
        raise FootprintError("Cargo.toml: expected one package, got a workspace")
    return tuple(
        Package(
            key=one["id"],
            name=one["name"],
            version=one["version"],
            requires=nodes.get(one["id"], ()),
            direct=one["id"] in nodes[root],
            # Before SPDX expressions cargo took "MIT/Apache-2.0".
            licence=(one["license"] or "").replace("/", " OR ") or None,
            download_bytes=_archive(Path(one["manifest_path"]).parent),
            installed_bytes=size_of(Path(one["manifest_path"]).parent),
            ecosystem="crates.io",
        )
        for one in metadata["packages"]
        if one["id"] != root and (one["name"], one["version"]) in built
    )


def _archive(source: Path) -> int | None:
    """registry/src/INDEX/NAME-VERSION is unpacked from registry/cache/INDEX/NAME-VERSION.crate."""
    index = source.parent
    return size_of(index.parent.parent / "cache" / index.name / f"{source.name}.crate")
