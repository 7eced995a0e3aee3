#!/usr/bin/env python3
"""Builds what a release publishes, into dist/: the wheels of the lab and of wireload, wireload as
a static program, and Debian packages of wireload and wire. Run by .venv/bin/python, on Debian or
Ubuntu; each machine builds for its own architecture. Two runs on one commit give the same bytes,
wherever the checkout lies.

Exit codes: 0 all built, 1 a command failed or a version differs.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

import sbom

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "build" / "static"
# Static programs need no libc of the machine; this is the oldest tag that all pips of today know.
MANYLINUX = "manylinux2014"
PUBLISHED = (
    "wirebench_lab-*.whl",
    "wireload-*.whl",
    "wireload-*.tar.gz",
    "wireload_*.deb",
    "libwire-dev_*.deb",
    "wirebench-*.spdx.json",
    "SHA256SUMS",
)
VERSIONS = {
    "packaging/wireload/pyproject.toml": r'^version = "(.+)"$',
    "packaging/vcpkg/wire/vcpkg.json": r'^  "version": "(.+)",$',
    "lab/wirebench/__init__.py": r'^__version__ = "(.+)"$',
    "CMakeLists.txt": r"^project\(wirebench VERSION (\S+)",
    "wire/CMakeLists.txt": r"^project\(wire VERSION (\S+)",
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Build what a release publishes.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder (%(default)s)")
    out = parser.parse_args().out.resolve()
    version = common_version()
    if "SOURCE_DATE_EPOCH" not in os.environ:
        os.environ["SOURCE_DATE_EPOCH"] = last_commit()
    clear(out)
    wheel(ROOT, out, "-C", f"build-dir={STATIC}", "-C", "cmake.args=--preset;static;-G;Ninja")
    wheel(ROOT / "packaging" / "wireload", out)
    configure()
    archive(out / f"wireload-{version}-linux-{os.uname().machine}.tar.gz")
    debian(out)
    write_sbom(out, version)
    write_sums(out)
    for file in sorted(out.iterdir()):
        print(f"{file.stat().st_size:12,}  {file.name}")
    return 0


def common_version() -> str:
    """The version that all parts have; ends the program where they differ."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted: str = tomllib.load(file)["project"]["version"]
    for name, pattern in VERSIONS.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        found = re.search(pattern, text, re.MULTILINE)
        if found is None or found[1] != wanted:
            got = found[1] if found else "none"
            sys.exit(f"{name}: expected version {wanted}, as in pyproject.toml, got {got}")
    return wanted


def clear(out: Path) -> None:
    """Removes an earlier release from the folder; ends the program where it holds anything else."""
    out.mkdir(parents=True, exist_ok=True)
    old = {file for pattern in PUBLISHED for file in out.glob(pattern)}
    others = sorted(path.name for path in out.iterdir() if path not in old)
    if others:
        sys.exit(f"{out}: expected a folder of releases alone, got one with {others[0]}")
    for file in old:
        file.unlink()


def last_commit() -> str:
    """The time of the last commit, which stands for the time of the build."""
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def wheel(source: Path, out: Path, *settings: str) -> None:
    """Builds a wheel from ``source`` with a static build, under the tag that it earns."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as scratch:
        flags = ["--no-deps", "--no-build-isolation", "--wheel-dir", scratch]
        run([*pip, "wheel", "-q", *flags, *settings, str(source)])
        (built,) = Path(scratch).iterdir()
        tag = f"{MANYLINUX}_{os.uname().machine}"
        run([sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", tag, str(built)])
        (tagged,) = Path(scratch).iterdir()
        shutil.move(tagged, out)


def configure() -> None:
    """The static build as CMake installs it. What pip left there, when it made wheels, is about its
    own folders.
    """
    clean = ["-U", "SKBUILD*", "-D", "CMAKE_INSTALL_BINDIR=bin"]
    run(["cmake", "--preset", "static", "-G", "Ninja", *clean])
    run(["cmake", "--build", "--preset", "static", "--target", "wireload", "wire"])


def debian(out: Path) -> None:
    """The packages ``wireload`` and ``libwire-dev``."""
    with tempfile.TemporaryDirectory() as scratch:
        run(["cpack", "--config", str(STATIC / "CPackConfig.cmake"), "-B", scratch])
        for package in Path(scratch).glob("*.deb"):
            shutil.move(package, out)


def archive(file: Path) -> None:
    """The program with its manual page, completion and licences, in one folder."""
    name = file.name.removesuffix(".tar.gz")
    with tempfile.TemporaryDirectory() as scratch:
        prefix = str(Path(scratch, name))
        run(
            [
                "cmake",
                "--install",
                str(STATIC),
                "--component",
                "wireload",
                "--strip",
                "--prefix",
                prefix,
            ]
        )
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as writer:
            for path in sorted(Path(scratch).rglob("*")):
                writer.add(path, path.relative_to(scratch), recursive=False, filter=_anonymous)
    file.write_bytes(gzip.compress(tar.getvalue(), mtime=0))


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without what differs from build to build."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = int(os.environ["SOURCE_DATE_EPOCH"])
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


def write_sbom(out: Path, version: str) -> None:
    """The bill of materials: of the lab's wheel everything that was compiled, of the rest wireload
    or wire alone.
    """
    wire = sbom.packages_of(STATIC, ["wire/"])
    wireload = wire | sbom.packages_of(STATIC, ["wireload/CMakeFiles/wireload"])
    lab = wireload | sbom.packages_of(STATIC, ["wirelink/", "wireload/truth/"])
    for build in sorted((STATIC / "prebuilt").iterdir()):
        lab |= sbom.packages_of(
            build, ["CMakeFiles/server", "CMakeFiles/client.", "CMakeFiles/client_library"]
        )
    patterns = {"wirebench_lab-": lab, "wireload": wireload, "libwire-dev": wire}
    holds = {
        file: packages
        for start, packages in patterns.items()
        for file in out.iterdir()
        if file.name.startswith(start)
    }
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    try:
        sbom.write(out / f"wirebench-{version}.spdx.json", version, epoch, holds)
    except sbom.SbomError as error:
        sys.exit(str(error))


def write_sums(out: Path) -> None:
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
        for file in sorted(out.iterdir())
    ]
    (out / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def run(command: Sequence[str]) -> None:
    print(f"$ {' '.join(command)}", flush=True)
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    if status != 0:
        sys.exit(f"'{' '.join(command)}' exited with {status}")


if __name__ == "__main__":
    sys.exit(main())
