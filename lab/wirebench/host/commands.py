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

_VERSION_ARGUMENT = {"go": "version", "java": "-version", "nginx": "-v"}
"""The exceptions to ``--version``."""

_SYSTEM_FOLDERS = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Not in every user's PATH, but servers such as nginx live there."""

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
    """PATH, followed by the system's own folders."""
    given = os.environ.get("PATH", os.defpath) if path is None else path
    folders = [folder for folder in given.split(os.pathsep) if folder]
    return os.pathsep.join(
        [*folders, *(folder for folder in _SYSTEM_FOLDERS if folder not in folders)]
    )


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
