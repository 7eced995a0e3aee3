"""The self-test's verdicts and tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from wirebench.selftest import table
from wirebench.selftest.beside import PeerRow
from wirebench.selftest.cases import FULL, Case, Faults, Load, load_for
from wirebench.selftest.judge import (
    ErrorRow,
    Errors,
    Result,
    Row,
    Seen,
    Verdict,
    error_row,
    errors_of,
    exit_code,
    percentile_row,
)
from wirebench.selftest.laws import MS, US, Conditions, Constant, S, Slow, Span
from wirebench.selftest.repeats import Base, Group, Run

LOAD = Load(mode="constant", rate=1_000, connections=64, in_flight=1, warmup_ns=S, window_ns=12 * S)
BASE = Base(total_ns=30 * US, way_ns=20 * US)
MET = Conditions(
    mode="constant",
    rate=1_000,
    connections=64,
    count=12_000,
    start_s=1,
    seconds=12,
    base_ns=30 * US,
)


def shown(*tables: object) -> str:
    console = Console(width=220, no_color=True)
    with console.capture() as capture:
        for one in tables:
            console.print(one)
    return capture.get()


# --- verdicts -------------------------------------------------------------------------------------

CONSTANT = Case(name="constant", law=Constant(delay_ns=10 * MS))


def at(truth: float | None, server: float | None, measured: float | None) -> Seen:
    return Seen(
        truth=None if truth is None else Span(low=truth, high=truth),
        server=server,
        measured=measured,
    )


def judged(*seen: Seen, wanted: int | None = None, asks_server: bool = False) -> Row:
    return percentile_row(
        CONSTANT, LOAD, "p99", seen, wanted=wanted or len(seen), asks_server=asks_server
    )


@pytest.mark.parametrize(
    ("truth", "server", "measured", "expected"),
    [
        (10 * MS, 10 * MS, 10.099 * MS, "yes"),
        (10 * MS, 10 * MS, 10.101 * MS, "NO"),
        (10 * MS, 10 * MS, 9.899 * MS, "NO"),
        (30 * US, 30 * US, 79 * US, "yes"),  # 50 us where one percent is less
        (30 * US, 30 * US, 81 * US, "NO"),
        (10 * MS, 10.2 * MS, 10.2 * MS, "server"),  # it was late, and wireload says so
        (10 * MS, 10.05 * MS, 10.14 * MS, "server"),
        (10 * MS, 10.2 * MS, 10 * MS, "yes"),
        (10 * MS, 10.2 * MS, 10.4 * MS, "NO"),
        (10 * MS, 12 * MS, 11 * MS, "NO"),
        (10 * MS, None, 10.2 * MS, "NO"),
        (10 * MS, 10 * MS, None, "-"),
        (None, 10 * MS, 10 * MS, "-"),
    ],
)
def test_verdicts(
    truth: float | None, server: float | None, measured: float | None, expected: str
) -> None:
    assert judged(at(truth, server, measured)).verdict == expected


def test_where_chance_makes_the_truth_wide_the_server_is_asked_too() -> None:
    def verdict(measured: float, *, asks_server: bool) -> Verdict:
        wide = Span(low=400 * MS, high=600 * MS)
        return judged(
            Seen(truth=wide, server=480 * MS, measured=measured), asks_server=asks_server
        ).verdict

    assert verdict(550 * MS, asks_server=True) == "NO"
    assert verdict(484 * MS, asks_server=True) == "yes"
    assert verdict(550 * MS, asks_server=False) == "yes"  # a step: all of it is true


def test_the_median_of_the_repeats_decides_and_the_range_shows_the_rest() -> None:
    right, false = at(10 * MS, 10 * MS, 10.02 * MS), at(10 * MS, 10 * MS, 14 * MS)
    one = judged(right, false, right, right, right)
    assert (one.verdict, one.runs, one.wanted) == ("yes", 5, 5)
    assert one.off is not None
    assert (one.off.median, one.off.least, one.off.greatest) == pytest.approx(
        (0.02 * MS, 0.02 * MS, 4 * MS)
    )
    assert judged(false, right, false, right, right).verdict == "yes"
    assert judged(false, right, false, right, false).verdict == "NO"
    assert judged(*5 * [false]).verdict == "NO"
    assert judged(*5 * [at(10 * MS, 10 * MS, 6 * MS)]).verdict == "NO"
    # Too small and too large by turns is right in the middle: the range says that no run was.
    both = judged(at(10 * MS, 10 * MS, 14 * MS), at(10 * MS, 10 * MS, 6 * MS), right)
    assert both.verdict == "yes"
    assert both.off is not None
    assert (both.off.least, both.off.greatest) == (-4 * MS, 4 * MS)
    assert "+20.0 us [-4.00 ms, +4.00 ms]" in shown(table.percentile_table([both]))


def test_each_run_is_compared_with_its_own_truth() -> None:
    assert judged(*(at(ns * MS, ns * MS, (ns + 0.01) * MS) for ns in (10, 20, 30))).verdict == "yes"
    assert judged(*(at(ns * MS, ns * MS, 20 * MS) for ns in (10, 20.5, 30))).verdict == "NO"


def test_too_few_valid_runs_decide_nothing() -> None:
    right = at(10 * MS, 10 * MS, 10 * MS)
    row = judged(right, right, wanted=5)
    assert (row.verdict, row.note) == ("undecided", "measured in 2 of 5 runs")
    assert judged(right, right, right, wanted=5).verdict == "yes"
    assert judged(*3 * [at(10 * MS, 10 * MS, 20 * MS)], wanted=5).verdict == "NO"
    # Of a percentile that most runs had too few samples for, the others do not decide.
    assert judged(right, right, *3 * [at(10 * MS, 10 * MS, None)]).verdict == "undecided"


def test_a_server_off_its_law_excuses_only_what_it_recorded() -> None:
    late = at(10 * MS, 12 * MS, 12.05 * MS)
    assert (judged(late).verdict, judged(late).note) == (
        "server",
        "the server was late by its own record",
    )
    more = at(10 * MS, 12 * MS, 14 * MS)
    assert (judged(more).verdict, judged(more).note) == ("NO", "")
    less = at(10 * MS, 12 * MS, 11 * MS)
    assert (judged(less).verdict, judged(less).note) == ("NO", "less than the server took")
    # The run in the middle decides here too.
    assert judged(late, more, late).verdict == "server"
    assert judged(more, late, more).verdict == "NO"


def test_rows_of_a_group() -> None:
    case = Case(name="slow", law=Slow(every=100, delay_ns=100 * MS))
    measured = {
        "p50": 35.0 * US,
        "p90": 40.0 * US,
        "p99": 60 * MS,
        "p99.9": 130.0 * MS,
        "max": 140.0 * MS,
    }
    server = {
        "p50": 1.0 * US,
        "p90": 1.0 * US,
        "p99": 1.0 * US,
        "p99.9": 100.0 * MS,
        "max": 100.0 * MS,
    }
    run = Run(round=1, void=None, met=MET, measured=measured, server=server, evictions_per_s=30)
    void = Run(round=2, void="sent late; give it a core", met=MET, measured=measured, server=server)
    group = Group(
        case=case, load=LOAD, wanted=3, base=BASE, runs=(run, void, replace(run, round=3))
    )
    rows = [row for row in group.results() if isinstance(row, Row)]
    assert [(row.percentile, row.verdict, row.runs) for row in rows] == [
        ("p50", "yes", 2),
        ("p90", "yes", 2),
        ("p99", "yes", 2),
        ("p99.9", "NO", 2),
        ("max", "-", 2),
    ]
    assert rows[3].note == "typical run: others took wireload's core 30 times a second"
    assert [row.note for row in rows[:3]] == ["", "", ""]
    seldom = replace(group, runs=[replace(one, evictions_per_s=3) for one in group.runs])
    assert [row.note for row in seldom.results() if row.verdict == "NO"] == [""]
    assert rows[3].off is not None
    # The law leaves out all that a request costs, the server's record only the way.
    assert rows[0].truth == Span(low=30 * US, high=30 * US)
    assert rows[0].server == 21 * US
    assert rows[3].off.median == pytest.approx(29.97 * MS)
    assert rows[2].truth == Span(low=30 * US, high=100 * MS + 30 * US)
    assert table.missing_lines([group], ["base, x"]) == [
        "missing: base, x",
        "missing: slow, constant, 1,000/s, round 2: sent late",
    ]

    early = replace(group, runs=(run,))
    assert {row.verdict for row in early.results()} == {"undecided", "-"}
    assert early.missing() == ["slow, constant, 1,000/s, from round 2 on: not begun"]
    baseless = replace(group, base=None)
    assert [
        (row.percentile, row.verdict, row.note)
        for row in baseless.results()
        if isinstance(row, Row)
    ] == [("all", "undecided", "no valid run")]
    assert len(baseless.missing()) == 3


def test_errors_are_exact_or_wrong() -> None:
    case = Case(name="wrong", law=Constant(delay_ns=MS), faults=Faults(drop=100, body=150))

    def exact(measured: dict[str, int], server: dict[str, int]) -> bool:
        return errors_of(case, requests=1_000, measured=measured, server=server).exact

    expected = case.faults.expected(1_000)
    assert expected == {"closed_early": 10, "bad_body": 3}  # 150 450 750; 300 600 900 are dropped
    assert exact(expected, expected)
    assert exact({**expected, "read_timeout": 0}, expected)
    assert not exact({**expected, "read_timeout": 1}, expected)
    assert not exact({**expected, "bad_body": expected["bad_body"] - 1}, expected)
    assert not exact(expected, {**expected, "closed_early": 11})


def test_errors_of_every_run_must_be_exact() -> None:
    case = Case(name="drops", law=Constant(delay_ns=MS), faults=Faults(drop=100))
    right = Errors(
        truth={"closed_early": 10}, server={"closed_early": 10}, measured={"closed_early": 10}
    )
    lost = replace(right, measured={"closed_early": 9})

    def row_of(*found: Errors) -> ErrorRow:
        return error_row(case, LOAD, found, wanted=5)

    assert row_of(*5 * [right]).verdict == "yes"
    one = row_of(right, right, right, lost, right)
    assert (one.verdict, one.exact, one.runs, one.measured) == ("NO", 4, 5, {"closed_early": 9})
    assert row_of(right, right).verdict == "undecided"
    assert row_of().verdict == "undecided"
    assert row_of(lost).verdict == "NO"
    # Sent late is void for latencies; what was counted was counted.
    void = Run(round=1, void="sent late", met=MET, errors=lost)
    group = Group(case=case, load=LOAD, wanted=1, base=BASE, runs=(void,))
    assert [row.verdict for row in group.results()] == ["NO", "undecided"]


def test_errors_of_the_warm_up_do_not_count() -> None:
    faults = Faults(drop=100, body=150)
    case = Case(name="wrong", law=Constant(delay_ns=MS), faults=faults)
    server = faults.expected(1_250)
    assert faults.expected(1_000, 250) == {
        "closed_early": 10,
        "bad_body": 3,
    }  # 300 is dropped, 450 750 1,050 are not
    found = errors_of(
        case,
        requests=1_000,
        measured={"closed_early": 10, "bad_body": 3},
        server=server,
        before=250,
    )
    assert found.exact
    assert found.server == {"closed_early": 10, "bad_body": 3}
    assert not errors_of(
        case,
        requests=1_000,
        measured={"closed_early": 11, "bad_body": 3},
        server=server,
        before=250,
    ).exact
    assert faults.spare(250)
    assert not any(faults.spare(before) for before in (97, 100, 102, 148, 1_050))
    for mode in ("constant", "poisson"):
        load = load_for(case, mode, 1_000, FULL)
        before = round(load.warmup_ns * load.rate / S)
        assert before >= 2 * load.connections
        assert faults.spare(before)


def row(verdict: Verdict) -> Row:
    return replace(judged(at(None, None, None)), verdict=verdict)


def test_exit_codes() -> None:
    exact = error_row(CONSTANT, LOAD, [Errors(truth={}, server={}, measured={})], wanted=1)
    assert exit_code([row("yes"), row("undecided"), row("-")]) == 0
    assert exit_code([row("server")]) == exit_code([exact]) == 0
    assert exit_code([row("yes"), row("NO")]) == 1
    assert exit_code([replace(exact, verdict="NO"), row("yes")]) == 1
    assert exit_code([row("undecided"), row("-")]) == 3
    assert exit_code([]) == 3


# --- tables ---------------------------------------------------------------------------------------


def test_tables_say_what_was_found() -> None:
    freeze = replace(
        judged(Seen(truth=Span(low=900 * MS, high=951 * MS), server=950 * MS, measured=0.4 * MS)),
        case="freeze",
        rate=50_000,
    )
    lost = Errors(truth={"closed_early": 50}, server={"closed_early": 50}, measured={})
    results: list[Result] = [freeze, error_row(CONSTANT, LOAD, [lost], wanted=1)]
    text = shown(table.percentile_table(results), table.error_table(results))
    assert "900.00 ms .. 951.00 ms" in text
    assert "400.0 us" in text
    assert "-899.60 ms" in text
    assert "50 closed_early" in text
    assert "0 of 1 run" in text
    assert "none" in text
    void = Run(round=1, void="lag [p99] is 9 ms")
    group = Group(case=CONSTANT, load=LOAD, wanted=1, base=BASE, runs=(void,))
    assert table.missing_lines([group], ()) == [
        "missing: constant, constant, 1,000/s, round 1: lag [p99] is 9 ms"
    ]
    assert table.summary(results, [group]) == "0 right, 2 wrong, 0 not decided; 1 of 1 run void"
    some = [row("yes"), row("server"), row("undecided")]
    assert (
        table.summary(some, [])
        == "2 right (1 by the server's own record), 0 wrong, 1 not decided; 0 of 0 runs void"
    )


def test_peers_stand_beside_us_and_what_users_see() -> None:
    peer = PeerRow(
        case="freeze",
        peer="wrk",
        mode="closed",
        rate=1_000,
        truth={"max": Span(low=S, high=S)},
        for_users={"p99": Span(low=951 * MS, high=951 * MS)},
        measured={"p99": 60.0 * US, "max": 1.1 * S},
        failed=0,
        note="closed",
    )
    own = replace(
        row("-"), case="freeze", mode="closed", rate=1_000, percentile="p99", measured=70.0 * US
    )
    lines = shown(table.peer_table([peer], [own])).splitlines()
    who = [line.split("1,000")[1].split() for line in lines if "1,000" in line]
    assert [words[0] for words in who] == ["truth", "truth", "wireload", "wrk"]
    assert "951.00" in who[1]
    assert "70.0" in who[2]
    assert "60.0" in who[3]


def test_a_peer_that_reports_only_its_end_has_the_truth_of_that() -> None:
    """wrk2's share of a drift lies behind its end; the table says so with a truth of its own."""

    def row_of(peer: str, ns: float) -> PeerRow:
        truth = {"p50": Span(low=ns, high=ns)}
        said = {"p50": ns + 1}
        return PeerRow(
            case="drift",
            peer=peer,
            mode="constant",
            rate=1,
            truth=truth,
            for_users=truth,
            measured=said,
            failed=0,
            note="",
        )

    text = shown(
        table.peer_table(
            [row_of("k6", 15 * MS), row_of("oha", 15 * MS), row_of("wrk2", 25 * MS)], []
        )
    )
    assert [line.split()[3] for line in text.splitlines()[2:]] == [
        "truth",
        "wireload",
        "k6",
        "oha",
        "truth",
        "wrk2",
    ]
