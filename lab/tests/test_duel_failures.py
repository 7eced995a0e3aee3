"""Duels with trials that failed: what is counted, and what is promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from duel_world import cell_of, trials_of
from test_duel import duelled
from wirebench.duel.text import document, rows
from wirebench.duel.verdicts import judged
from wirebench.trial.record import FailureRecord, TrialRecord


def test_errors_are_counted_by_side() -> None:
    cell = cell_of()
    trials = trials_of(cell, 8, factor=1, noise=0.01, seed=1)

    def wrong(one: TrialRecord, kind: str) -> TrialRecord:
        return replace(
            one,
            status="failed",
            failure=FailureRecord(kind=kind, phase="load", message="wrong"),
            load={"requests": {"errors": 1_200}},
        )

    of_b = [one for one in trials if one.entry == "B"]
    marked = {of_b[0].trial: "wrong_reply", of_b[1].trial: "bad_status", of_b[2].trial: "crashed"}
    given = [wrong(one, marked[one.trial]) if one.trial in marked else one for one in trials]
    duel = duelled(judged(cell, given, level=0.05, band=0.01))
    assert ("errors", "0", "2,400", "", "") in list(rows(duel, "B"))
    assert ("failed trials", "0", "3", "", "") in list(rows(duel, "B"))
    assert document(duel)["errors"] == {"A": 0, "B": 2_400}


def test_what_fails_in_a_dropped_block_is_not_counted() -> None:
    cell = cell_of()
    stolen = {"steal_ns": 10**9, "watched_ns": 10**9}
    failure = FailureRecord(kind="closed_early", phase="load", message="closed")

    def given(covariates: Mapping[str, int]) -> list[TrialRecord]:
        return [
            replace(one, status="failed", failure=failure, covariates=covariates)
            if (one.block, one.contestant) == (3, "B")
            else one
            for one in trials_of(cell, 8, factor=1, noise=0.01, seed=1)
        ]

    second = sum(one.contestant == "B" for one in cell.entries)
    for covariates, count in (({}, second), (stolen, 0)):
        result = judged(cell, given(covariates), level=0.05, band=0.01)
        assert result.failed == {"A": 0, "B": count}, "its second entry is the same server"
        assert result.errors == {"A": 0, "B": count}
        assert ("failed trials", "0", str(count), "", "") in list(rows(duelled(result), "B"))


def test_more_blocks_are_not_promised_of_a_server_that_always_fails() -> None:
    cell = cell_of()
    failure = FailureRecord(kind="start_crashed", phase="start", message="it exited with 1")
    given = [
        replace(one, status="failed", failure=failure, metrics={}) if one.contestant == "B" else one
        for one in trials_of(cell, 1, factor=1, noise=0.01, seed=1)
    ]
    duel = duelled(judged(cell, given, level=0.05, band=0.01))
    shown = {row[0]: row[-1] for row in rows(duel, "B")}
    assert shown["requests/s"] == "open: no block has figures of both"
    assert {line["more_blocks"] for line in document(duel)["lines"]} == {None}
