"""A gate over a duel: head against base, from the blocks in which both were measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from wirebench.catalog.units import BYTES, count_of, scaled
from wirebench.gate.failures import dead
from wirebench.gate.judge import Candidate, errors, figure, judge, of_sample
from wirebench.gate.keeping_up import keeps_up_less
from wirebench.gate.thresholds import LEAST_NOISE, Threshold
from wirebench.gate.types import Found, Row, State
from wirebench.plan.model import PlannedCell
from wirebench.report.figures import is_set_by_load, other_programs_text, quota_text
from wirebench.stats.bottleneck import LIMITED_METRICS, bottleneck, generator_bound
from wirebench.stats.cell import CellData
from wirebench.stats.comparisons import Comparisons
from wirebench.stats.entry import why_unsound
from wirebench.stats.noise import noise_band
from wirebench.stats.settings import DEFAULT
from wirebench.stats.summary import summarise
from wirebench.stats.twin import twin_noise
from wirebench.stats.validity import void_notes
from wirebench.trial.cold import cold_notes, cold_runtimes
from wirebench.trial.killed import killed_notes, killed_trials
from wirebench.trial.record import TrialRecord
from wirebench.trial.reply_size import reply_bytes
from wirebench.trial.wrong_replies import errors_of

BASE, HEAD = "A", "B"
UNLIKE = 0.05
"""A share by which replies of base and head differ only if they are other replies: parts of some
are counted at the edges of a window. Our own choice.
"""


def over_duel(
    cell: PlannedCell,
    trials: Sequence[TrialRecord],
    thresholds: Sequence[Threshold],
    *,
    level: float,
) -> Found:
    """What the trials so far say. ``level``: what this look may spend."""
    data = CellData.of(cell, trials, DEFAULT)
    limited = generator_bound(
        {
            name: bottleneck(valid.values(), role="server", settings=DEFAULT)
            for name, valid in data.valid.items()
        }
    )
    candidates = [_candidate(one, data, limited) for one in thresholds if one.kind != "errors"]
    base, head = (errors_of(trials, name) for name in (BASE, HEAD))
    counted = [errors(one, "", base, head) for one in thresholds if one.kind == "errors"]
    rows = judge(candidates, level=level)
    # Neither makes the measurement invalid: the other thresholds can say what is wrong.
    slow = why_unsound(data, HEAD, "not judged")
    why = "no figures, since replies were wrong" if head else slow
    if why is not None:
        beyond_chance = not head and keeps_up_less(
            (data, BASE), (data, HEAD), level=level / len(thresholds)
        )
        state: State = "regressed" if beyond_chance else "undecided"
        rows = tuple(
            replace(one, state=state, reason=why) if one.state == "invalid" else one for one in rows
        )
    invalid = tuple(dead(trials, base=BASE))
    if not invalid and not any(data.valid.values()) and not head:
        invalid = ("nothing valid was measured",)
    return Found(
        rows=(*rows, *counted),
        blocks=data.measured_blocks,
        invalid=invalid,
        notes=(
            *_notes(cell, data, thresholds),
            *void_notes(_void(cell, data)),
            *_unlike_replies(data),
            *cold_notes(cold_runtimes(trials)),
            *killed_notes(killed_trials(trials)),
        ),
    )


def _void(cell: PlannedCell, data: CellData) -> dict[str, list[str]]:
    """Without it nobody knows why blocks are missing, and that more of them would be, too."""
    names = {BASE: "the base", HEAD: "the head"}
    found: dict[str, list[str]] = {}
    for one in cell.entries:
        found.setdefault(names.get(one.contestant, one.contestant), []).extend(
            data.void_reasons(one.name, DEFAULT)
        )
    return found


def _unlike_replies(data: CellData) -> Iterable[str]:
    """A head that answers with less has less to do, and any success counts as right."""
    base, head = (reply_bytes(data.valid.get(name, {}).values()) for name in (BASE, HEAD))
    if base is not None and head is not None and abs(head - base) > UNLIKE * base:
        yield (
            f"the head answers with {scaled(head, BYTES)} for each request, the base with"
            f" {scaled(base, BYTES)}: where they should be alike, say so by --wireload, such as"
            " --expect-length"
        )


def _candidate(threshold: Threshold, data: CellData, limited: frozenset[str]) -> Candidate:
    metric = threshold.metric
    medians = [
        found.median if (found := summarise(_figures(data, name)).get(metric)) is not None else None
        for name in (BASE, HEAD)
    ]
    row = Row(
        threshold=threshold,
        where="",
        base=medians[0],
        head=medians[1],
        estimate=None,
        low=None,
        high=None,
        state="undecided",
    )
    bounded = limited if metric in LIMITED_METRICS else frozenset()
    of = (HEAD,) if threshold.kind == "figure" else (BASE, HEAD)
    zeros = next((why for name in of if (why := _zeros(data, name, metric)) is not None), None)
    if zeros is not None:
        return Candidate(row=replace(row, reason=zeros))
    if threshold.kind == "figure":
        return replace(figure(row, data, HEAD), head_limited=HEAD in bounded)
    by = Comparisons(data, metric)
    noise = twin_noise(data, metric, by)
    band = noise_band(
        [noise] if noise is not None else [], settings=replace(DEFAULT, min_noise=LEAST_NOISE)
    )
    return replace(
        of_sample(row, by.sample(HEAD, BASE), by.spread(HEAD, BASE)),
        noise=band.d if noise is not None else 0.0,
        head_limited=HEAD in bounded,
        base_limited=BASE in bounded,
    )


def _zeros(data: CellData, name: str, metric: str) -> str | None:
    """Why figures that are there cannot be judged. Those that are not make the gate invalid."""
    return data.why_no_ratio(name, metric) if data.values(name, metric) else None


def _figures(data: CellData, entry: str) -> list[dict[str, float | int | None]]:
    return [dict(trial.metrics) for trial in data.valid.get(entry, {}).values()]


def _notes(cell: PlannedCell, data: CellData, thresholds: Sequence[Threshold]) -> Iterable[str]:
    set_by_load = [
        one.name
        for one in thresholds
        if one.kind != "errors" and is_set_by_load(cell.cell.kind, one.metric)
    ]
    if set_by_load:
        yield (
            f"{', '.join(dict.fromkeys(set_by_load))}: without --rate the connections always wait,"
            " so a time is their number / throughput, and says nothing of its own"
        )
    if (others := other_programs_text(data.other_programs)) is not None:
        yield others
    if (stopped := quota_text(data.quota_stops)) is not None:
        yield stopped
    if data.dropped:
        yield f"{count_of(len(data.dropped), 'block')} dropped, since the hypervisor took the CPU"
