"""The series behind the line charts: medians over the blocks at each step of a load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wirebench.catalog.loads import ClosedLoad, Load, on_all_cores, over_tls
from wirebench.catalog.studies import Cell
from wirebench.catalog.units import count_of
from wirebench.report.figures import figure, title
from wirebench.report.histograms import Point, curve, merge
from wirebench.report.lines import Curve, CurveKind
from wirebench.stats.memory import but_for_connections
from wirebench.stats.types import CellAnalysis, TrialView
from wirebench.stats.validity import void_reason


def percentile_curves(cell: CellAnalysis, trials: Iterable[TrialView]) -> dict[str, list[Point]]:
    """Percentile curves by entry, over its merged valid trials. The twin's second entry is left
    out.
    """
    texts: dict[str, list[str]] = {
        entry.entry: [] for entry in cell.entries if entry.twin_of is None
    }
    gone = {one.block for one in cell.dropped}
    for trial in trials:
        if (
            trial.status == "ok"
            and trial.histogram
            and trial.block not in gone
            and void_reason(trial) is None
            and trial.entry in texts
        ):
            texts[trial.entry].append(trial.histogram)
    found = {}
    for entry, encoded in texts.items():
        merged = merge(encoded)
        points = curve(merged) if merged is not None else []
        if points:
            found[entry] = points
    return found


def ladder_curves(cells: Sequence[tuple[CellAnalysis, Cell]]) -> list[Curve]:
    """Throughput and 99th percentile against the number of connections, for every load that has
    several rungs: plain, over TLS, on all cores.
    """
    ladders: dict[Cell | None, list[tuple[CellAnalysis, int]]] = {}
    for analysis, cell in cells:
        if isinstance(cell.load, ClosedLoad):
            same = but_for_connections(cell)
            ladders.setdefault(same, []).append((analysis, cell.load.connections))
    return [
        one
        for same, rungs in ladders.items()
        if same is not None and len(rungs) > 1
        for one in _ladder(sorted(rungs, key=lambda rung: rung[1]), _kind(same.load))
    ]


def _kind(load: Load) -> str:
    size = load.payload_bytes if isinstance(load, ClosedLoad) else None
    return (
        (f", {count_of(size, 'byte')} each" if size is not None else "")
        + (", over TLS" if over_tls(load) else "")
        + (", all cores" if on_all_cores(load) else "")
    )


def _ladder(rungs: Sequence[tuple[CellAnalysis, int]], kind: str) -> list[Curve]:
    """``rungs``: the fewest connections first, though a preset may have another order."""
    curves = []
    figures: tuple[tuple[str, str, CurveKind], ...] = (
        ("throughput_per_s", title("throughput_per_s", rungs[0][0].unit), "rate"),
        ("p99_ns", "99th percentile", "time"),
    )
    for metric, heading, axis in figures:
        rows = [
            {
                "entry": entry.entry,
                "x": connections,
                "y": entry.summary.metrics[metric].median,
                "text": figure(metric, entry.summary.metrics[metric].median),
            }
            for analysis, connections in rungs
            for entry in analysis.entries
            if entry.twin_of is None and metric in entry.summary.metrics
        ]
        if rows:
            names = _names(rungs[0][0], rows)
            curves.append(
                Curve(
                    rows=rows,
                    names=names,
                    title=heading + kind,
                    kind=axis,
                    x_title="connections",
                    log_x=True,
                )
            )
    return curves


def _names(cell: CellAnalysis, rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The entries of the rows, in the cell's order."""
    present = {str(row["entry"]) for row in rows}
    known = [entry.entry for entry in cell.entries if entry.entry in present]
    return (*known, *sorted(present - set(known)))
