"""What a duel's trials say: each side against the first, by each metric.

Looking again and again finds a difference by chance more often than looking once. So each look has
only a part of the 5%, by the spending function of Lan and DeMets (Biometrika 1983) in O'Brien and
Fleming's form: little at first, most at the end of the budget. Each look takes what the function
has added since the last one (Bonferroni over the looks, which errs to the safe side), and Holm's
procedure shares that among the metrics and sides. What a look decides stays decided: it has been
paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scipy import special

from wirebench.plan.model import PlannedCell
from wirebench.stats.bottleneck import (
    LIMITED_METRICS,
    bottleneck,
    bound_of,
    generator_bound,
    is_ahead,
    within_bounds,
)
from wirebench.stats.cell import CellData
from wirebench.stats.comparisons import Comparisons
from wirebench.stats.disturbances import counted_trials
from wirebench.stats.noise import noise_band
from wirebench.stats.settings import DEFAULT
from wirebench.stats.summary import higher_is_better, summarise
from wirebench.stats.twin import twin_noise
from wirebench.stats.types import (
    Bottleneck,
    Bound,
    DroppedBlock,
    MetricSummary,
    NoiseBand,
    OtherPrograms,
    QuotaStops,
    Ratio,
    Verdict,
)
from wirebench.stats.verdict import holm, log_edges
from wirebench.trial.cold import cold_runtimes
from wirebench.trial.killed import killed_trials
from wirebench.trial.record import TrialRecord
from wirebench.trial.reply_size import reply_bytes
from wirebench.trial.wrong_replies import errors_of

LEVEL = 0.05
"""The chance of any false difference in a duel between equal servers."""
CLOSED_METRICS = ("throughput_per_s", "p50_ns", "p99_ns", "cpu_per_request_ns", "server_rss_bytes")
OPEN_METRICS = ("p50_ns", "p99_ns", "cpu_per_request_ns", "server_rss_bytes")
"""Judged, in the order of the table."""
DECIDING = {
    "closed": ("throughput_per_s", "cpu_per_request_ns"),
    "open": ("p99_ns", "cpu_per_request_ns"),
}
"""A duel ends when these are decided. The others take the blocks that there are."""


def spent(share: float) -> float:
    """How much of ``LEVEL`` may be spent when this share of the budget is used (0 to 1)."""
    if share <= 0:
        return 0.0
    quantile = float(special.ndtri(1 - LEVEL / 2))
    return 2 * (1 - float(special.ndtr(quantile / min(1.0, share) ** 0.5)))


@dataclass(frozen=True, kw_only=True)
class Line:
    """One side against the first, by one metric."""

    metric: str
    side: str
    against: str
    ratio: Ratio | None
    """Of the metric, ``side`` over ``against``, with its 95% interval."""
    verdict: Verdict
    """``faster`` means better, whatever the metric."""
    band: NoiseBand
    bound: Bound | None = None
    decided_after: int | None = None
    """The blocks of the look that decided it, and of the ratio, if that was not the last look."""

    @property
    def claimed(self) -> bool:
        """Whether the sides are said to differ, or not to."""
        return self.verdict.kind != "undecided"

    @property
    def decided(self) -> bool:
        return self.claimed or self.verdict.beyond_blocks


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A duel's result so far."""

    lines: tuple[Line, ...]
    figures: Mapping[str, Mapping[str, MetricSummary]]
    """By side (floor and twin among them) and metric, over the valid trials."""
    bottlenecks: Mapping[str, Bottleneck | None]
    failed: Mapping[str, int]
    """By side and floor, its second entry included: trials, without those of dropped blocks."""
    errors: Mapping[str, int]
    """By side, its second entry included: requests without a right reply, in the same trials."""
    voided: Mapping[str, Sequence[str]]
    """By entry: why each of its void trials is, without those of dropped blocks."""
    twin: tuple[Line, ...]
    """The side that was measured twice against itself: noise."""
    blocks: int
    dropped: tuple[DroppedBlock, ...]
    other_programs: OtherPrograms | None
    level: float
    quota_stops: QuotaStops | None = None
    cold: Mapping[str, str] = field(default_factory=dict)
    """By side: that its runtime needs a longer warm-up than it had."""
    reply_bytes: Mapping[str, float] = field(default_factory=dict)
    """By side: how many bytes came for each right reply, with its head."""
    killed: Mapping[str, int] = field(default_factory=dict)
    """By side: in how many trials it did not end on SIGTERM."""

    @property
    def sides(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line.side for line in self.lines))

    def decided(self, kind: str) -> bool:
        """Whether all that ends a duel is decided, and there is something of it."""
        found = [line for line in self.lines if line.metric in DECIDING[kind]]
        return bool(found) and all(line.decided for line in found)

    def keeping(self, earlier: Judged | None) -> Judged:
        """With what an earlier look decided and this one does not.

        Each look has paid for its own claims, so that a false one is among all of them no more
        often than the levels add up to (Boole's inequality).
        """
        if earlier is None:
            return self
        before = {
            (line.metric, line.side): replace(
                line, decided_after=line.decided_after or earlier.blocks
            )
            for line in earlier.lines
            if line.claimed
        }
        lines = (
            line if line.claimed else before.get((line.metric, line.side), line)
            for line in self.lines
        )
        return replace(self, lines=tuple(lines))


