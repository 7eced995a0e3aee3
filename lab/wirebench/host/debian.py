"""Debian packages: which are installed, and how to install more with apt-get."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from wirebench.host.commands import search_path

_POLICY = Path("/usr/sbin/policy-rc.d")
_POLICY_TEXT = """#!/bin/sh
# Written by wirebench setup: services of the packages it installs are not started (the lab starts
# what it measures itself). Without WIREBENCH_SETUP in the environment this file changes nothing.
[ -z "$WIREBENCH_SETUP" ] || exit 101
exit 0
"""


def has_dpkg() -> bool:
    return shutil.which("dpkg-query") is not None


def has_apt() -> bool:
    return shutil.which("apt-get") is not None


def installed_versions(packages: Iterable[str]) -> dict[str, str | None]:
    """The installed version of each package; None if it is not installed."""
    wanted = sorted(set(packages))
    versions: dict[str, str | None] = dict.fromkeys(wanted)
    if not wanted:
        return versions
    # ${Provides} too: another package may provide this one (such as libcurl-dev).
    answer = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status}\t${Package}\t${Version}\t${Provides}\n"],
        capture_output=True,
        text=True,
        check=True,
    )
    for line in answer.stdout.splitlines():
        status, package, version, provides = line.split("\t")
        if status != "installed":
            continue
        if package in versions:
            versions[package] = version
        for provided in provides.split(","):
            name = provided.strip().split(" ")[0].split(":")[0]
            if name in versions and versions[name] is None:
                versions[name] = f"{package} {version}"
    return versions


@functools.cache
def candidate_version(package: str) -> str | None:
    """The upstream version that apt-get would install, by the local package lists."""
    if shutil.which("apt-cache") is None:
        return None
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    answer = subprocess.run(
        ["apt-cache", "policy", package],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    for line in answer.stdout.splitlines():
        key, _, value = line.strip().partition(": ")
        if key == "Candidate" and value != "(none)":
            # [epoch:]upstream[-revision] (Debian Policy 5.6.12)
            without_epoch = value.rpartition(":")[2]
            return without_epoch.rpartition("-")[0] or without_epoch
    return None


def is_root() -> bool:
    return os.geteuid() == 0


def install_line(packages: Iterable[str], *, root: bool | None = None) -> str:
    """The shell line with which a user installs the packages."""
    sudo = "" if (is_root() if root is None else root) else "sudo "
    names = " ".join(shlex.quote(name) for name in packages)
    return f"{sudo}apt-get update && {sudo}apt-get install -y --no-install-recommends {names}"


def install(
    packages: Iterable[str], *, on_line: Callable[[str], None] = lambda _line: None
) -> list[str]:
    """Install packages by name, as root. Returns those that could not be installed."""
    wanted = list(dict.fromkeys(packages))
    if not wanted:
        return []
    with _services_stay_stopped():
        _apt(["update"], on_line)
        candidate_version.cache_clear()
        command = ["install", "-y", "--no-install-recommends"]
        if _apt([*command, *wanted], on_line) == 0:
            return []
        # One name that this release does not have fails the whole line; the others are still
        # wanted.
        return [package for package in wanted if _apt([*command, package], on_line) != 0]


def _apt(arguments: list[str], on_line: Callable[[str], None]) -> int:
    # dpkg needs the system's folders in PATH, which root does not always have.
    ours = {
        "DEBIAN_FRONTEND": "noninteractive",
        "WIREBENCH_SETUP": "1",
        "LC_ALL": "C.UTF-8",
        "PATH": search_path(),
    }
    with subprocess.Popen(
        ["apt-get", "-o", "DPkg::Lock::Timeout=300", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **ours},
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            on_line(line.rstrip("\n"))
        return process.wait()


@contextmanager
def _services_stay_stopped() -> Iterator[None]:
    """invoke-rc.d and deb-systemd-invoke ask policy-rc.d (Debian Policy 9.3.3). An existing one is
    left alone.
    """
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text(_POLICY_TEXT, encoding="utf-8")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink(missing_ok=True)
