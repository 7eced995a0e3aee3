"""Whether this host has what a contestant needs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import Version

from wirebench.catalog import Contestant
from wirebench.host.commands import (
    PACKAGE_OF,
    PUBLISHED_AT,
    command_version,
    command_versions,
    find_command,
    version_in,
)
from wirebench.host.debian import candidate_version, has_dpkg, install_line, installed_versions

_INCLUDE_FOLDERS = (Path("/usr/include"), Path("/usr/local/include"))


@dataclass(frozen=True, kw_only=True)
class Presence:
    """Which of a contestant's needs are installed and which are missing.

    ``commands`` and ``packages`` hold the versions of those that are installed.
    """

    commands: dict[str, str]
    packages: dict[str, str]
    missing_commands: tuple[str, ...]
    outdated: dict[str, str]
    """Installed commands whose version is too old, with that version."""
    missing_debian: tuple[str, ...]
    missing_files: tuple[str, ...]
    unhelpful: frozenset[str] = frozenset()
    """Debian packages that would bring a command, but in a version that is too old."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Where each file that was found stands."""
    minimum: Mapping[str, str] = field(default_factory=dict)
    outdated_debian: Mapping[str, str] = field(default_factory=dict)
    """Installed packages whose version is too old, with that version."""
    debian_minimum: Mapping[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return not self.missing

    @property
    def missing(self) -> tuple[str, ...]:
        """Everything that is missing, by name. A command stands for the package that brings it."""
        brought = {PACKAGE_OF.get(name) for name in (*self.missing_commands, *self.outdated)}
        packages = [name for name in self.missing_debian if name not in brought]
        return (
            *(self._wanted(name) for name in (*self.missing_commands, *self.outdated)),
            *packages,
            *(f"{name}>={self.debian_minimum[name]}" for name in self.outdated_debian),
            *self.missing_files,
        )

    @property
    def installable(self) -> tuple[str, ...]:
        """The Debian packages that bring what is missing, where there are any."""
        of_commands = [PACKAGE_OF[name] for name in self.missing_commands if name in PACKAGE_OF]
        packages = dict.fromkeys([*of_commands, *self.missing_debian])
        return tuple(name for name in packages if name not in self.unhelpful)

    def describe(self, contestant: Contestant) -> str:
        """What is missing and how to get it, in one line."""
        old = [
            f"found {version} at {find_command(name) or name}"
            for name, version in self.outdated.items()
        ]
        old += [f"found {name} {version}" for name, version in self.outdated_debian.items()]
        text = f"needs {', '.join(self.missing)}" + (f" ({', '.join(old)})" if old else "")
        if self.installable:
            text += f"; install: {install_line(self.installable)}"
        for name in (*self.missing_commands, *self.outdated):
            if PACKAGE_OF.get(name) not in self.installable:
                text += f"; {self._wanted(name)}: see {PUBLISHED_AT.get(name, contestant.homepage)}"
        for name in self.outdated_debian:
            text += f"; {name}>={self.debian_minimum[name]}: a newer release of Debian, or see"
            text += f" {contestant.homepage}"
        if self.missing_files and contestant.published:
            text += f"; {', '.join(self.missing_files)}: published at {contestant.published}"
        elif self.missing_files:
            text += f"; {', '.join(self.missing_files)}: see {contestant.homepage}"
        return text

    def _wanted(self, command: str) -> str:
        return f"{command}>={self.minimum[command]}" if command in self.minimum else command


def find_file(name: str) -> Path | None:
    """A file by its absolute path, or below an include folder: first those of the prefixes in
    ``CMAKE_PREFIX_PATH``, which CMake searches first too.
    """
    if Path(name).is_absolute():
        candidates = [Path(name)]
    else:
        prefixes = filter(None, os.environ.get("CMAKE_PREFIX_PATH", "").split(os.pathsep))
        own = [Path(prefix) / "include" for prefix in prefixes]
        candidates = [folder / name for folder in (*own, *_INCLUDE_FOLDERS)]
    return next((path for path in candidates if path.exists()), None)


def presences(contestants: Iterable[Contestant]) -> dict[str, Presence]:
    """The presence of each contestant's needs, by identity. All commands and packages are queried
    at once.
    """
    wanted = list(contestants)
    versions = command_versions(name for one in wanted for name in one.needs.commands)
    packages = {name for one in wanted for name in one.needs.debian}
    # Without dpkg the packages are unknown; the build will show.
    installed: dict[str, str | None] = dict.fromkeys(packages, "unknown")
    if has_dpkg():
        installed = installed_versions(packages)
        for name in packages:
            installed[name] = installed[name] or _installed_otherwise(name)
    return {one.identity: _presence(one, versions, installed) for one in wanted}


def presence(contestant: Contestant) -> Presence:
    return presences([contestant])[contestant.identity]


def _installed_otherwise(package: str) -> str | None:
    """A toolchain may be installed without its Debian package. It counts if all the package's
    commands run.
    """
    commands = [name for name, brings in PACKAGE_OF.items() if brings == package]
    versions = [command_version(name) for name in commands]
    known = [version for version in versions if version is not None]
    return ", ".join(known) if known and len(known) == len(commands) else None


def _presence(
    one: Contestant, versions: dict[str, str | None], installed: dict[str, str | None]
) -> Presence:
    here = {name: version for name in one.needs.commands if (version := versions[name]) is not None}
    minimum = dict(one.needs.minimum)
    old = {
        name: number
        for name, text in here.items()
        if (number := _too_old(text, minimum.get(name))) is not None
    }
    packages = {
        name: version for name in one.needs.debian if (version := installed[name]) is not None
    }
    files = {name: path for name in one.needs.files if (path := find_file(name)) is not None}
    debian_minimum = dict(one.needs.debian_minimum)
    old_packages = {
        name: number
        for name, text in packages.items()
        if (number := _too_old(_without_epoch(text), debian_minimum.get(name))) is not None
    }
    return Presence(
        commands={name: version for name, version in here.items() if name not in old},
        packages=packages,
        missing_commands=tuple(name for name in one.needs.commands if name not in here),
        outdated=old,
        missing_debian=tuple(name for name in one.needs.debian if name not in packages),
        missing_files=tuple(name for name in one.needs.files if name not in files),
        files=files,
        unhelpful=frozenset(
            PACKAGE_OF[name]
            for name, wanted in minimum.items()
            if name not in here
            and name in PACKAGE_OF
            and _too_old(candidate_version(PACKAGE_OF[name]), wanted) is not None
        ),
        minimum=minimum,
        outdated_debian=old_packages,
        debian_minimum=debian_minimum,
    )


def _without_epoch(version: str) -> str:
    """``1:2.3`` is 2.3 of upstream's (Debian Policy 5.6.12). A package that provides another has
    its name before its version.
    """
    words = version.split(" ")
    return (words[1] if len(words) == 2 else version).rpartition(":")[2]


def _too_old(text: str | None, wanted: str | None) -> str | None:
    """The version number in a text, if it is lower than wanted. A text without one counts as new
    enough.
    """
    number = version_in(text)
    if number is None or wanted is None:
        return None
    return str(number) if number < Version(wanted) else None
