"""From verdicts to pages: one offline HTML file, and the charts as picture files."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from wirebench.stats import RunAnalysis, analyse, load_history
from wirebench.stats.types import HistoryRecord
from wirebench.store.jsonl import write_whole_text
from wirebench.store.rundir import REPORT_FILE, StoredRun, read_run

if TYPE_CHECKING:
    from wirebench.report.view import Articles

__all__ = ["analyse_run", "export_charts", "export_rounds", "history_of", "write_report"]

_log = logging.getLogger(__name__)


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

    from wirebench.report.page import cache_folder, render
    from wirebench.report.view import page_view

    run = read_run(path)
    target = out if out is not None else path / REPORT_FILE
    analysis = analyse_run(run)
    # Altair checks every part of every chart against its schema, which takes seconds; the tests
    # have it check.
    with debug_mode(False):
        text = render(page_view(run, analysis, articles=_articles(run)), cache=cache_folder())
    write_whole_text(target, text)
    return target


def _articles(run: StoredRun) -> Articles:
    """The articles behind the run's studies, as the project has them now. Without a project, or
    with a broken one, the report does without.
    """
    from wirebench.catalog.contestants import STUDIES, find_root
    from wirebench.catalog.errors import CatalogError
    from wirebench.catalog.published import published_of, published_studies
    from wirebench.catalog.study_files import load_studies

    try:
        root = find_root()
        known = load_studies(root / STUDIES)
        return {
            study.name: (published_of(root, study.name), known[study.name])
            for study in (run.plan.studies if run.plan is not None else ())
            if study.name in known and study.name in published_studies(root)
        }
    except CatalogError as error:
        _log.warning("the report has no published figures: %s", error)
        return {}


def export_charts(path: Path, folder: Path) -> list[Path]:
    """Write every chart of the run as PNG and SVG, named by study, cell and kind."""
    from wirebench.report.export import export

    run = read_run(path)
    return export(run, analyse_run(run), folder)


def export_rounds(path: Path, folder: Path) -> list[Path]:
    """Write the rounds of every ramp of the run as CSV, named by study and cell."""
    from wirebench.report.rounds import write_rounds

    return write_rounds(read_run(path), folder)
