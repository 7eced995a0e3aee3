"""Truth, what the server did, and what the generator says: do they agree?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from wirebench.selftest.cases import Case, Load
from wirebench.selftest.laws import US, Conditions, Span

PERCENTILES: tuple[tuple[str, float], ...] = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999))
MAX = "max"

RELATIVE = 0.01
ABSOLUTE_NS = 50 * US
"""Within 1% or 50 us of the truth is right. Our own choice."""

Verdict = Literal["yes", "gaps", "NO", "machine", "-"]
"""``gaps``: right by the truth with the standstills in it that both cores were recorded to have had. ``machine``: the server
itself did not keep its law, so that nothing is decided. ``-``: nothing to judge."""

EXIT_HOLDS, EXIT_OFF, EXIT_NOTHING = 0, 1, 3


@dataclass(frozen=True, kw_only=True)
class Row:
    """One percentile of one run. Nanoseconds; ``truth`` and ``server`` with the base added."""

    case: str
    mode: str
    rate: int
    percentile: str
    truth: Span | None
    server: float | None
    """The same percentile of what the server recorded of itself."""
    measured: float | None
    verdict: Verdict
    note: str = ""
    with_gaps: Span | None = None
    """The truth with the recorded standstills of both cores in it, base included. None when there were none."""

    @property
    def difference(self) -> float | None:
        """Of what was measured from the truth: 0 inside its span."""
        return None if self.truth is None or self.measured is None else self.truth.distance(self.measured)


@dataclass(frozen=True, kw_only=True)
class ErrorRow:
    """The errors of one run, by the generator's kinds."""

    case: str
    mode: str
    rate: int
    truth: Mapping[str, int]
    server: Mapping[str, int]
    measured: Mapping[str, int]
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class VoidRow:
    """A run that says nothing."""

    case: str
    mode: str
    rate: int
    why: str


Result = Row | ErrorRow | VoidRow


def tolerance(truth: Span) -> float:
    return max(RELATIVE * truth.low, float(ABSOLUTE_NS))


def verdict_of(
    truth: Span | None, server: float | None, measured: float | None, *, random: bool, with_gaps: Span | None = None
) -> tuple[Verdict, str]:
    """``random``: chance makes the span wide, so that the server's record of what came is asked too.

    ``with_gaps`` excuses exactly what it explains: it is a truth like the other, within the same tolerance.
    """
    if truth is None:
        return "-", "not known from the law"
    if measured is None:
        return "-", "too few samples"
    allowed = tolerance(truth)
    right = abs(truth.distance(measured)) <= allowed
    if right and random and server is not None:
        right = abs(measured - server) <= max(RELATIVE * server, float(ABSOLUTE_NS))
    if right:
        return "yes", ""
    if with_gaps is not None and abs(with_gaps.distance(measured)) <= tolerance(with_gaps):
        return "gaps", ""
    if server is not None and abs(truth.distance(server)) > allowed:
        return "machine", "the server itself was off its law"
    return "NO", ""


def percentile_rows(
    case: Case,
    load: Load,
    conditions: Conditions,
    measured: Mapping[str, float | None],
    server: Mapping[str, float | None],
    *,
    hint: str = "",
    with_gaps: Mapping[str, Span] | None = None,
    gaps: str = "",
) -> list[Row]:
    """``measured`` and ``server`` by the names of PERCENTILES and MAX; ``server`` without the base, ``with_gaps`` with it.

    ``hint``: why one may be off. ``gaps``: the standstills in words.
    """
    rows = []
    random = case.law.random_in_poisson and load.mode == "poisson"
    spans = [(name, case.law.truth(share, conditions)) for name, share in PERCENTILES]
    for name, span in [*spans, (MAX, case.law.max(conditions))]:
        truth = None if span is None else span.plus(conditions.base_ns)
        own = server.get(name)
        own = None if own is None else own + conditions.base_ns
        stood = (with_gaps or {}).get(name)
        verdict, note = verdict_of(truth, own, measured.get(name), random=random and name != MAX, with_gaps=stood)
        rows.append(
            Row(
                case=case.name,
                mode=load.mode,
                rate=load.rate,
                percentile=name,
                truth=truth,
                server=own,
                measured=measured.get(name),
                verdict=verdict,
                note=gaps if verdict == "gaps" else "; ".join(filter(None, (hint, gaps))) if verdict == "NO" else note,
                with_gaps=stood,
            )
        )
    return rows


def error_row(
    case: Case, load: Load, *, requests: int, measured: Mapping[str, int], server: Mapping[str, int], before: int = 0
) -> ErrorRow:
    """``before``: requests of the warm-up, which the server counted too; ``server`` holds theirs."""
    truth = case.faults.expected(requests, before)
    warm_up = case.faults.expected(before)
    server = {kind: more for kind, count in server.items() if (more := count - warm_up.get(kind, 0))}
    found = {kind: count for kind, count in measured.items() if count}
    verdict: Verdict = "yes" if found == truth and server == truth else "NO"
    return ErrorRow(case=case.name, mode=load.mode, rate=load.rate, truth=truth, server=server, measured=found, verdict=verdict)


def exit_code(results: Sequence[Result]) -> int:
    verdicts = [result.verdict for result in results if not isinstance(result, VoidRow)]
    if "NO" in verdicts:
        return EXIT_OFF
    return EXIT_HOLDS if "yes" in verdicts or "gaps" in verdicts else EXIT_NOTHING
