"""``wirebench fleet load``: many generators against one server."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wirebench.catalog import CatalogError, UnavailableError
from wirebench.cli.arguments import check_finite, check_folder, check_output
from wirebench.cli.console import (
    EXIT_FAILED,
    EXIT_OK,
    EXIT_UNAVAILABLE,
    console,
    fail,
    say_warning,
    write_file,
)
from wirebench.run.session import NOTHING_VALID

if TYPE_CHECKING:
    from wirebench.fleet.together import Whole

_OWN_FILES = {"load", "merged"}
"""Besides those of the hosts, by their names."""

_WITHOUT = "the load goes on without it"


def load(
    words: Annotated[
        list[str],
        typer.Argument(metavar="-- OPTIONS URL", help="wireload's, such as -c 500 -d 30s URL."),
    ],
    fleet: Annotated[
        Path, typer.Option("--fleet", metavar="FILE", help="The hosts. Default: fleet.toml.")
    ] = Path("fleet.toml"),
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="HOST",
            help=(
                "The host of the fleet that the URL leads to: it gets no generator, and the link"
                " of each generator to it is measured first."
            ),
        ),
    ] = None,
    wait_s: Annotated[
        float,
        typer.Option("--wait", min=0, metavar="SECONDS", help="How long to wait for hosts."),
    ] = 60.0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Write load.json, the merged log of histograms, and what each generator told.",
        ),
    ] = None,
    html_file: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="One offline page: latency by percentile and over time, the generators, the link.",
        ),
    ] = None,
) -> None:
    """Load one server with a generator on each host of the fleet.

    All connect, then begin at one moment. A rate and a number of requests are of all together;
    connections are each generator's own. Histograms are merged without loss.

    The result is void, and the exit code 3, when the starts differ by more than 1% of the window,
    or when a generator was the limit and not the server. It is 1 when there were errors, and 69
    when a host could not take part, or a file could not be written.
    """
    from wirebench.fleet.hosts import read_fleet
    from wirebench.fleet.quiet import make_quiet

    check_finite("--wait", wait_s)
    file = read_fleet(fleet)
    if server is not None and server not in file.hosts:
        raise CatalogError(f"--server: expected one of {', '.join(file.hosts)}, got {server!r}")
    check_folder("--out", out)
    if out is not None and (taken := _OWN_FILES & set(file.hosts)):
        name = min(taken)
        raise CatalogError(
            f"{file.path}: hosts.{name}: --out has a file of this name of its own; give the host"
            " another name, or leave --out out"
        )
    check_output("--html", html_file)
    make_quiet()
    from wirebench.fleet.bundles import pack_programs
    from wirebench.fleet.cluster import Cluster, HostError
    from wirebench.fleet.generators import Generators, check_words
    from wirebench.fleet.load_text import lines, page
    from wirebench.fleet.parity import refusals
    from wirebench.fleet.session import describe_hosts
    from wirebench.process.native import find_native, missing_native
    from wirebench.run.local import GENERATOR

    check_words(words)
    program = find_native(GENERATOR)
    if program is None:
        raise CatalogError(missing_native(GENERATOR))
    screen = console()

    def say(line: str) -> None:
        screen.print(line, markup=False, highlight=False, soft_wrap=True)

    with Cluster(file) as cluster:
        missing = cluster.wait_for(set(file.hosts), timeout_s=wait_s)
        absent = {
            name: cluster.failure(name) or f"host {name}: expected its worker, got none"
            for name in sorted(missing)
        }
        if server in absent:
            raise UnavailableError(f"{file.path}: {absent[server]}")
        for why in absent.values():
            say_warning(f"{why}; {_WITHOUT}")
        if not cluster.idle:
            raise file.without_workers(wait_s)
        generators = Generators(
            hosts=cluster,
            programs=pack_programs([program]),
            words=words,
            name=time.strftime("%Y%m%dT%H%M%SZ-load", time.gmtime()),
            say=say,
            server=server,
        )
        try:
            if refused := refusals(describe_hosts(cluster, [])):
                raise HostError("; ".join(refused))
            whole = generators.run()
        except HostError as error:
            fail(f"the load did not take place: {error}", code=EXIT_UNAVAILABLE)
    for line in lines(whole):
        say(line)
    written = [write(whole, out)] if out is not None else []
    if html_file is not None:
        written.append(write_file(html_file, page(whole, words)))
    if whole.void:
        raise typer.Exit(NOTHING_VALID)
    if whole.errors:
        raise typer.Exit(EXIT_FAILED)
    raise typer.Exit(EXIT_OK if all(written) else EXIT_UNAVAILABLE)


def write(whole: Whole, folder: Path) -> bool:
    """``load.json``, ``merged.hlog``, and each host's own document and log. Whether they could be
    written; it is said where not.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "load.json").write_text(json.dumps(whole.to_json(), indent=1) + "\n", "utf-8")
        (folder / "merged.hlog").write_text(whole.series, "utf-8")
        for one in whole.parts:
            (folder / f"{one.host}.json").write_text(json.dumps(one.raw) + "\n", "utf-8")
            (folder / f"{one.host}.hlog").write_text(one.log, "utf-8")
    except OSError as error:
        say_warning(f"{folder}: not written: {error.strerror}")
        return False
    return True
