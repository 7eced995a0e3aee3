"""``wirebench footprint``: the table, advisories, clean builds, records, and the command."""

from __future__ import annotations

import datetime
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from synthetic_footprint import footprint, package
from test_footprint_audit import ENTRY
from wirebench.build.cache import content_digest
from wirebench.catalog import load_catalog
from wirebench.catalog.model import Contestant
from wirebench.cli.console import EXIT_OK, EXIT_USAGE
from wirebench.cli.main import run_app
from wirebench.footprint import measure as measure_module
from wirebench.footprint import records
from wirebench.footprint.building import time_builds
from wirebench.footprint.model import (
    Bill,
    Footprint,
    FootprintError,
    Piece,
    Site,
)
from wirebench.footprint.osv import (
    audit,
    index_of,
)
from wirebench.footprint.table import (
    BUILDING,
    DEPENDING,
    NOT_KNOWN,
    columns_of,
    field,
    heads,
    in_order,
    reasons,
    rows,
    warnings,
)

TODAY = datetime.date(2026, 11, 24)
COLUMNS = (*DEPENDING, *BUILDING)


def texts(one: Footprint) -> dict[str, str]:
    return {column.id: field(one, column, TODAY) for column in COLUMNS}


def test_a_line_counts_the_librarys_packages_only() -> None:
    assert texts(footprint()) == {
        "packages": "1 + 1",
        "download": "1.95 KiB",
        "installed": "3.91 KiB",
        "copyleft": "none",
        "age": "1.0 years",
        "build": "2.00 s",
        "cpu": "3.00 s",
        "rebuild": "1.00 s",
        "ships": "2.00 KiB",
        "start": "3.00 ms",
        "idle": "1.00 MiB",
    }


def test_a_release_of_tomorrow_is_of_today() -> None:
    assert texts(footprint(released=TODAY + datetime.timedelta(days=1)))["age"] == "0.0 years"


def test_what_is_missing_is_not_known_with_the_reason_and_never_0() -> None:
    one = footprint(
        packages=(package("a", installed_bytes=None), package("b")),
        idle_bytes=None,
        pieces=(),
        unknown={"idle_bytes": "a client ends", "shipped_bytes": "no strip"},
    )
    shown = texts(one)
    assert {shown[name] for name in ("installed", "idle", "ships")} == {NOT_KNOWN}
    assert shown["download"] != NOT_KNOWN
    assert list(reasons([one], COLUMNS, TODAY)) == [
        "installed not known of cpp/mine: no size of a",
        "ships not known of cpp/mine: no strip",
        "idle not known of cpp/mine: a client ends",
    ]


