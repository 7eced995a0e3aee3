"""``wirebench footprint``: what it costs to depend on a library."""

from __future__ import annotations

import datetime
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from wirebench.catalog import Catalog, CatalogError, Contestant
from wirebench.catalog.model import Role
from wirebench.cli.arguments import (
    Jobs,
    Selectors,
    check_folder,
    check_outputs,
    default_jobs,
    open_catalog,
)
from wirebench.cli.console import EXIT_FAILED, console, error_console, say_warning
from wirebench.cli.report import RESULTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console
    from rich.status import Status

    from wirebench.footprint.baseline import Baseline
    from wirebench.footprint.model import Footprint
    from wirebench.footprint.osv import Entry
    from wirebench.footprint.table import Column
    from wirebench.process.types import Program

_SERVER_OF_CLIENTS = "cpp/floor"


def register(app: typer.Typer) -> None:
    app.command("footprint")(footprint)


def footprint(
    selectors: Selectors = None,
    sort: Annotated[
        str,
        typer.Option(
            "--sort",
            metavar="COLUMN",
            help=(
                "contestant, packages, download, installed, copyleft, age, build, cpu, rebuild,"
                " ships, start, idle or vulnerabilities; the least first."
            ),
        ),
    ] = "contestant",
    packages: Annotated[
        bool, typer.Option("--packages", help="Also list each package with version and licence.")
    ] = False,
    features: Annotated[
        bool,
        typer.Option(
            "--features",
            help="Also say what one includes and links, and what servers speak, by probes.",
        ),
    ] = False,
    osv: Annotated[
        Path | None,
        typer.Option(
            "--osv",
            metavar="DIR",
            help=(
                "Look for known vulnerabilities in this snapshot: OSV entries as JSON files, or zip"
                " archives of them."
            ),
        ),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(
            "--role",
            metavar="ROLE",
            help="server or client: what of one with both roles is built, ships and starts."
            " Default: the server, where there is one.",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Measure again what is known already.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write everything here.")
    ] = None,
    markdown_file: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Also write the table here.")
    ] = None,
    jobs: Jobs = None,
) -> None:
    """Say what depending on a library costs: packages, bytes, licences, build time, what one ships,
    start and idle memory.

    All by the package managers' own data, and by one build of each contestant from nothing. What is
    measured is kept in results/footprint until sources, tools or system packages change, for
    'decide' and reports too. Exit code 1: one could not be built.
    """
    from wirebench.footprint.measure import usual_role
    from wirebench.footprint.model import FootprintError
    from wirebench.footprint.osv import read_snapshot
    from wirebench.footprint.records import FOLDER
    from wirebench.footprint.table import SORTS

    if sort not in SORTS:
        raise CatalogError(f"--sort: expected one of {', '.join(SORTS)}, got {sort!r}")
    if role not in (None, *get_args(Role)):
        raise CatalogError(f"--role: expected {' or '.join(get_args(Role))}, got {role!r}")
    check_outputs({"--json": json_file, "--markdown": markdown_file})
    if osv is not None and not osv.is_dir():
        raise CatalogError(f"--osv: expected a folder, got {osv}")
    try:
        entries = read_snapshot(osv) if osv is not None else ()
    except FootprintError as error:
        raise CatalogError(f"--osv: {error}") from error
    catalog = open_catalog()
    check_folder(RESULTS, catalog.root / RESULTS / FOLDER)
    chosen = [
        (one, as_)
        for one in catalog.select(selectors or ())
        if one.disabled is None and (as_ := role or usual_role(one)) in one.roles
    ]
    for one in catalog.select(selectors) if selectors else ():
        if one.disabled is not None:
            say_warning(f"{one.identity}: disabled: {one.disabled.reason}")
        elif role is not None and role not in one.roles:
            say_warning(f"{one.identity}: it is no {role}")
    if role is not None and not chosen:
        raise CatalogError(f"--role {role}: none of the contestants is one")
    found, missing = _measured(catalog, chosen, jobs=default_jobs(jobs), again=again)
    found = _audited(catalog.root / RESULTS, found, entries)
    _show(catalog, found, sort, packages=packages, features=features)
    for one, reason in missing:
        say_warning(f"{one.identity}: {reason}")
    _write(found, sort, json_file, markdown_file)
    if missing:
        raise typer.Exit(EXIT_FAILED)


# --- measuring ------------------------------------------------------------------------------------


