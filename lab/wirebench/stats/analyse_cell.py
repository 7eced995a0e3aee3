"""One cell: standings by metric, the twin, and the entries in the order of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from wirebench.catalog.loads import Kind
from wirebench.catalog.model import unit_of
from wirebench.stats.bottleneck import (
    LIMITED_METRICS,
    bottleneck,
    bound_of,
    generator_bound,
    is_ahead,
    within_bounds,
)
from wirebench.stats.cell import CellData
from wirebench.stats.entry import entry_analysis, why_unranked
from wirebench.stats.link_costs import link_costs
from wirebench.stats.noise import noise_kind
from wirebench.stats.ranks import places
from wirebench.stats.settings import Settings
from wirebench.stats.standings import beats, order_of, pairs_of, ratios_to_floor, standing_of
from wirebench.stats.summary import higher_is_better
from wirebench.stats.twin import Measured, twin_verdict
from wirebench.stats.types import (
    CellAnalysis,
    EntryAnalysis,
    NoiseBand,
    Pair,
    Standing,
    TwinNoise,
    WarmUp,
)

TABLE_METRICS = (
    "throughput_per_s",
    "p99_ns",
    "cpu_per_request_ns",
    "round_trip_p99_ns",
    "cpu_per_operation_ns",
    "success_ratio",
)
"""The metrics whose standings a table may mark, besides the primary one."""
PUBLISHED_METRICS: Mapping[Kind, tuple[str, ...]] = {
    "each": ("service_makespan_ns", "mean_ns"),
    "ramp": ("connect_ns", "max_ns"),
    "client": ("mean_ns",),
}
"""By the cell's kind, those that published tables have besides."""


def judged_metrics(data: CellData) -> list[str]:
    """The primary metric, then those of the tables that some entry has."""
    cell = data.planned.cell
    primary = cell.primary
    return [
        primary,
        *(
            metric
            for metric in (*TABLE_METRICS, *PUBLISHED_METRICS.get(cell.kind, ()))
            if metric != primary and any(data.values(name, metric) for name in data.trials)
        ),
    ]


def analyse_cell(
    data: CellData,
    *,
    warm_ups: Mapping[str, WarmUp],
    comparisons: Measured,
    band: Callable[[str], NoiseBand],
    band_for_twin: NoiseBand,
    twin_noise: Mapping[str, TwinNoise],
    settings: Settings,
) -> CellAnalysis:
    """``warm_ups``: by entry. ``comparisons`` and ``band``: those of the cell by metric.
    ``twin_noise``: by metric, what the cell's twin shows.
    """
    planned, cell = data.planned, data.planned.cell
    second = {entry.name: entry.twin_of for entry in planned.entries}
    bottlenecks = {
        name: bottleneck(trials.values(), role=planned.role, settings=settings)
        for name, trials in data.valid.items()
    }
    bound = generator_bound(bottlenecks)
    unranked = {
        name: why_unranked(
            data, name, twin_of=second.get(name), warm_up=warm_ups[name], settings=settings
        )
        for name in data.trials
    }
    metrics = judged_metrics(data)
    bands = {metric: band(metric) for metric in metrics}
    standings: dict[str, dict[str, Standing]] = {name: {} for name in data.trials}
    primary_pairs: tuple[Pair, ...] = ()
    for metric in metrics:
        primary = metric == cell.primary
        ranked = [
            name
            for name, reason in unranked.items()
            if reason is None and data.values(name, metric)
        ]
        limited = bound if metric in LIMITED_METRICS else frozenset()
        compared, d = comparisons(metric), bands[metric].d
        pairs = pairs_of(compared, ranked, metric, d, limited, settings)
        if primary:
            primary_pairs = pairs
        found = places(order_of(data, ranked, metric), beats(pairs))
        ratios = ratios_to_floor(data, compared, metric, d)
        for name in data.trials:
            if data.values(name, metric):
                standings[name][metric] = _bounded(
                    standing_of(found.get(name), *ratios.get(name, (None, None))),
                    limited=name in limited,
                    floor_limited=data.floor in limited,
                    higher=higher_is_better(metric),
                )
    none = standing_of(None, None, None)
    entries = [
        entry_analysis(
            data,
            name,
            twin_of=second.get(name),
            standings=standings[name],
            standing=standings[name].get(cell.primary, none),
            unranked=unranked[name],
            bottleneck=bottlenecks[name],
            warm_up=warm_ups[name],
            settings=settings,
        )
        for name in data.trials
    ]
    order = order_of(
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
        processes=planned.processes,
        more_processes=planned.more_processes,
        open_files=planned.open_files,
        blocks=data.measured_blocks,
        dropped=data.dropped,
        other_programs=data.other_programs,
        quota_stops=data.quota_stops,
        band=bands[cell.primary],
        twin=twin_verdict(data, comparisons, twin_noise, band_for_twin),
        entries=tuple(entries),
        pairs=primary_pairs,
        bands=bands,
        run_effects={metric: comparisons(metric).run_effect for metric in metrics},
        noise_kind=noise_kind(cell),
        link_costs=link_costs(
            cell, entries, {name: list(of.values()) for name, of in data.valid.items()}
        ),
    )


def _bounded(standing: Standing, *, limited: bool, floor_limited: bool, higher: bool) -> Standing:
    """The standing against the floor, as far as generator-bound figures support it."""
    if standing.ratio is None or standing.verdict is None:
        return standing
    return replace(
        standing,
        verdict=within_bounds(
            standing.verdict,
            limited=limited,
            other_limited=floor_limited,
            ahead=is_ahead(standing.ratio, higher_is_better=higher),
        ),
        bound=bound_of(limited=limited, other_limited=floor_limited, higher_is_better=higher),
    )


def _sort_group(entry: EntryAnalysis) -> int:
    """The sort group: ranked entries, the floor, the twin's second entry, entries with figures but
    no rank, the rest.
    """
    if entry.unranked is None:
        return 0
    if entry.is_floor:
        return 1
    if entry.twin_of is not None:
        return 2
    return 3 if entry.summary.trials else 4
