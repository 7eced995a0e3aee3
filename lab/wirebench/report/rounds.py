"""The rounds of a ramp: the article's eight figures as charts, and its table as CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wirebench.catalog.studies import RampLoad
from wirebench.catalog.units import duration
from wirebench.plan.model import Plan
from wirebench.report.charts import Bar, Curve, CurveKind
from wirebench.report.figures import broke_at
from wirebench.stats.types import CellAnalysis, TrialView
from wirebench.stats.validity import number
from wirebench.store.rundir import StoredRun

Round = Mapping[str, Any]
"""As stored, from the generator's document."""


# --- charts ---------------------------------------------------------------------------------------


def _latency(which: str) -> Callable[[Round], float | None]:
    def read(one: Round) -> float | None:
        latency = one.get("latency")
        return number(latency.get(which)) if isinstance(latency, Mapping) else None

    return read


def _median(one: Round) -> float | None:
    latency = one.get("latency")
    percentiles = latency.get("percentiles_ns") if isinstance(latency, Mapping) else None
    return number(percentiles.get("50")) if isinstance(percentiles, Mapping) else None


def _of(key: str) -> Callable[[Round], float | None]:
    return lambda one: number(one.get(key))


_CURVES: tuple[tuple[str, CurveKind, Callable[[Round], float | None]], ...] = (
    ("time of the round", "time", _of("elapsed_ns")),
    ("longest round trip", "time", _latency("max_ns")),
    ("average round trip", "time", _latency("mean_ns")),
    ("median round trip", "time", _median),
    ("messages answered", "share", _of("success_ratio")),
    ("time to open the round's connections", "time", _of("connect_elapsed_ns")),
)
WITHOUT = ", without those that broke"


def ramp_curves(cell: CellAnalysis, trials: Sequence[TrialView]) -> list[Curve]:
    """Each figure of a round against the number of clients: the median over the blocks."""
    own = _measured(cell, trials)
    curves = [_curve(cell, own, *one) for one in _CURVES]
    broken = {entry.entry for entry in cell.entries if entry.breaking is not None}
    held = [trial for trial in own if trial.entry not in broken]
    if held and broken & {trial.entry for trial in own}:
        heading, kind, read = _CURVES[-1]
        curves.append(_curve(cell, held, heading + WITHOUT, kind, read))
    return [one for one in curves if one.rows]


def _measured(cell: CellAnalysis, trials: Sequence[TrialView]) -> list[TrialView]:
    gone = {one.block for one in cell.dropped}
    return [
        trial
        for trial in trials
        if trial.twin_of is None and trial.status == "ok" and trial.block not in gone
    ]


def _curve(
    cell: CellAnalysis,
    trials: Sequence[TrialView],
    heading: str,
    kind: CurveKind,
    read: Callable[[Round], float | None],
) -> Curve:
    samples: dict[tuple[str, int], list[float]] = {}
    for trial in trials:
        for one in trial.rounds or ():
            clients, value = number(one.get("clients")), read(one)
            if clients is not None and value is not None:
                samples.setdefault((trial.entry, int(clients)), []).append(value)
    rows = []
    for (entry, clients), values in sorted(samples.items()):
        middle = float(np.median(values))
        if kind == "share" or middle > 0:
            text = f"{middle:.1%}" if kind == "share" else duration(middle)
            rows.append({"entry": entry, "x": clients, "y": float(f"{middle:.4g}"), "text": text})
    return Curve(
        rows=rows,
        names=_names(cell, rows),
        title=heading,
        kind=kind,
        x_title="clients",
        named=True,
    )


def _names(cell: CellAnalysis, rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    present = {str(row["entry"]) for row in rows}
    return tuple(entry.entry for entry in cell.entries if entry.entry in present)


@dataclass(frozen=True, kw_only=True)
class Total:
    """What the rounds of each contestant took in all, the least first; those that broke last."""

    title: str
    bars: tuple[Bar, ...]


def ramp_totals(cell: CellAnalysis, trials: Sequence[TrialView]) -> list[Total]:
    """Sums over the rounds of a trial, the median over the blocks."""
    own = _measured(cell, trials)
    found = []
    for heading, keys in (
        ("all connections: time to open them", ("connect_elapsed_ns",)),
        ("all messages: time of the rounds", ("elapsed_ns",)),
        ("the whole ramp: connections and messages", ("connect_elapsed_ns", "elapsed_ns")),
    ):
        sums: dict[str, list[float]] = {}
        for trial in own:
            values = [number(one.get(key)) for one in trial.rounds or () for key in keys]
            if values and None not in values:
                sums.setdefault(trial.entry, []).append(float(sum(value or 0 for value in values)))
        bars = [
            Bar(
                name=entry.entry,
                value=float(np.median(sums[entry.entry])),
                text=duration(float(np.median(sums[entry.entry]))),
                fault=broke_at(entry.breaking) if entry.breaking is not None else "",
            )
            for entry in cell.entries
            if entry.entry in sums
        ]
        if bars:
            bars.sort(key=lambda bar: (bool(bar.fault), bar.value))
            found.append(Total(title=heading, bars=tuple(bars)))
    return found


# --- CSV ------------------------------------------------------------------------------------------

COLUMNS = (
    "contestant",
    "block",
    "round",
    "clients",
    "count",
    "total",
    "percentage",
    "time",
    "longest",
    "shortest",
    "average",
    "connection_time",
)
"""From ``clients`` on, the names and meaning of the article's client, which wrote a file for each
run of each server. Times are in milliseconds.
"""


def write_rounds(run: StoredRun, folder: Path) -> list[Path]:
    """One file for each ramp of the run: a line for each round of each trial."""
    plan: Plan | None = run.plan
    written = []
    for planned in plan.cells if plan is not None else ():
        load = planned.cell.load
        if not isinstance(load, RampLoad):
            continue
        path = folder / f"{planned.study}.{planned.cell.id}.csv"
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(COLUMNS)
            for trial in run.trials:
                if (trial.study, trial.cell) == (planned.study, planned.cell.id):
                    lines.writerows(_lines(trial, load))
        written.append(path)
    return written


def _lines(trial: TrialView, load: RampLoad) -> Iterator[tuple[object, ...]]:
    for one in trial.rounds or ():
        clients, count = number(one.get("clients")), number(one.get("answered"))
        total = int(clients) * load.messages if clients is not None else None
        yield (
            trial.entry,
            trial.block,
            one.get("round"),
            _whole(clients),
            _whole(count),
            total,
            f"{count / total * 100:.6g}%" if total and count is not None else None,
            *(
                _milliseconds(read(one))
                for read in (
                    _of("elapsed_ns"),
                    _latency("max_ns"),
                    _latency("min_ns"),
                    _latency("mean_ns"),
                    _of("connect_elapsed_ns"),
                )
            ),
        )


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None else None


def _milliseconds(ns: float | None) -> float | None:
    return round(ns / 1e6, 6) if ns is not None else None
