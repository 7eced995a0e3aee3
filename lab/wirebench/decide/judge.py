"""Holds what is known of each contestant against a question."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar, get_args

from wirebench.catalog.contestants import Catalog
from wirebench.catalog.licences import PERMISSIVE, allows, is_permissive
from wirebench.catalog.loads import (
    HOST,
    ClientLoad,
    ClientPolicy,
    OpenLoad,
    RampLoad,
    link_of,
    most_connections,
    on_all_cores,
    over_tls,
)
from wirebench.catalog.model import Contestant, Role
from wirebench.catalog.studies import Cell, Study
from wirebench.catalog.units import BYTES, count_of, scaled
from wirebench.decide.known import Known, Measured
from wirebench.decide.question import By, Candidate, Decision, Finding, Question, State
from wirebench.report.figures import figure, figure_sign, title
from wirebench.stats.bottleneck import LIMITED_METRICS
from wirebench.stats.types import EntryAnalysis, MetricSummary

_METRICS: Mapping[By, str] = {
    "throughput": "throughput_per_s",
    "cpu": "cpu_per_request_ns",
    "p99": "p99_ns",
    "memory": "memory_per_connection_bytes",
}
_TOTAL_MEMORY = "server_rss_peak_bytes"
_CLIENT_METRICS: Mapping[By, str] = {
    "throughput": "round_trip_ns",
    "cpu": "cpu_per_operation_ns",
    "p99": "round_trip_p99_ns",
}


def looked_up(question: Question, studies: Collection[Study]) -> Question:
    """The question to look up in the runs: without TLS where no study measures that workload over
    TLS, which leaves the plain cells to answer all but whether a server speaks TLS.
    """
    if not question.tls or any(
        is_wanted(question, study.role, cell)
        for study in studies
        for preset in study.presets.values()
        for cell in preset.cells
    ):
        return question
    return replace(question, tls=False)


def is_wanted(question: Question, role: Role, cell: Cell) -> bool:
    """Whether a cell has to do with the question, as ``looked_up`` has it."""
    load = cell.load
    if question.calls is not None:
        # Those with a server or a host of their own show what it does to a client.
        return (
            role == "client"
            and isinstance(load, ClientLoad)
            and load.scheme == question.calls
            and load.server is None
            and load.host == HOST
        )
    return (
        role == "server"
        and cell.workload == question.serves
        and over_tls(load) == question.tls
        and link_of(load) is None
        and not on_all_cores(load)
    )


def decide(
    question: Question, known: Known, catalog: Catalog, studies: Collection[Study]
) -> Decision:
    """The contestants of the catalog that could be the answer, and those that the runs know.
    ``known``: of the cells that ``looked_up`` wants. ``studies``: those that could make known what
    is not.
    """
    looked = looked_up(question, studies)
    places = _places(looked, known.cells)
    if looked.tls != question.tls:
        places = replace(places, note=", without TLS")
    question = looked
    metric = _metric(question)
    place = places.of(metric)
    order = place.ranking if place is not None else None
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


def _metric(question: Question) -> str:
    by = question.by or "throughput"
    return (_CLIENT_METRICS if question.calls is not None else _METRICS)[by]


# --- where to look --------------------------------------------------------------------------------


class _Place(Protocol):
    """A cell that was measured, or that could be."""

    @property
    def cell(self) -> Cell: ...

    @property
    def has_order(self) -> bool:
        """Whether contestants were put in order there."""
        ...


@dataclass(frozen=True, kw_only=True)
class _Planned:
    cell: Cell
    has_order: bool = False


P = TypeVar("P", bound=_Place)


_UNSATURATED = ("each", "broadcast")
"""Kinds of cells whose next request waits for the last: they say something of times and costs."""


@dataclass(frozen=True, kw_only=True)
class _Places(Generic[P]):
    """The cells that answer the question."""

    saturated: P | None
    """Where each server gets all that it can take; for a client its only cell."""
    pinned: P | None
    """Where every server gets the same rate; with fewer connections than asked for where no cell
    has as many.
    """
    rung: P | None = None
    """Where a server's memory for each connection is known, from this and other rungs."""
    note: str = ""
    """What they differ by from what was asked for."""

    def of(self, metric: str) -> P | None:
        """Where this metric says something: times and costs of servers at a pinned rate, or with
        producers that do not saturate them.
        """
        if metric == _METRICS["memory"]:
            return self.rung
        if metric not in (_METRICS["cpu"], _METRICS["p99"]):
            return self.saturated
        if self.pinned is None and self.saturated is not None:
            return self.saturated if self.saturated.cell.kind in _UNSATURATED else None
        return self.pinned


