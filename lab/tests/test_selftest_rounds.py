"""The self-test's rounds, with a generator that measures what it is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from wirebench.cli.main import run_app
from wirebench.process.interrupt import Interrupted
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Cores
from wirebench.selftest import table
from wirebench.selftest.cases import FULL, Case, Load
from wirebench.selftest.generator import GeneratorError, Measured
from wirebench.selftest.judge import Row
from wirebench.selftest.laws import MS, US, Constant, S
from wirebench.selftest.realtime import realtime
from wirebench.selftest.repeats import Base
from wirebench.selftest.suite import Programs, Suite, Wanted
from wirebench.selftest.truth_server import Counts, Record

CONSTANT = Case(name="constant", law=Constant(delay_ns=10 * MS))


class Faked(Suite):
    """Its generator measures what it is told, run by run, each with a fresh server that keeps its
    law.
    """

    def __init__(
        self, wanted: Wanted, measured: Callable[[int], float | Exception | Interrupted]
    ) -> None:
        cores = Cores(contestant=(0,), generator=(1,))
        super().__init__(
            wanted,
            FULL,
            programs=Programs(wireload=Path("w"), truth_server=Path("t")),
            supervisor=Supervisor(),
            cores=cores,
            say=lambda _: None,
        )
        self.order: list[tuple[str, int, int]] = []
        self._measured = measured

    def once(self, case: Case, load: Load, seed: int) -> tuple[Measured, Record]:
        self.order.append((case.name, load.rate, seed))
        base = case.name == "no delay"
        value = (
            30 * US
            if base
            else self._measured(sum(name != "no delay" for name, _, _ in self.order))
        )
        if isinstance(value, BaseException):
            raise value
        law = 0 if base else 10 * MS
        count = 20_000
        received = np.arange(count, dtype=np.int64) * S // count
        delays = np.full(count, law, dtype=np.int64)
        counts = Counts.model_validate(
            dict.fromkeys(
                (
                    "connections",
                    "dropped",
                    "wrong_status",
                    "wrong_body",
                    "wrong_length",
                    "samples_left_out",
                ),
                0,
            )
            | {"anchor_unix_ns": 0, "requests": count, "right": count}
        )
        measured = Measured(
            start_unix_ns=0,
            elapsed_ns=S,
            count=count,
            requests=count,
            percentiles=dict.fromkeys(("p50", "p90", "p99", "p99.9", "max"), value),
            errors={},
            evictions_per_s=0,
            void=None,
            engine="epoll",
        )
        return measured, Record(counts=counts, received_unix=received, law=delays, really=delays)


def faked(
    measured: Callable[[int], float | Exception | Interrupted], rates: tuple[int, ...] = (1_000,)
) -> Faked:
    return Faked(Wanted(cases=(CONSTANT,), modes=("constant",), rates=rates, repeats=5), measured)


def verdicts_of(suite: Suite) -> list[tuple[str, int]]:
    rows = [row for group in suite.groups for row in group.results()]
    return [
        (row.verdict, row.runs) for row in rows if isinstance(row, Row) and row.percentile == "p99"
    ]


RIGHT_NS, FALSE_NS = 10.03 * MS, 13.0 * MS


def test_falsified_percentiles_are_found_and_one_bad_run_is_not_held_against_it() -> None:
    suite = faked(lambda _: RIGHT_NS)
    suite.run()
    assert verdicts_of(suite) == [("yes", 5)]
    suite = faked(lambda _: FALSE_NS)
    suite.run()
    assert verdicts_of(suite) == [("NO", 5)]
    suite = faked(lambda number: FALSE_NS if number == 3 else RIGHT_NS)
    suite.run()
    assert verdicts_of(suite) == [("yes", 5)]
    console = Console(width=200, no_color=True)
    with console.capture() as capture:
        console.print(table.percentile_table(suite.groups[0].results()))
    assert "0.0 us [0.0 us, +2.97 ms]" in capture.get()
    suite = faked(lambda number: GeneratorError("it fell") if number != 3 else RIGHT_NS)
    suite.run()
    assert verdicts_of(suite) == [("undecided", 1)]
    assert [line.partition("round ")[2] for line in suite.groups[0].missing()] == [
        f"{n}: it fell" for n in (1, 2, 4, 5)
    ]


def test_rounds_go_over_all_loads_again_and_again() -> None:
    suite = faked(lambda _: RIGHT_NS, rates=(1_000, 10_000))
    suite.run()
    one = [("no delay", 1_000), ("no delay", 10_000), ("constant", 1_000), ("constant", 10_000)]
    assert [(name, rate) for name, rate, _ in suite.order] == 5 * one
    assert len({seed for _, _, seed in suite.order}) == 5
    assert [base.trials for base in suite.bases.values()] == [5, 5]
    assert [group.base for group in suite.groups] == 2 * [
        Base(total_ns=30 * US, way_ns=30 * US)
    ]  # it recorded no delay


def test_what_was_done_before_an_interruption_is_judged() -> None:
    def until(last: int) -> Faked:
        suite = faked(lambda number: RIGHT_NS if number <= last else Interrupted(2))
        with pytest.raises(Interrupted):
            suite.run()
        return suite

    assert verdicts_of(until(3)) == [("yes", 3)]
    suite = until(2)
    assert verdicts_of(suite) == [("undecided", 2)]
    assert suite.groups[0].missing() == ["constant, constant, 1,000/s, from round 3 on: not begun"]
    assert verdicts_of(until(0)) == []
    assert len(json.loads(json.dumps(document_of(suite)))["runs"]) == 2


def document_of(suite: Suite) -> dict[str, Any]:
    groups = suite.groups
    results = [row for group in groups for row in group.results()]
    return table.to_json(results, groups, (), suite.bases, suite.missing)


def test_the_document_keeps_every_run() -> None:
    suite = faked(lambda number: GeneratorError("it fell") if number == 2 else RIGHT_NS)
    suite.run()
    stored = json.loads(json.dumps(document_of(suite)))
    assert stored["schema"] == "selftest/3"
    assert [(run["round"], run["void"]) for run in stored["runs"]] == [
        (1, None),
        (2, "it fell"),
        *((n, None) for n in (3, 4, 5)),
    ]
    assert stored["runs"][0]["percentiles"]["p99"]["measured"] == RIGHT_NS
    assert [run["engine"] for run in stored["runs"]] == ["epoll", None, "epoll", "epoll", "epoll"]
    assert table.engine_line(suite.groups, None) == "engine: epoll in 4 runs (as wireload chose)"
    assert [row["runs"] for row in stored["percentiles"]] == [4] * 5
    assert stored["bases_ns"][0]["p50_ns"]["median"] == 30 * US
    assert "closed 1,000/s 30.0 us" in table.footer(
        {("closed", 1_000): suite.bases["constant", 1_000]}
    )


def test_real_time_priority_is_given_and_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [(os.SCHED_OTHER, 0)]
    monkeypatch.setattr(os, "sched_getscheduler", lambda pid: now[-1][0])
    monkeypatch.setattr(os, "sched_getparam", lambda pid: os.sched_param(now[-1][1]))
    monkeypatch.setattr(
        os,
        "sched_setscheduler",
        lambda pid, policy, param: now.append((policy, param.sched_priority)),
    )
    with realtime():
        assert now[-1] == (os.SCHED_FIFO, 1)
    assert now[-1] == (os.SCHED_OTHER, 0)


def test_where_it_is_not_allowed_it_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(pid: int, policy: int, param: object) -> None:
        raise PermissionError(1, "no")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    assert (
        run_app(
            [
                "selftest",
                "--quick",
                "--realtime",
                "--wireload",
                "/bin/true",
                "--truth-server",
                "/bin/true",
            ]
        )
        == 64
    )
    assert "--realtime: expected the right to real-time priority" in capsys.readouterr().err
