"""A gate over two stored runs of one host: a baseline and the run that is judged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wirebench.catalog.loads import OpenLoad
from wirebench.catalog.units import count_of
from wirebench.duel.stored import other_servers
from wirebench.gate.failures import dead
from wirebench.gate.judge import Candidate, errors, figure, judge, p_at
from wirebench.gate.keeping_up import keeps_up_less
from wirebench.gate.thresholds import LEAST_NOISE, Threshold
from wirebench.gate.types import Found, Row
from wirebench.plan.model import Plan, PlannedCell
from wirebench.stats.cell import CellData
from wirebench.stats.compare import Change, changed
from wirebench.stats.disturbances import counted_trials
from wirebench.stats.entry import warm_ups_of, why_unsound
from wirebench.stats.settings import DEFAULT
from wirebench.stats.two_runs import Shift
from wirebench.stats.types import HistoryRecord
from wirebench.stats.verdict import blocks_to_decide
from wirebench.store.rundir import PLAN_FILE, StoredRun
from wirebench.trial.record import TrialRecord
from wirebench.trial.wrong_replies import errors_of

LEVEL = 0.05
SPEED = (
    *("cpu_model", "cores", "smt", "governor", "turbo", "cores_awake", "kernel", "architecture"),
    "virtualisation",
)
"""What of a host's fingerprint sets its speed."""


class UnlikeError(Exception):
    """The two runs cannot be compared; the message says why."""


def check_alike(base: StoredRun, head: StoredRun) -> None:
    """``UnlikeError`` where the runs are of two hosts or of one that has changed, not complete, or
    duels of other servers.
    """
    differ = [
        f"{name} was {base.host.get(name)!r} and is {head.host.get(name)!r}"
        for name in SPEED
        if base.host.get(name) != head.host.get(name)
    ]
    hosts = [str(one.host.get("host_id")) for one in (base, head)]
    if hosts[0] != hosts[1] or hosts[0] == "None" or differ:
        what = "; ".join(differ) or f"host {hosts[0]}, and host {hosts[1]}"
        raise UnlikeError(
            f"the baseline is of another host, or of this one before it changed ({what}): measure"
            " the baseline again here, or compare both versions in one duel"
        )
    for one in (base, head):
        if one.info.status != "complete":
            raise UnlikeError(f"{one.info.name} is not a complete run, but {one.info.status}")
        if one.plan is None:
            raise UnlikeError(f"{one.info.name} has no plan: its {PLAN_FILE} is gone")
    if (others := other_servers(base, head)) is not None:
        raise UnlikeError(f"the baseline is a duel of other servers: {others}")


def over_runs(
    base: StoredRun,
    head: StoredRun,
    thresholds: Sequence[Threshold],
    history: Sequence[HistoryRecord] = (),
    *,
    contestants: Sequence[str] = (),
    cells: Sequence[str] = (),
) -> Found:
    """Every threshold for every contestant and cell that both runs have. ``contestants`` and
    ``cells`` (``study.cell`` or the cell alone) leave out all others. ``UnlikeError`` where the
    runs have nothing in common or another load.
    """
    check_alike(base, head)
    plans = _common(base.plan, head.plan, cells)
    names = _names(plans, contestants)
    found: list[Candidate] = []
    behind = _behind(plans, (base, head), names, level=LEVEL / max(1, len(thresholds)))
    for one in thresholds:
        if one.kind == "errors":
            continue
        own = list(_of_threshold(one, plans, (base, head), history, names, behind))
        found += own or [Candidate(row=_row(one, "", state="invalid", reason="no figures of it"))]
    keys = {(cell.study, cell.cell.id) for cell in plans[0].cells}
    before, after = (
        counted_trials(one for one in run.trials if (one.study, one.cell) in keys)
        for run in (base, head)
    )
    counted: list[Row] = []
    for one in thresholds:
        if one.kind == "errors":
            rows = list(_counted(one, names, before, after))
            counted += rows or [_row(one, "", state="invalid", reason="nothing was measured")]
    own_trials = [one for one in after if one.contestant in names]
    return Found(
        rows=(*judge(found, level=LEVEL), *counted),
        blocks=max((one.block for one in own_trials), default=0),
        invalid=(
            *dead(own_trials),
            *_lost(plans, after, contestants),
            *_not_judged((base, head), plans, after, contestants, cells),
        ),
        notes=(
            *(() if cells else _cells_gone(base.plan, head.plan)),
            *(() if contestants else _contestants_gone(plans, after)),
        ),
    )


