"""The lab's wheel, in an empty environment and without a compiler.

The libraries that it needs from PyPI are those of the environment that runs this test.
"""

from __future__ import annotations

import json
import os
import re
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest

from conftest import Dist, install, run

COMPILERS = re.compile(
    r".*(g\+\+|gcc|c\+\+|clang|cmake|ninja|cargo|rustc|javac|mvn|gradle).*|cc|c89|c99|go|as|ld.*|make"
)


class Lab:
    """An installed wirebench, the folder it may write to, and its environment without compilers."""

    def __init__(self, wheel: Path, scratch: Path) -> None:
        self.scratch = scratch
        self.programs = install(wheel, scratch / "venv")
        tools = scratch / "tools"
        tools.mkdir()
        for folder in os.environ["PATH"].split(os.pathsep):
            for program in Path(folder).glob("*"):
                link = tools / program.name
                if not COMPILERS.fullmatch(program.name) and not link.is_symlink():
                    link.symlink_to(program)
        here = scratch / "here"
        here.mkdir()
        self.data = scratch / "data"
        self.env = {
            "PATH": f"{self.programs}:{tools}",
            "HOME": str(scratch),
            "XDG_DATA_HOME": str(self.data),
            "PYTHONPATH": sysconfig.get_path("purelib"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def run(self, *words: str) -> str:
        return run([self.programs / "wirebench", *words], env=self.env, cwd=self.scratch / "here")

    def package(self) -> Mapping[str, float]:
        """The files of the installed package, with the times of their last changes."""
        (folder,) = self.programs.parent.glob("lib/python*/site-packages/wirebench")
        return {str(path): path.stat().st_mtime for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def lab(dist: Dist, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(dist.one("wirebench_lab-*.whl"), tmp_path_factory.mktemp("lab"))


def test_what_needs_no_compiler_can_run(lab: Lab) -> None:
    assert lab.run("--version").startswith("wirebench ")
    rows = {row["contestant"]: row for row in json.loads(lab.run("list", "--json"))}
    for name in ("cpp/floor", "cpp/wire", "cpp/wire-own-records"):
        assert rows[name]["status"] == "ready", rows[name]
    assert rows["cpp/boost-beast"]["status"] == "not_installed"
    assert "cmake" in rows["cpp/boost-beast"]["detail"]


def test_the_floor_and_wire_give_the_right_replies(lab: Lab) -> None:
    report = lab.scratch / "verify.jsonl"
    lab.run("verify", "cpp/floor", "cpp/wire", "cpp/wire-own-records", "--json", str(report))
    records = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    assert len(records) > 10
    assert [record for record in records if not record["passed"]] == []


def test_a_run_is_measured_and_nothing_is_written_beside_the_package(lab: Lab) -> None:
    before = lab.package()
    lab.run(
        "run",
        "concurrency",
        "--quick",
        "--blocks",
        "1",
        "--cells",
        "c50",
        "--only",
        "cpp/wire,floor",
    )
    trials = lab.data / "wirebench" / "results" / "latest" / "trials.jsonl"
    measured = {
        json.loads(line)["contestant"] for line in trials.read_text(encoding="utf-8").splitlines()
    }
    assert {"cpp/floor", "cpp/wire"} <= measured
    assert lab.package() == before
    assert list((lab.scratch / "here").iterdir()) == []
