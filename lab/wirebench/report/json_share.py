"""How much of a message is JSON: a ramp that counts beside the same ramp that echoes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wirebench.catalog.loads import RampLoad
from wirebench.catalog.studies import Cell
from wirebench.catalog.units import share_text
from wirebench.report.facts import Facts
from wirebench.report.figures import bound_sign, figure, figure_sign, value_of
from wirebench.report.model import TableView
from wirebench.stats.bottleneck import bound_of
from wirebench.stats.types import CellAnalysis, EntryAnalysis

_RATE, _CPU = "throughput_per_s", "cpu_per_request_ns"
_HOW = (
    "What counting takes beyond echoing, as a part of a message: parsing, building, and a reply 16"
    " bytes longer. By the rates it is 1 - counting/echoing, which holds only where the server was"
    " the limit of both; ≥ and ≤ stand where the load generator was the limit of one of them. By"
    " CPU it is 1 - CPU echoing/CPU counting, which no limit of the generator changes. Both are of"
    " medians, without an interval; read a few percent as none."
)


def json_tables(
    cells: Sequence[tuple[CellAnalysis, Cell]], facts: Mapping[str, Facts]
) -> Iterator[TableView]:
    """A table for each ramp that the run has both counting and echoing, the busiest first."""
    for count, planned in cells:
        if planned.workload != "ws.count" or not isinstance(planned.load, RampLoad):
            continue
        for echo, other in cells:
            if other.workload == "ws.echo" and other.load == planned.load:
                yield _table(count, echo, facts)


def _table(count: CellAnalysis, echo: CellAnalysis, facts: Mapping[str, Facts]) -> TableView:
    both = [
        (one, other)
        for one in count.entries
        if one.twin_of is None and (other := echo.entry(one.entry)) is not None
    ]
    both.sort(key=lambda pair: -(value_of(pair[0], _RATE) or 0.0))
    return TableView(
        title=f"How much of a message is JSON ({count.cell} beside {echo.cell})",
        how=_HOW,
        columns=("JSON library", "counting/s", "echoing/s", "JSON, by the rates", "JSON, by CPU"),
        rows=tuple(
            (
                one.entry,
                (known.json if (known := facts.get(one.contestant)) is not None else None) or "",
                _rate(one),
                _rate(other),
                _by_rates(one, other),
                _by_cpu(one, other),
            )
            for one, other in both
        ),
    )


def _rate(entry: EntryAnalysis) -> str:
    value = value_of(entry, _RATE)
    if value is None:
        return "not measured"
    return figure_sign(entry, _RATE) + figure(_RATE, value)


def _by_rates(count: EntryAnalysis, echo: EntryAnalysis) -> str:
    counted, echoed = value_of(count, _RATE), value_of(echo, _RATE)
    if not counted or not echoed:
        return ""
    kinds = [one.bottleneck.kind if one.bottleneck else "unknown" for one in (count, echo)]
    if not set(kinds) <= {"server-bound", "generator-bound"}:
        return "not known: the server was not at its limit"
    # The rate of echoing over that of counting, which the share grows with.
    bound = bound_of(
        limited=echo.generator_bound, other_limited=count.generator_bound, higher_is_better=True
    )
    if bound == "no bound":
        return "not known: the load generator was the limit"
    return f"{bound_sign(bound)}{_percent(1 - counted / echoed)}"


def _by_cpu(count: EntryAnalysis, echo: EntryAnalysis) -> str:
    counting, echoing = value_of(count, _CPU), value_of(echo, _CPU)
    if not counting or not echoing:
        return ""
    saved = f"{figure(_CPU, counting)} - {figure(_CPU, echoing)}"
    return f"{_percent(1 - echoing / counting)} ({saved})"


def _percent(share: float) -> str:
    return share_text(share, digits=0) if share > 0 else "none"
