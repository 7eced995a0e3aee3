"""How small a regression ``wirebench gate`` finds in a given time, and how often it is false.

    python -m developer.gate_power results/20260101T120000Z-gate --limit cpu_per_request=+3% \
        --minutes 5 15

Simulated gates have the noise of stored duels or gates: the deviations of their figures from what
side and block explain (``selftest.worlds``), and their time for a block. All else is the gate's
own: the loop that measures, its looks, what each may spend, and the verdicts. An equal head shows
false alarms, one that is worse by just what is allowed shows the most of them, and bisection finds
the regression that four of five gates find.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from developer.simulated_duels import World
from wirebench.catalog.units import rough_duration
from wirebench.cli.gate import _Judge
from wirebench.duel.plan import STUDY, DuelLoad, plan_of
from wirebench.duel.sides import sides_of
from wirebench.gate.over_duel import HEAD
from wirebench.gate.thresholds import ERRORS, Threshold, threshold
from wirebench.gate.types import State
from wirebench.report.markdown import table
from wirebench.selftest.worlds import Source, residuals_of
from wirebench.stats.cell import CellData
from wirebench.stats.settings import DEFAULT
from wirebench.stats.summary import higher_is_better
from wirebench.store.rundir import StoredRun, read_run
from wirebench.trial.types import TrialSpec

FOUND = 0.80
"""The share of the gates that has to find a regression."""
CLOSE = 1.05
"""The search ends when its bracket is this narrow (upper over lower)."""
WIDEST = 3.0
"""The search ends there: four times as much."""
MINUTE_NS = 60 * 10**9
HEADS = (
    *("threshold", "time", "blocks", "equal head: regressed", "holds"),
    *("worse by what is allowed: regressed", "holds", "found by 80%"),
)


class NoNoiseError(Exception):
    """The stored runs do not show the noise of a figure."""


def noise_of(runs: Sequence[StoredRun], metric: str) -> Source:
    """Errors: ``NoNoiseError``."""
    found = []
    for run in runs:
        for cell in run.plan.cells if run.plan is not None else ():
            by_metric = replace(cell, cell=replace(cell.cell, primary=metric))
            found += residuals_of(CellData.of(by_metric, run.trials, DEFAULT))
    if not found:
        raise NoNoiseError(f"{metric}: expected six blocks with it in a run, got fewer")
    return Source(name=metric, residuals=tuple(found))


def block_ns_of(runs: Sequence[StoredRun]) -> int:
    """From the start of a block to that of the next: the median."""
    took = []
    for run in runs:
        began: dict[int, int] = {}
        for one in run.trials:
            began[one.block] = min(began.get(one.block, one.started_unix_ns), one.started_unix_ns)
        blocks = sorted(began)
        took += [
            began[after] - began[before]
            for before, after in pairwise(blocks)
            if after == before + 1 and began[after] > began[before]
        ]
    if not took:
        raise NoNoiseError("expected two blocks that follow each other, got fewer")
    return round(float(np.median(took)))


@dataclass(frozen=True, kw_only=True)
class Gates:
    """What is simulated: gates with one threshold and a budget."""

    wanted: Threshold
    source: Source
    block_ns: int
    budget_ns: int
    count: int
    seed: int

    @property
    def blocks(self) -> int:
        return self.budget_ns // self.block_ns

    def at(self, worse: float) -> Counter[State]:
        """How many found what, where the head is worse by this share. All such shares have the same
        noise (common random numbers).
        """
        metric = self.wanted.metric
        head = math.log1p(-worse) if higher_is_better(metric) else math.log1p(worse)
        return Counter(self._one(number, head) for number in range(self.count))

    def _one(self, number: int, head: float) -> State:
        random = np.random.default_rng([self.seed, number])
        sides = sides_of(["base", "head"], folders=[Path("/")])
        load = DuelLoad(
            connections=1, rate_per_s=None, warmup_ns=0, window_ns=10**9, websocket=False
        )
        plan = plan_of(sides, load, floor=None, seed=number, budget_ns=self.budget_ns, blocks=None)
        names = [entry.name for entry in plan.cells[0].entries]
        logs = self.source.noise(random, len(names), self.blocks + 1)
        by_entry = dict(zip(names, logs.tolist(), strict=True))

        def measured(spec: TrialSpec) -> dict[str, float]:
            log = by_entry[spec.entry][spec.block - 1]
            return {
                self.wanted.metric: 1e6 * math.exp(log + head * (spec.contestant.identity == HEAD))
            }

        trial_ns = self.block_ns // len(names)
        world = World(metrics=measured, trial_ns=lambda _: trial_ns)
        judge = _Judge([self.wanted, threshold(ERRORS, 0)])
        duel = world.measure(plan, sides, load, band=0.01, ends=judge.ends)
        return judge.result(duel.cell, duel.trials, duel.level_left).state


def smallest_found(share: Callable[[float], float], allowed: float) -> float | None:
    """The smallest regression that ``FOUND`` of the gates find; None: wider than the search goes.
    ``share``: of the gates that find this one.
    """
    low, high = allowed, 2 * allowed
    while share(high) < FOUND:
        low, high = high, 2 * high
        if high > WIDEST:
            return None
    while high / low > CLOSE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if share(middle) >= FOUND else (middle, high)
    return high


def row_of(gates: Gates) -> tuple[str, ...]:
    """What stands under ``HEADS``."""
    allowed = abs(gates.wanted.limit - 1)

    def share(states: Counter[State], state: State) -> float:
        return states[state] / gates.count

    equal, edge = gates.at(0.0), gates.at(allowed)
    found = smallest_found(lambda worse: share(gates.at(worse), "regressed"), allowed)
    shares = [share(one, state) for one in (equal, edge) for state in ("regressed", "holds")]
    return (
        *(str(gates.wanted), rough_duration(gates.budget_ns), str(gates.blocks)),
        *(f"{one:.1%}" for one in shares),
        f"{found:.1%}" if found is not None else "none",
    )


def _limit(text: str) -> Threshold:
    name, _, limit = text.partition("=")
    one = threshold(name, limit)
    if one.kind != "change" or one.never_holds:
        raise ValueError("expected a change such as cpu_per_request=+3%")
    return one


def main() -> None:
    parser = argparse.ArgumentParser(prog="gate_power", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--limit", action="append", type=_limit, required=True)
    parser.add_argument("--minutes", nargs="+", type=float, default=[5.0, 15.0])
    parser.add_argument("--gates", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    runs = [read_run(path) for path in asked.runs]
    if any(run.info.selection.studies != (STUDY,) for run in runs):
        parser.error("RUN: expected stored duels or gates")
    rows = []
    block_ns = block_ns_of(runs)
    for wanted in asked.limit:
        source = noise_of(runs, wanted.metric)
        print(f"{wanted.name}: {100 * source.sd:.2f}% from trial to trial", flush=True)
        for minutes in asked.minutes:
            gates = Gates(
                wanted=wanted,
                source=source,
                block_ns=block_ns,
                budget_ns=round(minutes * MINUTE_NS),
                count=asked.gates,
                seed=asked.seed,
            )
            rows.append(row_of(gates))
            print(" ".join(rows[-1]), flush=True)
    print()
    print("\n".join(table(HEADS, rows, figures=range(1, len(HEADS)))))


if __name__ == "__main__":
    main()
