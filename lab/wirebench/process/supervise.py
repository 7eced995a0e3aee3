"""Everything the lab starts goes through here, and nothing of it outlives the lab.

A ``Supervisor`` lives as long as a run. It gives out ``Scope``s, one for each trial or check: a
scratch folder and a set of processes that are all gone when the scope ends, however it ends. Each
process is the leader of a session of its own, is pinned to cores, dies with the lab
(PR_SET_PDEATHSIG) and is, where the host allows it, in a cgroup of its own.

After SIGKILL of the lab itself the kernel kills what the lab started. What those had started, the
cgroups and the scratch folders are removed when the next ``Supervisor`` begins: all of them carry
the id of their owner, and one whose owner is gone is stale.
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
"""In the environment of everything the lab starts: which lab it belongs to."""
PROCESS = "WIREBENCH_PROCESS"
"""Inherited by its children: whose tree they are of, also when their parents are gone."""
TMP = "WIREBENCH_TMP"

_PREFIX = "wirebench-"
_NAME = re.compile(r"wirebench-(\d+-\d+-\d+)(?:\.\w+)?")
_PR_SET_CHILD_SUBREAPER = 36  # prctl(2)


def owner_id() -> str:
    """This process, told from others that had or will have its id: pid namespace, pid, start time."""
    own = procfs.stat(os.getpid())
    if own is None:
        raise RuntimeError("/proc: expected a mounted procfs, got nothing about this process")
    return f"{_namespace()}-{own.pid}-{own.started_ticks}"


def _namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def owner_is_gone(owner: str) -> bool:
    """False also for owners in another pid namespace (a container that shares our /tmp): nothing is
    known of them.
    """
    namespace, pid, started = (int(part) for part in owner.split("-"))
    if namespace != _namespace():
        return False
    found = procfs.stat(pid)
    return found is None or found.started_ticks != started or found.state in "ZX"


class Supervisor:
    """Owns processes, scratch folders and cgroups. Use as a context manager, in the thread that
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
        """What labs that were killed had left behind and is now gone."""

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
    """One trial's processes and scratch folder. ``folder`` is ``WIREBENCH_TMP`` of all of them."""

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
    ) -> Process:
        """Start a process. ``env`` is added to this process's environment without its WIREBENCH_
        variables.
        """
        group = None
        number = len(self._processes)
        if self._group is not None:
            group = self._group / f"{number}-{name}"
            group.mkdir()
        marker = f"{self._name}.{number}"
        process = spawn(
            argv,
            name=name,
            cwd=cwd,
            env=self._environment(env, marker),
            cores=cores,
            group=group,
            marker=f"{PROCESS}={marker}",
            merge_output=merge_output,
        )
        self._processes.append(process)
        return process

    def _environment(self, env: Mapping[str, str], marker: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("WIREBENCH_")}
        own = {
            OWNER: self._owner,
            PROCESS: marker,
            TMP: str(self.folder),
            "TMPDIR": str(self.folder),
        }
        return {**kept, **own, **env}

    def stop(self) -> list[Process]:
        """End all processes, the last first. Those that did not end by SIGTERM alone."""
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
    """Orphans of what the lab started become its children, so that it can find and reap them."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0)


def sweep(scratch_parent: Path, group_parent: Path | None) -> tuple[str, ...]:
    """End and remove what killed labs left behind, and say what. Nothing whose owner lives or is
    not known is touched.
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
