"""Which cells answer a question, and by which metric."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar, get_args

from wirebench.catalog.loads import (
    HOST,
    ClientLoad,
    ClientPolicy,
    ClosedLoad,
    OpenLoad,
    link_of,
    most_connections,
    on_all_cores,
    over_tls,
)
from wirebench.catalog.model import Role
from wirebench.catalog.studies import Cell, Study
from wirebench.decide.question import By, Question

METRICS: Mapping[By, str] = {
    "throughput": "throughput_per_s",
    "cpu": "cpu_per_request_ns",
    "p99": "p99_ns",
    "memory": "memory_per_connection_bytes",
}
TOTAL_MEMORY = "server_rss_peak_bytes"
_CLIENT_METRICS: Mapping[By, str] = {
    "throughput": "round_trip_ns",
    "cpu": "cpu_per_operation_ns",
    "p99": "round_trip_p99_ns",
}


def looked_up(question: Question, studies: Collection[Study]) -> Question:
    """The question to look up in the runs: without TLS where no study measures that workload over
    TLS, which leaves the plain cells to answer all but whether a server speaks TLS.
    """
    if not question.tls or any(
        is_wanted(question, study.role, cell)
        for study in studies
        for preset in study.presets.values()
        for cell in preset.cells
    ):
        return question
    return replace(question, tls=False)


def is_wanted(question: Question, role: Role, cell: Cell) -> bool:
    """Whether a cell has to do with the question, as ``looked_up`` has it."""
    load = cell.load
    if question.calls is not None:
        # Those with a server or a host of their own show what it does to a client.
        return (
            role == "client"
            and isinstance(load, ClientLoad)
            and load.scheme == question.calls
            and load.server is None
            and load.host == HOST
        )
    return (
        role == "server"
        and cell.workload == question.serves
        and over_tls(load) == question.tls
        and link_of(load) is None
        and not on_all_cores(load)
    )


def metric_of(question: Question) -> str:
    by = question.by or "throughput"
    return (_CLIENT_METRICS if question.calls is not None else METRICS)[by]


class _Place(Protocol):
    """A cell that was measured, or that could be."""

    @property
    def cell(self) -> Cell: ...

    @property
    def has_order(self) -> bool:
        """Whether contestants were put in order there."""
        ...

    @property
    def has_slopes(self) -> bool:
        """Whether the memory of a connection is known there."""
        ...


@dataclass(frozen=True, kw_only=True)
class Planned:
    cell: Cell
    has_order: bool = False
    has_slopes: bool = False


P = TypeVar("P", bound=_Place)


_UNSATURATED = ("each", "broadcast")
"""Kinds of cells whose next request waits for the last: they say something of times and costs."""


@dataclass(frozen=True, kw_only=True)
class Places(Generic[P]):
    """The cells that answer the question."""

    saturated: P | None
    """Where each server gets all that it can take; for a client its only cell."""
    pinned: P | None
    """Where every server gets the same rate; with fewer connections than asked for where no cell
    has as many.
    """
    rung: P | None = None
    """Where a server's memory for each connection is known, from this and other rungs: of
    connections that are used, or of idle ones where no others show it.
    """
    note: str = ""
    """What they differ by from what was asked for."""

    def of(self, metric: str) -> P | None:
        """Where this metric says something: times and costs of servers at a pinned rate, or with
        producers that do not saturate them.
        """
        if metric == METRICS["memory"]:
            return self.rung
        if metric not in (METRICS["cpu"], METRICS["p99"]):
            return self.saturated
        if self.pinned is None and self.saturated is not None:
            return self.saturated if self.saturated.cell.kind in _UNSATURATED else None
        return self.pinned


def places_of(question: Question, wanted: Collection[P]) -> Places[P]:
    if question.calls is not None:
        client = min(wanted, key=_order_of_clients, default=None)
        return Places(saturated=client, pinned=None)
    least = question.connections or 0
    enough = [one for one in wanted if most_connections(one.cell.load) >= least]
    saturated = [one for one in enough if one.cell.kind in ("closed", "ramp", *_UNSATURATED)]
    pinned = [
        one
        for one in wanted
        if isinstance(one.cell.load, OpenLoad)
        and one.cell.load.share is None
        and (one.cell.load.rate_per_s or 0) >= question.rate_per_s
    ]
    return Places(
        saturated=min(saturated, key=_order_of_saturated, default=None),
        pinned=min(pinned, key=lambda one: _order_of_pinned(one, least), default=None),
        rung=min(
            (one for one in enough if one.cell.kind in ("closed", "idle")),
            key=_order_of_rungs,
            default=None,
        ),
    )


# Of cells that answer alike, one that puts nobody in order (its run had too few blocks, say) comes
# last.

_Order = tuple[bool, bool, int, bool, str]


def _order_of_saturated(one: _Place) -> _Order:
    """Messages of a size of their own, which may be long, answer where no others do."""
    load = one.cell.load
    sized = isinstance(load, ClosedLoad) and load.payload_bytes is not None
    connections = most_connections(load)
    return sized, not one.has_order, connections, one.cell.kind != "closed", one.cell.id


def _order_of_rungs(one: _Place) -> tuple[bool, bool, _Order]:
    return not one.has_slopes, one.cell.kind != "closed", _order_of_saturated(one)


def _order_of_pinned(one: _Place, least: int) -> tuple[int, bool, float, int, str]:
    load = one.cell.load
    rate = load.rate_per_s if isinstance(load, OpenLoad) else None
    missing = max(0, least - most_connections(load))
    return missing, not one.has_order, rate or 0.0, most_connections(load), one.cell.id


def _order_of_clients(one: _Place) -> tuple[int, bool, int, str]:
    load = one.cell.load
    assert isinstance(load, ClientLoad)
    policy = get_args(ClientPolicy).index(load.policy)
    return policy, not one.has_order, load.payload_bytes, one.cell.id
