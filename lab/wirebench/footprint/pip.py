"""Python packages, by the metadata that pip leaves in the virtual environment of a build."""

from __future__ import annotations

import contextlib
import csv
import email.parser
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from email.message import Message
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from wirebench.catalog.licences import LicenceError, parse
from wirebench.footprint.graph import json_apart, reachable, with_parts
from wirebench.footprint.licence_names import from_name
from wirebench.footprint.model import Bill, FootprintError, Package, Piece, Site
from wirebench.footprint.sizes import size_of

compiled: tuple[str, ...] = ()

_WANTED = "requirements.txt"
_OF_THE_ENVIRONMENT = frozenset(("pip", "setuptools", "wheel"))
"""What an environment may begin with, before anything is installed there."""
_OF_PYTHON = frozenset(("python3", "python3-venv"))
"""Debian packages that bring no others to import."""
_FOR_DEVELOPERS = frozenset(("test", "tests", "testing", "dev", "docs", "doc", "lint"))


def read(site: Site) -> Bill:
    if not _installs(site):
        return Bill(manager="pip", packages=())
    found = [_distribution(folder) for folder in _recorded(site)]
    downloads = {
        parse_file_name(path.name): path.stat().st_size for path in _downloaded(site).iterdir()
    }
    packages = [
        replace(one, download_bytes=downloads.get((one.key, one.version)))
        for one in packages_of(found)
    ]
    return Bill(manager="pip", packages=with_parts(packages, json=json_apart(site.contestant)))


def offline(site: Site) -> Mapping[str, str]:
    if not _installs(site):
        return {}
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(_downloaded(site))}


def pieces(site: Site) -> tuple[Piece, ...]:
    sources = size_of(site.contestant.folder, without=("__pycache__",))
    own = Piece(name="the contestant's own files", bytes=sources or 0)
    if not _installs(site):
        return (own,)
    folders = {_name(_distribution(folder)[0]): folder for folder in _recorded(site)}
    counted = {one.key for one in packages_of([_distribution(one) for one in folders.values()])}
    packages = sum(_shipped(folder) for name, folder in folders.items() if name in counted)
    return (Piece(name="packages of the virtual environment", bytes=packages), own)


def _installs(site: Site) -> bool:
    """Whether there is more than what Python itself brings."""
    one = site.contestant
    no_more = not one.build_steps and _OF_PYTHON.issuperset(one.needs.debian)
    return not no_more or (one.folder / _WANTED).is_file()


def _recorded(site: Site) -> list[Path]:
    """The folders with pip's own data, one for each package that it installed."""
    return sorted(_packages(site).glob("*.dist-info"))


def _shipped(folder: Path) -> int:
    """Bytes of the files of a package, by its RECORD; those that Python compiles by itself are not
    shipped. Its commands lie outside the packages' folder.
    """
    rows = csv.reader(_text(folder / "RECORD").splitlines())
    files = (folder.parent / row[0] for row in rows if row)
    return sum(size_of(file) or 0 for file in files if file.parent.name != "__pycache__")


def _packages(site: Site) -> Path:
    found = sorted(site.build.glob("venv/lib/python*/site-packages"))
    if not found:
        raise FootprintError(
            f"{site.build}/venv: expected a virtual environment, got none;"
            " the build steps of its language make one there"
        )
    return found[-1]


def _downloaded(site: Site) -> Path:
    """A folder with the files that pip installs, which it downloads once."""
    wanted = site.contestant.folder / _WANTED
    try:
        digest = hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]
    except OSError as error:
        raise FootprintError(f"{wanted}: expected the pinned packages, got {error}") from error
    folder = site.cache / "pip" / digest
    if not (folder / ".whole").exists():
        folder.mkdir(parents=True, exist_ok=True)
        pip = str(site.build / "venv/bin/pip")
        asked = [pip, "download", "--quiet", "--disable-pip-version-check"]
        site.ask([*asked, "--dest", str(folder), "--requirement", str(wanted)])
        (folder / ".whole").touch()
    return folder


