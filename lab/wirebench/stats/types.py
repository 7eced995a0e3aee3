"""The results of the statistics: everything that a table or report prints.

A ratio is always of the metric itself, A over B: 0.9 of a throughput is worse, 0.9 of a round trip
is better. Words such as ``faster`` mean better, whatever the metric's direction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from wirebench.catalog.loads import Kind
from wirebench.catalog.model import Role, Unit
from wirebench.catalog.units import count_of
from wirebench.trial.record import TrialRecord as TrialView

__all__ = [
    "UNKNOWN_RUN_EFFECT",
    "BlockMedian",
    "Bottleneck",
    "BottleneckKind",
    "Bound",
    "Breaking",
    "CellAnalysis",
    "ConnectionMemory",
    "DroppedBlock",
    "EntryAnalysis",
    "EntrySummary",
    "FailureCount",
    "HistoryRecord",
    "LittleCheck",
    "Mark",
    "MemoryTable",
    "MetricSummary",
    "NoiseBand",
    "OtherPrograms",
    "Pair",
    "Ratio",
    "RepeatRecord",
    "RunAnalysis",
    "RunEffect",
    "Standing",
    "Starvation",
    "TrialView",
    "TwinNoise",
    "TwinRecord",
    "TwinVerdict",
    "Verdict",
    "VerdictKind",
    "WarmUp",
]

BottleneckKind = Literal["server-bound", "generator-bound", "neither", "unknown"]
Bound = Literal["at least", "at most", "no bound"]
"""What a measured ratio says about the true one where the generator was a limit. ``no bound``: it
limited both sides, so the ratio says nothing.
"""
VerdictKind = Literal["faster", "slower", "equivalent", "undecided"]
Mark = Literal["best", "worst", "middle", "tie"]
WarmUp = Literal["flat", "warms up", "slows down", "never steady", "too short", "not judged"]
"""``not judged``: the load has no steady state to speak of (``has_steady_state``)."""


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """``exp(median)`` of the log-ratios of the blocks, with its 95% interval."""

    estimate: float
    low: float | None
    high: float | None
    """None with too few blocks for an interval."""
    blocks: int
    note: str | None = None
    """A caveat about the interval."""

    @property
    def may_be_equal(self) -> bool:
        """Whether the interval holds 1. Without an interval nothing is said."""
        return self.low is not None and self.high is not None and self.low <= 1 <= self.high

    def __str__(self) -> str:
        """``1.07x [1.04, 1.11]``, with as many digits as small ratios need to differ from 0 and
        from each other.
        """
        digits = _digits(self.estimate)
        if self.low is None or self.high is None:
            return f"{self.estimate:.{digits}f}x"
        if 0 < self.low < 10.0**-digits / 2:
            digits = _digits(self.low)
        return f"{self.estimate:.{digits}f}x [{self.low:.{digits}f}, {self.high:.{digits}f}]"


def _digits(ratio: float) -> int:
    """How many after the point leave two of a small ratio, which is above 0."""
    return 2 if ratio >= 0.1 else 1 - math.floor(math.log10(ratio))


@dataclass(frozen=True, kw_only=True)
class Verdict:
    kind: VerdictKind
    blocks_needed: int | None = None
    """For ``undecided``: the additional blocks that would decide in four of five cases
    (``verdict.blocks_to_decide``), or that an interval lacks. None if unknown or too many.
    """
    beyond_blocks: bool = False
    """For ``undecided``: no number of blocks would decide it."""
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class MetricSummary:
    """One metric of one entry over its valid trials, in the metric's own unit."""

    median: float
    mean: float
    """Harmonic for rates, arithmetic for costs."""
    least: float
    greatest: float
    trials: int


@dataclass(frozen=True, kw_only=True)
class EntrySummary:
    metrics: Mapping[str, MetricSummary]
    trials: int
    """Valid trials: measured, every reply right, not voided, not in a dropped block."""
    failed: int
    not_run: int
    voided: int
    """Void trials: their figures contradict each other (Little's law), or the generator did not put
    on the load asked for (open loop).
    """


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The standing of an entry in its cell by one metric. The floor and the twin's second entry
    have a ratio but no rank.
    """

    ratio: Ratio | None
    """To the floor; None for the floor itself, without a floor, and without common blocks."""
    verdict: Verdict | None
    """Against the floor."""
    group: int | None
    """Tie group, from 1, the best. None: not ranked."""
    tied: bool
    """Whether it is indistinguishable from another entry. The rank is then a range."""
    rank_low: int | None
    rank_high: int | None
    mark: Mark | None
    """``best``: nobody beats it, and it beats somebody. ``worst``: the other way round. ``tie``:
    neither.
    """
    beaten_by: frozenset[str] = frozenset()
    """The entries that are better beyond doubt. Ranges of ranks may overlap all the same."""
    bound: Bound | None = None
    """What the generator's limit leaves of the ratio; None: it is the ratio of the two servers."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A over B."""

    a: str
    b: str
    ratio: Ratio | None
    p: float | None
    """Holm-adjusted: that the difference is not beyond the noise band."""
    verdict: Verdict
    bound: Bound | None = None
    """As in ``Standing``."""