def _measured(
    catalog: Catalog, chosen: Sequence[tuple[Contestant, Role]], *, jobs: int, again: bool
) -> tuple[list[Footprint], list[tuple[Contestant, str]]]:
    from wirebench.build import build
    from wirebench.build.cache import build_key
    from wirebench.footprint import records
    from wirebench.footprint.measure import measure
    from wirebench.host import capture, presences
    from wirebench.process.interrupt import interruptible
    from wirebench.process.supervise import Supervisor

    results = catalog.root / RESULTS
    present = presences([one for one, _ in chosen])
    found: list[Footprint] = []
    missing: list[tuple[Contestant, str]] = []
    said = error_console()
    with interruptible(), said.status("") as status:
        waiting = []
        for one, role in chosen:
            kept = records.read(results, one.identity, role)
            complete = present[one.identity].complete
            key = build_key(one, catalog.root, present[one.identity]) if complete else ""
            if kept is not None and kept.key == key and not again:
                found.append(kept)
            else:
                waiting.append((one, role, key))
        if not waiting:
            return found, missing
        host_id = capture().host_id
        with Supervisor() as supervisor:
            for one, role, key in waiting:
                status.update(f"{one.identity}: building")
                built = build(one, catalog.root, jobs=jobs, roles=[role])
                if built.folder is None:
                    missing.append((one, built.message))
                    continue
                result = measure(
                    one,
                    role,
                    root=catalog.root,
                    build=built.folder,
                    key=key,
                    host_id=host_id,
                    jobs=jobs,
                    supervisor=supervisor,
                    client_server=lambda: _server_of_clients(catalog, jobs),
                    doing=partial(_say, status, one.identity),
                )
                records.write(results, result)
                found.append(result)
    return found, missing


def _say(status: Status, name: str, text: str) -> None:
    status.update(f"{name}: {text}")


def _server_of_clients(catalog: Catalog, jobs: int) -> Program:
    from wirebench.build import build, resolve_command
    from wirebench.footprint.model import FootprintError
    from wirebench.process.types import Program

    server = catalog.contestants.get(_SERVER_OF_CLIENTS)
    if server is None:
        raise FootprintError(f"clients are called by no server: there is no {_SERVER_OF_CLIENTS}")
    built = build(server, catalog.root, jobs=jobs, roles=["server"])
    if built.folder is None:
        raise FootprintError(f"{_SERVER_OF_CLIENTS}, which clients call: {built.message}")
    argv = tuple(resolve_command(server, built.folder, "server"))
    return Program(argv=argv, folder=built.folder)


def _audited(
    results: Path, found: Sequence[Footprint], entries: Sequence[Entry]
) -> list[Footprint]:
    """With what the snapshot says, which is kept with the footprint."""
    from dataclasses import replace

    from wirebench.footprint import records
    from wirebench.footprint.osv import audit, date_of, index_of

    if not entries:
        return list(found)
    # Only packages of a distribution are audited under another name.
    if any(it.audited and not it.ecosystem for one in found for it in one.of_part("library")):
        say_warning(
            "--osv: the ID in /etc/os-release is none whose name in OSV is known, so packages of"
            " the distribution are not checked"
        )
    index, snapshot = index_of(entries), date_of(entries)
    checked = []
    for one in found:
        answer = audit(one.of_part("library"), index, snapshot=snapshot)
        checked.append(replace(one, audit=answer))
        records.write(results, checked[-1])
    return checked


# --- showing --------------------------------------------------------------------------------------


def _show(
    catalog: Catalog, found: Sequence[Footprint], sort: str, *, packages: bool, features: bool
) -> None:
    from wirebench.footprint.baseline import baselines
    from wirebench.footprint.measure import asker
    from wirebench.footprint.table import (
        DEPENDING,
        HOW,
        columns_of,
        in_order,
        reasons,
        warnings,
    )

    if not found:
        return
    out, today = console(), datetime.datetime.now(datetime.UTC).date()
    ordered = in_order(found, sort, today)
    columns = columns_of(found)
    whole = _table(ordered, columns, today)
    if Measurement.get(out, out.options, whole).maximum < out.width:
        tables = [whole]
    else:
        tables = [_table(ordered, part, today) for part in (DEPENDING, columns[len(DEPENDING) :])]
    for table in tables:
        out.print(table)
        out.print()
    out.print(Text(HOW, style="dim"))
    _print_baselines(
        out, baselines([one.contestant.partition("/")[0] for one in ordered], asker(catalog.root))
    )
    for line in reasons(ordered, columns, today):
        out.print(Text(line, style="dim"))
    for one in ordered:
        for line in warnings(one):
            out.print(Text.assemble((one.contestant, "yellow"), f": {line}"))
    for line in _snapshots(ordered):
        out.print(Text(line))
    if features:
        _print_features(out, ordered)
    if packages:
        for one in ordered:
            _print_packages(out, one)


