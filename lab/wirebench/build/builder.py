"""Build one contestant into its own folder below ``build/contestants/``. Nothing is written beside
its source.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shlex
import shutil
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

from wirebench.build.cache import build_key, source_digest
from wirebench.build.supervise import StepCancelledError, StepTimeoutError, run_step
from wirebench.catalog import CatalogError, Contestant, Role
from wirebench.host.commands import find_command, search_path
from wirebench.host.installed import presence

BuildStatus = Literal["ok", "not_installed", "failed", "disabled"]

LOG = "build.log"
STEP_TIMEOUT_S = 1800.0
_DONE = ".wirebench-built"
"""Names what was built: ``ALL``, or the only role."""
ALL = "all"
_TAIL_LINES = 40
_TAIL_BYTES = 8192


@dataclass(frozen=True, kw_only=True)
class BuildResult:
    contestant: Contestant
    status: BuildStatus
    folder: Path | None
    """Where it was built; None if it was not."""
    message: str = ""
    """Why it was not built, as shown to the user."""
    log_tail: str = ""
    """The end of the log of a failed build."""
    cached: bool = False
    seconds: float = 0.0


_LOCK_PAUSE_S = 0.2
"""Between two tries to take a lock that another process holds."""


def build(
    contestant: Contestant,
    root: Path,
    *,
    jobs: int,
    all_jobs: int | None = None,
    roles: Collection[Role] | None = None,
    cancelled: threading.Event | None = None,
) -> BuildResult:
    """Build a contestant, or find an earlier build from the same inputs.

    ``jobs``: what is its own of ``all_jobs`` (by default the same), those of the builds beside it.
    ``roles``: what it is needed for, None for everything. A contestant with both roles is built for
    one alone where its build steps can (``{target}``). ``cancelled``, set by another thread, ends
    it with ``StepCancelledError``.
    """
    if contestant.disabled is not None:
        since = contestant.disabled.since.isoformat()
        return _unbuilt(
            contestant, "disabled", f"disabled since {since}: {contestant.disabled.reason}"
        )
    found = presence(contestant)
    if not found.complete:
        return _unbuilt(contestant, "not_installed", found.describe(contestant))
    root = root.resolve()
    try:
        key = build_key(contestant, root, found)
    except OSError as error:
        message = f"{error.filename}: expected a readable file, got {error.strerror}"
        return _unbuilt(contestant, "failed", message)
    folder = builds_folder(contestant, root) / f"{contestant.name}-{key}"
    target = target_of(contestant, roles)
    if _holds(folder, target):
        return BuildResult(contestant=contestant, status="ok", folder=folder, cached=True)
    began = time.monotonic()
    with _locked(folder, cancelled):
        if _holds(folder, target):
            return BuildResult(contestant=contestant, status="ok", folder=folder, cached=True)
        if _built(folder):
            target = ALL  # what is missing, beside what another run may be using
        else:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        message = _run_steps(
            contestant,
            root,
            folder,
            jobs=jobs,
            all_jobs=all_jobs,
            target=target,
            cancelled=cancelled,
        )
        if not message:
            (folder / _DONE).write_text(target, encoding="utf-8")
            _remove_older(folder)
    seconds = time.monotonic() - began
    if message:
        return BuildResult(
            contestant=contestant,
            status="failed",
            folder=None,
            message=f"{message}; log: {_relative(folder / LOG, root)}",
            log_tail=_tail(folder / LOG),
            seconds=seconds,
        )
    return BuildResult(contestant=contestant, status="ok", folder=folder, seconds=seconds)


def target_of(contestant: Contestant, roles: Collection[Role] | None) -> str:
    """``ALL``, or the only role that is to be built."""
    by_role = any("{target}" in word for step in contestant.build_steps for word in step)
    if roles is None or not by_role or contestant.roles <= set(roles):
        return ALL
    (role,) = contestant.roles & set(roles)
    return role


def _holds(folder: Path, target: str) -> bool:
    """Whether the folder has what is wanted."""
    return _built(folder) in (ALL, target)


def _built(folder: Path) -> str:
    """``ALL``, the only role that was built there, or nothing. A mark without a word in it, such as
    a full disk leaves, is none.
    """
    try:
        return (folder / _DONE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def builds_folder(contestant: Contestant, root: Path) -> Path:
    return root / "build" / "contestants" / contestant.language


def resolve_command(contestant: Contestant, build_folder: Path, role: Role) -> list[str]:
    """The command that starts a contestant, with placeholders filled."""
    command = contestant.command(role)
    if command is None:
        offers = ", ".join([*contestant.serves, *contestant.calls])
        raise CatalogError(
            f"{contestant.identity}: expected a {role}, got a contestant for {offers} only"
        )
    argv = fill(command, contestant, build_folder, contestant.folder.parents[2], jobs=1)
    # A server starts with the user's PATH: where the build preferred another toolchain to what is
    # there, the server runs with that one too.
    at = _program_at(argv)
    preferred = find_command(argv[at]) if os.sep not in argv[at] else None
    if preferred is not None and preferred != shutil.which(argv[at]):
        argv[at] = preferred
    return argv


def _program_at(argv: Sequence[str]) -> int:
    """Where its program stands: behind variables that env(1) sets for it."""
    at = 0
    if argv[0] == "env":
        at = next((i for i, word in enumerate(argv) if i and "=" not in word), 0)
    return at


def fill(
    command: Sequence[str],
    contestant: Contestant,
    build_folder: Path,
    root: Path,
    *,
    jobs: int,
    all_jobs: int | None = None,
    target: str = ALL,
) -> list[str]:
    """Fill the placeholders of a command."""
    values = {
        "target": target,
        "source": str(contestant.folder),
        "build": str(build_folder),
        "root": str(root),
        "jobs": str(jobs),
        "all_jobs": str(all_jobs or jobs),
    }
    known = re.compile(r"\{(" + "|".join(values) + r")\}")
    return [known.sub(lambda match: values[match[1]], word) for word in command]


def _unbuilt(contestant: Contestant, status: BuildStatus, message: str) -> BuildResult:
    return BuildResult(contestant=contestant, status=status, folder=None, message=message)


def _run_steps(
    contestant: Contestant,
    root: Path,
    folder: Path,
    *,
    jobs: int,
    all_jobs: int | None,
    target: str,
    cancelled: threading.Event | None,
) -> str:
    """Returns the error message; empty if all steps succeeded."""
    env = build_environment(root)
    before = source_digest(contestant, root)
    steps = [
        fill(step, contestant, folder, root, jobs=jobs, all_jobs=all_jobs, target=target)
        for step in contestant.build_steps
    ]
    with (folder / LOG).open("ab", buffering=0) as log:
        for number, argv in enumerate(steps, start=1):
            shown = _shorten(shlex.join(argv), root)
            log.write(f"$ {shlex.join(argv)}\n".encode())
            where = f"step {number} of {len(steps)}, {shown}"
            if shutil.which(argv[0], path=env["PATH"]) is None and not (folder / argv[0]).exists():
                return f"{where}: expected the program {argv[0]}, got none in PATH"
            try:
                status = run_step(
                    argv,
                    cwd=folder,
                    env=env,
                    log=log,
                    timeout_s=STEP_TIMEOUT_S,
                    cancelled=cancelled,
                )
            except StepTimeoutError as error:
                return f"{where}: {error}"
            if status != 0:
                return f"{where}: {_describe_status(status)}"
    if source_digest(contestant, root) != before:
        return "its sources changed during the build (a build may write to {build} only)"
    return ""


def build_environment(root: Path) -> dict[str, str]:
    """The user's environment without the variables that change builds."""
    dropped = ("MAKEFLAGS", "MFLAGS", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
    env = {
        key: value
        for key, value in os.environ.items()
        if key not in dropped and not key.startswith("WIREBENCH_")
    }
    env["PATH"] = search_path()
    # In a virtual environment pip refuses `user = true`, which some have in their pip.conf.
    env["PIP_USER"] = "0"
    # Crates that several contestants use are compiled once (Cargo 1.91 and later). As with the
    # caches that Go and ccache have, `{build}` gets only what is made from them.
    env.setdefault("CARGO_BUILD_BUILD_DIR", str(root / "build" / "cargo"))
    if not env.get("HOME"):
        # Package managers keep their caches below HOME and some refuse to work without.
        home = root / "build" / "home"
        home.mkdir(parents=True, exist_ok=True)
        env["HOME"] = str(home)
    return env


@contextlib.contextmanager
def _locked(folder: Path, cancelled: threading.Event | None) -> Iterator[None]:
    """Allow one build of a contestant at a time, across processes. The lock is released when its
    holder exits. ``cancelled`` ends the wait for it with ``StepCancelledError``.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    name = folder.name.rpartition("-")[0]
    with (folder.parent / f".{name}.lock").open("w") as lock:
        if cancelled is None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        else:
            while not _try_to_lock(lock):
                if cancelled.wait(_LOCK_PAUSE_S):
                    raise StepCancelledError("cancelled")
        yield


def _try_to_lock(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_older(folder: Path) -> None:
    """Keep the newest other build, which a run in progress may use, and remove the older ones."""
    name = folder.name.rpartition("-")[0]
    pattern = re.compile(re.escape(name) + r"-[0-9a-f]{12}")
    others = [
        path for path in folder.parent.iterdir() if path != folder and pattern.fullmatch(path.name)
    ]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[1:]:
        shutil.rmtree(path, ignore_errors=True)


def _describe_status(status: int) -> str:
    return f"exited with {status}" if status >= 0 else f"was killed by signal {-status}"


def _shorten(text: str, root: Path) -> str:
    return text.replace(f"{root}/", "")


def _relative(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _tail(log: Path) -> str:
    try:
        content = log.read_bytes()
    except OSError:
        return ""
    text = content[-_TAIL_BYTES:].decode(errors="replace")
    return "\n".join(text.splitlines()[-_TAIL_LINES:])
