"""What package managers say, by captured output: whose cost each package is, sizes, licences."""

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
from wirebench.footprint import cargo, composer, debian, go, maven, npm, nuget, pip
from wirebench.footprint.graph import with_parts
from wirebench.footprint.licence_names import from_debian, from_name, in_text
from wirebench.footprint.model import FootprintError, Package, Site
from wirebench.footprint.native import shared_libraries

DPKG = """\
installed\tdpkg\t1.21.22\t6409\tyes\trequired\tdpkg\t1.21.22\t\tlibc6, zlib1g (>= 1:1.1.4)\t
installed\tlibc6\t2.36-9\t13001\tno\toptional\tglibc\t2.36-9\t\t\tlibgcc-s1
installed\tlibc6-dev\t2.36-9\t11975\tno\toptional\tglibc\t2.36-9\tlibc-dev (= 2.36-9)\t\tlibnsl-dev
installed\tlibnsl-dev\t1.3.0-2\t345\tno\toptional\tlibnsl\t1.3.0-2\t\t\tlibssl3
installed\tlibgcc-s1\t12.2.0-14\t140\tno\toptional\tgcc-12\t12.2.0-14\t\t\t
installed\tlibssl-dev\t3.0.22-1\t12206\tno\toptional\topenssl\t3.0.22-1\t\t\tlibssl3 (= 3.0.22-1)
installed\tlibssl3\t3.0.22-1\t6042\tno\toptional\topenssl\t3.0.22-1\t\t\tlibc6 (>= 2.34)
installed\tnlohmann-json3-dev\t3.11.2-2\t1515\tno\toptional\tnlohmann-json3\t3.11.2-2\t\t\t
installed\tzlib1g\t1:1.2.13\t168\tno\toptional\tzlib\t1:1.2.13\tlibz1\t\tlibc6 (>= 2.14)
installed\tlibx-dev\t1-1\t10\tno\toptional\tx\t1-1\t\t\tlibz1, absent | libssl-dev:any, libc-dev
not-installed\tlibgone\t\t\tno\toptional\tgone\t\t\t\t
"""


def parts(packages: tuple[Package, ...]) -> dict[str, str]:
    return {one.name: one.part for one in packages}


# --- whose cost -----------------------------------------------------------------------------------


def test_what_only_json_needs_is_its_part_and_what_both_need_the_librarys() -> None:
    packages = [
        Package(key="lib", name="lib", version="1", requires=("both",), direct=True),
        Package(key="j", name="serde_json", version="1", requires=("both", "own"), direct=True),
        Package(key="both", name="both", version="1"),
        Package(key="own", name="own", version="1", requires=("j",)),
        Package(key="unused", name="unused", version="1"),
    ]
    found = with_parts(packages, json="serde_json")
    assert parts(found) == {
        "lib": "library",
        "both": "library",
        "serde_json": "json",
        "own": "json",
    }


def test_a_direct_dependency_is_never_baseline() -> None:
    packages = [
        Package(key="a", name="a", version="1", requires=("b",), direct=True),
        Package(key="b", name="b", version="1"),
    ]
    assert parts(with_parts(packages, json=None, baseline={"a", "b"})) == {
        "a": "library",
        "b": "baseline",
    }


# --- Debian ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ({"ID": "debian", "VERSION_ID": "12", "VERSION": "12 (bookworm)"}, "Debian:12"),
        ({"ID": "debian"}, "Debian"),
        (
            {"ID": "ubuntu", "VERSION_ID": "24.04", "VERSION": "24.04.1 LTS (Noble Numbat)"},
            "Ubuntu:24.04:LTS",
        ),
        (
            {"ID": "ubuntu", "VERSION_ID": "24.10", "VERSION": "24.10 (Oracular Oriole)"},
            "Ubuntu:24.10",
        ),
        ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian", "VERSION_ID": "22"}, ""),
        ({}, ""),
    ],
)
def test_a_distribution_has_its_name_in_osv(release: dict[str, str], expected: str) -> None:
    assert debian.ecosystem_of(release) == expected


def test_sources_in_a_crate_of_something_else_are_not_counted_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "has_dpkg", lambda: True)
    site = Site(
        contestant=contestant("some", tmp_path),
        root=tmp_path,
        build=tmp_path,
        cache=tmp_path,
        command=("server",),
        ask=lambda argv: DPKG if argv[0] == "dpkg-query" else "",
    )
    assert debian.read(site).packages == ()
    (tmp_path / "Cargo.lock").write_text("version = 4\n", encoding="utf-8")
    with pytest.raises(FootprintError, match="in a crate of something else"):
        debian.read(site)


