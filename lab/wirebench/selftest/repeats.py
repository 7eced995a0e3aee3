"""The runs of one case under one load, and what they say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from wirebench.selftest.cases import Case, Load
from wirebench.selftest.gaps import CoreGaps, describe, truth_with_gaps
from wirebench.selftest.judge import MAX, PERCENTILES, RIGHT, Errors, Result, Row, Seen, error_row, percentile_row
from wirebench.selftest.laws import Conditions, S, Span

_OFTEN_PER_S = 10
"""Losing its core more often than this is worth telling beside a wrong percentile. Our own choice."""
NO_BASE = "no base: no run without delay said anything"


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one run said. Nothing of it is judged yet."""

    round: int
    """From 1 on."""
    void: str | None
    """Why its latencies say nothing. Its errors count all the same."""
    met: Conditions | None = None
    """With a base of 0."""
    measured: Mapping[str, float | None] = field(default_factory=dict)
    """By the names of PERCENTILES and MAX, nanoseconds, like ``server``, which has no base."""
    server: Mapping[str, float | None] = field(default_factory=dict)
    errors: Errors | None = None
    start_unix_ns: int = 0
    client_gaps: CoreGaps = field(default_factory=CoreGaps)
    server_gaps: CoreGaps = field(default_factory=CoreGaps)
    evictions_per_s: float = 0

    @property
    def standstills(self) -> str:
        if self.met is None:
            return ""
        return describe(self.client_gaps, self.server_gaps, self.start_unix_ns, round(self.met.seconds * S))


@dataclass(frozen=True, kw_only=True)
class Group:
    """All runs of one case under one load."""

    case: Case
    load: Load
    wanted: int
    base_ns: float | None
    """The median over the rounds of the median of a run without delay."""
    runs: Sequence[Run]

    @property
    def valid(self) -> Sequence[Run]:
        return [run for run in self.runs if run.void is None and run.met is not None and self.base_ns is not None]

    def seen(self, run: Run, *, with_gaps: bool = False) -> dict[str, Seen]:
        """A run beside its truth; nothing where there is none. ``with_gaps``: also beside that with standstills, which takes
        seconds to compute."""
        if run.met is None or self.base_ns is None:
            return {}
        met = replace(run.met, base_ns=self.base_ns)
        law = self.case.law
        spans = {name: law.truth(share, met) for name, share in PERCENTILES} | {MAX: law.max(met)}
        stood: Mapping[str, Span] = {}
        if with_gaps:
            stood = truth_with_gaps(law, met, run.client_gaps, run.server_gaps, run.start_unix_ns)
        found = {}
        for name, span in spans.items():
            own = run.server.get(name)
            found[name] = Seen(
                truth=None if span is None else span.plus(self.base_ns),
                server=None if own is None else own + self.base_ns,
                measured=run.measured.get(name),
                with_gaps=stood.get(name),
            )
        return found

    def results(self) -> list[Result]:
        rows: list[Result] = []
        if self.case.faults.any:
            counted = [run.errors for run in self.runs if run.errors is not None]
            rows.append(error_row(self.case, self.load, counted, wanted=self.wanted))
        if not self.valid:
            return [*rows, self._nothing()]
        found = self._rows(with_gaps=False)
        if any(row.verdict not in (*RIGHT, "-") for row in found):
            found = self._rows(with_gaps=True)
        return rows + found

    def _rows(self, *, with_gaps: bool) -> list[Row]:
        seen = [self.seen(run, with_gaps=with_gaps) for run in self.valid]
        random = self.case.law.random_in_poisson and self.load.mode == "poisson"
        stood = self._disturbances()
        return [
            percentile_row(
                self.case,
                self.load,
                name,
                [one[name] for one in seen],
                wanted=self.wanted,
                asks_server=random and name != MAX,
                stood=stood,
            )
            for name in [*(name for name, _ in PERCENTILES), MAX]
        ]

    def _disturbances(self) -> str:
        """Of the run in the middle: those of all are in the JSON."""
        ordered = sorted(self.valid, key=lambda run: len(run.client_gaps.gaps) + len(run.server_gaps.gaps))
        run = ordered[len(ordered) // 2]
        often = run.evictions_per_s
        hint = f"others took wireload's core {often:.0f} times a second" if often > _OFTEN_PER_S else ""
        said = "; ".join(filter(None, (hint, run.standstills)))
        return f"typical run: {said}" if said else ""

    def _nothing(self) -> Row:
        return Row(
            case=self.case.name,
            mode=self.load.mode,
            rate=self.load.rate,
            percentile="all",
            runs=0,
            wanted=self.wanted,
            truth=None,
            server=None,
            measured=None,
            off=None,
            off_server=None,
            off_gaps=None,
            verdict="undecided",
            note="no valid run",
        )

    def missing(self) -> list[str]:
        """Every run that decides nothing, and why."""
        why = [(f"round {run.round}", run.void or NO_BASE) for run in self.runs if run not in self.valid]
        if len(self.runs) < self.wanted:
            why.append((f"from round {len(self.runs) + 1} on", "not begun"))
        return [f"{self.case.name}, {self.load.mode}, {self.load.rate:,}/s, {when}: {reason}" for when, reason in why]
