"""Facts of frameworks that a published comparison listed beside its figures: what one includes and
links, what they speak, and what its author thought of them.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping

from wirebench.catalog.model import FEATURES
from wirebench.catalog.published import Judged
from wirebench.footprint.model import Footprint
from wirebench.footprint.table import (
    BUILDING,
    DEPENDING,
    HOW_FEATURES,
    HOW_USING,
    NOT_KNOWN,
    USING,
    field,
    spoken,
    used,
)
from wirebench.report.facts import Facts
from wirebench.report.model import TableView

_OF_FRAMEWORKS = ("packages", "installed", "build", "cpu", "ships")
_HOW = f"{HOW_USING} The other figures are those of the footprint, below."
_HOW_JUDGED = (
    " Ease: the scores of the article's author, from 1 to 5, the best; nothing here measures it."
)


def framework_tables(
    names: Iterable[str],
    facts: Mapping[str, Facts],
    known: Mapping[str, Footprint],
    judged: Iterable[Judged],
    day: datetime.date,
) -> tuple[TableView, ...]:
    wanted = sorted(name for name in names if name in facts)
    scores = {one.contestant: one for one in judged}
    shown = [one for one in (*DEPENDING, *BUILDING) if one.id in _OF_FRAMEWORKS]
    rows = []
    for name in wanted:
        fact, one = facts[name], known.get(name)
        texts = [field(one, column, day) if one is not None else NOT_KNOWN for column in shown]
        version = f"{fact.version}, {fact.age}" if fact.age else fact.version
        own = used(one) if one is not None else (NOT_KNOWN,) * len(USING)
        ease = _ease(scores.get(name)) if scores else ()
        rows.append((name, version, fact.license, *own, *texts, *ease))
    titles = ("version, age", "licence", *USING, *(one.title for one in shown))
    features = [(name, known[name]) for name in wanted if name in known and known[name].features]
    return (
        TableView(
            title="The frameworks",
            how=_HOW + (_HOW_JUDGED if scores else ""),
            columns=(*titles, *(("the article: ease of including, of using",) if scores else ())),
            rows=tuple(rows),
        ),
        *(
            (
                TableView(
                    title="What the frameworks speak",
                    how=HOW_FEATURES,
                    columns=tuple(FEATURES),
                    rows=tuple((name, *map(spoken, one.features)) for name, one in features),
                ),
            )
            if features
            else ()
        ),
    )


def judged_table(judged: Iterable[Judged]) -> TableView | None:
    """None: the article has no scores."""
    rows = tuple(
        (one.contestant, one.published, one.licence, str(one.including), str(one.using))
        for one in judged
    )
    if not rows:
        return None
    return TableView(
        title="What the author thought of the frameworks",
        how="Scores of the article's author, from 1 to 5, the best. They are nothing of ours.",
        columns=("published as", "licence", "ease of including", "ease of using"),
        rows=rows,
    )


def _ease(one: Judged | None) -> tuple[str]:
    return (f"{one.including}, {one.using}" if one is not None else "",)
