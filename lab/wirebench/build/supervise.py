"""Run one build step so that none of its processes outlives us."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

_MARK = "WIREBENCH_STEP"

_GRACE_S = 2.0
"""Time between SIGTERM and SIGKILL."""


_LOOK_S = 0.2
"""How often a step that runs beside others looks whether it is to end."""


class StepTimeoutError(Exception):
    """A step exceeded its time limit."""


class StepCancelledError(Exception):
    """A step was ended because nobody waits for it any more."""


@functools.cache
def _dies_with_us() -> tuple[str, ...]:
    """A command prefix that makes the kernel kill the step if we are killed (PR_SET_PDEATHSIG)."""
    return ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()


def run_step(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    log: BinaryIO,
    timeout_s: float,
    cancelled: threading.Event | None = None,
) -> int:
    """Run a command in its own session, with its output to ``log``. Returns its exit status.

    Every process that the command started has ended when this returns, also after an interruption.
    ``cancelled``, set by another thread, ends the call with ``StepCancelledError``.
    """
    mark = f"{_MARK}={uuid.uuid4().hex}"
    process: subprocess.Popen[bytes] | None = None
    try:
        process = subprocess.Popen(
            [*_dies_with_us(), *argv],
            cwd=cwd,
            env={**env, _MARK: mark.partition("=")[2]},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return _wait(process, timeout_s=timeout_s, cancelled=cancelled)
    finally:
        _end_marked(mark.encode(), process)


def _wait(
    process: subprocess.Popen[bytes], *, timeout_s: float, cancelled: threading.Event | None
) -> int:
    deadline = time.monotonic() + timeout_s
    while True:
        left_s = deadline - time.monotonic()
        try:
            return process.wait(left_s if cancelled is None else min(left_s, _LOOK_S))
        except subprocess.TimeoutExpired:
            if cancelled is not None and cancelled.is_set():
                raise StepCancelledError("cancelled") from None
            if time.monotonic() >= deadline:
                raise StepTimeoutError(f"still running after {timeout_s:.0f} s") from None


def _end_marked(mark: bytes, process: subprocess.Popen[bytes] | None) -> None:
    """End the remaining processes: the step itself after an interruption, else helpers it left in
    the background.
    """
    deadline = time.monotonic() + _GRACE_S
    wanted = signal.SIGTERM
    while members := _marked(mark):
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, wanted)
        if process is not None:
            process.poll()
        if time.monotonic() > deadline:
            wanted = signal.SIGKILL
        time.sleep(0.02)
    if process is not None:
        process.wait()


def _marked(mark: bytes) -> list[int]:
    """Processes with the mark in their environment. Children inherit it, whatever session they move
    to.

    A zombie has no environment any more (proc(5)).
    """
    members = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            environment = Path(entry.path, "environ").read_bytes()
        except OSError:
            continue
        if mark in environment.split(b"\0"):
            members.append(int(entry.name))
    return members
