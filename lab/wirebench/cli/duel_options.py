"""Options of the commands that measure servers of one's own: the load, the servers, the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from wirebench.catalog import CatalogError
from wirebench.cli.arguments import MAX_BLOCKS, MAX_CONNECTIONS, MAX_RATE

LOAD = "Load"
SERVERS = "Servers"
RESULT = "Result"

UrlPath = Annotated[str, typer.Option("--path", help="Path of the request.", rich_help_panel=LOAD)]

WebSocket = Annotated[
    bool,
    typer.Option(
        "--ws",
        help="Use WebSocket; the server must echo every message.",
        rich_help_panel=LOAD,
    ),
]

Tls = Annotated[
    bool,
    typer.Option(
        "--tls",
        help="The servers speak TLS. Trust their certificate with --wireload '--cacert FILE'.",
        rich_help_panel=LOAD,
    ),
]

Connections = Annotated[
    int,
    typer.Option(
        "--connections",
        "-c",
        min=1,
        max=MAX_CONNECTIONS,
        help="Connections kept open.",
        rich_help_panel=LOAD,
    ),
]

Rate = Annotated[
    float | None,
    typer.Option(
        "--rate",
        min=0.1,
        max=MAX_RATE,
        help=(
            "Requests a second, the same for all: compares latency and CPU at this rate."
            " Default: as fast as each can."
        ),
        rich_help_panel=LOAD,
    ),
]

Wireload = Annotated[
    list[str] | None,
    typer.Option(
        "--wireload",
        metavar="OPTIONS",
        help=(
            "Options of wireload for the request and the reply that is right, such as"
            " '-m POST -b {} --expect-status 201' or '--requests-file FILE'; of the load"
            " --pipeline and --timeout."
        ),
        rich_help_panel=LOAD,
    ),
]

Warmup = Annotated[
    str,
    typer.Option(
        "--warmup",
        help=(
            "Load before each window. Servers start anew for each block, so give those with a"
            " just-in-time compiler what it needs: 1s for Node.js, 10s for the JVM."
        ),
        rich_help_panel=LOAD,
    ),
]

Window = Annotated[
    str, typer.Option("--window", help="Measured in each trial.", rich_help_panel=LOAD)
]

Turns = Annotated[
    bool,
    typer.Option(
        "--turns/--no-turns",
        help=(
            "The servers run side by side and are under load in turns of some hundredths of a"
            " second, so that what disturbs the host disturbs all alike; not with --rate."
            " --no-turns, and with --rate: one server runs at a time."
        ),
        rich_help_panel=LOAD,
    ),
]

Cwd = Annotated[
    Path | None,
    typer.Option("--cwd", help="Where the commands run.", rich_help_panel=SERVERS),
]

Env = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME=VALUE",
        help="A variable of the servers; {port} in it is the port.",
        rich_help_panel=SERVERS,
    ),
]

Ready = Annotated[
    str | None,
    typer.Option(
        "--ready",
        metavar="PATH",
        help=(
            "The server counts as ready when GET PATH returns 2xx or 3xx. Default: when it accepts"
            " connections."
        ),
        rich_help_panel=SERVERS,
    ),
]

StartTimeout = Annotated[
    str,
    typer.Option("--start-timeout", help="How long a server may take.", rich_help_panel=SERVERS),
]

Git = Annotated[
    str | None,
    typer.Option(
        "--git",
        metavar="BASE..HEAD",
        help="Compare two revisions of this repository, in work trees that are removed.",
        rich_help_panel=SERVERS,
    ),
]

Build = Annotated[
    str | None,
    typer.Option(
        "--build", metavar="CMD", help="With --git: builds each.", rich_help_panel=SERVERS
    ),
]

Budget = Annotated[
    str,
    typer.Option(
        "--budget",
        help="The time for measuring, with the search for turns.",
        rich_help_panel=RESULT,
    ),
]

Blocks = Annotated[
    int | None,
    typer.Option(
        "--blocks",
        min=1,
        max=MAX_BLOCKS,
        help="Exactly this many blocks, in place of --budget.",
        rich_help_panel=RESULT,
    ),
]

Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", min=0, help="Seed of the random order of trials.", rich_help_panel=RESULT
    ),
]

Out = Annotated[
    Path | None,
    typer.Option("--out", help="The folder for the run's directory.", rich_help_panel=RESULT),
]


OF_COMMANDS = ("cwd", "env", "ready", "start_timeout")
"""The parameters that say how a command's server is started."""


def check_effects(
    written: Mapping[str, str],
    words: Sequence[str],
    *,
    turns: bool,
    rate: float | None,
    blocks: int | None,
) -> None:
    """``CatalogError`` where an option that was given would change nothing. ``written``: what was
    given, by the parameter's name.
    """
    from wirebench.duel.sides import address_of

    unused = [written[name] for name in OF_COMMANDS if name in written]
    if unused and words and all(address_of(word) is not None for word in words):
        raise CatalogError(
            f"{', '.join(unused)}: expected a command that starts a server, got only addresses of"
            " servers that run already; leave it out, or give a command"
        )
    if "turns" in written and turns and rate is not None:
        raise CatalogError(
            "--turns: expected no --rate with it: at a rate, one server is measured after another;"
            " leave out one of them"
        )
    if "budget" in written and blocks is not None:
        raise CatalogError(
            "--budget: expected no --blocks with it: so many blocks are measured, however long they"
            " take; leave out one of them"
        )
