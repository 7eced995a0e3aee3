"""What a run prints before it starts: what it will measure, and how long that takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from wirebench.catalog.units import count_of, rough_duration
from wirebench.cli.console import say_warning

# Everything of the later stages is imported where it is used: it takes most of a second, and --help
# should not wait for it.
if TYPE_CHECKING:
    from rich.console import Console

    from wirebench.run.measure import Measured
    from wirebench.run.scope import Scope
    from wirebench.store.rundir import StoredRun

MIN_BLOCKS = 6


def too_few(blocks: int) -> str:
    return f": verdicts need {MIN_BLOCKS}" if blocks < MIN_BLOCKS else ""


def checking_ns(scope: Scope, before: StoredRun | None) -> int:
    """Estimated; nothing for a run that is resumed with its plan."""
    return scope.verifying_ns if before is None or before.plan is None else 0


def measuring_ns(scope: Scope, before: StoredRun | None) -> int:
    """Estimated for the mandatory blocks, less the share of each cell's trials that a run which is
    resumed has.
    """
    if before is None or before.plan is None:
        return scope.measuring_ns
    done = Counter(f"{one.study}.{one.cell}" for one in before.trials if one.block > 0)
    trials = {one.key: one.min_blocks * len(one.entries) for one in before.plan.cells}
    left = 0
    for cell in scope.forecasts:
        wanted = max(1, trials.get(cell.planned.key, 1))
        left += cell.mandatory_ns * max(0, wanted - done[cell.planned.key]) // wanted
    return left


def done_text(before: StoredRun) -> str:
    """What a run that is resumed has of its trials."""
    done = sum(1 for record in before.trials if record.block > 0)
    are = "is done and is" if done == 1 else "are done and are"
    return f"{count_of(done, 'trial')} of this run {are} not repeated"


def announce(
    scope: Scope,
    path: Path,
    before: StoredRun | None,
    out: Console,
    *,
    widths: Mapping[str, float],
) -> None:
    """Print what will be measured and how long it will take. ``widths``: the half widths of the
    widest intervals to expect, where they are known.
    """
    selection = scope.selection
    entries = sum(len(cell.planned.entries) for cell in scope.forecasts)
    blocks = selection.blocks or max((cell.preset.min_blocks for cell in scope.cells), default=0)
    names = ", ".join(study.name for study, _ in scope.studies)
    counts = f"{count_of(len(scope.needed), 'contestant')}, {count_of(len(scope.cells), 'cell')}"
    out.print(f"[bold]{names}[/] ({escape(selection.preset)}): {counts}", highlight=False)
    if scope.unbuilt:
        are = "is" if len(scope.unbuilt) == 1 else "are"
        count = f"{len(scope.unbuilt)} of {len(scope.needed)} {are} not built yet; builds are kept"
        out.print(
            f"  building   about {rough_duration(scope.building_ns)} ({count})", highlight=False
        )
    out.print(f"  checking   about {rough_duration(checking_ns(scope, before))}", highlight=False)
    in_blocks = f"{count_of(entries, 'entry', 'entries')} in {count_of(blocks, 'block')}"
    trials = f"{in_blocks}, floor and twins among them"
    out.print(
        f"  measuring  about {rough_duration(measuring_ns(scope, before))} ({trials})",
        highlight=False,
    )
    if widths:
        widest, narrowest = max(widths.values()), min(widths.values())
        out.print(
            f"  expecting  widest intervals of ±{narrowest:.1%} to ±{widest:.1%} by cell after the"
            " mandatory blocks, from earlier runs on this host",
            highlight=False,
        )
    if before is not None:
        out.print(f"  resumed    {done_text(before)}", highlight=False)
    if scope.budget_ns is not None and scope.budget_ns < scope.measuring_ns:
        fitting = blocks * scope.budget_ns // max(1, scope.measuring_ns)
        holds = f"holds about {count_of(fitting, 'block')}{too_few(fitting)}"
        say_warning(f"the budget of {rough_duration(scope.budget_ns)} {holds}")
    elif selection.blocks is not None and selection.blocks < MIN_BLOCKS:
        say_warning(
            f"figures of {count_of(selection.blocks, 'block')}, but no verdicts: those need"
            f" {MIN_BLOCKS}"
        )
    for note in (*untimely_lines(scope), *scope_notes(scope)):
        out.print(f"  {note}", markup=False, highlight=False, soft_wrap=True)
    out.print(
        f"  into       {path} (Ctrl-C keeps what is done)",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def untimely_lines(scope: Scope) -> Iterable[str]:
    """Which cells the time budget has no room for."""
    if scope.untimely and scope.budget_ns is not None:
        yield (
            f"without {', '.join(scope.untimely)}: {rough_duration(scope.budget_ns)} do not hold"
            " the mandatory blocks of every cell"
        )


def scope_notes(scope: Scope) -> Iterable[str]:
    """The contestants left out of the run, and the command that would change that. Contestants that
    lack the same share a line.
    """
    by_line: dict[tuple[str, str | None], list[str]] = {}
    for absent in scope.absent:
        key = ("", absent.install) if absent.install else (absent.reason, None)
        by_line.setdefault(key, []).append(absent.contestant)
    yield from scope.notes
    for (reason, install), names in by_line.items():
        yield f"without {', '.join(names)}: {install or reason}"
    for (cell, why), crowded in scope.overfull.items():
        yield f"without {', '.join(crowded)} in {cell}: open files: {why}"
    if not scope.selection.only:
        left_out = {name for _, preset in scope.studies for name in preset.without}
        spared = sorted(left_out - {*scope.needed, *scope.unwarmed})
        if spared:
            yield (
                f"without {', '.join(spared)}: left out by this preset to save time; --only or"
                " another preset measures them"
            )
    if scope.unwarmed:
        yield (
            f"without {', '.join(scope.unwarmed)}: this preset has no time for the warm-up that"
            " their runtimes need; --only or another preset measures them"
        )


def ending_lines(measured: Measured) -> Iterable[str]:
    """What the time budget did not hold."""
    if measured.given_up:
        yield (
            f"ended early, since the mandatory blocks of every cell take more than the time budget:"
            f" {', '.join(measured.given_up)}"
        )
    if measured.out_of_budget:
        whole = [number for key, number in measured.blocks.items() if key not in measured.given_up]
        fewest = min(whole, default=0)
        yield f"the time budget is used up after {count_of(fewest, 'block')}{too_few(fewest)}"
