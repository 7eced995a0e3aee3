"""Builds a current OpenSSL for wire's tests, from the sources that the crate openssl-src carries.

``build.py FOLDER`` prints where it is installed, for CMake's ``OPENSSL_ROOT_DIR``. What was built
before stays until the version in Cargo.toml or the options here change. The first time takes some
two minutes on two cores. Exit code 69: Cargo, Perl or make is missing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

MISSING = 69
HERE = Path(__file__).resolve().parent
CRATE = "openssl-src"
# fmt: off
OPTIONS = (
    "-O1", "--libdir=lib",
    "no-shared", "no-tests", "no-docs", "no-apps", "no-module", "no-engine", "no-quic", "no-dtls",
    "no-ssl3", "no-tls1", "no-tls1_1", "no-legacy", "no-srp", "no-srtp", "no-ct", "no-cmp",
    "no-cms", "no-ts", "no-gost", "no-aria", "no-bf", "no-blake2", "no-camellia", "no-cast",
    "no-des", "no-dsa", "no-idea", "no-md4", "no-mdc2", "no-rc2", "no-rc4", "no-rmd160",
    "no-scrypt", "no-seed", "no-siphash", "no-siv", "no-slh-dsa", "no-lms", "no-sm2", "no-sm3",
    "no-sm4", "no-whirlpool", "no-ec2m",
)
# fmt: on
"""What is left out is used neither by wire nor by its peers, and would double the build's time."""


def main() -> int:
    if missing := [name for name in ("cargo", "perl", "make") if shutil.which(name) is None]:
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
        return MISSING
    version, sources = fetched()
    folder = Path(sys.argv[1]).resolve() / version
    installed = folder / "installed"
    done = folder / "done"
    options = " ".join(OPTIONS)
    if not done.exists() or done.read_text(encoding="utf-8") != options:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        prefix = f"--prefix={installed}"
        run(["perl", str(sources / "Configure"), prefix, *OPTIONS], folder)
        run(["make", f"-j{len(os.sched_getaffinity(0))}", "build_libs"], folder)
        run(["make", "install_dev"], folder)
        done.write_text(options, encoding="utf-8")
    print(installed)
    return 0


def fetched() -> tuple[str, Path]:
    """The crate's version, and OpenSSL's sources in it."""
    answer = subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version=1"],
        cwd=HERE,
        stdout=subprocess.PIPE,
        check=True,
    )
    packages = json.loads(answer.stdout)["packages"]
    (crate,) = (one for one in packages if one["name"] == CRATE)
    return crate["version"], Path(crate["manifest_path"]).parent / "openssl"


def run(command: list[str], folder: Path) -> None:
    with (folder / "log").open("a", encoding="utf-8") as log:
        subprocess.run(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, check=True)


if __name__ == "__main__":
    sys.exit(main())
