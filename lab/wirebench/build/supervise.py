"""Running one build step so that nothing of it outlives us."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

_GRACE_S = 2.0
"""Between asking a step to end and killing it."""


class StepTimeoutError(Exception):
    """A step ran longer than it may."""


@functools.cache
def _dies_with_us() -> tuple[str, ...]:
    """A prefix by which the kernel kills the step if we are killed (PR_SET_PDEATHSIG)."""
    return ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()


def run_step(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: BinaryIO, timeout_s: float) -> int:
    """Runs a command in a session of its own, its output to ``log``. Returns its exit status.

    Whatever ends the call, an interruption included, every process of the session has ended when it returns.
    """
    process = subprocess.Popen(
        [*_dies_with_us(), *argv],
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return process.wait(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise StepTimeoutError(f"still running after {timeout_s:.0f} s") from None
    finally:
        _end_session(process)


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """Ends what is left of the session: the step itself if we were interrupted, else helpers it left in the background."""
    deadline = time.monotonic() + _GRACE_S
    wanted = signal.SIGTERM
    while members := _session_members(process.pid):
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, wanted)
        if process.poll() is None and wanted == signal.SIGKILL:
            process.wait()
        if time.monotonic() > deadline:
            wanted = signal.SIGKILL
        time.sleep(0.02)
    process.wait()


def _session_members(session: int) -> list[int]:
    """Processes of a session that have not ended. A zombie has: it only waits to be reaped."""
    members = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            stat = Path(entry.path, "stat").read_bytes()
        except OSError:
            continue
        # The command's name is in brackets and may hold anything, so count from the last bracket (proc(5)).
        fields = stat[stat.rindex(b")") + 2 :].split()
        if int(fields[3]) == session and fields[0] not in (b"Z", b"X"):
            members.append(int(entry.name))
    return members
