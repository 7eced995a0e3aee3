"""Client contestants and the server that they call, outside a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.table import Table
from rich.text import Text

from wirebench.catalog import Catalog, CatalogError, find_root
from wirebench.catalog.contestants import STUDIES
from wirebench.catalog.loads import ClientLoad
from wirebench.catalog.model import TLS_SCHEMES, Scheme, Workload
from wirebench.catalog.published import cells_of
from wirebench.catalog.studies import Cell
from wirebench.catalog.study_files import load_studies
from wirebench.cli.arguments import check_folder, open_catalog, say_left_out
from wirebench.cli.console import console, error_console, say_warning
from wirebench.cli.report import RESULTS
from wirebench.plan.choose import takes_part
from wirebench.process.types import Program

# Imported where it is used: it brings NumPy, and --help should not wait for that.
if TYPE_CHECKING:
    from wirebench.process.supervise import Supervisor
    from wirebench.report.observed import Rows
    from wirebench.store.observed import Kind

STUDY = "roundtrip"
"""The study of clients, whose servers these are."""


class NoServerError(Exception):
    """None of the servers can run here."""


def server_for(
    catalog: Catalog, workload: Workload, scheme: Scheme, *, jobs: int, name: str | None = None
) -> Program:
    """The study's preferred server of those that can be built; with ``name`` that one."""
    from wirebench.build import build, resolve_command

    names = load_studies(catalog.root / STUDIES)[STUDY].servers if name is None else (name,)
    known = [catalog.contestants[one] for one in names if one in catalog.contestants]
    for server in known:
        if workload not in server.serves or (scheme in TLS_SCHEMES and not server.tls):
            continue
        built = build(server, catalog.root, jobs=jobs)
        if built.folder is not None:
            argv = tuple(resolve_command(server, built.folder, "server"))
            return Program(argv=argv, folder=built.folder)
    raise NoServerError(f"none of its servers can run here: {', '.join(names)}")


def check_kept(kind: Kind) -> None:
    """``CatalogError`` where ``keep()`` could not write, before it takes time to have something."""
    from wirebench.store.observed import FOLDER

    check_folder(RESULTS, find_root() / RESULTS / FOLDER / kind)


def keep(kind: Kind, cell: Cell, operations: int, found: Mapping[str, Mapping[str, float]]) -> None:
    """For the reports of runs: what was seen of each contestant."""
    from wirebench.host import capture
    from wirebench.store.observed import Observed, write

    catalog = open_catalog()
    host_id = capture().host_id
    for name, figures in found.items():
        one = Observed(
            kind=kind,
            cell=cell.id,
            contestant=name,
            version=catalog.contestants[name].version,
            host_id=host_id,
            operations=operations,
            figures=figures,
        )
        write(catalog.root / RESULTS, one)


def show(title: str, table: Rows) -> None:
    out = console()
    out.print(Text(title, style="bold"))
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    shown.add_column("contestant", no_wrap=True)
    for column in table.columns:
        if column == "of which":
            shown.add_column(column, overflow="fold")
        else:
            shown.add_column(column, justify="right", no_wrap=True)
    for row in table.rows:
        shown.add_row(*map(Text, row))
    out.print(shown)


CellName = Annotated[
    str, typer.Option("--cell", metavar="CELL", help="A cell of roundtrip: what is asked for.")
]
Found = TypeVar("Found")


def find_cell(catalog: Catalog, name: str, *, workload: Workload | None = None) -> Cell:
    """``workload``: the only one that is taken; None: any."""
    every = cells_of(load_studies(catalog.root / STUDIES)[STUDY])
    known = {key: one for key, one in every.items() if workload in (None, one.workload)}
    if name not in known:
        raise CatalogError(f"--cell: expected one of {', '.join(known)}, got {name!r}")
    return known[name]


def measure_clients(
    selectors: Sequence[str] | None,
    cell: str,
    jobs: int,
    measure: Callable[[Program, Program, ClientLoad, Workload, Supervisor], Found],
) -> tuple[Cell, dict[str, Found], bool]:
    """Build each chosen client that can be in the cell, and ``measure`` it: client, server, load,
    workload. Returns the cell, what was found by contestant, and whether there is something for
    each of them; what there is not is said.
    """
    from wirebench.build import build, resolve_command
    from wirebench.process.interrupt import interruptible
    from wirebench.process.supervise import Supervisor
    from wirebench.trial.calling import CallError

    catalog = open_catalog()
    wanted = find_cell(catalog, cell)
    load = wanted.load
    if not isinstance(load, ClientLoad):
        raise TypeError(f"{wanted.id}: expected a load for a client")
    chosen = [
        one
        for one in catalog.select(selectors or ())
        if takes_part(one, wanted) and one.disabled is None
    ]
    wanted_client = f"client of {load.scheme} that sends {load.method}"
    if not chosen:
        raise CatalogError(f"CONTESTANT: expected a {wanted_client}, got none")
    say_left_out(catalog, selectors, {one.identity for one in chosen}, why=f"no {wanted_client}")
    found: dict[str, Found] = {}
    with interruptible(), Supervisor() as supervisor, error_console().status("") as status:
        for one in chosen:
            status.update(one.identity)
            built = build(one, catalog.root, jobs=jobs)
            if built.folder is None:
                say_warning(f"{one.identity}: {built.message}")
                continue
            argv = tuple(resolve_command(one, built.folder, "client"))
            try:
                server = server_for(
                    catalog, wanted.workload, load.scheme, jobs=jobs, name=load.server
                )
                found[one.identity] = measure(
                    Program(argv=argv, folder=built.folder),
                    server,
                    load,
                    wanted.workload,
                    supervisor,
                )
            except (CallError, NoServerError) as error:
                say_warning(f"{one.identity}: {error}")
    return wanted, found, len(found) == len(chosen)
