"""Where a ramp broke, from what is stored of its rounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from synthetic_run import write_run
from synthetic_world import World
from wirebench.catalog.loads import RampLoad
from wirebench.cli.table import cell_table
from wirebench.report import analyse_run
from wirebench.report.figures import breaking_text
from wirebench.report.view import page_view
from wirebench.stats.breaking import breaking_of
from wirebench.store.rundir import read_run
from wirebench.trial.record import TrialRecord

LOAD = RampLoad(rounds=10, add=100, messages=10, pacing="burst")
BROKE = "partial_errors: in round 3 with 300 connections: closed_early 10"


def round_of(number: int, *, lost: int = 0, errors: dict[str, int] | None = None) -> dict[str, Any]:
    messages = number * 1000
    return {
        "round": number,
        "clients": number * 100,
        "sent": messages,
        "answered": messages - lost,
        "errors": errors or {},
    }


def trial(*rounds: dict[str, Any], warnings: tuple[str, ...] = (BROKE,)) -> TrialRecord:
    return TrialRecord(
        trial="t",
        study="websocket",
        cell="burst",
        block=1,
        position=1,
        entry="go/x",
        contestant="go/x",
        twin_of=None,
        status="ok",
        failure=None,
        started_unix_ns=0,
        elapsed_ns=1,
        rounds=rounds,
        warnings=warnings,
    )


def text_of(*trials: TrialRecord) -> str:
    found = breaking_of(trials, LOAD)
    assert found is not None
    return breaking_text(found)


def test_a_ramp_that_held_did_not_break() -> None:
    assert breaking_of([trial(round_of(1), warnings=())], LOAD) is None
    assert breaking_of([trial(round_of(1), warnings=("ignored_sigterm: it",))], LOAD) is None


def test_the_first_round_that_lost_messages_is_where_it_broke() -> None:
    broken = round_of(3, lost=1500, errors={"closed_early": 1490, "read_timeout": 10})
    held = trial(round_of(1), warnings=())
    assert text_of(trial(round_of(2), broken, round_of(4, lost=4000)), held) == (
        "broke in round 3 (300 clients) in 1 of 2 trials, 50% of its messages unanswered:"
        " connections closed by the server, no reply in time"
    )


def test_rounds_that_differ_are_a_range() -> None:
    assert text_of(
        trial(round_of(7, lost=7000, errors={"connect_refused": 100})),
        trial(round_of(8, lost=8000, errors={"connect_refused": 100})),
    ).startswith("broke in rounds 7 to 8 (700 to 800 clients) in 2 of 2 trials, 100% of its")


def test_how_it_ended_is_said_and_hides_nothing() -> None:
    ended = "partial_errors: the server crashed with SIGSEGV; its last output: \x1b[31m"
    said = text_of(trial(round_of(3, lost=3), warnings=(BROKE, ended)))
    assert said.endswith("the server crashed with SIGSEGV; its last output: \\x1b[31m")


def test_without_a_round_the_trial_says_that_it_broke() -> None:
    late = "partial_errors: after its last round: closed_early 1"
    assert text_of(trial(round_of(1), warnings=(late,))) == (
        "broke after its last round in 1 of 1 trial"
    )


def test_tables_and_report_say_where_it_broke(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, World(studies=("websocket",), samples=60)))
    analysis = analyse_run(run)
    expected = "broke in round 4 (200 clients) in 6 of 6 trials, 38% of its messages unanswered"
    (row,) = (
        row
        for cell in page_view(run, analysis).studies[0].cells
        for row in cell.rows
        if row.entry == "python/websockets" and cell.id == "burst-small"
    )
    assert f"{expected}: no reply in time" in row.remarks
    assert not any("partial" in remark for remark in row.remarks)


@pytest.mark.parametrize("width", [80, 100, 120, 140, 200])
def test_remarks_of_a_table_are_whole_at_every_width(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    run = read_run(write_run(tmp_path, World(studies=("websocket",), samples=60)))
    cell = next(one for one in analyse_run(run).cells if one.cell == "burst-small")
    Console(width=width).print(cell_table(cell, width=width))
    said = capsys.readouterr().out
    assert "…" not in said
    assert "python/websockets broke in round 4 (200 clients)" in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= width