def _not_judged(
    runs: tuple[StoredRun, StoredRun],
    plans: tuple[Plan, Plan],
    head: Sequence[TrialRecord],
    contestants: Sequence[str],
    cells: Sequence[str],
) -> Iterator[str]:
    """What was asked for by name and is not in both runs, so that no threshold is held against it:
    that the others hold says nothing of it. ``_lost`` tells of those that the head could not build.
    """
    for name in dict.fromkeys(cells):
        if all(name not in (one.cell.id, one.key) for one in plans[0].cells):
            having = [
                any(name in (one.cell.id, one.key) for one in _cells_of(run.plan)) for run in runs
            ]
            yield f"--cell {name}: not judged, since {_who_has_it(having)}"
    lost = {one.contestant for one in head if one.block == 0 and one.failure is not None}
    members = [{one.contestant for cell in plan.cells for one in cell.entries} for plan in plans]
    floors = {name for plan in plans for cell in plan.cells for name in cell.floors}
    there = " in the cells of --cell" if cells else ""
    for name in dict.fromkeys(contestants):
        having = [name in own for own in members]
        if name in floors:
            yield f"--contestant {name}: not judged, since it is the floor"
        elif not all(having) and not (having[0] and name in lost):
            yield f"--contestant {name}: not judged, since {_who_has_it(having)}{there}"


def _cells_of(plan: Plan | None) -> Sequence[PlannedCell]:
    return plan.cells if plan is not None else ()


def _who_has_it(having: Sequence[bool]) -> str:
    """Of something that is not in both runs, the baseline and the run that is judged."""
    if not any(having):
        return "neither run has it"
    return f"only the {'baseline' if having[0] else 'run that is judged'} has it"


def _cells_gone(base: Plan | None, head: Plan | None) -> Iterator[str]:
    """The cells that only the baseline has, such as those for which the run had no time."""
    assert base is not None  # check_alike
    assert head is not None
    there = {cell.key for cell in head.cells}
    gone = [cell.key for cell in base.cells if cell.key not in there]
    if gone:
        yield f"not judged, since only the baseline has it: {', '.join(gone)}"


def _contestants_gone(plans: tuple[Plan, Plan], head: Sequence[TrialRecord]) -> Iterator[str]:
    """The contestants that only the baseline has, such as those whose toolchain is gone. ``_lost``
    tells of those that the head could not build.
    """
    before, after = (
        dict.fromkeys(one.contestant for cell in plan.cells for one in cell.entries)
        for plan in plans
    )
    lost = {one.contestant for one in head if one.block == 0 and one.failure is not None}
    lost |= {name for plan in plans for cell in plan.cells for name in cell.floors}
    gone = [name for name in before if name not in after and name not in lost]
    if gone:
        yield f"not judged, since only the baseline has it: {', '.join(gone)}"


def _counted(
    threshold: Threshold,
    names: Sequence[str],
    base: Sequence[TrialRecord],
    head: Sequence[TrialRecord],
) -> Iterator[Row]:
    """The errors of each contestant that either run has measured. One that was not run has none,
    which says nothing.
    """
    for name in names:
        if _is_measured(head, name):
            yield errors(threshold, name, errors_of(base, name), errors_of(head, name))
        elif _is_measured(base, name):
            yield _row(threshold, name, state="invalid", reason="not run")


def _is_measured(trials: Sequence[TrialRecord], contestant: str) -> bool:
    return any(one.contestant == contestant and one.status != "not_run" for one in trials)