def _places(question: Question, wanted: Collection[P]) -> _Places[P]:
    if question.calls is not None:
        client = min(wanted, key=_order_of_clients, default=None)
        return _Places(saturated=client, pinned=None)
    least = question.connections or 0
    enough = [one for one in wanted if most_connections(one.cell.load) >= least]
    saturated = [one for one in enough if one.cell.kind in ("closed", "ramp", *_UNSATURATED)]
    pinned = [
        one
        for one in wanted
        if isinstance(one.cell.load, OpenLoad)
        and one.cell.load.share is None
        and (one.cell.load.rate_per_s or 0) >= question.rate_per_s
    ]
    return _Places(
        saturated=min(saturated, key=_order_of_saturated, default=None),
        pinned=min(pinned, key=lambda one: _order_of_pinned(one, least), default=None),
        rung=min(
            (one for one in saturated if one.cell.kind == "closed"),
            key=_order_of_saturated,
            default=None,
        ),
    )


# Of cells that answer alike, one that puts nobody in order (its run had too few blocks, say) comes
# last.


def _order_of_saturated(one: _Place) -> tuple[bool, int, bool, str]:
    connections = most_connections(one.cell.load)
    return not one.has_order, connections, one.cell.kind != "closed", one.cell.id


def _order_of_pinned(one: _Place, least: int) -> tuple[int, bool, float, int, str]:
    load = one.cell.load
    rate = load.rate_per_s if isinstance(load, OpenLoad) else None
    missing = max(0, least - most_connections(load))
    return missing, not one.has_order, rate or 0.0, most_connections(load), one.cell.id


def _order_of_clients(one: _Place) -> tuple[int, bool, int, str]:
    load = one.cell.load
    assert isinstance(load, ClientLoad)
    policy = get_args(ClientPolicy).index(load.policy)
    return policy, not one.has_order, load.payload_bytes, one.cell.id


# --- one contestant -------------------------------------------------------------------------------


def _candidate(
    question: Question,
    known: Known,
    catalog: Catalog,
    places: _Places[Measured],
    studies: Collection[Study],
    order: Measured | None,
    metric: str,
    name: str,
) -> Candidate:
    entry = order.entry(name) if order is not None else None
    rank, beaten_by = (
        _rank(order, entry, metric) if order is not None and entry is not None else (None, ())
    )
    value = _median(entry, metric) if entry is not None else None
    sign = figure_sign(entry, metric) if entry is not None else ""
    return Candidate(
        contestant=name,
        rank=rank,
        beaten_by=beaten_by,
        figure=sign + figure(metric, value) if value is not None else "",
        findings=tuple(_findings(question, known, catalog, places, studies, name)),
    )


Rank = tuple[tuple[int, int] | None, tuple[str, ...]]
"""A range of ranks, and who is better beyond doubt."""


def _rank(place: Measured, entry: EntryAnalysis, metric: str) -> Rank:
    """Among all of the cell."""
    if metric == _METRICS["memory"]:
        return _rank_by_memory(place, entry)
    standing = entry.standings.get(metric)
    if standing is None or standing.rank_low is None or standing.rank_high is None:
        return None, ()
    better = {one.contestant for one in place.analysis.entries if one.entry in standing.beaten_by}
    return (standing.rank_low, standing.rank_high), tuple(sorted(better))


def _rank_by_memory(place: Measured, entry: EntryAnalysis) -> Rank:
    """By the intervals of the slopes: those that overlap cannot be told apart."""
    spans = {
        one.contestant: span
        for one in place.analysis.entries
        if one.twin_of is None and not one.is_floor and (span := _memory_span(one)) is not None
    }
    own = spans.get(entry.contestant)
    if own is None:
        return None, ()
    better = tuple(sorted(name for name, (_, high) in spans.items() if high < own[0]))
    worse = sum(low > own[1] for low, _ in spans.values())
    return (1 + len(better), len(spans) - worse), better


