"""``wirebench phases``: what a proxy sees of a client's operations, and the phases in it."""

from __future__ import annotations

import json
import os
import shutil
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from misbehaving.support import CALLS, program
from wirebench.catalog import find_root
from wirebench.catalog.loads import ClientPolicy
from wirebench.cli import phases as command
from wirebench.cli.arguments import open_catalog
from wirebench.cli.calling import find_cell
from wirebench.cli.console import EXIT_FAILED, EXIT_USAGE
from wirebench.cli.main import run_app
from wirebench.process.ports import HOST
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.trial import calling
from wirebench.trial.calling import CallError
from wirebench.trial.phases import (
    Connection,
    Exchange,
    measure_phases,
    operations_of,
    phases_of,
    proxying,
)

HANDSHAKE, CIPHER, ALERT, DATA = 22, 20, 21, 23
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\nabcdefghijklmnop"


def record(kind: int, size: int = 40) -> bytes:
    return bytes([kind, 3, 3]) + size.to_bytes(2) + bytes(size)


@pytest.mark.parametrize(
    ("flights", "name"),
    [
        (
            [
                ("client", record(HANDSHAKE, 300)),
                ("server", record(HANDSHAKE) + record(CIPHER, 1) + record(DATA, 900)),
                ("client", record(CIPHER, 1) + record(DATA, 53)),
                ("server", record(DATA, 250)),  # a session ticket
            ],
            "TLS 1.3",
        ),
        (
            [
                ("client", record(HANDSHAKE, 300)),
                ("server", record(HANDSHAKE, 900)),
                ("client", record(HANDSHAKE, 70) + record(CIPHER, 1) + record(HANDSHAKE, 40)),
                ("server", record(CIPHER, 1) + record(HANDSHAKE, 40)),
            ],
            "TLS 1.2",
        ),
    ],
)
@pytest.mark.parametrize("step", [1, 2, 5, 10_000])
def test_a_handshake_is_told_from_the_request(
    flights: list[tuple[str, bytes]], name: str, step: int
) -> None:
    assert name
    connection = Connection(accepted_ns=5, tls=True)
    now = 10
    for who, data in flights:
        now += 10
        for at in range(0, len(data), step):
            note = connection.from_client if who == "client" else connection.from_server
            note(data[at : at + step], now)
    assert connection.first_ns == 20
    assert connection.exchanges == []
    connection.from_client(record(DATA, 90), 100)
    connection.from_server(record(DATA, 80), 110)
    connection.from_server(record(DATA, 20), 120)
    connection.from_client(record(ALERT, 26), 130)  # close_notify, which has an answer
    connection.from_server(record(ALERT, 26), 140)
    asked, goodbye = connection.exchanges
    assert (asked.begun_ns, asked.sent_ns, asked.reply_ns, asked.end_ns) == (100, 100, 110, 120)
    assert asked.reply_bytes == 110
    assert operations_of([connection], 16) == [asked]
    assert goodbye.reply_bytes < len(REPLY)


def test_a_request_in_one_piece_with_the_end_of_the_handshake_begins_there() -> None:
    connection = Connection(accepted_ns=5, tls=True)
    connection.from_client(record(HANDSHAKE), 10)
    connection.from_server(record(HANDSHAKE) + record(DATA), 20)
    connection.from_client(record(CIPHER, 1) + record(DATA, 53) + record(DATA, 90), 30)
    assert [one.begun_ns for one in connection.exchanges] == [30]


def exchange(connection: Connection, *times: int) -> Exchange:
    begun, sent, reply, end = times
    one = Exchange(
        connection=connection,
        begun_ns=begun,
        sent_ns=sent,
        reply_ns=reply,
        end_ns=end,
        reply_bytes=1000,
    )
    connection.exchanges.append(one)
    return one


def test_each_phase_is_the_time_between_two_stamps() -> None:
    kept = Connection(accepted_ns=0, tls=False)
    kept.first_ns = 10
    made = Connection(accepted_ns=300, tls=True)
    made.first_ns = 307
    before = exchange(kept, 10, 10, 20, 30)
    second = exchange(kept, 35, 37, 50, 53)
    third = exchange(made, 400, 401, 450, 460)
    assert phases_of([before, second], skip=1) == {"start": 5, "send": 2, "wait": 13, "receive": 3}
    assert phases_of([before, second, third], skip=2) == {
        "connect": 247,
        "start": 7,
        "handshake": 93,
        "send": 1,
        "wait": 49,
        "receive": 10,
    }


