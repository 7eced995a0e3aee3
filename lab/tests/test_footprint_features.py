"""What ``wirebench footprint --features`` finds: by probes of a server that has some of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from misbehaving.support import contestant
from synthetic_footprint import footprint
from wirebench.catalog import CatalogError, load_catalog
from wirebench.catalog.manifest import read_contestant
from wirebench.catalog.model import FEATURES, Feature
from wirebench.catalog.published import Judged
from wirebench.footprint import records
from wirebench.footprint.features import features_of
from wirebench.footprint.model import FootprintError, Site, Spoken, Using
from wirebench.footprint.table import spoken, used
from wirebench.footprint.using import included, linked, using_of
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.report.facts import Facts
from wirebench.report.frameworks import framework_tables

SERVER = '''
"""A server of ``rest`` and ``ws.echo`` that has what its arguments name."""
import asyncio, os, ssl, sys

HAS = set(sys.argv[1:])

async def chunks(reader):
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body

async def echo(reader, writer, key):
    from wirebench.frames import apply_mask, encode_frame, switching_protocols
    writer.write(switching_protocols(key))
    _, second = await reader.readexactly(2)
    mask = await reader.readexactly(4)
    data = apply_mask(await reader.readexactly(second & 127), mask)
    writer.write(encode_frame(1, data, mask=False))
    await writer.drain()

async def talk(reader, writer):
    while True:
        head = await reader.readuntil(b"\\r\\n\\r\\n")
        if head.startswith(b"PRI"):
            if "HTTP/2" in HAS:
                await reader.readexactly(8)
                writer.write(bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
                await writer.drain()
            return
        named = {}
        for line in head.decode().split("\\r\\n")[1:-2]:
            name, _, value = line.partition(":")
            named[name.lower()] = value.strip()
        if "upgrade" in named:
            return await echo(reader, writer, named["sec-websocket-key"])
        status, body = "200 OK", b"OK"
        if "transfer-encoding" in named:
            if "chunked in" not in HAS:
                writer.write(b"HTTP/1.1 501 No\\r\\nContent-Length: 0\\r\\n\\r\\n")
                return await writer.drain()
            body = b"Sending response: " + await chunks(reader)
        elif "content-length" in named:
            body = b"Sending response: " + await reader.readexactly(int(named["content-length"]))
        lines = ["HTTP/1.1 200 OK"]
        if "compression" in HAS and "gzip" in named.get("accept-encoding", ""):
            import gzip
            body = gzip.compress(body)
            lines.append("Content-Encoding: gzip")
        if "chunked out" in HAS:
            lines.append("Transfer-Encoding: chunked")
            body = b"%x\\r\\n%s\\r\\n0\\r\\n\\r\\n" % (len(body), body)
        else:
            lines.append(f"Content-Length: {len(body)}")
        data = "\\r\\n".join([*lines, "", ""]).encode() + body
        if "in pieces" in HAS:
            writer.write(data[:9])  # over TLS a record of its own
            data = data[9:]
        writer.write(data)
        await writer.drain()
        if "pipelining" not in HAS:
            reader._buffer.clear()
        if "keep-alive" not in HAS:
            return

async def serve(reader, writer):
    try:
        await talk(reader, writer)
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()

async def main():
    context = None
    if os.environ["WIREBENCH_TLS_CERT"]:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(os.environ["WIREBENCH_TLS_CERT"], os.environ["WIREBENCH_TLS_KEY"])
        if "ALPN" in HAS:
            context.set_alpn_protocols(["h2"])
    host, port = os.environ["WIREBENCH_HOST"], int(os.environ["WIREBENCH_PORT"])
    server = await asyncio.start_server(serve, host, port, ssl=context)
    await server.serve_forever()

asyncio.run(main())
'''


def asked(
    folder: Path,
    supervisor: Supervisor,
    *has: str,
    tls: bool = False,
    documented: Mapping[Feature, bool] | None = None,
) -> dict[str, str]:
    script = folder / "server.py"
    script.write_text(SERVER)
    one = replace(
        contestant("some", folder),
        serves=("rest", "ws.echo"),
        tls=tls,
        documented=documented or {},
    )
    program = Program(argv=(sys.executable, "-B", str(script), *has), folder=folder)
    found = features_of(one, program, supervisor)
    assert tuple(feature.feature for feature in found) == FEATURES
    return {feature.feature: spoken(feature) for feature in found}


def test_a_server_that_has_everything(tmp_path: Path, supervisor: Supervisor) -> None:
    found = asked(tmp_path, supervisor, *FEATURES, tls=True)
    assert found == {**dict.fromkeys(FEATURES, "yes"), "streaming": "–"}


def test_what_is_not_seen_is_lacking_only_where_nobody_turns_it_off(
    tmp_path: Path, supervisor: Supervisor
) -> None:
    found = asked(
        tmp_path,
        supervisor,
        documented={"TLS": True, "HTTP/2": False, "keep-alive": True, "streaming": True},
    )
    assert found == {
        "keep-alive": "no",
        "pipelining": "no",
        "chunked in": "no",
        "chunked out": "–",
        "streaming": "yes, by doc.",
        "TLS": "yes, by doc.",
        "WebSocket": "yes",
        "compression": "–",
        "HTTP/2": "no, by doc.",
    }


def test_kept_connections_need_no_pipelining(tmp_path: Path, supervisor: Supervisor) -> None:
    found = asked(tmp_path, supervisor, "keep-alive")
    assert (found["keep-alive"], found["pipelining"]) == ("yes", "no")


def test_http2_is_also_asked_for_over_tls(tmp_path: Path, supervisor: Supervisor) -> None:
    assert asked(tmp_path, supervisor, "ALPN", tls=True)["HTTP/2"] == "yes"


def test_a_status_line_in_two_records_is_tls_all_the_same(
    tmp_path: Path, supervisor: Supervisor
) -> None:
    assert asked(tmp_path, supervisor, "in pieces", tls=True)["TLS"] == "yes"


def test_a_server_that_does_not_start_has_no_features(
    tmp_path: Path, supervisor: Supervisor
) -> None:
    program = Program(argv=(sys.executable, "-c", "raise SystemExit(3)"), folder=tmp_path)
    with pytest.raises(FootprintError, match=r"the server of http\.hello"):
        features_of(contestant("some", tmp_path), program, supervisor)


# --- what one includes and links ------------------------------------------------------------------

NINJA = """\
build CMakeFiles/server.dir/server.cpp.o: CXX_COMPILER /s/server.cpp
  DEFINES = -DSOME=1
  FLAGS = -O3 -std=gnu++17
  INCLUDES = -isystem {include}

