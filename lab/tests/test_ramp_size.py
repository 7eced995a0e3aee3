"""Ramps of the size that a command line asks for, and how long they will take."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

import pytest

from fake_bench import FakeBench
from synthetic_run import write_run
from synthetic_world import World
from test_presets_by_time import CATALOG, STUDIES, scope
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import RampLoad
from wirebench.catalog.selection import RampSize
from wirebench.cli.console import EXIT_OK, EXIT_USAGE
from wirebench.cli.forecast import clock
from wirebench.cli.main import run_app
from wirebench.plan.estimate import NO_PACES, Paces, Seen, trial_of_ns
from wirebench.run.scope import scope_of
from wirebench.stats.pace import (
    PACES_FILE,
    STARTS_FILE,
    StartRecord,
    pace_records,
    remember_paces,
    remembered_paces,
    start_records,
)
from wirebench.store.jsonl import StoreError
from wirebench.store.records import Selection
from wirebench.store.rundir import read_run


def test_both_pacings_of_a_preset_have_the_size() -> None:
    size = RampSize(rounds=7, add=30, messages=9)
    found = scope("websocket", preset="quick", ramp=size)
    assert [cell.key for cell in found.cells] == [
        "websocket.serial-r7-a30-q9",
        "websocket.burst-r7-a30-q9",
    ]
    for cell in found.cells:
        load = cell.cell.load
        assert isinstance(load, RampLoad)
        assert (load.rounds, load.add, load.messages) == (7, 30, 9)
        assert cell.cell.title.startswith("R = 7, A = 30, Q = 9, ")


def test_what_is_left_out_is_the_articles_and_keeps_its_name() -> None:
    found = scope("websocket", preset="hour", ramp=RampSize())
    assert {cell.cell.id for cell in found.cells} <= {"serial", "burst"}
    published = scope("websocket", preset="published", ramp=RampSize(rounds=20))
    assert [cell.cell.id for cell in published.cells] == [
        "burst-r20-a100-q100",
        "echo-burst-r20-a100-q100",
    ]
    assert [cell.cell.workload for cell in published.cells] == ["ws.count", "ws.echo"]
    small = scope("websocket", preset="full", ramp=RampSize(rounds=4, add=50, messages=20))
    assert [cell.cell.id for cell in small.cells] == [
        "serial-small",
        "burst-small",
        "echo-burst-r4-a50-q20",
    ]


def test_a_study_without_ramps_is_told_so() -> None:
    with pytest.raises(CatalogError, match=r"--rounds, .*expected a study with ramps .*rest"):
        scope("rest", preset="quick", ramp=RampSize(rounds=5))
    both = scope("rest", "websocket", preset="quick", ramp=RampSize(rounds=5))
    assert {cell.study.name for cell in both.cells} == {"websocket"}


def test_the_options_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "websocket", "--quick", "--dry-run", "--only", "floor"]
    assert run_app([*command, "--rounds", "3", "--messages", "2", "--add", "5"]) == EXIT_OK
    said = capsys.readouterr().out
    assert "burst-r3-a5-q2" in said
    assert "burst-small" not in said
    assert run_app([*command, "--rounds", "0"]) == EXIT_USAGE


@pytest.mark.parametrize(
    "size",
    [
        ("--rounds", "1" + "0" * 20),
        ("--rounds", "100001", "--add", "1"),
        ("--rounds", "10001"),
        ("--add", "1000001", "--rounds", "1"),
        ("--messages", "65537"),
        ("--blocks", "1" + "0" * 400),
        ("--repeats", "1" + "0" * 400),
    ],
)
def test_a_size_that_no_trial_could_have_is_refused(
    size: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "websocket", "--quick", "--dry-run", "--only", "floor"]
    assert run_app([*command, *size]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert size[0] in said
    assert "Traceback" not in said


def test_a_run_of_years_has_an_end_with_a_date(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "websocket", "--quick", "--dry-run", "--only", "floor"]
    assert run_app([*command, "--blocks", "1000000", "--rounds", "10000"]) == EXIT_OK
    (end,) = (one for one in capsys.readouterr().out.splitlines() if one.startswith("ends"))
    assert "year 10000 or later" in end


def test_an_end_by_the_clock_is_one_moment() -> None:
    now = datetime(2026, 3, 5, 12, 0).astimezone().timestamp()  # a Thursday
    assert clock(now + 3600, now_unix_s=now) == "Thu 13:00"
    assert clock(now + 5 * 86_400, now_unix_s=now) == "Tue 12:00"
    assert clock(now + 7 * 86_400, now_unix_s=now) == "2026-03-12 12:00"
    assert clock(1e17, now_unix_s=now) == "the year 10000 or later"
    assert clock(1e30, now_unix_s=now) == "the year 10000 or later"


def test_the_estimate_knows_each_contestants_pace(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, World(studies=("websocket",), samples=60)))
    host = str(run.host.get("host_id", ""))
    assert remembered_paces(tmp_path, host_id=host) == NO_PACES
    remember_paces(tmp_path, run)
    remember_paces(tmp_path, run)
    lines = (tmp_path / PACES_FILE).read_text().splitlines()
    assert len(lines) == len(pace_records(run)) > 0
    paces = remembered_paces(tmp_path, host_id=host).messages
    assert remembered_paces(tmp_path, host_id="another") == NO_PACES
    assert {count for known in paces.values() for count in known} == {1, 20}
    # The synthetic rounds say what each message took; a twin's count as its contestant's.
    for record in pace_records(run):
        (cell,) = (one for one in run.plan.cells if one.cell.id == record.cell)  # type: ignore[union-attr]
        trials = [one for one in run.trials if one.contestant == record.contestant]
        trial = next(one for one in trials if one.cell == cell.cell.id and one.rounds)
        spent = sum(one["elapsed_ns"] for one in trial.rounds or ())
        answered = sum(one["answered"] for one in trial.rounds or ())
        assert record.message_ns == pytest.approx(spent / answered, rel=0.5)
    name = next(name for name, _, _ in paces if name in CATALOG)

    def seconds(ns: float, back_to_back: int = 100) -> float:
        known = {
            (name, "ws.count", "burst"): {back_to_back: ns},
            (name, "ws.count", "serial"): {1: ns},
        }
        found = scope_of(
            Selection(studies=("websocket",), preset="full", seed=1, ramp=RampSize(), blocks=1),
            studies=STUDIES,
            wanted=[CATALOG[name]],
            everybody=CATALOG,
            bench=FakeBench(),
            paces=Paces(messages=known),
        )
        return found.measuring_ns / 1e9

    fast, slow = seconds(1_000), seconds(2_000)
    # 50.5 million messages in each of two ramps; the contestant may be its own twin.
    assert slow - fast == pytest.approx(101.0 * round((slow - fast) / 101.0), rel=0.01)
    assert slow - fast >= 100
    assert seconds(1_000, 2) < fast, "a message takes less where many stand back to back"
    assert seconds(1_000, 1_000) > fast


def test_a_torn_line_is_left_out(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, World(studies=("websocket",), samples=60)))
    remember_paces(tmp_path, run)
    path = tmp_path / PACES_FILE
    whole = path.read_text()
    path.write_text(whole[: len(whole) - 20])
    host = str(run.host.get("host_id", ""))
    known = remembered_paces(tmp_path, host_id=host).messages
    assert 0 < len(known) <= len(pace_records(run))


def test_the_estimate_knows_how_long_each_takes_to_accept_its_connections(tmp_path: Path) -> None:
    """A server that accepts slowly takes the time of a run's largest cells."""
    run = read_run(write_run(tmp_path, World(studies=("concurrency",), samples=60)))
    host = str(run.host.get("host_id", ""))
    slow = "python/flask"
    trials = tuple(
        replace(
            one,
            metrics={**one.metrics, "ready_ns": 9 * 10**8, "connect_ns": 4 * 10**9},
        )
        if (one.contestant, one.cell) == (slow, "c1000")
        else one
        for one in run.trials
    )
    slowed = replace(run, trials=trials)
    remember_paces(tmp_path, slowed)
    remember_paces(tmp_path, slowed)
    lines = (tmp_path / STARTS_FILE).read_text().splitlines()
    assert len(lines) == len(start_records(slowed)) > 0
    assert not (tmp_path / PACES_FILE).exists(), "no ramp"
    paces = remembered_paces(tmp_path, host_id=host)
    cells = {one.id: one for one in STUDIES["concurrency"].preset("full").cells}
    assert paces.of(cells["c1000"], slow) == Seen(start_ns=9e8, connect_ns=4e9)
    assert paces.of(cells["c5000"], slow).connect_ns == 5 * 4e9, "by the nearest that is known"
    hung = Paces(connects={(slow, "http.hello", False): {1000: 36e9}})
    assert hung.of(cells["c5000"], slow).connect_ns == 36e9, "trials are given up"
    assert paces.of(cells["c1000"], "none/such") == Seen()

    def seconds(cell: str, known: Paces) -> float:
        return trial_of_ns(cells[cell], CATALOG[slow], hardware_threads=2, paces=known) / 1e9

    for cell, connecting in (("c1000", 4), ("c5000", 20)):
        more = seconds(cell, paces) - seconds(cell, NO_PACES)
        assert more == pytest.approx(connecting, abs=2)


def test_kept_figures_that_make_no_sense_are_left_out(tmp_path: Path) -> None:
    good = StartRecord(
        run="a",
        started_unix_ns=1,
        host_id="h",
        study="concurrency",
        cell="c50",
        contestant="go/x",
        workload="http.hello",
        tls=False,
        connections=50,
        start_ns=1e6,
        connect_ns=2e6,
    )
    lines = [json.dumps(asdict(one)) for one in (good, replace(good, connections=0))]
    bad = [b"\xff\xfe", b"[" * 100_000, b"{}", b"null"]
    content = b"\n".join([*bad, *(one.encode() for one in lines)]) + b"\n"
    (tmp_path / STARTS_FILE).write_bytes(content)
    found = remembered_paces(tmp_path, host_id="h")
    assert found.connects == {("go/x", "http.hello", False): {50: 2e6}}
    (tmp_path / PACES_FILE).mkdir()
    with pytest.raises(StoreError, match=r"paces.jsonl: not read: Is a directory"):
        remembered_paces(tmp_path, host_id="h")