def test_what_a_package_manager_says_may_be_another_thing(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Strange:
        compiled = ()

        def read(self, _site: Site) -> Bill:
            raise KeyError("packages")

        def offline(self, _site: Site) -> dict[str, str]:
            return {}

        def pieces(self, _site: Site) -> tuple[Piece, ...]:
            return (Piece(name="server", bytes=7),)

    monkeypatch.setattr(measure_module, "MANAGERS", {"tiny": Strange()})
    assert run_app(["footprint"]) == EXIT_OK
    kept = records.read(tiny / "results", "tiny/mine", "server")
    assert kept is not None
    assert "is strange: KeyError('packages')" in kept.unknown["packages"]
    assert kept.shipped_bytes == 7


def test_without_a_package_manager_nothing_is_counted() -> None:
    one = footprint(packages=(), unknown={"packages": "no dpkg"})
    shown = texts(one)
    assert {shown[name] for name in ("packages", "download", "installed", "copyleft")} == {
        NOT_KNOWN
    }
    assert texts(footprint(packages=()))["installed"] == "0 B", "it depends on nothing"
    (line,) = reasons([one, replace(one, contestant="c/b")], COLUMNS, TODAY)
    assert line == "packages, download, installed, copyleft not known of cpp/mine, c/b: no dpkg"


def test_the_order_puts_what_is_not_known_last() -> None:
    found = [
        footprint("c/large", idle_bytes=300),
        footprint("c/unknown", idle_bytes=None),
        footprint("c/small", idle_bytes=200),
    ]
    names = [one.contestant for one in in_order(found, "idle", TODAY)]
    assert names == ["c/small", "c/large", "c/unknown"]
    names = [one.contestant for one in in_order(found, "contestant", TODAY)]
    assert names == ["c/large", "c/small", "c/unknown"]


def test_copyleft_is_counted_named_and_what_is_not_told_is_said() -> None:
    one = footprint(
        packages=(
            package("a", licence="GPL-2.0-or-later"),
            package("b", licence="MIT OR GPL-2.0-only"),
            package("c", licence="LGPL-2.1-only"),
            package("d", licence=None),
            package("e", licence="GPL-3.0-only", part="baseline"),
        )
    )
    assert texts(one)["copyleft"] == "1 strong, 1 weak (+1?)"
    strong, weak = warnings(one)
    assert strong.startswith("strong copyleft: a (GPL-2.0-or-later); Debian tells it of the whole")
    assert weak.startswith("weak copyleft: c (LGPL-2.1-only)")
    assert list(warnings(footprint())) == []


def test_a_table_has_a_row_for_each() -> None:
    found = [footprint("c/a"), footprint("c/b")]
    columns = columns_of(found)
    lines = list(rows(found, columns, TODAY))
    assert {len(line) for line in lines} == {len(heads(columns))}
    assert lines[0][:5] == ("c/a", "server", "1.0", "1 + 1", "1.95 KiB")


MANIFEST = """
library = "mine"
version = "1.0"
license = "MIT"
homepage = "https://example.org"
tier = "idiomatic"
serves = ["http.hello"]

[build]
steps = {steps}

[run]
server = ["python3", "-B", "{{source}}/server.py"]
"""
SERVER = """
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = f"hello from {self.path[1:]}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments):
        pass

ThreadingHTTPServer(("127.0.0.1", int(os.environ["WIREBENCH_PORT"])), Handler).serve_forever()
"""


def project(tmp_path: Path, *steps: list[str]) -> Path:
    root = tmp_path / "project"
    folder = root / "contestants/tiny/mine"
    folder.mkdir(parents=True)
    (root / "studies").mkdir()
    (folder.parent / "language.toml").write_text('title = "Tiny"\n')
    (folder / "manifest.toml").write_text(MANIFEST.format(steps=json.dumps(steps)))
    (folder / "server.py").write_text(SERVER)
    (folder / "small.c").write_text("x")
    (folder / "large.c").write_text("x" * 100)
    return root


def contestant(root: Path) -> Contestant:
    return load_catalog(root).contestants["tiny/mine"]


def test_a_clean_build_uses_no_cache_and_a_changed_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "note"
    script = f'(env; echo; wc -c "$1"/*.c) >> {note}'
    root = project(tmp_path, ["sh", "-c", script, "-", "{source}"])
    one = contestant(root)
    before = content_digest(one.folder)
    monkeypatch.setenv("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
    monkeypatch.setenv("CCACHE_DIR", "/somewhere")
    monkeypatch.setenv("RUSTC_WRAPPER", "sccache")
    timed = time_builds(
        one,
        root,
        role="server",
        jobs=2,
        offline={"PIP_NO_INDEX": "1"},
        compiled=(".c",),
        folder=tmp_path / "f",
    )
    assert timed.touched == "large.c"
    assert timed.clean.wall_ns > 0
    assert timed.again is not None
    assert content_digest(one.folder) == before
    assert list((tmp_path / "f").iterdir()) == []
    said = note.read_text()
    assert "PIP_NO_INDEX=1" in said
    assert "LAUNCHER" not in said
    # Where ccache is the compiler in PATH, or sccache is in a file of cargo's settings.
    assert [line for line in said.splitlines() if "CCACHE" in line] == ["CCACHE_DISABLE=1"] * 2
    assert said.splitlines().count("RUSTC_WRAPPER=") == 2
    crates = {line for line in said.splitlines() if line.startswith("CARGO_BUILD_BUILD_DIR=")}
    assert len(crates) == 1
    assert crates.pop().startswith(f"CARGO_BUILD_BUILD_DIR={tmp_path}/f/clean-")
    sizes = [int(line.split()[0]) for line in said.splitlines() if line.endswith("large.c")]
    assert len(sizes) == 2
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize(
    ("step", "touched"), [("true {target}", "server.c"), ("true", "client/main.c")]
)
def test_what_is_changed_is_a_source_of_what_is_built(
    tmp_path: Path, step: str, touched: str
) -> None:
    root = project(tmp_path, ["sh", "-c", step])
    one = replace(contestant(root), calls=("http",))
    (one.folder / "server.c").write_text("x" * 200)
    (one.folder / "client").mkdir()
    (one.folder / "client/main.c").write_text("x" * 300)
    timed = time_builds(
        one, root, role="server", jobs=1, offline={}, compiled=(".c",), folder=tmp_path / "f"
    )
    assert timed.touched == touched


def test_what_is_not_compiled_is_not_built_again(tmp_path: Path) -> None:
    root = project(tmp_path, ["true"])
    timed = time_builds(
        contestant(root),
        root,
        role="server",
        jobs=1,
        offline={},
        compiled=(),
        folder=tmp_path / "f",
    )
    assert timed.again is None
    assert timed.not_again == "nothing is compiled"


def test_a_second_build_that_fails_keeps_the_time_of_the_first(tmp_path: Path) -> None:
    script = "echo built again >&2; test ! -e mark && touch mark"
    root = project(tmp_path, ["sh", "-c", script])
    timed = time_builds(
        contestant(root),
        root,
        role="server",
        jobs=1,
        offline={},
        compiled=(".c",),
        folder=tmp_path / "f",
    )
    assert timed.clean.wall_ns > 0
    assert timed.again is None
    assert timed.touched == "large.c"
    assert timed.not_again.endswith("failed in sh: built again")


def test_a_build_that_fails_says_what_it_printed_last(tmp_path: Path) -> None:
    root = project(tmp_path, ["sh", "-c", "echo no such crate; exit 3"])
    with pytest.raises(FootprintError, match="failed in sh: no such crate"):
        time_builds(
            contestant(root),
            root,
            role="server",
            jobs=1,
            offline={},
            compiled=(),
            folder=tmp_path / "f",
        )


def test_without_steps_nothing_is_built(tmp_path: Path) -> None:
    root = project(tmp_path)
    with pytest.raises(FootprintError, match="nothing is built"):
        time_builds(
            contestant(root),
            root,
            role="server",
            jobs=1,
            offline={},
            compiled=(),
            folder=tmp_path / "f",
        )


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    index = index_of([ENTRY])
    found = audit([package("ws", ecosystem="npm", version="8.1.0")], index, snapshot="2026-05-01")
    one = footprint(audit=found, unknown={"idle_bytes": "x"}, released=None)
    records.write(tmp_path, one)
    assert records.read(tmp_path, "cpp/mine", "server") == one
    assert records.read_all(tmp_path, "server") == {"cpp/mine": one}
    assert records.read(tmp_path, "cpp/other", "server") is None
    records.path_of(tmp_path, "cpp/mine", "server").write_text('{"contestant": "cpp/mine"}')
    assert records.read_all(tmp_path, "server") == {}


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = project(tmp_path, ["true"])
    monkeypatch.setenv("WIREBENCH_ROOT", str(root))
    monkeypatch.setenv("COLUMNS", "80")
    return root


def test_the_command_measures_keeps_and_shows(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    assert run_app(["footprint", "tiny/mine", "--json", str(out)]) == EXIT_OK
    shown = capsys.readouterr().out
    assert max(len(line.rstrip()) for line in shown.splitlines()[:8]) <= 80
    assert "the lab knows no package manager of tiny" in shown
    (one,) = json.loads(out.read_text())["footprints"]
    assert one["first_reply_ns"] > 0
    assert one["installed_bytes"] is None
    assert "no package manager" in one["unknown"]["installed_bytes"]
    if Path(f"/proc/{os.getpid()}/smaps_rollup").exists():
        assert one["idle_bytes"] > 2**20

    kept = records.read(tiny / "results", "tiny/mine", "server")
    assert kept is not None
    markdown_file = tmp_path / "table.md"
    arguments = ["footprint", "--markdown", str(markdown_file), "--sort", "idle"]
    assert run_app(arguments) == EXIT_OK
    assert records.read(tiny / "results", "tiny/mine", "server") == kept, (
        "nothing was measured again"
    )
    written = markdown_file.read_text()
    assert "| tiny/mine | server | 1.0 |" in written
    assert "not known of tiny/mine: the lab knows no package manager of tiny" in written
    records.write(tiny / "results", replace(kept, version="1.0 | <b>"))
    assert run_app(arguments) == EXIT_OK
    (line,) = (line for line in markdown_file.read_text().splitlines() if line[:7] == "| tiny/")
    assert "| 1.0 \\| &lt;b> |" in line
    (tiny / "contestants/tiny/mine/small.c").write_text("changed")
    assert run_app(["footprint"]) == EXIT_OK
    again = records.read(tiny / "results", "tiny/mine", "server")
    assert again is not None
    assert again.key != kept.key


BOTH = """
library = "mine"
version = "1.0"
license = "MIT"
homepage = "https://example.org"
tier = "idiomatic"
serves = ["http.hello"]
calls = ["http"]

[build]
steps = [["sh", "-c", "echo built {target} >> $NOTE"]]

[run]
server = ["python3", "-B", "{source}/server.py"]
client = ["python3", "-B", "{source}/client.py"]
"""


def test_a_clean_build_is_of_one_role(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, note = project(tmp_path), tmp_path / "note"
    (root / "contestants/tiny/mine/manifest.toml").write_text(BOTH)
    monkeypatch.setenv("NOTE", str(note))
    for role in ("server", "client"):
        time_builds(
            contestant(root),
            root,
            role=role,
            jobs=1,
            offline={},
            compiled=(),
            folder=tmp_path / "f",
        )
    assert note.read_text().splitlines() == ["built server", "built client"]


def test_one_with_both_roles_is_measured_in_each(
    tiny: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tiny / "contestants/tiny/mine/manifest.toml").write_text(BOTH)
    monkeypatch.setenv("NOTE", str(tmp_path / "note"))
    assert run_app(["footprint"]) == EXIT_OK
    server = records.read(tiny / "results", "tiny/mine", "server")
    assert server is not None
    assert server.first_reply_ns is not None
    assert records.read(tiny / "results", "tiny/mine", "client") is None
    assert "tiny/mine  server" in capsys.readouterr().out
    assert run_app(["footprint", "--role", "client"]) == EXIT_OK
    client = records.read(tiny / "results", "tiny/mine", "client")
    assert client is not None
    assert client.role == "client"
    assert client.first_reply_ns is None
    assert "there is no cpp/floor" in client.unknown["first_reply_ns"], "it was called as a client"
    assert records.read(tiny / "results", "tiny/mine", "server") == server
    assert records.read_all(tiny / "results", "client") == {"tiny/mine": client}
    assert records.read_all(tiny / "results", "server") == {"tiny/mine": server}


def test_one_without_the_role_is_not_measured(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["footprint", "tiny/mine", "--role", "client"]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert "tiny/mine: it is no client" in said
    assert "--role client: none of the contestants is one" in said


def test_the_other_roles_footprint_stands_in(tmp_path: Path) -> None:
    one = footprint(role="client")
    records.write(tmp_path, one)
    assert records.read_either(tmp_path, "cpp/mine", "server") == one
    both = footprint()
    records.write(tmp_path, both)
    assert records.read_either(tmp_path, "cpp/mine", "server") == both
    assert records.read_either(tmp_path, "cpp/mine", "client") == one


def test_a_snapshot_is_kept_with_the_footprint_and_its_date_printed(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["footprint"]) == EXIT_OK
    kept = records.read(tiny / "results", "tiny/mine", "server")
    assert kept is not None
    ws = package("ws", ecosystem="npm", version="8.1.0", direct=True)
    records.write(tiny / "results", replace(kept, packages=(ws,), unknown={}))
    (tmp_path / "osv").mkdir()
    (tmp_path / "osv/a.json").write_text(json.dumps(ENTRY))
    assert run_app(["footprint", "--osv", str(tmp_path / "osv")]) == EXIT_OK
    shown = capsys.readouterr().out
    assert "tiny/mine: vulnerable: ws 8.1.0: GHSA-1" in shown
    assert "OSV snapshot of 2026-05-01." in shown
    of_mint = package("libssl3", audited="openssl", direct=True)
    records.write(tiny / "results", replace(kept, packages=(of_mint,), unknown={}))
    assert run_app(["footprint", "--osv", str(tmp_path / "osv")]) == EXIT_OK
    said = capsys.readouterr()
    assert "packages of the distribution are not checked" in said.err
    assert "it does not clear libssl3" in " ".join(said.out.split())
    assert run_app(["footprint"]) == EXIT_OK
    assert "OSV snapshot of 2026-05-01" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sort", "size"], "--sort: expected one of contestant, packages"),
        (["--osv", "nowhere"], "--osv: expected a folder, got nowhere"),
        (["--json", "nowhere/a.json"], "--json: expected a file in a folder that exists"),
    ],
)
@pytest.mark.usefixtures("tiny")
def test_wrong_usage_says_what_is_expected(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["footprint", *arguments]) == EXIT_USAGE
    assert said in capsys.readouterr().err
