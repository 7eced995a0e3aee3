"""``wirebench history``: the runs kept on this host, and figures over time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from wirebench.catalog import CatalogError, find_root
from wirebench.cli.arguments import check_folder, check_known, check_output
from wirebench.cli.console import console, error_console, for_tables
from wirebench.cli.report import RESULTS

if TYPE_CHECKING:
    from wirebench.history.index import Index, RunRow, Series

MOST_SERIES = 20

Results = Annotated[
    Path | None,
    typer.Option("--results", metavar="DIR", help="The folder of the runs. Default: 'results'."),
]
Host = Annotated[
    str | None,
    typer.Option(
        "--host", metavar="ID", help="The host whose runs count. Default: that of the newest run."
    ),
]


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        help="The runs and duels kept on this host, and how a figure went over them.",
        invoke_without_command=True,
    )
    group.callback()(list_runs)
    group.command("show")(show)
    app.add_typer(group, name="history")


def list_runs(context: typer.Context, results: Results = None) -> None:
    """List the runs and duels kept on this host, the newest first.

    The index is results/history.sqlite. It only saves time: it is made from the runs' directories,
    and again when it is gone.
    """
    if context.invoked_subcommand is not None:
        return
    with _index(results) as index:
        runs = [(one, index.state(one)) for one in index.runs()]
    if not runs:
        console().print("no runs yet; 'wirebench quick' makes one", highlight=False)
        return
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for name in ("run", "studies", "preset", "trials", "status", "host", "wirebench"):
        table.add_column(name, justify="right" if name == "trials" else "left", no_wrap=True)
    for one, state in runs:
        table.add_row(*(Text(field) for field in _row(one, state)))
    for_tables(console(), table).print(table)


def _row(one: RunRow, state: str) -> tuple[str, ...]:
    if one.problem:
        return one.name, one.problem, "", "", state, "", ""
    studies = " ".join(one.studies)
    return (
        *(one.name, studies, one.preset, str(one.trials)),
        *(state, one.host_id, one.wirebench),
    )


def show(
    context: typer.Context,
    metric: Annotated[
        str, typer.Argument(metavar="METRIC", help="Such as throughput_per_s or p99_ns.")
    ],
    contestant: Annotated[
        str | None, typer.Option("--contestant", metavar="NAME", help="Only this contestant.")
    ] = None,
    cell: Annotated[
        str | None,
        typer.Option("--cell", metavar="ID", help="Only this cell: its id, or STUDY.ID."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write the charts to this offline page."),
    ] = None,
    results: Results = None,
    host: Host = None,
) -> None:
    """Draw a figure over all complete runs of a host, with the changes of its level.

    Figures are shares of the floor of their own run where the metric has that: a slower host today
    is then no change. A change is marked where PELT finds one (with the penalty of the warm-up
    check, and at least three runs on each side), with what else changed between the two runs:
    library, build, wirebench. Small changes need more runs than are mostly there: 'wirebench
    compare' judges two of them.
    """
    from wirebench.history.text import heading, lines, page

    check_output("--html", html)
    # It may stand before ``show``, too.
    above = context.parent.params.get("results") if context.parent is not None else None
    with _index(results if results is not None else above) as index:
        runs = index.runs()
        check = partial(check_known, nothing=_why_no_series(runs))
        check("METRIC", metric, index.metrics())
        if contestant is not None:
            check("--contestant", contestant, index.contestants())
        if cell is not None:
            known = index.cells()
            check("--cell", cell, [*known, *(one.partition(".")[2] for one in known)])
        hosts = [one.host_id for one in runs if one.host_id]
        if host is not None:
            check("--host", host, hosts)
        wanted = host or next(iter(hosts), "")
        found = index.series(metric, host_id=wanted, contestant=contestant, cell=cell)
    if not found:
        raise CatalogError(f"METRIC: host {wanted} has no complete run with {metric} for that")
    out = console()
    for series in found[:MOST_SERIES]:
        out.print(Text(heading(series), style="bold"))
        for line in lines(series, width=out.width):
            out.print(Text(line), soft_wrap=True)
        out.print()
    _say_rest(found)
    if html is not None:
        html.write_text(page(found), encoding="utf-8")
        out.print(f"page: {html}", markup=False, soft_wrap=True)


def _why_no_series(runs: Sequence[RunRow]) -> str:
    from wirebench.duel.plan import STUDY as DUEL

    if not runs:
        return "there are no runs yet"
    complete = [one for one in runs if one.status == "complete"]
    if complete and all(DUEL in one.studies for one in complete):
        return (
            "there are only duels and gates, whose sides have no series, since they differ from one"
            " to the next; runs of contestants have"
        )
    return "no run is complete and can be read"


def _say_rest(found: Sequence[Series]) -> None:
    rest = len(found) - MOST_SERIES
    if rest > 0:
        error_console().print(
            f"{rest} more; --contestant and --cell choose among them, --html has all",
            highlight=False,
        )


def _index(results: Path | None) -> Index:
    from wirebench.history.index import Index

    folder = results if results is not None else find_root() / RESULTS
    if not folder.is_dir():
        if results is not None:
            raise CatalogError(f"--results: expected a folder, got {results}")
        check_folder(RESULTS, folder)
        folder.mkdir()
    said = error_console()
    return Index(folder, reading=lambda run: said.print(f"reading {run}", highlight=False))
