"""``--dry-run``: what a run would measure, how long that takes, and when it would end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from wirebench.catalog.units import count_of
from wirebench.cli.announce import (
    checking_ns,
    done_text,
    measuring_ns,
    scope_notes,
    untimely_lines,
)
from wirebench.cli.console import for_tables

if TYPE_CHECKING:
    from rich.console import Console

    from wirebench.run.scope import CellForecast, Scope
    from wirebench.store.rundir import StoredRun


_SIX_DAYS_S = 6 * 24 * 3600.0


def print_forecast(
    scope: Scope,
    out: Console,
    *,
    before: StoredRun | None = None,
    results: Path,
    host: Mapping[str, Any],
    now_unix_s: float | None = None,
) -> None:
    """Print the cells with their entries, blocks and seconds, the total, and the end by the clock;
    and where this host has run a cell before, the widest interval to expect of the mandatory
    blocks.
    """
    from wirebench.catalog.units import rough_duration

    table = Table(box=None, padding=(0, 1), header_style="bold", show_edge=False)
    for title in ("study", "cell"):
        table.add_column(title)
    for title in ("entries", "blocks", "a block", "mandatory", "expected"):
        table.add_column(title, justify="right", no_wrap=True)
    widths = expected_widths(scope, results, host_id=str(host.get("host_id", "")))
    for cell in scope.forecasts:
        width = widths.get(cell.planned.key)
        table.add_row(
            cell.planned.study,
            cell.planned.cell.id,
            str(len(cell.planned.entries)),
            blocks_of(cell),
            seconds(cell.block_ns),
            seconds(cell.mandatory_ns),
            f"±{width:.1%}" if width is not None else "",
        )
    for_tables(out).print(table)

    def say(line: str) -> None:
        out.print(line, markup=False, highlight=False, soft_wrap=True)

    entries = sum(len(cell.planned.entries) for cell in scope.forecasts)
    blocks = sum(len(cell.planned.entries) * cell.planned.min_blocks for cell in scope.forecasts)
    each = (count_of(entries, "entry", "entries"), count_of(blocks, "trial"))
    say(f"total: {count_of(len(scope.cells), 'cell')}, {', '.join(each)}")
    for line in untimely_lines(scope):
        say(line)
    say(f"building   about {rough_duration(scope.building_ns)}")
    checking = checking_ns(scope, before)
    say(f"checking   about {rough_duration(checking)}")
    least, most = measuring_span(scope, before)
    span = rough_duration(least)
    if most > least:
        span += (
            f" for the mandatory blocks; what is undecided then goes on to {rough_duration(most)}"
        )
    say(f"measuring  about {span}")
    ahead = scope.building_ns + checking
    begin = time.time() if now_unix_s is None else now_unix_s
    first, last = (clock(begin + (ahead + ns) / 1e9, now_unix_s=begin) for ns in (least, most))
    say(f"ends       about {first}" if first == last else f"ends       from {first} to {last}")
    if before is not None:
        say(f"resumed    {done_text(before)}")
    for note in scope_notes(scope):
        say(note)


def expected_widths(scope: Scope, results: Path, *, host_id: str) -> dict[str, float]:
    """The half width of the widest interval that the mandatory blocks will probably give, by
    ``study.cell``, where an earlier run on this host says so.
    """
    from wirebench.stats.precision import expected_half_width, remembered

    records = remembered(results)
    presets = {study.name: preset.name for study, preset in scope.studies}
    found = {}
    for cell in scope.forecasts:
        planned = cell.planned
        width = expected_half_width(
            records,
            host_id=host_id,
            study=planned.study,
            cell=planned.cell.id,
            preset=presets[planned.study],
            blocks=planned.min_blocks,
        )
        if width is not None:
            found[planned.key] = width
    return found


def blocks_of(cell: CellForecast) -> str:
    """``6``, or ``6-60``."""
    least, most = cell.planned.min_blocks, cell.planned.max_blocks
    return str(least) if least == most else f"{least}-{most}"


def measuring_span(scope: Scope, before: StoredRun | None = None) -> tuple[int, int]:
    """The time of the mandatory blocks, and of all that the stop rule may add to them: of a run
    that is resumed, what is left of it.
    """
    least = measuring_ns(scope, before)
    spent = sum(one.elapsed_ns for one in before.trials) if before is not None else 0
    most = least + sum(
        (cell.planned.max_blocks - cell.planned.min_blocks) * cell.block_ns
        for cell in scope.forecasts
    )
    if scope.budget_ns is not None:
        most = min(most, max(least, scope.budget_ns - spent))
    return least, most


def seconds(ns: int) -> str:
    return f"{ns / 1e9:,.1f} s"


def clock(unix_s: float, *, now_unix_s: float) -> str:
    """By its weekday where that is the next one of its name, else by its date."""
    try:
        when = datetime.fromtimestamp(unix_s).astimezone()
    except (OverflowError, ValueError, OSError):
        return "the year 10000 or later"
    return when.strftime("%a %H:%M" if unix_s - now_unix_s < _SIX_DAYS_S else "%Y-%m-%d %H:%M")
