"""Truth, what the server did, and what the generator says: do they agree over the repeats?

A single run on a machine whose cores stand still now and then says nothing about its tail: so every
run is a trial, its own percentile and its own truth come first, and the median over the repeats of
(measured - truth) is judged. (Rule: summaries per trial, then the median over trials; Treadmill
2016.) The least and the greatest are shown beside it, whatever the verdict.

Two truths are compared with what was measured, the first that agrees within 1% or 50 us names the
verdict:

- the law of the server, which is known beforehand;
- the server's own record of this run: how long it really took over every answer. Where it was late
  itself, a right generator
  reports that.

Both ends take the kernel's word for when something arrived: the server's record begins when the
kernel had the request, and wireload's latency ends when the kernel had the reply and leaves out
what the generator itself was late. So a request that lay unread while the server's core stood still
is in the record with all of its wait, and a reply that lay unread is no later for it. So what
agrees with neither truth is wrong, though the server was off its law too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from wirebench.catalog.units import count_of
from wirebench.selftest.cases import Case, Load
from wirebench.selftest.laws import US, Span
from wirebench.stats.summary import summarise
from wirebench.stats.types import MetricSummary

PERCENTILES: tuple[tuple[str, float], ...] = (
    ("p50", 0.5),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99.9", 0.999),
)
MAX = "max"

RELATIVE = 0.01
ABSOLUTE_NS = 50 * US
"""Within 1% or 50 us of the truth is right. Our own choice."""

Verdict = Literal["yes", "server", "NO", "undecided", "-"]
"""The first two are right: by the law, by the server's own record. ``undecided``: too few runs are
valid. ``-``: nothing to judge.
"""

RIGHT: tuple[Verdict, ...] = ("yes", "server")

EXIT_HOLDS, EXIT_OFF, EXIT_NOTHING = 0, 1, 3


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One percentile of one run. Nanoseconds. Both truths hold what a request costs besides."""

    truth: Span | None
    server: float | None
    """The same percentile of what the server recorded of itself."""
    measured: float | None

    @property
    def off(self) -> float | None:
        """Of what was measured from the truth: 0 inside its span."""
        return (
            None
            if self.truth is None or self.measured is None
            else self.truth.distance(self.measured)
        )

    @property
    def off_server(self) -> float | None:
        return None if self.server is None or self.measured is None else self.measured - self.server


@dataclass(frozen=True, kw_only=True)
class Row:
    """One percentile of one case under one load, over the repeats. Nanoseconds, the
    base included.
    """

    case: str
    mode: str
    rate: int
    percentile: str
    runs: int
    """In which it was measured."""
    wanted: int
    truth: Span | None
    """Of each end the median, like ``server`` and ``measured``."""
    server: float | None
    measured: float | None
    off: MetricSummary | None
    off_server: MetricSummary | None
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class ErrorRow:
    """The errors of one case under one load: of the first run whose count is wrong, else of the
    first.
    """

    case: str
    mode: str
    rate: int
    exact: int
    """Runs whose count is right."""
    runs: int
    wanted: int
    truth: Mapping[str, int]
    server: Mapping[str, int]
    measured: Mapping[str, int]
    verdict: Verdict
    note: str = ""


Result = Row | ErrorRow


def tolerance(truth_ns: float) -> float:
    return max(RELATIVE * truth_ns, float(ABSOLUTE_NS))


def enough(runs: int, wanted: int) -> bool:
    """More than half of those that were wanted; those that are void or were never begun count as
    missing.
    """
    return 2 * runs > wanted


def spread(values: Sequence[float | None]) -> MetricSummary | None:
    return summarise([{"ns": value} for value in values]).get("ns")


def median(values: Sequence[float | None]) -> float | None:
    found = spread(values)
    return None if found is None else found.median


