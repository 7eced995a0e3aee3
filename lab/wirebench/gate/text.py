"""A gate's result in words, as a table, as Markdown and as JUnit XML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from xml.etree import ElementTree

from wirebench.catalog.units import count_of, rough_duration
from wirebench.gate.types import Found, Row, State
from wirebench.report.figures import figure
from wirebench.report.markdown import one_line, table

WORDS: dict[State, str] = {
    "holds": "holds",
    "regressed": "regressed",
    "undecided": "not decided",
    "invalid": "invalid",
}
HEADINGS = ("threshold", "base", "head", "measured [95% interval]", "verdict")
TOO_CLOSE = "no affordable number of blocks is expected to decide it"


def headline(found: Found) -> str:
    """The result in one sentence."""
    match found.state:
        case "invalid":
            why = [*found.invalid, *(f"{row.title}: {row.reason}" for row in _in(found, "invalid"))]
            return f"Invalid measurement: {'; '.join(why) or 'nothing was judged'}"
        case "regressed":
            rows = _in(found, "regressed")
            return "Regressed: " + "; ".join(
                f"{row.title}, measured {measured(row)}"
                if row.estimate is not None
                else f"{row.title}: {row.reason}"
                for row in rows
            )
        case "undecided":
            names = ", ".join(row.title for row in _in(found, "undecided"))
            return f"Not decided: {names}. {what_it_takes(found)}"
        case "holds":
            count = len(found.rows)
            return "The threshold holds." if count == 1 else f"All {count} thresholds hold."


def what_it_takes(found: Found) -> str:
    """What would decide the rows that are open."""
    more = found.more_blocks
    if more is None:
        return "More blocks would not decide it all; the rows say why."
    text = f"About {count_of(more, 'more block')} would probably decide it"
    if any(row.state == "undecided" and row.low is None for row in found.rows):
        text = f"It takes {count_of(more, 'more block')} for an interval"
    if found.block_seconds is None:
        return f"{text}: measure with more blocks or --repeats."
    needs = rough_duration(round(more * found.block_seconds * 1e9))
    if found.exactly:
        return f"{text} ({needs}): try --blocks {found.blocks + more}."
    minutes = math.ceil(1.2 * (found.blocks + more) * found.block_seconds / 60)
    return f"{text} ({needs}): try --budget {max(1, minutes)}m."


def measured(row: Row) -> str:
    """``+4.2% [+1.0%, +7.5%]``, or a figure with its interval."""
    if row.estimate is None:
        return ""

    def shown(value: float) -> str:
        match row.threshold.kind:
            case "change":
                return f"{value - 1:+z.1%}"
            case "errors":
                return f"{value:.0f}"
            case "figure":
                return figure(row.threshold.metric, value)

    text = shown(row.estimate)
    if row.low is None or row.high is None:
        return text
    return f"{text} [{shown(row.low)}, {shown(row.high)}]"


def verdict(row: Row) -> str:
    text = WORDS[row.state]
    if row.reason:
        text += f": {row.reason}"
    if row.state == "undecided" and row.low is not None and row.more_blocks is not None:
        return f"{text}; about {count_of(row.more_blocks, 'more block')}"
    if row.reason == "the interval contains the limit":
        return f"{text}; {TOO_CLOSE}"
    return text


def cells(row: Row) -> tuple[str, ...]:
    """What stands under ``HEADINGS``."""
    return (row.title, _figure(row, row.base), _figure(row, row.head), measured(row), verdict(row))


def _figure(row: Row, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if row.threshold.kind == "errors" else figure(row.threshold.metric, value)


def markdown(found: Found) -> str:
    """A summary for a pull request."""
    out = [f"**{one_line(headline(found))}**", ""]
    if found.rows:
        out += [*table(HEADINGS, map(cells, found.rows), figures=(1, 2, 3)), ""]
    out += [f"- {one_line(one)}" for one in (count_of(found.blocks, "block"), *found.notes)]
    return "\n".join([*out, ""])


def junit(found: Found, *, seconds: float) -> str:
    """One test case for each threshold, as CI services read it: what is regressed failed, what is
    not decided was skipped, what is invalid is an error.
    """
    extra = [ElementTree.Element("testcase", classname="wirebench.gate", name="measurement")]
    ElementTree.SubElement(extra[0], "error", message=_legal("; ".join(found.invalid)))
    cases = [*(_case(row) for row in found.rows), *(extra if found.invalid else [])]
    suite = ElementTree.Element(
        "testsuite",
        name="wirebench gate",
        tests=str(len(cases)),
        failures=str(sum(one.find("failure") is not None for one in cases)),
        errors=str(sum(one.find("error") is not None for one in cases)),
        skipped=str(sum(one.find("skipped") is not None for one in cases)),
        time=f"{seconds:.3f}",
    )
    suite.extend(cases)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


_TAGS: dict[State, str] = {"regressed": "failure", "undecided": "skipped", "invalid": "error"}


def _case(row: Row) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase",
        classname=_legal(".".join(["wirebench.gate", *row.where.split()])),
        name=_legal(str(row.threshold)),
    )
    said = _legal(f"{measured(row)} {verdict(row)}".strip())
    if row.state in _TAGS:
        ElementTree.SubElement(case, _TAGS[row.state], message=said)
    else:
        ElementTree.SubElement(case, "system-out").text = said
    return case


def _legal(text: str) -> str:
    """Without the characters that XML 1.0 cannot hold."""
    return re.sub(
        r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]",
        "\N{REPLACEMENT CHARACTER}",
        text,
    )


def _in(found: Found, state: State) -> Iterable[Row]:
    return [row for row in found.rows if row.state == state]