def parse_file_name(name: str) -> tuple[str, str]:
    """Canonical name and version of a wheel or a source archive."""
    try:
        package, version, _, _ = parse_wheel_filename(name)
    except InvalidWheelFilename:
        stem, _, version_text = re.sub(r"\.(tar\.\w+|zip)$", "", name).rpartition("-")
        return canonicalize_name(stem), version_text
    return package, str(version)


def _distribution(folder: Path) -> tuple[str, int]:
    """METADATA and the bytes of the files that RECORD lists."""
    metadata = (folder / "METADATA").read_text(encoding="utf-8")
    return metadata, recorded_bytes(_text(folder / "RECORD"))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _name(metadata: str) -> str:
    return canonicalize_name(str(email.parser.Parser().parsestr(metadata)["Name"]))


def recorded_bytes(text: str) -> int:
    """By a RECORD file: path, hash and size. Compiled files have no size there."""
    return sum(int(found[1]) for found in re.finditer(r"(?m),(\d+)\s*$", text))


def packages_of(distributions: Sequence[tuple[str, int]]) -> tuple[Package, ...]:
    """By METADATA (core metadata) and installed bytes of each. What no other package asks for is a
    direct dependency, since a file of pinned versions does not tell; of packages that only ask for
    each other it is the first by name. What an environment begins with counts where one of the
    others needs it.
    """
    headers = [(email.parser.Parser().parsestr(text), size) for text, size in distributions]
    names: set[str] = {canonicalize_name(str(one["Name"])) for one, _ in headers}
    every: dict[str, tuple[str, ...]] = {
        canonicalize_name(str(one["Name"])): tuple(dict.fromkeys(_requires(one, names)))
        for one, _ in headers
    }
    counted = reachable(names - _OF_THE_ENVIRONMENT, every)
    requires = {name: every[name] for name in counted}
    wanted = {it for name, others in requires.items() for it in others if it != name}
    direct = counted - wanted
    found = reachable(direct, requires)
    for name in sorted(counted):
        if name not in found:
            direct.add(name)
            found |= reachable((name,), requires)
    packages = []
    for one, size in headers:
        key = canonicalize_name(str(one["Name"]))
        if key in counted:
            packages.append(
                Package(
                    key=key,
                    name=str(one["Name"]),
                    version=str(one["Version"]),
                    requires=requires[key],
                    direct=key in direct,
                    licence=licence_of(one),
                    installed_bytes=size,
                    ecosystem="PyPI",
                )
            )
    return tuple(packages)


def _requires(one: Message, installed: set[str]) -> Iterator[str]:
    """What is installed counts, whichever extra asked for it, but those for its own developers."""
    for text in one.get_all("Requires-Dist") or ():
        try:
            wanted = Requirement(str(text))
        except InvalidRequirement:
            continue
        extras = re.findall(r"extra\s*==\s*['\"]([^'\"]+)", str(wanted.marker or ""))
        if not _FOR_DEVELOPERS.isdisjoint(extras):
            continue
        name = canonicalize_name(wanted.name)
        # These are there whether or not somebody asked for them.
        if name in _OF_THE_ENVIRONMENT and not _applies(wanted):
            continue
        if name in installed:
            yield name


def _applies(wanted: Requirement) -> bool:
    """Whether it is asked for here, and without an extra."""
    return wanted.marker is None or wanted.marker.evaluate({"extra": ""})


def licence_of(one: Message) -> str | None:
    if one["License-Expression"]:
        return str(one["License-Expression"])
    stated = str(one["License"] or "").strip()
    titles = [
        str(text).rpartition("::")[2]
        for text in one.get_all("Classifier") or ()
        if str(text).startswith("License ::")
    ]
    # The field may hold the whole text of a licence.
    short = [stated] if stated and len(stated) < 60 else []
    for text in short:
        with contextlib.suppress(LicenceError):
            return str(parse(text).render())
    return next((name for text in [*short, *titles] if (name := from_name(text))), None)
