"""What is missing on this host or harms its figures, and the command that fixes it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from wirebench.catalog import Catalog, Contestant
from wirebench.host.awake import DEVICE
from wirebench.host.commands import forget_versions
from wirebench.host.debian import install, install_line, is_root
from wirebench.host.fingerprint import Fingerprint, capture
from wirebench.host.installed import Presence, presences

Severity = Literal["missing", "warning", "note"]
"""missing: prevents a measurement. warning: may make figures worse. note: good to know."""

_WANTED_FILES = 4096
_WANTED_BACKLOG = 1024
_WANTED_PORTS = 20_000
_STEADY_CLOCKS = frozenset({"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"})


@dataclass(frozen=True, kw_only=True)
class Problem:
    severity: Severity
    what: str
    why: str
    """Why it matters."""
    fix: str | None
    """The shell command that fixes it. None if there is none."""


def diagnose(catalog: Catalog, *, fingerprint: Fingerprint | None = None) -> list[Problem]:
    """Every problem of this host for this catalog, the most serious first."""
    enabled = [one for one in catalog.contestants.values() if one.disabled is None]
    found = [
        *_manifest_problems(catalog),
        *_contestant_problems(enabled, presences(enabled)),
        *host_problems(fingerprint or capture()),
    ]
    order = ("missing", "warning", "note")
    return sorted(found, key=lambda problem: order.index(problem.severity))


def installable(contestants: Iterable[Contestant], *, toolchain_present: bool = False) -> list[str]:
    """The Debian packages that the contestants lack.

    With ``toolchain_present``, only of contestants whose commands are all installed: libraries,
    which are small, but no compilers.
    """
    wanted = [one for one in contestants if one.disabled is None]
    packages: list[str] = []
    for found in presences(wanted).values():
        if not (toolchain_present and (found.missing_commands or found.missing_files)):
            packages.extend(found.installable)
    return sorted(set(packages))


def ensure_libraries(contestants: Iterable[Contestant], *, say: Callable[[str], None]) -> None:
    """As root, install the libraries of contestants whose compilers and runtimes are present, and
    say so.

    Without root, or if apt-get fails, nothing changes: the contestants stay "not installed", with
    the command that installs them.
    """
    packages = installable(contestants, toolchain_present=True)
    if not packages or not is_root() or shutil.which("apt-get") is None:
        return
    say(f"installing Debian packages: {' '.join(packages)}")
    refused = install(packages)
    forget_versions()
    if refused:
        say(f"apt-get could not install {' '.join(refused)}")


def _manifest_problems(catalog: Catalog) -> Iterable[Problem]:
    for error in catalog.errors:
        yield Problem(
            severity="missing",
            what=error.message,
            why=f"{error.identity} is left out everywhere until its manifest is valid",
            fix=None,
        )


def _contestant_problems(
    contestants: Iterable[Contestant], found: dict[str, Presence]
) -> Iterable[Problem]:
    by_fix: dict[tuple[str, ...], list[Contestant]] = {}
    for one in contestants:
        here = found[one.identity]
        if here.installable:
            by_fix.setdefault(here.installable, []).append(one)
        elif not here.complete:
            yield Problem(
                severity="note",
                what=f"{one.identity}: {here.describe(one)}",
                why="it is not measured",
                fix=None,
            )
    for packages, several in by_fix.items():
        names = ", ".join(one.identity for one in several)
        yield Problem(
            severity="missing",
            what=f"not installed: {', '.join(packages)}",
            why=f"not measured without: {names}",
            fix=install_line(packages),
        )


def host_problems(host: Fingerprint) -> Iterable[Problem]:
    """Properties of the machine that make figures worse or cells impossible."""
    sudo = "" if is_root() else "sudo "
    limits = host.limits
    if host.cores < 2:
        yield Problem(
            severity="warning",
            what="one core",
            why="server and generator share it, so throughput is their joint limit",
            fix=None,
        )
    if limits.cpu_quota is not None:
        yield Problem(
            severity="warning",
            what=f"a CPU quota of {limits.cpu_quota:g} for all that the lab starts",
            why=(
                "server and generator share it, and are stopped together when it is used up;"
                " figures are then of the quota"
            ),
            fix=None,
        )
    if limits.nofile_hard < _WANTED_FILES:
        yield Problem(
            severity="warning",
            what=f"a process may open {limits.nofile_hard} files",
            why="cells with more connections than that cannot be run",
            fix=f"{sudo}prlimit --pid $$ --nofile={_WANTED_FILES * 5}",
        )
    if limits.somaxconn is not None and limits.somaxconn < _WANTED_BACKLOG:
        yield Problem(
            severity="warning",
            what=f"net.core.somaxconn is {limits.somaxconn}",
            why="many connections opened at once wait for retransmitted SYNs",
            fix=f"{sudo}sysctl -w net.core.somaxconn=4096",
        )
    if (
        limits.port_range is not None
        and limits.port_range[1] - limits.port_range[0] < _WANTED_PORTS
    ):
        yield Problem(
            severity="warning",
            what=f"net.ipv4.ip_local_port_range is {limits.port_range[0]}-{limits.port_range[1]}",
            why="cells with a new connection for each request run out of ports",
            fix=f"{sudo}sysctl -w net.ipv4.ip_local_port_range='15000 65000'",
        )
    if host.governor in ("powersave", "ondemand", "conservative"):
        yield Problem(
            severity="warning",
            what=f"the processor's frequency governor is {host.governor}",
            why="the core's frequency follows the load, so light loads look slow",
            fix=f"{sudo}cpupower frequency-set -g performance",
        )
    if not host.cores_awake:
        yield Problem(
            severity="warning",
            what=f"no permission to write to {DEVICE}",
            why=(
                "idle cores sleep; every round trip then includes their wake-up time, which varies"
                " more than libraries differ"
            ),
            fix=(
                f"sudo chgrp {os.getgid()} {DEVICE} && sudo chmod g+w {DEVICE}"
                if DEVICE.exists()
                else None
            ),
        )
    if host.clocksource is not None and host.clocksource not in _STEADY_CLOCKS:
        yield Problem(
            severity="warning",
            what=f"the clock is {host.clocksource}",
            why="reading it is slow, and every request is timed with it",
            fix=None,
        )
    if limits.cgroup is None:
        yield Problem(
            severity="note",
            what="no cgroup v2 folder that can be written to",
            why="the servers' CPU time is read from /proc, which misses short-lived children",
            fix=None,
        )
    if not limits.netem and not (limits.tun and (limits.user_namespaces or is_root())):
        yield Problem(
            severity="note",
            what="neither netem nor /dev/net/tun with network namespaces",
            why="cells over a wide-area link cannot be run",
            fix=None,
        )
    if not limits.io_uring:
        yield Problem(
            severity="note", what="io_uring is not allowed", why="epoll is used instead", fix=None
        )
