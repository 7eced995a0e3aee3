"""The wheel that pip builds: the lab, its templates and the native programs, at work in an
environment of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str, **environment: str) -> str:
    answer = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd="/",
        env={**os.environ, **environment},
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@pytest.mark.long
def test_the_wheel_brings_command_programs_and_templates(tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    # It shares its build folder with ./wirebench, so that nothing is compiled twice.
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("wirebench_lab-*.whl")
    python = tmp_path / "venv/bin/python"
    run(sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv"))
    run(*pip, "--python", str(python), "install", "--no-deps", str(wheel))
    # The libraries it needs are those of the environment that runs this test; what it brings comes
    # first.
    libraries = sysconfig.get_path("purelib")
    where = run(
        str(python), "-c", "import wirebench; print(wirebench.__file__)", PYTHONPATH=libraries
    ).strip()
    assert where.startswith(str(tmp_path / "venv"))
    assert run(str(python.parent / "wirebench"), "--version", PYTHONPATH=libraries).startswith(
        "wirebench "
    )
    others = subprocess.run(
        [python.parent / "wirebench", "selftest", "--peers"],
        capture_output=True,
        text=True,
        cwd="/",
        env={**os.environ, "PYTHONPATH": libraries},
        check=False,
    )
    assert others.returncode == 64
    assert "--peers: expected a checkout of wirebench" in others.stderr
    assert [path.name for path in Path(where).parents[1].glob("*/peers.py")] == []
    for program in ("wireload", "wirelink", "truth_server"):
        assert program in run(str(python.parent / program), "--help")
    page = (tmp_path / "venv/share/man/man1/wireload.1").read_text(encoding="utf-8")
    assert page.startswith('.\\" Made by: wireload --manual\n.TH WIRELOAD 1')
    templates = {
        path.relative_to(ROOT / "lab") for path in (ROOT / "lab/wirebench").rglob("template/*")
    }
    assert [str(path) for path in templates if not (Path(where).parents[1] / path).is_file()] == []
