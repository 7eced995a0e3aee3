"""A trial is run again at once when its load was not what was asked for, or the hypervisor took
too much from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from wirebench.plan.blocks import PlannedTrial
from wirebench.plan.model import PlannedCell
from wirebench.trial.record import TrialRecord

MOST_REPEATS = 2
"""How often a void trial is run again in its block. Our own choice."""

REPEATED = "void_and_repeated"
"""What a trial's warnings about void ones before it begin with."""

RunTrial = Callable[[PlannedTrial, PlannedCell], TrialRecord]
Void = Callable[[TrialRecord], str | None]
"""Why a trial says nothing of its server: the load was not what was asked for, or the hypervisor
took too much from it. None: it does.
"""


@dataclass(kw_only=True)
class UntilSound:
    """Runs trials, the void ones again: at most ``MOST_REPEATS`` times each, and not more often
    than the entry has had blocks, so that a load that the generator can never put on a server does
    not cost more than twice the time.
    """

    run_trial: RunTrial
    void: Void

    def __post_init__(self) -> None:
        self._repeats: Counter[tuple[str, str]] = Counter()

    def run(self, trial: PlannedTrial, cell: PlannedCell) -> tuple[TrialRecord, int]:
        """The trial's record, and the nanoseconds that it took with those before it: the first that
        is not void, or the last that may be tried. Its warnings name those before it.
        """
        whose = (cell.key, trial.entry.name)
        void: list[str] = []
        took_ns = 0
        while True:
            record = self.run_trial(trial, cell)
            took_ns += record.elapsed_ns
            why = self.void(record) if record.status == "ok" else None
            if why is None or len(void) == MOST_REPEATS or self._repeats[whose] >= trial.block:
                break
            self._repeats[whose] += 1
            void.append(f"{REPEATED}: {why}")
        return replace(record, warnings=(*record.warnings, *void)), took_ns
