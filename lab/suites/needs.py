"""What the suites need on this machine, installed or built where that may be done."""

from __future__ import annotations

import sys
import tomllib

from bootstrap import CONSTRAINTS, MISSING, PROGRAMS, ROOT
from suites.commands import DEV_PROGRAMS, build, run, tool
from wirebench.host.debian import has_dpkg, install, install_line, installed_versions, is_root

PACKAGES = (
    "libgtest-dev",
    "libbenchmark-dev",
    "libhttp-parser-dev",
    "libwslay-dev",
    "gnutls-bin",
    "libnss3-tools",
    "microsocks",
    "doxygen",
    "nginx-light",
    "chromium",
    "groff-base",
    "zsh",
    "fish",
)
"""Debian packages that tests need beyond what the core does."""


def install_needs() -> None:
    """Debian packages and the development packages of pyproject.toml."""
    if has_dpkg():
        missing = [
            name for name, version in installed_versions(PACKAGES).items() if version is None
        ]
        if missing and not is_root():
            print(
                f"tests need these Debian packages; install them with:\n  {install_line(missing)}",
                file=sys.stderr,
            )
            sys.exit(MISSING)
        if missing:
            print(f"installing Debian packages: {' '.join(missing)}", flush=True)
            for name in install(missing):
                print(
                    f"apt-get could not install {name}: tests that need it are skipped or fail",
                    file=sys.stderr,
                )
    if install_extra("dev") != 0:
        sys.exit(MISSING)


def install_extra(name: str) -> int:
    """The optional dependencies of this name in pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["optional-dependencies"][name]
    options = ["--disable-pip-version-check", "install", "-q", "--no-user"]
    return tool("pip", *options, "-c", str(CONSTRAINTS), *wanted)


def build_dev_programs() -> bool:
    """The native programs that the tests of the lab use, before the rest of the preset dev, which
    is built while those tests run.
    """
    folder = DEV_PROGRAMS.parent
    install = ["cmake", "--install", "build/dev", "--prefix", str(folder), "--component"]
    return build("dev", *PROGRAMS) and all(run([*install, name]) == 0 for name in PROGRAMS)


def complete_environment() -> None:
    """Make what is missing of ``.venv``."""
    if run([str(ROOT / "wirebench"), "--version"]) != 0:
        sys.exit(MISSING)
