"""Studies: which cells a study has, by which metric each is compared, and how much of it a preset
measures. ``wirebench.catalog.study_files`` reads them from ``studies/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import Kind, Load
from wirebench.catalog.model import Role, Workload

METRICS = (
    "throughput_per_s",
    "offered_per_s",
    "p50_ns",
    "p90_ns",
    "p99_ns",
    "p999_ns",
    "mean_ns",
    "max_ns",
    "last_p50_ns",
    "last_p99_ns",
    "service_p50_ns",
    "service_p99_ns",
    "lag_p99_ns",
    "cpu_per_request_ns",
    "server_rss_peak_bytes",
    "server_rss_bytes",
    "server_pss_bytes",
    "server_kernel_bytes",
    "host_kernel_growth_bytes",
    "connect_ns",
    "connect_cpu_ns",
    "makespan_ns",
    "success_ratio",
    "round_trip_ns",
    "round_trip_p99_ns",
    "cpu_per_operation_ns",
    "connections_opened",
    "connections_resumed",
    "ready_ns",
    "service_makespan_ns",
    "link_rtt_ns",
    "cpu_per_s_ns",
    "wake_ups_per_s",
)
"""The metrics a trial may give. The unit is in the name."""

HIGHER_IS_BETTER = frozenset({"throughput_per_s", "success_ratio"})
"""Every other metric is a cost: less is better."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of a study: one load on every contestant, compared by one primary metric."""

    id: str
    title: str
    kind: Kind
    primary: str
    workload: Workload
    """What a server must serve to be in this cell; for a client study, what the server it calls
    serves.
    """
    load: Load


@dataclass(frozen=True, kw_only=True)
class Preset:
    """How much of a study to measure: the cells with their loads, and when to stop."""

    name: str
    title: str
    cells: tuple[Cell, ...]
    contestants: tuple[str, ...]
    """Who is measured when the run names nobody; empty: everybody. Those that are not there are
    left out.
    """
    without: tuple[str, ...]
    """Who is not, then."""
    min_blocks: int
    max_blocks: int
    budget_ns: int | None
    """The time of a run of this preset, whether of one study or of several that share it."""
    precision: float
    """An entry whose interval is within 1 +/- this needs no more blocks."""
    longest_warmup_ns: int | None = None
    """Who is not measured either: those whose runtime needs more before each trial. None: nobody.
    """
    repeats: int = 1
    """Over how many repeats the mandatory blocks are spread (``wirebench.plan.repeats``)."""


@dataclass(frozen=True, kw_only=True)
class Study:
    name: str
    title: str
    question: str
    role: Role
    servers: tuple[str, ...]
    """For a client study: who serves. The first that is installed and serves the cell's workload is
    used.
    """
    presets: Mapping[str, Preset]

    def preset(self, name: str) -> Preset:
        try:
            return self.presets[name]
        except KeyError:
            known = ", ".join(sorted(self.presets))
            raise CatalogError(
                f"study {self.name} has no preset {name!r}; it has: {known}"
            ) from None
