"""A process with its descendants: start it, wait for it, account for it, stop it."""

from __future__ import annotations

import ctypes
import os
import resource
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from wirebench.process import cgroup, interrupt, procfs

GRACE_S = 2.0
"""The time between SIGTERM and SIGKILL: the server contract's limit."""
TAIL_BYTES = 16 * 1024
"""How much of a process's output is kept. Errors are at its end."""
MAX_OPEN_FILES = 1_048_576
"""Some runtimes loop over every descriptor they may open. A hard limit of billions would stall
them.
"""
_LONGEST_POLL_MS = 2**31 - 1
"""poll(2) takes no more."""
_LONGEST_PAUSE_S = 0.02
"""How soon a process that is being stopped notices the user's second signal."""
_PATIENCE_S = 2.0
"""How long processes get SIGKILL until they are gone, and how long one that may not get it is
waited for.
"""
_PR_SET_PDEATHSIG = 1  # prctl(2)

# Runs in the new process: enter the cgroup first, so that all CPU time of the program is counted
# there. No core files in build folders; as many open files as the host allows.
_PRELUDE = (
    'ulimit -c 0; ulimit -S -n "$1"; if [ -n "$0" ]; then echo $$ >"$0/cgroup.procs" || exit 126;'
    ' fi; shift; exec "$@"'
)


class Tail:
    """The last bytes of a stream. A thread reads it, so that the writer never blocks."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._data = bytearray()
        self.total_bytes = 0
        """All that came, kept or not."""
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._read, name="wirebench-output", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        descriptor = self._stream.fileno()
        while True:
            try:
                chunk = os.read(descriptor, 65536)
            except OSError:
                return
            if not chunk:
                return
            with self._lock:
                self._data += chunk
                self.total_bytes += len(chunk)
                del self._data[:-TAIL_BYTES]

    def text(self) -> str:
        with self._lock:
            return self._data.decode(errors="replace")

    def close(self, patience_s: float) -> None:
        """Read the rest, until every writer has closed the stream or ``patience_s`` has passed."""
        self._thread.join(patience_s)
        if not self._thread.is_alive():
            self._stream.close()


@dataclass(kw_only=True)
class Process:
    """A process started by ``Scope.start``. It ends with its scope at the latest."""

    name: str
    argv: tuple[str, ...]
    pid: int
    started_ns: int
    """On the monotonic clock."""
    group: Path | None
    alone: bool
    """It starts no processes of its own."""
    output: Tail
    """Standard output, and standard error too unless ``errors`` has it."""
    errors: Tail | None
    _popen: subprocess.Popen[bytes]
    _marker: str
    _stopped: bool = False
    _ignored_sigterm: bool = False
    _seen: set[int] = field(default_factory=set)
    """Every process that was ever seen in the tree."""
    _known: tuple[procfs.Stat, ...] = ()
    """Those that were seen last, where there is no cgroup."""

    @property
    def watch(self) -> str:
        """The argument of wireload's ``--watch``: the cgroup, or the process with its
        descendants.
        """
        return str(self.group) if self.group is not None else str(self.pid)

    def pids(self) -> set[int]:
        """The living processes of the tree."""
        if self.alone:
            return {self.pid} if self._popen.poll() is None else set()
        if self.group is not None:
            found = set(cgroup.members(self.group))
        else:
            # The marker finds those whose parents are gone and that have a session of their own;
            # if they have cleared their environment, only an earlier look does.
            self._known = procfs.living_tree([self.pid], marker=self._marker, known=self._known)
            found = {one.pid for one in self._known}
        self._seen |= found
        return found

    def exit_code(self) -> int | None:
        """None while it runs. The negative signal number if a signal ended it."""
        return self._popen.poll()

    def wait(self, timeout_s: float) -> int | None:
        """Wait until it exits; signals may interrupt the wait. None at the timeout."""
        with interrupt.waiting():
            try:
                return self._wait(timeout_s)
            except subprocess.TimeoutExpired:
                return None

    def _wait(self, timeout_s: float) -> int:
        if not self._await_exit(timeout_s):
            return self._popen.wait(timeout_s)
        return self._popen.wait(0)

    def _await_exit(self, timeout_s: float) -> bool:
        """Sleep until it exits or the time is over. False at once where this host has no pidfd.

        Popen.wait with a timeout polls, possibly on a measured core; a pidfd does not.
        """
        try:
            descriptor = os.pidfd_open(self.pid)
        except OSError:
            return False
        try:
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            poller.poll(min(max(0.0, timeout_s) * 1000, _LONGEST_POLL_MS))
        finally:
            os.close(descriptor)
        return True

    def signal(self, number: signal.Signals) -> None:
        """Nothing happens if it has ended or belongs to another user, as under sudo."""
        if self._popen.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)

    def stop(self, grace_s: float | None = None) -> bool:
        """Send SIGTERM, wait ``grace_s`` (``GRACE_S`` by default), then kill what is left of the
        tree. What outlives its first process, such as a server that a shell started, gets a SIGTERM
        of its own: a shell does not pass it on.

        False if SIGTERM alone did not end it. A process of another user ends only with its cgroup;
        where it has none, it is left.
        """
        if self._stopped:
            return not self._ignored_sigterm
        with interrupt.hold():
            self.pids()  # while they have their parents
            self.signal(signal.SIGTERM)
            deadline = time.monotonic() + (GRACE_S if grace_s is None else grace_s)
            pause_s, told = 0.001, False
            while self._popen.poll() is None or self.pids():
                if time.monotonic() > deadline or interrupt.impatient():
                    self._ignored_sigterm = True
                    break
                if self._popen.poll() is not None and not told:
                    told = True
                    _terminate(self.pids())
                # Its own exit ends the pause; that of a descendant cannot be waited for.
                if self._popen.poll() is not None or not self._await_exit(_LONGEST_PAUSE_S):
                    time.sleep(pause_s)
                    pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
            self._kill()
            self._stopped = True
        return not self._ignored_sigterm

    def kill(self) -> None:
        """Send SIGKILL to the whole tree, as a crash would end it."""
        with interrupt.hold():
            self.pids()  # while they have their parents
            self._kill()
            self._stopped = True

    def _kill(self) -> None:
        if self.group is not None:
            cgroup.kill(self.group)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        kill_all(self.pids, patience_s=_PATIENCE_S)
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(None if self._may_be_killed() else _PATIENCE_S)
        self._reap()
        for tail in (self.output, self.errors):
            if tail is not None:
                tail.close(1.0)
        if self.group is not None:
            cgroup.remove(self.group)

    def _may_be_killed(self) -> bool:
        """False if it belongs to another user."""
        try:
            os.kill(self.pid, 0)
        except PermissionError:
            return False
        except ProcessLookupError:
            pass
        return True

    def _reap(self) -> None:
        """Reap its dead descendants. They became children of the lab and stay in the process table
        until it waits for them.
        """
        for pid in procfs.own_children():
            found = procfs.stat(pid)
            if found is None or found.state != "Z" or pid == self.pid:
                continue
            if pid in self._seen or found.session == self.pid:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


def _terminate(pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGTERM)


def open_files() -> int:
    """How many files each process that the lab starts may open."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)


