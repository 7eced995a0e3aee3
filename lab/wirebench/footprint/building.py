"""How long a contestant takes to build from nothing, and again after a change to one file."""

from __future__ import annotations

import re
import resource
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, get_args

from wirebench.build.builder import STEP_TIMEOUT_S, build_environment, fill, target_of
from wirebench.build.supervise import StepTimeoutError, run_step
from wirebench.catalog.model import Contestant, Role
from wirebench.footprint.model import FootprintError

_CACHES = re.compile(r"CMAKE_\w+_COMPILER_LAUNCHER|CCACHE_.*|SCCACHE_.*")
"""What would answer from an earlier compilation."""
_NO_CACHES = {"CCACHE_DISABLE": "1", "RUSTC_WRAPPER": "", "RUSTC_WORKSPACE_WRAPPER": ""}
"""For those that stand in PATH as the compiler itself, or in a file of cargo's settings, which an
empty variable overrides (Cargo book, "Environment variables").
"""


@dataclass(frozen=True, kw_only=True)
class Spent:
    wall_ns: int
    cpu_ns: int


@dataclass(frozen=True, kw_only=True)
class Timed:
    clean: Spent
    again: Spent | None
    touched: str
    """The file that was changed; empty: nothing is compiled."""
    not_again: str = ""
    """Why ``again`` is None."""


def time_builds(
    contestant: Contestant,
    root: Path,
    *,
    role: Role,
    jobs: int,
    offline: Mapping[str, str],
    compiled: Sequence[str],
    folder: Path,
) -> Timed:
    """Build a copy of the contestant in a new folder below ``folder``, which is removed. Of one
    with both roles, only ``role`` is built, where its steps can.

    Nothing is downloaded, and no compiler cache helps. Errors: ``FootprintError``.
    """
    if not contestant.build_steps:
        raise FootprintError("nothing is built: its packages bring the program")
    environment = {
        name: value
        for name, value in (build_environment(root) | dict(offline)).items()
        if _CACHES.fullmatch(name) is None
    } | _NO_CACHES
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="clean-", dir=folder) as scratch:
        # As deep as the contestant itself, for sources that name files above them.
        source = Path(scratch) / "source" / contestant.folder.parent.name / contestant.name
        shutil.copytree(contestant.folder, source, symlinks=True)
        copy = replace(contestant, folder=source)
        build = Path(scratch) / "build"
        build.mkdir()
        environment["CARGO_BUILD_BUILD_DIR"] = f"{scratch}/cargo"
        target = target_of(copy, [role])
        steps = [
            fill(step, copy, build, root, jobs=jobs, target=target) for step in copy.build_steps
        ]
        with (Path(scratch) / "log").open("w+b") as log:
            clean = _timed(steps, build, environment, log)
            touched = _largest(source, compiled, target=target)
            if touched is None:
                return Timed(clean=clean, again=None, touched="", not_again="nothing is compiled")
            changed = touched.relative_to(source).as_posix()
            with touched.open("a", encoding="utf-8") as file:
                file.write("\n// changed\n")
            try:
                again = _timed(steps[-1:], build, environment, log)
            except FootprintError as error:
                return Timed(clean=clean, again=None, touched=changed, not_again=str(error))
        return Timed(clean=clean, again=again, touched=changed)


def _timed(
    steps: Sequence[Sequence[str]], build: Path, environment: Mapping[str, str], log: BinaryIO
) -> Spent:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic_ns()
    for argv in steps:
        try:
            status = run_step(argv, cwd=build, env=environment, log=log, timeout_s=STEP_TIMEOUT_S)
        except StepTimeoutError as error:
            raise FootprintError(f"{argv[0]}: {error}") from error
        if status != 0:
            log.seek(0)
            lines = log.read().decode(errors="replace").strip().splitlines()
            said = f": {lines[-1][:200]}" if lines else ""
            raise FootprintError(f"a build without the network failed in {argv[0]}{said}")
    wall, after = time.monotonic_ns() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Spent(wall_ns=wall, cpu_ns=round(cpu * 1e9))


def _largest(source: Path, suffixes: Sequence[str], *, target: str) -> Path | None:
    """The largest source. ``target``: what is built of it; the program of the other role is none of
    that, and by convention its source, or the folder of its sources, has the role's name.
    """
    found = [path for path in source.rglob("*") if path.suffix in suffixes and path.is_file()]
    roles = set(get_args(Role))
    others = roles - {target} if target in roles else set()
    own = [
        path
        for path in found
        if others.isdisjoint(Path(part).stem for part in path.relative_to(source).parts)
    ]
    return max(own or found, key=lambda one: (one.stat().st_size, one.as_posix()), default=None)
