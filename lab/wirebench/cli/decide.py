"""``wirebench decide``: who meets what you need, by the runs of this host."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from wirebench.catalog import CatalogError, find_root, load_catalog
from wirebench.catalog.model import SCHEMES, WORKLOADS
from wirebench.cli.arguments import check_finite, check_known, check_output
from wirebench.cli.console import (
    EXIT_FAILED,
    EXIT_OK,
    console,
    error_console,
    for_tables,
    write_plainly,
)
from wirebench.cli.report import RESULTS
from wirebench.decide.question import RATE_PER_S
from wirebench.decide.text import alike, headline, rank_text, sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wirebench.decide.question import Candidate, Decision, Finding, Question, State

_LIMITS = "Limits"
_NO_RUNS = "there is no complete run yet; 'wirebench quick' makes one"


def register(app: typer.Typer) -> None:
    app.command("decide")(decide)


def decide(
    workload: Annotated[
        str | None,
        typer.Option("--workload", metavar="NAME", help=f"A server of {', '.join(WORKLOADS)}."),
    ] = None,
    client: Annotated[
        str | None,
        typer.Option("--client", metavar="SCHEME", help=f"Or a client of {', '.join(SCHEMES)}."),
    ] = None,
    connections: Annotated[
        int | None,
        typer.Option(
            "--connections",
            min=1,
            help="Of a server; the next larger rung counts. Default: the smallest rung. --p99 and"
            " --cpu are borderline where only fewer connections were measured.",
        ),
    ] = None,
    tls: Annotated[
        bool,
        typer.Option(
            "--tls",
            help="The server speaks TLS. Where no cell measures it over TLS, its manifest or"
            " footprint says whether it does, and the figures are those without.",
        ),
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(
            "--rate",
            min=0,
            help="Of a server: the load, per second, at which --p99 and --cpu are looked up."
            f" Default: {RATE_PER_S:g}.",
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by", help="The order: throughput (round trip of a client), cpu, p99, memory."
        ),
    ] = "throughput",
    languages: Annotated[
        list[str] | None,
        typer.Option(
            "--language", metavar="NAME", help="Repeatable: any of them.", rich_help_panel=_LIMITS
        ),
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option(
            "--licence",
            metavar="SPDX",
            help="'permissive', or licences to choose from, such as 'MIT OR Apache-2.0'.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    p99: Annotated[
        str | None,
        typer.Option(
            "--p99", metavar="TIME", help="At most, such as 20ms.", rich_help_panel=_LIMITS
        ),
    ] = None,
    cpu: Annotated[
        str | None,
        typer.Option(
            "--cpu",
            metavar="TIME",
            help="CPU for each request at most, such as 20us.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    throughput: Annotated[
        float | None,
        typer.Option(
            "--throughput", min=0, help="Requests/s of a server at least.", rich_help_panel=_LIMITS
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory-per-connection",
            metavar="SIZE",
            help="At most, such as 10KiB.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    total_memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Of a server in total at most, at its peak, such as 50MiB.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    must: Annotated[
        list[str] | None,
        typer.Option(
            "--must",
            metavar="RFC",
            help="A server breaks no MUST of it, such as rfc9112; repeatable.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    max_installed: Annotated[
        str | None,
        typer.Option(
            "--max-installed",
            metavar="SIZE",
            help="What its dependencies take on disk, such as 50MB; see 'footprint'.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    max_dependencies: Annotated[
        int | None,
        typer.Option(
            "--max-dependencies",
            min=0,
            help="How many packages it brings, directly or not; see 'footprint'.",
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write the answer here.")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results", metavar="DIR", help="The folder of the runs. Default: 'results'."
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            "--host",
            metavar="ID",
            help="The host whose runs count. Default: that of the newest run.",
        ),
    ] = None,
) -> None:
    """Say which libraries meet what you need, by the complete runs that this host has.

    Of each cell and library the newest run counts. Libraries that cannot be told apart stay
    together.
    Everybody else is listed with the figure that excludes it, or with the command that would make
    known what is not. Exit code 1: nobody is known to meet all limits.
    """
    from wirebench.catalog.contestants import STUDIES
    from wirebench.catalog.study_files import load_studies
    from wirebench.decide.ask import Asked, QuestionError, question_of
    from wirebench.decide.judge import decide as judged
    from wirebench.decide.known import read_known
    from wirebench.decide.places import is_wanted, looked_up
    from wirebench.store.rundir import complete_runs

    check_finite("--rate", rate)
    check_finite("--throughput", throughput)
    check_output("--json", json_file)
    root = find_root()
    catalog = load_catalog(root)
    asked = Asked(
        workload=workload,
        client=client,
        connections=connections,
        rate=rate,
        tls=tls,
        by=by,
        languages=languages or (),
        licence=licence,
        p99=p99,
        cpu=cpu,
        throughput=throughput,
        memory=memory,
        total_memory=total_memory,
        must=must or (),
        max_installed=max_installed,
        max_dependencies=max_dependencies,
    )
    try:
        question = question_of(asked, languages=catalog.languages)
    except QuestionError as error:
        raise CatalogError(f"--{error.field}: {error}" if error.field else str(error)) from error
    folder = results if results is not None else root / RESULTS
    if not folder.is_dir():
        raise CatalogError(
            f"--results: expected a folder of runs, got {folder}; 'wirebench quick' makes a run"
        )
    if host is not None:
        hosts = [one for _, one in complete_runs(folder)]
        check_known("--host", host, hosts, nothing=_NO_RUNS)
    said = error_console()
    studies = load_studies(root / STUDIES).values()
    looked = looked_up(question, studies)
    known = read_known(
        folder,
        wanted=lambda role, cell: is_wanted(looked, role, cell),
        role=question.role,
        host_id=host,
        reading=lambda run: said.print(f"reading {run}", highlight=False),
    )
    decision = judged(question, known, catalog, studies)
    _print(decision)
    if json_file is not None:
        text = json.dumps(_document(question, decision), indent=2, ensure_ascii=False)
        write_plainly(json_file, f"{text}\n")
    raise typer.Exit(EXIT_OK if decision.shortlist else EXIT_FAILED)


# --- the answer -----------------------------------------------------------------------------------


def _print(decision: Decision) -> None:
    out = console()
    if not decision.host_id:
        out.print(f"Nothing is measured: {_NO_RUNS}.", highlight=False)
    if decision.shortlist:
        out.print(Text(headline(decision)), soft_wrap=True)
        table = _shortlist(decision)
        for_tables(out, table).print(table)
        for limit, places in sources(decision).items():
            out.print(Text(f"  {limit}: {', '.join(places)}", style="dim"), soft_wrap=True)
    else:
        out.print(Text("Nobody is known to meet all of that."))
    groups: tuple[tuple[str, State, Sequence[Candidate]], ...] = (
        ("Excluded", "fails", decision.excluded),
        ("Not known", "unknown", decision.unknown),
    )
    for heading, state, found in groups:
        if found:
            out.print(Text(f"\n{heading}", style="bold"))
        for reasons, names in alike(found, state).items():
            text = "; ".join(_reason(one) for one in reasons)
            out.print(Text(f"  {', '.join(names)}: {text}"), soft_wrap=True)
            for command in dict.fromkeys(one.command for one in reasons if one.command):
                line = f"    {command.format(','.join(names))}"
                out.print(Text(line, style="dim"), soft_wrap=True)


def _reason(one: Finding) -> str:
    from wirebench.report.figures import visible

    # A failure's text comes from the contestant.
    text = " ".join(visible(one.text).split())
    return f"{one.limit}: {text}" + (f" ({one.where})" if one.where else "")


def _shortlist(decision: Decision) -> Table:
    limits = list(dict.fromkeys(it.limit for one in decision.shortlist for it in one.findings))
    table = Table(box=None, padding=(0, 1), header_style="bold")
    table.add_column("rank", justify="right")
    table.add_column("contestant", no_wrap=True)
    table.add_column("figure", justify="right")
    for limit in limits:
        table.add_column(limit)
    for one in decision.shortlist:
        found = {it.limit: it for it in one.findings}
        table.add_row(
            Text(rank_text(one)),
            Text(one.contestant),
            Text(one.figure),
            *(Text(found[limit].text) for limit in limits),
        )
    return table


def _document(question: Question, decision: Decision) -> dict[str, object]:
    answer = asdict(decision)
    for part in ("shortlist", "excluded", "unknown"):
        for one in answer[part]:
            for finding in one["findings"]:
                if finding["command"]:
                    finding["command"] = finding["command"].format(one["contestant"])
    return {"schema": "wirebench-decision/1", "question": asdict(question)} | answer
