"""The Debian packages, unpacked into an empty root and used there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from conftest import Dist, run

CONSUMER = Path(__file__).resolve().parents[2] / "wire" / "tests" / "consumer"


def fields(package: Path) -> dict[str, str]:
    lines = run(["dpkg-deb", "--field", package]).splitlines()
    cut = [line.partition(":") for line in lines if not line.startswith(" ")]
    return {name: value.strip() for name, _, value in cut}


@pytest.mark.skipif(os.geteuid() != 0, reason="dpkg installs as root only")
def test_wireload_installs_into_an_empty_root(dist: Dist, tmp_path: Path) -> None:
    package = dist.one("wireload_*.deb")
    assert "Depends" not in fields(package)
    database = tmp_path / "var/lib/dpkg"
    (database / "updates").mkdir(parents=True)
    (database / "info").mkdir()
    (database / "status").touch()
    (database / "available").touch()
    run(["dpkg", f"--root={tmp_path}", "--force-script-chrootless", "--install", package])
    assert run(["chroot", tmp_path, "/usr/bin/wireload", "--version"]).startswith("wireload ")
    assert (tmp_path / "usr/share/man/man1/wireload.1.gz").is_file()
    assert (tmp_path / "usr/share/doc/wireload/copyright").is_file()


def test_programs_are_built_with_the_wire_that_it_installs(dist: Dist, tmp_path: Path) -> None:
    package = dist.one("libwire-dev_*.deb")
    assert "libssl-dev" in fields(package)["Depends"]
    run(["dpkg-deb", "--extract", package, tmp_path / "root"])
    prefix = tmp_path / "root" / "usr"
    (config,) = prefix.rglob("wire.pc")
    build = tmp_path / "build"
    env = {**os.environ, "PKG_CONFIG_PATH": str(config.parent), "CMAKE_GENERATOR": "Ninja"}
    run(["cmake", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"], env=env)
    run(["cmake", "--build", build], env=env)
    for program in ("by_package", "by_pkg_config"):
        run([build / program])


@pytest.mark.skipif(shutil.which("lintian") is None, reason="lintian is not installed")
@pytest.mark.parametrize("pattern", ["wireload_*.deb", "libwire-dev_*.deb"])
def test_lintian_finds_no_error(dist: Dist, pattern: str) -> None:
    # The project publishes no mail address.
    unknown = "bogus-mail-host,bogus-mail-host-in-debian-changelog"
    options = ["--fail-on", "error", "--allow-root", "--suppress-tags", unknown]
    assert "E: " not in run(["lintian", *options, dist.one(pattern)])
