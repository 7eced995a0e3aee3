"""C# packages: by NuGet's lock file or packages.config and NuGet's folders of packages, or the
assemblies that a contestant copies from a folder of the system.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wirebench.catalog.model import Contestant
from wirebench.footprint.graph import json_apart, with_parts
from wirebench.footprint.licence_names import in_folder
from wirebench.footprint.model import Bill, FootprintError, Package, Piece, Site
from wirebench.footprint.sizes import size_of

compiled: tuple[str, ...] = (".cs",)

_LOCK = "packages.lock.json"
_LIST = "packages.config"
_ASSEMBLIES = (".dll", ".exe")


@dataclass(frozen=True, kw_only=True)
class Named:
    """A package as a lock file or a list names it."""

    name: str
    version: str
    direct: bool | None
    """None: the file does not say."""
    requires: tuple[str, ...] | None
    """None: the file does not say, and the package itself does."""


def read(site: Site) -> Bill:
    folder = site.contestant.folder
    if (folder / _LOCK).is_file():
        named = locked(_text(folder / _LOCK), _LOCK)
    elif (folder / _LIST).is_file():
        named = listed(_text(folder / _LIST))
    else:
        for path in sorted(folder.glob("*.csproj")):
            if "<PackageReference" in _text(path):
                raise FootprintError(
                    f"{path}: expected {_LOCK} beside it, got none; its property"
                    " RestorePackagesWithLockFile makes dotnet write one"
                )
        return Bill(manager="NuGet", packages=_copied(site.contestant))
    packages = packages_of(named, place=lambda one: _place(one, site))
    return Bill(manager="NuGet", packages=with_parts(packages, json=json_apart(site.contestant)))


def offline(_site: Site) -> Mapping[str, str]:
    """NuGet asks nobody for a version that it has."""
    return {}


def pieces(site: Site) -> tuple[Piece, ...]:
    words = (Path(one) for one in site.command)
    program = next((one for one in words if one.is_relative_to(site.build)), None)
    if program is None or not program.is_file():
        raise FootprintError(f"it is started by {site.command[0]}, not by a program that it builds")
    assemblies = (one for one in program.parent.iterdir() if one.suffix in _ASSEMBLIES)
    return tuple(
        Piece(name=one.name, bytes=one.stat().st_size) for one in sorted({program, *assemblies})
    )


def locked(text: str, name: str) -> list[Named]:
    """What a lock file names, for whichever framework: a package once."""
    try:
        frameworks = json.loads(text)["dependencies"]
        found = {
            str(id_).lower(): Named(
                name=str(id_),
                version=str(one["resolved"]),
                direct=one["type"] == "Direct",
                requires=tuple(str(it).lower() for it in one.get("dependencies") or ()),
            )
            for packages in reversed(frameworks.values())
            for id_, one in packages.items()
            if one["type"] != "Project"
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FootprintError(f"{name}: expected NuGet's lock file, got {error!r}") from error
    return list(found.values())


def listed(text: str) -> list[Named]:
    """What packages.config lists: all of them, direct or not."""
    found = []
    for tag in re.findall(r"<package\s[^>]*>", text):
        fields = dict(re.findall(r"""(\w+)\s*=\s*["']([^"']*)["']""", tag))
        if "id" in fields and "version" in fields and fields.get("developmentDependency") != "true":
            found.append(
                Named(name=fields["id"], version=fields["version"], direct=None, requires=None)
            )
    return found


def packages_of(
    named: Sequence[Named], *, place: Callable[[Named], Path | None]
) -> tuple[Package, ...]:
    """``place``: the folder of a package, if it is here."""
    known = {one.name.lower(): one for one in named}
    places = {name: place(one) for name, one in known.items()}
    specs = {name: _spec(folder) for name, folder in places.items()}
    requires = {
        name: tuple(
            it
            for it in (one.requires if one.requires is not None else _dependencies(specs[name]))
            if it in known
        )
        for name, one in known.items()
    }
    wanted = {it for name, others in requires.items() for it in others if it != name}
    return tuple(
        Package(
            key=name,
            name=one.name,
            version=one.version,
            requires=requires[name],
            direct=one.direct if one.direct is not None else name not in wanted,
            licence=_licence(specs[name], folder),
            download_bytes=_archive(folder),
            installed_bytes=size_of(folder) if folder is not None else None,
            ecosystem="NuGet",
        )
        for name, one in known.items()
        for folder in (places[name],)
    )


def _place(one: Named, site: Site) -> Path | None:
    """Below NuGet's folder of all packages, or in that of the project."""
    given = os.environ.get("NUGET_PACKAGES")
    shared = Path(given) if given else Path.home() / ".nuget" / "packages"
    candidates = (
        shared / one.name.lower() / one.version.lower(),
        site.build / "packages" / f"{one.name}.{one.version}",
    )
    return next((path for path in candidates if path.is_dir()), None)


def _archive(folder: Path | None) -> int | None:
    found = sorted(folder.glob("*.nupkg")) if folder is not None else []
    return size_of(found[0]) if found else None


def _spec(folder: Path | None) -> str:
    """The package's own description; empty where it is not here."""
    found = sorted(folder.glob("*.nuspec")) if folder is not None else []
    return _text(found[0]) if found else ""


def _dependencies(spec: str) -> list[str]:
    """For whichever framework."""
    return [one.lower() for one in re.findall(r"""<dependency\s[^>]*?id=["']([^"']+)""", spec)]


def _licence(spec: str, folder: Path | None) -> str | None:
    stated = re.search(r"""<license\s+type=["']expression["']\s*>\s*([^<]+?)\s*<""", spec)
    if stated is not None:
        return stated[1]
    return in_folder(folder) if folder is not None else None


def _copied(contestant: Contestant) -> tuple[Package, ...]:
    """The library as one package, where the contestant needs assemblies in folders of the system:
    nobody else knows what is in them.
    """
    files = [Path(one) for one in contestant.needs.files if one.endswith(_ASSEMBLIES)]
    if not files:
        return ()
    sizes = [size for one in files if (size := size_of(one)) is not None]
    return (
        Package(
            key=contestant.library,
            name=contestant.library,
            version=contestant.version,
            direct=True,
            licence=contestant.license,
            installed_bytes=sum(sizes) if len(sizes) == len(files) else None,
            ecosystem="NuGet",
        ),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise FootprintError(f"{path}: {error.strerror}") from error