@pytest.mark.parametrize(
    ("policy", "seen"),
    [
        ("reuse", ["start", "send", "wait", "receive"]),
        ("new", ["connect", "start", "send", "wait", "receive"]),
    ],
)
def test_a_client_s_phases_are_measured(
    policy: ClientPolicy, seen: list[str], supervisor: Supervisor
) -> None:
    found = measure_phases(
        program("client.py"),
        program("server.py", "payload"),
        replace(CALLS, policy=policy),
        "http.payload",
        supervisor,
        operations=30,
    )
    assert list(found) == seen
    assert found["wait"] > 0


@pytest.mark.parametrize(
    ("policy", "has_handshake"), [("reuse", False), ("new", True), ("cold", True)]
)
def test_over_tls_a_new_connection_shakes_hands(
    policy: ClientPolicy, has_handshake: bool, supervisor: Supervisor
) -> None:
    if shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin") is None:
        pytest.skip("needs nginx")
    folder = find_root() / "contestants/c/nginx"
    found = measure_phases(
        program("client.py"),
        Program(argv=("sh", str(folder / "serve.sh")), folder=folder),
        replace(CALLS, scheme="https", policy=policy, payload_bytes=65_536),
        "http.payload",
        supervisor,
        operations=20,
    )
    assert ("handshake" in found) == has_handshake
    assert ("connect" in found) == has_handshake


def test_what_is_not_one_operation_after_another_has_no_phases(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CallError, match="last output"):
        measure_phases(
            program("client.py"),
            program("server.py", "none"),  # it serves no payload
            CALLS,
            "http.payload",
            supervisor,
            operations=10,
        )
    monkeypatch.setattr(calling, "LIMIT_NS", 20_000_000_000)
    with pytest.raises(CallError, match=r"expected 60 requests with their replies .*, saw 10"):
        measure_phases(
            program("client.py", "skips_the_warmup"),
            program("server.py", "payload"),
            CALLS,
            "http.payload",
            supervisor,
            operations=10,
        )


def test_the_proxy_passes_all_on_and_ends_what_ends() -> None:
    body = os.urandom(300_000)
    with (
        socket.create_server((HOST, 0)) as server,
        proxying(server.getsockname()[1], tls=False) as proxy,
    ):
        client = socket.create_connection((HOST, proxy.port), timeout=5)
        peer, _ = server.accept()
        peer.settimeout(5)
        client.sendall(b"ask")
        assert peer.recv(100) == b"ask"
        peer.sendall(b"answer")
        assert client.recv(100) == b"answer"
        peer.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b""
        client.sendall(body)  # the other way still works
        client.close()
        assert b"".join(iter(lambda: peer.recv(65_536), b"")) == body
        peer.close()
        server.close()
        with socket.create_connection((HOST, proxy.port), timeout=5) as late:
            assert late.recv(100) == b"", "there is nobody to pass it on to"
    (connection,) = proxy.connections
    assert [one.reply_bytes for one in connection.exchanges] == [len(b"answer"), 0]


def test_the_command_prints_and_writes_what_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {
        "go/slow": {"connect": 900_000, "start": 2000.0, "wait": 30_000.0},
        "c/fast": {"start": 1000.0, "wait": 20_000.0},
    }

    def measured(_selectors: object, _cell: str, _jobs: int, _measure: object) -> object:
        return find_cell(open_catalog(), "https-new-1024"), found, False

    monkeypatch.setattr(command, "measure_clients", measured)
    kept: list[tuple[Any, ...]] = []
    monkeypatch.setattr(command, "keep", lambda *seen: kept.append(seen))
    assert run_app(["phases", "--json", str(tmp_path / "out.json")]) == EXIT_FAILED
    head, *rows = capsys.readouterr().out.splitlines()[1:]
    assert head.split() == ["contestant", "connect", "start", "wait"]
    assert [row.split()[0] for row in rows] == ["c/fast", "go/slow"]
    assert "900 µs" in rows[1]
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["schema"] == "wirebench-phases/1"
    assert document["median_ns"] == found
    ((kind, cell, operations, figures),) = kept
    assert (kind, cell.id, operations, figures) == ("phases", "https-new-1024", 500, found)


def test_wrong_usage_says_what_is_expected(capsys: pytest.CaptureFixture[str]) -> None:
    for cell in ("c50", "ws-reuse-16"):
        assert run_app(["phases", "--cell", cell]) == EXIT_USAGE
        said, _, got = " ".join(capsys.readouterr().err.split()).rpartition(", got ")
        assert "--cell: expected one of http-reuse-16, " in said
        assert "https-new-1024" in said
        assert "ws" not in said.partition("expected one of ")[2], "only what it takes"
        assert got.startswith(repr(cell))
    assert run_app(["phases", "c/nginx"]) == EXIT_USAGE
    assert "expected a client of https that sends GET" in " ".join(capsys.readouterr().err.split())
