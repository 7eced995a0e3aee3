"""The verdicts as sentences, and what would change them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from wirebench.catalog.units import count_of
from wirebench.report.figures import (
    amount,
    bound_sign,
    figure_sign,
    names,
    noun,
    percent,
    ratio_text,
)
from wirebench.stats.settings import DEFAULT
from wirebench.stats.types import CellAnalysis, EntryAnalysis, Pair, Ratio, RunAnalysis

Tone = Literal["decided", "open", "nothing"]
MAX_CHANGES = 3


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """Plain text. Names in it are untrusted and are escaped where they are printed."""

    text: str
    tone: Tone
    changes: tuple[str, ...]
    """What would change the verdict."""


def cell_sentence(cell: CellAnalysis, *, again: str) -> Sentence:
    """``again``: the command that measures the cell as it was, to which the blocks are added."""
    ranked = [entry for entry in cell.entries if entry.standing.rank_low is not None]
    changes = tuple(_changes(cell, ranked, again=again))
    if not ranked:
        return Sentence(text=_nothing(cell), tone="nothing", changes=changes)
    if len(ranked) == 1:
        only = ranked[0]
        text = f"{only.entry} is the only one with a rank: {_against_floor(cell, only)}."
        return Sentence(text=text, tone="nothing", changes=changes)
    best = [entry for entry in ranked if entry.mark == "best"]
    if not best:
        text = (
            f"No difference can be shown between {names([entry.entry for entry in ranked])} by"
            f" {_measure(cell)}.{_limited(ranked)}"
        )
        return Sentence(text=text, tone="open", changes=changes)
    worst = [entry for entry in ranked if entry.mark == "worst"]
    first = best[0]
    # Those without a mark of their own, too: that it beats some does not make it better than all.
    alike = [
        entry
        for entry in ranked
        if entry is not first and first.entry not in entry.standing.beaten_by
    ]
    text = _lead(cell, first, alike, ranked) + (
        f" Last: {names([entry.entry for entry in worst])}." if worst else ""
    )
    text += _limited(best)
    return Sentence(text=text, tone="open" if alike else "decided", changes=changes)


def _limited(entries: Sequence[EntryAnalysis]) -> str:
    """A sentence on those whose figures the generator limited."""
    found = [entry.entry for entry in entries if entry.generator_bound]
    if not found:
        return ""
    return f" The generator, not the server, was the limit of {names(found)}: at least this fast."


def _measure(cell: CellAnalysis) -> str:
    return noun(cell.metric, cell.unit)


def _nothing(cell: CellAnalysis) -> str:
    if not any(entry.summary.trials for entry in cell.entries):
        return "Nothing valid was measured."
    short = [entry for entry in cell.entries if entry.unranked and "a rank needs" in entry.unranked]
    if short:
        care = "Read the figures below with care."
        void = sum(entry.summary.voided for entry in cell.entries)
        if not void:
            return f"Too few blocks for a verdict: {cell.blocks}. {care}"
        most = max(entry.summary.trials for entry in short)
        return (
            f"Too few valid trials for a verdict: {most} at most in"
            f" {count_of(cell.blocks, 'block')};"
            f" {void} {'was' if void == 1 else 'were'} void. {care}"
        )
    reasons: dict[str, list[str]] = {}
    for entry in cell.entries:
        if entry.summary.trials and not entry.is_floor and entry.twin_of is None:
            reasons.setdefault(entry.unranked or "", []).append(entry.entry)
    if not reasons:
        return "No contestant but the floor was measured."
    why = [f"{names(entries)}: {reason}" for reason, entries in reasons.items()]
    return f"Nobody has a rank. {'; '.join(why)}."


def _lead(
    cell: CellAnalysis,
    first: EntryAnalysis,
    alike: Sequence[EntryAnalysis],
    ranked: Sequence[EntryAnalysis],
) -> str:
    """``alike``: those that the first is not better than beyond doubt."""
    value = first.summary.metrics[cell.metric].median
    shown = figure_sign(first, cell.metric) + amount(cell.metric, value)
    what = f"{_measure(cell)} {shown}"
    if alike:
        leads = "leads" if first is ranked[0] else "is among the best"
        others = names([entry.entry for entry in alike])
        return f"{first.entry} {leads} ({what}), but is not distinguishable from {others}."
    following = next((entry for entry in ranked if entry is not first), None)
    pair = cell.pair(first.entry, following.entry) if following is not None else None
    beaten = f"; {_of(cell, pair)}" if pair is not None and pair.ratio is not None else ""
    return f"{first.entry} is best of {len(ranked)} by {what}{beaten}."


def _of(cell: CellAnalysis, pair: Pair) -> str:
    assert pair.ratio is not None
    ratio = bound_sign(pair.bound) + ratio_text(pair.ratio)
    return f"{ratio} the {_measure(cell)} of {pair.b}, the next"


def _against_floor(cell: CellAnalysis, entry: EntryAnalysis) -> str:
    value = amount(cell.metric, entry.summary.metrics[cell.metric].median)
    ratio, sign = entry.standing.ratio, bound_sign(entry.standing.bound)
    floor = f", {sign}{ratio_text(ratio)} that of the floor" if ratio is not None else ""
    return f"{_measure(cell)} {figure_sign(entry, cell.metric)}{value}{floor}"


def _changes(cell: CellAnalysis, ranked: Sequence[EntryAnalysis], *, again: str) -> Iterator[str]:
    if cell.twin is not None and cell.twin.false_alarm:
        yield (
            f"The lab called {cell.twin.contestant} different from itself here. Trust only far "
            "larger differences in this cell. A quieter machine or more blocks would help."
        )
    bound = [
        entry
        for entry in cell.entries
        if entry.generator_bound and not entry.is_floor and entry.twin_of is None
    ]
    if bound:
        yield (
            f"{names([entry.entry for entry in bound])}: generator-bound: at least this fast. "
            "A generator with more cores, or on its own machine, would show their limit."
        )
    floor = next((entry for entry in cell.entries if entry.is_floor), None)
    if floor is not None and floor.generator_bound:
        yield (
            f"The generator was the limit of the floor ({floor.entry}): the others are at least as"
            " far from it as printed. Compare CPU per request instead."
        )
    idle = [
        entry.entry
        for entry in cell.entries
        if cell.kind == "closed" and entry.bottleneck and entry.bottleneck.kind == "neither"
    ]
    if idle:
        yield (
            f"{names(idle)}: neither the server nor the generator was busy. Something else set the"
            " pace: other programs on their cores, locks, or cores that the server does not use."
        )
    few = [entry for entry in cell.entries if entry.unranked and "a rank needs" in entry.unranked]
    if few and ranked:
        yield f"{names([entry.entry for entry in few])}: too few valid blocks for a rank."
    undecided = [
        (above, below, pair)
        for above, below in pairwise(ranked)
        if (pair := cell.pair(above.entry, below.entry)) is not None
        and pair.verdict.kind == "undecided"
        # One that is behind only by its generator's limit: more blocks would not show more.
        and not below.generator_bound
    ]
    for above, below, pair in undecided[:MAX_CHANGES]:
        needed = pair.verdict.blocks_needed
        if pair.verdict.beyond_blocks:
            yield (
                f"No number of blocks would settle {above.entry} and {below.entry}:"
                f" {pair.verdict.reason}."
            )
        elif needed is None:
            yield _not_to_be_settled(above.entry, below.entry, pair.ratio)
        elif pair.ratio is None or pair.ratio.low is None:
            more = count_of(needed, "more block")
            yield f"{above.entry} and {below.entry} need {more} for an interval."
        else:
            more = count_of(needed, "more block")
            yield (
                f"About {more} would settle {above.entry} and {below.entry} in four of five such"
                " cases."
            )
    needs = [
        pair.verdict.blocks_needed
        for _, _, pair in undecided
        if pair.verdict.blocks_needed is not None
    ]
    if not ranked:
        needs = [DEFAULT.min_blocks - entry.summary.trials for entry in few]
        needs += [DEFAULT.min_blocks] if cell.blocks == 0 else []
    if needs:
        yield f"To measure that: {again} --blocks {cell.blocks + max(needs)}"


def _not_to_be_settled(one: str, other: str, ratio: Ratio | None) -> str:
    if ratio is not None and ratio.may_be_equal:
        return (
            f"{one} and {other} may be equal: no affordable number of blocks is expected to"
            " separate them."
        )
    return (
        f"{one} and {other} differ by about the noise band: no affordable number of blocks is"
        " expected to settle it."
    )


def twin_sentence(analysis: RunAnalysis) -> str:
    """The verdicts on contestants entered twice, in this run and over this host's lifetime."""
    judged = [
        twin for twin in analysis.twins if twin.ratio is not None and twin.ratio.low is not None
    ]
    if not analysis.twins:
        return (
            "No contestant was entered twice, so nothing shows how much of a difference is noise."
        )
    if not judged:
        return "The twins had too few common blocks to judge the lab."
    alarms = [twin for twin in judged if twin.false_alarm]
    if len(judged) == 1:
        here = "The contestant entered twice was"
    else:
        count = str(len(alarms)) if alarms else "None"
        here = f"{count} of the {len(judged)} contestants entered twice"
        here += " were" if len(alarms) > 1 else " was"
    if alarms:
        itself = "themselves" if len(alarms) > 1 else "itself"
        where = names([f"{twin.contestant} in {twin.study} {twin.cell}" for twin in alarms])
        here += f" called different from {itself}: {where}."
    else:
        not_ = "not " if len(judged) == 1 else ""
        here += f" {not_}called different from itself."
    ever = (
        f" On this host so far: {count_of(analysis.false_alarms, 'false alarm')} in"
        f" {count_of(analysis.twin_trials, 'twin')}"
    )
    return f"{here}{ever} ({percent(analysis.false_alarms / analysis.twin_trials)})."