@dataclass(frozen=True, kw_only=True)
class FailureCount:
    """Trials of one entry that failed in the same way, with the texts of the first. The texts come
    from the contestant: escape them.
    """

    kind: str
    phase: str
    message: str
    sent: str | None
    expected: str | None
    received: str | None
    state: str | None
    """What a server that stood still was waiting for."""
    whose: str | None = None
    """Who failed, if it was the server that the entry, a client, called."""
    count: int
    blocks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Bottleneck:
    """Who limited an entry's figures, by CPU."""

    kind: BottleneckKind
    server_share: float | None
    """Share of the CPU time of its cores that the server used, median over trials."""
    generator_share: float | None
    """The same of the generator."""


@dataclass(frozen=True, kw_only=True)
class LittleCheck:
    """Little's law on an entry's trials: X R / N should be 1."""

    median: float | None
    worst: float | None
    """The one farthest from 1."""
    voided: int


@dataclass(frozen=True, kw_only=True)
class Starvation:
    """Connections that a server starves while it answers others quickly: the worst over an entry's
    trials.
    """

    requests: int
    """Requests unanswered for more than half of the window, at its end."""
    of: int
    """The most requests in flight at a time."""
    oldest_ns: int


@dataclass(frozen=True, kw_only=True)
class Breaking:
    """How an entry's ramps broke."""

    trials: int
    """Those that broke."""
    of: int
    """All that were measured."""
    rounds: tuple[int, int] | None
    """Least and greatest of the first rounds that left messages unanswered; None if none did."""
    clients: tuple[int, int] | None
    """How many those rounds had."""
    unanswered: float | None
    """Share of the messages of such a round, median over the trials."""
    kinds: tuple[str, ...]
    """Kinds of errors in those rounds, the most frequent first."""
    ended: str | None
    """How the first ended that did not go on: told to stop, or what the server did, with its last
    output. That comes from the contestant: escape it.
    """


@dataclass(frozen=True, kw_only=True)
class BlockMedian:
    """The median over the blocks of a figure that each block has, in the figure's unit."""

    estimate: float
    low: float | None
    high: float | None
    """None with too few blocks for an interval."""
    blocks: int


@dataclass(frozen=True, kw_only=True)
class ConnectionMemory:
    """What one connection costs one entry in memory."""

    own: BlockMedian | None
    """Of the server's processes: bytes for each further connection."""
    kernel: BlockMedian | None
    reason: str | None
    """Why ``own`` is not known."""


@dataclass(frozen=True, kw_only=True)
class EntryAnalysis:
    entry: str
    contestant: str
    twin_of: str | None
    is_floor: bool
    summary: EntrySummary
    standing: Standing
    """By the cell's primary metric."""
    standings: Mapping[str, Standing]
    """By each metric that is judged, the primary one among them."""
    unranked: str | None
    """Why the entry has no rank; None when it has one."""
    bottleneck: Bottleneck | None
    """None in a client study, which has no generator."""
    little: LittleCheck
    warm_up: WarmUp
    starvation: Starvation | None = None
    silent_connections: int | None = None
    """The most in any trial that had no answer in the whole window. None where it was not counted:
    only closed loops do.
    """
    faults: Mapping[str, int] = field(default_factory=dict)
    """The most in any trial, failed ones too, of ``connect_failed`` (connections that were never
    open) and ``errors`` (requests without a right reply). Empty where no generator counted.
    """
    memory: ConnectionMemory | None = None
    """Over all rungs of the cell's study; None where connections are not what the cell sets."""
    over_floor: BlockMedian | None = None
    """A client's round trip less the floor's of the same block, in nanoseconds. None for servers,
    for the floor, and without a block in common with it.
    """
    kept_up: bool = True
    """Whether it kept up with an open loop that was not meant to be too much, in at least half of
    its valid trials.
    """
    failures: tuple[FailureCount, ...] = ()
    server_failures: tuple[FailureCount, ...] = ()
    """Of the server that a client called; those trials count as not run."""
    breaking: Breaking | None = None
    """None if no ramp broke, and for other loads."""
    warnings: Mapping[str, int] = field(default_factory=dict)
    """Trials by the kind of warning, but those that ``breaking`` tells."""

    @property
    def mark(self) -> Mark | None:
        return self.standing.mark

    @property
    def generator_bound(self) -> bool:
        """Its rates are lower bounds, and its times upper bounds, of what the server can do."""
        return self.bottleneck is not None and self.bottleneck.kind == "generator-bound"