build server: CXX_EXECUTABLE_LINKER__server CMakeFiles/server.dir/server.cpp.o | common/libown.a
  FLAGS = -O3
  LINK_LIBRARIES = common/libown.a  -lone  /usr/lib/libtwo.so.1.2  /opt/libthree.a  -lpthread -ldl
"""


def test_links_are_those_of_the_link_line_without_everybodys() -> None:
    assert list(linked(NINJA, "server")) == ["one", "two", "three"]
    assert list(linked(NINJA, "client")) == []


def test_includes_are_those_in_angle_brackets() -> None:
    text = '#include <a/b.hpp>\n  #  include <vector>\n#include "json.hpp"\n// #include <no>\n'
    assert list(included(text)) == ["a/b.hpp", "vector"]


@pytest.mark.parametrize(
    ("header", "standard"),
    [
        ("int one() { return 1; }", "C++11"),
        ("#include <concepts>\nstd::integral auto a = 1;", "C++20"),
    ],
)
def test_the_standard_is_the_lowest_that_the_headers_compile_with(
    header: str, standard: str, tmp_path: Path
) -> None:
    if shutil.which("g++") is None or shutil.which("dpkg-query") is None:
        pytest.skip("needs g++ and dpkg-query")
    include = tmp_path / "include"
    include.mkdir()
    (include / "library.hpp").write_text(header)
    (tmp_path / "server.cpp").write_text("#include <library.hpp>\n#include <vector>\n")
    (tmp_path / "build.ninja").write_text(NINJA.format(include=include))

    def ask(argv: object) -> str:
        assert isinstance(argv, list)
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode != 0 and not done.stdout:
            raise FootprintError(done.stderr)
        return done.stdout

    site = Site(
        contestant=contestant("some", tmp_path),
        root=tmp_path,
        build=tmp_path,
        cache=tmp_path,
        command=(str(tmp_path / "server"),),
        ask=ask,
    )
    assert using_of(site) == Using(
        includes=("library.hpp",), links=("one", "two", "three"), standard=standard
    )


# --- where it is shown ----------------------------------------------------------------------------

USED = Using(includes=("a.hpp", "b.hpp"), links=(), standard="C++17")
SPOKEN = (Spoken(feature="TLS", has=True, probed=False),)


def test_a_footprint_keeps_them(tmp_path: Path) -> None:
    one = footprint(using=USED, features=SPOKEN)
    records.write(tmp_path, one)
    assert records.read(tmp_path, one.contestant, "server") == one
    assert used(one) == ("yes", "a.hpp, b.hpp", "nothing", "C++17")
    # One of before is measured again.
    path = records.path_of(tmp_path, one.contestant, "server")
    document = json.loads(path.read_text())
    del document["features"]
    path.write_text(json.dumps(document))
    assert records.read(tmp_path, one.contestant, "server") is None


def test_the_reports_tables_have_the_articles_scores_as_the_articles() -> None:
    facts = Facts(
        library="l", version="1", license="MIT", homepage="https://example.org", tier="idiomatic"
    )
    names = ("cpp/mine", "cpp/other")
    known = {
        "cpp/mine": footprint(
            using=USED,
            features=tuple(Spoken(feature=one, has=None, probed=False) for one in FEATURES),
        )
    }
    judged = [
        Judged(published="Mine 1", contestant="cpp/mine", licence="MIT", including=5, using=4)
    ]
    day = footprint().released
    assert day is not None
    main, speaking = framework_tables(names, dict.fromkeys(names, facts), known, judged, day)
    rows = {row[0]: dict(zip(main.columns, row[1:], strict=True)) for row in main.rows}
    ease = "the article: ease of including, of using"
    assert [rows[name][ease] for name in names] == ["5, 4", ""]
    assert "author" in main.how
    assert rows["cpp/other"]["includes"] == "not known"
    assert [row[0] for row in speaking.rows] == ["cpp/mine"]
    (alone,) = framework_tables(names, dict.fromkeys(names, facts), {}, [], day)
    assert ease not in alone.columns
    assert "author" not in alone.how


def test_a_manifest_documents_known_features_only(tmp_path: Path) -> None:
    root = tmp_path / "contestants/cpp/mine"
    root.mkdir(parents=True)
    manifest = root / "manifest.toml"
    text = 'library = "l"\nversion = "1"\nlicense = "MIT"\nhomepage = "https://example.org"\n'
    text += 'tier = "idiomatic"\nserves = ["rest"]\nrun = { server = ["x"] }\n'
    manifest.write_text(text + 'documented = { "HTTP/2" = false }\n')
    assert read_contestant(root, root=tmp_path).documented == {"HTTP/2": False}
    manifest.write_text(text + "documented = { http3 = true }\n")
    with pytest.raises(CatalogError, match="documented"):
        read_contestant(root, root=tmp_path)


def test_every_score_of_the_article_is_of_a_contestant_with_documented_features() -> None:
    from wirebench.catalog import find_root
    from wirebench.catalog.published import published_of

    root = find_root()
    judged = published_of(root, "rest").judged
    assert len(judged) == 6
    contestants = load_catalog(root).contestants
    assert all(contestants[one.contestant].documented for one in judged)
