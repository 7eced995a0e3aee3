"""Java archives, by Maven's dependency plug-in and its local repository."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from wirebench.footprint.graph import json_apart, with_parts
from wirebench.footprint.licence_names import from_name
from wirebench.footprint.model import Bill, FootprintError, Package, Piece, Site
from wirebench.footprint.sizes import size_of

compiled: tuple[str, ...] = (".java",)

_LINE = re.compile(r"^((?:[|+\\ ][- ] ?)*)([^:\s]+):([^:]+):([^:]+):(?:([^:]+):)?([^:]+):(\w+)")


def read(site: Site) -> Bill:
    out = _tree(site)
    out.unlink(missing_ok=True)
    pom = site.contestant.folder / "pom.xml"
    asked = ["mvn", "--batch-mode", "--quiet", "--file", str(pom), f"-DbuildFolder={site.build}"]
    site.ask([*asked, "dependency:tree", "-Dscope=runtime", f"-DoutputFile={out}"])
    if not out.is_file():
        raise FootprintError(f"{pom}: expected the output of dependency:tree, got none")
    repository = Path.home() / ".m2/repository"
    packages = [with_files(one, repository) for one in packages_of(out.read_text("utf-8"))]
    return Bill(manager="Maven", packages=with_parts(packages, json=json_apart(site.contestant)))


def offline(_site: Site) -> Mapping[str, str]:
    """Maven asks nobody for a released version that it has."""
    return {}


def _tree(site: Site) -> Path:
    """Of the contestant that was read last."""
    return site.cache / "maven-tree.txt"


def pieces(site: Site) -> tuple[Piece, ...]:
    jars = size_of(site.build / "lib")
    tree = _tree(site)
    if jars is None and tree.is_file() and not packages_of(tree.read_text("utf-8")):
        jars = 0  # Maven makes no folder for no archives
    classes = size_of(site.build / "classes")
    if jars is None or classes is None:
        raise FootprintError(f"{site.build}: expected the folders lib and classes, got them not")
    return (Piece(name="jars", bytes=jars), Piece(name="classes", bytes=classes))


def packages_of(tree: str) -> tuple[Package, ...]:
    """By the text of dependency:tree, where three characters indent by one level. An archive that
    several need stands there once.
    """
    found: list[Package] = []
    above: list[int] = []
    for line in tree.splitlines():
        match = _LINE.match(line)
        if match is None:  # the project itself
            continue
        depth = len(match[1]) // 3
        name, classifier = f"{match[2]}:{match[3]}", match[5]
        key = f"{name}:{classifier}" if classifier else name  # archives of their own
        del above[depth - 1 :]
        if above:
            owner = found[above[-1]]
            found[above[-1]] = replace(owner, requires=(*owner.requires, key))
        above.append(len(found))
        found.append(
            Package(key=key, name=name, version=match[6], direct=depth == 1, ecosystem="Maven")
        )
    return tuple(found)


def with_files(one: Package, repository: Path) -> Package:
    """With its licence and bytes, by the local repository."""
    group, _, artifact = one.name.partition(":")
    folder = repository / Path(*group.split("."), artifact, one.version)
    stem = f"{artifact}-{one.version}"
    classifier = one.key.removeprefix(one.name).replace(":", "-", 1)
    jar, pom = size_of(folder / f"{stem}{classifier}.jar"), size_of(folder / f"{stem}.pom")
    return replace(
        one,
        licence=_licence(folder / f"{stem}.pom", repository),
        download_bytes=jar + pom if jar is not None and pom is not None else None,
        installed_bytes=jar,
    )


def _licence(path: Path, repository: Path, *, depth: int = 0) -> str | None:
    """A project without licences has those of its parent (Maven, POM reference)."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    names = licences_in(text)
    if names:
        known = [from_name(name) for name in names]
        return " OR ".join(name for name in known if name) if all(known) else None
    parent = parent_in(text)
    if parent is None or depth > 8:
        return None
    group, artifact, version = parent
    folder = repository / Path(*group.split("."), artifact, version)
    return _licence(folder / f"{artifact}-{version}.pom", repository, depth=depth + 1)


def licences_in(pom: str) -> tuple[str, ...]:
    block = re.search(r"<licenses>(.*?)</licenses>", pom, re.DOTALL)
    return tuple(re.findall(r"<name>\s*(.*?)\s*</name>", block[1], re.DOTALL)) if block else ()


def parent_in(pom: str) -> tuple[str, str, str] | None:
    block = re.search(r"<parent>(.*?)</parent>", pom, re.DOTALL)
    if block is None:
        return None
    fields = dict(re.findall(r"<(groupId|artifactId|version)>\s*(\S+?)\s*</", block[1]))
    if len(fields) != 3:
        return None
    return fields["groupId"], fields["artifactId"], fields["version"]
