"""What may explain a published figure beside the library: cells with it, and the table of both."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from misbehaving.support import CALLS, PORT_SEED, program, spec
from synthetic_run import make_plan
from synthetic_trials import make_trials
from synthetic_world import World
from wirebench.catalog import find_root, load_catalog
from wirebench.catalog.errors import CatalogError
from wirebench.catalog.loads import ClientLoad
from wirebench.catalog.published import Artefact, published_of
from wirebench.catalog.studies import Cell
from wirebench.catalog.study_files import load_studies
from wirebench.plan.choose import choose
from wirebench.process import names
from wirebench.process.client import run_client
from wirebench.process.start import ServerSettings, start_server
from wirebench.process.supervise import Supervisor
from wirebench.process.types import Program
from wirebench.report import artefacts as report
from wirebench.report.artefacts import artefact_table, on_and_off_tables
from wirebench.stats import analyse
from wirebench.trial.trial import run_trial


def cells() -> dict[str, Cell]:
    study = load_studies(find_root() / "studies")["roundtrip"]
    return {cell.id: cell for cell in study.preset("artefacts").cells}


def test_a_process_has_names_of_its_own_and_the_host_keeps_its_own(tmp_path: Path) -> None:
    if (why := names.refusal(tmp_path)) is not None:
        pytest.skip(why)
    before = Path("/etc/hosts").read_text()
    asking = (
        "import socket\n"
        "print([one[4][0] for one in socket.getaddrinfo('localhost', 1, type=socket.SOCK_STREAM)])"
    )
    inside = subprocess.run(
        [*names.with_names(names.LOCALHOST, tmp_path), sys.executable, "-c", asking],
        capture_output=True,
        text=True,
        check=True,
    )
    expected = ["127.0.0.1"]
    if socket.has_ipv6 and Path("/proc/net/if_inet6").exists():
        expected.insert(0, "::1")
    assert inside.stdout.strip() == str(expected)
    assert Path("/etc/hosts").read_text() == before


def test_a_client_is_given_the_name(supervisor: Supervisor, tmp_path: Path) -> None:
    if (why := names.refusal(tmp_path)) is not None:
        pytest.skip(why)
    load = replace(CALLS, host="localhost", policy="new")
    record = run_trial(
        spec("none", tmp_path, role="client", load=load),
        program=program("client.py", "none"),
        supervisor=supervisor,
        wireload=Path("/nonexistent"),
        server_program=program("server.py", "payload"),
    )
    assert record.failure is None
    assert record.metrics["connections_opened"] == load.warmup + load.operations


def test_without_names_of_its_own_no_trial_is_run(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    record = run_trial(
        spec("none", tmp_path, role="client", load=replace(CALLS, host="localhost")),
        program=program("client.py", "none"),
        supervisor=supervisor,
        wireload=Path("/nonexistent"),
        server_program=program("server.py", "payload"),
    )
    assert record.status == "not_run"
    assert record.failure is not None
    assert record.failure.kind == "no_names"
    assert "unshare" in record.failure.message


def test_each_pair_of_cells_differs_by_one_thing() -> None:
    known = cells()
    for artefact in published_of(find_root(), "roundtrip").artefacts:
        off, on = known[artefact.off].load, known[artefact.on].load
        assert isinstance(off, ClientLoad)
        assert isinstance(on, ClientLoad)
        changed = {"host": on.host, "server": on.server, "closes_after": on.closes_after}
        assert (off.host, off.server, off.closes_after) == ("127.0.0.1", None, 0)
        assert (on.host, on.server, on.closes_after) != ("127.0.0.1", None, 0)
        alike = replace(off, **changed, typical_ns=on.typical_ns)  # type: ignore[arg-type]
        assert replace(alike, warmup=on.warmup, operations=on.operations) == on


def test_a_cell_may_have_a_server_of_its_own() -> None:
    root = find_root()
    study = load_studies(root / "studies")["roundtrip"]
    everybody = load_catalog(root).contestants
    chosen = choose(
        [(study, study.preset("artefacts"))],
        wanted=[everybody["cpp/libcurl"], everybody["cpp/websocketpp"]],
        everybody=everybody,
    )
    served = {one.cell.id: [server.identity for server in one.servers] for one in chosen}
    assert served["http-reuse-1024"] == ["c/nginx", "cpp/floor"]
    assert served["http-reuse-1024-closes-at-100"] == ["c/nginx"]
    assert served["ws-reuse-1024-slow-echo"] == ["python/websockets"]


def test_localhost_is_not_asked_for_over_tls(tmp_path: Path) -> None:
    text = (find_root() / "studies/roundtrip.toml").read_text()
    old = '["http", "new", 1024, 500, 5000, "120us", "localhost"]'
    assert old in text
    (tmp_path / "roundtrip.toml").write_text(text.replace(old, old.replace("http", "https")))
    with pytest.raises(CatalogError, match=r"host: expected '127\.0\.0\.1' over TLS"):
        load_studies(tmp_path)


class _Cell:
    def __init__(self, cell: str, means: dict[str, float]) -> None:
        self.cell = cell
        self._means = means

    def entry(self, contestant: str) -> float | None:
        return self._means.get(contestant)


def test_the_table_says_what_each_adds_and_its_share_of_what_was_published(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report, "value_of", lambda entry, _metric: entry)

    def artefact(on: str) -> Artefact:
        return Artefact(
            says="slow", published="p", value=1_000_000, contestant="a/b", off="off", on=on
        )

    known: list[Any] = [_Cell("off", {"a/b": 50_000.0}), _Cell("on", {"a/b": 300_000.0})]
    table = artefact_table([artefact("on"), artefact("absent")], known)
    assert table is not None
    whole, partly = table.rows
    assert whole[:4] == ("a/b", "p", "1.00 ms", "slow")
    assert whole[4:] == ("50.0 µs", "300 µs", "250 µs, 25% of what was published")
    assert partly[-3:] == ("50.0 µs", "not in the run", "")
    assert artefact_table([artefact("absent")], known) is None
    less: list[Any] = [known[0], _Cell("on", {"a/b": 40_000.0})]
    falling = artefact_table([artefact("on")], less)
    assert falling is not None
    assert falling.rows[0][-1] == "-10.0 µs, -1% of what was published"
    same: list[Any] = [known[0], _Cell("on", {"a/b": 49_000.0})]
    hardly = artefact_table([artefact("on")], same)
    assert hardly is not None
    assert hardly.rows[0][-1] == "-1.00 µs, 0% of what was published"


def test_every_client_of_both_cells_has_its_difference() -> None:
    world = World(studies=("roundtrip",), samples=5, preset="artefacts")
    plan = make_plan(world)
    trials = make_trials(world, plan)
    waits = {"go/net-http": 200e6, "node/http": -1_000.0}
    for trial in trials:
        if trial.cell == "http-cold-1024-localhost" and trial.entry in waits:
            mean = trial.metrics["mean_ns"] or 0
            trial.metrics["mean_ns"] = mean + waits[trial.entry]  # type: ignore[index]
    analysis = analyse(trials, plan)
    planned = {cell.cell.id: cell.cell for cell in plan.cells}
    pairs = [(cell, planned[cell.cell]) for cell in analysis.cells]
    tables = {
        table.how.partition(" (off) and ")[2].partition(" ")[0]: table
        for table in on_and_off_tables(pairs)
    }
    assert set(tables) == {
        "http-reuse-1024-closes-at-100",
        "http-cold-1024-localhost",
        "http-new-1024-localhost",
        "ws-reuse-1024-slow-echo",
    }
    table = tables["http-cold-1024-localhost"]
    assert "http-cold-1024 (off)" in table.how
    names = [row[0] for row in table.rows]
    cell = next(one for one in analysis.cells if one.cell == "http-cold-1024-localhost")
    assert set(names) == {one.entry for one in cell.entries if one.twin_of is None}
    assert names[0] == "go/net-http"
    assert table.rows[0][3] == "200 ms"
    assert names[-1] == "node/http"
    assert table.rows[-1][3].startswith("-")


def test_sessions_to_resume_are_beside_the_cell_without() -> None:
    plan = make_plan(World(studies=("roundtrip",), samples=5, preset="tls"))
    trials = make_trials(World(studies=("roundtrip",), samples=5, preset="tls"), plan)
    planned = {cell.cell.id: cell.cell for cell in plan.cells}
    cells = analyse(trials, plan).cells
    (table,) = on_and_off_tables([(cell, planned[cell.cell]) for cell in cells])
    assert "Our means in https-new-1024 (off) and https-new-1024-resumption (on)." in table.how


@pytest.mark.parametrize(("closes_after", "connections"), [(0, 1), (10, 3)])
def test_nginx_closes_after_as_many_requests_as_the_cell_says(
    closes_after: int, connections: int, supervisor: Supervisor
) -> None:
    folder = find_root() / "contestants/c/nginx"
    if shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin") is None:
        pytest.skip("needs nginx")
    with supervisor.scope() as scope:
        server = start_server(
            scope,
            Program(argv=("sh", str(folder / "serve.sh")), folder=folder),
            ServerSettings(workload="http.payload", closes_after=closes_after),
            port_seed=PORT_SEED,
        )
        run, _ = run_client(
            scope,
            program("client.py"),
            replace(CALLS, payload_bytes=16, warmup=0, operations=25),
            port=server.port,
            cores=(),
            limit_ns=20_000_000_000,
        )
    assert run.report is not None
    assert run.report.connections == connections
