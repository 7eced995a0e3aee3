"""What Maven, Composer and NuGet say of packages, by captured output."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from misbehaving.support import contestant
from wirebench.catalog.licences import copyleft
from wirebench.catalog.model import Needs
from wirebench.footprint import composer, maven, nuget
from wirebench.footprint.graph import with_parts
from wirebench.footprint.licence_names import from_name
from wirebench.footprint.model import FootprintError, Package, Site


def parts(packages: tuple[Package, ...]) -> dict[str, str]:
    return {one.name: one.part for one in packages}


TREE = """\
wirebench:contestant:jar:1
+- org.slf4j:slf4j-nop:jar:2.0.17:compile
|  \\- org.slf4j:slf4j-api:jar:2.0.17:compile
+- org.java-websocket:Java-WebSocket:jar:1.6.0:compile
\\- com.fasterxml.jackson.core:jackson-databind:jar:2.22.4:compile
   +- com.fasterxml.jackson.core:jackson-annotations:jar:2.22:compile
   \\- io.netty:netty-transport-native-epoll:jar:linux-x86_64:4.2.1:runtime
"""


def test_maven_s_tree_is_read_by_its_indentation() -> None:
    found = with_parts(maven.packages_of(TREE), json="jackson-databind")
    assert parts(found) == {
        "org.slf4j:slf4j-nop": "library",
        "org.slf4j:slf4j-api": "library",
        "org.java-websocket:Java-WebSocket": "library",
        "com.fasterxml.jackson.core:jackson-databind": "json",
        "com.fasterxml.jackson.core:jackson-annotations": "json",
        "io.netty:netty-transport-native-epoll": "json",
    }
    versions = {one.name: one.version for one in found}
    assert versions["io.netty:netty-transport-native-epoll"] == "4.2.1"
    assert sum(one.direct for one in found) == 3


@pytest.mark.parametrize(
    ("tree", "jars"),
    [
        ("wirebench:contestant:jar:1\n", 0),
        (TREE, None),  # then a missing folder of archives is a fault
    ],
)
def test_what_needs_no_archive_ships_none(tmp_path: Path, tree: str, jars: int | None) -> None:
    def ask(argv: Sequence[str]) -> str:
        (out,) = (word for word in argv if word.startswith("-DoutputFile="))
        Path(out.partition("=")[2]).write_text(tree)
        return ""

    (tmp_path / "classes").mkdir()
    (tmp_path / "classes" / "Client.class").write_bytes(b"12345")
    site = Site(
        contestant=contestant("some", tmp_path),
        root=tmp_path,
        build=tmp_path,
        cache=tmp_path,
        command=("java",),
        ask=ask,
    )
    maven.read(site)
    if jars is None:
        with pytest.raises(FootprintError, match="folders lib and classes"):
            maven.pieces(site)
    else:
        assert [(one.name, one.bytes) for one in maven.pieces(site)] == [
            ("jars", jars),
            ("classes", 5),
        ]


def test_maven_s_archives_of_one_name_are_told_apart_by_their_classifier(tmp_path: Path) -> None:
    epoll = "io.netty:netty-transport-native-epoll"
    tree = f"a:b:jar:1\n+- {epoll}:jar:4.2.1:compile\n\\- {epoll}:jar:linux-x86_64:4.2.1:runtime\n"
    folder = tmp_path / "io/netty/netty-transport-native-epoll/4.2.1"
    folder.mkdir(parents=True)
    for name, size in ((".pom", 5), (".jar", 100), ("-linux-x86_64.jar", 4000)):
        (folder / f"netty-transport-native-epoll-4.2.1{name}").write_bytes(b"x" * size)
    found = with_parts(
        [maven.with_files(one, tmp_path) for one in maven.packages_of(tree)], json=None
    )
    assert {one.key: (one.name, one.installed_bytes) for one in found} == {
        epoll: (epoll, 100),
        f"{epoll}:linux-x86_64": (epoll, 4000),
    }


def test_a_pom_s_licences_and_parent() -> None:
    pom = (
        "<project><parent><groupId>org.slf4j</groupId><artifactId>slf4j-parent</artifactId>"
        "<version>2.0.17</version></parent><licenses><license>"
        "<name>The Apache Software License, Version 2.0</name></license></licenses></project>"
    )
    assert [from_name(one) for one in maven.licences_in(pom)] == ["Apache-2.0"]
    assert maven.parent_in(pom) == ("org.slf4j", "slf4j-parent", "2.0.17")
    assert maven.licences_in("<project/>") == ()


COMPOSER_JSON = '{"require": {"php": "*", "cboden/ratchet": "0.4.4"}}'
COMPOSER_LOCK: dict[str, Any] = {
    "packages": [
        {
            "name": "cboden/Ratchet",
            "version": "v0.4.4",
            "dist": {"type": "zip", "url": "https://example.org/ratchet", "shasum": ""},
            "require": {"php": ">=5.4", "react/socket": "^1.0", "psr/log-implementation": "1"},
            "license": ["MIT"],
            "time": "2021-12-14T00:20:41+00:00",
        },
        {
            "name": "react/socket",
            "version": "v1.16.0",
            "require": {"ext-json": "*", "React/Polyfill": "*"},
            "license": ["GPL-2.0-only", "MIT and ISC"],
        },
        {
            "name": "some/log",
            "version": "2",
            "provide": {"psr/log-implementation": "1"},
            "replace": {"react/polyfill": "self.version"},
            "type": "metapackage",
        },
        {"name": "workerman/workerman", "version": "v5.2.2", "license": ["MIT"]},
    ],
    "packages-dev": [{"name": "phpunit/phpunit", "version": "9"}],
}


def php_site(tmp_path: Path, *, shared: bool) -> Site:
    """With a lock file of its own, or with what was installed for all beside it."""
    one = contestant("ratchet", tmp_path / "source")
    one.folder.mkdir()
    (one.folder / "server.php").write_text("<?php")
    place = tmp_path / ("share" if shared else "build")
    for name, size in (("cboden/Ratchet", 100), ("react/socket", 20), ("workerman/workerman", 7)):
        (place / "vendor" / name).mkdir(parents=True)
        (place / "vendor" / name / "a.php").write_bytes(b"x" * size)
    (place / "vendor/autoload.php").write_text("<?php load")
    (place if shared else one.folder).joinpath("composer.lock").write_text(
        json.dumps(COMPOSER_LOCK)
    )
    if shared:
        needed = Needs(files=(f"{place}/vendor/cboden/Ratchet/src/Ratchet/IoServer.php",))
        one = replace(one, needs=needed)
    else:
        (one.folder / "composer.json").write_text(COMPOSER_JSON)
    return Site(
        contestant=one,
        root=tmp_path,
        build=tmp_path / "build",
        cache=tmp_path,
        command=("php",),
        ask=lambda _argv: "",
    )


@pytest.mark.parametrize("shared", [True, False])
def test_composer_s_packages_are_those_that_the_contestant_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, shared: bool
) -> None:
    site = php_site(tmp_path, shared=shared)
    monkeypatch.setenv("COMPOSER_CACHE_DIR", str(tmp_path / "cached"))
    digest = hashlib.sha1(b"https://example.org/ratchet").hexdigest()
    kept = tmp_path / "cached/files/cboden/ratchet" / f"{digest}.zip"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"z" * 9)
    bill = composer.read(site)
    assert bill.manager == "Composer"
    assert [(one.name, one.version, one.direct, one.licence) for one in bill.packages] == [
        ("cboden/Ratchet", "v0.4.4", True, "MIT"),
        ("react/socket", "v1.16.0", False, "GPL-2.0-only OR (MIT and ISC)"),
        ("some/log", "2", False, None),
    ]
    sizes = [(one.download_bytes, one.installed_bytes) for one in bill.packages]
    assert sizes == [(9, 100), (None, 20), (0, 0)]
    assert copyleft(bill.packages[1].licence or "") == "none"
    assert {one.name: one.bytes for one in composer.pieces(site)}["packages"] == 120


def test_php_without_composer_s_packages_needs_none(tmp_path: Path) -> None:
    site = php_site(tmp_path, shared=False)
    (site.contestant.folder / "composer.lock").unlink()
    assert composer.read(site).packages == ()
    assert [(one.name, one.bytes) for one in composer.pieces(site)] == [
        ("the contestant's own files", len("<?php") + len(COMPOSER_JSON))
    ]


@pytest.mark.parametrize("text", ["", "[]", '{"packages": [{"version": "1"}]}', "{}"])
def test_what_is_no_lock_file_of_composer_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    site = php_site(tmp_path, shared=False)
    (site.contestant.folder / "composer.lock").write_text(text)
    with pytest.raises(FootprintError, match=r"composer\.lock: expected"):
        composer.read(site)


NUGET_LOCK = """{
  "version": 1,
  "dependencies": {
    "net8.0": {
      "Fleck": {
        "type": "Direct", "requested": "[1.2.0, )", "resolved": "1.2.0", "contentHash": "x",
        "dependencies": {"Some.Base": "2.0.0"}
      },
      "Some.Base": {"type": "Transitive", "resolved": "2.0.1", "contentHash": "y"},
      "mine": {"type": "Project"}
    },
    "net8.0/linux-x64": {
      "Some.Base": {"type": "Transitive", "resolved": "2.0.1"}
    }
  }
}"""
NUGET_LIST = """<?xml version="1.0" encoding="utf-8"?>
<packages>
  <package id="Some.Base" version="2.0.1" targetFramework="net45" />
  <package version='1.2.0' id='Fleck' />
  <package id="Analyzer" version="3" developmentDependency="true" />
