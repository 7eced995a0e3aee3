"""The analysis of one entry of a cell: its figures, warm-up, failures, and why it has no rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wirebench.catalog.studies import Cell
from wirebench.stats.cell import CellData
from wirebench.stats.settings import Settings
from wirebench.stats.summary import is_rate, summarise
from wirebench.stats.types import (
    Bottleneck,
    EntryAnalysis,
    EntrySummary,
    FailureCount,
    Standing,
    TrialView,
    WarmUp,
)
from wirebench.stats.validity import (
    breaks_little,
    little_check,
    number,
    starvation,
)
from wirebench.stats.warmup import class_of_trials, has_steady_state


def why_unranked(
    data: CellData, name: str, *, twin_of: str | None, warm_up: WarmUp, settings: Settings
) -> str | None:
    if name in data.planned.floors:
        return "the floor: the others are compared with it"
    if twin_of is not None:
        return f"the twin of {twin_of}: its ratio shows the noise"
    if not data.values(name, data.planned.cell.primary):
        own = data.trials[name]
        failures = [trial for trial in own if trial.failure is not None]
        if failures and failures[0].failure is not None:
            return f"{failures[0].failure.kind.replace('_', ' ')}: {failures[0].failure.message}"
        if any(breaks_little(trial) for trial in own):
            return "every trial is void: its figures contradict Little's law"
        if any(trial.status == "ok" for trial in own):
            return (
                "every block with it was dropped" if data.dropped else "its trials lack this metric"
            )
        return "not run"
    valid = len(data.values(name, data.planned.cell.primary))
    if valid < settings.min_blocks:
        return f"{valid} valid block{'s' if valid > 1 else ''}; a rank needs {settings.min_blocks}"
    if warm_up == "never steady":
        return "never steady: its level still changed in the last quarter of most windows"
    return None


def warm_up_of(trials: Sequence[TrialView], cell: Cell, settings: Settings) -> WarmUp:
    """The class of most trials, by the series that the cell's figure summarises: throughput, or the
    median latency where the primary metric is a time or a cost.

    A saturated closed loop's median is connections / throughput and has no say of its own. It jumps
    when the order of the waiting requests does, at a throughput that stays the same.
    """
    if not has_steady_state(cell.load):
        return "not judged"
    by_rate = is_rate(cell.primary)
    series = [_numbers((trial.series or {}).get("ok" if by_rate else "p50_ns")) for trial in trials]
    return class_of_trials(series, higher_is_better=by_rate, settings=settings)


def _numbers(values: object) -> list[float]:
    """The numbers of a series, without the intervals that have no value (no reply)."""
    if not isinstance(values, list | tuple):
        return []
    return [found for value in values if (found := number(value)) is not None]


def entry_analysis(
    data: CellData,
    name: str,
    *,
    twin_of: str | None,
    standings: Mapping[str, Standing],
    standing: Standing,
    unranked: str | None,
    bottleneck: Bottleneck | None,
    warm_up: WarmUp,
    settings: Settings,
) -> EntryAnalysis:
    own = data.trials[name]
    measured = [trial for trial in own if trial.status == "ok"]
    little = little_check(measured, settings=settings)
    valid = data.valid[name]
    return EntryAnalysis(
        entry=name,
        contestant=own[0].contestant if own else (twin_of or name),
        twin_of=twin_of,
        is_floor=name in data.planned.floors,
        summary=EntrySummary(
            metrics=summarise([trial.metrics for trial in valid.values()]),
            trials=len(valid),
            failed=sum(1 for trial in own if trial.status == "failed"),
            not_run=sum(1 for trial in own if trial.status == "not_run"),
            voided=little.voided,
        ),
        standing=standing,
        standings=standings,
        unranked=unranked,
        bottleneck=bottleneck,
        little=little,
        warm_up=warm_up,
        starvation=starvation(measured),
        failures=_failures(own),
        warnings=Counter(warning.split(":")[0] for trial in own for warning in trial.warnings),
    )


def _failures(trials: Sequence[TrialView]) -> tuple[FailureCount, ...]:
    """Failures by kind and phase, with the texts of the first one. Trials left out because of
    earlier failures are not counted.
    """
    found: dict[tuple[str, str], FailureCount] = {}
    for trial in trials:
        failure = trial.failure
        if failure is None or (trial.status == "not_run" and trial.block > 0):
            continue
        key = (failure.kind, failure.phase)
        before = found.get(key)
        if before is None:
            found[key] = FailureCount(
                kind=failure.kind,
                phase=failure.phase,
                message=failure.message,
                sent=failure.sent,
                expected=failure.expected,
                received=failure.received,
                count=1,
                blocks=(trial.block,),
            )
        else:
            found[key] = replace(
                before, count=before.count + 1, blocks=(*before.blocks, trial.block)
            )
    return tuple(found.values())
