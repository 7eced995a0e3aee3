"""Whole simulated tables, run by the loop and judged by the statistics that run and judge real
ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from wirebench.catalog.loads import ClosedLoad
from wirebench.catalog.studies import Cell
from wirebench.plan.blocks import FLOOR, PlannedTrial, entries_of
from wirebench.plan.estimate import Pace
from wirebench.plan.model import Plan, PlannedCell, StudyText
from wirebench.plan.repeats import repeat_of
from wirebench.run.measure import measure
from wirebench.selftest.worlds import WORLDS, Floats, Source, World
from wirebench.stats.analyse import analyse
from wirebench.stats.compare import compare
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.settled import standstill
from wirebench.stats.types import CellAnalysis, RunAnalysis
from wirebench.trial.record import TrialRecord

STUDY, CELL, METRIC = "simulated", "table", "throughput_per_s"
FLOOR_LOG = math.log(4)
"""The floor's lead over the entries."""
BAND = DEFAULT.min_noise
"""A claim about entries that are at most this far apart is false, whatever settings judge."""
DECIDED = ("faster", "slower")


@dataclass(frozen=True, kw_only=True)
class Design:
    """How many blocks a cell has, over how many repeats."""

    blocks: int
    """The most. Entries leave before, as the stop rule lets them, but none before
    ``min_blocks``.
    """
    min_blocks: int
    repeats: int
    presets: tuple[str, ...] = ()
    """The presets that have it."""

    def repeat(self, block: int) -> int:
        return repeat_of(block, min_blocks=self.min_blocks, repeats=self.repeats)

    @property
    def sees_repeats(self) -> bool:
        return self.repeats > 1


@dataclass(frozen=True, kw_only=True)
class Run:
    """One simulated run of one cell, with what it was drawn from."""

    plan: Plan
    trials: tuple[TrialRecord, ...]
    truth: dict[str, float]
    """Log figure of each entry that may be ranked."""


def spread(entries: int, gap: float) -> Floats:
    """The true log figures: every other entry is ``gap`` (0.03: 3%) ahead."""
    return np.where(np.arange(entries) % 2 == 0, 0.0, math.log1p(gap))


def simulate_run(
    random: np.random.Generator,
    source: Source,
    world: str | World,
    design: Design,
    truth: Floats,
    settings: Settings = DEFAULT,
) -> Run:
    """The trials of a floor, the entries and a twin: of every entry until the stop rule lets it
    leave.
    """
    numbers = range(1, design.blocks + 1)
    names = [FLOOR, *(f"entry/{index:02d}" for index in range(len(truth)))]
    plan = _plan(names, design)
    (cell,) = plan.cells
    contestants = [names.index(row.contestant) for row in cell.entries]
    draw = WORLDS[world] if isinstance(world, str) else world
    logs = draw(random, source, contestants, [design.repeat(block) for block in numbers])
    logs += np.array([FLOOR_LOG, *truth])[contestants, None]
    figures = {
        (row.name, block): 10_000 * math.exp(float(logs[place, block - 1]))
        for place, row in enumerate(cell.entries)
        for block in numbers
    }
    trials: list[TrialRecord] = []
    measure(
        plan,
        done=(),
        run_trial=lambda trial, _: _trial(trial, figures[trial.entry.name, trial.block]),
        keep=trials.append,
        leave=lambda _: None,
        look=lambda key, block, present: standstill(
            trials, plan, key, block=block, present=present, settings=settings
        ),
        dropped=lambda _: False,
        clock_ns=lambda: 0,
        pace=Pace(estimated={(cell.key, row.name): 1 for row in cell.entries}),
        watcher=_NobodyWatches(),
    )
    return Run(
        plan=plan, trials=tuple(trials), truth=dict(zip(names[1:], map(float, truth), strict=True))
    )


