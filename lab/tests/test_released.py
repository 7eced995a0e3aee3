"""Ages of versions and JSON libraries, by what package managers leave on a machine."""

from __future__ import annotations

import datetime
import gzip
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import MANIFEST, RUN, Project
from wirebench.host import released as module
from wirebench.host.released import age, json_library, released

TODAY = datetime.date(2026, 11, 23)
CHANGELOG = """libx (2:1.5.3+dfsg-2) unstable; urgency=medium

  * Again.

 -- A B <a@b.org>  Fri, 19 May 2023 09:24:56 +0200

libx (2:1.5.3+dfsg-1) unstable; urgency=medium

  * New upstream version (Closes: #1)

 -- A B <a@b.org>  Sat, 01 Aug 2020 09:24:56 +0200

libx (2:1.5.30-1) unstable; urgency=medium

 -- A B <a@b.org>  Sat, 01 Aug 2015 09:24:56 +0200
"""
VERSIONED = MANIFEST.replace('version = "1.0"', 'version = "1.5.3"')


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any package manager's data."""
    monkeypatch.setattr(module, "_DOC", tmp_path / "doc")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CARGO_HOME", "GOMODCACHE", "GOPATH"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_an_age_is_in_years(project: Project) -> None:
    project.add("node/mine", MANIFEST + "released = 2020-08-01\n" + RUN)
    assert age(project.contestant("node/mine"), TODAY) == "2020-08, 6.3 years"
    assert age(project.contestant("node/mine"), datetime.date(2020, 7, 31)) == "2020-08, 0.0 years"


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("Cargo.lock", "cargo's copy of its index has no date of it here"),
        ("package-lock.json", "npm keeps no date"),
        ("requirements.txt", "pip keeps no date"),
        ("pom.xml", "no package manager has a date of it here"),
    ],
)
def test_an_unknown_age_has_its_reason(project: Project, file: str, reason: str) -> None:
    project.add("any/mine", MANIFEST + RUN)
    one = project.contestant("any/mine")
    (one.folder / file).write_text("")
    assert age(one, TODAY) == f"age unknown ({reason})"
    assert age(replace(one, version="as installed"), TODAY) == (
        "age unknown (the version is as installed)"
    )


def test_a_date_on_the_machine_comes_before_the_manifest_s(project: Project, machine: Path) -> None:
    project.add("go/mine", VERSIONED + "released = 2001-01-01\n" + RUN)
    one = project.contestant("go/mine")
    assert released(one) == datetime.date(2001, 1, 1)
    (one.folder / "go.mod").write_text("module x\n\nrequire other v1.5.3\n")
    folder = machine / "go/pkg/mod/cache/download/other/@v"
    folder.mkdir(parents=True)
    (folder / "v1.5.3.info").write_text('{"Time":"2024-06-14T03:18:03Z"}')
    assert released(one) == datetime.date(2024, 6, 14)


def test_debian_s_first_upload_of_the_version(project: Project, machine: Path) -> None:
    needs = 'needs = { commands = [], debian = ["g++", "libx-dev >= 1.5"] }\n'
    project.add("cpp/mine", VERSIONED + needs + RUN)
    one = project.contestant("cpp/mine")
    assert released(one) is None
    folder = machine / "doc/libx-dev"
    folder.mkdir(parents=True)
    module._changelog.cache_clear()
    (folder / "changelog.Debian.gz").write_bytes(gzip.compress(CHANGELOG.encode()))
    assert released(one) == datetime.date(2020, 8, 1)


def test_a_go_module_s_tag(project: Project, machine: Path) -> None:
    project.add("go/mine", VERSIONED + RUN)
    one = project.contestant("go/mine")
    (one.folder / "go.mod").write_text(
        "module x\n\nrequire (\n\tgithub.com/Some/lib v1.5.3\n\tother v1.5.3 // indirect\n)\n"
    )
    assert released(one) is None
    folder = machine / "go/pkg/mod/cache/download/github.com/!some/lib/@v"
    folder.mkdir(parents=True)
    (folder / "v1.5.3.info").write_text('{"Version":"v1.5.3","Time":"2024-06-14T03:18:03Z"}')
    assert released(one) == datetime.date(2024, 6, 14)
    (folder / "v1.5.3.info").write_text("{}")
    assert released(one) is None


