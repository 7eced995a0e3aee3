"""``wirebench published``: the figures that the original of a study published, beside a run's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from wirebench.catalog import CatalogError, find_root
from wirebench.catalog.contestants import load_catalog
from wirebench.catalog.published import Published, read_published
from wirebench.catalog.studies import load_studies
from wirebench.cli.console import console
from wirebench.cli.report import RESULTS, find_run

if TYPE_CHECKING:
    from wirebench.report.published import BesideTable

RUN_HELP = (
    "A run's directory, or its name in 'results'. Default: of the runs with the most cells of the"
    " study, the newest."
)


def register(app: typer.Typer) -> None:
    app.command("published")(published)


def published(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Such as concurrency.")],
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help=RUN_HELP)] = None,
) -> None:
    """Print what the original of a study published beside what a run measured.

    The ratio is ours over theirs. It compares two hosts and two load generators, so no verdict
    follows from it; ≥ stands before a figure that our generator limited. Whether the order agrees
    follows from the run's verdicts on pairs in one cell. A pair that they do not separate leaves a
    range for the rank correlation.
    """
    from wirebench.report import analyse_run
    from wirebench.report.published import beside
    from wirebench.store.jsonl import StoreError
    from wirebench.store.rundir import read_run

    source = _published_of(study)
    path = find_run(run) if run is not None else _fullest_run(study)
    try:
        stored = read_run(path)
    except StoreError as error:
        raise CatalogError(str(error)) from error
    cells = analyse_run(stored).of_study(study)
    if not cells:
        raise CatalogError(
            f"RUN: expected a run with cells of {study}, got {stored.info.name} without any"
        )
    _print(source, stored.info.name, beside(source, cells))


def _published_of(study: str) -> Published:
    root = find_root()
    folder = root / "studies" / "published"
    path = folder / f"{study}.toml"
    known = sorted(one.stem for one in folder.glob("*.toml"))
    if study not in known:
        raise CatalogError(
            f"STUDY: expected one with published figures ({', '.join(known) or 'none'}),"
            f" got {study!r}"
        )
    cells = load_studies(root / "studies")[study].presets["full"].cells
    return read_published(
        path,
        cells={cell.id for cell in cells},
        contestants=set(load_catalog(root).contestants),
        metrics={cell.primary for cell in cells},
    )


def _fullest_run(study: str) -> Path:
    """Of the runs with the most cells of the study, the one that started last."""
    from wirebench.store.jsonl import StoreError, read_whole
    from wirebench.store.rundir import PLAN_FILE, TRIALS_FILE

    found: list[tuple[int, str, Path]] = []
    for plan in (find_root() / RESULTS).glob(f"*/{PLAN_FILE}"):
        trials = plan.parent / TRIALS_FILE
        if plan.parent.is_symlink() or not trials.is_file() or not trials.stat().st_size:
            continue
        try:
            content = read_whole(plan)
        except StoreError:
            continue
        planned = content.get("cells") if isinstance(content, dict) else None
        cells = [
            one
            for one in (planned if isinstance(planned, list) else [])
            if isinstance(one, dict) and one.get("study") == study
        ]
        if cells:
            # A run's name starts with the time of its start.
            found.append((len(cells), plan.parent.name, plan.parent))
    if not found:
        raise CatalogError(
            f"RUN: expected a run of {study}; there is none yet,"
            f" 'wirebench run {study} --preset published' makes one"
        )
    return max(found)[2]


def _print(source: Published, run: str, tables: tuple[BesideTable, ...]) -> None:
    out = console()
    out.print(f"published  {source.source.title}, {source.source.project}", markup=False)
    out.print(f"           {source.source.host}", markup=False)
    out.print(f"ours       {run}\n", markup=False)
    for one in tables:
        out.print(Text.assemble((one.title, "bold"), f"  {one.unit}; {one.command}"))
        table = Table(box=None, padding=(0, 1), header_style="bold")
        table.add_column("published as")
        table.add_column("published", justify="right", no_wrap=True)
        table.add_column("our contestant, cell", overflow="fold")
        table.add_column("ours", justify="right", no_wrap=True)
        table.add_column("ours over published", justify="right")
        table.add_column("")
        for row in one.rows:
            table.add_row(
                *(Text(field) for field in (row.published, row.theirs, row.stands, row.ours)),
                Text(row.ratio),
                Text(row.note),
                style="" if row.ours else "bright_black",
            )
        out.print(table)
        out.print(Text(f"  {one.order}\n"))