def test_debian_s_closure_goes_over_provided_names_and_alternatives() -> None:
    known = debian.parse_installed(DPKG)
    assert "libgone" not in known
    assert known["libssl3"].installed_bytes == 6042 * 1024
    bill = debian.bill_of(known, ["libx-dev", "nlohmann-json3-dev"], json="nlohmann/json")
    assert parts(bill) == {
        "libx-dev": "library",
        "libssl-dev": "library",
        "libssl3": "library",
        "nlohmann-json3-dev": "json",
        "libc6": "baseline",
        "libc6-dev": "baseline",
        "zlib1g": "baseline",
    }
    assert [one.name for one in bill if one.direct] == ["libx-dev", "nlohmann-json3-dev"]


def test_what_only_the_c_librarys_headers_bring_does_not_make_it_baseline() -> None:
    everywhere = debian.baseline_of(debian.parse_installed(DPKG))
    assert {"libc6", "libc6-dev", "libgcc-s1", "dpkg", "zlib1g"} <= everywhere
    assert "libssl3" not in everywhere


def test_downloads_are_of_the_installed_version_or_of_what_apt_would_install() -> None:
    text = (
        "Package: libssl3\nVersion: 3.0.22-1\nSize: 2039888\nDescription: x\n continued Size: 1\n\n"
        "Package: libssl3\nVersion: 3.0.17-1\nSize: 2027428\n"
    )
    found = debian.parse_downloads(text)
    assert found["libssl3", "3.0.17-1"] == 2027428
    assert found["libssl3", ""] == 2039888


def test_a_licence_is_that_of_all_files_of_a_copyright_file() -> None:
    text = (
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n"
        "Files: debian/*\nCopyright: x\nLicense: GPL-3+\n\n"
        "Files: *\nCopyright: 1995, y\n z\nLicense: Expat or GPL-2+\n\n"
        "License: Expat\n Permission is hereby granted\n"
    )
    assert debian.licence_of(text) == "MIT OR GPL-2.0-or-later"
    assert debian.licence_of(text.replace("Files: *", "Files: src/*")) is None
    assert debian.licence_of("This is free software; see the file.") is None


def test_a_package_with_a_library_to_link_is_not_header_only() -> None:
    headers = ["/.", "/usr/include/websocketpp/server.hpp", "/usr/share/doc/x/copyright"]
    assert debian.is_header_only(headers) is True
    assert debian.is_header_only([*headers, "/usr/lib/x86_64-linux-gnu/libcpprest.so"]) is False
    assert debian.is_header_only(["/.", "/usr/share/doc/libboost-dev/copyright"]) is None


def test_owners_of_files() -> None:
    text = (
        "diversion by dash from: /bin/sh\n"
        "zlib1g:amd64: /lib/x86_64-linux-gnu/libz.so.1\n"
        "libc6:amd64, libc6:i386: /etc/ld.so.conf.d\n"
    )
    assert debian.parse_owners(text) == {
        "/lib/x86_64-linux-gnu/libz.so.1": "zlib1g",
        "/etc/ld.so.conf.d": "libc6",
    }


# --- pip ------------------------------------------------------------------------------------------

STARLETTE = """\
Metadata-Version: 2.4
Name: starlette
Version: 1.10.0
License-Expression: BSD-3-Clause
Requires-Dist: anyio<5,>=3.6.2
Requires-Dist: jinja2; extra == 'full'
"""
ANYIO = """\
Metadata-Version: 2.1
Name: anyio
Version: 4.16.0
License: MIT
Requires-Dist: idna>=2.8
Requires-Dist: starlette; extra == "test"

The description, with License: GPL
"""
IDNA = "Name: idna\nVersion: 3.20\nClassifier: License :: OSI Approved :: BSD License\n"
PIP = "Name: pip\nVersion: 23\nLicense: MIT\n"


def test_pip_s_packages_have_roots_licences_and_sizes() -> None:
    found = pip.packages_of([(STARLETTE, 10), (ANYIO, 20), (IDNA, 30), (PIP, 40)])
    by_name = {one.name: one for one in found}
    assert set(by_name) == {"starlette", "anyio", "idna"}
    assert [one.name for one in found if one.direct] == ["starlette"]
    assert by_name["anyio"].requires == ("idna",)
    assert {one.name: one.licence for one in found} == {
        "starlette": "BSD-3-Clause",
        "anyio": "MIT",
        "idna": None,  # which of the BSD licences is not said
    }
    assert by_name["anyio"].installed_bytes == 20