</packages>"""
NUSPEC = """<package><metadata><id>Fleck</id><license type="expression">MIT</license>
<dependencies><group targetFramework="net45"><dependency id="Some.Base" version="2.0.0" /></group>
</dependencies></metadata></package>"""


def csharp_site(tmp_path: Path, **files: str) -> Site:
    one = contestant("fleck", tmp_path / "source")
    one.folder.mkdir()
    for name, text in files.items():
        (one.folder / name).write_text(text, encoding="utf-8-sig")
    (tmp_path / "build").mkdir()
    return Site(
        contestant=one,
        root=tmp_path,
        build=tmp_path / "build",
        cache=tmp_path,
        command=("mono", str(tmp_path / "build/server.exe")),
        ask=lambda _argv: "",
    )


@pytest.mark.parametrize(
    ("name", "text", "shared"),
    [("packages.lock.json", NUGET_LOCK, True), ("packages.config", NUGET_LIST, False)],
)
def test_nuget_s_packages_by_a_lock_file_or_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, *, shared: bool
) -> None:
    monkeypatch.setenv("NUGET_PACKAGES", str(tmp_path / "packages"))
    site = csharp_site(tmp_path, **{name: text})
    fleck = tmp_path / ("packages/fleck/1.2.0" if shared else "build/packages/Fleck.1.2.0")
    fleck.mkdir(parents=True)
    (fleck / "fleck.1.2.0.nupkg").write_bytes(b"z" * 9)
    (fleck / "fleck.nuspec").write_text(NUSPEC)
    found = {one.name: one for one in nuget.read(site).packages}
    assert [(one.name, one.version, one.direct) for one in found.values()] == [
        ("Fleck", "1.2.0", True),
        ("Some.Base", "2.0.1", False),
    ]
    assert found["Fleck"].licence == "MIT"
    assert found["Fleck"].download_bytes == 9
    assert found["Fleck"].installed_bytes == 9 + len(NUSPEC)
    assert found["Some.Base"].installed_bytes is None
    assert {one.ecosystem for one in found.values()} == {"NuGet"}


def test_a_project_of_csharp_needs_a_lock_file(tmp_path: Path) -> None:
    reference = '<Project><PackageReference Include="Fleck" Version="1.2.0" /></Project>'
    with pytest.raises(FootprintError, match=r"expected packages\.lock\.json beside it"):
        nuget.read(csharp_site(tmp_path, **{"server.csproj": reference}))


@pytest.mark.parametrize("text", ["", "[]", '{"dependencies": {"net8.0": {"a": 1}}}', "{}"])
def test_what_is_no_lock_file_of_nuget_is_said_to_be_none(tmp_path: Path, text: str) -> None:
    site = csharp_site(tmp_path, **{"packages.lock.json": text})
    with pytest.raises(FootprintError, match="expected NuGet's lock file"):
        nuget.read(site)


def test_an_assembly_that_stands_in_the_system_is_the_library(tmp_path: Path) -> None:
    site = csharp_site(tmp_path)
    assert nuget.read(site).packages == ()
    (tmp_path / "Fleck.dll").write_bytes(b"x" * 100)
    needs = Needs(files=(str(tmp_path / "Fleck.dll"),))
    one = replace(site.contestant, needs=needs, version="1.2.0", license="MIT")
    site = replace(site, contestant=one)
    (found,) = nuget.read(site).packages
    assert (found.name, found.version, found.licence) == ("fleck", "1.2.0", "MIT")
    assert (found.installed_bytes, found.download_bytes) == (100, None)
    with pytest.raises(FootprintError, match="not by a program that it builds"):
        nuget.pieces(site)
    for name, size in (("server.exe", 7), ("Fleck.dll", 100), ("server.pdb", 50)):
        (site.build / name).write_bytes(b"x" * size)
    assert [(one.name, one.bytes) for one in nuget.pieces(site)] == [
        ("Fleck.dll", 100),
        ("server.exe", 7),
    ]