@dataclass(frozen=True, kw_only=True)
class NoiseBand:
    """Ratios from 1 / (1 + d) to 1 + d are noise on this host."""

    d: float
    source: str
    """A description of the twins it comes from."""
    twins: int


@dataclass(frozen=True, kw_only=True)
class RunEffect:
    """What differs between repeats: the variance component of a pair's log-ratio that blocks of one
    repeat cannot show.
    """

    source: Literal["repeats", "blocks", "host", "changes", "assumed", "unknown"]
    """From this run's repeats, in its blocks because each is about its own repeat, from earlier
    runs of the host, from how much all entries of a cell changed between two runs, assumed, or not
    known at all.
    """
    variance: float
    """Of a log-ratio, dimensionless. An estimate, so it may be negative: then no more than 0."""
    degrees: float
    """Degrees of freedom of the estimate; infinite for an assumption."""
    repeats: int
    """How many repeats (``repeats``) or earlier runs (``host``) it comes from."""

    @property
    def deviation(self) -> float:
        """Standard deviation of a log-ratio between repeats."""
        return math.sqrt(max(0.0, self.variance))

    def __str__(self) -> str:
        match self.source:
            case "repeats":
                return (
                    f"{count_of(self.repeats, 'repeat')}: what differs between them"
                    f" ({self.deviation:.1%} of a ratio) is in every interval"
                )
            case "blocks":
                return (
                    "about one repeat for each block: what differs between repeats is in the blocks"
                    " and so in every interval"
                )
            case "host":
                runs = count_of(self.repeats, "earlier run")
                return (
                    f"one repeat: what differed between repeats of {runs} on this host"
                    f" ({self.deviation:.1%} of a ratio) is in every interval"
                )
            case "changes":
                return (
                    "what differs between runs is judged by how far all entries changed"
                    f" ({self.deviation:.1%} of a ratio in one run)"
                )
            case "assumed":
                return (
                    "what differs between runs is not known on this host:"
                    f" {self.deviation:.1%} of a ratio is assumed"
                )
            case "unknown":
                return (
                    "one repeat: what differs between runs (memory layout, build path) is in no"
                    " interval; --repeats 3 shows it"
                )


UNKNOWN_RUN_EFFECT = RunEffect(source="unknown", variance=0.0, degrees=0.0, repeats=1)
RUN_EFFECT_OF_BLOCKS = RunEffect(source="blocks", variance=0.0, degrees=0.0, repeats=1)
"""Nothing is added to what the blocks show."""


@dataclass(frozen=True, kw_only=True)
class TwinNoise:
    """A twin's log-ratio by one metric."""

    log_ratio: float
    """Trimmed mean over the blocks."""
    standard_error: float
    """Of ``log_ratio``, from the blocks."""
    degrees: float
    """Degrees of freedom of ``standard_error``."""


@dataclass(frozen=True, kw_only=True)
class TwinVerdict:
    """The verdict on a contestant entered twice. Anything but ``equivalent`` or ``undecided`` is a
    false alarm.
    """

    study: str
    cell: str
    contestant: str
    ratio: Ratio | None
    verdict: Verdict
    """Against a band that does not contain this twin's own ratio."""
    band: float
    noise: Mapping[str, TwinNoise] = field(default_factory=dict)
    """By metric."""

    @property
    def false_alarm(self) -> bool:
        return self.verdict.kind in ("faster", "slower")


@dataclass(frozen=True, kw_only=True)
class TwinRecord:
    """The twin of one cell of an earlier run on the same host."""

    run: str
    started_unix_ns: int
    host_id: str
    study: str
    cell: str
    contestant: str
    ratio: float
    blocks: int
    false_alarm: bool
    kind: str = ""
    """The kind of noise (``noise_kind``); a plain kind of cell in records of older versions."""
    preset: str = ""
    noise: Mapping[str, TwinNoise] = field(default_factory=dict)
    """By metric. Empty in records of older versions, which count for the false alarms only."""


