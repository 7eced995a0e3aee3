"""``wirebench selftest --verdicts``: how often verdicts would be false, by simulation."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wirebench.catalog import CatalogError, find_root
from wirebench.catalog.units import count_of
from wirebench.cli.arguments import check_folder
from wirebench.cli.console import (
    EXIT_FAILED,
    EXIT_OK,
    console,
    error_console,
    for_tables,
    say_warning,
)

if TYPE_CHECKING:
    from wirebench.selftest.worlds import Source

STUDIES, RESULTS = "studies", "results"


@dataclass(frozen=True, kw_only=True)
class Request:
    tables: int
    entries: int
    presets: Sequence[str]
    worlds: Sequence[str]
    standard: bool
    seed: int
    json_file: Path | None


def check_verdicts(request: Request) -> int:
    """Simulate, print and store; returns the exit code."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from wirebench.catalog.study_files import load_studies
    from wirebench.catalog.units import rough_duration
    from wirebench.host import capture
    from wirebench.process.interrupt import Interrupted, interruptible
    from wirebench.selftest import verdicts_text as text
    from wirebench.selftest.suite import distinct
    from wirebench.selftest.verdicts import Wanted, designs_of, empty_rows, estimate_s, simulate
    from wirebench.selftest.worlds import STANDARD, WORLDS
    from wirebench.store.verdicts import CheckedVerdicts, keep_verdicts

    root = find_root()
    results = root / RESULTS
    check_folder(RESULTS, results)
    studies = load_studies(root / STUDIES)
    known = list(dict.fromkeys(name for study in studies.values() for name in study.presets))
    try:
        presets = distinct(request.presets, known, "--preset")
        worlds = distinct(request.worlds, tuple(WORLDS), "--world")
    except ValueError as error:
        raise CatalogError(str(error)) from error
    host_id = capture().host_id
    sources = () if request.standard else _own_sources(results, host_id)
    wanted = Wanted(
        designs=designs_of(studies.values(), presets),
        worlds=tuple(name for name in WORLDS if name in worlds),
        sources=sources or (STANDARD,),
        tables=2 * -(-request.tables // 2),
        entries=request.entries,
        seed=request.seed,
    )
    workers = len(os.sched_getaffinity(0))
    out = for_tables(console())
    rows = empty_rows(wanted)
    code = None
    with interruptible():
        try:
            out.print(text.sources_line(wanted.sources), markup=False, soft_wrap=True)
            takes = rough_duration(round(estimate_s(wanted, workers=workers) * 1e9))
            out.print(
                f"{count_of(len(rows), 'row')} of {count_of(wanted.tables, 'table')},"
                f" some {takes} on {count_of(workers, 'core')}",
                highlight=False,
            )
            with Progress(
                TextColumn("simulated"),
                BarColumn(),
                TextColumn("{task.percentage:.0f}%"),
                TimeRemainingColumn(),
                console=error_console(),
                transient=True,
            ) as bar:
                task = bar.add_task("", total=1.0)
                simulate(
                    wanted, rows, workers=workers, say=lambda part: bar.update(task, completed=part)
                )
        except Interrupted as interrupted:
            code = interrupted.exit_code
    out.print(text.verdict_table(rows))
    out.print(text.legend(wanted), markup=False, soft_wrap=True)
    out.print(text.summary(rows), markup=False, soft_wrap=True)
    if request.json_file is not None:
        document = json.dumps(text.to_json(wanted, rows), indent=2)
        request.json_file.write_text(document + "\n", encoding="utf-8")
    if code is not None:
        return code
    keep_verdicts(
        results,
        CheckedVerdicts(
            host_id=host_id,
            ended_unix_ns=time.time_ns(),
            entries=wanted.entries,
            source="this host's own trials" if sources else "standard noise",
            designs=text.checked_designs(rows),
        ),
    )
    return EXIT_OK if all(row.holds for row in rows if row.judged) else EXIT_FAILED


def _own_sources(results: Path, host_id: str) -> tuple[Source, ...]:
    """Of the runs stored in the project that this host made."""
    from wirebench.selftest.worlds import stored_sources
    from wirebench.store.jsonl import StoreError
    from wirebench.store.rundir import has_run, read_run

    runs = []
    for path in sorted(results.iterdir()) if results.is_dir() else ():
        if path.is_symlink() or not has_run(path):
            continue
        try:
            run = read_run(path)
        except StoreError as error:
            say_warning(f"left out of the noise: {error}")
            continue
        if run.plan is not None and run.host.get("host_id") == host_id:
            runs.append((run.plan, run.trials))
    return stored_sources(runs)
