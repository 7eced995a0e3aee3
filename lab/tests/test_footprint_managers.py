"""What Debian says of packages, by captured output: whose cost each is, sizes, licences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from misbehaving.support import contestant
from wirebench.catalog.licences import copyleft
from wirebench.catalog.model import Needs
from wirebench.footprint import debian
from wirebench.footprint.graph import with_parts
from wirebench.footprint.licence_names import from_debian, in_text
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


@pytest.mark.parametrize(
    ("library", "json", "part"),
    [
        ("POCO", "POCO", "library"),
        ("POCO C++ Libraries", "Poco", "library"),
        ("websocketpp", "Poco", "json"),
        ("websocketpp", "JSON of V8", "library"),
        ("websocketpp", None, "library"),
    ],
)
def test_a_library_with_json_of_its_own_is_no_json_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, json: str | None, part: str
) -> None:
    monkeypatch.setattr(debian, "has_dpkg", lambda: True)
    status = DPKG + "installed\tlibpoco-dev\t1.11\t5066\tno\toptional\tpoco\t1.11\t\t\tlibssl3\n"
    site = Site(
        contestant=replace(
            contestant("some", tmp_path),
            library=library,
            json=json,
            needs=Needs(debian=("libssl-dev", "libpoco-dev")),
        ),
        root=tmp_path,
        build=tmp_path,
        cache=tmp_path,
        command=("server",),
        ask=lambda argv: status if argv[:2] == ["dpkg-query", "-W"] else "",
    )
    assert parts(debian.read(site).packages)["libpoco-dev"] == part


def test_a_direct_dependency_is_never_baseline() -> None:
    packages = [
        Package(key="a", name="a", version="1", requires=("b",), direct=True),
        Package(key="b", name="b", version="1"),
    ]
    assert parts(with_parts(packages, json=None, baseline={"a", "b"})) == {
        "a": "library",
        "b": "baseline",
    }


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
        ("BSL-1", "BSL-1.0"),
        ("PD", "LicenseRef-public-domain"),
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
