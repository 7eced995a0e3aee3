"""Who limited a figure: the server or the load generator, judged by the CPU time of both.

A generator at its limit shows a server no more load. Its rate is then a lower bound of what the
server can do, and its times are upper bounds. A bound supports the claim that the entry is faster
than another, never that it is slower, nor that the two are equivalent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from wirebench.catalog.model import Role
from wirebench.stats.settings import DEFAULT, Settings
from wirebench.stats.types import Bottleneck, BottleneckKind, Bound, Ratio, TrialView, Verdict
from wirebench.stats.validity import number

LIMITED_METRICS = frozenset(
    {
        "throughput_per_s",
        "makespan_ns",
        "service_makespan_ns",
        "p50_ns",
        "p90_ns",
        "p99_ns",
        "p999_ns",
        "mean_ns",
        "max_ns",
        "last_p50_ns",
        "last_p99_ns",
    }
)
"""Metrics that a busy generator changes: it sends less, and its own queue is in every time. CPU per
request and memory are the server's own.
"""


def kind_of(
    server: float | None, generator: float | None, *, settings: Settings = DEFAULT
) -> BottleneckKind:
    """The verdict from the two shares of CPU time, each of the cores its process was given; 1 where
    a CPU quota stopped it.

    ``neither`` was busy: something else sets the pace, such as a delay, a link, few connections,
    other programs on the cores, or a server that does not use all of its own. A server whose share
    is not known, such as one that ran already, is ``unknown`` unless the generator was busy: nobody
    can show then that the generator was not the limit.
    """
    if generator is None:
        return "unknown"
    if server is not None and server >= settings.busy_share and server > generator:
        return "server-bound"
    if generator >= settings.busy_share:
        return "generator-bound"
    return "neither" if server is not None else "unknown"


def shares_of(trial: TrialView) -> tuple[float | None, float | None]:
    """The server's and the generator's share in one trial. Runs of older versions lack the
    server's.
    """
    return (
        number(trial.validity.get("server_cpu_share")),
        number(trial.validity.get("generator_cpu_share")),
    )


def bottleneck(
    trials: Collection[TrialView], *, role: Role, settings: Settings = DEFAULT
) -> Bottleneck | None:
    """The verdict on an entry from its valid trials: by the medians of both shares, over the trials
    that have both. The floor is judged like the rest.

    None for a client study: its client is what is measured, and nothing generates a load.
    """
    if role == "client":
        return None
    shares = [shares_of(trial) for trial in trials]
    both = [
        (server, generator)
        for server, generator in shares
        if server is not None and generator is not None
    ]
    if both:
        server, generator = _median([one for one, _ in both]), _median([one for _, one in both])
    else:
        server = _median([one for one, _ in shares if one is not None])
        generator = _median([one for _, one in shares if one is not None])
    return Bottleneck(
        kind=kind_of(server, generator, settings=settings),
        server_share=server,
        generator_share=generator,
    )


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


def bound_of(*, limited: bool, other_limited: bool, higher_is_better: bool) -> Bound | None:
    """What the measured ratio of one entry over another says about the true one."""
    if limited and other_limited:
        return "no bound"
    if not limited and not other_limited:
        return None
    return "at least" if limited == higher_is_better else "at most"


def is_ahead(ratio: Ratio | None, *, higher_is_better: bool) -> bool:
    """Whether the figure is better than the one it is divided by."""
    return ratio is not None and (ratio.estimate > 1) == higher_is_better


def generator_bound(found: Mapping[str, Bottleneck | None]) -> frozenset[str]:
    """The entries whose ``LIMITED_METRICS`` are bounds."""
    return frozenset(
        name for name, one in found.items() if one is not None and one.kind == "generator-bound"
    )


def within_bounds(
    verdict: Verdict,
    *,
    limited: bool,
    other_limited: bool,
    ahead: bool,
    names: tuple[str, str] = ("the first", "the second"),
) -> Verdict:
    """The verdict on one entry against another, as far as generator-bound figures support it.

    ``ahead``: its figure is the better one. A lower bound that is ahead can become a claim with
    more blocks; one that is behind cannot. ``names``: of both, for the reason.
    """
    if not limited and not other_limited:
        return verdict
    if limited and other_limited:
        reason = "both are generator-bound: neither reached its own limit"
        return Verdict(kind="undecided", beyond_blocks=True, reason=reason)
    if verdict.kind == ("faster" if limited else "slower"):
        return verdict
    if verdict.kind == "undecided" and ahead == limited:
        return verdict
    bound, other = names if limited else names[::-1]
    reason = (
        f"{bound} is generator-bound: it is at least this fast, so nothing shows that {other} is as"
        " fast or faster"
    )
    return Verdict(kind="undecided", beyond_blocks=True, reason=reason)
