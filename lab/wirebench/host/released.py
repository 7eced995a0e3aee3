"""When a contestant's version was released, and the version of its JSON library: from what package
managers left on this machine, never from the network.
"""

from __future__ import annotations

import contextlib
import datetime
import email.utils
import functools
import gzip
import json
import os
import re
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from wirebench.catalog import Contestant
from wirebench.host.commands import PACKAGE_OF
from wirebench.host.composer import ComposerError, composed
from wirebench.host.debian import has_dpkg, installed_versions

_DOC = Path("/usr/share/doc")
_DAYS_OF_A_YEAR = 365.25
_EARLIEST = datetime.date(1990, 1, 1)
"""Archives that are built reproducibly have times before it."""
_WITHOUT_DATES = {
    "package-lock.json": "npm keeps no date",
    "requirements.txt": "pip keeps no date",
    "Cargo.lock": "cargo's copy of its index has no date of it here",
}
"""Lock files of package managers whose archives have a time that all share: 1985-10-26 in those of
npm, 2006-07-24 in crates; in wheels whatever the build tool puts there, hatchling's is 2020-02-02.
"""


def age(contestant: Contestant, today: datetime.date) -> str:
    """Such as ``2020-08, 6.3 years``, or why it is not known."""
    day = released(contestant)
    if day is None:
        return f"age unknown ({why_unknown(contestant)})"
    return f"{day:%Y-%m}, {(today - day).days / _DAYS_OF_A_YEAR:z.1f} years"


def why_unknown(contestant: Contestant) -> str:
    """Why the machine does not know when the version came out."""
    if not contestant.version[:1].isdigit():
        return f"the version is {contestant.version}"
    return next(
        (reason for name, reason in _WITHOUT_DATES.items() if (contestant.folder / name).is_file()),
        "no package manager has a date of it here",
    )


def released(contestant: Contestant) -> datetime.date | None:
    """The day on which the version came out: of Debian's packages the first upload of it, of Go
    modules and Composer's packages the tag's, of crates their publication, of Maven's archives the
    newest file inside; else what the manifest says. None where nothing knows.
    """
    sources: tuple[Callable[[Contestant], Iterator[datetime.date]], ...]
    sources = (_go, _maven, _composer, _cargo, _debian)
    return next((found for source in sources for found in source(contestant)), contestant.released)


def _debian(contestant: Contestant) -> Iterator[datetime.date]:
    tools = set(PACKAGE_OF.values()) - {"nginx-light"}
    for package in contestant.needs.debian:
        if package in tools:
            continue
        for name in ("changelog.Debian.gz", "changelog.gz"):
            found = [
                day
                for version, day in _changelog(_DOC / package / name)
                if _is(version, contestant.version)
            ]
            if found:
                yield min(found)


def _is(full: str, wanted: str) -> bool:
    """Whether 1:1.74.0+dfsg-3 is 1.74.0."""
    rest = full.rpartition(":")[2].removeprefix(wanted)
    return rest != full.rpartition(":")[2] and re.match(r"\d|\.\d+\.\d", rest) is None


@functools.cache
def _changelog(path: Path) -> tuple[tuple[str, datetime.date], ...]:
    """Versions with the day of their upload, by a Debian changelog (Debian Policy 4.4)."""
    try:
        text = gzip.decompress(path.read_bytes()).decode(errors="replace")
    except (OSError, EOFError):
        return ()
    found, version = [], None
    for line in text.splitlines():
        if (head := re.match(r"\S+ \(([^)]+)\) ", line)) is not None:
            version = head[1]
        elif version is not None and (end := re.match(r" -- .*>  (.+)$", line)) is not None:
            try:
                found.append((version, email.utils.parsedate_to_datetime(end[1]).date()))
            except ValueError:
                continue
    return tuple(found)


