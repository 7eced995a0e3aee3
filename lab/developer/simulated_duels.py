"""Duels in a simulated world: the loop that measures, its clock and its looks are those of real
ones, and made-up figures stand for the trials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from wirebench.duel.measure import Duel, Ends
from wirebench.duel.plan import DuelLoad
from wirebench.duel.sides import Side
from wirebench.plan.model import Plan
from wirebench.run.bench import Bench
from wirebench.store.rundir import RunDirectory
from wirebench.trial.record import TrialRecord
from wirebench.trial.types import TrialSpec


def record_of(
    spec: TrialSpec,
    *,
    metrics: Mapping[str, float],
    started_unix_ns: int = 1,
    elapsed_ns: int = 1,
) -> TrialRecord:
    """A trial that went well, in which the server was the limit."""
    return TrialRecord(
        trial=spec.trial,
        study=spec.study,
        cell=spec.cell,
        block=spec.block,
        position=spec.position,
        entry=spec.entry,
        contestant=spec.contestant.identity,
        twin_of=spec.twin_of,
        status="ok",
        failure=None,
        started_unix_ns=started_unix_ns,
        elapsed_ns=elapsed_ns,
        metrics=metrics,
        validity={"server_cpu_share": 0.99, "generator_cpu_share": 0.5},
    )


@dataclass(kw_only=True)
class World:
    """The bench, the directory and the watcher of a simulated duel, and its clock."""

    metrics: Callable[[TrialSpec], Mapping[str, float]]
    """What a trial measures."""
    trial_ns: Callable[[TrialSpec], int]
    """How long it takes."""
    now_ns: int = 0
    kept: list[TrialRecord] = field(default_factory=list)
    hardware_threads: int = 2

    def run_trial(self, spec: TrialSpec) -> TrialRecord:
        took = self.trial_ns(spec)
        self.now_ns += took
        return record_of(
            spec, metrics=self.metrics(spec), started_unix_ns=self.now_ns, elapsed_ns=took
        )

    def append_trial(self, record: TrialRecord) -> None:
        self.kept.append(record)

    def append_left(self, _record: object) -> None: ...

    def before(self, _trial: object, *, left_ns: int) -> None: ...

    def after(self, _record: object, *, left_ns: int) -> None: ...

    def measure(
        self,
        plan: Plan,
        sides: Sequence[Side],
        load: DuelLoad,
        *,
        band: float,
        ends: Ends | None = None,
    ) -> Duel:
        """The whole duel."""
        duel = Duel(
            plan=plan,
            sides=sides,
            load=load,
            servers={},
            floor=None,
            band=band,
            bench=cast("Bench", self),
            directory=cast("RunDirectory", self),
            ends=ends,
            clock_ns=lambda: self.now_ns,
        )
        duel.measure(self)
        return duel
