"""The study files: what they hold, and what the parser says about wrong ones."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from wirebench.catalog.contestants import load_catalog
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.link import Link
from wirebench.catalog.loads import HOST, ClientLoad, ClosedLoad, EachLoad, RampLoad
from wirebench.catalog.selection import select_cells
from wirebench.catalog.studies import Cell, Study
from wirebench.catalog.study_files import load_studies, load_study, parse_study
from wirebench.catalog.units import parse_duration
from wirebench.plan.choose import choose, takes_part, too_slow_to_warm

STUDIES = Path(__file__).resolve().parents[2] / "studies"


def minimal() -> dict[str, Any]:
    return {
        "name": "tiny",
        "title": "Tiny",
        "question": "?",
        "role": "server",
        "workload": "http.hello",
        "cells": [
            {
                "id": "c{connections}",
                "title": "{connections} connections",
                "kind": "closed",
                "primary": "throughput_per_s",
                "over": {"connections": [1, 8]},
            }
        ],
        "presets": {
            "quick": {"cells": ["c8"], "window": "500ms", "warmup": "100ms"},
            "full": {"cells": ["*"]},
        },
    }


def parse(data: dict[str, Any]) -> Study:
    return parse_study(data, path=Path("studies/tiny.toml"))


def test_the_four_studies_are_there_with_both_presets() -> None:
    studies = load_studies(STUDIES)
    assert set(studies) == {"roundtrip", "concurrency", "rest", "websocket"}
    for study in studies.values():
        assert {"quick", "full"} <= set(study.presets)
        assert all(preset.min_blocks >= 6 for preset in study.presets.values())


def test_full_presets_hold_the_published_matrices() -> None:
    studies = load_studies(STUDIES)
    roundtrip = [cell.load for cell in studies["roundtrip"].preset("full").cells]
    clients = [load for load in roundtrip if isinstance(load, ClientLoad)]
    assert {(load.scheme, load.policy, load.payload_bytes) for load in clients} == {
        (scheme, policy, payload)
        for scheme in ("http", "https", "ws", "wss")
        for policy, payloads in (
            ("reuse", (16, 1024, 65536, 1048576)),
            ("new", (16, 1024, 65536, 1048576)),
            ("cold", (1024,)),
        )
        for payload in payloads
    }
    assert len(clients) == len(roundtrip)
    assert sum((load.host, load.server) == (HOST, None) for load in clients) == 36
    posts = [load for load in clients if load.method == "POST"]
    assert {(load.scheme, load.policy, load.payload_bytes) for load in posts} == {
        ("http", "reuse", 1024),
        ("http", "reuse", 65536),
        ("http", "new", 1024),
        ("http", "new", 65536),
        ("https", "reuse", 1024),
        ("https", "new", 1024),
    }
    # Of a server that its check asks to take them.
    assert {load.server for load in posts} == {"cpp/floor"}
    ladder = [cell.load for cell in studies["concurrency"].preset("full").cells]
    plain = [
        load
        for load in ladder
        if isinstance(load, ClosedLoad) and not load.tls and load.cores == "one"
    ]
    assert [load.connections for load in plain] == [
        50, 1000, 2000, 3000, 4000, 5000, 10000, 15000, 20000, 50000, 100000,
    ]  # fmt: skip
    rest = [cell.load for cell in studies["rest"].preset("full").cells]
    assert {
        (load.threads, load.messages, load.delay_ms, load.policy, load.link)
        for load in rest
        if isinstance(load, EachLoad)
    } == {
        (threads, messages, delay, policy, link)
        for threads in (28, 4)
        for messages, delay in ((1000, 0), (200, 200), (1000, 200))
        for policy in ("new", "reuse")
        for link in (None, Link(rtt_ms=54))
    }
    ramps = [cell.load for cell in studies["websocket"].preset("full").cells]
    assert [load.total_messages for load in ramps if isinstance(load, RampLoad)] == [
        50_500_000,  # serial
        50_500_000,  # burst
        50_500_000,  # burst, echoed
    ]


def test_peers_presets_have_every_contestant_of_the_workload() -> None:
    studies = load_studies(STUDIES)
    contestants = load_catalog(STUDIES.parent).contestants
    for name, connections in (
        ("concurrency", [50, 1000, 10000]),
        ("websocket", [100, 1000, 10000]),
    ):
        peers = studies[name].preset("peers")
        assert [
            cell.load.connections for cell in peers.cells if isinstance(cell.load, ClosedLoad)
        ] == connections
        for cell in choose(
            [(studies[name], peers)],
            wanted=tuple(contestants.values()),
            everybody=contestants,
            by_preset=True,
        ):
            serving = {
                one.identity for one in contestants.values() if cell.cell.workload in one.serves
            }
            assert {one.identity for one in cell.contestants} == serving - {"cpp/wire-own-records"}


def test_quick_spares_relatives_but_no_role() -> None:
    """Whom it does without takes part otherwise, and every study keeps a floor, wire, and somebody
    of each language that it has time to warm up.
    """
    contestants = load_catalog(STUDIES.parent).contestants
    for study in load_studies(STUDIES).values():
        quick = study.preset("quick")
        assert not quick.contestants, "whatever is installed or added takes part"
        every, kept = (
            choose(
                [(study, quick)],
                wanted=tuple(contestants.values()),
                everybody=contestants,
                by_preset=by_preset,
            )
            for by_preset in (False, True)
        )
        before, after = (
            {one.identity for chosen in cells for one in chosen.contestants}
            for cells in (every, kept)
        )
        cold = {
            one.identity
            for cell in quick.cells
            for one in contestants.values()
            if takes_part(one, cell) and too_slow_to_warm(one, cell, quick)
        }
        assert before - after == cold | {name for name in quick.without if name in contestants}
        assert {name.split("/")[0] for name in cold} <= {"java"}
        assert {name.split("/")[0] for name in before - cold} == {
            name.split("/")[0] for name in after
        }
        assert {"cpp/floor", "cpp/wire"} <= after


def test_one_cell_for_each_combination() -> None:
    study = parse(minimal())
    assert [(cell.id, cell.title) for cell in study.preset("full").cells] == [
        ("c1", "1 connections"),
        ("c8", "8 connections"),
    ]


def with_rows(*rows: list[Any], words: object = None) -> dict[str, Any]:
    """The minimal study with a table instead of ``over``."""
    data = minimal()
    (entry,) = data["cells"]
    del entry["over"]
    entry["rows"] = list(rows)
    entry["id"], entry["title"] = "{wire}-c{connections}", "{connections} connections, {wire}"
    entry["words"] = (
        {"wire": {"tls": {"True": "tls", "False": "plain"}}} if words is None else words
    )
    data["presets"] = {"full": {"cells": ["*"]}}
    return data


def test_a_table_gives_a_cell_for_each_combination_of_a_row() -> None:
    study = parse(with_rows(["connections", "tls"], [[1, 8], [False, True]], [2, True]))
    cells = study.preset("full").cells
    assert [cell.id for cell in cells] == ["plain-c1", "tls-c1", "plain-c8", "tls-c8", "tls-c2"]
    assert [
        (cell.load.connections, cell.load.tls)
        for cell in cells
        if isinstance(cell.load, ClosedLoad)
    ] == [(1, False), (1, True), (8, False), (8, True), (2, True)]
    assert cells[-1].title == "2 connections, tls"


@pytest.mark.parametrize(
    ("rows", "words", "message"),
    [
        (
            (["connections"],),
            None,
            "cells.0.rows: expected a row of keys and rows of values, got [['connections']]",
        ),
        (
            (["connections", "connections"], [1, 2]),
            None,
            "cells.0.rows.0: expected keys that differ",
        ),
        (
            (["connections", "tls"], [1, True], [1]),
            None,
            "cells.0.rows.2: expected a value for each of connections, tls, got [1]",
        ),
        (
            (["connections", "tls"], [[], True]),
            None,
            "cells.0.rows.1: expected a value for each of connections, tls, got [[], True]",
        ),
        (
            (["connections", "tls"], [0, True]),
            None,
            "cells.tls-c0: connections: expected",
        ),
        (
            (["connections", "tls"], [1, True]),
            {"wire": {"tls": {"False": "plain"}}},
            "cells.0.words.wire.tls: expected a text for True, got {'False': 'plain'}",
        ),
        (
            (["connections", "tls"], [1, True]),
            {"wire": {"tsl": {"True": "tls"}}},
            "cells.0.words.wire: expected a key of the cell, got 'tsl'",
        ),
        (
            (["connections", "tls"], [1, True]),
            {"wire": "tls"},
            "cells.0.words.wire: expected a table of one key, got 'tls'",
        ),
        ((["connections", "tls"], [1, True]), 3, "cells.0.words: expected a table, got 3"),
        (
            (["connections", "tls"], [1, True]),
            {},
            "cells.0.id: expected one of connections, tls in braces, got 'wire'",
        ),
    ],
)
def test_errors_in_a_table_name_row_and_key(
    rows: tuple[list[Any], ...], words: object, message: str
) -> None:
    with pytest.raises(CatalogError) as error:
        parse(with_rows(*rows, words=words))
    assert f"studies/tiny.toml: {message}" in str(error.value)


def test_an_entry_is_a_table_or_axes() -> None:
    data = with_rows(["connections", "tls"], [1, True])
    data["cells"][0]["over"] = {"connections": [1]}
    with pytest.raises(CatalogError, match=r"cells\.0: expected over or rows, got both"):
        parse(data)


def test_what_a_client_calls_follows_from_its_scheme() -> None:
    cells = load_studies(STUDIES)["roundtrip"].preset("full").cells
    assert {
        (cell.load.scheme, cell.workload) for cell in cells if isinstance(cell.load, ClientLoad)
    } == {
        ("http", "http.payload"),
        ("https", "http.payload"),
        ("ws", "ws.echo"),
        ("wss", "ws.echo"),
    }


def test_a_preset_sets_window_and_changes_a_cell() -> None:
    data = minimal()
    data["presets"]["quick"]["change"] = {"c8": {"window": "1s"}}
    study = parse(data)
    (quick,) = study.preset("quick").cells
    assert quick.load == ClosedLoad(connections=8, warmup_ns=100_000_000, window_ns=1_000_000_000)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("role",), "proxy", "role: expected"),
        (("surprise",), 1, "surprise: expected no such key, got 1"),
        (
            ("cells", 0, "kind"),
            "half-open",
            "cells.c1.kind: expected one of closed, open, each, ramp, idle, storm, broadcast,",
        ),
        (("cells", 0, "primary"), "speed", "cells.c1: primary: expected"),
        (("cells", 0, "over"), {"connections": [0]}, "cells.c0: connections: expected"),
        (("cells", 0, "over"), {"connections": 3}, "cells.0.over: expected a table of lists"),
        (
            ("cells", 0, "id"),
            "c{conections}",
            "cells.0.id: expected one of connections in braces, got 'conections'",
        ),
        (("cells", 0, "id"), "same", "expected ids that differ, got 'same' twice"),
        (
            ("presets", "quick", "cells"),
            ["c9"],
            "presets.quick: expected a cell of this study (c1, c8), got 'c9'",
        ),
        (
            ("presets", "quick", "cells"),
            ["c8", "c1", "c8"],
            "presets.quick.cells: expected cells that differ, got 'c8' twice",
        ),
        (("presets", "quick", "window"), "5", "presets.quick.window: expected a duration"),
        (("presets", "quick", "min_blocks"), 3, "presets.quick.min_blocks: expected"),
        (
            ("presets", "quick", "min_blocks"),
            9,
            "presets.quick.max_blocks: expected at least min_blocks (9), got 6",
        ),
        (("name",), "other", "name: expected 'tiny' as the file is called, got 'other'"),
    ],
)
def test_errors_name_file_and_key(path: tuple[str | int, ...], value: object, message: str) -> None:
    data: Any = minimal()
    target = data
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    with pytest.raises(CatalogError) as error:
        parse(data)
    assert "studies/tiny.toml: " in str(error.value)
    assert message in str(error.value)


def test_a_client_cell_in_a_server_study_is_refused() -> None:
    data = minimal()
    data["role"] = "client"
    with pytest.raises(CatalogError, match="expected a kind for role client, got 'closed'"):
        parse(data)


def test_only_http_is_posted() -> None:
    data = tomllib.loads((STUDIES / "roundtrip.toml").read_text(encoding="utf-8"))
    posted = next(cell for cell in data["cells"] if "method" in cell)
    posted["rows"][1][0] = "ws"
    with pytest.raises(CatalogError, match="method: expected the scheme http or https, got 'ws'"):
        parse_study(data, path=Path("roundtrip.toml"))


def test_only_what_is_echoed_has_a_size_of_its_own() -> None:
    cells = {cell.id: cell for cell in load_study(STUDIES / "websocket.toml").preset("sizes").cells}
    sizes = [one.load.payload_bytes for one in cells.values() if isinstance(one.load, ClosedLoad)]
    assert sizes == [16, 1024, 65536, 1048576]
    data = tomllib.loads((STUDIES / "websocket.toml").read_text(encoding="utf-8"))
    sized = next(cell for cell in data["cells"] if "payload_bytes" in cell.get("over", {}))
    sized["workload"] = "ws.count"
    with pytest.raises(CatalogError, match="payload_bytes: expected the workload"):
        parse_study(data, path=Path("websocket.toml"))


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (
            {"rtt_ms": 54, "jitter_ms": 30},
            "link: expected at most half of rtt_ms as jitter_ms, got",
        ),
        ({"rtt_ms": 54, "rate_mbit": 2e6}, "link.rate_mbit: expected less than or equal to"),
    ],
)
def test_a_link_that_wirelink_would_refuse_is_refused(link: dict[str, Any], message: str) -> None:
    data = tomllib.loads((STUDIES / "rest.toml").read_text(encoding="utf-8"))
    linked = next(cell for cell in data["cells"] if "link" in cell)
    linked["link"] = link
    with pytest.raises(CatalogError) as error:
        parse_study(data, path=Path("rest.toml"))
    assert message in str(error.value)


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.toml"
    digits, levels = b"x = " + b"9" * 5000, b"x = " + b"[" * 5000
    for content in (b"name = ", b'name = "caf\xe9"', digits, levels):
        file.write_bytes(content)
        with pytest.raises(CatalogError, match=r"broken\.toml: expected TOML"):
            load_study(file)


def test_unknown_names_list_the_known_ones() -> None:
    study = parse(minimal())
    with pytest.raises(CatalogError, match="no preset 'slow'; it has: full, quick"):
        study.preset("slow")
    full = [(study, study.preset("full"))]
    with pytest.raises(CatalogError, match="expected one of c1, c8, got 'c2'"):
        select_cells(full, ("c2",))
    ((_, chosen),) = select_cells(full, ("c8",))
    assert [cell.id for cell in chosen.cells] == ["c8"]
    assert select_cells(full, ()) == full


@pytest.mark.parametrize(
    ("text", "ns"), [("500us", 500_000), ("1.5s", 1_500_000_000), ("5m", 300_000_000_000)]
)
def test_durations(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


def test_every_load_of_a_stored_plan_is_read_as_what_it_was() -> None:
    """A broadcast has the fields of a closed loop, and would be resumed as one."""
    stored = TypeAdapter(Cell)
    for study in load_studies(STUDIES).values():
        for preset in study.presets.values():
            for cell in preset.cells:
                assert stored.validate_json(stored.dump_json(cell)) == cell
