"""The ideal time of a cell of ``rest``: what a service takes that costs nothing itself."""

from __future__ import annotations

import pytest

from wirebench.catalog.link import Link
from wirebench.catalog.loads import EachLoad, Policy
from wirebench.catalog.studies import Cell
from wirebench.report.cells import ideal_ns

LINK = Link(rtt_ms=54)


@pytest.mark.parametrize(
    ("policy", "threads", "messages", "delay_ms", "link", "expected_ms"),
    [
        # N t max(1, P/C), as published.
        ("new", 28, 200, 200, None, 40_000),
        ("new", 4, 200, 200, None, 100_000),
        ("new", 4, 1000, 200, None, 500_000),
        # 50 requests and four handlers: 13 rounds.
        ("reuse", 4, 5, 200, None, 2_600),
        ("new", 4, 5, 200, LINK, 2 * 54 + 2_600),
        ("reuse", 4, 5, 200, LINK, 54 + 2_600),
        # Who waits for the link needs no handler.
        ("new", 28, 5, 200, LINK, 5 * (2 * 54 + 200)),
        ("reuse", 4, 25, 0, LINK, 25 * 54),
        ("new", 4, 1000, 0, None, None),
        ("new", None, 5, 200, None, None),
    ],
)
def test_the_ideal_time_is_what_a_perfect_service_takes(
    policy: Policy,
    threads: int | None,
    messages: int,
    delay_ms: int,
    link: Link | None,
    expected_ms: int | None,
) -> None:
    load = EachLoad(
        producers=10,
        messages=messages,
        delay_ms=delay_ms,
        policy=policy,
        threads=threads,
        link=link,
    )
    cell = Cell(id="x", title="x", kind="each", primary="makespan_ns", workload="rest", load=load)
    assert ideal_ns(cell) == (expected_ms * 1e6 if expected_ms is not None else None)