def _plan(names: list[str], design: Design) -> Plan:
    cell = PlannedCell(
        study=STUDY,
        role="server",
        cell=Cell(
            id=CELL,
            title="simulated",
            kind="closed",
            primary=METRIC,
            workload="http.hello",
            load=ClosedLoad(connections=1, warmup_ns=0, window_ns=1),
        ),
        entries=entries_of(names, twin=names[1]),
        floors=(FLOOR,),
        twin=names[1],
        server=None,
        min_blocks=design.min_blocks,
        max_blocks=design.blocks,
        precision=0.02,
        repeats=design.repeats,
    )
    preset = design.presets[0] if design.presets else ""
    text = StudyText(
        name=STUDY, title=STUDY, question="", role="server", preset=preset, preset_title=""
    )
    return Plan(
        seed=1,
        studies=(text,),
        cells=(cell,),
        budget_ns=None,
        estimate_ns=0,
        builds={},
        order=(),
    )


def _trial(planned: PlannedTrial, figure: float) -> TrialRecord:
    return TrialRecord(
        trial=planned.id,
        study=planned.study,
        cell=planned.cell,
        block=planned.block,
        position=planned.position,
        entry=planned.entry.name,
        contestant=planned.entry.contestant,
        twin_of=planned.entry.twin_of,
        status="ok",
        failure=None,
        started_unix_ns=0,
        elapsed_ns=1_000_000_000,
        metrics={METRIC: figure},
    )


class _NobodyWatches:
    def before(self, trial: PlannedTrial, *, left_ns: int) -> None:
        pass

    def after(self, record: TrialRecord, *, left_ns: int) -> None:
        pass


@dataclass(frozen=True, kw_only=True)
class Found:
    """What the statistics said of one table. Pairs are counted once."""

    false_claims: int
    """Claims about pairs whose true ratio is within the band."""
    wrong_signs: int
    """Claims that the slower one is faster."""
    pairs: int
    covered: int
    """Pairs with their true ratio in the 95% interval, of ``intervals``."""
    intervals: int
    found: int
    """Right claims about the pairs that truly differ, of ``differing``."""
    differing: int


def judge_run(run: Run, settings: Settings = DEFAULT) -> tuple[Found, RunAnalysis]:
    analysis = analyse(run.trials, run.plan, settings=settings)
    return _found(analysis.cells[0], run.truth), analysis


def _found(cell: CellAnalysis, truth: dict[str, float]) -> Found:
    edge = math.log1p(BAND) + 1e-9
    false = wrong = pairs = covered = intervals = found = differing = 0
    for pair in cell.pairs:
        if pair.a > pair.b:
            continue
        pairs += 1
        true = truth[pair.a] - truth[pair.b]
        claimed = pair.verdict.kind in DECIDED
        right = pair.verdict.kind == ("faster" if true > 0 else "slower")
        false += claimed and abs(true) <= edge
        wrong += claimed and true != 0 and not right
        differing += true != 0
        found += claimed and true != 0 and right
        if pair.ratio is not None and pair.ratio.low is not None and pair.ratio.high is not None:
            intervals += 1
            covered += pair.ratio.low <= math.exp(true) <= pair.ratio.high
    return Found(
        false_claims=false,
        wrong_signs=wrong,
        pairs=pairs,
        covered=covered,
        intervals=intervals,
        found=found,
        differing=differing,
    )


@dataclass(frozen=True, kw_only=True)
class TwoRuns:
    """Two runs of one truth."""

    changes: int
    """Comparisons that ``compare`` makes; whatever it claims is false."""
    false_changes: int
    reversed: int
    """Pairs that one run calls faster and the other slower."""


def judge_two(
    a: tuple[Run, RunAnalysis], b: tuple[Run, RunAnalysis], settings: Settings = DEFAULT
) -> TwoRuns:
    changes = compare((a[0].plan, a[0].trials), (b[0].plan, b[0].trials), settings=settings)
    first, second = (_claims(one[1].cells[0]) for one in (a, b))
    return TwoRuns(
        changes=len(changes),
        false_changes=sum(change.verdict.kind in DECIDED for change in changes),
        reversed=sum(second.get(pair, kind) != kind for pair, kind in first.items()),
    )


def _claims(cell: CellAnalysis) -> dict[tuple[str, str], str]:
    return {
        (pair.a, pair.b): pair.verdict.kind
        for pair in cell.pairs
        if pair.a < pair.b and pair.verdict.kind in DECIDED
    }