def spawn(
    argv: Sequence[str],
    *,
    name: str,
    cwd: Path,
    env: Mapping[str, str],
    cores: Sequence[int],
    group: Path | None,
    marker: str,
    merge_output: bool,
    alone: bool,
    enter: Sequence[str] = (),
) -> Process:
    """Only for ``Scope.start``, which owns the result. The caller holds signals back."""
    prelude = [
        *("/bin/sh", "-c", _PRELUDE, str(group) if group is not None else "", str(open_files()))
    ]
    setpriv = shutil.which("setpriv")
    dies_with_lab = [setpriv, "--pdeathsig", "KILL", "--"] if setpriv is not None else []
    before = os.sched_getaffinity(0)
    try:
        if cores:
            # The new process inherits the affinity, so no wrapper is needed to pin it.
            os.sched_setaffinity(0, cores)
        started_ns = time.monotonic_ns()
        popen = subprocess.Popen(
            # To enter a user namespace resets what the process dies with.
            [*prelude, *enter, *dies_with_lab, *argv],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge_output else subprocess.PIPE,
            start_new_session=True,
            preexec_fn=None if setpriv is not None else _die_with_parent,
        )
    finally:
        os.sched_setaffinity(0, before)
    if popen.stdout is None:
        raise RuntimeError("subprocess: expected a pipe for standard output, got none")
    return Process(
        name=name,
        argv=tuple(argv),
        pid=popen.pid,
        started_ns=started_ns,
        group=group,
        alone=alone,
        output=Tail(popen.stdout),
        errors=Tail(popen.stderr) if popen.stderr is not None else None,
        _popen=popen,
        _marker=marker,
    )


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def kill_all(find: Callable[[], set[int]], *, patience_s: float) -> None:
    """Send SIGKILL until ``find`` returns nothing: a process may fork between being found and being
    killed.
    """
    deadline = time.monotonic() + patience_s
    while True:
        found = find()
        if not found or time.monotonic() > deadline:
            return
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)
