"""Host names of a process's own: a mount namespace with another ``/etc/hosts``."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

LOCALHOST = "::1 localhost\n127.0.0.1 localhost\n"
"""As most systems have it. The order of the addresses is that of RFC 6724: ::1 first."""
_MOUNT = 'mount --bind "$0" /etc/hosts && exec "$@"'


def with_names(hosts: str, folder: Path) -> tuple[str, ...]:
    """The command before a program that gives it this file of names. It is kept in ``folder``."""
    file = folder / "hosts"
    file.write_text(hosts, encoding="ascii")
    root = () if os.geteuid() == 0 else ("--map-root-user",)
    return ("unshare", "--mount", *root, "sh", "-c", _MOUNT, str(file))


def refusal(folder: Path) -> str | None:
    """Why a process can have no names of its own here, with what would allow it; None if it can."""
    try:
        done = subprocess.run(
            [*with_names(LOCALHOST, folder), "true"], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    return f"{done.stderr.strip() or 'unshare failed'}; run as root, or allow user namespaces"
