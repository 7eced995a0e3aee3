"""Two revisions of a git repository, each built in a work tree of its own, which is removed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from wirebench.build.builder import STEP_TIMEOUT_S
from wirebench.build.supervise import StepTimeoutError, run_step
from wirebench.catalog.errors import CatalogError
from wirebench.process import interrupt
from wirebench.process.supervise import owner_id

_TAIL_LINES = 20
_OF_ONE_REPOSITORY = frozenset(
    {
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"),
        *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH"),
        *("GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_NAMESPACE"),
    }
)
"""Variables that git sets for its hooks. In another work tree they mean the wrong one: what is
staged in the user's own would be overwritten.
"""


@dataclass(frozen=True, kw_only=True)
class Revision:
    label: str
    """The name that was given, and the commit."""
    folder: Path
    """As the current folder, in its work tree."""
    commit: str = ""


class BuildError(Exception):
    """A revision could not be built; the message ends with the build's last lines."""


def split_range(text: str) -> tuple[str, str]:
    """``BASE..HEAD``; without a right side, HEAD."""
    base, dots, head = text.partition("..")
    if not dots or not base or head.startswith("."):
        raise CatalogError(f"--git: expected BASE..HEAD, got {text!r}")
    return base, head or "HEAD"


def has_changes(here: Path) -> bool:
    """Whether files of the repository that ``here`` is in differ from its last commit."""
    return bool(_git(here, "status", "--porcelain", "--untracked-files=no"))


@contextmanager
def worktrees(revisions: Sequence[str], *, here: Path) -> Iterator[tuple[Revision, ...]]:
    """A work tree for each revision of the repository that ``here`` is in, until the end of the
    block. ``CatalogError`` where there is no such repository or revision.
    """
    top = Path(_git(here, "rev-parse", "--show-toplevel"))
    inside = here.resolve().relative_to(top.resolve())
    commits = [
        _git(here, "rev-parse", "--verify", "--quiet", f"{one}^{{commit}}", what=one)
        for one in revisions
    ]
    # A lab that starts later removes it if this one is killed.
    parent = Path(tempfile.mkdtemp(prefix=f"wirebench-{owner_id()}."))
    added: list[Path] = []
    try:
        found = []
        for place, (name, commit) in enumerate(zip(revisions, commits, strict=True)):
            tree = parent / f"{'AB'[place]}"
            with interrupt.hold():
                _git(top, "worktree", "add", "--detach", "--quiet", str(tree), commit)
                added.append(tree)
            folder = tree / inside
            if not folder.is_dir():
                raise CatalogError(f"--git: {name} has no folder {inside}")
            found.append(Revision(label=f"{name} ({commit[:9]})", folder=folder, commit=commit))
        yield tuple(found)
    finally:
        with interrupt.hold():
            for tree in added:
                subprocess.run(
                    ["git", "-C", str(top), "worktree", "remove", "--force", str(tree)],
                    capture_output=True,
                    check=False,
                    env=_environment(),
                    start_new_session=True,  # a second Ctrl-C does not end it
                )
            shutil.rmtree(parent, ignore_errors=True)


def build(revision: Revision, command: str) -> None:
    """Run the build command in the revision's folder. ``BuildError`` if it fails. None of its
    processes is left at its end.
    """
    with tempfile.TemporaryFile() as log:
        try:
            with interrupt.waiting():
                status = run_step(
                    ["/bin/sh", "-c", command],
                    cwd=revision.folder,
                    env=_environment(),
                    log=log,
                    timeout_s=STEP_TIMEOUT_S,
                )
        except StepTimeoutError as error:
            raise BuildError(_failed(revision, command, str(error), log)) from None
        if status != 0:
            raise BuildError(_failed(revision, command, f"exited with {status}", log))


def _failed(revision: Revision, command: str, how: str, log: BinaryIO) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").splitlines()[-_TAIL_LINES:]
    return f"{revision.label}: {command!r} {how}; its last lines:\n" + "\n".join(lines)


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in _OF_ONE_REPOSITORY}


def _git(folder: Path, *words: str, what: str = "") -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            errors="surrogateescape",  # a path need be no UTF-8
            check=False,
            env=_environment(),
        )
    except FileNotFoundError:
        raise CatalogError("--git: expected the command git, got none in PATH") from None
    if done.returncode != 0:
        why = done.stderr.strip().removeprefix("fatal: ") or "no such revision"
        raise CatalogError(f"--git: {what + ': ' if what else ''}{why}")
    return done.stdout.strip()
