"""The runs of one case under one load, and their joint result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from wirebench.catalog.units import count_of
from wirebench.selftest.cases import Case, Load
from wirebench.selftest.judge import (
    MAX,
    PERCENTILES,
    Errors,
    Result,
    Row,
    Seen,
    error_row,
    median,
    percentile_row,
)
from wirebench.selftest.laws import Conditions

_OFTEN_PER_S = 10
"""More preemptions per second than this are mentioned beside a wrong percentile. Our own choice."""
NO_BASE = "no base: no run without delay said anything"


@dataclass(frozen=True, kw_only=True)
class Run:
    """The figures of one run, not judged yet."""

    round: int
    """From 1 on."""
    void: str | None
    """Why its latencies are void. Its errors still count."""
    met: Conditions | None = None
    """With a base of 0."""
    measured: Mapping[str, float | None] = field(default_factory=dict)
    """By the names of PERCENTILES and MAX, nanoseconds, like ``server``, which has no base."""
    server: Mapping[str, float | None] = field(default_factory=dict)
    errors: Errors | None = None
    evictions_per_s: float = 0
    engine: str | None = None
    """wireload's. None where it did not say."""


@dataclass(frozen=True, kw_only=True)
class Base:
    """The cost of a request besides the delay: medians over the rounds of runs without a delay."""

    total_ns: float
    """By the median latency."""
    way_ns: float
    """Of it, what the server's record does not hold: the way there and back. The rest it took
    itself, to read and to answer.
    """


@dataclass(frozen=True, kw_only=True)
class Group:
    """All runs of one case under one load."""

    case: Case
    load: Load
    wanted: int
    base: Base | None
    runs: Sequence[Run]

    @property
    def valid(self) -> Sequence[Run]:
        return [
            run
            for run in self.runs
            if run.void is None and run.met is not None and self.base is not None
        ]

    def seen(self, run: Run) -> dict[str, Seen]:
        """A run with its truth. Empty without a truth."""
        if run.met is None or self.base is None:
            return {}
        met = replace(run.met, base_ns=self.base.total_ns)
        law = self.case.law
        spans = {name: law.truth(share, met) for name, share in PERCENTILES} | {MAX: law.max(met)}
        found = {}
        for name, span in spans.items():
            own = run.server.get(name)
            found[name] = Seen(
                truth=None if span is None else span.plus(self.base.total_ns),
                server=None if own is None else own + self.base.way_ns,
                measured=run.measured.get(name),
            )
        return found

    def results(self) -> list[Result]:
        rows: list[Result] = []
        if self.case.faults.any:
            counted = [run.errors for run in self.runs if run.errors is not None]
            rows.append(error_row(self.case, self.load, counted, wanted=self.wanted))
        if not self.valid:
            return [*rows, self._nothing()]
        seen = [self.seen(run) for run in self.valid]
        random = self.case.law.random_in_poisson and self.load.mode == "poisson"
        rows += [
            percentile_row(
                self.case,
                self.load,
                name,
                [one[name] for one in seen],
                wanted=self.wanted,
                asks_server=random and name != MAX,
                disturbed=self._disturbed(),
            )
            for name in [*(name for name, _ in PERCENTILES), MAX]
        ]
        return rows

    def _disturbed(self) -> str:
        """The median over the runs: what each had is in the JSON."""
        often = median([run.evictions_per_s for run in self.valid]) or 0
        return (
            f"typical run: others took wireload's core {count_of(round(often), 'time')} a second"
            if often > _OFTEN_PER_S
            else ""
        )

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
            verdict="undecided",
            note="no valid run",
        )

    def missing(self) -> list[str]:
        """Every void run, with the reason."""
        why = [
            (f"round {run.round}", run.void or NO_BASE)
            for run in self.runs
            if run not in self.valid
        ]
        if len(self.runs) < self.wanted:
            why.append((f"from round {len(self.runs) + 1} on", "not begun"))
        return [
            f"{self.case.name}, {self.load.mode}, {self.load.rate:,}/s, {when}: {reason}"
            for when, reason in why
        ]