def test_packages_that_only_ask_for_each_other_are_not_lost() -> None:
    pair = [
        "Name: egg\nVersion: 1\nRequires-Dist: chicken\n",
        "Name: chicken\nVersion: 2\nRequires-Dist: egg\n",
    ]
    found = with_parts(pip.packages_of([(one, 10) for one in (*pair, STARLETTE, ANYIO)]), json=None)
    assert [one.name for one in found] == ["anyio", "chicken", "egg", "starlette"]
    assert [one.name for one in found if one.direct] == ["chicken", "starlette"]


@pytest.mark.parametrize(
    ("stated", "licence"),
    [
        ("MPL-2.0 AND MIT", "MPL-2.0 AND MIT"),
        ("MIT OR Apache-2.0", "MIT OR Apache-2.0"),
        ("MIT License", "MIT"),
        ("  ", None),
    ],
)
def test_an_spdx_expression_keeps_all_its_parts(stated: str, licence: str | None) -> None:
    (found,) = pip.packages_of([(f"Name: a\nVersion: 1\nLicense: {stated}\n", 1)])
    assert found.licence == licence


def test_recorded_bytes_and_file_names() -> None:
    record = "a/__init__.py,sha256=x,120\na/__pycache__/b.pyc,,\na-1.dist-info/RECORD,,\nb.so,s,7\n"
    assert pip.recorded_bytes(record) == 127
    wheel = "typing_extensions-4.16.0-py3-none-any.whl"
    assert pip.parse_file_name(wheel) == ("typing-extensions", "4.16.0")
    assert pip.parse_file_name("Some-Thing-1.2.tar.gz") == ("some-thing", "1.2")


# --- cargo ----------------------------------------------------------------------------------------


def test_cargo_counts_what_is_built_and_not_what_tests_need(tmp_path: Path) -> None:
    index = "index.crates.io-1949cf8c6b5b557f"
    sources, archives = tmp_path / "src" / index, tmp_path / "cache" / index
    archives.mkdir(parents=True)

    def package(name: str, licence: str | None) -> dict[str, object]:
        folder = sources / f"{name}-1.0.0"
        folder.mkdir(parents=True)
        (folder / "Cargo.toml").write_text("x" * 100)
        (archives / f"{name}-1.0.0.crate").write_text("y" * 30)
        place = str(folder / "Cargo.toml")
        return {
            "id": f"{name}@1.0.0",
            "name": name,
            "version": "1.0.0",
            "license": licence,
            "manifest_path": place,
        }

    def dep(name: str, *kinds: str | None) -> dict[str, object]:
        return {"pkg": f"{name}@1.0.0", "dep_kinds": [{"kind": kind} for kind in kinds]}

    metadata = {
        "packages": [
            {"id": "contestant", "name": "contestant", "version": "0", "license": None},
            package("axum", "MIT"),
            package("syn", "MIT/Apache-2.0"),
            package("criterion", None),
        ],
        "resolve": {
            "root": "contestant",
            "nodes": [
                {"id": "contestant", "deps": [dep("axum", None), dep("criterion", "dev")]},
                {"id": "axum@1.0.0", "deps": [dep("syn", "build")]},
                {"id": "syn@1.0.0", "deps": []},
                {"id": "criterion@1.0.0", "deps": []},
            ],
        },
    }
    found = with_parts(cargo.packages_of(metadata), json=None)
    assert [(one.name, one.direct, one.licence) for one in found] == [
        ("axum", True, "MIT"),
        ("syn", False, "MIT OR Apache-2.0"),
    ]
    assert [(one.installed_bytes, one.download_bytes) for one in found] == [(100, 30)] * 2


# --- Go -------------------------------------------------------------------------------------------


def test_go_counts_modules_from_which_something_is_compiled(tmp_path: Path) -> None:
    folder = tmp_path / "websocket@v1.5.3"
    folder.mkdir()
    (folder / "LICENSE").write_text(
        "Redistribution and use in source and binary forms, with or without\n modification, are"
    )
    main = {"Path": "wirebench/contestant", "Main": True}
    websocket = {"Path": "github.com/Gorilla/websocket", "Version": "v1.5.3", "Dir": str(folder)}
    listed = [
        {"ImportPath": "net/http", "Standard": True},
        {"ImportPath": "github.com/Gorilla/websocket", "Module": websocket, "Imports": ["x/net/a"]},
        {"ImportPath": "x/net/a", "Module": {"Path": "x/net", "Version": "v0.1.0"}},
        {
            "ImportPath": "wirebench/contestant/server",
            "Module": main,
            "Imports": ["net/http", "github.com/Gorilla/websocket"],
        },
    ]
    text = "\n".join(json.dumps(one, indent=1) for one in listed)
    kept = go.archive(tmp_path, "github.com/Gorilla/websocket", "v1.5.3")
    assert kept.as_posix().endswith("github.com/!gorilla/websocket/@v/v1.5.3.zip")
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"z" * 9)
    found = with_parts(go.packages_of(go.documents(text), cache=tmp_path), json="encoding/json")
    assert [(one.name, one.direct, one.licence, one.download_bytes) for one in found] == [
        ("github.com/Gorilla/websocket", True, "BSD-2-Clause", 9),
        ("x/net", False, None, None),
    ]


