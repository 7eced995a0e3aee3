"""A run's trials to its verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from wirebench.catalog.model import unit_of
from wirebench.plan.model import Plan, PlannedCell
from wirebench.stats.cell import CellData
from wirebench.stats.ranks import Place, places
from wirebench.stats.ratio import median, ratio_of
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.summary import higher_is_better, summarise
from wirebench.stats.types import (
    CellAnalysis,
    EntryAnalysis,
    EntrySummary,
    FailureCount,
    GeneratorBound,
    NoiseBand,
    Pair,
    Ratio,
    RunAnalysis,
    Standing,
    TrialView,
    TwinRecord,
    TwinVerdict,
    Verdict,
    WarmUp,
)
from wirebench.stats.validity import (
    breaks_little,
    generator_bound,
    little_check,
    number,
    starvation,
)
from wirebench.stats.verdict import Twin, holm, judge, noise_band, p_beyond
from wirebench.stats.warmup import combine, graver, warm_up_class

TABLE_METRICS = (
    "throughput_per_s",
    "p99_ns",
    "cpu_per_request_ns",
    "memory_per_connection_bytes",
    "round_trip_p99_ns",
    "cpu_per_operation_ns",
    "success_ratio",
)
"""Metrics besides the primary one whose standings a table may mark."""


def analyse(
    trials: Iterable[TrialView],
    plan: Plan | None,
    history: Sequence[TwinRecord] = (),
    *,
    settings: Settings = DEFAULT,
) -> RunAnalysis:
    """Everything the reports say about a run, finished or not. ``history`` is the twins of earlier
    runs on the same host.

    Trials of cells that the plan has not are ignored; without a plan nothing was measured and the
    result is empty.
    """
    if plan is None:
        return RunAnalysis(cells=(), twins=(), **_lifetime((), history))
    by_cell: dict[tuple[str, str], list[TrialView]] = {}
    for trial in trials:
        by_cell.setdefault((trial.study, trial.cell), []).append(trial)
    data = [
        CellData.of(cell, by_cell.get((cell.study, cell.cell.id), []), settings)
        for cell in plan.cells
    ]
    earlier = [Twin(study=record.study, ratio=record.ratio) for record in history]
    own = [_own_twin(cell) for cell in data]
    cells = []
    for index, cell in enumerate(data):
        # The twin itself is judged by a band it did not make; else no twin could ever leave the
        # band.
        others = [twin for place, twin in enumerate(own) if place != index and twin is not None]
        mine = own[index]
        band_for_twin = noise_band(cell.study, [*earlier, *others], settings=settings)
        band = noise_band(
            cell.study, [*earlier, *others, *([] if mine is None else [mine])], settings=settings
        )
        cells.append(_analyse_cell(cell, band=band, band_for_twin=band_for_twin, settings=settings))
    twins = tuple(cell.twin for cell in cells if cell.twin is not None)
    return RunAnalysis(cells=tuple(cells), twins=twins, **_lifetime(twins, history))


def settled(
    trials: Iterable[TrialView], cell: PlannedCell, *, settings: Settings = DEFAULT
) -> bool:
    """Whether every entry's ratio to the floor is known within 1 +/- ``cell.precision``: the stop
    rule's question.

    Widths only: which entry leads plays no part (Kalibera & Jones, ISMM 2013). An entry that never
    succeeded, or has too few blocks because it keeps failing, holds nothing up: more blocks would
    not help it.
    """
    data = CellData.of(
        cell,
        [trial for trial in trials if (trial.study, trial.cell) == (cell.study, cell.cell.id)],
        settings,
    )
    if data.floor is None:
        return True
    for name in data.valid:
        ratio = ratio_of(data.log_ratios(name, data.floor, cell.cell.primary), settings=settings)
        if name == data.floor or ratio is None or ratio.low is None or ratio.high is None:
            continue
        if (
            ratio.high / ratio.estimate > 1 + cell.precision
            or ratio.low / ratio.estimate < 1 - cell.precision
        ):
            return False
    return True


def _own_twin(cell: CellData) -> Twin | None:
    """The cell's A/A ratio, if it has enough blocks to be one."""
    if cell.twin_pair is None:
        return None
    ratio = ratio_of(cell.log_ratios(*cell.twin_pair, cell.planned.cell.primary))
    if ratio is None or ratio.low is None:
        return None
    return Twin(study=cell.study, ratio=ratio.estimate)


def _lifetime(twins: Sequence[TwinVerdict], history: Sequence[TwinRecord]) -> dict[str, int]:
    judged = [twin for twin in twins if twin.ratio is not None and twin.ratio.low is not None]
    return {
        "false_alarms": sum(twin.false_alarm for twin in judged)
        + sum(record.false_alarm for record in history),
        "twin_trials": len(judged) + len(history),
    }


