"""Connections beyond the open files of one process: more processes, or a reason why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from test_plan import contestant
from wirebench.catalog.loads import BroadcastLoad, ClosedLoad, EachLoad, RampLoad, most_connections
from wirebench.catalog.studies import Cell
from wirebench.catalog.study_files import load_studies
from wirebench.plan.files import processes_for, processes_of, too_few_files

STUDY = load_studies(Path(__file__).resolve().parents[2] / "studies")["concurrency"]
CELLS = {cell.id: cell for cell in STUDY.preset("full").cells}
ONE = contestant("go/net-http", serves=("http.hello",))
SEVERAL = replace(contestant("c/nginx", serves=("http.hello",)), processes=True)


def rung(connections: int) -> Cell:
    load = CELLS["c50"].load
    assert isinstance(load, ClosedLoad)
    return replace(CELLS["c50"], load=replace(load, connections=connections))


@pytest.mark.parametrize(
    ("connections", "files", "processes"),
    [
        (50, 20_000, 1),
        (16_000, 20_000, 1),
        (16_001, 20_000, 2),
        (100_000, 20_000, 7),
        (100_000, 1_048_576, 1),
    ],
)
def test_each_process_fills_four_fifths_of_its_files_at_most(
    connections: int, files: int, processes: int
) -> None:
    assert processes_for(rung(connections), open_files=files) == processes


def test_one_process_with_too_few_files_is_told_how_many_there_are() -> None:
    asked = rung(50_000)
    assert too_few_files(ONE, asked, open_files=20_000) == (
        "20,000 a process, and it is one process: too few for 50,000 connections"
    )
    assert too_few_files(ONE, asked, open_files=70_000) is None
    assert too_few_files(SEVERAL, asked, open_files=20_000) is None


def test_a_library_may_hold_fewer_than_the_host_allows() -> None:
    one, several = (replace(each, open_files=1024) for each in (ONE, SEVERAL))
    assert processes_of(several, rung(819), open_files=20_000) == 1
    assert processes_of(several, rung(5000), open_files=20_000) == 7
    assert processes_of(several, rung(5000), open_files=500) == 13, "the host's is lower"
    assert processes_of(SEVERAL, rung(5000), open_files=20_000) == 1
    assert too_few_files(several, rung(5000), open_files=20_000) is None
    assert too_few_files(one, rung(819), open_files=20_000) is None
    assert too_few_files(one, rung(5000), open_files=20_000) == (
        "1,024 a process, which is its own limit, and it is one process: too few for 5,000"
        " connections"
    )


def test_the_published_rungs_need_one_process_where_it_may_open_20000_files() -> None:
    published = STUDY.preset("published").cells
    assert {processes_for(cell, open_files=20_000) for cell in published} == {1}
    rungs = {name: processes_for(cell, open_files=20_000) for name, cell in CELLS.items()}
    assert {name: count for name, count in rungs.items() if count > 1} == {
        "c20000": 2,
        "c50000": 4,
        "c100000": 7,
    }


def test_every_load_has_its_most_connections() -> None:
    ramp = RampLoad(rounds=100, add=100, messages=1, pacing="burst")
    each = EachLoad(producers=10, messages=5, delay_ms=0, policy="new", threads=1)
    assert (most_connections(ramp), most_connections(each)) == (10_000, 10)


def test_several_processes_do_not_help_where_one_has_to_see_all_connections() -> None:
    load = BroadcastLoad(connections=50_000, warmup_ns=0, window_ns=1)
    asked = replace(CELLS["c50"], kind="broadcast", workload="ws.broadcast", load=load)
    assert "too few for 50,000" in (too_few_files(SEVERAL, asked, open_files=20_000) or "")
    assert too_few_files(SEVERAL, asked, open_files=70_000) is None