def _lost(
    plans: tuple[Plan, Plan], head: Sequence[TrialRecord], wanted: Sequence[str]
) -> Sequence[str]:
    """The contestants of the baseline that could not be built or failed their check for the head,
    each with the reason.
    """
    before, after = (
        {entry.contestant for cell in plan.cells for entry in cell.entries} for plan in plans
    )
    gone = {name for name in before - after if not wanted or name in wanted}
    return tuple(
        dict.fromkeys(
            f"{one.contestant}: {one.failure.kind}: {one.failure.message}"
            for one in head
            if one.contestant in gone and one.block == 0 and one.failure is not None
        )
    )


def _common(base: Plan | None, head: Plan | None, cells: Sequence[str]) -> tuple[Plan, Plan]:
    assert base is not None  # check_alike
    assert head is not None
    mine = {(one.study, one.cell.id): one for one in base.cells}
    both = [
        (mine[one.study, one.cell.id], one)
        for one in head.cells
        if (one.study, one.cell.id) in mine
        and (not cells or one.cell.id in cells or one.key in cells)
    ]
    if not both:
        raise UnlikeError("the two runs have no cell in common" + (" of --cell" if cells else ""))
    for before, after in both:
        if before.cell.load != after.cell.load or before.cell.workload != after.cell.workload:
            raise UnlikeError(f"{after.key}: the load of the baseline is another")
    return (
        replace(base, cells=tuple(before for before, _ in both)),
        replace(head, cells=tuple(after for _, after in both)),
    )


def _names(plans: tuple[Plan, Plan], wanted: Sequence[str]) -> tuple[str, ...]:
    """The contestants that both runs have, without the floors. ``_lost`` are not among them."""
    mine = {entry.contestant for cell in plans[0].cells for entry in cell.entries}
    floors = {name for plan in plans for cell in plan.cells for name in cell.floors}
    both = dict.fromkeys(
        entry.contestant
        for cell in plans[1].cells
        for entry in cell.entries
        if entry.contestant in mine - floors and (not wanted or entry.contestant in wanted)
    )
    if not both:
        raise UnlikeError(
            "the two runs have no contestant in common" + (" of --contestant" if wanted else "")
        )
    return tuple(both)


Behind = Mapping[tuple[str, str, str], str]
"""By study, cell and contestant: why its figures are not those of a server that keeps up."""


def _behind(
    plans: tuple[Plan, Plan],
    runs: tuple[StoredRun, StoredRun],
    names: Sequence[str],
    *,
    level: float,
) -> Behind:
    """Where the head falls behind a rate that the base keeps up with, beyond chance. ``level`` is
    shared among all cells and contestants (Bonferroni).
    """
    level /= max(1, len(names) * len(plans[0].cells))
    found = {}
    for base, head in zip(plans[0].cells, plans[1].cells, strict=True):
        load = head.cell.load
        if not isinstance(load, OpenLoad) or load.share is not None:
            continue  # a share of the capacity is another rate for each
        before, after = (
            CellData.of(
                cell,
                [one for one in run.trials if (one.study, one.cell) == (cell.study, cell.cell.id)],
                DEFAULT,
            )
            for cell, run in zip((base, head), runs, strict=True)
        )
        for name in names:
            why = why_unsound(after, name, "not judged")
            if why is not None and keeps_up_less((before, name), (after, name), level=level):
                found[head.study, head.cell.id, name] = why
    return found


