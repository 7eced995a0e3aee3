"""The published figures: each maps to what can be measured, or says why not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from synthetic_run import World, write_run
from wirebench.catalog.contestants import load_catalog
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.published import Published, read_published
from wirebench.catalog.studies import load_studies
from wirebench.cli.console import EXIT_OK, EXIT_USAGE
from wirebench.cli.main import run_app
from wirebench.cli.published import _fullest_run
from wirebench.report import analyse_run
from wirebench.report.published import Order, beside
from wirebench.store.rundir import read_run

ROOT = Path(__file__).resolve().parents[2]
CONCURRENCY = ROOT / "studies" / "published" / "concurrency.toml"
WORLD = World(studies=("concurrency",), samples=60)


def read(path: Path) -> Published:
    study = load_studies(ROOT / "studies")["concurrency"]
    cells = study.presets["full"].cells
    return read_published(
        path,
        cells={cell.id for cell in cells},
        contestants=set(load_catalog(ROOT).contestants),
        metrics={cell.primary for cell in cells},
    )


def test_each_published_figure_maps_or_says_why_not() -> None:
    rows = [row for table in read(CONCURRENCY).tables for row in table.rows]
    assert len(rows) == 12
    assert [row.value for row in rows if row.absent] == [21000]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('cell = "c50"', 'cell = "c51"', "tables.0.rows.0.cell: expected one of"),
        ('"node/http"', '"node/htp"', "tables.0.rows.1.contestant: expected one of"),
        ('"throughput_per_s"', '"speed"', "tables.0.metric: expected one of"),
        ("value = 697", "value = -1", "tables.0.rows.3.value: expected"),
        ('absent = "20', 'cell = "c50", absent = "20', "expected either cell and contestant"),
    ],
)
def test_a_wrong_file_says_where(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "concurrency.toml"
    path.write_text(CONCURRENCY.read_text().replace(old, new, 1))
    with pytest.raises(CatalogError) as error:
        read(path)
    assert said in str(error.value)


def order_of(run: Path) -> Order:
    stored = read_run(run)
    return beside(read(CONCURRENCY), analyse_run(stored).of_study("concurrency"))[0].order


def test_the_order_agrees_where_the_verdicts_say_so(tmp_path: Path) -> None:
    order = order_of(write_run(tmp_path, WORLD))
    # node/http has too few valid blocks there for a rank, so its three pairs are open.
    assert order == Order(agree=3, disagree=0, open=3)


def test_a_reversed_pair_disagrees(tmp_path: Path) -> None:
    order = order_of(write_run(tmp_path, replace(WORLD, scale={"python/flask": 0.05})))
    assert order.disagree > 0


def test_open_pairs_leave_a_range() -> None:
    assert Order(agree=4, disagree=1, open=1).tau == pytest.approx((2 / 6, 4 / 6))
    assert Order(agree=0, disagree=0, open=0).tau is None


def test_the_command_prints_both_and_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    assert run_app(["published", "concurrency", str(write_run(tmp_path, WORLD))]) == EXIT_OK
    said = capsys.readouterr().out
    assert "pairs agree" in said
    assert "stands for it: av_http is no contestant" in said
    assert "5 valid blocks; a rank needs 6" in said
    assert "the run has no such cell" in said
    assert "20,000 connections: one process has a limit" in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["published", "nothing", "{run}"], "STUDY: expected one with published figures"),
        (["published", "concurrency", "no-such-run"], "RUN: expected"),
        (["published", "concurrency", "{run}"], "RUN: expected a run with cells of concurrency"),
    ],
)
def test_the_command_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str
) -> None:
    run = write_run(tmp_path, replace(WORLD, studies=("rest",)))
    assert run_app([word.format(run=run) for word in arguments]) == EXIT_USAGE
    assert expected in capsys.readouterr().err


def test_without_a_run_the_newest_with_the_most_cells_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wirebench.cli.published.find_root", lambda: tmp_path)
    for name, cells in (("1-two", 2), ("2-two", 2), ("3-one", 1)):
        folder = tmp_path / "results" / name
        folder.mkdir(parents=True)
        plan = {"schema": 1, "cells": [{"study": "concurrency"}] * cells}
        (folder / "plan.json").write_text(json.dumps(plan))
        (folder / "trials.jsonl").write_text("{}\n")
    assert _fullest_run("concurrency").name == "2-two"
    with pytest.raises(CatalogError, match="expected a run of rest"):
        _fullest_run("rest")
