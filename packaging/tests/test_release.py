"""What holds for a release as a whole: checksums, the bill of materials, the same bytes again."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import sbom

from conftest import Dist, run

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "cmake", "wire", "wireload", "wirelink")


def test_every_file_has_its_checksum(dist: Dist) -> None:
    sums = dist.one("SHA256SUMS")
    run(["sha256sum", "--check", "--strict", sums.name], cwd=sums.parent)
    listed = {line.split("  ")[1] for line in sums.read_text(encoding="utf-8").splitlines()}
    assert listed == {path.name for path in sums.parent.iterdir()} - {sums.name}


def test_the_bill_of_materials_names_what_each_file_holds(dist: Dist) -> None:
    document = json.loads(dist.one("wirebench-*.spdx.json").read_text(encoding="utf-8"))
    packages = {one["SPDXID"]: one for one in document["packages"]}
    held: dict[str, set[str]] = {}
    for one in document["relationships"]:
        if one["relationshipType"] == "CONTAINS":
            library = packages[one["relatedSpdxElement"]]
            held.setdefault(packages[one["spdxElementId"]]["name"], set()).add(library["name"])
            assert library["versionInfo"]
            assert library["licenseDeclared"]
    program = dist.one("wireload-*.tar.gz").name
    assert {"libssl-dev", "zlib1g-dev", "libre2-dev", "libc6-dev", "libfmt-dev"} <= held[program]
    assert "rapidjson-dev" not in held[program]
    assert "rapidjson-dev" in held[dist.one("wirebench_lab-*.whl").name]
    assert "libcli11-dev" not in held[dist.one("libwire-dev_*.deb").name]
    names = {path.name for path in dist.one("SHA256SUMS").parent.iterdir()}
    described = {one["name"] for one in packages.values() if "packageFileName" in one}
    assert described == {name for name in names if name.endswith((".whl", ".deb", ".gz"))}


def test_the_runtime_of_every_gcc_has_its_licence() -> None:
    exception = "GPL-3.0-or-later WITH GCC-exception-3.1"
    for package in ("libgcc-12-dev", "libstdc++-12-dev", "libgcc-14-dev", "libstdc++-13-dev"):
        assert sbom.licence_of(package) == exception
    assert sbom.licence_of("zlib1g-dev") == "Zlib"
    assert sbom.licence_of("libstdc++-dev") is None


def test_without_git_it_takes_the_time_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    command = [sys.executable, str(ROOT / "packaging/release.py"), "--out", str(tmp_path)]
    env = {**os.environ, "PATH": "/no/such/folder", "SOURCE_DATE_EPOCH": "1"}
    answer = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert "got one with notes.txt" in answer.stderr, "it got as far as the folder"


def test_a_folder_with_other_files_is_refused_and_keeps_them(tmp_path: Path) -> None:
    names = ("SHA256SUMS", "wireload-0.0.9-linux-x86_64.tar.gz", "notes.txt")
    for name in names:
        (tmp_path / name).touch()
    command = [sys.executable, str(ROOT / "packaging/release.py"), "--out", str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert "expected a folder of releases alone, got one with notes.txt" in answer.stderr
    assert {path.name for path in tmp_path.iterdir()} == set(names)


def test_a_program_has_the_same_bytes_wherever_it_is_built(tmp_path: Path) -> None:
    digests = set()
    for name in ("here", "a longer name/elsewhere"):
        source = tmp_path / name
        source.mkdir(parents=True)
        for part in NATIVE:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, source / part)
        run(["cmake", "--preset", "static", "-G", "Ninja"], cwd=source)
        run(["cmake", "--build", "--preset", "static", "--target", "wirelink"], cwd=source)
        built = source / "build" / "static" / "wirelink" / "wirelink"
        assert str(tmp_path).encode() not in built.read_bytes()
        digests.add(hashlib.sha256(built.read_bytes()).hexdigest())
    assert len(digests) == 1
