"""How many connections a client opens is counted at its server and held to its policy."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from misbehaving.support import CALLS, contestant, program, spec
from wirebench.catalog import find_root
from wirebench.catalog.loads import ClientLoad
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.trial.client_metrics import exact_connections
from wirebench.trial.record import TrialRecord
from wirebench.trial.trial import run_trial

LOAD = replace(CALLS, payload_bytes=1024)
WHOLE = LOAD.warmup + LOAD.operations


@pytest.fixture(params=["floor", "nginx"])
def server(request: pytest.FixtureRequest) -> Program:
    """One that counts as the floor does, and nginx itself."""
    return program("server.py", "counts") if request.param == "floor" else nginx()


def nginx() -> Program:
    if shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin") is None:
        pytest.skip("needs nginx")
    folder = find_root() / "contestants/c/nginx"
    return Program(argv=("sh", str(folder / "serve.sh")), folder=folder)


def called(
    fault: str,
    load: ClientLoad,
    server: Program,
    supervisor: Supervisor,
    folder: Path,
    *,
    kept: int = 1,
) -> TrialRecord:
    asked = spec(fault, folder, role="client", load=load)
    return run_trial(
        replace(asked, contestant=replace(asked.contestant, kept_connections=kept)),
        program=program("client.py", fault),
        supervisor=supervisor,
        wireload=Path("/nonexistent"),
        server_program=server,
    )


@pytest.mark.parametrize(("policy", "connections"), [("reuse", 1), ("new", WHOLE), ("cold", WHOLE)])
def test_a_right_client_opens_what_its_policy_says(
    policy: str, connections: int, server: Program, supervisor: Supervisor, tmp_path: Path
) -> None:
    load = replace(LOAD, policy=policy)  # type: ignore[arg-type]
    result = called("none", load, server, supervisor, tmp_path)
    assert result.failure is None
    assert result.metrics["connections_accepted"] == connections
    assert result.metrics["connections_opened"] == connections
    assert result.warnings == ()


def test_a_client_that_reconnects_in_secret_is_found(
    server: Program, supervisor: Supervisor, tmp_path: Path
) -> None:
    result = called("reconnects", LOAD, server, supervisor, tmp_path)
    assert result.failure is not None
    assert result.failure.kind == "client_mismatch"
    assert result.failure.expected == f"what the server accepted: {WHOLE} connections"
    assert result.failure.received == "1 connection"


def test_a_client_that_reconnects_once_in_secret_is_found(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    result = called(
        "opens_a_second_in_secret", LOAD, program("server.py", "counts"), supervisor, tmp_path
    )
    assert result.failure is not None
    assert result.failure.expected == "what the server accepted: 2 connections"


def test_a_client_that_reconnects_openly_is_found(
    server: Program, supervisor: Supervisor, tmp_path: Path
) -> None:
    result = called("reconnects_openly", LOAD, server, supervisor, tmp_path)
    assert result.failure is not None
    assert result.failure.kind == "client_mismatch"
    assert result.failure.expected == "1 connection"
    assert result.failure.received == f"{WHOLE} connections"


@pytest.mark.parametrize(("kept", "right"), [(1, False), (2, True), (8, True)])
def test_a_second_kept_connection_must_be_in_the_manifest(
    kept: int, right: bool, supervisor: Supervisor, tmp_path: Path
) -> None:
    result = called(
        "opens_a_second", LOAD, program("server.py", "counts"), supervisor, tmp_path, kept=kept
    )
    assert (result.failure is None) == right
    if right:
        assert result.metrics["connections_accepted"] == 2


def test_connections_over_tls_are_counted(supervisor: Supervisor, tmp_path: Path) -> None:
    load = replace(LOAD, scheme="https", policy="new")
    result = called("none", load, nginx(), supervisor, tmp_path)
    assert result.failure is None
    assert result.metrics["connections_accepted"] == WHOLE


def test_a_connection_for_each_time_that_the_server_closes(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    result = called("none", replace(LOAD, closes_after=10), nginx(), supervisor, tmp_path)
    assert result.failure is None
    assert result.metrics["connections_accepted"] == 6
    more = called(
        "reconnects_openly", replace(LOAD, closes_after=10), nginx(), supervisor, tmp_path
    )
    assert more.failure is not None
    assert more.failure.expected == "6 to 7 connections"


def test_a_server_that_does_not_count_leaves_the_count_open(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    result = called("none", LOAD, program("server.py", "payload"), supervisor, tmp_path)
    assert result.failure is None
    assert result.metrics["connections_accepted"] is None


@pytest.mark.parametrize(
    ("policy", "closes_after", "kept", "least", "most"),
    [
        ("reuse", 0, 1, 1, 1),
        ("reuse", 0, 8, 1, 8),
        ("reuse", 55, 1, 1, 2),
        ("reuse", 54, 1, 2, 3),
        ("new", 0, 8, WHOLE, WHOLE),
        ("cold", 0, 1, WHOLE, WHOLE),
    ],
)
def test_what_a_policy_allows(
    policy: str, closes_after: int, kept: int, least: int, most: int, tmp_path: Path
) -> None:
    load = replace(LOAD, policy=policy, closes_after=closes_after)  # type: ignore[arg-type]
    one = replace(contestant("x", tmp_path, role="client"), kept_connections=kept)
    found = exact_connections(load, one)
    assert (found[0], found[-1]) == (least, most)