def judged(
    planned: PlannedCell,
    trials: Sequence[TrialRecord],
    *,
    level: float,
    band: float,
) -> Judged:
    """``level``: what this look may spend. ``band``: differences up to it count for
    nothing, and within more where the twin shows more.
    """
    settings = replace(DEFAULT, min_noise=band)
    strict = replace(settings, confidence=1 - level)
    data = CellData.of(planned, trials, settings)
    seconds = {entry.name: entry.twin_of for entry in planned.entries if entry.twin_of is not None}
    names = [
        entry.name
        for entry in planned.entries
        if entry.name not in seconds and entry.name not in planned.floors
    ]
    first, others = names[0], names[1:]
    bottlenecks = {
        name: bottleneck(valid.values(), role="server", settings=settings)
        for name, valid in data.valid.items()
    }
    limited = generator_bound(bottlenecks)
    metrics = [
        metric
        for metric in (CLOSED_METRICS if planned.cell.kind == "closed" else OPEN_METRICS)
        if any(data.values(name, metric) for name in names)
    ]
    shown = {metric: Comparisons(data, metric, settings=settings) for metric in metrics}
    bands = {
        metric: noise_band(
            [noise] if (noise := twin_noise(data, metric, shown[metric])) is not None else [],
            of="this duel",
            settings=settings,
        )
        for metric in metrics
    }
    wanted = [(metric, side, first) for metric in metrics for side in others]
    counted = counted_trials(trials, settings=settings)
    return Judged(
        lines=_lines(data, wanted, bands, limited, shown, strict_level=strict.confidence),
        figures={
            name: summarise([trial.metrics for trial in valid.values()])
            for name, valid in data.valid.items()
        },
        bottlenecks=bottlenecks,
        failed=_failed(counted),
        errors={name: errors_of(counted, name) for name in names},
        voided={name: data.void_reasons(name, settings) for name in data.trials},
        twin=_lines(
            data,
            [(metric, second, one) for metric in metrics for second, one in seconds.items()],
            bands,
            limited,
            shown,
            strict_level=strict.confidence,
        ),
        blocks=data.measured_blocks,
        cold=cold_runtimes(trials),
        reply_bytes={
            name: size
            for name in names
            if (size := reply_bytes(data.valid.get(name, {}).values())) is not None
        },
        killed=killed_trials(trials),
        dropped=data.dropped,
        other_programs=data.other_programs,
        quota_stops=data.quota_stops,
        level=level,
    )


def _lines(
    data: CellData,
    wanted: Iterable[tuple[str, str, str]],
    bands: Mapping[str, NoiseBand],
    limited: frozenset[str],
    shown: Mapping[str, Comparisons],
    *,
    strict_level: float,
) -> tuple[Line, ...]:
    rows = list(wanted)
    strict = replace(DEFAULT, confidence=strict_level)
    by = {metric: Comparisons(data, metric, settings=strict) for metric in shown}
    without = [
        data.why_no_ratio(a, metric) or data.why_no_ratio(b, metric) for metric, a, b in rows
    ]
    adjusted = holm(
        [
            by[metric].p_value(a, b, log_edges(bands[metric].d)) if why is None else 1.0
            for (metric, a, b), why in zip(rows, without, strict=True)
        ]
    )
    found = []
    for (metric, a, b), p, why in zip(rows, adjusted, without, strict=True):
        bound_here = limited if metric in LIMITED_METRICS else frozenset()
        ratio = shown[metric].ratio(a, b)
        better = higher_is_better(metric)
        verdict = by[metric].verdict(
            a,
            b,
            d=bands[metric].d,
            higher_is_better=better,
            adjusted_p=p,
            pairs=len(rows),
        )
        found.append(
            Line(
                metric=metric,
                side=a,
                against=b,
                ratio=ratio,
                verdict=within_bounds(
                    verdict,
                    limited=a in bound_here,
                    other_limited=b in bound_here,
                    ahead=is_ahead(ratio, higher_is_better=better),
                    names=(a, b),
                )
                if why is None
                else Verdict(kind="undecided", beyond_blocks=True, reason=why),
                band=bands[metric],
                bound=bound_of(
                    limited=a in bound_here,
                    other_limited=b in bound_here,
                    higher_is_better=better,
                ),
            )
        )
    return tuple(found)


def _failed(trials: Sequence[TrialRecord]) -> dict[str, int]:
    found: dict[str, int] = {}
    for trial in trials:
        found[trial.contestant] = found.get(trial.contestant, 0) + (trial.status == "failed")
    return found
