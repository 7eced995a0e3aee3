"""The recipes of wire for other package managers, under ``packaging/``."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PORT = ROOT / "packaging/vcpkg/wire"
LIBRARIES = {"tls", "zlib", "brotli", "zstd"}
CONAN = Path(sys.executable).with_name("conan")


def version() -> str:
    text = (ROOT / "wire/CMakeLists.txt").read_text(encoding="utf-8")
    found = re.search(r"^project\(wire VERSION (\S+)", text, re.MULTILINE)
    assert found
    return found[1]


def test_the_port_has_the_version_and_the_options_of_the_sources() -> None:
    port = json.loads((PORT / "vcpkg.json").read_text(encoding="utf-8"))
    assert port["version"] == version()
    assert set(port["features"]) == LIBRARIES
    chosen = dict(
        re.findall(
            r"^ +([a-z]+) (WIRE_WITH_\w+)\b",
            (PORT / "portfile.cmake").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    )
    options = re.findall(
        r"^option\((WIRE_WITH_\w+)",
        (ROOT / "wire/CMakeLists.txt").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert {name: f"WIRE_WITH_{name.upper()}" for name in port["features"]} == chosen
    assert sorted(chosen.values()) == sorted(options)


def conan(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [CONAN, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "CONAN_HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
    )


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_conan_makes_a_package_that_programs_find(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert conan(home, "profile", "detect").returncode == 0
    # Its own program of wire's tests is built and run by find_package and by pkg-config.
    answer = conan(
        home,
        "create",
        "packaging/conan",
        "--no-remote",
        "--settings=compiler.cppstd=20",
        f"--conf=tools.cmake.cmake_layout:test_folder={tmp_path / 'consumer'}",
        "--conf=tools.cmake.cmaketoolchain:extra_variables={'CMAKE_UNITY_BUILD': 'ON'}",
    )
    said = answer.stdout + answer.stderr
    assert answer.returncode == 0, said[-4000:]
    assert f"wire/{version()} (test package): RUN: ./by_package" in said
    assert f"wire/{version()} (test package): RUN: ./by_pkg_config" in said
    found = conan(home, "list", f"wire/{version()}:*", "--format=json")
    (package,) = (
        package
        for revision in json.loads(found.stdout)["Local Cache"][f"wire/{version()}"][
            "revisions"
        ].values()
        for package in revision["packages"].values()
    )
    assert {name: package["info"]["options"][name] for name in LIBRARIES} == {
        "tls": "True",
        "zlib": "True",
        "brotli": "False",
        "zstd": "False",
    }


def test_conan_refuses_an_older_standard(tmp_path: Path) -> None:
    assert conan(tmp_path, "profile", "detect").returncode == 0
    answer = conan(
        tmp_path, "create", "packaging/conan", "--no-remote", "--settings=compiler.cppstd=17"
    )
    assert answer.returncode != 0
    assert "Current cppstd (17) is lower than the required C++ standard (20)" in answer.stderr
