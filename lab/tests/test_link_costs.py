"""What requests over a link wait for: from packets made by hand, and from servers that make them
wait.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from misbehaving.support import leaves_nothing, program, spec
from synthetic_run import write_run
from synthetic_world import World
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.link import Link
from wirebench.catalog.loads import EachLoad, Policy
from wirebench.catalog.studies import Cell
from wirebench.catalog.workloads import GivenRequest
from wirebench.cli.table import run_tables
from wirebench.process.link import refusal
from wirebench.process.supervise import Supervisor
from wirebench.report import analyse_run
from wirebench.report.page import render
from wirebench.report.view import page_view
from wirebench.run.local import find_generator, find_link
from wirebench.stats.link_costs import link_costs
from wirebench.stats.standings import standing_of
from wirebench.stats.summary import summarise
from wirebench.stats.types import EntryAnalysis, EntrySummary, LittleCheck, TrialView
from wirebench.store.rundir import read_run
from wirebench.trial.packets import Packet, Record, RecordError, find_waits, read_record
from wirebench.trial.trial import run_trial
from wirebench.trial.types import OwnServer

MS = 1_000_000
LINK = Link(rtt_ms=54)
MESSAGES = 10


def packet(
    at_ms: float,
    way: str,
    flags: str,
    sequence: int,
    acknowledgement: int,
    size: int = 0,
    *,
    lost: bool = False,
    port: int = 40000,
) -> Packet:
    sent = round(at_ms * MS)
    return Packet(
        sent_ns=sent,
        due_ns=None if lost else sent + 27 * MS,
        up=way == "up",
        port=port,
        flags=flags,
        sequence=sequence % (1 << 32),
        acknowledgement=acknowledgement % (1 << 32),
        bytes=size,
    )


def opened(first: int = 0) -> list[Packet]:
    """A handshake, and a request of 100 bytes that arrives at 81 ms; the client's numbers follow
    ``first``.
    """
    return [
        packet(0, "up", "S", first, 0),
        packet(27, "down", "SA", 0, first + 1),
        packet(54, "up", "A", first + 1, 1),
        packet(54.1, "up", "AP", first + 1, 1, 100),
    ]


def patterns(*packets: Packet) -> Mapping[str, Any]:
    found = find_waits(Record(packets=packets, complete=True), rtt_ns=LINK.rtt_ns)["patterns"]
    assert isinstance(found, dict)
    return found


def test_a_segment_that_waits_for_an_acknowledgement() -> None:
    for first in (0, (1 << 32) - 50):  # numbers that wrap amid the request
        found = patterns(
            *opened(first),
            packet(82, "down", "AP", 1, first + 101, 80),
            packet(149, "up", "A", first + 101, 81),  # 40 ms after it could have left
            packet(176.1, "down", "AP", 81, first + 101, 20),
        )
        assert list(found) == ["held_back"]
        assert found["held_back"]["requests"] == 1
        assert found["held_back"]["wait_ns"] == pytest.approx(94.1 * MS)
        assert found["held_back"]["delayed_ns"] == pytest.approx(40 * MS)


@pytest.mark.parametrize(("acknowledged", "sent"), [(81, 190), (41, 176.1)])
def test_a_segment_that_waits_for_the_program_is_none(acknowledged: int, sent: float) -> None:
    """It leaves long after the acknowledgement, or that is not of the whole segment before."""
    assert not patterns(
        *opened(),
        packet(82, "down", "AP", 1, 101, 80),
        packet(149, "up", "A", 101, acknowledged),
        packet(sent, "down", "AP", 81, 101, 20),
    )


def test_a_response_in_two_windows() -> None:
    flight = [packet(82 + i / 100, "down", "A", 1 + i * 1448, 101, 1448) for i in range(10)]
    found = patterns(
        *opened(),
        *flight,
        packet(109.2, "up", "A", 101, 1 + 2 * 1448),
        packet(136.3, "down", "A", 1 + 14480, 101, 1448),
    )
    assert list(found) == ["windows"]
    assert found["windows"]["times"] == 1


@pytest.mark.parametrize(("later_ms", "pattern"), [(254, "timer"), (110, "resent")])
def test_a_segment_sent_again(later_ms: float, pattern: str) -> None:
    found = patterns(
        *opened(),
        packet(82, "down", "AP", 1, 101, 80, lost=True),
        packet(82 + later_ms, "down", "AP", 1, 101, 80),
    )
    assert list(found) == [pattern]
    assert found[pattern]["wait_ns"] == later_ms * MS
    assert found[pattern]["requests"] == 1


def test_a_first_segment_sent_again_is_one_connection() -> None:
    found = find_waits(
        Record(
            packets=(
                packet(0, "up", "S", 7, 0, lost=True),
                packet(1000, "up", "S", 7, 0),
                packet(1027, "down", "SA", 0, 8),
                packet(2000, "up", "S", 900, 0),  # the port again
            ),
            complete=True,
        ),
        rtt_ns=LINK.rtt_ns,
    )
    assert found["connections"] == 2
    assert found["patterns"]["syn_retry"]["connections"] == 1
    assert found["patterns"]["syn_retry"]["wait_ns"] == 1000 * MS


def test_a_record_is_read_as_wirelink_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "packets.txt"
    file.write_text(
        "wirelink-packets/1 first\n5000 27000000 up 4660 SA 256 513 3\n6 - down 80 - 1 2 0\n"
    )
    record = read_record(file)
    assert not record.complete
    assert record.packets[0] == Packet(
        sent_ns=5000,
        due_ns=27_000_000,
        up=True,
        port=4660,
        flags="SA",
        sequence=256,
        acknowledgement=513,
        bytes=3,
    )
    assert record.packets[1].due_ns is None
    for wrong in ("", "wirelink-packets/2 all\n", "wirelink-packets/1 all\n1 2 up\n"):
        file.write_text(wrong)
        with pytest.raises(RecordError, match=r"packets\.txt"):
            read_record(file)


def sentences(link: Link, **trials: TrialView) -> tuple[str, ...]:
    """The lines of a cell whose floor is ``floor``."""
    load = EachLoad(
        producers=2, messages=MESSAGES, delay_ms=0, policy="reuse", threads=4, link=link
    )
    cell = Cell(
        id="cell", title="", workload="http.hello", kind="each", primary="makespan_ns", load=load
    )
    entries = [
        EntryAnalysis(
            entry=name,
            contestant=name,
            twin_of=None,
            is_floor=name == "floor",
            summary=EntrySummary(
                metrics=summarise([trial.metrics]), trials=1, failed=0, not_run=0, voided=0
            ),
            standing=standing_of(None, None, None),
            standings={},
            unranked=None,
            bottleneck=None,
            little=LittleCheck(median=None, worst=None, voided=0),
            warm_up="not judged",
        )
        for name, trial in trials.items()
    ]
    return link_costs(cell, entries, {name: [one] for name, one in trials.items()})


@pytest.fixture
def measure(tmp_path: Path) -> Iterator[Any]:
    """Runs a trial of a server over a link."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with leaves_nothing(scratch) as supervisor:
        wirelink = find_link()
        if (why := refusal(supervisor, wirelink)) is not None:
            pytest.skip(why)
        try:
            wireload = find_generator()
        except CatalogError:
            pytest.skip("wireload is neither beside this Python nor in PATH: ./test installs it")

        def run(
            fault: str, link: Link = LINK, policy: Policy = "reuse", *, producers: int = 2
        ) -> TrialView:
            load = EachLoad(
                producers=producers,
                messages=MESSAGES,
                delay_ms=0,
                policy=policy,
                threads=4,
                link=link,
            )
            asked = spec(fault, tmp_path, load=load, timeout_ns=30_000 * MS)
            # Whose body is larger than that of http.hello.
            own = OwnServer(request=GivenRequest(path="/", options=()))
            record = run_trial(
                replace(asked, own=own),
                program=program("segments.py", fault),
                supervisor=supervisor,
                wireload=wireload,
                wirelink=wirelink,
            )
            assert record.failure is None
            assert record.packets is not None
            assert record.packets["requests"] == producers * MESSAGES
            return record

        yield run