def _memory_span(entry: EntryAnalysis) -> tuple[float, float] | None:
    """The interval of its memory for each connection, in bytes."""
    own = entry.memory.own if entry.memory is not None else None
    if own is None:
        return None
    low = own.low if own.low is not None else own.estimate
    return low, own.high if own.high is not None else own.estimate


def _median(entry: EntryAnalysis, metric: str) -> float | None:
    if metric == _METRICS["memory"]:
        own = entry.memory.own if entry.memory is not None else None
        return own.estimate if own is not None else None
    summary = entry.summary.metrics.get(metric)
    return summary.median if summary is not None else None


def _findings(
    question: Question,
    known: Known,
    catalog: Catalog,
    places: _Places[Measured],
    studies: Collection[Study],
    name: str,
) -> Iterator[Finding]:
    if question.languages:
        language = name.partition("/")[0]
        yield Finding(
            limit=f"language {' or '.join(question.languages)}",
            state="holds" if language in question.languages else "fails",
            text=language,
        )
    if question.licence is not None:
        yield _licence(question.licence, known, catalog, name)
    yield from _footprint(question, known, name)
    if places.note:
        yield _tls(known, catalog, name)
    for one in _by_runs(question, places, studies, name):
        yield replace(one, where=one.where + places.note) if one.where else one
    for number in question.standards:
        yield _standard(number, known, name)


def _by_runs(
    question: Question, places: _Places[Measured], studies: Collection[Study], name: str
) -> Iterator[Finding]:
    yield _measured(question, places.saturated, studies, name)
    client = question.calls is not None
    metrics = _CLIENT_METRICS if client else _METRICS
    limits: Iterable[tuple[str | None, float | None]] = (
        (metrics["throughput"], question.throughput_per_s),
        (metrics["p99"], question.p99_ns),
        (metrics["cpu"], question.cpu_ns),
        (metrics.get("memory"), question.memory_bytes),
        (_TOTAL_MEMORY, question.total_memory_bytes),
    )
    for metric, limit in limits:
        if metric is not None and limit is not None:
            place = places.saturated if client else places.of(metric)
            yield _held_against(question, metric, limit, place, studies, name)


def _tls(known: Known, catalog: Catalog, name: str) -> Finding:
    """Whether it speaks TLS, by what is known beside the runs."""
    listed, footprint = catalog.contestants.get(name), known.footprints.get(name)
    if listed is not None and listed.tls:
        return Finding(limit="TLS", state="holds", text="yes", where="its manifest")
    spoken = footprint.features if footprint is not None else ()
    found = next((one for one in spoken if one.feature == "TLS"), None)
    if footprint is not None and found is not None and found.has is not None:
        return Finding(
            limit="TLS",
            state="holds" if found.has else "fails",
            text=("yes" if found.has else "no") + ("" if found.probed else ", as documented"),
            where=f"footprint of {footprint.version}",
        )
    documented = listed.documented.get("TLS") if listed is not None else None
    if documented is not None:
        return Finding(
            limit="TLS",
            state="holds" if documented else "fails",
            text="yes, as documented" if documented else "no, as documented",
            where="its manifest",
        )
    return Finding(
        limit="TLS",
        state="unknown",
        text="neither measured nor documented",
        command="wirebench footprint {} --features" if found is None else None,
    )


def _licence(wanted: str, known: Known, catalog: Catalog, name: str) -> Finding:
    facts, listed = known.facts.get(name), catalog.contestants.get(name)
    licence = facts.license if facts is not None else listed.license if listed is not None else ""
    held = is_permissive(licence) if wanted == PERMISSIVE else allows(licence, wanted)
    state: State = "unknown" if held is None else "holds" if held else "fails"
    return Finding(limit=f"licence {wanted}", state=state, text=licence or "not stated")


