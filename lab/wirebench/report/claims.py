"""What a run says of the explanations that the original of a study gives for its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from wirebench.catalog.loads import on_all_cores
from wirebench.catalog.published import Claim, Measure, Prediction, Published
from wirebench.catalog.studies import Study
from wirebench.catalog.units import count_of
from wirebench.report.figures import bound_sign, noun, ratio_text
from wirebench.report.published import entry_or_fallback
from wirebench.report.runs import PRESETS
from wirebench.stats.types import CellAnalysis, EntryAnalysis, Pair, Standing

Outcome = Literal["holds", "fails", "open", "missing"]
"""Of one prediction. ``open``: the run has both contestants, but no verdict on them."""
Status = Literal["confirmed", "refuted", "undecided", "not tested"]


@dataclass(frozen=True, kw_only=True)
class ClaimView:
    """One explanation, and what the run makes of it."""

    status: Status
    says: str
    place: str
    """Empty: our own doubt about the original."""
    findings: tuple[str, ...]
    """One for each prediction, or the reason why nothing tests the claim."""
    commands: tuple[str, ...]
    """Runs that would test what this one does not."""
    run: str = ""
    """Where several runs are read: this claim's."""

    @property
    def whose(self) -> str:
        return self.place or "our own doubt"


def claim_views(
    published: Published, cells: Sequence[CellAnalysis], study: Study
) -> tuple[ClaimView, ...]:
    """``cells``: the run's, of the same study. ``study`` says which runs there could be."""
    by_id = {cell.cell: cell for cell in cells}
    return tuple(_view(claim, published, by_id, study) for claim in published.claims)


def _view(
    claim: Claim, published: Published, cells: Mapping[str, CellAnalysis], study: Study
) -> ClaimView:
    found = [(one, *_outcome(one, published, cells)) for one in claim.predictions]
    missing = [one for one, outcome, _ in found if outcome == "missing"]
    return ClaimView(
        status=status_of([outcome for _, outcome, _ in found]),
        says=claim.says,
        place=claim.place,
        findings=tuple(text for _, _, text in found) or (claim.untested,),
        commands=tuple(_commands(missing, published, study)),
    )


def status_of(outcomes: Sequence[Outcome]) -> Status:
    """``refuted``: a prediction failed. ``confirmed``: all came true, which another cause may have
    brought about as well.
    """
    if "fails" in outcomes:
        return "refuted"
    if not outcomes or set(outcomes) == {"missing"}:
        return "not tested"
    return "confirmed" if set(outcomes) == {"holds"} else "undecided"


def _outcome(
    one: Prediction, published: Published, cells: Mapping[str, CellAnalysis]
) -> tuple[Outcome, str]:
    """The outcome, and the prediction with what the run has of it."""
    measure = published.measures[one.at]
    cell = next((cells[name] for name in measure.cells if name in cells), None)
    if cell is None:
        return "missing", f"missing: {_expected(one)}: no cell of the run tests it"
    one = _of_the_run(one, published, cell)
    expected = _expected(one)
    if one.than is not None:
        expected += f" by {noun(cell.metric, cell.unit)}"
    expected += f" in {cell.cell}"
    entries = [cell.entry(name) for name in one.contestants]
    for name, entry in zip(one.contestants, entries, strict=True):
        if entry is None:
            return "missing", f"missing: {expected}: {name} is not in the run"
        if one.than is None:
            return _stalled(entry, expected)
        if entry.unranked is not None and not entry.is_floor:
            return "open", f"open: {expected}: {name} has no rank: {entry.unranked}"
    return _compared(one, one.than or "", cell, expected)


def _expected(one: Prediction) -> str:
    return f"{one.contestant} {one.expect}" + (f" than {one.than}" if one.than else "")


def _of_the_run(one: Prediction, published: Published, cell: CellAnalysis) -> Prediction:
    """With who stands there for a contestant that the cell lacks."""
    names = []
    for name in one.contestants:
        entry, _ = entry_or_fallback(published, cell, name)
        names.append(entry.contestant if entry is not None else name)
    changed = dict(zip(("contestant", "than"), names, strict=False))
    return one.model_copy(update=changed)


def _stalled(entry: EntryAnalysis, expected: str) -> tuple[Outcome, str]:
    """By its failed trials: those of a server that stood still have the state it stood in."""
    states = [one for one in entry.failures if one.state is not None]
    if states:
        trials = count_of(sum(one.count for one in states), "trial")
        return "holds", f"holds: {expected}: in {trials}; {states[0].state}"
    if entry.failures:
        return "open", f"open: {expected}: it failed in another way: {entry.failures[0].message}"
    if not entry.summary.trials:
        return "open", f"open: {expected}: it has no valid trial: {entry.unranked}"
    return "fails", f"fails: {expected}: it answered everything"


def _compared(one: Prediction, than: str, cell: CellAnalysis, expected: str) -> tuple[Outcome, str]:
    found: Pair | Standing | None = (
        _against_floor(cell, one.contestant)
        if than == cell.floor
        else cell.pair(one.contestant, than)
    )
    verdict = found.verdict if found is not None else None
    if found is None or verdict is None or verdict.kind == "undecided":
        why = verdict.reason if verdict is not None else None
        return "open", f"open: {expected}: not separable{f', {why}' if why else ''}"
    outcome: Outcome = (
        "holds" if (verdict.kind == "faster") == (one.expect == "better") else "fails"
    )
    ratio = bound_sign(found.bound) + ratio_text(found.ratio) if found.ratio is not None else ""
    return outcome, f"{outcome}: {expected}: {ratio}, {_WORDS[verdict.kind]}"


def _against_floor(cell: CellAnalysis, contestant: str) -> Standing | None:
    """The floor is in no ranking, so a cell's pairs lack it; each standing has the verdict."""
    entry = cell.entry(contestant)
    return entry.standing if entry is not None else None


_WORDS = {"faster": "better", "slower": "worse", "equivalent": "equivalent"}


def _commands(missing: Sequence[Prediction], published: Published, study: Study) -> Iterator[str]:
    """The shortest runs that have the missing cells and contestants."""
    wanted: dict[str, tuple[dict[str, bool], dict[str, None]]] = {}
    for one in missing:
        found = _where(published.measures[one.at], study)
        if found is not None:
            preset, cell, all_cores = found
            cells, names = wanted.setdefault(preset, ({}, {}))
            cells[cell] = all_cores
            for name in one.contestants:
                names[name] = None
                if name in published.fallbacks:
                    names[published.fallbacks[name].contestant] = None
    for preset, (cells, names) in wanted.items():
        yield (
            f"wirebench run {study.name} --preset {preset} --cells {','.join(cells)}"
            f" --only {','.join(names)}"
            + ("   (on a host with three cores or more)" if any(cells.values()) else "")
        )


def _where(measure: Measure, study: Study) -> tuple[str, str, bool] | None:
    """A preset, its cell for this measure, and whether that needs more than two cores."""
    others = [name for name in study.presets if name not in PRESETS]
    for name in (*PRESETS, *others):
        preset = study.presets.get(name)
        for cell in preset.cells if preset is not None else ():
            if cell.id in measure.cells:
                return name, cell.id, on_all_cores(cell.load)
    return None