def test_the_cost_is_explained(measure: Any) -> None:
    floor = measure("none")
    assert floor.packets["connections"] == 2
    found = {
        fault: sentences(LINK, floor=floor, **{fault: measure(fault)})
        for fault in ("none", "two_writes", "large", "closes", "thinks")
    }
    assert found["none"] == ()
    (two_writes,) = found["two_writes"]
    assert two_writes.startswith("two_writes: 1 round trip and a delayed acknowledgement of ")
    assert two_writes.endswith(
        "more than the floor: the response in two segments, the second waits for the"
        " acknowledgement of the first (in 20 of 20 requests, 2 of 2 connections)"
    )
    (large,) = found["large"]
    assert "more than the floor: the response in" in large
    assert "windows (slow start)" in large
    (closes,) = found["closes"]
    assert closes == (
        "closes: 1 round trip more than the floor: a new connection where the floor kept one: the"
        " server closes it (in 20 of 20 connections, for 20 requests)"
    )
    # No packet shows what a program does between two writes. On a busy machine it thinks longer.
    (thinks,) = found["thinks"]
    expected = r"thinks: (1 round trip|[2-9] round trips) more than the floor; cause not found"
    assert re.fullmatch(expected, thinks), thinks


def test_a_link_that_loses_shows_the_timer(measure: Any) -> None:
    # Enough connections that some lose their first segment once, and few lose it twice.
    lossy = Link(rtt_ms=10, loss_percent=5)
    lines = sentences(lossy, floor=measure("none", lossy, "new", producers=30))
    (tail,) = lines
    assert tail.startswith("floor: the tail: ")
    assert "waited for the retransmission timer, after a median of" in tail
    assert "connections sent their first segment again, after a median of 1" in tail


