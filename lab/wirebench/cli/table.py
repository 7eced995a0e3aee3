"""The results of a run as tables for a terminal or a text file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from wirebench.catalog.loads import Kind
from wirebench.catalog.studies import HIGHER_IS_BETTER
from wirebench.catalog.units import BYTES, Units, count_of, scaled
from wirebench.plan.model import StudyText
from wirebench.report import figures, memory
from wirebench.stats.memory import NEEDS_RUNGS
from wirebench.stats.types import CellAnalysis, EntryAnalysis, MemoryTable, RunAnalysis

WIDTH = 140
RATIO = "to the floor"
MAX_NAME = 32
MAX_REMARK = 30
"""Longer remarks are wrapped."""
SIGNS = {"best": "▲", "worst": "▼", "tie": "≈", "middle": " "}
STYLES = {"best": "green", "worst": "red", "tie": "bright_black", "middle": ""}

COLUMNS: dict[Kind, tuple[str, ...]] = {
    **figures.COLUMNS,
    "each": ("makespan_ns", "p50_ns", "p99_ns", "cpu_per_request_ns", "server_rss_peak_bytes"),
}
"""The absolute figures beside the ratio, by the cell's kind."""

SHORT_TITLES = {
    "p50_ns": "p50",
    "cpu_per_request_ns": "CPU/{unit}",
    "memory_per_connection_bytes": "memory/conn.",
    "lag_p99_ns": "lag p99",
    "last_p50_ns": "last p50",
    "last_p99_ns": "last p99",
    "makespan_ns": "makespan",
    "server_rss_peak_bytes": "memory",
    "connect_ns": "connecting",
    "connect_cpu_ns": "its CPU",
    "connect_failed": "refused",
    "round_trip_ns": "round trip",
    "over_floor_ns": "- floor",
    "stddev_ns": "stddev",
    "cpu_per_operation_ns": "CPU/op.",
    "cpu_over_floor": "CPU/floor's",
    "connections_opened": "connections",
}
"""Shorter than the report's, where a terminal has less room."""

TIMES: Units = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns"))
"""With a sign for microseconds that every terminal can show."""


