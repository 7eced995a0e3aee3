"""Whom of a cell more blocks would not help: what the stop rule asks (``wirebench.plan.stop``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from wirebench.plan.model import Plan
from wirebench.plan.stop import Standstill
from wirebench.run.tally import GIVE_UP_AFTER
from wirebench.stats.analyse import analyse
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import (
    CellAnalysis,
    EntryAnalysis,
    HistoryRecord,
    Ratio,
    TrialView,
    TwinRecord,
    Verdict,
)

DECIDED = "all its pairs were decided"
AS_FAR_AS_CAN_BE = "more blocks would not decide what the generator leaves open"


def standstill(
    trials: Iterable[TrialView],
    plan: Plan,
    key: str,
    *,
    block: int,
    present: Collection[str],
    history: Sequence[HistoryRecord] = (),
    settings: Settings = DEFAULT,
) -> Standstill:
    """Whom of the cell ``key`` more blocks would not help, by its blocks up to ``block``.

    An entry is settled when no verdict on it is open, against the floor and against every entry
    that is still ``present`` and not hopeless, or when its ratio to the floor is known within
    1 +/- ``precision``, all at ``Settings.look_confidence``.
    Where the cell has no floor, or none that more blocks give figures, its pairs alone decide.
    Which entry leads plays no part (Kalibera & Jones, ISMM 2013). Nothing is settled without an
    interval. The intervals hold what differs between the run's own repeats. What earlier runs
    showed of it is left out, because no block makes it smaller. Later trials of an interrupted run
    are not looked at, so that a resumed run decides alike.
    """
    planned = next(cell for cell in plan.cells if cell.key == key)
    own = [
        trial
        for trial in trials
        if (trial.study, trial.cell) == (planned.study, planned.cell.id) and trial.block <= block
    ]
    twins = [record for record in history if isinstance(record, TwinRecord)]
    strict = replace(settings, confidence=settings.look_confidence)
    (cell,) = analyse(own, replace(plan, cells=(planned,)), twins, settings=strict).cells
    judged = [
        entry
        for entry in cell.entries
        if entry.entry in present and not entry.is_floor and entry.twin_of is None
    ]
    floor = cell.entry(cell.floor) if cell.floor is not None else None
    to_floor = floor is not None and not _hopeless(cell, floor)
    hopeless = {entry.entry for entry in judged if _hopeless(cell, entry)}
    rivals = frozenset(present) - hopeless  # hopeless entries stay, and decide nothing
    settled = {}
    for entry in judged:
        ratio = entry.standing.ratio if to_floor else None
        verdicts = _verdicts(cell, entry, rivals, to_floor=to_floor)
        if verdicts and not any(_is_open(*one) for one in verdicts):
            decided = all(verdict.kind != "undecided" for _, verdict in verdicts)
            settled[entry.entry] = DECIDED if decided else AS_FAR_AS_CAN_BE
        elif ratio is not None and _within(ratio, planned.precision):
            settled[entry.entry] = f"its interval is within {planned.precision:.0%}"
        elif not verdicts and not to_floor and entry.summary.trials >= settings.min_blocks:
            hopeless.add(entry.entry)  # nobody is left to compare it with
    return Standstill(settled=settled, hopeless=frozenset(hopeless), twin_open=_twin_open(cell))


def _twin_open(cell: CellAnalysis) -> bool:
    """Whether more blocks would give the twin its interval."""
    if cell.twin is None or (cell.twin.ratio is not None and cell.twin.ratio.low is not None):
        return False
    second = next(entry for entry in cell.entries if entry.twin_of is not None)
    both = (second, cell.entry(cell.twin.contestant))
    return not any(one is None or _hopeless(cell, one) for one in both)


def _verdicts(
    cell: CellAnalysis, entry: EntryAnalysis, rivals: Collection[str], *, to_floor: bool
) -> list[tuple[Ratio | None, Verdict]]:
    """The verdicts on the entry against its rivals and, with ``to_floor``, against the floor."""
    found = [
        (pair.ratio, pair.verdict)
        for pair in cell.pairs
        if pair.a == entry.entry and pair.b in rivals
    ]
    if to_floor and entry.standing.verdict is not None:
        found.append((entry.standing.ratio, entry.standing.verdict))
    return found


def _is_open(ratio: Ratio | None, verdict: Verdict) -> bool:
    """Whether more blocks could decide."""
    if ratio is None or ratio.low is None:
        return True
    return verdict.kind == "undecided" and not verdict.beyond_blocks


def _within(ratio: Ratio, precision: float) -> bool:
    return (
        ratio.low is not None
        and ratio.high is not None
        and ratio.high / ratio.estimate <= 1 + precision
        and ratio.low / ratio.estimate >= 1 - precision
    )


def _hopeless(cell: CellAnalysis, entry: EntryAnalysis) -> bool:
    """Whether the entry failed as often as it takes to be given up, never had a figure, had one of
    0 (``CellData.why_no_ratio``), or cannot keep up with the load of the cell.
    """
    summary = entry.summary
    failures = summary.failed + summary.not_run
    figures = summary.metrics.get(cell.metric)
    without_ratio = figures is None or figures.least <= 0 or not entry.kept_up
    return failures >= GIVE_UP_AFTER or without_ratio
