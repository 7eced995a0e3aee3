"""From verdicts to pages: one offline HTML file, and the charts as picture files."""

from __future__ import annotations

from pathlib import Path

from wirebench.stats import RunAnalysis, analyse, load_history
from wirebench.stats.types import HistoryRecord
from wirebench.store.rundir import REPORT_FILE, StoredRun, read_run

__all__ = ["analyse_run", "export_charts", "export_rounds", "history_of", "write_report"]


def analyse_run(run: StoredRun) -> RunAnalysis:
    """The analysis of a run, with the twins of this host's earlier runs."""
    return analyse(run.trials, run.plan, history_of(run))


def history_of(run: StoredRun) -> tuple[HistoryRecord, ...]:
    """The twins of this host's runs before this one."""
    return load_history(
        run.path.parent,
        host_id=str(run.host.get("host_id", "")),
        before_unix_ns=run.info.started_unix_ns,
    )


def write_report(path: Path, *, out: Path | None = None) -> Path:
    """Write the report of the run in this directory from its stored trials; returns its file."""
    from altair.utils.schemapi import debug_mode

    from wirebench.report.page import render
    from wirebench.report.view import page_view

    run = read_run(path)
    target = out if out is not None else path / REPORT_FILE
    analysis = analyse_run(run)
    # Altair checks every part of every chart against its schema, which takes seconds; the tests
    # have it check.
    with debug_mode(False):
        text = render(page_view(run, analysis), cache=run.path.parent)
    scratch = target.with_name(f".{target.name}.new")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(target)
    return target


def export_charts(path: Path, folder: Path) -> list[Path]:
    """Write every chart of the run as PNG and SVG, named by study, cell and kind."""
    from wirebench.report.export import export

    run = read_run(path)
    return export(run, analyse_run(run), folder)


def export_rounds(path: Path, folder: Path) -> list[Path]:
    """Write the rounds of every ramp of the run as CSV, named by study and cell."""
    from wirebench.report.rounds import write_rounds

    return write_rounds(read_run(path), folder)