def test_of_a_replaced_go_module_what_replaces_it_counts(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/LICENSE").write_text("Apache License Version 2.0")
    kept = go.archive(tmp_path, "x/fork", "v1.1.0")
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"z" * 9)
    own = {
        "Path": "x/own",
        "Dir": str(tmp_path / "own"),
        "Replace": {"Path": "../own", "Dir": str(tmp_path / "own")},
    }
    forked = {
        "Path": "x/forked",
        "Version": "v1.0.0",
        "Replace": {"Path": "x/fork", "Version": "v1.1.0"},
    }
    listed = [
        {"ImportPath": "x/own", "Module": own, "Imports": ["x/forked"]},
        {"ImportPath": "x/forked", "Module": forked},
        {"ImportPath": "main", "Module": {"Path": "main", "Main": True}, "Imports": ["x/own"]},
    ]
    found = with_parts(go.packages_of(listed, cache=tmp_path), json=None)
    assert [(one.name, one.version, one.download_bytes, one.ecosystem) for one in found] == [
        ("x/fork", "v1.1.0", 9, "Go"),
        ("x/own (source)", "", 26, ""),
    ]
    assert found[1].licence == "Apache-2.0"
    assert found[1].requires == ("x/forked",)
    assert (found[0].direct, found[1].direct) == (False, True)


# --- npm ------------------------------------------------------------------------------------------


def test_npm_resolves_as_node_does_and_leaves_out_what_is_not_installed() -> None:
    lock = {
        "packages": {
            "": {"dependencies": {"a": "1"}},
            "node_modules/a": {
                "version": "1.0.0",
                "license": "MIT",
                "integrity": "sha512-AAAA",
                "dependencies": {"b": "2"},
                "peerDependencies": {"peer": "*"},
            },
            "node_modules/a/node_modules/b": {"version": "2.0.0", "license": "ISC"},
            "node_modules/b": {"version": "1.0.0", "dev": True},
            "node_modules/peer": {"version": "1.0.0", "peer": True, "optional": True},
            "node_modules/either": {"version": "1.0.0", "devOptional": True},
        }
    }
    there = {"node_modules/a": 100, "node_modules/a/node_modules/b": 20}
    found = npm.packages_of(lock, installed=there.get, downloaded={"sha512-AAAA": 33}.get)
    assert [(one.name, one.version, one.direct, one.installed_bytes) for one in found] == [
        ("a", "1.0.0", True, 100),
        ("b", "2.0.0", False, 20),
    ]
    assert found[0].requires == ("node_modules/a/node_modules/b", "node_modules/peer")
    assert [one.download_bytes for one in found] == [33, None]


def test_a_package_in_the_archive_of_another_is_downloaded_with_that() -> None:
    lock = {
        "packages": {
            "": {"dependencies": {"a": "1"}},
            "node_modules/a": {"integrity": "sha512-AAAA", "dependencies": {"b": "2"}},
            "node_modules/a/node_modules/b": {"inBundle": True},
        }
    }
    found = npm.packages_of(lock, installed=lambda _: 100, downloaded={"sha512-AAAA": 33}.get)
    assert [one.download_bytes for one in found] == [33, 0]


def test_a_lock_file_of_an_old_npm_is_not_one_of_no_packages() -> None:
    lock = {"lockfileVersion": 1, "dependencies": {"a": {"version": "1.0.0"}}}
    with pytest.raises(FootprintError, match="expected version 2 or 3"):
        npm.packages_of(lock, installed=lambda _: 100, downloaded=lambda _: 33)


@pytest.mark.parametrize(
    "integrity",
    [
        "sha512-/wABAg==",
        "sha512-/wABAg==?option",
        "sha1-AA== sha512-/wABAg==",
        "sha512-/wABAg== sha1-AA==",
        "sha512-AAAA sha512-/wABAg==",
    ],
)
def test_npm_s_archives_are_found_by_any_of_their_digests(tmp_path: Path, integrity: str) -> None:
    (tmp_path / "sha512/ff/00").mkdir(parents=True)
    (tmp_path / "sha512/ff/00/0102").write_bytes(b"an archive")
    assert npm.archive_bytes(tmp_path, integrity) == 10