def _footprint(question: Question, known: Known, name: str) -> Iterator[Finding]:
    """What it brings, by its newest footprint."""
    found = known.footprints.get(name)
    limits: Iterable[tuple[str, str, float | None, Callable[[float], str]]] = (
        (
            "installed_bytes",
            "installed",
            question.installed_bytes,
            lambda value: scaled(value, BYTES),
        ),
        ("dependencies", "packages", question.dependencies, lambda value: f"{value:.0f}"),
    )
    for figure_name, words, limit, text in limits:
        if limit is None:
            continue
        value = getattr(found, figure_name) if found is not None else None
        if value is None:
            why = found.why_unknown(figure_name) if found is not None else "not measured"
            yield Finding(
                limit=f"{words} <= {text(limit)}",
                state="unknown",
                text=why,
                command="wirebench footprint {}",
            )
        else:
            yield Finding(
                limit=f"{words} <= {text(limit)}",
                state="holds" if value <= limit else "fails",
                text=text(value),
                where=f"footprint of {found.version}" if found is not None else "",
            )


def _measured(
    question: Question, place: Measured | None, studies: Collection[Study], name: str
) -> Finding:
    """Whether it was right under the load at all."""
    limit = (
        f"a client of {question.calls}"
        if question.calls is not None
        else f"{question.serves}"
        + (
            f" on {count_of(question.connections, 'connection')}"
            if question.connections is not None
            else ""
        )
    )
    place = place.newest_of(name) if place is not None else None
    entry = place.entry(name) if place is not None else None
    metric = _CLIENT_METRICS["throughput"] if question.calls is not None else _METRICS["throughput"]
    if place is None or entry is None:
        return _not_measured(limit, question, metric, studies)
    if entry.summary.trials == 0:
        if entry.failures:
            first = entry.failures[0]
            text = f"{first.kind}: {first.message}"
            return Finding(limit=limit, state="fails", text=text, where=place.where)
        return Finding(
            limit=limit,
            state="unknown",
            text=entry.unranked or "no valid trial",
            where=place.where,
            command=None if _is_refused(entry) else _command(question, metric, studies),
        )
    broken = entry.breaking
    wanted = question.connections or 1  # the first round of a ramp has to be right in any case
    if broken is not None and broken.clients is not None:
        least, most = broken.clients
        added = _added(place.cell)  # the round before answered all
        if least - added < wanted:
            at = f"{least:,}" if least == most else f"{least:,} to {most:,}"
            text = f"left messages unanswered at {at} connections"
            text += f" in {broken.trials} of {broken.of} trials"
            always = broken.trials == broken.of and most - added < wanted
            state: State = "fails" if always else "borderline"
            return Finding(limit=limit, state=state, text=text, where=place.where)
    if entry.summary.failed:
        trials = entry.summary.trials + entry.summary.failed
        text = f"{entry.summary.failed} of {trials} trials failed"
        return Finding(limit=limit, state="borderline", text=text, where=place.where)
    return Finding(limit=limit, state="holds", text="right", where=place.where)


def _is_refused(entry: EntryAnalysis) -> bool:
    """Whether the host does not let it take part, as where a process may open too few files: then
    another run does not either.
    """
    summary = entry.summary
    return summary.not_run > 0 and not (summary.trials or summary.failed or summary.voided)


def _added(cell: Cell) -> int:
    """By how many connections its rounds grow."""
    return cell.load.add if isinstance(cell.load, RampLoad) else 0