def counted(**patterns: Mapping[str, int]) -> Mapping[str, Any]:
    """What a trial of 20 requests on 2 connections stores."""
    return {
        "packets": 100,
        "complete": True,
        "connections": 2,
        "requests": 20,
        "patterns": patterns,
    }


def test_the_table_and_the_report_have_the_lines(tmp_path: Path) -> None:
    stored = read_run(write_run(tmp_path, World(studies=("rest",), samples=5)))
    plan = stored.plan
    assert plan is not None
    planned = plan.cells[0]
    load = planned.cell.load
    assert isinstance(load, EachLoad)
    linked = replace(planned, cell=replace(planned.cell, load=replace(load, link=LINK)))
    held = {"connections": 2, "requests": 20, "times": 20, "wait_ns": 20 * LINK.rtt_ns}

    def over_the_link(one: TrialView) -> TrialView:
        slow = one.entry == "cpp/cpp-httplib"
        trips = 2 if slow else 1
        return replace(
            one,
            metrics={**one.metrics, "makespan_ns": trips * load.messages * LINK.rtt_ns},
            packets=counted(held_back=held) if slow else counted(),
        )

    stored = replace(
        stored,
        plan=replace(plan, cells=(linked,)),
        trials=tuple(map(over_the_link, stored.trials)),
    )
    line = (
        "cpp/cpp-httplib: 1 round trip more than the floor: the response in two segments, the"
        " second waits for the acknowledgement of the first (in"
    )
    analysis = analyse_run(stored)
    (cell,) = analysis.cells
    assert [one.startswith(line) for one in cell.link_costs] == [True]
    file = io.StringIO()
    for part in run_tables(analysis, plan.studies):
        Console(file=file, width=400, color_system=None).print(part)
    assert line in file.getvalue()
    (study,) = page_view(stored, analysis).studies
    assert study.cells[0].link_costs == cell.link_costs
    assert f"<li>{line}" in render(page_view(stored, analysis))


def test_delays_beyond_the_excess_are_no_round_trips_less() -> None:
    """The excess is the difference of medians over the trials, the delay a mean of all."""
    link = Link(rtt_ms=1)
    late = {"requests": 20, "times": 20, "delayed": 20, "delayed_ns": 20 * 40_000_000}
    held = {"connections": 2, "wait_ns": 20 * 41_000_000, **late}
    floor, slow = (
        record(makespan_ns=ms * MESSAGES * 1_000_000, packets=packets)
        for ms, packets in ((1, counted()), (38, counted(held_back=held)))
    )
    (line,) = sentences(link, floor=floor, slow=slow)
    assert line.startswith("slow: a delayed acknowledgement of 40.0 ms more than the floor: ")


def record(*, makespan_ns: int, packets: Mapping[str, Any]) -> TrialView:
    return TrialView(
        trial="t",
        study="s",
        cell="cell",
        block=1,
        position=0,
        entry="e",
        contestant="e",
        twin_of=None,
        status="ok",
        failure=None,
        started_unix_ns=0,
        elapsed_ns=1,
        metrics={"makespan_ns": makespan_ns},
        packets=packets,
    )


def test_without_packets_nothing_is_said(tmp_path: Path) -> None:
    with Supervisor(scratch_parent=tmp_path) as supervisor:
        record = run_trial(
            spec("none", tmp_path),
            program=program("server.py"),
            supervisor=supervisor,
            wireload=tmp_path / "missing",
        )
    assert record.packets is None
    assert sentences(LINK, floor=record) == ()