def figure(metric: str, value: float | None) -> str:
    """A value for people, with three or four digits; blank if unknown."""
    if value is None:
        return ""
    if metric.endswith("_ns"):
        return scaled(value, TIMES)
    if metric.endswith("_bytes"):
        return scaled(value, BYTES)
    if metric.endswith("_ratio"):
        return figures.percent(value)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def cell_table(cell: CellAnalysis, *, width: int = WIDTH) -> RenderableType:
    """One cell: a heading, a row for each entry, and the limits of the figures. A narrow terminal
    gets fewer figures.
    """
    leading = [[_sign(entry), _rank(entry), entry.entry, _ratio(entry)] for entry in cell.entries]
    floor = next((entry for entry in cell.entries if entry.is_floor), None)
    remarks = [_remarks(entry, floor) for entry in cell.entries]
    room = width - sum(
        2 + min(MAX_NAME, max(map(len, column)))
        for column in zip(("", "rank", "contestant", RATIO), *leading, strict=True)
    )
    room -= min(MAX_REMARK, max((len(remark) for remark in remarks), default=0)) + 2
    first, *others = [
        (_heading(cell, metric), _figures(cell, metric)) for metric in COLUMNS[cell.kind]
    ]
    shown = _fitting([first, *_cpu_shares(cell), *others], room)
    table = Table(box=None, padding=(0, 1), header_style="bold", show_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("rank", justify="right", no_wrap=True)
    _add_names(table, (entry.entry for entry in cell.entries))
    table.add_column(RATIO, no_wrap=True)
    for title, _ in shown:
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for index, entry in enumerate(cell.entries):
        words = [*leading[index], *(values[index] for _, values in shown), remarks[index]]
        table.add_row(
            *(Text(word) for word in words), style=STYLES[entry.mark] if entry.mark else ""
        )
    heading = Text.assemble(
        (f"{cell.study} {cell.cell}", "bold"), f"  {cell.title}. {_direction(cell)}"
    )
    return Group(
        heading,
        table,
        *(Text(f"  {line}", style="bright_black") for line in _footnotes(cell)),
        Text(""),
    )


def memory_table(found: MemoryTable) -> RenderableType:
    """Memory per connection of each entry; nothing where none has a slope."""
    rows = memory.rows(found)
    if not rows:
        return Text("", end="")
    table = Table(box=None, padding=(0, 1), header_style="bold", show_edge=False)
    table.add_column("")
    _add_names(table, (name for name, _, _ in rows))
    for title in ("server", "kernel"):
        table.add_column(title, no_wrap=True)
    for name, own, kernel in rows:
        table.add_row("", Text(name), Text(own), Text(kernel))
    heading = Text.assemble((found.study, "bold"), f"  {memory.heading(found)}.")
    basis = Text(f"  {memory.basis(found)}", style="bright_black")
    return Group(heading, table, basis, Text(""))


def _add_names(table: Table, names: Iterable[str]) -> None:
    """A name that is longer than any of ours takes several lines. Rich would leave out signs, ranks
    and figures to keep it on one.
    """
    width = min(MAX_NAME, max(map(len, ("contestant", *names))))
    table.add_column("contestant", min_width=width, max_width=width, overflow="fold")


def _title(cell: CellAnalysis, metric: str) -> str:
    short = SHORT_TITLES.get(metric)
    return short.format(unit=cell.unit) if short else figures.title(metric, cell.unit)


def _heading(cell: CellAnalysis, metric: str) -> str:
    return _title(cell, metric) + ("*" if figures.is_set_by_load(cell.kind, metric) else "")


def _direction(cell: CellAnalysis) -> str:
    return (
        f"Ranked by {_title(cell, cell.metric)},"
        f" {'more' if cell.metric in HIGHER_IS_BETTER else 'less'} is better."
    )


def _figures(cell: CellAnalysis, metric: str) -> list[str]:
    """The column of a metric: medians over the trials. A lower bound is marked as one."""
    values = []
    for entry in cell.entries:
        beside = figures.beside_floor(entry, metric, units=TIMES)
        if beside is not None:
            values.append(beside)
            continue
        text = figure(metric, figures.value_of(entry, metric))
        values.append(figures.figure_sign(entry, metric) + text if text else text)
    return values


def _cpu_shares(cell: CellAnalysis) -> list[tuple[str, list[str]]]:
    """The columns that show who was at its limit; blank in a client study."""
    found = [entry.bottleneck for entry in cell.entries]
    return [
        ("server", [figures.cpu_share(one.server_share) if one else "" for one in found]),
        ("generator", [figures.cpu_share(one.generator_share) if one else "" for one in found]),
    ]


def _fitting(columns: Sequence[tuple[str, list[str]]], room: int) -> list[tuple[str, list[str]]]:
    """The columns that have values and fit, in order; at least the first, even if the remarks must
    wrap for it.
    """
    fitting: list[tuple[str, list[str]]] = []
    for title, values in columns:
        if not any(values):
            continue
        room -= 2 + max(map(len, (title, *values)))
        if room < 0 and fitting:
            break
        fitting.append((title, values))
    return fitting


def _sign(entry: EntryAnalysis) -> str:
    return SIGNS[entry.mark] if entry.mark else ""


def _rank(entry: EntryAnalysis) -> str:
    low, high = entry.standing.rank_low, entry.standing.rank_high
    if low is None:
        return ""
    return str(low) if high in (None, low) else f"{low}-{high}"


def _ratio(entry: EntryAnalysis) -> str:
    if entry.is_floor:
        return "the floor"
    if entry.standing.ratio is None:
        return ""
    return figures.bound_sign(entry.standing.bound) + str(entry.standing.ratio)


def _remarks(entry: EntryAnalysis, floor: EntryAnalysis | None) -> str:
    remarks = []
    if (faster := figures.faster_than_floor(entry, floor)) is not None:
        remarks.append(faster)
    if entry.failures:
        remarks += [
            f"{one.kind} ({one.count} of {_tried(entry)})" if one.count else one.kind
            for one in entry.failures
        ]
    elif (
        entry.unranked
        and not entry.is_floor
        and entry.twin_of is None
        and not entry.unranked.startswith(entry.warm_up)
    ):
        remarks.append(entry.unranked)
    if (zeros := figures.why_no_ratio(entry.standing)) is not None:
        remarks.append(zeros)
    remarks += [f"its server {one.kind} ({one.count})" for one in entry.server_failures]
    if entry.generator_bound:
        remarks.append("generator-bound")
    if entry.starvation is not None:
        remarks.append(
            f"starves up to {entry.starvation.requests:,} of"
            f" {count_of(entry.starvation.of, 'connection')}"
        )
    if entry.warm_up in ("never steady", "slows down"):
        remarks.append(entry.warm_up)
    if entry.summary.voided:
        remarks.append(f"{entry.summary.voided} void")
    if entry.twin_of is not None:
        remarks.append("only noise")
    if (resumed := figures.resumed_text(entry)) is not None:
        remarks.append(resumed)
    if entry.breaking is not None:
        remarks.append(figures.broke_at(entry.breaking))
    remarks += [f"{warning} ({count})" for warning, count in entry.warnings.items()]
    return ", ".join(remarks)


def _tried(entry: EntryAnalysis) -> int:
    """Without the trials that did not take place, after failures or for the host's limits."""
    return entry.summary.trials + entry.summary.failed + entry.summary.voided


def _footnotes(cell: CellAnalysis) -> Iterable[str]:
    blocks = count_of(cell.blocks, "block")
    yield f"{blocks}; differences within {cell.band.d:.1%} are noise ({cell.band.source})"
    if cell.twin is not None and cell.twin.ratio is not None:
        alarm = (
            "; A FALSE ALARM: trust only far larger differences here"
            if cell.twin.false_alarm
            else ""
        )
        yield f"twin {cell.twin.contestant}: {cell.twin.ratio}, {cell.twin.verdict.kind}{alarm}"
    for entry in cell.entries:
        if entry.breaking is not None:
            yield f"{entry.entry} {figures.breaking_text(entry.breaking)}"
    if any(figures.is_set_by_load(cell.kind, metric) for metric in COLUMNS[cell.kind]):
        yield f"* {figures.SET_BY_LOAD}"
    if any(entry.memory and entry.memory.reason == NEEDS_RUNGS for entry in cell.entries):
        yield f"memory per connection: {NEEDS_RUNGS}"
    yield str(cell.run_effect)
    yield from cell.link_costs
    if (files := figures.processes_text(cell)) is not None:
        yield files
    if (answered := figures.answered_text(cell)) is not None:
        yield answered
    if (others := figures.other_programs_text(cell.other_programs)) is not None:
        yield others
    if (stopped := figures.quota_text(cell.quota_stops)) is not None:
        yield stopped
    if cell.server is not None:
        yield f"served by {cell.server}"
    if cell.dropped:
        dropped = "; ".join(f"block {one.block}: {one.reason}" for one in cell.dropped)
        yield f"{count_of(len(cell.dropped), 'block')} dropped ({dropped})"


def run_tables(
    analysis: RunAnalysis, studies: Sequence[StudyText], *, width: int = WIDTH
) -> Iterable[RenderableType]:
    """Every cell by study, and a legend of the signs."""
    for study in studies:
        cells = analysis.of_study(study.name)
        if not cells:
            continue
        yield Text.assemble((study.title, "bold underline"), f"\n{study.question}\n")
        yield from (cell_table(cell, width=width) for cell in cells)
        yield from (memory_table(found) for found in analysis.memory_of(study.name))
    yield Text(
        f"{SIGNS['best']} best and {SIGNS['worst']} worst of the groups that differ, {SIGNS['tie']}"
        " no difference shown; ranks are ranges. Ratios: median over the blocks, with the 95%"
        " interval. Server and generator: share of the CPU time of their cores."
        f" {figures.BOUNDS_LEGEND}",
        style="bright_black",
    )


def write_tables(path: Path, draw: Callable[[Console], None]) -> None:
    """Write the same tables as plain text."""
    with path.open("w", encoding="utf-8") as file:
        draw(Console(file=file, width=WIDTH, color_system=None, highlight=False, emoji=False))
