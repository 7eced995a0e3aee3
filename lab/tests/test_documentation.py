"""What the documentation says: commands that work in every shell, a whole list of needs and exit
codes, and a workflow that passes on what the gate says.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import textwrap
from pathlib import Path

import pytest

from wirebench.catalog.manifest import _Needs
from wirebench.cli.console import (
    EXIT_BUG,
    EXIT_CLOSED_PIPE,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
)
from wirebench.run.session import NOTHING_VALID

ROOT = Path(__file__).resolve().parents[2]
SHELL = re.compile(r"^ *```sh\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|#.*")
STEP = re.compile(r"^ +run: \|\n((?: {10}.*\n)+)", re.MULTILINE)
UNAVAILABLE = 69
"""``./wirebench`` itself, where Debian packages are missing."""


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


PAGES = [
    name
    for pattern in ("*.md", "docs/*.md", "wire*/**/*.md")
    for name in sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))
    if SHELL.search(read(name))
]


@pytest.mark.parametrize("page", PAGES)
def test_lines_for_the_shell_quote_their_globs(page: str) -> None:
    """zsh refuses a command with a glob that matches no file."""
    lines = "".join(SHELL.findall(read(page))).splitlines()
    assert [line for line in lines if "*" in QUOTED.sub("", line)] == []


def test_every_kind_of_need_is_in_the_manual() -> None:
    (example,) = re.findall(r"^needs +=.*$", read("CONTRIBUTING.md"), re.MULTILINE)
    assert [name for name in _Needs.model_fields if f"{name} = [" not in example] == []


def test_the_exit_codes_of_a_run_are_all_there() -> None:
    table = read("README.md").split("`run` and `quick` end with:\n\n")[1].split("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()]
    assert {int(code) for cell in cells for code in re.findall(r"\d+", cell)} == {
        EXIT_OK,
        EXIT_FAILED,
        NOTHING_VALID,
        EXIT_USAGE,
        UNAVAILABLE,
        EXIT_BUG,
        EXIT_INTERRUPTED,
        EXIT_CLOSED_PIPE,
        128 + signal.SIGTERM,
    }


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 1), (2, 0), (3, 3), (64, 64)])
def test_the_workflow_ends_as_the_gate_does(code: int, ends: int, tmp_path: Path) -> None:
    """But where it is not decided. After wrong usage there is no table."""
    (script,) = [one for one in STEP.findall(read("docs/ci/gate.yml")) if "wirebench gate" in one]
    gate = tmp_path / ".wirebench/wirebench"
    gate.parent.mkdir()
    table = "" if code == EXIT_USAGE else "echo table >gate.md"
    gate.write_text(f"#!/bin/sh\n{table}\nexit {code}\n")
    gate.chmod(0o755)
    summary = tmp_path / "summary"
    done = subprocess.run(
        ["bash", "-e", "-c", textwrap.dedent(script)],
        cwd=tmp_path,
        env={**os.environ, "BASE": "main", "GITHUB_STEP_SUMMARY": str(summary)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ends, done.stderr
    assert summary.exists() == bool(table)
