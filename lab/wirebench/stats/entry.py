"""The analysis of one entry of a cell: its figures, warm-up, failures, and why it has no rank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from wirebench.catalog.loads import ClosedLoad, OpenLoad, RampLoad
from wirebench.catalog.studies import Cell
from wirebench.catalog.units import count_of
from wirebench.stats.breaking import WARNING, breaking_of
from wirebench.stats.cell import CellData
from wirebench.stats.ratio import block_median
from wirebench.stats.settings import Settings
from wirebench.stats.summary import is_rate, summarise
from wirebench.stats.types import (
    BlockMedian,
    Bottleneck,
    EntryAnalysis,
    EntrySummary,
    FailureCount,
    Standing,
    TrialView,
    WarmUp,
)
from wirebench.stats.validity import (
    faults,
    little_check,
    number,
    silent_connections,
    starvation,
    void_reason,
)
from wirebench.stats.warmup import class_of_trials, has_steady_state
from wirebench.trial.record import FailureRecord

NEVER_STEADY = "never steady: its level still changed in the last quarter of most windows"


def warm_ups_of(data: CellData, settings: Settings) -> dict[str, WarmUp]:
    """The class of each entry's warm-up."""
    return {
        name: warm_up_of(list(trials.values()), data.planned.cell, settings)
        for name, trials in data.valid.items()
    }


def why_unsound(data: CellData, name: str, warm_up: WarmUp) -> str | None:
    """Why figures are not those of a server at rest with its load, however many there are: the
    entry could not keep up, or never got steady.
    """
    slow = _too_slow(data, name)
    return slow if slow is not None or warm_up != "never steady" else NEVER_STEADY


def sound_entries(data: CellData, warm_ups: Mapping[str, WarmUp]) -> frozenset[str]:
    """Whose comparisons show what repeats differ by: all that ``why_unsound`` leaves, without a
    twin's second entry.
    """
    second = {entry.name for entry in data.planned.entries if entry.twin_of is not None}
    return frozenset(
        name
        for name, warm_up in warm_ups.items()
        if name not in second and why_unsound(data, name, warm_up) is None
    )


def why_unranked(
    data: CellData, name: str, *, twin_of: str | None, warm_up: WarmUp, settings: Settings
) -> str | None:
    if name in data.planned.floors:
        return "the floor: the others are compared with it"
    if twin_of is not None:
        return f"the twin of {twin_of}: its ratio shows the noise"
    if (slow := _too_slow(data, name)) is not None:
        return slow
    if not data.values(name, data.planned.cell.primary):
        gone = {one.block for one in data.dropped}
        own = [trial for trial in data.trials[name] if trial.block not in gone]
        if not own and data.trials[name]:
            return "every block with it was dropped"
        measured = [trial for trial in own if trial.status == "ok"]
        void = [why for trial in measured if (why := void_reason(trial)) is not None]
        failures = [trial.failure for trial in own if trial.failure is not None]
        if failures:
            why = f"{failures[0].kind.replace('_', ' ')}: {failures[0].message}"
            return f"{_share_failed(own)}: {why}; void: {void[0]}" if void else why
        if void and len(void) == len(measured):
            return f"every trial is void: {void[0]}"
        return _without_figure(data) if measured else "not run"
    valid = len(data.values(name, data.planned.cell.primary))
    if valid < settings.min_blocks:
        return f"{count_of(valid, 'valid block')}; a rank needs {settings.min_blocks}"
    if warm_up == "never steady":
        return NEVER_STEADY
    return None


def _share_failed(trials: Sequence[TrialView]) -> str:
    ran = [trial for trial in trials if trial.status != "not_run"]
    failed = sum(trial.status == "failed" for trial in ran)
    return f"{failed} of {count_of(len(ran), 'trial')} failed, and none of the others is valid"


def _without_figure(data: CellData) -> str:
    """Why right trials give no figure."""
    if data.planned.cell.primary in ("p90_ns", "p99_ns", "p999_ns"):
        return "too few requests in a window for this percentile, which needs ten beyond it"
    return "its trials lack this metric"


