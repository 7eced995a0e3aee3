"""Whether what a contestant needs is on this host."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wirebench.catalog import Contestant
from wirebench.host.commands import PACKAGE_OF, command_version, command_versions
from wirebench.host.debian import has_dpkg, install_line, installed_versions

_INCLUDE_FOLDERS = (Path("/usr/include"), Path("/usr/local/include"))


@dataclass(frozen=True, kw_only=True)
class Presence:
    """What of a contestant's needs is here and what is not. ``versions`` and ``packages`` hold what is."""

    commands: dict[str, str]
    packages: dict[str, str]
    missing_commands: tuple[str, ...]
    missing_debian: tuple[str, ...]
    missing_files: tuple[str, ...]

    @property
    def complete(self) -> bool:
        return not (self.missing_commands or self.missing_debian or self.missing_files)

    @property
    def missing(self) -> tuple[str, ...]:
        """Everything that is missing, by name; a command stands for the package that brings it."""
        brought = {PACKAGE_OF.get(name) for name in self.missing_commands}
        packages = [name for name in self.missing_debian if name not in brought]
        return (*self.missing_commands, *packages, *self.missing_files)

    @property
    def installable(self) -> tuple[str, ...]:
        """The Debian packages that bring what is missing, as far as packages do."""
        of_commands = [PACKAGE_OF[name] for name in self.missing_commands if name in PACKAGE_OF]
        return tuple(dict.fromkeys([*of_commands, *self.missing_debian]))

    def describe(self, contestant: Contestant) -> str:
        """What is missing and what to do about it, in one line."""
        text = f"needs {', '.join(self.missing)}"
        if self.installable:
            text += f"; install: {install_line(self.installable)}"
        elsewhere = [*self.missing_files, *(name for name in self.missing_commands if name not in PACKAGE_OF)]
        if elsewhere and contestant.published:
            text += f"; {', '.join(elsewhere)}: published at {contestant.published}"
        elif elsewhere:
            text += f"; {', '.join(elsewhere)}: see {contestant.homepage}"
        return text


def find_file(name: str) -> Path | None:
    """A file by its absolute path, or below an include folder."""
    candidates = [Path(name)] if Path(name).is_absolute() else [folder / name for folder in _INCLUDE_FOLDERS]
    return next((path for path in candidates if path.exists()), None)


def presences(contestants: Iterable[Contestant]) -> dict[str, Presence]:
    """The presence of each contestant's needs, by identity. Commands and packages are asked for once, all together."""
    wanted = list(contestants)
    versions = command_versions(name for one in wanted for name in one.needs.commands)
    packages = {name for one in wanted for name in one.needs.debian}
    # Without dpkg nothing can be said about packages; the build will tell.
    installed: dict[str, str | None] = dict.fromkeys(packages, "unknown")
    if has_dpkg():
        installed = installed_versions(packages)
        for name in packages:
            installed[name] = installed[name] or _installed_otherwise(name)
    return {one.identity: _presence(one, versions, installed) for one in wanted}


def presence(contestant: Contestant) -> Presence:
    return presences([contestant])[contestant.identity]


def _installed_otherwise(package: str) -> str | None:
    """A toolchain may have come without its Debian package: what counts is that all the package's commands run."""
    commands = [name for name, brings in PACKAGE_OF.items() if brings == package]
    versions = [command_version(name) for name in commands]
    known = [version for version in versions if version is not None]
    return ", ".join(known) if known and len(known) == len(commands) else None


def _presence(one: Contestant, versions: dict[str, str | None], installed: dict[str, str | None]) -> Presence:
    commands = {name: version for name in one.needs.commands if (version := versions[name]) is not None}
    packages = {name: version for name in one.needs.debian if (version := installed[name]) is not None}
    return Presence(
        commands=commands,
        packages=packages,
        missing_commands=tuple(name for name in one.needs.commands if name not in commands),
        missing_debian=tuple(name for name in one.needs.debian if name not in packages),
        missing_files=tuple(name for name in one.needs.files if find_file(name) is None),
    )
