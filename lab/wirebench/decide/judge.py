"""Holds what is known of each contestant against a question."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from wirebench.catalog.contestants import Catalog
from wirebench.catalog.model import Contestant
from wirebench.catalog.studies import Study
from wirebench.decide.findings import findings_of
from wirebench.decide.known import Known, Measured
from wirebench.decide.places import Places, looked_up, metric_of, places_of
from wirebench.decide.question import Candidate, Decision, Finding, Question
from wirebench.decide.ranks import median_of, ordering, rank_of
from wirebench.report.figures import figure, figure_sign, title


def decide(
    question: Question, known: Known, catalog: Catalog, studies: Collection[Study]
) -> Decision:
    """The contestants of the catalog that could be the answer, and those that the runs know.
    ``known``: of the cells that ``looked_up`` wants. ``studies``: those that could make known what
    is not.
    """
    looked = looked_up(question, studies)
    places = places_of(looked, known.cells)
    if looked.tls != question.tls:
        places = replace(places, note=", without TLS")
    question = looked
    metric = metric_of(question)
    place = places.of(metric)
    order = ordering(place, metric) if place is not None else None
    measured = [
        entry for cell in known.cells for one in cell.runs for entry in one.analysis.entries
    ]
    in_runs = {one.contestant for one in measured}
    others = {
        one.identity: why
        for one in catalog.contestants.values()
        if (why := _why_not(question, one, in_runs)) is not None
    }
    names = [
        *(one.identity for one in catalog.contestants.values() if one.identity not in others),
        *sorted(in_runs - others.keys()),
    ]
    floors = {
        *(one.contestant for one in measured if one.is_floor),
        *(one.identity for one in catalog.contestants.values() if one.tier == "floor"),
    }
    found = [
        _candidate(question, known, catalog, places, studies, order, metric, name)
        for name in dict.fromkeys(names)
        if name not in floors
    ]
    found += [
        Candidate(contestant=name, rank=None, beaten_by=(), figure="", findings=(why,))
        for name, why in others.items()
        if name not in floors
    ]
    found.sort(key=lambda one: (one.rank is None, one.rank or (0, 0), one.contestant))
    shortlist = tuple(one for one in found if one.state in ("holds", "borderline"))
    listed = {one.contestant for one in shortlist}
    heading = title(metric, order.analysis.unit) if order is not None else ""
    return Decision(
        host_id=known.host_id,
        ordered_by=f"{heading} in {order.where}{places.note}" if order is not None else "",
        shortlist=shortlist,
        first=tuple(
            one.contestant
            for one in shortlist
            if one.rank is not None and listed.isdisjoint(one.beaten_by)
        ),
        excluded=tuple(one for one in found if one.state == "fails"),
        unknown=tuple(one for one in found if one.state == "unknown"),
    )


def _why_not(
    question: Question, contestant: Contestant, in_runs: Collection[str]
) -> Finding | None:
    """Why a contestant is no candidate, whatever was measured; None for one that is."""
    if contestant.disabled is not None:
        why = f"disabled since {contestant.disabled.since}: {contestant.disabled.reason}"
        return Finding(limit="can run", state="fails", text=why)
    if contestant.identity in in_runs:
        return None
    if question.calls is not None:
        if question.calls not in contestant.calls:
            limit = f"a client of {question.calls}"
            return Finding(limit=limit, state="fails", text="it is none")
    elif question.serves not in contestant.serves:
        return Finding(limit=str(question.serves), state="fails", text="it does not serve that")
    elif question.tls and not contestant.tls:
        return Finding(limit="TLS", state="fails", text="its server does not speak it")
    return None


def _candidate(
    question: Question,
    known: Known,
    catalog: Catalog,
    places: Places[Measured],
    studies: Collection[Study],
    order: Measured | None,
    metric: str,
    name: str,
) -> Candidate:
    entry = order.entry(name) if order is not None else None
    rank, beaten_by = (
        rank_of(order, entry, metric) if order is not None and entry is not None else (None, ())
    )
    value = median_of(entry, metric) if entry is not None else None
    sign = figure_sign(entry, metric) if entry is not None else ""
    return Candidate(
        contestant=name,
        rank=rank,
        beaten_by=beaten_by,
        figure=sign + figure(metric, value) if value is not None else "",
        findings=tuple(findings_of(question, known, catalog, places, studies, name)),
    )
