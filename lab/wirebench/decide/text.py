"""Parts of an answer as text, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence

from wirebench.decide.question import Candidate, Decision, Finding, State


def headline(decision: Decision) -> str:
    first = ", ".join(decision.first)
    if not first:
        return "These meet all of that; nothing measured puts them in an order."
    told = "" if len(decision.first) == 1 else ", which cannot be told apart,"
    return f"{first}{told} first by {decision.ordered_by}."


def alike(found: Sequence[Candidate], state: State) -> dict[tuple[Finding, ...], list[str]]:
    """The contestants by their reasons."""
    groups: dict[tuple[Finding, ...], list[str]] = {}
    for one in found:
        reasons = tuple(it for it in one.findings if it.state == state)
        groups.setdefault(reasons, []).append(one.contestant)
    return groups


def sources(decision: Decision) -> dict[str, list[str]]:
    """Where the figures of the shortlist are from, by limit."""
    places: dict[str, list[str]] = {}
    for one in decision.shortlist:
        for finding in one.findings:
            known = places.setdefault(finding.limit, [])
            if finding.where and finding.where not in known:
                known.append(finding.where)
    return {limit: known for limit, known in places.items() if known}


def rank_text(one: Candidate) -> str:
    if one.rank is None:
        return ""
    low, high = one.rank
    return str(low) if low == high else f"{low}-{high}"
