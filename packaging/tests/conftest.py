"""The packages that ``packaging/release.py`` built, in the folder that WIREBENCH_DIST names, and
empty environments to install them into.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest


def run(
    command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> str:
    """What a command printed; fails the test if the command failed. ``env``: instead of ours."""
    answer = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        cwd=cwd if cwd is not None else "/",
        env=env,
        check=False,
    )
    assert answer.returncode == 0, f"{command}: {answer.returncode}\n{answer.stdout}{answer.stderr}"
    return answer.stdout


class Dist:
    """The built packages."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def one(self, pattern: str) -> Path:
        """The only package of this name."""
        (found,) = self._folder.glob(pattern)
        return found


@pytest.fixture(scope="session")
def dist() -> Dist:
    return Dist(Path(os.environ["WIREBENCH_DIST"]))


def install(wheel: Path, folder: Path) -> Path:
    """Makes an environment in ``folder`` with the wheel and nothing else; returns its ``bin``."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run([sys.executable, "-m", "venv", "--without-pip", folder])
    run(
        [*pip, "--python", folder / "bin" / "python", "install", "--no-deps", "--no-compile", wheel]
    )
    return folder / "bin"
