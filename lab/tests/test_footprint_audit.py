"""``wirebench footprint``: advisories, the versions they are of, and snapshots of them."""

from __future__ import annotations

import datetime
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from synthetic_footprint import footprint, package
from wirebench.footprint.model import (
    Advisory,
    Audit,
    FootprintError,
)
from wirebench.footprint.osv import (
    audit,
    compare_debian,
    date_of,
    index_of,
    is_affected,
    read_snapshot,
)
from wirebench.footprint.table import (
    NOT_KNOWN,
    columns_of,
    field,
    reasons,
    warnings,
)

TODAY = datetime.date(2026, 11, 24)


ENTRY: dict[str, Any] = {
    "id": "GHSA-1",
    "modified": "2026-05-01T00:00:00Z",
    "affected": [
        {
            "package": {"ecosystem": "npm", "name": "ws"},
            "ranges": [
                {
                    "type": "SEMVER",
                    "events": [
                        {"introduced": "0"},
                        {"fixed": "7.5.10"},
                        {"introduced": "8.0.0"},
                        {"fixed": "8.17.1"},
                    ],
                }
            ],
        }
    ],
}


@pytest.mark.parametrize(
    ("version", "vulnerable"),
    [
        ("7.5.9", True),
        ("7.5.10", False),
        ("8.0.0-beta.1", False),
        ("8.0.0", True),
        ("8.9.0", True),
        ("8.17.1-rc.1", True),
        ("8.17.1", False),
    ],
)
def test_ranges_of_semantic_versions(version: str, vulnerable: bool) -> None:
    assert is_affected(version, ENTRY["affected"][0], "npm") is vulnerable


@pytest.mark.parametrize(
    ("version", "vulnerable"), [("1.9", False), ("2.1", True), ("2.2", False), ("3.0", False)]
)
def test_the_events_of_a_range_may_come_in_any_order(version: str, vulnerable: bool) -> None:
    events = [{"fixed": "2.2"}, {"introduced": "2.0"}, {"fixed": "1.5"}, {"introduced": "0"}]
    for ecosystem in ("npm", "PyPI", "Debian:12", "Ubuntu:24.04:LTS"):
        affected = {"ranges": [{"type": "ECOSYSTEM", "events": events}]}
        assert is_affected(version, affected, ecosystem) is vulnerable


def test_the_last_affected_version_is_affected() -> None:
    ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"last_affected": "1.10"}]}]
    affected = {"ranges": ranges}
    assert is_affected("1.9", affected, "PyPI")
    assert is_affected("1.10.0", affected, "PyPI")
    assert not is_affected("1.10.1", affected, "PyPI")


def test_versions_without_an_order_are_known_by_the_list_only() -> None:
    ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}]
    assert is_affected("1.6.0", {"versions": ["1.6.0"], "ranges": ranges}, "Maven")
    assert not is_affected("1.6.1", {"versions": ["1.6.0"], "ranges": ranges}, "Maven")
    with pytest.raises(ValueError, match="no order of versions is known for Maven"):
        is_affected("1.6.1", {"ranges": ranges}, "Maven")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("1.0~rc1", "1.0"),
        ("1.0", "1.0-1"),
        ("1.9", "1.10"),
        ("9.0", "1:1.0"),
        ("3.0.9-1+deb12u1", "3.0.22-1~deb12u2"),
        ("1.0-1~bpo1", "1.0-1"),
        ("1.0a", "1.0+b"),
    ],
)
def test_versions_of_debian(older: str, newer: str) -> None:
    assert compare_debian(older, newer) < 0 < compare_debian(newer, older)
    assert compare_debian(older, older) == 0