def _snapshots(found: Sequence[Footprint]) -> Iterator[str]:
    """A line for each snapshot of advisories: its date, and what it leaves open."""
    for date in sorted({one.audit.snapshot for one in found if one.audit is not None}):
        without = sorted(
            {
                name
                for one in found
                if one.audit is not None and one.audit.snapshot == date
                for name in one.audit.unchecked
            }
        )
        rest = f"; it does not clear {', '.join(without)}" if without else ""
        yield f"Vulnerabilities by the OSV snapshot of {date}{rest}."


def _table(found: Sequence[Footprint], columns: Sequence[Column], today: datetime.date) -> Table:
    from wirebench.footprint.table import NOT_KNOWN, field

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("contestant", overflow="fold")
    table.add_column("as")
    for column in columns:
        table.add_column(column.title, justify="right")
    for one in found:
        texts = [field(one, column, today) for column in columns]
        table.add_row(
            Text(one.contestant),
            Text(one.role),
            *(Text(text, style="dim" if text == NOT_KNOWN else "") for text in texts),
        )
    return table


def _print_baselines(out: Console, found: Sequence[Baseline]) -> None:
    from wirebench.catalog.units import BYTES, scaled

    for one in found:
        size = f", {scaled(one.bytes, BYTES)}" if one.bytes is not None else ""
        out.print(Text(f"Every program of {one.language} has: {one.text}{size}.", style="dim"))


def _print_features(out: Console, found: Sequence[Footprint]) -> None:
    from wirebench.catalog.model import FEATURES
    from wirebench.footprint.table import HOW_FEATURES, HOW_USING, USING, spoken, used

    using = [(one.contestant, *used(one)) for one in found if one.using is not None]
    speaking = [(one.contestant, *map(spoken, one.features)) for one in found if one.features]
    for titles, rows, how in ((USING, using, HOW_USING), (FEATURES, speaking, HOW_FEATURES)):
        if not rows:
            continue
        table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
        for title in ("contestant", *titles):
            table.add_column(title, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        out.print()
        out.print(table)
        out.print(Text(how, style="dim"))


def _print_packages(out: Console, one: Footprint) -> None:
    from wirebench.catalog.units import BYTES, scaled

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold", title_justify="left")
    for title in (one.contestant, "version", "licence", "installed", "cost of"):
        table.add_column(title, overflow="fold")
    for package in sorted(one.packages, key=lambda it: (it.part != "library", not it.direct)):
        size = package.installed_bytes
        table.add_row(
            Text(package.name, style="bold" if package.direct else ""),
            Text(package.version),
            Text(package.licence or "not told"),
            Text(scaled(size, BYTES) if size is not None else "not known"),
            Text({"library": "the library", "json": "JSON"}.get(package.part, "nobody")),
        )
    out.print()
    out.print(table)
    for piece in one.pieces:
        out.print(Text(f"  ships {piece.name}: {scaled(piece.bytes, BYTES)}"))


def _write(
    found: Sequence[Footprint], sort: str, json_file: Path | None, markdown_file: Path | None
) -> None:
    from wirebench.footprint.table import (
        FIGURES_FROM,
        HOW,
        columns_of,
        heads,
        in_order,
        reasons,
        rows,
        warnings,
    )
    from wirebench.report.markdown import one_line, table

    today = datetime.datetime.now(datetime.UTC).date()
    ordered = in_order(found, sort, today)
    if json_file is not None:
        text = json.dumps(_document(ordered), indent=2, ensure_ascii=False)
        json_file.write_text(text + "\n", encoding="utf-8")
    if markdown_file is not None:
        columns = columns_of(ordered)
        titles = heads(columns)
        figures = range(FIGURES_FROM, len(titles))
        lines = [*table(titles, rows(ordered, columns, today), figures=figures), "", HOW, ""]
        remarks = [
            *reasons(ordered, columns, today),
            *(f"{one.contestant}: {line}" for one in ordered for line in warnings(one)),
            *_snapshots(ordered),
        ]
        lines += [f"- {one_line(line)}" for line in remarks]
        markdown_file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _document(found: Sequence[Footprint]) -> dict[str, Any]:
    from wirebench.footprint.records import document_of

    totals = (
        "dependencies",
        "direct",
        "download_bytes",
        "installed_bytes",
        "shipped_bytes",
        "vulnerabilities",
    )
    return {
        "schema": "wirebench-footprint/1",
        "footprints": [
            document_of(one)
            | {name: getattr(one, name) for name in totals}
            | {
                "unknown": {
                    **one.unknown,
                    **{
                        name: one.why_unknown(name) for name in totals if getattr(one, name) is None
                    },
                }
            }
            for one in found
        ],
    }
