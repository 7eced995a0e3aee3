"""``wirebench serve``: a local page over the runs kept on this host."""

from __future__ import annotations

import logging
import os
import queue
import threading
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from wirebench.catalog import CatalogError, find_root
from wirebench.cli.arguments import check_folder
from wirebench.cli.console import console
from wirebench.cli.report import RESULTS

PORT = 8088
THREADS = 8
MOST_CONNECTIONS = 50
MOST_BYTES = 16 * 1024
"""Of a request's head, and of a body, which no page reads."""
IDLE_S = 60
_PORT_OF_HTTP = 80


def register(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, help="The port on 127.0.0.1; 0: any free one."),
    ] = PORT,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results", metavar="DIR", help="The folder of the runs. Default: 'results'."
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Show the runs of this host in the browser: lists, reports, history, and a run under way.

    Only this host reaches it (127.0.0.1), and it only reads. It runs at idle priority, and a page
    over a run under way renews itself when a trial has been stored, never during a timed window.
    Ctrl-C ends it.
    """
    from waitress import create_server

    from wirebench.serve.application import Application

    # At idle priority a request waits while the cores are busy, and nobody has to hear of that.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    folder = results if results is not None else find_root() / RESULTS
    if not folder.is_dir():
        if results is not None:
            raise CatalogError(f"--results: expected a folder, got {results}")
        check_folder(RESULTS, folder)
        folder.mkdir()
    # Made before, so that the browser has the usual priority.
    address: queue.Queue[str] = queue.Queue()
    threading.Thread(target=lambda: webbrowser.open(address.get()), daemon=True).start()
    # Whatever is measured meanwhile goes first. Threads made from here on inherit it.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    application = Application(results=folder.resolve(), hosts=frozenset())
    try:
        server = create_server(
            application,
            host="127.0.0.1",
            port=port,
            threads=THREADS,
            connection_limit=MOST_CONNECTIONS,
            max_request_header_size=MOST_BYTES,
            max_request_body_size=MOST_BYTES,
            channel_timeout=IDLE_S,
            ident=None,
        )
    except OSError as error:
        raise CatalogError(
            f"--port: {port} cannot be had ({error.strerror}); choose another, or 0 for any"
        ) from error
    number = server.effective_port
    application.hosts = hosts_of(number)
    console().print(f"http://127.0.0.1:{number}/", markup=False)
    if open_:
        address.put(f"http://127.0.0.1:{number}/")
    threading.Thread(target=server.run, daemon=True).start()
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        return  # that is how it ends


def hosts_of(port: int) -> frozenset[str]:
    """What ``Host`` says where the pages are served at this port. Browsers leave out the port that
    http has anyway (RFC 9110, section 4.2.3).
    """
    names = ("127.0.0.1", "localhost")
    found = {f"{name}:{port}" for name in names}
    return frozenset(found | set(names) if port == _PORT_OF_HTTP else found)