@pytest.mark.parametrize("integrity", ["", "sha512-", "sha512-% sha1-A", "sha512", "sha512-AA=="])
def test_without_a_digest_no_archive_is_npm_s_whole_cache(tmp_path: Path, integrity: str) -> None:
    (tmp_path / "sha512").mkdir()
    (tmp_path / "sha512" / "other").write_bytes(b"of another package")
    assert npm.archive_bytes(tmp_path, integrity) is None


# --- Maven ----------------------------------------------------------------------------------------

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


# --- Composer -------------------------------------------------------------------------------------

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


# --- NuGet ----------------------------------------------------------------------------------------

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


# --- licences -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("debian_name", "spdx"),
    [
        ("Expat", "MIT"),
        ("GPL-2+", "GPL-2.0-or-later"),
        ("LGPL-2.1", "LGPL-2.1-only"),
        ("Expat and BSD-3-clause", "MIT AND BSD-3-Clause"),
        ("Expat or ISC and GPL-2+", "MIT OR ISC AND GPL-2.0-or-later"),
        ("Expat or ISC, and GPL-2+", "(MIT OR ISC) AND GPL-2.0-or-later"),
        ("Expat and ISC, or GPL-2+", "MIT AND ISC OR GPL-2.0-or-later"),
        ("Expat, ISC, and Zlib", "MIT AND ISC AND Zlib"),
        ("GPL-2+ with OpenSSL exception", "GPL-2.0-or-later WITH OpenSSL-exception"),
        ("Ms-PL", "Ms-PL"),
    ],
)
def test_names_of_debian(debian_name: str, spdx: str) -> None:
    assert from_debian(debian_name) == spdx


def test_a_licence_is_known_by_its_own_words() -> None:
    assert in_text(
        "Permission is hereby granted, free of charge, to any\nperson obtaining a copy"
    ) == ("MIT",)
    bsd = "Redistribution and use in source and binary forms, with or without modification"
    assert in_text(bsd) == ("BSD-2-Clause",)
    assert in_text(f"{bsd} ... used to endorse or promote products") == ("BSD-3-Clause",)
    assert in_text("Do what you like.") == ()


@pytest.mark.parametrize(
    ("licence", "kind"),
    [
        ("MIT", "none"),
        ("LGPL-2.1-or-later", "weak"),
        ("MPL-2.0 OR MIT", "none"),
        ("MIT AND GPL-2.0-only", "strong"),
        ("GPL-3.0-or-later OR LGPL-3.0-or-later", "weak"),
        ("GPL-2.0-only WITH Classpath-exception-2.0", "weak"),
        ("Own-words", None),
        ("Own-words AND GPL-2.0-only", "strong"),
        ("", None),
    ],
)
def test_how_far_a_licence_asks_for_source(licence: str, kind: str | None) -> None:
    assert copyleft(licence) == kind


# --- what one ships -------------------------------------------------------------------------------


def test_shared_libraries_without_those_of_the_c_library() -> None:
    text = (
        "\tlinux-vdso.so.1 (0x00007f9020852000)\n"
        "\tlibcurl.so.4 => /lib/x86_64-linux-gnu/libcurl.so.4 (0x00007f902074b000)\n"
        "\tlibstdc++.so.6 => /lib/x86_64-linux-gnu/libstdc++.so.6 (0x00007f90)\n"
        "\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f90)\n"
        "\t/lib64/ld-linux-x86-64.so.2 (0x00007f9020854000)\n"
    )
    assert list(shared_libraries(text)) == [Path("/lib/x86_64-linux-gnu/libcurl.so.4")]


def test_libraries_that_no_package_has_are_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "has_dpkg", lambda: True)
    (tmp_path / "server").write_bytes(b"not stripped")
    (tmp_path / "libown.so").write_bytes(b"12345")

    def ask(argv: Sequence[str]) -> str:
        if argv[0] == "strip":
            Path(argv[2]).write_bytes(b"123")
            return ""
        if argv[0] == "ldd":
            return f"\tlibown.so => {tmp_path / 'libown.so'} (0x00007f90)\n"
        if argv[:2] == ["dpkg-query", "-W"]:
            return DPKG
        raise FootprintError("dpkg-query: exited with 1: no path found matching pattern")

    site = Site(
        contestant=contestant("some", tmp_path),
        root=tmp_path,
        build=tmp_path,
        cache=tmp_path,
        command=(str(tmp_path / "server"),),
        ask=ask,
    )
    assert [(one.name, one.bytes) for one in debian.pieces(site)] == [
        ("server, stripped", 3),
        ("libown.so", 5),
    ]