def _go(contestant: Contestant) -> Iterator[datetime.date]:
    modules = Path(
        os.environ.get("GOMODCACHE")
        or Path(os.environ.get("GOPATH") or Path.home() / "go").joinpath("pkg/mod")
    )
    for line in _text(contestant.folder / "go.mod").splitlines():
        words = line.removeprefix("require ").split()
        if "// indirect" in line or len(words) < 2 or words[1] != f"v{contestant.version}":
            continue
        # Capitals are escaped (go.dev/ref/mod, "Module cache").
        name = re.sub(r"[A-Z]", lambda match: f"!{match[0].lower()}", words[0])
        path = modules / "cache/download" / name / "@v" / f"{words[1]}.info"
        try:
            stamp = str(json.loads(_text(path))["Time"])
            yield datetime.datetime.fromisoformat(stamp).date()
        except (ValueError, KeyError, TypeError):
            continue


def _maven(contestant: Contestant) -> Iterator[datetime.date]:
    pom = _text(contestant.folder / "pom.xml")
    dependency = r"<groupId>(\S+?)</groupId>\s*<artifactId>(\S+?)</artifactId>\s*<version>(\S+?)<"
    for group, artifact, version in re.findall(dependency, pom):
        if version.removesuffix(".Final") != contestant.version:
            continue
        folder = Path.home() / ".m2/repository" / Path(*group.split("."), artifact, version)
        try:
            with zipfile.ZipFile(folder / f"{artifact}-{version}.jar") as archive:
                newest = max(one.date_time for one in archive.infolist())
                day = datetime.date(*newest[:3])
        except (OSError, ValueError, zipfile.BadZipFile):
            continue
        if day >= _EARLIEST:
            yield day


def _composer(contestant: Contestant) -> Iterator[datetime.date]:
    try:
        found = composed(contestant)
    except ComposerError:
        return
    if found is None:
        return
    for one in found.locked:
        version = str(one.get("version", "")).removeprefix("v")
        if str(one["name"]).lower() in found.direct and version == contestant.version:
            with contextlib.suppress(ValueError):
                yield datetime.datetime.fromisoformat(str(one.get("time", ""))).date()


def _cargo(contestant: Contestant) -> Iterator[datetime.date]:
    """By the copy of its index that cargo keeps, where the registry tells when each version was
    published.
    """
    pinned = f"={contestant.version}"
    for name, asked in _toml(contestant.folder / "Cargo.toml").get("dependencies", {}).items():
        one = asked if isinstance(asked, dict) else {"version": asked}
        if one.get("version") != pinned:
            continue
        published = _published(str(one.get("package", name)), contestant.version)
        if published is not None:
            yield published


def _published(crate: str, version: str) -> datetime.date | None:
    """A file of the index (doc.rust-lang.org/cargo/reference/registry-index.html) is copied with
    the version before each line, and zeros between (cargo's sources/registry/index/cache.rs).
    """
    name = crate.lower()
    folder = {1: "1", 2: "2", 3: f"3/{name[:1]}"}.get(len(name), f"{name[:2]}/{name[2:4]}")
    cargo = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    for path in sorted(cargo.glob(f"registry/index/*/.cache/{folder}/{name}")):
        try:
            parts = path.read_bytes().split(b"\0")
            line = parts[parts.index(version.encode()) + 1]
            return datetime.datetime.fromisoformat(json.loads(line)["pubtime"]).date()
        except (OSError, ValueError, IndexError, KeyError, TypeError):
            continue
    return None


def json_library(contestant: Contestant) -> str | None:
    """The JSON library with its version, where lock file or package manager tells it."""
    if contestant.json is None:
        return None
    version = _locked_version(contestant, contestant.json)
    return f"{contestant.json} {version}" if version is not None else contestant.json


def _locked_version(contestant: Contestant, name: str) -> str | None:
    for package in _toml(contestant.folder / "Cargo.lock").get("package", ()):
        if package.get("name") == name:
            return str(package.get("version"))
    maven = re.search(
        rf"<artifactId>{re.escape(name)}</artifactId>\s*<version>(\S+?)<",
        _text(contestant.folder / "pom.xml"),
    )
    if maven is not None:
        return maven[1]
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    packages = [one for one in contestant.needs.debian if plain in re.sub(r"[^a-z0-9]", "", one)]
    installed = installed_versions(packages) if packages and has_dpkg() else {}
    found = next((version for version in installed.values() if version is not None), None)
    upstream = re.match(r"(?:\d+:)?(\d+(?:\.\d+)*)", found or "")
    return upstream[1] if upstream is not None else None


def _toml(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError:
        return {}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