def _analyse_cell(
    data: CellData, *, band: NoiseBand, band_for_twin: NoiseBand, settings: Settings
) -> CellAnalysis:
    planned, cell = data.planned, data.planned.cell
    floor_trials = data.valid.get(data.floor, {}) if data.floor is not None else {}
    second = {entry.name: entry.twin_of for entry in planned.entries}
    warm_ups = {
        name: _warm_up(list(trials.values()), settings) for name, trials in data.valid.items()
    }
    bounds = {
        name: generator_bound(
            trials,
            floor_trials,
            cell=cell,
            role=planned.role,
            is_floor=name in planned.floors,
            settings=settings,
        )
        for name, trials in data.valid.items()
    }
    unranked = {
        name: _unranked(
            data, name, twin_of=second.get(name), warm_up=warm_ups[name], settings=settings
        )
        for name in data.trials
    }
    metrics = [cell.primary, *(metric for metric in TABLE_METRICS if metric != cell.primary)]
    standings: dict[str, dict[str, Standing]] = {name: {} for name in data.trials}
    primary_pairs: tuple[Pair, ...] = ()
    for metric in metrics:
        primary = metric == cell.primary
        ranked = [
            name
            for name, reason in unranked.items()
            if reason is None and data.values(name, metric)
        ]
        tied_by_generator = {name for name in ranked if primary and bounds[name].bound}
        pairs = _pairs(data, ranked, metric, band.d, tied_by_generator, settings)
        if primary:
            primary_pairs = pairs
        found = places(_order(data, ranked, metric), _beats(pairs))
        ratios = _to_floor(data, metric, band.d, settings)
        for name in data.trials:
            if data.values(name, metric):
                standings[name][metric] = _standing(
                    found.get(name), *ratios.get(name, (None, None))
                )
    none = _standing(None, None, None)
    entries = [
        _entry(
            data,
            name,
            twin_of=second.get(name),
            standings=standings[name],
            standing=standings[name].get(cell.primary, none),
            unranked=unranked[name],
            generator=bounds[name],
            warm_up=warm_ups[name],
            settings=settings,
        )
        for name in data.trials
    ]
    order = _order(
        data, [one.entry for one in entries if cell.primary in standings[one.entry]], cell.primary
    )
    place = {name: index for index, name in enumerate(order)}
    entries.sort(key=lambda one: (_sort_group(one), place.get(one.entry, 0)))
    return CellAnalysis(
        study=planned.study,
        cell=cell.id,
        title=cell.title,
        kind=cell.kind,
        role=planned.role,
        unit=unit_of(cell.workload),
        metric=cell.primary,
        higher_is_better=higher_is_better(cell.primary),
        floor=data.floor,
        server=planned.server,
        blocks=data.measured_blocks,
        dropped=data.dropped,
        band=band,
        twin=_twin(data, band_for_twin, settings),
        entries=tuple(entries),
        pairs=primary_pairs,
    )


def _sort_group(entry: EntryAnalysis) -> int:
    """Ranked entries first, then the floor, the twin's second entry, entries with figures but no
    rank, the rest.
    """
    if entry.unranked is None:
        return 0
    if entry.is_floor:
        return 1
    if entry.twin_of is not None:
        return 2
    return 3 if entry.summary.trials else 4


def _order(data: CellData, names: Sequence[str], metric: str) -> list[str]:
    """Best first: by the ratio to the floor where there is one (block by block), else by the median
    over trials.
    """
    sign = -1 if higher_is_better(metric) else 1
    by_floor: dict[str, float] = {}
    for name in names:
        if data.floor is not None:
            logs = data.log_ratios(name, data.floor, metric)
            if len(logs):
                by_floor[name] = median(logs)
    if len(by_floor) == len(names):
        return sorted(names, key=lambda name: sign * by_floor[name])
    medians = {
        name: float(np.median(list(data.values(name, metric).values()) or [np.nan]))
        for name in names
    }
    return sorted(names, key=lambda name: sign * medians[name])


def _unranked(
    data: CellData, name: str, *, twin_of: str | None, warm_up: WarmUp, settings: Settings
) -> str | None:
    if name in data.planned.floors:
        return "the floor: what the others are compared with"
    if twin_of is not None:
        return f"the twin of {twin_of}: its ratio shows the noise"
    if not data.values(name, data.planned.cell.primary):
        own = data.trials[name]
        failures = [trial for trial in own if trial.failure is not None]
        if failures and failures[0].failure is not None:
            return f"{failures[0].failure.kind.replace('_', ' ')}: {failures[0].failure.message}"
        if any(breaks_little(trial) for trial in own):
            return "every trial was voided: its figures contradict Little's law"
        if any(trial.status == "ok" for trial in own):
            return (
                "every block with it was dropped"
                if data.dropped
                else "its trials do not give this metric"
            )
        return "not run"
    valid = len(data.values(name, data.planned.cell.primary))
    if valid < settings.min_blocks:
        return f"{valid} valid block{'s' if valid > 1 else ''}; a rank needs {settings.min_blocks}"
    if warm_up == "never steady":
        return "never steady: its level still changed in the last quarter of most windows"
    return None


