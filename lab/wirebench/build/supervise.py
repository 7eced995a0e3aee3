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

from wirebench.process import procfs

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
    mark = uuid.uuid4().hex
    process: subprocess.Popen[bytes] | None = None
    try:
        process = subprocess.Popen(
            [*_dies_with_us(), *argv],
            cwd=cwd,
            env={**env, _MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return _wait(process, timeout_s=timeout_s, cancelled=cancelled)
    finally:
        _end_marked(f"{_MARK}={mark}", process)


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


def _end_marked(mark: str, process: subprocess.Popen[bytes] | None) -> None:
    """End the remaining processes: the step itself after an interruption, else helpers it left in
    the background. Children inherit the mark, whatever session they move to.
    """
    deadline = time.monotonic() + _GRACE_S
    wanted = signal.SIGTERM
    while members := [pid for pid in procfs.pids() if procfs.has_environment(pid, mark)]:
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
