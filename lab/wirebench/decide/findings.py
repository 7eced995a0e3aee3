"""Each limit of a question held against what is known of one contestant."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from wirebench.catalog.contestants import Catalog
from wirebench.catalog.licences import PERMISSIVE, allows, is_permissive
from wirebench.catalog.loads import (
    RampLoad,
    most_connections,
)
from wirebench.catalog.model import unit_of
from wirebench.catalog.studies import Cell, Study
from wirebench.catalog.units import BYTES, count_of, scaled
from wirebench.decide.known import Known, Measured, has_slope
from wirebench.decide.places import (
    _CLIENT_METRICS,
    METRICS,
    TOTAL_MEMORY,
    Places,
    Planned,
    is_wanted,
    places_of,
)
from wirebench.decide.question import Finding, Question, State
from wirebench.decide.ranks import memory_span
from wirebench.report.figures import figure, title
from wirebench.stats.bottleneck import LIMITED_METRICS
from wirebench.stats.memory import rungs_of
from wirebench.stats.settings import DEFAULT
from wirebench.stats.types import EntryAnalysis, MetricSummary


def findings_of(
    question: Question,
    known: Known,
    catalog: Catalog,
    places: Places[Measured],
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
    question: Question, places: Places[Measured], studies: Collection[Study], name: str
) -> Iterator[Finding]:
    yield _measured(question, places.saturated, studies, name)
    client = question.calls is not None
    metrics = _CLIENT_METRICS if client else METRICS
    limits: Iterable[tuple[str | None, float | None]] = (
        (metrics["throughput"], question.throughput_per_s),
        (metrics["p99"], question.p99_ns),
        (metrics["cpu"], question.cpu_ns),
        (metrics.get("memory"), question.memory_bytes),
        (TOTAL_MEMORY, question.total_memory_bytes),
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
                text=text(value) + _just_beyond(value > limit, text(value), text(limit)),
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
    metric = _CLIENT_METRICS["throughput"] if question.calls is not None else METRICS["throughput"]
    if place is None or entry is None:
        return _not_measured(limit, question, metric, studies)
    if entry.summary.trials == 0:
        # A void trial shows neither that it is right under the load nor that it is not.
        if entry.failures and not entry.summary.voided:
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
            at = count_of(most, "connection")
            at = at if least == most else f"{least:,} to {at}"
            text = f"left messages unanswered at {at}"
            text += f" in {broken.trials} of {count_of(broken.of, 'trial')}"
            always = broken.trials == broken.of and most - added < wanted
            state: State = "fails" if always else "borderline"
            return Finding(limit=limit, state=state, text=text, where=place.where)
    if entry.summary.failed:
        trials = entry.summary.trials + entry.summary.failed + entry.summary.voided
        text = f"{entry.summary.failed} of {count_of(trials, 'trial')} failed"
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
    more = metric == METRICS["throughput"]
    unit = unit_of(question.serves) if question.serves is not None else "request"
    words = f"{title(metric, unit)} {'>=' if more else '<='} {figure(metric, limit)}"
    if place is not None and metric == METRICS["memory"]:
        place = place.newest_of(name, knows=has_slope)
    elif place is not None:
        place = place.newest_of(name)
    entry = place.entry(name) if place is not None else None
    if place is None or entry is None:
        return _not_measured(words, question, metric, studies)
    command = None if _is_refused(entry) else _command(question, metric, studies)
    if metric == METRICS["memory"]:
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
    text += _just_beyond(state == "fails", text, figure(metric, limit))
    most = most_connections(place.cell.load)
    if most < (question.connections or 0):
        text += f", on {count_of(most, 'connection')}"
        state = "borderline" if state == "holds" else state
    return Finding(limit=words, state=state, text=text, where=place.where)


_BEYOND = " (some trials beyond)"


def _just_beyond(fails: bool, text: str, limit: str) -> str:
    """What to add to a figure that fails and, rounded, is the limit itself."""
    return ", just beyond" if fails and text == limit else ""


def _state(summary: MetricSummary, limit: float, *, more: bool) -> State:
    """By all trials: one beyond the limit makes it borderline."""
    least, greatest = summary.least, summary.greatest
    if more:
        least, greatest, limit = -greatest, -least, -limit
    return "holds" if greatest <= limit else "fails" if least > limit else "borderline"


def _memory(
    words: str, limit: float, place: Measured, entry: EntryAnalysis, command: str | None
) -> Finding:
    span = memory_span(entry)
    if span is None:
        return Finding(
            limit=words,
            state="unknown",
            text=_why_no_span(entry),
            where=place.where,
            command=command,
        )
    state: State = "holds" if span.high <= limit else "fails" if span.low > limit else "borderline"
    rungs = "rungs of idle connections" if place.cell.kind == "idle" else "rungs"
    where = f"{place.study}, over its {rungs}, run {place.run}"
    text = figure(METRICS["memory"], span.estimate)
    text += " (its interval reaches beyond)" if state == "borderline" else ""
    text += _just_beyond(state == "fails", text, figure(METRICS["memory"], limit))
    return Finding(limit=words, state=state, text=text, where=where)


def _why_no_span(entry: EntryAnalysis) -> str:
    if entry.memory is None or entry.memory.own is None:
        return (entry.memory.reason if entry.memory is not None else None) or "not known"
    own = entry.memory.own
    return (
        f"{figure(METRICS['memory'], own.estimate)} by {count_of(own.blocks, 'block')};"
        f" an interval needs {DEFAULT.min_blocks}"
    )


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
    text = f"{len(counted) - len(broken)} of {count_of(len(counted), 'probe')}"
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
    ``full``, which takes days, that cell alone, or for memory its rungs. None: no study has one.
    """
    for name in _LONG_ENOUGH:
        for study in studies:
            cells = study.presets[name].cells if name in study.presets else ()
            wanted = [
                Planned(cell=one, has_slopes=bool(rungs_of(one, cells)))
                for one in cells
                if is_wanted(question, study.role, one)
            ]
            places = places_of(question, wanted)
            place = places.saturated if question.calls is not None else places.of(metric)
            of_memory = metric == METRICS["memory"]
            if place is None or (of_memory and not place.has_slopes):
                continue
            alone = rungs_of(place.cell, cells) if of_memory else (place.cell,)
            choice = f" --cells {','.join(one.id for one in alone)}" if name == "full" else ""
            return f"wirebench run {study.name} --preset {name}{choice} --only {{}}"
    return None
