"""TLS sessions that the reference server issues in cells with ``resumption``, and who resumes."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from misbehaving.support import CALLS, PORT_SEED, program, spec
from synthetic_run import write_run
from synthetic_world import World
from wirebench.build import build, resolve_command
from wirebench.catalog import find_root, load_catalog
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import ClientLoad
from wirebench.catalog.study_files import load_study, parse_study
from wirebench.cli.table import cell_table
from wirebench.process.certificates import Certificates, issue
from wirebench.process.ports import HOST
from wirebench.process.sessions import resumed_connections
from wirebench.process.start import ServerSettings, start_server
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.report import analyse_run
from wirebench.report.view import page_view
from wirebench.store.rundir import read_run
from wirebench.trial.trial import run_trial

STUDY = "studies/roundtrip.toml"


def nginx() -> Program:
    if shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin") is None:
        pytest.skip("needs nginx")
    folder = find_root() / "contestants/c/nginx"
    return Program(argv=("sh", str(folder / "serve.sh")), folder=folder)


def floor() -> Program:
    one = load_catalog(find_root()).contestants["cpp/floor"]
    built = build(one, find_root(), jobs=2, roles=["server"])
    if built.status == "not_installed":
        pytest.skip(built.message)
    assert built.folder is not None, built.log_tail
    return Program(argv=tuple(resolve_command(one, built.folder, "server")), folder=built.folder)


def connect_thrice(port: int, files: Certificates, version: ssl.TLSVersion) -> list[bool | None]:
    """Each connection brings the session of the one before."""
    context = ssl.create_default_context(cafile=str(files.ca_file))
    context.minimum_version = context.maximum_version = version
    reused, session = [], None
    for _ in range(3):
        with (
            socket.create_connection((HOST, port), timeout=5) as plain,
            context.wrap_socket(plain, server_hostname=HOST, session=session) as secure,
        ):
            secure.sendall(b"GET /payload/16 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            while secure.recv(4096):
                continue
            reused.append(secure.session_reused)
            session = secure.session
    return reused


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("resumption", [False, True])
@pytest.mark.parametrize("of", [nginx, pytest.param(floor, marks=pytest.mark.long)])
def test_servers_issue_sessions_and_note_who_resumes_one(
    of: Callable[[], Program], resumption: bool, version: ssl.TLSVersion, supervisor: Supervisor
) -> None:
    server = of()
    with supervisor.scope() as scope:
        files, noted = issue(scope.folder), scope.folder / "sessions"
        running = start_server(
            scope,
            server,
            ServerSettings(
                workload="http.payload",
                tls_cert=str(files.certificate_file),
                tls_key=str(files.key_file),
                tls_sessions=str(noted) if resumption else "",
            ),
            port_seed=PORT_SEED,
        )
        reused = connect_thrice(running.port, files, version)
        assert reused == [False, resumption, resumption]
        assert resumed_connections(noted) == (2 if resumption else None)


def test_a_trial_says_how_many_connections_resumed(supervisor: Supervisor, tmp_path: Path) -> None:
    load = replace(CALLS, scheme="https", policy="new", payload_bytes=16, resumption=True)
    record = run_trial(
        spec("none", tmp_path, role="client", load=load),
        program=program("client.py"),
        supervisor=supervisor,
        wireload=Path("/nonexistent"),
        server_program=nginx(),
    )
    assert record.failure is None
    assert record.metrics["connections_opened"] == load.warmup + load.operations
    assert record.metrics["connections_resumed"] == 0, "Python's ssl does so only when told to"


def test_connections_are_counted_and_not_requests(tmp_path: Path) -> None:
    noted = tmp_path / "sessions"
    assert resumed_connections(noted) is None
    noted.write_text("")
    assert resumed_connections(noted) is None
    noted.write_text("4 .\n5 r\n5 r\n6 .\n7 r\n")
    assert resumed_connections(noted) == 2


def test_the_table_and_the_report_say_how_many_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = read_run(write_run(tmp_path, World(studies=("roundtrip",), preset="tls", samples=60)))
    analysis = analyse_run(run)
    said = {
        cell.id: {remark for row in cell.rows for remark in row.remarks}
        for cell in page_view(run, analysis).studies[0].cells
    }
    assert "resumed 999 of 1,000 connections" in said["https-new-1024-resumption"]
    assert not any("resumed" in remark for remark in said["https-new-1024"])
    cell = next(one for one in analysis.cells if one.cell == "https-new-1024-resumption")
    Console(width=200).print(cell_table(cell, width=200))
    assert "resumed 999 of 1,000 connections" in capsys.readouterr().out


@pytest.mark.parametrize(("scheme", "server"), [("https", "c/nginx"), ("wss", "cpp/floor")])
def test_the_cell_differs_from_the_one_beside_it_by_the_sessions_alone(
    scheme: str, server: str
) -> None:
    cells = {cell.id: cell.load for cell in load_study(find_root() / STUDY).preset("full").cells}
    off, on = cells[f"{scheme}-new-1024"], cells[f"{scheme}-new-1024-resumption"]
    assert isinstance(off, ClientLoad)
    assert isinstance(on, ClientLoad)
    assert (off.resumption, on.resumption, on.server) == (False, True, server)
    assert replace(off, resumption=True, server=server, typical_ns=on.typical_ns) == on


def test_there_is_nothing_to_resume_without_tls() -> None:
    data = tomllib.loads((find_root() / STUDY).read_text(encoding="utf-8"))
    next(cell for cell in data["cells"] if "resumption" in cell)["scheme"] = "http"
    with pytest.raises(CatalogError, match="resumption: expected the scheme https or wss"):
        parse_study(data, path=Path("roundtrip.toml"))
