"""``wirebench published``: the figures that the original of a study published, beside a run's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from wirebench.catalog import CatalogError, find_root
from wirebench.catalog.contestants import STUDIES
from wirebench.catalog.published import Published, published_of, published_studies
from wirebench.catalog.study_files import load_studies
from wirebench.cli.arguments import check_output
from wirebench.cli.console import EXIT_UNAVAILABLE, console, error_console, for_tables, write_file
from wirebench.cli.report import RESULTS, find_run

if TYPE_CHECKING:
    from rich.console import Console

    from wirebench.report.claims import ClaimView
    from wirebench.report.model import TableView
    from wirebench.report.published import BesideTable

RUN_HELP = (
    "A run's directory, or its name in 'results'. Default: for each table and explanation, of the"
    " complete runs of the host that measured last, the one with most of its figures, the newest of"
    " several."
)


def register(app: typer.Typer) -> None:
    app.command("published")(published)


def published(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="Such as concurrency.")],
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help=RUN_HELP)] = None,
    markdown_file: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Also write it here.")
    ] = None,
) -> None:
    """Print what the original of a study published beside what a run measured.

    The ratio is ours over theirs. It compares two hosts and two load generators, so no verdict
    follows from it; ≥ stands before a figure that our generator limited. A time of a cell with
    fewer messages than the original's is multiplied by a factor that is printed. ▲ and ▼ (green and
    red) stand before the best and the worst of a table where the run's verdicts separate them; x
    stands where no trial gave a figure, such as where the server stood still. Whether the order
    agrees follows from the run's verdicts, too. A pair that they do not separate leaves a range for
    the rank correlation.

    An explanation of the original is confirmed where all that it leads one to expect is what the
    run's verdicts say, refuted where some of it is not, undecided where verdicts are missing, and
    not tested where the run has nothing of it. What confirms it may have another cause.
    """
    from wirebench.report.article import of_run, of_runs
    from wirebench.report.article_text import markdown
    from wirebench.store.jsonl import StoreError

    check_output("--markdown", markdown_file)
    source, root = _published_of(study), find_root()
    own, said = load_studies(root / STUDIES)[study], error_console()
    try:
        if run is not None:
            shown = of_run(find_run(run), source, own)
        else:
            shown = of_runs(
                root / RESULTS,
                source,
                own,
                reading=lambda name: said.print(f"reading {name}", highlight=False),
            )
    except StoreError as error:
        raise CatalogError(str(error)) from error
    out = for_tables(console())
    _print_tables(source, shown.ours, shown.article.tables, out)
    for view in shown.further:
        _print_table(view, out)
    _print_claims(shown.article.claims, out)
    if markdown_file is not None and not write_file(
        markdown_file, markdown(shown.article, shown.further, run=shown.ours)
    ):
        raise typer.Exit(EXIT_UNAVAILABLE)


def _published_of(study: str) -> Published:
    root = find_root()
    known = published_studies(root)
    if study not in known:
        raise CatalogError(
            f"STUDY: expected one with published figures ({', '.join(known) or 'none'}),"
            f" got {study!r}"
        )
    return published_of(root, study)


def _print_tables(
    source: Published, run: str, tables: tuple[BesideTable, ...], out: Console
) -> None:
    from wirebench.cli.table import STYLES
    from wirebench.report.article_text import fields
    from wirebench.report.published import CONTESTANT, FIGURES, HEADS, OURS

    known = source.source
    head = Table.grid(padding=(0, 2))
    head.add_row(
        "published", Text(", ".join(one for one in (known.title, known.author, known.date) if one))
    )
    head.add_row("", Text(known.project))
    head.add_row("", Text(known.host))
    head.add_row("ours", Text(run))
    out.print(head)
    for one in tables:
        heading = f"  {one.unit}; {one.command} ({one.place})"
        out.print(Text.assemble("\n", (one.title, "bold"), heading))
        table = Table(box=None, padding=(0, 1), header_style="bold")
        for place, title in enumerate(HEADS):
            table.add_column(
                title,
                justify="right" if place in FIGURES else "left",
                no_wrap=place in (OURS, CONTESTANT),
                overflow="fold",
            )
        for row in one.rows:
            words = [Text(field) for field in fields(row)]
            words[OURS].stylize(STYLES.get(row.mark, ""))
            table.add_row(*words, style="" if row.ours else "bright_black")
        out.print(table)
        for line in one.remarks:
            out.print(Padding(Text(line), (0, 0, 0, 2)))
    out.print()
    if source.pictures:
        out.print(Text(f"{source.pictures}\n"))


def _print_table(view: TableView, out: Console) -> None:
    out.print(Text(view.title, style="bold"))
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("contestant", no_wrap=True)
    for column in view.columns:
        table.add_column(column, overflow="fold")
    for row in view.rows:
        table.add_row(*(Text(field) for field in row))
    out.print(table)
    out.print(Padding(Text(f"{view.how}\n"), (0, 0, 0, 2)))


def _print_claims(claims: tuple[ClaimView, ...], out: Console) -> None:
    if claims:
        out.print(Text("Explanations", style="bold"))
    for one in claims:
        out.print(Text.assemble((f"{one.status}: ", "bold"), one.says, f" ({one.whose})"))
        if one.run:
            out.print(Padding(Text(f"in {one.run}"), (0, 0, 0, 4)))
        for finding in one.findings:
            out.print(Padding(Text(finding), (0, 0, 0, 4)))
        for command in one.commands:
            out.print(Text(f"    to test it: {command}"), soft_wrap=True)