def _of_threshold(
    threshold: Threshold,
    plans: tuple[Plan, Plan],
    runs: tuple[StoredRun, StoredRun],
    history: Sequence[HistoryRecord],
    names: Sequence[str],
    behind: Behind,
) -> Iterator[Candidate]:
    before, after = (_by_metric(plan, threshold.metric) for plan in plans)
    settings = replace(DEFAULT, min_noise=LEAST_NOISE)
    for change, shift in changed(
        (before, runs[0].trials), (after, runs[1].trials), history, settings=settings
    ):
        if change.entry not in names or (change.a is None and change.b is None):
            continue
        where = f"{change.study} {change.cell} {change.entry}"
        row = replace(_row(threshold, where), base=change.a, head=change.b)
        slow = behind.get((change.study, change.cell, change.entry))
        if slow is not None and change.a is not None and change.unsound == f"run B: {slow}":
            if change.b is None:
                yield Candidate(row=replace(row, state="regressed", reason=slow))
                continue
            # As of two commands, it is judged by the figures that it has.
            change = replace(change, unsound=None)
        else:
            slow = None
        if threshold.kind == "figure":
            yield _figure(row, change, after, runs[1], judged=slow is not None)
        else:
            yield _change(row, change, shift)


def _by_metric(plan: Plan, metric: str) -> Plan:
    """The plan with this metric as the one that its cells are compared by."""
    return replace(
        plan,
        cells=tuple(replace(one, cell=replace(one.cell, primary=metric)) for one in plan.cells),
    )


def _row(threshold: Threshold, where: str, **fields: Any) -> Row:
    given: Mapping[str, Any] = {"state": "undecided", **fields}
    return Row(
        threshold=threshold,
        where=where,
        base=None,
        head=None,
        estimate=None,
        low=None,
        high=None,
        **given,
    )


def _figure(row: Row, change: Change, plan: Plan, run: StoredRun, *, judged: bool) -> Candidate:
    """``judged``: though the head could not keep up."""
    planned = next(
        one for one in plan.cells if (one.study, one.cell.id) == (change.study, change.cell)
    )
    own = [one for one in run.trials if (one.study, one.cell) == (change.study, change.cell)]
    data = CellData.of(planned, own, DEFAULT)
    warm_up = warm_ups_of(data, DEFAULT).get(change.entry, "not judged")
    metric = row.threshold.metric
    zeros = data.why_no_ratio(change.entry, metric) if data.values(change.entry, metric) else None
    why = zeros if judged else why_unsound(data, change.entry, warm_up) or zeros
    if why is not None:
        return Candidate(row=replace(row, reason=why))
    return replace(
        figure(row, data, change.entry, host=change.run_effect), head_limited=change.bounds[1]
    )


def _change(row: Row, change: Change, shift: Shift) -> Candidate:
    if change.ratio is None and change.unsound is not None:
        # A server that cannot keep up has no CPU per request. That says nothing against the others.
        return Candidate(row=replace(row, reason=change.unsound))
    if change.missing is not None or change.ratio is None:
        return Candidate(row=replace(row, state="invalid", reason=change.missing or "no figures"))
    row = replace(row, estimate=change.ratio.estimate)
    if change.unsound is not None:
        return Candidate(row=replace(row, reason=change.unsound))
    spread = shift.difference
    low, high = change.ratio.low, change.ratio.high
    if spread is None or low is None or high is None:
        least, blocks = DEFAULT.min_blocks, change.ratio.blocks
        reason = (
            f"{count_of(blocks, 'block')} in one of the runs; an interval needs {least} in both"
        )
        return Candidate(row=replace(row, reason=reason, more_blocks=max(1, least - blocks)))
    centre = math.log(change.ratio.estimate)
    half = (math.log(high) - math.log(low)) / 2
    blocks = change.ratio.blocks

    def more(edge: float, pairs: int) -> int | None:
        """Blocks make only the part within runs smaller."""
        return blocks_to_decide(
            centre - edge,
            edge=0.0,
            half=half,
            blocks=blocks,
            error=spread.variance,
            degrees=spread.degrees,
            run_variance=spread.run_variance,
            run_degrees=spread.run_degrees,
            pairs=pairs,
            equal=-edge,
        )

    return Candidate(
        row=replace(row, low=low, high=high),
        centre=centre,
        low=math.log(low),
        high=math.log(high),
        p_at=lambda edge: p_at(spread, centre, edge),
        noise=change.band.d if change.band.twins else 0.0,
        noise_source=change.band.source,
        base_limited=change.bounds[0],
        head_limited=change.bounds[1],
        more_from=more,
    )