def _too_slow(data: CellData, name: str) -> str | None:
    """That the entry could not keep up with an open loop in most of its valid trials: its figures
    are then those of a queue that grows with the window.
    """
    load = data.planned.cell.load
    if not isinstance(load, OpenLoad) or load.overload:
        return None
    valid = data.valid.get(name, {})  # the other of two runs may have an entry more
    slow = [one for one in valid.values() if one.validity.get("kept_up") is False]
    if 2 * len(slow) <= len(valid):
        return None
    answered, offered = (
        float(np.median([number(one.metrics.get(metric)) or 0.0 for one in slow]))
        for metric in ("throughput_per_s", "offered_per_s")
    )
    return f"could not keep up: answered {answered:,.0f}/s of {offered:,.0f}/s"


def warm_up_of(trials: Sequence[TrialView], cell: Cell, settings: Settings) -> WarmUp:
    """The class of most trials, by the series that the cell's figure summarises: throughput, or the
    median latency in an open loop whose primary metric is a time or a cost.

    A saturated closed loop's median is connections / throughput and has no say of its own. It jumps
    when the order of the waiting requests does, at a throughput that stays the same.
    """
    if not has_steady_state(cell.load):
        return "not judged"
    # Behind a server that cannot keep up the queue grows, at a rate that stays the same.
    overloaded = any(trial.validity.get("kept_up") is False for trial in trials)
    by_rate = is_rate(cell.primary) or overloaded or isinstance(cell.load, ClosedLoad)
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
    # What happened in a block that the host disturbed says nothing of the entry.
    gone = {one.block for one in data.dropped}
    counted = [trial for trial in own if trial.block not in gone]
    measured = [trial for trial in counted if trial.status == "ok"]
    little = little_check(measured, settings=settings)
    valid = data.valid[name]
    load = data.planned.cell.load
    breaking = breaking_of(counted, load) if isinstance(load, RampLoad) else None
    kinds = [warning.split(":")[0] for trial in counted for warning in trial.warnings]
    return EntryAnalysis(
        entry=name,
        contestant=own[0].contestant if own else (twin_of or name),
        twin_of=twin_of,
        is_floor=name in data.planned.floors,
        summary=EntrySummary(
            metrics=summarise([trial.metrics for trial in valid.values()]),
            trials=len(valid),
            failed=sum(1 for trial in counted if trial.status == "failed"),
            not_run=sum(1 for trial in counted if trial.status == "not_run"),
            voided=sum(void_reason(trial, settings=settings) is not None for trial in measured),
        ),
        standing=standing,
        standings=standings,
        unranked=unranked,
        bottleneck=bottleneck,
        little=little,
        warm_up=warm_up,
        starvation=starvation(measured),
        silent_connections=silent_connections(measured),
        faults=faults(counted),
        over_floor=_over_floor(data, name, settings),
        kept_up=_too_slow(data, name) is None,
        # What did not take place is no failure: the host does not allow it, or earlier ones failed.
        failures=_failures([one for one in counted if one.status != "not_run"]),
        server_failures=_failures([one for one in counted if _is_servers(one.failure)]),
        breaking=breaking,
        warnings=Counter(kind for kind in kinds if breaking is None or kind != WARNING),
    )


def _over_floor(data: CellData, name: str, settings: Settings) -> BlockMedian | None:
    if data.planned.role != "client" or data.floor is None or name in data.planned.floors:
        return None
    metric = data.planned.cell.primary
    own, floors = data.values(name, metric), data.values(data.floor, metric)
    differences = [own[block] - floors[block] for block in sorted(own.keys() & floors.keys())]
    return block_median(np.array(differences, dtype=np.float64), settings=settings)


def _is_servers(failure: FailureRecord | None) -> bool:
    return failure is not None and failure.whose is not None


def _failures(trials: Sequence[TrialView]) -> tuple[FailureCount, ...]:
    """Failures by kind and phase, with the texts of the first one."""
    found: dict[tuple[str, str], FailureCount] = {}
    for trial in trials:
        failure = trial.failure
        if failure is None:
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
                state=failure.state,
                whose=failure.whose,
                count=1,
                blocks=(trial.block,),
            )
        else:
            found[key] = replace(
                before, count=before.count + 1, blocks=(*before.blocks, trial.block)
            )
    return tuple(found.values())
