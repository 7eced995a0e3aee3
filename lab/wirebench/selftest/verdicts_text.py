"""The simulated verdicts as a table, as JSON, and as what reports print of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from wirebench.catalog.units import count_of, share_text
from wirebench.selftest.gaps import Gap, Share
from wirebench.selftest.tables import BAND, Design
from wirebench.selftest.verdicts import LIMIT, Row, Wanted
from wirebench.selftest.worlds import EXPLAINED, Source
from wirebench.store.verdicts import CheckedDesign


def sources_line(sources: Sequence[Source]) -> str:
    if not any(one.residuals for one in sources):
        return (
            "noise: normal, 2% between two entries; no trials of this host are stored that could"
            " give its own"
        )
    kinds = ", ".join(f"{one.name} {one.sd:.1%}" for one in sources)
    return f"noise: of this host's own stored trials (one entry in one block: {kinds})"


def verdict_table(rows: Sequence[Row]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("blocks", "presets", "world"):
        table.add_column(name)
    for name in (
        "tables",
        "false claim",
        "wrong signs",
        "coverage",
        "80% find",
        "95% find",
        "false changes",
        "reversed",
    ):
        table.add_column(name, justify="right")
    table.add_column("holds")
    before = None
    for row in rows:
        design = row.design
        repeats = f" in {design.repeats} repeats" if design.repeats > 1 else ""
        first = design != before
        before = design
        table.add_row(
            f"{blocks_text(design)}{repeats}" if first else "",
            ", ".join(design.presets) if first else "",
            row.world,
            str(row.tables),
            share_text(row.false_tables / row.tables) if row.tables else "",
            str(row.wrong_signs),
            show_share(row.coverage),
            *(show_gap(row, place) for place in (0, 1)),
            show_share(row.false_changes),
            str(row.reversed),
            _holds(row),
        )
    return table


def blocks_text(design: Design) -> str:
    if design.blocks == design.min_blocks:
        return str(design.blocks)
    return f"{design.min_blocks} to {design.blocks}"


def _holds(row: Row) -> str:
    if not row.tables:
        return ""
    if not row.judged:
        return "[yellow]cannot see it[/]"
    return "[green]yes[/]" if row.holds else "[bold red]NO[/]"


def show_share(share: Share | None) -> str:
    return "" if share is None else f"{share_text(share.value)} ± {1.96 * share.error:.1%}"


def show_gap(row: Row, place: int) -> str:
    return _gap_text(row.gaps[place]) if row.gaps else ""


def _gap_text(gap: Gap) -> str:
    if gap.gap is None:
        return f"over {gap.low:.0%}"
    high = "more" if gap.high is None else f"{gap.high:.1%}"
    return f"{gap.gap:.1%} ({gap.low:.1%} to {high})"


def legend(wanted: Wanted) -> str:
    worlds = "\n".join(f"  {name}: {EXPLAINED[name]}" for name in wanted.worlds)
    entries = count_of(wanted.entries, "entry", "entries")
    return (
        f"Each table has {entries} and a twin; true figures are 0 or just the noise"
        f" band ({BAND:.0%}) apart, so that every claim is false.\n"
        "blocks: '6 to 28' are looked at as a run looks, and entries leave when the stop rule lets"
        " them.\n"
        f"false claim: share of the tables with one or more; at most {LIMIT:.0%}, and two Monte"
        " Carlo standard errors. wrong signs: claims that the slower one is faster; none allowed.\n"
        "coverage: 95% intervals that hold the true ratio. 80% find, 95% find: the smallest gap"
        " between two entries that is found in so many of the pairs (95% Monte Carlo interval).\n"
        "false changes: of 'compare' of two runs of one truth, share of the comparisons. reversed:"
        " pairs that one of two runs calls faster and the other slower.\n"
        "cannot see it: with one repeat nothing in the run shows what differs between repeats; the"
        " report says so, and the row does not count.\n"
        f"worlds:\n{worlds}"
    )


def summary(rows: Sequence[Row]) -> str:
    judged = [row for row in rows if row.judged and row.tables]
    failed = [row for row in judged if not row.holds]
    if not judged:
        return "nothing was simulated"
    if not failed:
        return f"the limits hold in {'the' if len(judged) == 1 else 'all'} {_that_count(judged)}"
    named = ", ".join(f"{blocks_text(row.design)} blocks, {row.world}" for row in failed)
    return f"the limits do not hold in {len(failed)} of {_that_count(judged)}: {named}"


def _that_count(rows: Sequence[Row]) -> str:
    return count_of(len(rows), "row that counts", "rows that count")


def to_json(wanted: Wanted, rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "schema": "selftest-verdicts/1",
        "seed": wanted.seed,
        "entries": wanted.entries,
        "tables": wanted.tables,
        "band": BAND,
        "limit": LIMIT,
        "sources": [
            {"name": one.name, "entries": len(one.residuals), "sd": one.sd}
            for one in wanted.sources
        ],
        "rows": [_row(row) for row in rows],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "presets": list(row.design.presets),
        "blocks": row.design.blocks,
        "min_blocks": row.design.min_blocks,
        "repeats": row.design.repeats,
        "world": row.world,
        "tables": row.tables,
        "false_tables": row.false_tables,
        "wrong_signs": row.wrong_signs,
        "pairs": sum(one.pairs for one in row.found),
        "coverage": _share(row.coverage),
        "gaps": [
            {"power": gap.power, "gap": gap.gap, "low": gap.low, "high": gap.high}
            for gap in row.gaps
        ],
        "false_changes": _share(row.false_changes),
        "reversed": row.reversed,
        "counts": row.judged,
        "holds": row.holds if row.tables else None,
    }


def _share(share: Share | None) -> dict[str, float] | None:
    return None if share is None else {"value": share.value, "standard_error": share.error}


def checked_designs(rows: Sequence[Row]) -> tuple[CheckedDesign, ...]:
    return tuple(
        CheckedDesign(
            presets=row.design.presets,
            blocks=row.design.blocks,
            repeats=row.design.repeats,
            world=row.world,
            tables=row.tables,
            false_tables=row.false_tables,
            wrong_signs=row.wrong_signs,
            counts=row.judged,
            gap_80=row.gaps[0].gap if row.gaps else None,
            gap_95=row.gaps[1].gap if row.gaps else None,
        )
        for row in rows
    )