def percentile_row(
    case: Case,
    load: Load,
    name: str,
    seen: Sequence[Seen],
    *,
    wanted: int,
    asks_server: bool = False,
    disturbed: str = "",
) -> Row:
    """``asks_server``: chance makes the truth a wide span, so that the server's record of what came
    is asked too.

    ``disturbed``: what else used wireload's core, to be told beside a wrong one.
    """
    spans = [one.truth for one in seen if one.truth is not None]
    low, high = median([span.low for span in spans]), median([span.high for span in spans])
    truth = None if low is None or high is None else Span(low=low, high=high)
    measured = [one.measured for one in seen if one.measured is not None]
    row = Row(
        case=case.name,
        mode=load.mode,
        rate=load.rate,
        percentile=name,
        runs=len(measured),
        wanted=wanted,
        truth=truth,
        server=median([one.server for one in seen]),
        measured=median(measured),
        off=spread([one.off for one in seen]),
        off_server=spread([one.off_server for one in seen]),
        verdict="-",
    )
    verdict, note = _verdict(row, asks_server=asks_server)
    return replace(
        row,
        verdict=verdict,
        note="; ".join(filter(None, (note, disturbed if verdict == "NO" else ""))),
    )


def _verdict(row: Row, *, asks_server: bool) -> tuple[Verdict, str]:
    if row.runs and row.truth is None:
        return "-", "not known from the law"
    if row.runs == 0 or row.off is None or row.truth is None:
        return "-", "too few samples"
    if not enough(row.runs, row.wanted):
        return "undecided", f"measured in {row.runs} of {count_of(row.wanted, 'run')}"
    lawful = abs(row.off.median) <= tolerance(row.truth.low)
    if row.server is None or row.off_server is None:
        return "yes" if lawful else "NO", ""
    allowed = tolerance(row.server)
    agrees = abs(row.off_server.median) <= allowed
    if lawful and (agrees or not asks_server):
        return "yes", ""
    if agrees:
        return "server", "the server was late by its own record"
    # No generator can measure less than the server took.
    return "NO", "less than the server took" if row.off_server.median < -allowed else ""


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Of one run, by the generator's kinds."""

    truth: Mapping[str, int]
    server: Mapping[str, int]
    measured: Mapping[str, int]

    @property
    def exact(self) -> bool:
        return self.measured == self.truth == self.server


def errors_of(
    case: Case,
    *,
    requests: int,
    measured: Mapping[str, int],
    server: Mapping[str, int],
    before: int = 0,
) -> Errors:
    """``before``: requests of the warm-up, which the server counted too; ``server``
    holds theirs.
    """
    warm_up = case.faults.expected(before)
    return Errors(
        truth=case.faults.expected(requests, before),
        server={
            kind: more for kind, count in server.items() if (more := count - warm_up.get(kind, 0))
        },
        measured={kind: count for kind, count in measured.items() if count},
    )


def error_row(case: Case, load: Load, found: Sequence[Errors], *, wanted: int) -> ErrorRow:
    """One that is wrong in any run is wrong: counts have no tolerance and no bad luck."""
    exact = sum(one.exact for one in found)
    shown = next(
        (one for one in found if not one.exact),
        found[0] if found else Errors(truth={}, server={}, measured={}),
    )
    verdict: Verdict = (
        "NO" if exact < len(found) else "yes" if enough(exact, wanted) else "undecided"
    )
    return ErrorRow(
        case=case.name,
        mode=load.mode,
        rate=load.rate,
        exact=exact,
        runs=len(found),
        wanted=wanted,
        truth=shown.truth,
        server=shown.server,
        measured=shown.measured,
        verdict=verdict,
        note=(
            f"counted in {len(found)} of {count_of(wanted, 'run')}"
            if verdict == "undecided"
            else ""
        ),
    )


def exit_code(results: Sequence[Result]) -> int:
    verdicts = [result.verdict for result in results]
    if "NO" in verdicts:
        return EXIT_OFF
    return EXIT_HOLDS if any(verdict in RIGHT for verdict in verdicts) else EXIT_NOTHING
