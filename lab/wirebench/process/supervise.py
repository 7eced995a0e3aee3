"""The lab starts every process here, and ends it.

A ``Supervisor`` lives as long as a run. It opens a ``Scope`` for each trial or check: a scratch
folder and a set of processes. All are gone when the scope ends, however it ends. Each process leads
its own session, is pinned to cores, dies with the lab (PR_SET_PDEATHSIG) and has its own cgroup
where the host allows it. Without a cgroup, processes of another user stay, and so do daemons that
have cleared their environment and left their session and parents before they were seen.

If the lab itself gets SIGKILL, the kernel kills the processes it started. Their descendants, the
cgroups and the scratch folders are removed when the next ``Supervisor`` starts: each carries the id
of its owner, and is stale once that owner is gone.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from wirebench.process import cgroup, interrupt, procfs
from wirebench.process.process import Process, spawn

OWNER = "WIREBENCH_OWNER"
"""The lab that owns a process; set in the environment of every process it starts."""
PROCESS = "WIREBENCH_PROCESS"
"""The tree that a process belongs to. Its children inherit it and keep it when their parents are
gone.
"""
TMP = "WIREBENCH_TMP"

_PREFIX = "wirebench-"
_NAME = re.compile(r"wirebench-(\d+-\d+-\d+)(?:\.\w+)?")
_PR_SET_CHILD_SUBREAPER = 36  # prctl(2)


def owner_id() -> str:
    """An id of this process that is never reused: pid namespace, pid and start time."""
    own = procfs.stat(os.getpid())
    if own is None:
        raise RuntimeError("/proc: expected a mounted procfs, got nothing about this process")
    return f"{_namespace()}-{own.pid}-{own.started_ticks}"


def _namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def owner_is_gone(owner: str) -> bool:
    """Whether the owner has exited. False for owners in another pid namespace (a container that
    shares our /tmp), which cannot be seen.
    """
    namespace, pid, started = (int(part) for part in owner.split("-"))
    if namespace != _namespace():
        return False
    found = procfs.stat(pid)
    return found is None or found.started_ticks != started or found.state in "ZX"


class Supervisor:
    """Owns processes, scratch folders and cgroups. Use it as a context manager, in the thread that
    starts the processes.
    """

    def __init__(self, *, scratch_parent: Path | None = None) -> None:
        self.owner = owner_id()
        self._scratch_parent = scratch_parent or Path(tempfile.gettempdir())
        self._scratch: Path | None = None
        self._group: Path | None = None
        self._scopes: list[Scope] = []
        self._count = 0
        self.swept: tuple[str, ...] = ()
        """What killed labs had left behind, now removed."""

    def __enter__(self) -> Supervisor:
        try:
            with interrupt.hold():
                parent = cgroup.parent_folder()
                self.swept = sweep(self._scratch_parent, parent)
                _become_subreaper(True)
                self._scratch = Path(
                    tempfile.mkdtemp(prefix=f"{_PREFIX}{self.owner}.", dir=self._scratch_parent)
                )
                if parent is not None:
                    self._group = parent / self._scratch.name
                    self._group.mkdir()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def entered(self) -> bool:
        return self._scratch is not None

    @property
    def uses_cgroups(self) -> bool:
        return self._group is not None

    @contextmanager
    def scope(self) -> Iterator[Scope]:
        with interrupt.hold():
            scope = self._open_scope()
            try:
                yield scope
            finally:
                scope.close()
                with suppress(ValueError):  # the supervisor may have ended first
                    self._scopes.remove(scope)

    def _open_scope(self) -> Scope:
        if self._scratch is None:
            raise RuntimeError("Supervisor: expected to be entered before a scope is opened")
        self._count += 1
        folder = self._scratch / str(self._count)
        folder.mkdir()
        group = None
        if self._group is not None:
            group = self._group / str(self._count)
            group.mkdir()
        scope = Scope(
            owner=self.owner, name=f"{self.owner}.{self._count}", folder=folder, group=group
        )
        self._scopes.append(scope)
        return scope

    def close(self) -> None:
        with interrupt.hold():
            for scope in self._scopes:
                scope.close()
            self._scopes.clear()
            if self._group is not None:
                cgroup.remove(self._group)
                self._group = None
            if self._scratch is not None:
                shutil.rmtree(self._scratch, ignore_errors=True)
                self._scratch = None
            _become_subreaper(False)


class Scope:
    """The processes and the scratch folder of one trial or check. ``folder`` is their
    ``WIREBENCH_TMP``.
    """

    def __init__(self, *, owner: str, name: str, folder: Path, group: Path | None) -> None:
        self.folder = folder
        self._owner = owner
        self._name = name
        self._group = group
        self._processes: list[Process] = []

    def start(
        self,
        argv: Sequence[str],
        *,
        name: str,
        cwd: Path,
        env: Mapping[str, str],
        cores: Sequence[int] = (),
        merge_output: bool = True,
        alone: bool = False,
        enter: Sequence[str] = (),
        proxies: bool = True,
    ) -> Process:
        """Start a process. ``env`` is added to this process's environment without its WIREBENCH_
        variables. ``alone``: the program starts no processes of its own, and needs no cgroup; to
        enter one takes 10 ms. ``enter``: a command before it that enters other namespaces.
        ``proxies``: whether it gets the variables that name proxies, such as ``http_proxy``.
        """
        group = None
        number = len(self._processes)
        if self._group is not None and not alone:
            group = self._group / f"{number}-{name}"
            group.mkdir()
        marker = f"{self._name}.{number}"
        process = spawn(
            argv,
            name=name,
            cwd=cwd,
            env=self._environment(env, marker, proxies=proxies),
            cores=cores,
            group=group,
            marker=f"{PROCESS}={marker}",
            merge_output=merge_output,
            alone=alone,
            enter=enter,
        )
        self._processes.append(process)
        return process

    def _environment(self, env: Mapping[str, str], marker: str, *, proxies: bool) -> dict[str, str]:
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith("WIREBENCH_") and (proxies or not key.lower().endswith("_proxy"))
        }
        own = {
            OWNER: self._owner,
            PROCESS: marker,
            TMP: str(self.folder),
            "TMPDIR": str(self.folder),
        }
        return {**kept, **own, **env}

    def stop(self) -> list[Process]:
        """Stop all processes, the last one first. Returns those that SIGTERM alone did not end."""
        with interrupt.hold():
            return [process for process in reversed(self._processes) if not process.stop()]

    def close(self) -> None:
        with interrupt.hold():
            self.stop()
            if self._group is not None:
                cgroup.kill(self._group)
                cgroup.remove(self._group)
            self._processes.clear()
            shutil.rmtree(self.folder, ignore_errors=True)


def _become_subreaper(on: bool) -> None:
    """Orphaned descendants become children of the lab, so that it can find and reap them."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0)


def sweep(scratch_parent: Path, group_parent: Path | None) -> tuple[str, ...]:
    """Remove what killed labs left behind, and report it. Leave alone whatever has a living or
    unknown owner.
    """
    said = []
    for pid in procfs.pids():
        owner = procfs.environment_value(pid, OWNER)
        if owner is not None and re.fullmatch(r"\d+-\d+-\d+", owner) and owner_is_gone(owner):
            name = procfs.command_line(pid)
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                said.append(f"process {pid} ({name})")
    for folder in _stale(group_parent) if group_parent is not None else ():
        cgroup.kill(folder)
        if cgroup.remove(folder):
            said.append(f"cgroup {folder}")
    for folder in _stale(scratch_parent):
        shutil.rmtree(folder, ignore_errors=True)
        said.append(f"folder {folder}")
    return tuple(said)


def _stale(parent: Path) -> Iterator[Path]:
    for folder in sorted(parent.glob(f"{_PREFIX}*")):
        match = _NAME.fullmatch(folder.name)
        with suppress(OSError):
            if (
                match
                and folder.lstat().st_uid == os.geteuid()
                and not folder.is_symlink()
                and owner_is_gone(match[1])
            ):
                yield folder
