"""The toolchains' programs: which are installed, in which version, and which Debian package brings
a missing one.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.version import Version

_VERSION_ARGUMENT = {"go": "version", "java": "-version", "nginx": "-v"}
"""The exceptions to ``--version``."""

_SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Not in every user's PATH, but servers such as nginx live there."""

_DISTRIBUTION = (Path("/usr/bin"), Path("/bin"))
"""Where packages of the distribution put their commands."""

_COLOUR = re.compile("\x1b\\[[0-9;]*m")

PACKAGE_OF = {
    "cargo": "cargo",
    "clang++": "clang",
    "cmake": "cmake",
    "composer": "composer",
    "g++": "g++",
    "gcc": "gcc",
    "go": "golang-go",
    "java": "default-jdk-headless",
    "javac": "default-jdk-headless",
    "make": "make",
    "mcs": "mono-mcs",
    "mono": "mono-runtime",
    "mvn": "maven",
    "nginx": "nginx-light",
    "ninja": "ninja-build",
    "node": "nodejs",
    "npm": "npm",
    "php": "php-cli",
    "pkg-config": "pkg-config",
    "python3": "python3",
    "rustc": "rustc",
    "setpriv": "util-linux",
}
"""The Debian package of each command that has one."""

PUBLISHED_AT = {
    "cargo": "https://rustup.rs",
    "go": "https://go.dev/dl",
    "java": "https://adoptium.net",
    "javac": "https://adoptium.net",
    "node": "https://nodejs.org",
    "npm": "https://nodejs.org",
    "rustc": "https://rustup.rs",
}
"""Where to get a toolchain when a Debian release has only an older one."""


def search_path(path: str | None = None) -> str:
    """PATH, followed by the system's own folders. Before them the folders of a user's toolchains
    that are newer than the distribution's, or that PATH lacks.
    """
    given = os.environ.get("PATH", os.defpath) if path is None else path
    folders = [folder for folder in given.split(os.pathsep) if folder]
    folders += [folder for folder in _SYSTEM_FOLDERS if folder not in folders]
    preferred = [
        newer
        for leader, places in _user_places().items()
        if (newer := _newer(leader, places, os.pathsep.join(folders))) is not None
    ]
    return os.pathsep.join([*preferred, *(one for one in folders if one not in preferred)])


def _user_places() -> dict[str, list[Path]]:
    """Where a user's own toolchains usually are, by the command that tells their version."""
    home = Path(os.environ.get("HOME") or "/nonexistent")
    cargo = Path(os.environ.get("CARGO_HOME") or home / ".cargo")
    rustup = Path(os.environ.get("RUSTUP_HOME") or home / ".rustup")
    return {
        "cargo": [cargo / "bin", *sorted(rustup.glob("toolchains/*/bin"))],
        "go": [Path("/usr/local/go/bin"), home / ".local/go/bin"],
        "node": sorted(home.glob(".nvm/versions/node/*/bin")),
    }


def _newer(leader: str, places: list[Path], path: str) -> str | None:
    """The first of the newest places, where PATH has no such command or the distribution's, and
    that is older. What a user put into PATH from elsewhere is meant.
    """
    present = [place for place in places if shutil.which(leader, path=str(place)) is not None]
    here = shutil.which(leader, path=path)
    if not present or (here is not None and Path(here).parent not in _DISTRIBUTION):
        return None

    def version(program: str | Path) -> Version:
        argument = _VERSION_ARGUMENT.get(leader, "--version")
        text = _ask_version(str(program), argument)
        return version_in(text) or Version("0")

    best = max(present, key=lambda place: version(place / leader))
    return None if here is not None and version(best / leader) <= version(here) else str(best)


def version_in(text: str | None) -> Version | None:
    """The first version number of a text. None if it has none."""
    found = re.search(r"\d+(?:\.\d+)*", text or "")
    return Version(found[0]) if found is not None else None


def find_command(name: str) -> str | None:
    return shutil.which(name, path=search_path())


def command_version(name: str) -> str | None:
    """The first line of a command's version output. None if the command is missing or fails."""
    path = find_command(name)
    return None if path is None else _ask_version(path, _VERSION_ARGUMENT.get(name, "--version"))


@functools.cache
def _ask_version(path: str, argument: str) -> str | None:
    try:
        answer = subprocess.run(
            [path, argument],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if answer.returncode != 0:
        return None
    text = _COLOUR.sub("", answer.stdout + "\n" + answer.stderr)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else Path(path).name


def command_versions(names: Iterable[str]) -> dict[str, str | None]:
    """The versions of several commands, queried in parallel: some start a virtual machine to
    answer.
    """
    wanted = sorted(set(names))
    with ThreadPoolExecutor(max_workers=8) as pool:
        return dict(zip(wanted, pool.map(command_version, wanted), strict=True))


def forget_versions() -> None:
    """Forget the versions after something was installed."""
    _ask_version.cache_clear()