@dataclass(frozen=True, kw_only=True)
class RepeatRecord:
    """What one cell of an earlier run on the same host showed of the component between repeats."""

    run: str
    started_unix_ns: int
    host_id: str
    study: str
    cell: str
    kind: str
    metric: str
    variance: float
    degrees: float
    repeats: int


HistoryRecord = TwinRecord | RepeatRecord
"""What a host keeps of its earlier runs."""


@dataclass(frozen=True, kw_only=True)
class DroppedBlock:
    block: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class OtherPrograms:
    """What programs of the host that are not the lab's took while trials were measured."""

    trials: int
    """Those of which it is known."""
    disturbed: int
    """Those from which they took more than ``limit``."""
    limit: float
    """As a share of one core."""
    most: float
    """In any trial, as a share of one core."""


@dataclass(frozen=True, kw_only=True)
class QuotaStops:
    """Trials in which a CPU quota was the limit of server or generator."""

    trials: int
    stopped: int


@dataclass(frozen=True, kw_only=True)
class CellAnalysis:
    study: str
    cell: str
    title: str
    kind: Kind
    role: Role
    unit: Unit
    """The unit of throughput and costs."""
    metric: str
    """The primary one."""
    higher_is_better: bool
    floor: str | None
    server: str | None
    """For a client study: the server."""
    processes: int
    """How many processes each server was, so that their open files held its connections."""
    more_processes: Mapping[str, int]
    """Those of which a process may open fewer files, and how many processes each was."""
    open_files: int | None
    """What one process could open; None where the run did not note it."""
    blocks: int
    """Blocks with at least one trial, without the dropped ones."""
    dropped: tuple[DroppedBlock, ...]
    other_programs: OtherPrograms | None
    """None where the trials do not tell."""
    quota_stops: QuotaStops | None = None
    band: NoiseBand
    """By the primary metric."""
    twin: TwinVerdict | None
    entries: tuple[EntryAnalysis, ...]
    """The ranked entries, best first; then the floor, the twin's second entry, and those without a
    rank.
    """
    pairs: tuple[Pair, ...]
    """Of the ranked entries, by the primary metric; the verdicts are Holm-corrected over these."""
    bands: Mapping[str, NoiseBand] = field(default_factory=dict)
    """By each metric that is judged."""
    run_effects: Mapping[str, RunEffect] = field(default_factory=dict)
    """What differs between repeats, by each metric that is judged."""
    noise_kind: str = ""
    """Which cells of the study share what twins and repeats show (``wirebench.stats.noise``)."""
    link_costs: tuple[str, ...] = ()
    """What requests over a link wait for, an entry a line (``wirebench.stats.link_costs``)."""

    @property
    def run_effect(self) -> RunEffect:
        """By the primary metric."""
        return self.run_effects.get(self.metric, UNKNOWN_RUN_EFFECT)

    @property
    def key(self) -> str:
        return f"{self.study}.{self.cell}"

    def entry(self, name: str) -> EntryAnalysis | None:
        return next((one for one in self.entries if one.entry == name), None)

    def pair(self, a: str, b: str) -> Pair | None:
        return next((pair for pair in self.pairs if (pair.a, pair.b) == (a, b)), None)


@dataclass(frozen=True, kw_only=True)
class MemoryTable:
    """Memory per connection over cells that differ only in their connections (rungs)."""

    study: str
    cells: tuple[str, ...]
    connections: tuple[int, ...]
    """Of each cell, fewest first."""
    tls: bool
    in_flight: int
    all_cores: bool = False
    processes: int = 1
    """How many each server was, alike in all cells."""
    measure: Literal["PSS", "RSS"]
    """RSS where the kernel tells no PSS."""
    kernel_of: Literal["server", "host"]
    """``host``: no cgroup tells, so the kernel's part has both ends of each connection in it."""
    entries: Mapping[str, ConnectionMemory]


@dataclass(frozen=True, kw_only=True)
class RunAnalysis:
    cells: tuple[CellAnalysis, ...]
    """In the order of the plan."""
    twins: tuple[TwinVerdict, ...]
    false_alarms: int
    """Over this host's lifetime, this run included."""
    twin_trials: int
    """The number of twins behind ``false_alarms``."""
    memory: tuple[MemoryTable, ...] = ()

    def of_study(self, study: str) -> tuple[CellAnalysis, ...]:
        return tuple(cell for cell in self.cells if cell.study == study)

    def memory_of(self, study: str) -> tuple[MemoryTable, ...]:
        return tuple(table for table in self.memory if table.study == study)
