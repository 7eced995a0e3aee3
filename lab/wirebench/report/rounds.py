"""The rounds of a ramp: the article's figures and what they leave out, as charts and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wirebench.catalog.loads import RampLoad
from wirebench.catalog.units import BYTES, duration, scaled
from wirebench.plan.model import Plan
from wirebench.report.bars import Bar
from wirebench.report.figures import broke_at, percent
from wirebench.report.lines import Curve, CurveKind
from wirebench.stats.types import CellAnalysis, TrialView
from wirebench.stats.validity import number
from wirebench.store.rundir import StoredRun

Round = Mapping[str, Any]
"""As stored, from the generator's document."""


# --- charts ---------------------------------------------------------------------------------------


def _of(*keys: str) -> Callable[[Round], float | None]:
    """The figure under the keys, one below the other; None where it was not measured."""

    def read(one: Round) -> float | None:
        value: object = one
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        return number(value)

    return read


def _percentile(name: str) -> Callable[[Round], float | None]:
    return _of("latency", "percentiles_ns", name)


def _server_cpu_ns(one: Round) -> float | None:
    user, system = _of("server", "cpu_user_ns")(one), _of("server", "cpu_system_ns")(one)
    return user + system if user is not None and system is not None else None


def _cpu_per_message_ns(one: Round) -> float | None:
    cpu_ns, answered = _server_cpu_ns(one), number(one.get("answered"))
    return cpu_ns / answered if cpu_ns is not None and answered else None


OPENING = "time to open the round's connections"
_CURVES: tuple[tuple[str, CurveKind, Callable[[Round], float | None]], ...] = (
    ("time of the round", "time", _of("elapsed_ns")),
    ("longest round trip", "time", _of("latency", "max_ns")),
    ("p99 round trip", "time", _percentile("99")),
    ("average round trip", "time", _of("latency", "mean_ns")),
    ("median round trip", "time", _percentile("50")),
    ("shortest round trip", "time", _of("latency", "min_ns")),
    ("messages answered", "share", _of("success_ratio")),
    ("server CPU per message", "time", _cpu_per_message_ns),
    ("server memory", "bytes", _of("server", "rss_bytes")),
    (OPENING, "time", _of("connect_elapsed_ns")),
)
WITHOUT = ", without those that broke"
_TEXTS: Mapping[CurveKind, Callable[[float], str]] = {
    "time": duration,
    "share": percent,
    "bytes": lambda value: scaled(value, BYTES),
}


def ramp_curves(cell: CellAnalysis, trials: Sequence[TrialView]) -> list[Curve]:
    """Each figure of a round against the number of clients: the median over the blocks."""
    own = _measured(cell, trials)
    curves = [_curve(cell, own, *one) for one in _CURVES]
    broken = {entry.entry for entry in cell.entries if entry.breaking is not None}
    held = [trial for trial in own if trial.entry not in broken]
    if held and broken & {trial.entry for trial in own}:
        curves.append(_curve(cell, held, OPENING + WITHOUT, "time", _of("connect_elapsed_ns")))
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
            text = _TEXTS[kind](middle)
            rows.append({"entry": entry, "x": clients, "y": float(f"{middle:.4g}"), "text": text})
    return Curve(
        rows=rows,
        names=_names(cell, rows),
        title=heading,
        kind=kind,
        x_title="clients",
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
FIGURES: Mapping[str, Callable[[Round], float | None]] = {
    "opened": _of("opened"),
    "connect_failed": _of("connect_failed"),
    "answered": _of("answered"),
    "success_ratio": _of("success_ratio"),
    "elapsed_ns": _of("elapsed_ns"),
    "min_ns": _of("latency", "min_ns"),
    "mean_ns": _of("latency", "mean_ns"),
    "max_ns": _of("latency", "max_ns"),
    "p50_ns": _percentile("50"),
    "p90_ns": _percentile("90"),
    "p99_ns": _percentile("99"),
    "p999_ns": _percentile("99.9"),
    "connect_elapsed_ns": _of("connect_elapsed_ns"),
    "server_cpu_ns": _server_cpu_ns,
    "server_rss_bytes": _of("server", "rss_bytes"),
    "server_rss_peak_bytes": _of("server", "rss_peak_bytes"),
}
"""What is kept of a round, in nanoseconds and bytes. The server's CPU is that of the exchange,
without the opening of connections, and its memory that of the exchange's end. A figure that was not
measured, or a percentile with fewer than 10 samples beyond it, is empty.
"""
ALL_COLUMNS = ("contestant", "block", "round", "clients", "total", *FIGURES)


def write_rounds(run: StoredRun, folder: Path) -> list[Path]:
    """Two files for each ramp of the run: the article's columns, and all that is kept. Each has a
    line for each round of each trial.
    """
    plan: Plan | None = run.plan
    written = []
    for planned in plan.cells if plan is not None else ():
        load = planned.cell.load
        if not isinstance(load, RampLoad):
            continue
        trials = [
            trial
            for trial in run.trials
            if (trial.study, trial.cell) == (planned.study, planned.cell.id)
        ]
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, columns, line_of in (
            (".csv", COLUMNS, _articles_line),
            (".all.csv", ALL_COLUMNS, _whole_line),
        ):
            path = folder / f"{planned.study}.{planned.cell.id}{suffix}"
            with path.open("w", encoding="utf-8", newline="") as file:
                lines = csv.writer(file, lineterminator="\n")
                lines.writerow(columns)
                for trial in trials:
                    for one in trial.rounds or ():
                        lines.writerow((trial.entry, trial.block, *line_of(one, load)))
            written.append(path)
    return written


def _total(one: Round, load: RampLoad) -> int | None:
    """How many messages the round calls for."""
    clients = number(one.get("clients"))
    return int(clients) * load.messages if clients is not None else None


def _articles_line(one: Round, load: RampLoad) -> tuple[object, ...]:
    count, total = number(one.get("answered")), _total(one, load)
    return (
        one.get("round"),
        _exact(_of("clients")(one)),
        _exact(count),
        total,
        _percentage(count / total) if total and count is not None else None,
        *(
            _milliseconds(FIGURES[name](one))
            for name in ("elapsed_ns", "max_ns", "min_ns", "mean_ns", "connect_elapsed_ns")
        ),
    )


def _percentage(share: float) -> str:
    """To six digits, and not rounded to all while a message is missing."""
    return f"{min(share * 100, 99.9999):.6g}%" if share < 1 else "100%"


def _whole_line(one: Round, load: RampLoad) -> tuple[object, ...]:
    figures = (_exact(read(one)) for read in FIGURES.values())
    return (one.get("round"), _exact(_of("clients")(one)), _total(one, load), *figures)


def _exact(value: float | None) -> float | int | None:
    """Counts without a decimal point."""
    return int(value) if value is not None and value == int(value) else value


def _milliseconds(ns: float | None) -> float | None:
    return round(ns / 1e6, 6) if ns is not None else None
