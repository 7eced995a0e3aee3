"""The results of a run: tables, the report, the failures, and how to continue."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from wirebench.catalog.units import count_of
from wirebench.cli.console import for_tables

# Everything of the later stages is imported where it is used: it takes most of a second, and --help
# should not wait for it.
if TYPE_CHECKING:
    from rich.console import Console

    from wirebench.run.session import Session
    from wirebench.stats.types import RunAnalysis
    from wirebench.store.rundir import StoredRun
    from wirebench.trial.record import FailureRecord, TrialRecord


def conclude(session: Session, *, status: str, code: int, out: Console, command: str) -> int:
    """Print the tables, the report's path, the failures and how to continue. ``command``: the words
    after ``wirebench`` that complete the run.
    """
    path = session.directory.path
    try:
        if any(record.status == "ok" for record in session.trials):
            publish(path, out)
    finally:  # a report that does not fit on the disk takes nothing from the rest
        _say_the_end(session, status=status, code=code, out=out, command=command)
    return code


def _say_the_end(session: Session, *, status: str, code: int, out: Console, command: str) -> None:
    from wirebench.run.session import NOTHING_VALID
    from wirebench.stats import counted_trials

    path = session.directory.path
    if code == NOTHING_VALID:
        out.print("nothing valid was measured", highlight=False)
        for line in not_run_lines(session.trials):
            out.print(line, markup=False, highlight=False, soft_wrap=True)
    for line in failure_lines(counted_trials(session.trials)):
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    if status == "interrupted":
        done = count_of(sum(1 for record in session.trials if record.block > 0), "trial")
        out.print(
            f"interrupted with {done} done, all kept; 'wirebench {command} --resume"
            f" {path.name}' completes the run",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def publish(path: Path, out: Console) -> None:
    """Write the tables to the terminal, then to the run's directory, and write the report."""
    from wirebench.cli.table import run_tables, write_tables
    from wirebench.report import analyse_run, write_report
    from wirebench.stats.pace import remember_paces
    from wirebench.stats.precision import precision_records, remember
    from wirebench.store.rundir import TABLE_FILE, read_run

    run = read_run(path)
    analysis = analyse_run(run)
    studies = run.plan.studies if run.plan is not None else ()

    def draw(console: Console) -> None:
        wide = for_tables(console)
        for part in run_tables(analysis, studies, width=wide.width):
            wide.print(part)
        for line in precision_lines(run, analysis):
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    try:
        draw(out)
    finally:  # who reads no further, as ``head``, takes nothing from the files
        if run.info.status == "complete":
            remember(path.parent, precision_records(run, analysis))
            remember_paces(path.parent, run)
        write_tables(path / TABLE_FILE, draw)
        report = write_report(path)
    out.print(f"report: {report}", markup=False, highlight=False, soft_wrap=True)


def precision_lines(run: StoredRun, analysis: RunAnalysis) -> Iterable[str]:
    """How precise each cell is, who left it early, and what stayed open."""
    from wirebench.report.precision import precision_text

    for cell in analysis.cells:
        text = precision_text(cell, run.left)
        if text:
            yield f"{cell.study} {cell.cell}: {text}"


def not_run_lines(trials: Iterable[TrialRecord]) -> Iterable[str]:
    """Each reason why trials did not take place that is no earlier failure, with its cells."""
    cells: dict[str, dict[str, None]] = {}
    for record in trials:
        why = record.failure
        if record.status == "not_run" and why and (record.block == 0 or why.phase != "plan"):
            cells.setdefault(why.message, {})[f"{record.study} {record.cell}"] = None
    for message, names in cells.items():
        yield f"not run: {', '.join(names)}: {message}"


def failure_lines(trials: Iterable[TrialRecord]) -> Iterable[str]:
    """Each contestant that failed, with what was sent, expected and received for the first failure
    of each kind.
    """
    from wirebench.trial.record import who_failed

    seen: dict[tuple[str, str], tuple[FailureRecord, list[str]]] = {}
    for record in trials:
        who = who_failed(record)
        if who is not None and record.failure is not None:
            _, cells = seen.setdefault((who, record.failure.kind), (record.failure, []))
            cells.append(f"{record.study} {record.cell}")
    for (contestant, kind), (failure, cells) in seen.items():
        yield f"failed: {contestant} ({', '.join(dict.fromkeys(cells))}): {kind}: {failure.message}"
        for name, text in (
            ("sent", failure.sent),
            ("expected", failure.expected),
            ("received", failure.received),
            ("state", failure.state),
        ):
            if text:
                yield f"  {name:<9}{text}"
