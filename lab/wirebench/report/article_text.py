"""The article behind a study beside a run, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wirebench.report.markdown import one_line, table
from wirebench.report.model import ArticleView, TableView
from wirebench.report.published import FIGURES, HEADS, HOW, BesideRow, BesideTable


def fields(row: BesideRow) -> tuple[str, ...]:
    """Under ``HEADS``."""
    ours = f"{row.sign} {row.ours}" if row.sign else row.ours
    return (row.published, row.theirs, row.contestant, row.cell, ours, row.ratio, row.note)


def markdown(article: ArticleView, further: Iterable[TableView], *, run: str) -> str:
    """``further``: what else the command prints, between the article's tables and its claims."""
    out = [
        f"# “{one_line(article.title)}” beside {one_line(run)}",
        "",
        one_line(article.by),
        "",
        HOW,
    ]
    for one in article.tables:
        out += ["", *_beside(one)]
    for view in further:
        out += ["", f"## {one_line(view.title)}", ""]
        out += [
            *table(("contestant", *view.columns), view.rows, figures=()),
            "",
            one_line(view.how),
        ]
    if article.pictures:
        out += ["", one_line(article.pictures)]
    if article.claims:
        out += ["", "## Explanations", ""]
    for claim in article.claims:
        out.append(f"- **{claim.status}**: {one_line(f'{claim.says} ({claim.whose})')}")
        out += [f"  - {one_line(finding)}" for finding in claim.findings]
        out += [f"  - in {one_line(claim.run)}"] if claim.run else []
        out += [f"  - to test it: `{command}`" for command in claim.commands]
    return "\n".join([*out, ""])


def _beside(one: BesideTable) -> Iterator[str]:
    yield f"## {one_line(one.title)}"
    yield ""
    yield one_line(f"{one.unit}; {one.command} ({one.place})")
    yield ""
    yield from table(HEADS, map(fields, one.rows), figures=FIGURES)
    yield ""
    yield one_line(". ".join(one.remarks)) + "."