@pytest.mark.parametrize(
    ("crate", "place"),
    [("some-lib", "so/me/some-lib"), ("abc", "3/a/abc"), ("ab", "2/ab"), ("a", "1/a")],
)
@pytest.mark.parametrize(
    "written", ['lib = { package = "%s", version = "=1.5.3" }', '%s = "=1.5.3"']
)
def test_a_crate_s_publication(
    project: Project, machine: Path, crate: str, place: str, written: str
) -> None:
    project.add("rust/mine", VERSIONED + RUN)
    one = project.contestant("rust/mine")
    (one.folder / "Cargo.toml").write_text(
        f'[dependencies]\nother = "=1.5.30"\nnone = "=1.5.3"\n{written % crate}\n'
    )
    assert released(one) is None
    file = machine / ".cargo/registry/index/some-registry/.cache" / place
    file.parent.mkdir(parents=True)
    lines = [
        (version, json.dumps({"name": crate, "vers": version, **more}))
        for version, more in (
            ("1.5.2", {"pubtime": "2023-01-01T00:00:00Z"}),
            ("1.5.3", {"pubtime": "2024-06-14T03:18:03Z"}),
            ("1.5.4", {}),
        )
    ]
    text = "".join(f"{version}\0{line}\0" for version, line in lines)
    file.write_bytes(b"\3\2\0\0\0etag: x\0" + text.encode())
    assert released(one) == datetime.date(2024, 6, 14)
    file.write_bytes(b"\3\2\0\0\0etag: x\0" + text.replace("pubtime", "other").encode())
    assert released(one) is None


def test_a_package_of_composer(project: Project, machine: Path) -> None:
    vendor = machine / "share/vendor"
    needs = f'needs = {{ commands = [], debian = [], files = ["{vendor}/some/lib/a.php"] }}\n'
    project.add("php/mine", VERSIONED + needs + RUN)
    one = project.contestant("php/mine")
    assert released(one) is None
    vendor.mkdir(parents=True)
    packages = [
        {"name": "other/lib", "version": "v1.5.3", "time": "2020-01-01T00:00:00+00:00"},
        {"name": "some/lib", "version": "v1.5.3", "time": "2021-12-14T00:20:41+00:00"},
    ]
    lock = vendor.parent / "composer.lock"
    lock.write_text(json.dumps({"packages": packages}))
    assert released(one) == datetime.date(2021, 12, 14)
    lock.write_text(json.dumps({"packages": [{**packages[1], "time": "soon"}]}))
    assert released(one) is None


def test_an_archive_of_maven(project: Project, machine: Path) -> None:
    project.add("java/mine", VERSIONED + RUN)
    one = project.contestant("java/mine")
    (one.folder / "pom.xml").write_text(
        f"<groupId>org.x</groupId>\n<artifactId>{one.library}</artifactId>\n"
        "<version>1.5.3</version>"
    )
    folder = machine / ".m2/repository/org/x" / one.library / "1.5.3"
    folder.mkdir(parents=True)
    for year, expected in ((2024, datetime.date(2024, 12, 15)), (1980, None)):
        with zipfile.ZipFile(folder / f"{one.library}-1.5.3.jar", "w") as archive:
            archive.writestr(zipfile.ZipInfo("a", (year, 12, 15, 0, 0, 0)), b"")
        assert released(one) == expected


def test_an_archive_of_maven_may_have_another_name(project: Project, machine: Path) -> None:
    project.add("java/mine", VERSIONED + RUN)
    one = project.contestant("java/mine")
    (one.folder / "pom.xml").write_text(
        "<groupId>org.y</groupId>\n<artifactId>json</artifactId>\n<version>2.22.4</version>\n"
        "<groupId>org.x</groupId>\n<artifactId>codec</artifactId>\n<version>1.5.3.Final</version>"
    )
    archives = {"y/json/2.22.4/json-2.22.4": 2025, "x/codec/1.5.3.Final/codec-1.5.3.Final": 2024}
    for name, year in archives.items():
        path = machine / f".m2/repository/org/{name}.jar"
        path.parent.mkdir(parents=True)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(zipfile.ZipInfo("a", (year, 12, 15, 0, 0, 0)), b"")
    assert released(one) == datetime.date(2024, 12, 15)


def test_the_json_library_has_the_locked_version(project: Project) -> None:
    project.add("rust/mine", MANIFEST + 'json = "serde_json"\n' + RUN)
    one = project.contestant("rust/mine")
    assert json_library(one) == "serde_json"
    (one.folder / "Cargo.lock").write_text('[[package]]\nname = "serde_json"\nversion = "1.0.1"\n')
    assert json_library(one) == "serde_json 1.0.1"


def test_the_json_library_has_the_installed_version(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "has_dpkg", lambda: True)
    monkeypatch.setattr(
        module, "installed_versions", lambda names: dict.fromkeys(names, "1:3.11.2-2")
    )
    needs = 'needs = { commands = [], debian = ["libx-dev", "nlohmann-json3-dev"] }\n'
    project.add("cpp/mine", MANIFEST + 'json = "nlohmann/json"\n' + needs + RUN)
    assert json_library(project.contestant("cpp/mine")) == "nlohmann/json 3.11.2"


def test_without_a_json_library_nothing_is_said(project: Project) -> None:
    project.add("go/mine", MANIFEST + RUN)
    assert json_library(project.contestant("go/mine")) is None