def _pairs(
    data: CellData,
    names: Sequence[str],
    metric: str,
    d: float,
    generator_tied: set[str],
    settings: Settings,
) -> tuple[Pair, ...]:
    """Every pair of the ranked entries both ways round, with Holm's correction over the pairs (each
    counted once).
    """
    couples = list(combinations(names, 2))
    logs = [data.log_ratios(a, b, metric) for a, b in couples]
    raw = [
        p_beyond(values, d, settings=settings) if len(values) >= settings.min_blocks else 1.0
        for values in logs
    ]
    found = []
    for (a, b), values, p in zip(couples, logs, holm(raw), strict=True):
        for one, other, oriented in ((a, b, values), (b, a, -values)):
            if one in generator_tied and other in generator_tied:
                verdict = Verdict(
                    kind="undecided",
                    reason="both are generator-bound: neither's own limit was seen",
                )
            else:
                verdict = judge(
                    oriented,
                    d=d,
                    higher_is_better=higher_is_better(metric),
                    adjusted_p=p,
                    pairs=len(couples),
                    settings=settings,
                )
            ratio = ratio_of(oriented, settings=settings)
            found.append(
                Pair(
                    a=one,
                    b=other,
                    ratio=ratio,
                    p=p if len(values) >= settings.min_blocks else None,
                    verdict=verdict,
                )
            )
    return tuple(found)


def _beats(pairs: Iterable[Pair]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in pairs:
        if pair.verdict.kind == "faster":
            found.setdefault(pair.a, set()).add(pair.b)
    return {name: frozenset(others) for name, others in found.items()}


def _to_floor(
    data: CellData, metric: str, d: float, settings: Settings
) -> dict[str, tuple[Ratio | None, Verdict | None]]:
    """Every other entry's ratio to the floor, Holm-corrected over these comparisons."""
    if data.floor is None:
        return {}
    names = [name for name in data.trials if name != data.floor and data.values(name, metric)]
    logs = [data.log_ratios(name, data.floor, metric) for name in names]
    adjusted = holm([p_beyond(one, d, settings=settings) if len(one) else 1.0 for one in logs])
    return {
        name: (
            ratio_of(values, settings=settings),
            judge(
                values,
                d=d,
                higher_is_better=higher_is_better(metric),
                adjusted_p=p,
                pairs=len(names),
                settings=settings,
            ),
        )
        for name, values, p in zip(names, logs, adjusted, strict=True)
    }


def _standing(place: Place | None, ratio: Ratio | None, verdict: Verdict | None) -> Standing:
    if place is None:
        return Standing(
            ratio=ratio,
            verdict=verdict,
            group=None,
            tied=False,
            rank_low=None,
            rank_high=None,
            mark=None,
        )
    return Standing(
        ratio=ratio,
        verdict=verdict,
        group=place.group,
        tied=place.tied,
        rank_low=place.rank_low,
        rank_high=place.rank_high,
        mark=place.mark,
    )


def _warm_up(trials: Sequence[TrialView], settings: Settings) -> WarmUp:
    """Most trials' class, by throughput and by median; the graver of the two."""
    found: list[WarmUp] = []
    for trial in trials:
        series = trial.series or {}
        rates, medians = series.get("ok"), series.get("p50_ns")
        by_rate = warm_up_class(_numbers(rates), higher_is_better=True, settings=settings)
        by_median = warm_up_class(_numbers(medians), higher_is_better=False, settings=settings)
        found.append(graver(by_rate, by_median))
    return combine(found)


def _numbers(values: object) -> list[float]:
    """The numbers of a series; an interval without a value (no reply in it) ends what can be
    judged.
    """
    if not isinstance(values, list | tuple):
        return []
    numbers = [number(value) for value in values]
    return (
        []
        if any(value is None for value in numbers)
        else [value for value in numbers if value is not None]
    )


def _entry(
    data: CellData,
    name: str,
    *,
    twin_of: str | None,
    standings: Mapping[str, Standing],
    standing: Standing,
    unranked: str | None,
    generator: GeneratorBound,
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
        generator=generator,
        little=little,
        warm_up=warm_up,
        starvation=starvation(measured),
        failures=_failures(own),
        warnings=Counter(warning.split(":")[0] for trial in own for warning in trial.warnings),
    )


def _failures(trials: Sequence[TrialView]) -> tuple[FailureCount, ...]:
    """Failures by kind and phase, with the texts of the first. Trials not run because of earlier
    failures are not counted.
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


def _twin(data: CellData, band: NoiseBand, settings: Settings) -> TwinVerdict | None:
    if data.twin_pair is None:
        return None
    metric = data.planned.cell.primary
    logs = data.log_ratios(*data.twin_pair, metric)
    return TwinVerdict(
        study=data.study,
        cell=data.planned.cell.id,
        contestant=data.twin_pair[1],
        ratio=ratio_of(logs, settings=settings),
        verdict=judge(logs, d=band.d, higher_is_better=higher_is_better(metric), settings=settings),
        band=band.d,
    )
