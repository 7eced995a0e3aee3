"""``wirebench conformance``: how well any server, given by its address, follows the standards."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer
from rich.text import Text

from wirebench.catalog import CatalogError
from wirebench.catalog.units import count_of
from wirebench.cli.arguments import check_output, refuse_beside
from wirebench.cli.console import (
    EXIT_FAILED,
    EXIT_UNAVAILABLE,
    console,
    fail,
    say_warning,
)

# Imported where it is used, so that --help does not wait for it.
if TYPE_CHECKING:
    from rich.status import Status

    from wirebench.conformance import Probe, ProbeResult, Target


def register(app: typer.Typer) -> None:
    app.command("conformance")(conformance)


def conformance(
    context: typer.Context,
    urls: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="URL...",
            help=(
                "http://HOST:PORT/PATH of a resource that answers GET with 200; ws://HOST:PORT/PATH"
                " of a WebSocket echo."
            ),
        ),
    ] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="Print every probe instead: its section, and its level.")
    ] = False,
    sections: Annotated[
        bool,
        typer.Option(
            "--sections",
            help="Print the sections instead, with their probes or why there are none.",
        ),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every probe, not only those that failed.")
    ] = False,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            help="Write all results to this file as JSON; with --list the probes, which are then"
            " not printed.",
        ),
    ] = None,
) -> None:
    """Send the probes of RFC 9110, 9112, 6455 and 7692 to a running server. Some are hostile.

    Use it on your own servers only. Exit code 0: every MUST that applies holds. 1: one does not, or
    the server ended. 69: nobody answers at the address, so nothing is known.
    """
    from wirebench.conformance import ENDED, PARTS, probes_for, run_probes

    if listing or sections:
        _list(context, json_file)
        return
    if not urls:
        raise CatalogError(
            "expected http://HOST:PORT/PATH or ws://HOST:PORT/PATH, or --list, or --sections"
        )
    check_output("--json", json_file)
    targets = {url: target_of(url) for url in urls}
    for url, target in targets.items():
        _check_served(url, target)
    results: list[ProbeResult] = []
    ended = False
    for url, target in targets.items():
        probes = list(probes_for(target, PARTS))
        with console().status("") as status:
            found = run_probes(
                target,
                probes,
                alive=partial(_listens, target),
                progress=partial(_show, status, url),
            )
        results += found
        if found[-1].received.endswith(ENDED):
            ended = True
            say_warning(
                f"{url}: the server ended at {found[-1].part}.{found[-1].id};"
                f" {count_of(len(probes) - len(found), 'probe')} not sent"
            )
    for line in report(results, everything=everything):
        console().print(line, markup=False, soft_wrap=True)
    if json_file is not None:
        json_file.write_text(
            json.dumps([one.record() for one in results], indent=1) + "\n", encoding="utf-8"
        )
    if ended or any(one.level == "MUST" and one.outcome in ("failed", "closed") for one in results):
        raise typer.Exit(EXIT_FAILED)


def _check_served(url: str, target: Target) -> None:
    """End the command where nobody accepts connections: every probe would fail by that, as if the
    server broke every sentence. Warn where the resource is not what the probes need.
    """
    from wirebench.conformance.asking import connected, plain, send_and_read
    from wirebench.verify.http import PeerError
    from wirebench.verify.websocket import UPGRADE, handshake

    wanted = "GET with 200" if target.path is not None else "a WebSocket handshake with 101"
    try:
        with connected(target) as connection:
            try:
                if target.path is not None:
                    reply = send_and_read(connection, plain(target))
                    status, reason, right = reply.status, reply.reason, 200
                else:
                    path = target.websocket_path or "/"
                    answer = handshake(connection, *UPGRADE, path=path, authority=target.authority)
                    status, reason, right = answer.status, answer.reason, 101
            except PeerError:
                return  # the probes say more about it
    except PeerError as error:
        fail(f"{url}: expected a running server, got {error}", code=EXIT_UNAVAILABLE)
    if status != right:
        say_warning(
            f"{url}: expected a resource that answers {wanted}, got {status} {reason}; most probes"
            " need one"
        )


def _listens(target: Target) -> bool:
    """Whether connections are not refused. Those that take long may be behind others in the queue
    of a server that is there.
    """
    from wirebench.conformance.asking import connected
    from wirebench.verify.http import PeerError

    try:
        with connected(target):
            return True
    except PeerError as error:
        return not isinstance(error.__cause__, ConnectionRefusedError)


def _list(context: typer.Context, json_file: Path | None) -> None:
    """``--list`` or ``--sections``."""
    listing = context.params["listing"]
    option = "--list" if listing else "--sections"
    beside = ("listing", "json_file") if listing else ("sections",)
    refuse_beside(context, option, beside, why="nothing is sent to a server")
    check_output("--json", json_file)
    if json_file is not None:
        json_file.write_text(json.dumps(list_records(), indent=1) + "\n", encoding="utf-8")
        return
    for line in list_lines() if listing else section_lines():
        console().print(line, markup=False, highlight=False, soft_wrap=True)


def list_records() -> list[dict[str, str]]:
    """The probes of ``list_lines``, with the keys that their results have."""
    return [
        {
            "part": one.part,
            "id": one.id,
            "document": one.document,
            "section": one.section,
            "level": one.level,
            "sent": one.sent,
            "expected": one.expected,
        }
        for one in _every_probe()
    ]


def list_lines() -> Iterator[str]:
    """A table of all probes in Markdown, by document and section, and how many there are."""
    probes = _every_probe()
    yield "| section | level | probe | sent | expected |"
    yield "|---|---|---|---|---|"
    for one in probes:
        cells = (
            f"{one.document} {one.section}",
            one.level,
            f"{one.part}.{one.id}",
            one.sent,
            one.expected,
        )
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield ""
    counts = Counter(one.level for one in probes)
    yield ", ".join(f"{counts[level]} {level}" for level in ("MUST", "SHOULD", "MAY"))


def section_lines() -> Iterator[str]:
    """A table of the sections in Markdown: their probes, or why there are none."""
    from wirebench.conformance import UNPROBED

    found: dict[str, list[str]] = {}
    for one in _every_probe():
        found.setdefault(f"{one.document} {one.section}", []).append(f"`{one.part}.{one.id}`")
    rows = {section: " ".join(probes) for section, probes in found.items()} | dict(UNPROBED)
    yield "| section | probes, or why there are none |"
    yield "|---|---|"
    for section in sorted(rows, key=_section_place):
        yield f"| {section} | {rows[section]} |"


def _every_probe() -> list[Probe]:
    from wirebench.conformance import PARTS, Target, every_client_probe, probes_for

    everywhere = Target(host="127.0.0.1", port=80, path="/", websocket_path="/")
    return sorted(
        [*probes_for(everywhere, PARTS), *every_client_probe()],
        key=lambda one: (_section_place(f"{one.document} {one.section}"), one.id),
    )


def _section_place(section: str) -> tuple[str, list[int]]:
    """Where a section stands in the list: its parts as numbers, 2.2 before 10.1."""
    _, number, parts, *_ = section.split(" ")
    return number, [int(one) for one in parts.split(".")]


def target_of(url: str) -> Target:
    from wirebench.conformance import Target

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port if parts.port is not None else 80
        (host or "").encode("idna")
    except ValueError as error:
        raise CatalogError(
            f"{url}: {error}; expected http://HOST:PORT/PATH or ws://HOST:PORT/PATH"
        ) from error
    if parts.scheme not in ("http", "ws") or not host or not host.isascii() or port == 0:
        raise CatalogError(f"{url}: expected http://HOST:PORT/PATH or ws://HOST:PORT/PATH")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not re.fullmatch(r"[\x21-\x7e]+", path):
        raise CatalogError(f"{url!r}: expected a path of ASCII without blanks, got {path!r}")
    return Target(
        host=host,
        port=port,
        path=path if parts.scheme == "http" else None,
        websocket_path=path if parts.scheme == "ws" else None,
    )


def _show(status: Status, url: str, probe: Probe) -> None:
    status.update(Text(f"{url}: {probe.id}"))  # a path may look like markup


def report(results: Iterable[ProbeResult], *, everything: bool, indent: str = "") -> Iterator[str]:
    """A line for each score, then each failed probe with what was sent, expected and received."""
    from wirebench.conformance import scores

    results = list(results)
    for (part, level), score in scores(results).items():
        yield f"{indent}{part} {level}: {score}"
    for reason in dict.fromkeys(one.received for one in results if one.outcome == "not_applicable"):
        count = sum(one.outcome == "not_applicable" and one.received == reason for one in results)
        do = "does" if count == 1 else "do"
        yield f"{indent}{count_of(count, 'probe')} {do} not apply: {reason}"
    for one in results:
        if one.outcome == "not_applicable" or (one.outcome == "passed" and not everything):
            continue
        yield (
            f"{indent}  {one.outcome:<6} {one.part}.{one.id} ({one.level}, {one.document} section"
            f" {one.section})"
        )
        if one.outcome != "passed":
            yield f"{indent}    sent     {one.sent}"
            yield f"{indent}    expected {one.expected}"
            yield f"{indent}    received {one.received}"
