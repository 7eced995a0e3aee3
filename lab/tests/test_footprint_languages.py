"""What pip, Cargo, Go and npm say of packages, by captured output."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from misbehaving.support import contestant
from wirebench.catalog.model import Contestant, Needs
from wirebench.footprint import cargo, go, npm, pip
from wirebench.footprint.graph import with_parts
from wirebench.footprint.model import FootprintError, Site

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


def test_what_an_environment_begins_with_counts_where_a_package_needs_it() -> None:
    tool = "Name: setuptools\nVersion: 65\nRequires-Dist: starlette; extra == 'core'\n"
    event = "Name: zope.event\nVersion: 6\nRequires-Dist: setuptools>=60\n"
    for asked in ("; extra == 'fast'", "; python_version < '3'"):
        (alone,) = pip.packages_of([(event.replace(">=60", asked), 10), (tool, 20)])
        assert (alone.name, alone.direct) == ("zope.event", True)
    found = pip.packages_of([(event, 10), (tool, 20), (PIP, 40)])
    assert [(one.name, one.direct) for one in found] == [
        ("zope.event", True),
        ("setuptools", False),
    ]
    (starlette,) = pip.packages_of([(STARLETTE, 10), (tool, 20)])
    assert starlette.direct  # what setuptools may ask for says nothing of the contestant


def site_of(one: Contestant, folder: Path, *, said: str = "") -> Site:
    return Site(
        contestant=one, root=folder, build=folder, cache=folder, command=(), ask=lambda _: said
    )


def distribution(packages: Path, name: str, files: dict[str, int]) -> None:
    """As pip installs it."""
    own = f"{name}-1.0.dist-info"
    (packages / own).mkdir(parents=True)
    (packages / own / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
    for file, size in files.items():
        (packages / file).parent.mkdir(parents=True, exist_ok=True)
        (packages / file).write_bytes(b"x" * size)
    listed = [f"{file},sha256=x,{size}" for file, size in files.items()]
    rows = [*listed, f"{own}/METADATA,sha256=x,1", f"{own}/RECORD,,"]
    (packages / own / "RECORD").write_text("\n".join(rows) + "\n")


def test_what_python_s_environment_begins_with_is_not_shipped(tmp_path: Path) -> None:
    folder, packages = tmp_path / "own", tmp_path / "venv/lib/python3.11/site-packages"
    folder.mkdir()
    (folder / "requirements.txt").write_bytes(b"a==1.0\n")
    distribution(packages, "a", {"a/__init__.py": 700, "a/wheel/x.py": 50, "../../../bin/a": 8})
    distribution(packages, "setuptools", {"setuptools/x.py": 3000, "pkg_resources/x.py": 4000})
    (packages / "a/__pycache__").mkdir()
    (packages / "a/__pycache__/__init__.pyc").write_bytes(b"x" * 900)
    own = packages / "a-1.0.dist-info"
    data = sum((own / name).stat().st_size for name in ("METADATA", "RECORD"))
    site = site_of(contestant("some", folder), tmp_path)
    assert {one.name: one.bytes for one in pip.pieces(site)} == {
        "packages of the virtual environment": 700 + 50 + 8 + data,
        "the contestant's own files": 7,
    }


def test_a_library_of_python_s_own_needs_no_packages(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_bytes(b"12345")
    one = replace(contestant("some", tmp_path), needs=Needs(debian=("python3",)))
    assert pip.read(site_of(one, tmp_path)).packages == ()
    assert [piece.bytes for piece in pip.pieces(site_of(one, tmp_path))] == [5]
    for more in (
        replace(one, needs=Needs(debian=("python3", "python3-aiohttp"))),
        replace(one, build_steps=(("make",),)),
    ):
        with pytest.raises(FootprintError, match="expected a virtual environment"):
            pip.read(site_of(more, tmp_path))


def test_recorded_bytes_and_file_names() -> None:
    record = "a/__init__.py,sha256=x,120\na/__pycache__/b.pyc,,\na-1.dist-info/RECORD,,\nb.so,s,7\n"
    assert pip.recorded_bytes(record) == 127
    wheel = "typing_extensions-4.16.0-py3-none-any.whl"
    assert pip.parse_file_name(wheel) == ("typing-extensions", "4.16.0")
    assert pip.parse_file_name("Some-Thing-1.2.tar.gz") == ("some-thing", "1.2")


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
            package("ring", "ISC"),
        ],
        "resolve": {
            "root": "contestant",
            "nodes": [
                {"id": "contestant", "deps": [dep("axum", None), dep("criterion", "dev")]},
                {"id": "axum@1.0.0", "deps": [dep("syn", "build"), dep("ring", None)]},
                {"id": "syn@1.0.0", "deps": []},
                {"id": "ring@1.0.0", "deps": []},
                {"id": "criterion@1.0.0", "deps": []},
            ],
        },
    }
    # Of `default = ["ring?/std"]` metadata names ring, though nothing asks for it.
    tree = "contestant v0 (/here)\naxum v1.0.0\nsyn v1.0.0 (proc-macro)\nsyn v1.0.0 (*)\n"
    found = with_parts(cargo.packages_of(metadata, built=cargo.in_tree(tree)), json=None)
    assert [(one.name, one.direct, one.licence) for one in found] == [
        ("axum", True, "MIT"),
        ("syn", False, "MIT OR Apache-2.0"),
    ]
    assert [(one.installed_bytes, one.download_bytes) for one in found] == [(100, 30)] * 2


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


def test_a_package_whose_name_begins_like_bun_s_is_not_the_runtime(tmp_path: Path) -> None:
    places = ("bun", "@oven/bun-linux-x64", "bunyan", "hono")
    for place in places:
        (tmp_path / "node_modules" / place / "bun").mkdir(parents=True)
        (tmp_path / "node_modules" / place / "bun/index.js").write_bytes(b"x" * 100)
    lock = {
        "packages": {
            "": {"dependencies": dict.fromkeys(places, "1")},
            **{f"node_modules/{place}": {"version": "1.0.0"} for place in places},
        }
    }
    (tmp_path / "package-lock.json").write_text(json.dumps(lock))
    site = site_of(contestant("some", tmp_path), tmp_path, said=f"{tmp_path}/cache\n")
    assert {one.name: one.part for one in npm.read(site).packages} == {
        "bun": "baseline",
        "@oven/bun-linux-x64": "baseline",
        "bunyan": "library",
        "hono": "library",
    }
    assert npm.pieces(site)[0].bytes == 200


def test_npm_says_itself_where_its_cache_is(tmp_path: Path) -> None:
    digest = tmp_path / "cache/_cacache/content-v2/sha512/ff/00/0102"
    digest.parent.mkdir(parents=True)
    digest.write_bytes(b"an archive")
    lock = {
        "packages": {
            "": {"dependencies": {"a": "1"}},
            "node_modules/a": {"version": "1.0.0", "integrity": "sha512-/wABAg=="},
        }
    }
    (tmp_path / "package-lock.json").write_text(json.dumps(lock))
    site = site_of(contestant("some", tmp_path), tmp_path, said=f"{tmp_path}/cache\n")
    assert [one.download_bytes for one in npm.read(site).packages] == [10]