def test_an_audit_asks_for_source_packages_and_says_what_it_cannot() -> None:
    debian = {
        "id": "DSA-1",
        "modified": "2026-06-02T00:00:00Z",
        "affected": [
            {
                "package": {"ecosystem": "Debian:12", "name": "openssl"},
                "ranges": [
                    {"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "3.0.20-1"}]}
                ],
            }
        ],
    }
    withdrawn = {**debian, "id": "DSA-2", "withdrawn": "2026-06-03T00:00:00Z"}
    source = {"ecosystem": "Debian:12", "audited": "openssl", "audited_version": "3.0.19-1"}
    packages = [
        package("libssl3", **source),
        package("libssl-dev", **source),
        package("ws", ecosystem="npm", version="8.17.1"),
        package("gorilla", ecosystem="Go"),
    ]
    found = audit(packages, index_of([ENTRY, debian, withdrawn]), snapshot="2026-06-02")
    assert [(one.id, one.package, one.version) for one in found.found] == [
        ("DSA-1", "openssl", "3.0.19-1")
    ]
    assert found.unchecked == ("gorilla",)
    assert date_of([ENTRY, debian]) == "2026-06-02"
    shown = list(warnings(footprint(audit=found)))
    assert shown == ["vulnerable: openssl 3.0.19-1: DSA-1"]


def test_an_entry_about_commits_clears_no_package_without_an_ecosystem() -> None:
    commits = {"id": "OSV-1", "modified": "2026-06-02T00:00:00Z", "affected": [{"ranges": []}]}
    found = audit([package("mine (source)")], index_of([ENTRY, commits]), snapshot="2026-06-02")
    assert found.unchecked == ("mine (source)",)


def test_an_entry_that_cannot_be_judged_hides_no_other() -> None:
    def entry(id_: str, affected: dict[str, Any]) -> dict[str, Any]:
        of_jetty = {"package": {"ecosystem": "Maven", "name": "org:jetty"}, **affected}
        return {"id": id_, "modified": "2026-06-02T00:00:00Z", "affected": [of_jetty]}

    ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "13"}]}]
    entries = [entry("GHSA-1", {"versions": ["12.0"]}), entry("GHSA-2", {"ranges": ranges})]
    for order in (entries, entries[::-1]):
        found = audit(
            [package("org:jetty", ecosystem="Maven", version="12.0")],
            index_of(order),
            snapshot="2026-06-02",
        )
        assert [one.id for one in found.found] == ["GHSA-1"]
        assert found.unchecked == ("org:jetty",)


def test_what_a_snapshot_does_not_clear_is_not_free_of_vulnerabilities() -> None:
    partly = Audit(
        snapshot="2026-06-02",
        found=(Advisory(id="GHSA-1", package="a", version="1.0"),),
        unchecked=("b", "c"),
    )
    nothing = replace(partly, found=(), unchecked=())
    known, unknown = (
        footprint(audit=partly),
        footprint(audit=nothing, packages=(), unknown={"packages": "no go"}),
    )
    column = columns_of([known])[-1]
    assert [field(one, column, TODAY) for one in (known, unknown)] == ["1 (+2?)", NOT_KNOWN]
    assert field(footprint(audit=nothing), column, TODAY) == "0"
    assert "vulnerabilities not known of cpp/mine: no go" in reasons([unknown], [column], TODAY)
    found = [known, footprint("cpp/other")]
    assert list(reasons(found, columns_of(found), TODAY)) == [
        "vulnerabilities not known of cpp/other: footprint --osv has not looked for them"
    ]


def test_a_snapshot_is_json_files_and_archives_of_them(tmp_path: Path) -> None:
    (tmp_path / "npm").mkdir()
    (tmp_path / "npm/GHSA-1.json").write_text(json.dumps(ENTRY))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("GHSA-2.json", json.dumps({**ENTRY, "id": "GHSA-2"}))
    assert [one["id"] for one in read_snapshot(tmp_path)] == ["GHSA-1", "GHSA-2"]


def test_a_snapshot_that_is_none_is_an_error_that_says_what(tmp_path: Path) -> None:
    with pytest.raises(FootprintError, match="expected OSV entries"):
        read_snapshot(tmp_path)
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(FootprintError, match=r"a\.json: expected an OSV entry with id"):
        read_snapshot(tmp_path)
