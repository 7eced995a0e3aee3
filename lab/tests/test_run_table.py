"""The terminal tables: what a reader of them is told."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from test_store import plan as small_plan
from test_store import trial
from wirebench.cli.publish import failure_lines
from wirebench.cli.table import figure, run_tables
from wirebench.plan.blocks import entries_of
from wirebench.plan.model import Plan
from wirebench.report.figures import cpu_share
from wirebench.stats import Ratio, analyse
from wirebench.trial.record import FailureRecord, TrialRecord

RATES = {"cpp/floor": 100_000.0, "go/fast": 80_000.0, "go/same": 80_100.0, "python/slow": 9_000.0}
SHARES = {
    "cpp/floor": {"server_cpu_share": 0.991, "generator_cpu_share": 0.93},
    "go/fast": {"server_cpu_share": 0.88, "generator_cpu_share": 0.984},
    "go/same": {"server_cpu_share": 0.97, "generator_cpu_share": 0.98},
    "python/slow": {"server_cpu_share": 0.999, "generator_cpu_share": 0.12},
}
FAILURE = FailureRecord(
    kind="wrong_reply",
    phase="load",
    message="3 of 9",
    sent="GET /",
    expected="hello",
    received="[red]bye[/]",
)


def plan() -> Plan:
    base = small_plan()
    entries = entries_of((*RATES, "rust/broken"), twin="go/same")
    return replace(
        base,
        cells=(replace(base.cells[0], entries=entries, floors=("cpp/floor",), twin="go/same"),),
    )


def trials() -> list[TrialRecord]:
    records = []
    for block in range(1, 10):
        for number, entry in enumerate(plan().cells[0].entries):
            wobble = 1 + 0.01 * ((block * 7 + number * 3) % 5 - 2)
            record = trial(
                block,
                trial=f"concurrency.c50.b{block:02d}.{entry.name}",
                entry=entry.name,
                contestant=entry.contestant,
                twin_of=entry.twin_of,
                validity=SHARES.get(entry.contestant, {}),
                metrics={
                    "throughput_per_s": RATES.get(entry.contestant, 1.0) * wobble,
                    "p99_ns": 1_250_000,
                },
            )
            if entry.contestant == "rust/broken":
                status = "failed" if block < 3 else "not_run"
                record = replace(record, status=status, failure=FAILURE, metrics={})  # type: ignore[arg-type]
            records.append(record)
    return records


def drawn(records: list[TrialRecord], width: int = 140) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None)
    for part in run_tables(analyse(records, plan()), plan().studies, width=width):
        console.print(part)
    return file.getvalue()


def row(text: str, name: str) -> str:
    return next(
        line
        for line in text.splitlines()
        if f"{name} " in line and "twin " not in line.split(name)[0]
    )


def test_a_row_has_rank_ratio_with_interval_figures_and_a_sign() -> None:
    text = drawn(trials())
    slow = row(text, "python/slow")
    assert slow.split()[0] == "▼"
    assert slow.split()[1] == "3"
    assert "0.089x [0.089, 0.089]" in slow
    assert "9,000" in slow
    assert "1.25 ms" in slow
    assert "≥ 80,000" in row(text, "go/fast"), "the generator was at its limit, the server was not"
    assert "generator-bound" in row(text, "go/fast")
    fast = row(text, "go/fast")
    assert fast.split()[:2] == ["▲", "1-2"], "two that cannot be told apart share a range of ranks"


def test_both_cpu_shares_are_columns_for_the_floor_too() -> None:
    text = drawn(trials())
    (heading,) = (line for line in text.splitlines() if "contestant" in line)
    assert heading.split().index("generator") == heading.split().index("server") + 1
    assert "99%        93%" in row(text, "cpp/floor")
    assert "88%        98%" in row(text, "go/fast")
    assert "100%        12%" in row(text, "python/slow")
    old = drawn([replace(one, validity={"generator_cpu_share": 0.5}) for one in trials()])
    assert "50%" in row(old, "go/fast"), "a run without the server's share shows the generator's"
    assert "generator-bound" not in old


def test_a_ratio_to_a_floor_that_the_generator_limited_is_marked_as_a_bound() -> None:
    limited = {"server_cpu_share": 0.8, "generator_cpu_share": 0.99}
    text = drawn(
        [replace(one, validity=limited) if one.entry == "cpp/floor" else one for one in trials()]
    )
    assert "≥ 100,000" in row(text, "cpp/floor")
    assert "≤ 0.089x [0.089, 0.089]" in row(text, "python/slow")
    assert "? 0.78x [0.78, 0.82]" in row(text, "go/fast"), "both were limited"
    assert text.count("the distance to it is at least what is") == 1
    assert "≤ 0.089x" not in drawn(trials())


def test_websocket_cells_count_messages() -> None:
    found = plan()
    cell = replace(found.cells[0].cell, workload="ws.echo")
    analysis = analyse(trials(), replace(found, cells=(replace(found.cells[0], cell=cell),)))
    assert analysis.cells[0].unit == "message"
    file = io.StringIO()
    for part in run_tables(analysis, found.studies):
        Console(file=file, width=140, color_system=None).print(part)
    assert "messages/s" in file.getvalue()
    assert "requests/s" not in file.getvalue()
    assert "requests/s" in drawn(trials())


def test_the_floor_and_the_twin_have_no_rank_and_the_twin_is_said() -> None:
    text = drawn(trials())
    assert row(text, "cpp/floor").split()[0] == "cpp/floor"
    assert "the floor" in row(text, "cpp/floor")
    assert "only noise" in row(text, "go/same~twin")
    assert "twin go/same: 0.99x [" in text
    assert "are noise" in text


def test_what_the_intervals_hold_of_the_differences_between_runs_is_said() -> None:
    assert "one repeat: what differs between runs" in drawn(trials())
    spread = [replace(one, repeat=1 + (one.block - 1) // 3) for one in trials()]
    assert "3 repeats: what differs between them" in drawn(spread)


def test_a_failed_entry_stands_with_its_reason_and_no_figures() -> None:
    broken = row(drawn(trials()), "rust/broken")
    assert "wrong_reply (2 of 2)" in broken, "the other seven were not tried"
    assert "0.0" not in broken


def test_a_narrow_terminal_keeps_names_and_ratios_whole() -> None:
    text = drawn(trials(), width=80)
    assert all(len(line) <= 80 for line in text.splitlines())
    for name in (*RATES, "rust/broken"):
        assert name in text
    assert "0.089x [0.089, 0.089]" in text
    assert "9,000" in text


@pytest.mark.parametrize("width", [80, 140])
def test_a_very_long_name_takes_no_figure_away(width: int) -> None:
    """Names have no limit but that of the file system."""
    long = f"go/{'very-long-name-' * 12}end"
    entries = plan().cells[0].entries
    cell = replace(
        plan().cells[0],
        entries=tuple(
            replace(one, name=long, contestant=long) if one.name == "go/fast" else one
            for one in entries
        ),
    )
    given = [
        replace(one, entry=long, contestant=long) if one.entry == "go/fast" else one
        for one in trials()
    ]
    found = analyse(given, replace(plan(), cells=(cell,)))
    file = io.StringIO()
    for part in run_tables(found, plan().studies, width=width):
        Console(file=file, width=width, color_system=None).print(part)
    lines = file.getvalue().splitlines()
    start = next(number for number, line in enumerate(lines) if " go/very-long-name-" in line)
    shown = "".join(re.findall(r"[a-z/-]{32}|[a-z-]*end", "\n".join(lines[start : start + 9])))
    assert long in shown
    assert re.search(r"1-2 .* ≥ 0\.\d\dx \[0\.\d\d, 0\.\d\d\] +≥ 80,000 ", lines[start])


def test_an_unfinished_run_is_tabulated_as_far_as_it_came() -> None:
    text = drawn(trials()[: 6 * 3])
    assert "3 blocks" in text
    assert "80,000" in text
    assert "[0.0" not in text, "too few blocks for an interval"


def test_failures_are_named_once_with_what_was_sent_expected_and_received() -> None:
    said = list(failure_lines(trials()))
    assert said == [
        "failed: rust/broken (concurrency c50): wrong_reply: 3 of 9",
        "  sent     GET /",
        "  expected hello",
        "  received [red]bye[/]",
    ]


def test_the_failure_of_a_server_is_named_as_its_own() -> None:
    crash = FailureRecord(
        kind="crashed", phase="load", message="c/nginx exited with 7", whose="c/nginx"
    )
    called = [replace(one, status="not_run", failure=crash) for one in trials()[:2]]
    assert list(failure_lines(called)) == [
        "failed: c/nginx (concurrency c50): crashed: c/nginx exited with 7"
    ]


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("p50_ns", 950.0, "950 ns"),
        ("p50_ns", 12_340.0, "12.3 us"),
        ("makespan_ns", 2.5e9, "2.50 s"),
        ("server_rss_peak_bytes", 3 * 2**20, "3.00 MiB"),
        ("success_ratio", 0.5, "50.0%"),
        ("success_ratio", 0.99999, "99.9%"),
        ("success_ratio", 0.00001, "<0.1%"),
        ("success_ratio", 0.0, "0.0%"),
        ("throughput_per_s", 123456.0, "123,456"),
        ("connections_opened", 1, "1"),
        ("p50_ns", None, ""),
        ("cpu_per_request_ns", 0, "0 ns"),
    ],
)
def test_figures_for_people(metric: str, value: float | None, text: str) -> None:
    assert figure(metric, value) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Ratio(estimate=1.0712, low=1.04, high=1.113, blocks=6), "1.07x [1.04, 1.11]"),
        (Ratio(estimate=0.0312, low=0.02, high=0.0342, blocks=6), "0.031x [0.020, 0.034]"),
        (Ratio(estimate=0.0049, low=0.0041, high=0.0052, blocks=6), "0.0049x [0.0041, 0.0052]"),
        (Ratio(estimate=12.5, low=None, high=None, blocks=2), "12.50x"),
        (Ratio(estimate=3.1e-5, low=3e-5, high=3.3e-5, blocks=6), "0.000031x [0.000030, 0.000033]"),
        (Ratio(estimate=0.42, low=0.0031, high=0.9, blocks=6), "0.4200x [0.0031, 0.9000]"),
    ],
)
def test_small_ratios_keep_their_digits(ratio: Ratio, text: str) -> None:
    assert str(ratio) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.9496, "<95%"), (0.95, "95%"), (0.944, "94%"), (0.996, "100%"), (None, "")],
)
def test_a_share_short_of_the_limit_is_not_rounded_to_it(share: float | None, text: str) -> None:
    """What counts as the limit follows from it."""
    assert cpu_share(share) == text


def test_an_entry_that_is_never_steady_says_so_once_and_shortly() -> None:
    analysis = analyse(trials(), plan())
    cell = analysis.cells[0]
    unranked = "never steady: its level still changed in the last quarter of most windows"
    entries = tuple(
        replace(entry, warm_up="never steady", unranked=unranked)
        if entry.entry == "go/fast"
        else entry
        for entry in cell.entries
    )
    file = io.StringIO()
    for part in run_tables(
        replace(analysis, cells=(replace(cell, entries=entries),)), plan().studies
    ):
        Console(file=file, width=140, color_system=None).print(part)
    assert file.getvalue().count("never steady") == 1
    assert row(file.getvalue(), "go/fast").rstrip().endswith("never steady")


def test_a_server_that_starves_connections_keeps_its_figures_and_is_named() -> None:
    load = {
        "window": {"unanswered": {"count": 1000, "oldest_ns": 800_000_000, "starved": 450}},
        "plan": {"connections": 1000, "in_flight": 1},
    }
    records = [
        replace(one, load=load, metrics={**one.metrics, "p50_ns": 1_000_000})
        if one.entry == "python/slow"
        else one
        for one in trials()
    ]
    text = drawn(records, width=200)
    assert "9,000" in row(text, "python/slow")
    assert "starves up to 450 of 1,000" in row(text, "python/slow")
    assert text.count("starves") == 1


def test_a_cell_says_whether_each_connection_had_an_answer() -> None:
    def with_silent(*, slow: int) -> list[TrialRecord]:
        def load(count: int) -> dict[str, object]:
            return {"window": {"unanswered": {"silent_connections": count}}}

        return [
            replace(one, load=load(slow if one.entry == "python/slow" else 0)) for one in trials()
        ]

    assert "each connection had an answer in each window" in drawn(with_silent(slow=0), width=200)
    text = drawn(with_silent(slow=1234), width=200)
    assert "connections without an answer in a whole window: python/slow (up to 1,234)" in text
    assert "an answer in" not in drawn(trials(), width=200)
