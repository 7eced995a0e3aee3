"""The plan of a duel: one cell, in which each side, the floor and the twin take turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirebench.catalog.loads import REPLY_TIMEOUT_NS, ClosedLoad, OpenLoad
from wirebench.catalog.model import Workload
from wirebench.catalog.studies import Cell
from wirebench.catalog.units import count_of
from wirebench.duel.sides import Side
from wirebench.plan.blocks import choose_twin, entries_of
from wirebench.plan.model import Plan, PlannedCell, StudyText

STUDY = "duel"
MIN_BLOCKS = 6
MOST_BLOCKS = 400


@dataclass(frozen=True, kw_only=True)
class DuelLoad:
    """The load on every side."""

    connections: int
    rate_per_s: float | None
    """None: a closed loop."""
    warmup_ns: int
    window_ns: int
    websocket: bool
    in_flight: int = 1
    """Requests on each connection."""
    timeout_ns: int = REPLY_TIMEOUT_NS
    """How long a reply may take, beyond the wait that the load itself causes."""

    @property
    def workload(self) -> Workload:
        """What the floor serves beside the sides."""
        return "ws.echo" if self.websocket else "http.hello"

    def cell(self) -> Cell:
        load: ClosedLoad | OpenLoad
        if self.rate_per_s is None:
            load = ClosedLoad(
                connections=self.connections,
                in_flight=self.in_flight,
                warmup_ns=self.warmup_ns,
                window_ns=self.window_ns,
            )
            title = count_of(self.connections, "connection")
        else:
            load = OpenLoad(
                connections=self.connections,
                in_flight=self.in_flight,
                arrivals="poisson",
                rate_per_s=self.rate_per_s,
                share=None,
                of=None,
                warmup_ns=self.warmup_ns,
                window_ns=self.window_ns,
            )
            over = count_of(self.connections, "connection")
            requests = "request" if self.rate_per_s == 1 else "requests"
            title = f"{self.rate_per_s:g} {requests} a second over {over}"
        if self.in_flight > 1:
            title += f", {self.in_flight} in flight on each"
        return Cell(
            id="load",
            title=title,
            kind="closed" if self.rate_per_s is None else "open",
            primary="throughput_per_s" if self.rate_per_s is None else "p99_ns",
            workload=self.workload,
            load=load,
        )


def plan_of(
    sides: Sequence[Side],
    load: DuelLoad,
    *,
    floor: str | None,
    seed: int,
    budget_ns: int,
    blocks: int | None,
) -> Plan:
    """``blocks``: exactly that many, whatever the budget."""
    cell = load.cell()
    names = [side.name for side in sides]
    floors = (floor,) if floor is not None else ()
    # A server elsewhere has no memory layout of its own in each trial, but its noise shows all the
    # same when it is measured twice.
    twin = choose_twin([*names, *floors], floors=floors, seed=seed, study=STUDY, cell=cell.id)
    planned = PlannedCell(
        study=STUDY,
        role="server",
        cell=cell,
        entries=entries_of([*names, *floors], twin=twin),
        floors=floors,
        twin=twin,
        server=None,
        min_blocks=blocks or MIN_BLOCKS,
        max_blocks=blocks or MOST_BLOCKS,
        precision=0.0,
    )
    return Plan(
        seed=seed,
        studies=(
            StudyText(
                name=STUDY,
                title="Duel",
                question=f"How does {' and '.join(names[1:])} compare with {names[0]}?",
                role="server",
                preset=STUDY,
                preset_title="",
            ),
        ),
        cells=(planned,),
        budget_ns=None if blocks is not None else budget_ns,
        estimate_ns=budget_ns,
        builds={},
        order=(),
    )
