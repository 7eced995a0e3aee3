"""A duel's result in words and rows, for the terminal, Markdown, HTML and JSON alike."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wirebench.catalog.model import Unit
from wirebench.catalog.units import BYTES, count_of, scaled
from wirebench.duel.sides import Side
from wirebench.duel.verdicts import DECIDING, Judged, Line
from wirebench.report import figures
from wirebench.report.markdown import one_line, table
from wirebench.report.plain import element, plain_page, plain_table
from wirebench.stats.bottleneck import LIMITED_METRICS, bound_of
from wirebench.stats.settings import DEFAULT
from wirebench.stats.summary import higher_is_better
from wirebench.stats.validity import void_notes
from wirebench.trial.cold import cold_notes
from wirebench.trial.killed import killed_notes

SCHEMA = "wirebench-duel/1"
_MORE = {
    "throughput_per_s": ("more", "fewer"),
    "cpu_per_request_ns": ("more", "less"),
    "server_rss_bytes": ("more", "less"),
}
_OTHERS = ("longer", "shorter")
_NOUNS = {
    "throughput_per_s": "{unit}s a second",
    "p50_ns": "median latency",
    "p99_ns": "p99 latency",
    "cpu_per_request_ns": "CPU per {unit}",
    "server_rss_bytes": "memory",
}
_TITLES = {
    "throughput_per_s": "{unit}s/s",
    "p50_ns": "p50",
    "p99_ns": "p99",
    "cpu_per_request_ns": "CPU/{unit}",
    "server_rss_bytes": "memory",
}
HEADINGS = ("metric", "ratio", "verdict")
MOST_HEADS = 512
"""Bytes by which the heads of two servers' replies to one request differ at most. Our own
choice.
"""


@dataclass(frozen=True, kw_only=True)
class Duelled:
    """All that is said of a duel."""

    sides: Sequence[Side]
    load: str
    unit: Unit
    kind: str
    result: Judged
    seconds: float
    run: str
    blocks: int | None = None
    """As many as were asked for; None: as the time holds."""
    tls: bool = False
    """Whether the sides speak it; the floor does not."""


def sentences(duel: Duelled) -> Iterable[str]:
    """One sentence for each side but the first."""
    first = duel.sides[0].name
    for side in duel.sides[1:]:
        lines = [line for line in duel.result.lines if line.side == side.name]
        if not any(line.ratio is not None for line in lines):
            yield f"{side.name} and {first} cannot be compared: {_why_not(duel, side.name, first)}."
            continue
        differ = [line for line in lines if line.verdict.kind in ("faster", "slower")]
        same = [line for line in lines if line.verdict.kind == "equivalent"]
        open_ = [
            line
            for line in lines
            if line.verdict.kind == "undecided" and line.metric in DECIDING[duel.kind]
        ]
        parts = []
        if differ:
            parts.append(
                f"{side.name} differs from {first}: "
                + "; ".join(_difference(one, duel.unit) for one in differ)
            )
        if same:
            widest = max(one.band.d for one in same)
            parts.append(
                f"no difference beyond {widest:.1%} in "
                + figures.names([noun_of(one.metric, duel.unit) for one in same])
            )
        if open_:
            parts.append(
                "not decided: " + figures.names([noun_of(one.metric, duel.unit) for one in open_])
            )
        if not parts:
            parts.append(f"between {side.name} and {first} nothing is decided")
        text = "; ".join(parts)
        yield text[0].upper() + text[1:] + "."


def _why_not(duel: Duelled, *names: str) -> str:
    found = [
        f"{count_of(duel.result.failed[name], 'trial')} of {name} failed"
        for name in names
        if duel.result.failed.get(name)
    ]
    return figures.names(found) if found else "no block has both"


def _difference(line: Line, unit: Unit) -> str:
    assert line.ratio is not None  # a verdict has one
    change = line.ratio.estimate - 1
    more, less = _MORE.get(line.metric, _OTHERS)
    better = "better" if line.verdict.kind == "faster" else "worse"
    # A bound only supports a claim where the true difference is larger.
    least = "at least " if line.bound is not None else ""
    how = more if change > 0 else less
    return f"{least}{abs(change):.1%} {how} {noun_of(line.metric, unit)} ({better})"


def noun_of(metric: str, unit: Unit) -> str:
    return _NOUNS.get(metric, metric).format(unit=unit)


def verdict_text(line: Line) -> str:
    """``better``, ``worse``, ``same within 1.0%``, or what is open and what would close it."""
    match line.verdict.kind:
        case "faster":
            return "better"
        case "slower":
            return "worse"
        case "equivalent":
            return f"same within {line.band.d:.1%}"
    if line.verdict.beyond_blocks:
        return f"open: {line.verdict.reason}"
    if line.ratio is None:
        return "open: no block has figures of both"
    if line.verdict.blocks_needed is not None:
        more = count_of(line.verdict.blocks_needed, "more block")
        return f"open: about {more}" if line.ratio.low is not None else f"open: {more} to judge it"
    if line.ratio.may_be_equal:
        return "open: may be equal, no affordable number of blocks is expected to tell"
    return "open: too close to the band's edge for any affordable number of blocks"


def headings(duel: Duelled, side: str) -> tuple[str, ...]:
    first = duel.sides[0].name
    return ("", first, side, f"{side}/{first}", "")


def rows(duel: Duelled, side: str) -> Iterable[tuple[str, ...]]:
    """Metric, the first side's figure, this side's, the ratio with its interval, the verdict."""
    first = duel.sides[0].name
    for line in duel.result.lines:
        if line.side != side:
            continue
        title = _TITLES.get(line.metric, line.metric).format(unit=duel.unit)
        star = "*" if figures.is_set_by_load(duel.kind, line.metric) else ""  # type: ignore[arg-type]
        yield (
            title + star,
            _figure(duel, first, line.metric),
            _figure(duel, side, line.metric),
            figures.bound_sign(line.bound) + str(line.ratio) if line.ratio is not None else "",
            verdict_text(line),
        )
    if duel.kind == "open":
        asked = [_figure(duel, one, "throughput_per_s") for one in (first, side)]
        yield (_TITLES["throughput_per_s"].format(unit=duel.unit), *asked, "", "set by --rate")
    for name, shares in (
        ("server CPU", [_share(duel, one, "server_share") for one in (first, side)]),
        ("generator CPU", [_share(duel, one, "generator_share") for one in (first, side)]),
    ):
        if any(shares):
            yield (name, *shares, "", "")
    sizes = [duel.result.reply_bytes.get(one) for one in (first, side)]
    if any(size is not None for size in sizes):
        shown = ("" if size is None else scaled(size, BYTES) for size in sizes)
        yield ("bytes/reply", *shown, "", "")
    for name, counts in (("failed trials", duel.result.failed), ("errors", duel.result.errors)):
        yield (name, *(f"{counts.get(one, 0):,}" for one in (first, side)), "", "")


def _figure(duel: Duelled, side: str, metric: str) -> str:
    found = duel.result.figures.get(side, {}).get(metric)
    return _sign(duel, side, metric) + figures.figure(metric, found.median) if found else ""


def _sign(duel: Duelled, side: str, metric: str) -> str:
    """Before a figure that the generator limited."""
    limit = duel.result.bottlenecks.get(side)
    limited = limit is not None and limit.kind == "generator-bound"
    return figures.bound_sign(
        bound_of(
            limited=limited and metric in LIMITED_METRICS,
            other_limited=False,
            higher_is_better=higher_is_better(metric),
        )
    )


def _share(duel: Duelled, side: str, which: str) -> str:
    found = duel.result.bottlenecks.get(side)
    return figures.cpu_share(getattr(found, which)) if found is not None else ""


def notes(duel: Duelled) -> Iterable[str]:
    """What a reader of the table needs."""
    result = duel.result
    least = DEFAULT.min_blocks
    if 0 < result.blocks < least:
        block_s = duel.seconds / (result.blocks + len(result.dropped))
        more = f"--budget {math.ceil(block_s * least * 1.5 / 60)}m"
        if duel.blocks is not None:  # then no budget counts
            more = f"--blocks {max(least, duel.blocks)}"
        yield f"a verdict needs {least} blocks, and a block took {block_s:.0f} s: try {more}"
    yield (
        f"{count_of(result.blocks, 'block')} in {duel.seconds:.0f} s; ratios: median over the"
        " blocks, with the 95% interval; figures: medians over the trials"
    )
    early: dict[int, list[str]] = {}
    for line in result.lines:
        if line.decided_after is not None:
            words = f"{noun_of(line.metric, duel.unit)} of {line.side}"
            early.setdefault(line.decided_after, []).append(words)
    for blocks, names in sorted(early.items()):
        yield f"decided after {count_of(blocks, 'block')}, with the ratio of these: " + (
            figures.names(names)
        )
    for line in result.twin:
        if line.metric in DECIDING[duel.kind] and line.ratio is not None:
            yield (
                f"{line.against} measured twice: {noun_of(line.metric, duel.unit)} {line.ratio},"
                f" only noise; differences within {line.band.d:.1%} count for nothing"
            )
    if any(figures.is_set_by_load(duel.kind, line.metric) for line in result.lines):  # type: ignore[arg-type]
        yield f"* {figures.SET_BY_LOAD}; here: --rate"
    if any(line.bound is not None for line in result.lines):
        yield figures.BOUNDS_LEGEND
    if any(side.url is not None for side in duel.sides):
        yield "a server that ran already: its CPU and memory are not known"
    yield from cold_notes(result.cold)
    yield from killed_notes(result.killed)
    yield from _unlike_replies(duel)
    yield from void_notes(result.voided)
    if (others := figures.other_programs_text(result.other_programs)) is not None:
        yield others
    if (stopped := figures.quota_text(result.quota_stops)) is not None:
        yield stopped
    if result.dropped:
        gone = "; ".join(f"block {one.block}: {one.reason}" for one in result.dropped)
        yield f"{count_of(len(result.dropped), 'block')} dropped ({gone})"
    floor = [
        name
        for name in result.figures
        if name not in {side.name for side in duel.sides} and "~" not in name
    ]
    plain = "without TLS, " if duel.tls else ""
    for name in floor:
        found = result.figures[name].get("throughput_per_s")
        cost = result.figures[name].get("cpu_per_request_ns")
        if found is not None and cost is not None:
            yield (
                f"the floor ({name}, raw sockets, {plain}its own short reply) under the same load:"
                f" {figures.amount('throughput_per_s', found.median)},"
                f" {figures.figure('cpu_per_request_ns', cost.median)} of CPU each"
            )


def _unlike_replies(duel: Duelled) -> Iterable[str]:
    """Who answers with much more or less than the first side: any success counts as right."""
    sizes, first = duel.result.reply_bytes, duel.sides[0].name
    for side in duel.sides[1:]:
        own, other = sizes.get(side.name), sizes.get(first)
        if own is not None and other is not None and abs(own - other) > MOST_HEADS:
            yield (
                f"{side.name} and {first} do not answer alike: {scaled(own, BYTES)} and"
                f" {scaled(other, BYTES)} for each reply, more than their heads make up; which one"
                " is right is said by --wireload, such as --expect-length"
            )


def markdown(duel: Duelled) -> str:
    """For a pull request."""
    out = [f"**{one_line(line)}**" for line in sentences(duel)]
    out.append("")
    out += [f"- {side.name}: {_code(_shown(side))}" for side in duel.sides]
    for side in duel.sides[1:]:
        heads = headings(duel, side.name)
        out += ["", *table(heads, rows(duel, side.name), figures=range(1, len(heads) - 1))]
    out += [
        "",
        f"Load: {one_line(duel.load)}.",
        *(f"{one_line(line)}." for line in notes(duel)),
        "",
    ]
    return "\n".join(out)


def _shown(side: Side) -> str:
    return f"{side.label}: {side.given}" if side.label else side.given


def _code(text: str) -> str:
    """A code span with whatever is in the text (CommonMark 0.31, section 6.1)."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    room = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return fence + room + " ".join(text.splitlines()) + room + fence


