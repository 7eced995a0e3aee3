"""How suites run other programs, and where the results are."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from bootstrap import ROOT, VENV, remove_if_refused

RESULTS = ROOT / "build" / "test-results"
DEV_PROGRAMS = ROOT / "build" / "dev" / "programs" / "bin"
"""The native programs as the tests of the lab use them."""
AGAIN_AT_MOST = 3
"""So many tests of a suite that failed beside others run again alone, and the second result counts.
On a machine that is shared with others, one in ten thousand loses a race that it does not lose
alone. It is named, and worth looking into: a race may be the product's.
"""


def run(command: Sequence[str], *, env: dict[str, str] | None = None) -> int:
    print(f"$ {' '.join(command)}", flush=True)
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **(env or {})}, check=False
    ).returncode


def cores() -> str:
    return str(len(os.sched_getaffinity(0)))


def tool(*arguments: str) -> int:
    return run([str(VENV / "bin" / "python"), "-m", *arguments])


def build(preset: str, *targets: str, options: Sequence[str] = ()) -> bool:
    """Builds these targets of a CMake preset. Whether it worked."""
    remove_if_refused(ROOT / "build" / preset)
    command = ["cmake", "--build", "--preset", preset, "-j", cores(), "--target", *targets]
    return configure("--preset", preset, *options) and run(command) == 0


def configure(*options: str) -> bool:
    """CMake's first step. Whether it worked."""
    return run(["cmake", *options], env={"CMAKE_GENERATOR": "Ninja"}) == 0