def _held_against(
    question: Question,
    metric: str,
    limit: float,
    place: Measured | None,
    studies: Collection[Study],
    name: str,
) -> Finding:
    more = metric == _METRICS["throughput"]
    unit = place.analysis.unit if place is not None else "request"
    words = f"{title(metric, unit)} {'>=' if more else '<='} {figure(metric, limit)}"
    place = place.newest_of(name) if place is not None else None
    entry = place.entry(name) if place is not None else None
    if place is None or entry is None:
        return _not_measured(words, question, metric, studies)
    command = None if _is_refused(entry) else _command(question, metric, studies)
    if metric == _METRICS["memory"]:
        return _memory(words, limit, place, entry, command)
    if not entry.kept_up:
        return Finding(limit=words, state="fails", text="cannot keep up", where=place.where)
    summary = entry.summary.metrics.get(metric)
    if summary is None:
        return Finding(
            limit=words,
            state="unknown",
            text="not known",
            where=place.where,
            command=command,
        )
    state = _state(summary, limit, more=more)
    bound = ""
    if entry.generator_bound and metric in LIMITED_METRICS:
        # The server can do at least this, and takes at most this time.
        bound = "at least " if more else "at most "
        state = "unknown" if state == "fails" else state
    text = f"{bound}{figure(metric, summary.median)}"
    text += _BEYOND if state == "borderline" else ""
    most = most_connections(place.cell.load)
    if most < (question.connections or 0):
        text += f", on {most:,} connections"
        state = "borderline" if state == "holds" else state
    return Finding(limit=words, state=state, text=text, where=place.where)


_BEYOND = " (some trials beyond)"


def _state(summary: MetricSummary, limit: float, *, more: bool) -> State:
    """By all trials: one beyond the limit makes it borderline."""
    least, greatest = summary.least, summary.greatest
    if more:
        least, greatest, limit = -greatest, -least, -limit
    return "holds" if greatest <= limit else "fails" if least > limit else "borderline"


def _memory(
    words: str, limit: float, place: Measured, entry: EntryAnalysis, command: str | None
) -> Finding:
    span, estimate = _memory_span(entry), _median(entry, _METRICS["memory"])
    if span is None or estimate is None:
        reason = entry.memory.reason if entry.memory is not None else None
        return Finding(
            limit=words,
            state="unknown",
            text=reason or "not known",
            where=place.where,
            command=command,
        )
    low, high = span
    state: State = "holds" if high <= limit else "fails" if low > limit else "borderline"
    where = f"{place.study}, over its rungs, run {place.run}"
    text = figure(_METRICS["memory"], estimate)
    text += " (its interval reaches beyond)" if state == "borderline" else ""
    return Finding(limit=words, state=state, text=text, where=where)


def _standard(number: str, known: Known, name: str) -> Finding:
    limit = f"every MUST of RFC {number}"
    counted = [
        one
        for one in known.probes.get(name, ())
        if one["document"] == f"RFC {number}"
        and one["level"] == "MUST"
        and one["outcome"] != "not_applicable"
    ]
    if not counted:
        command = "wirebench verify --conformance {}"
        # Probes are kept with the build, and a run takes them from there.
        text = "no run has its probes; a run after this command has"
        return Finding(limit=limit, state="unknown", text=text, command=command)
    broken = [one for one in counted if one["outcome"] == "failed"]
    text = f"{len(counted) - len(broken)} of {len(counted)} probes"
    if broken:
        text += f"; broken: {', '.join(one['id'] for one in broken[:3])}"
        text += ", ..." if len(broken) > 3 else ""
    return Finding(limit=limit, state="fails" if broken else "holds", text=text)


_LONG_ENOUGH = ("hour", "broadcast", "evening", "published", "tls", "load", "full")
"""The presets that a command may name, the shortest first. ``quick`` leaves out too many."""


def _not_measured(
    limit: str, question: Question, metric: str, studies: Collection[Study]
) -> Finding:
    command = _command(question, metric, studies)
    text = "not measured" if command is not None else "not measured; no study has a cell for it"
    return Finding(limit=limit, state="unknown", text=text, command=command)


def _command(question: Question, metric: str, studies: Collection[Study]) -> str | None:
    """What would measure it: the first preset with a cell where the metric says something, and of
    ``full``, which takes days, that cell alone. None: no study has one.
    """
    for name in _LONG_ENOUGH:
        for study in studies:
            cells = study.presets[name].cells if name in study.presets else ()
            wanted = [_Planned(cell=one) for one in cells if is_wanted(question, study.role, one)]
            places = _places(question, wanted)
            place = places.saturated if question.calls is not None else places.of(metric)
            if place is not None:
                # Memory takes several rungs.
                alone = name == "full" and metric != _METRICS["memory"]
                choice = f" --cells {place.cell.id}" if alone else ""
                return f"wirebench run {study.name} --preset {name}{choice} --only {{}}"
    return None