def page(duel: Duelled) -> str:
    """One offline HTML page, without scripts."""
    tables = [
        plain_table(headings(duel, side.name), rows(duel, side.name)) for side in duel.sides[1:]
    ]
    sides = "".join(
        f"<li>{html.escape(one.name)}: {element('code', _shown(one))}</li>" for one in duel.sides
    )
    body = (
        "".join(element("h1", one) for one in sentences(duel))
        + f"<ul>{sides}</ul>"
        + element("p", f"Load: {duel.load}.")
        + "".join(tables)
        + "".join(element("p", f"{one}.") for one in notes(duel))
    )
    return plain_page(duel.run, body, style=_STYLE)


_STYLE = "tr>:last-child{text-align:left}p,li{color:GrayText}li code{color:CanvasText}"


def document(duel: Duelled) -> Mapping[str, Any]:
    """For programs. Times are nanoseconds, sizes bytes, ratios of the metric itself."""
    result = duel.result

    def line_of(line: Line) -> Mapping[str, Any]:
        return {
            "metric": line.metric,
            "side": line.side,
            "against": line.against,
            "ratio": asdict(line.ratio) if line.ratio is not None else None,
            "higher_is_better": higher_is_better(line.metric),
            "verdict": {"faster": "better", "slower": "worse"}.get(
                line.verdict.kind, line.verdict.kind
            ),
            "more_blocks": line.verdict.blocks_needed if line.ratio is not None else None,
            "reason": line.verdict.reason,
            "band": line.band.d,
            "bound": line.bound,
            "decided_after": line.decided_after,
        }

    return {
        "schema": SCHEMA,
        "run": duel.run,
        "load": duel.load,
        "sides": [
            {"name": one.name, "given": one.given, "label": one.label, "url": one.url}
            for one in duel.sides
        ],
        "sentences": list(sentences(duel)),
        "blocks": result.blocks,
        "dropped_blocks": len(result.dropped),
        "disturbed_trials": result.other_programs.disturbed if result.other_programs else None,
        "seconds": duel.seconds,
        "level": result.level,
        "lines": [line_of(one) for one in result.lines],
        "twin": [line_of(one) for one in result.twin],
        "figures": {
            name: {metric: one.median for metric, one in found.items()}
            for name, found in result.figures.items()
        },
        "failed": dict(result.failed),
        "errors": dict(result.errors),
        "void": {name: len(reasons) for name, reasons in result.voided.items()},
        "cold": dict(result.cold),
        "killed": dict(result.killed),
        "reply_bytes": dict(result.reply_bytes),
    }
